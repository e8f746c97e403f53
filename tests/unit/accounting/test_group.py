"""Groups: the loss of several units, never below the law at the larger shift."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.accounting import convert, delta, group, parallel, rho
from sfumato.core.errors import LossError, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
)

sys.path.insert(0, str(Path(__file__).parent))

from law_pairs import gaussian, hockey_stick, laplace, response, together

sys.path.pop(0)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_each_kind_grows_as_it_should(neighbors):
    def is_now(one, four):
        assert group(one, 4) == four

    by = {"neighbors": neighbors}
    is_now(Pure("0.1", **by), Pure("0.4", **by))
    is_now(BoundedRange("0.1", **by), BoundedRange("0.4", **by))
    is_now(LaplaceTradeoff("0.1", **by), LaplaceTradeoff("0.4", **by))
    is_now(GaussianTradeoff("0.1", **by), GaussianTradeoff("0.4", **by))
    is_now(Concentrated("0.1", **by), Concentrated("1.6", **by))
    is_now(LaplaceShift(5, 3, 2, **by), LaplaceShift(5, 12, 8, **by))
    is_now(GaussianShift(5, 3, **by), GaussianShift(5, 48, **by))
    is_now(
        Pure("0.1", **by) * 3 + Concentrated(1, **by),
        Pure("0.4", **by) * 3 + Concentrated(16, **by),
    )
    is_now(Composed.of([]), Composed.of([]))


def test_members_may_shift_cells_of_their_own():
    # Two people in two cells of a histogram: no single cell shifts, so the exact curve of one
    # scalar at twice the shift would be the wrong law.
    both = group(GaussianShift(1, 1, scalar=True), 2)
    assert both == GaussianShift(1, 4)
    apart = together(gaussian(1.0, 1), gaussian(1.0, 1))
    for cost in (0.0, 1.0, 3.0):
        assert hockey_stick(apart, cost) <= float(delta(both, cost)) * (1 + 1e-9)
        assert hockey_stick(gaussian(1.0, 2), cost) <= float(delta(both, cost)) * (1 + 1e-9)


def test_approximate_failures_add_up_along_the_way():
    found = group(Approximate("0.5", "1e-9"), 3)
    assert found.epsilon == Fraction(3, 2)
    assert float(found.delta) == pytest.approx(1e-9 * (1 + math.exp(0.5) + math.e), rel=1e-12)
    assert group(Approximate(0, "1e-9"), 3).delta == pytest.approx(3e-9)
    assert group(Approximate(1, 0), 3) == Approximate(3, 0)
    with pytest.raises(LossError, match="would reach 1"):
        group(Approximate(10, "1e-3"), 5)


@pytest.mark.parametrize(("size", "cost"), [(2, 0.3), (3, 1.0)])
def test_a_group_is_never_below_the_laws(size, cost):
    far = laplace(2.0, size, 40)
    assert hockey_stick(far, cost) <= float(delta(group(LaplaceShift(2, 1, 1), size), cost)) + 1e-12
    whole = response(0.5 * size)
    assert hockey_stick(whole, cost) <= float(delta(group(Pure("0.5"), size), cost)) + 1e-12
    assert rho(group(LaplaceShift(2, 1, 1), size)) >= rho(LaplaceShift(2, 1, 1))


@pytest.mark.parametrize(
    "loss",
    [Renyi(((2, 1),)), PoissonSampled(Pure(1), "0.1"), parallel([Pure(1), Concentrated("0.3")])],
)
def test_losses_of_which_nothing_useful_follows_are_refused(loss):
    with pytest.raises(LossError, match=r"no loss of a group.*[Cc]onvert"):
        group(loss, 2)
    assert group(loss, 1) == loss
    assert group(convert(PoissonSampled(Pure(1), "0.1"), to="pure"), 2).epsilon < Fraction("0.32")


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_a_group_has_a_whole_size(size):
    with pytest.raises(RangeError, match="whole number"):
        group(Pure(1), size)


def test_unknown_losses_are_refused():
    with pytest.raises(LossError, match="can account for"):
        group(Loss(), 2)
