"""Trade-off curves and Gaussian DP: never above the errors of the best test."""

import math
import sys
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from sfumato.accounting import (
    gaussian_dp_delta,
    gaussian_dp_epsilon,
    gaussian_reference_epsilon,
    mu,
    tradeoff,
)
from sfumato.accounting.gaussian_dp import below, pure_mu
from sfumato.core.errors import LossError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Pure,
    Renyi,
    Worst,
)

sys.path.insert(0, str(Path(__file__).parent))

from law_pairs import gaussian, hockey_stick, laplace, misses, response, together

sys.path.pop(0)

NORMAL = NormalDist()
MICRO = Fraction(1, 10**6)
LEVELS = [0.0, 0.001, 0.05, 0.3, 0.5, 0.9, 1.0]


@pytest.mark.parametrize("cost", [0.1, 1.0, 5.0])
def test_pure_curve_is_that_of_randomized_response(cost):
    curve = tradeoff(Pure(cost))
    for alpha in LEVELS:
        assert float(curve(alpha)) == pytest.approx(float(misses(response(cost), alpha)), abs=1e-12)
    assert float(curve.advantage) == pytest.approx(math.tanh(cost / 2), rel=1e-12)


def test_approximate_curve_starts_below_one():
    curve = tradeoff(Approximate(1, "0.01"))
    assert float(curve(0)) == pytest.approx(0.99, abs=1e-12)
    assert float(curve("0.99")) == 0
    assert float(curve.advantage) == pytest.approx((math.e - 1 + 0.02) / (math.e + 1), rel=1e-12)


@pytest.mark.parametrize("size", ["0.1", "1", "3"])
def test_gaussian_curve_is_exact(size):
    curve = tradeoff(GaussianTradeoff(size))
    for alpha in (0.001, 0.05, 0.3, 0.5, 0.9):
        truth = NORMAL.cdf(NORMAL.inv_cdf(1 - alpha) - float(size))
        assert float(curve(alpha)) == pytest.approx(truth, rel=1e-9)
        assert float(curve.tpr(alpha)) == pytest.approx(1 - truth, rel=1e-9)
    assert (curve(0), curve(1)) == (1, 0)
    assert float(curve.advantage) == pytest.approx(2 * NORMAL.cdf(float(size) / 2) - 1, rel=1e-12)
    assert curve("1e-300") >= curve("1e-20")


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize(
    ("loss", "pair"),
    [
        (LaplaceShift(1, 2, 2), laplace(1.0, 2, 30)),
        (GaussianShift(2, 1, scalar=True), gaussian(2.0, 1)),
        (Pure(1) * 3, together(*[response(1.0)] * 3)),
        (Concentrated("0.125"), gaussian(2.0, 1)),
    ],
    ids=["laplace", "gaussian", "response", "concentrated"],
)
def test_no_test_errs_less_than_the_curve_says(loss, pair, tight):
    curve = tradeoff(loss, tight=tight)
    for alpha in LEVELS:
        for p, q in (pair, pair[::-1]):
            assert float(curve(alpha)) <= float(misses((p, q), alpha)) + 1e-9
    assert float(curve.advantage) >= hockey_stick(pair, 0) - 1e-12
    if tight and not isinstance(loss, Concentrated):
        assert float(curve.advantage) <= hockey_stick(pair, 0) + 0.01
        assert float(curve(0.05)) >= float(misses(pair, 0.05)) - 0.02


def test_curves_fall_and_are_convex():
    for loss in (Pure(2), GaussianTradeoff(1), Approximate(1, "1e-3")):
        values = [beta for _, beta in tradeoff(loss).curve(21)]
        steps = np.diff(values)
        assert (steps <= 1e-12).all()
        assert (np.diff(steps) >= -1e-9).all()
    assert [alpha for alpha, _ in tradeoff(Pure(1)).curve(3)] == [0, 0.5, 1]


def test_huge_losses_hide_nothing():
    curve = tradeoff(Pure(10**6))
    assert (curve(0), curve("1e-9"), curve.advantage <= 1) == (1, 0, True)
    assert tradeoff(GaussianTradeoff(0))("0.25") <= Fraction(3, 4)
    assert tradeoff(GaussianTradeoff(0)).advantage == 0
    assert tradeoff(Pure(0))("0.25") == Fraction(3, 4)


@pytest.mark.parametrize("alpha", [-1, "1.01", 2])
def test_false_alarms_are_a_share(alpha):
    with pytest.raises(RangeError, match="between 0 and 1"):
        tradeoff(Pure(1))(alpha)


@pytest.mark.parametrize("points", [1, 0, 2.5, True])
def test_a_curve_has_two_ends(points):
    with pytest.raises(RangeError, match="two ends"):
        tradeoff(Pure(1)).curve(points)


def test_a_loss_without_any_bound_is_refused():
    with pytest.raises(LossError):
        tradeoff(Renyi((("1.0001", 1),)))


@pytest.mark.parametrize("z", [0, "1e-20", "0.3", 2, "3.999", 4, 9, 37])
def test_the_normal_law_is_enclosed(z):
    for sign in (1, -1):
        found = below(Interval.of(sign * Fraction(z), 50))
        truth = math.erfc(-sign * float(z) / math.sqrt(2)) / 2
        assert float(found.low) == pytest.approx(truth, rel=1e-9)
        assert found.low <= found.high
        assert found.high - found.low <= found.high / 10**18 or abs(Fraction(z)) < 1


def test_the_normal_law_is_enclosed_where_the_interval_holds_zero():
    from decimal import Decimal

    found = below(Interval(Decimal("-0.001"), Decimal("0.002"), 50))
    assert float(found.low) <= NORMAL.cdf(-0.001)
    assert NORMAL.cdf(0.002) <= float(found.high)
    assert float(below(Interval.of(10**7, 50)).high) == 1


@pytest.mark.parametrize("failure", ["1e-2", "1e-6", "1e-12"])
@pytest.mark.parametrize("size", ["0.05", "1", "7", "12"])
def test_gaussian_dp_has_its_analytic_curve(size, failure):
    found = gaussian_dp_epsilon(GaussianTradeoff(size), failure)
    reference = gaussian_reference_epsilon(Fraction(size) ** 2 / 2, failure)
    assert float(found) == pytest.approx(reference, rel=1e-6, abs=1e-9)
    assert gaussian_dp_delta(GaussianTradeoff(size), found) <= Fraction(failure)
    if found:
        assert gaussian_dp_delta(GaussianTradeoff(size), found * (1 - MICRO)) > Fraction(failure)


def test_squares_of_mu_add_up():
    assert mu(GaussianTradeoff("0.3") + GaussianTradeoff("0.4")) == Fraction(1, 2)
    parts = [GaussianTradeoff(1), GaussianTradeoff(2), GaussianTradeoff(3)]
    worst = Worst.of(parts, touched=2)
    assert mu(worst) ** 2 >= 13
    assert float(mu(worst)) == pytest.approx(math.sqrt(13), rel=1e-15)
    whole = gaussian_dp_epsilon(GaussianTradeoff("0.1") * 100, MICRO)
    assert whole == gaussian_dp_epsilon(GaussianTradeoff(1), MICRO)
    assert gaussian_dp_epsilon(GaussianTradeoff(0), 0) == 0
    assert gaussian_dp_epsilon(GaussianTradeoff("0.001"), "0.3") == 0
    assert gaussian_dp_delta(GaussianTradeoff(0), 0) == 0


@pytest.mark.parametrize("cost", ["0.001", "0.5", "1", "4", "30", "3000"])
def test_pure_losses_are_gaussian_dp(cost):
    size = pure_mu(Fraction(cost))
    curve, gauss = tradeoff(Pure(cost)), tradeoff(GaussianTradeoff(size))
    for alpha in (Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 5), Fraction(1, 2)):
        assert gauss(alpha) <= curve(alpha) + Fraction(1, 10**20)
    corner = 1 / (1 + math.exp(min(float(cost), 20)))
    if float(cost) <= 20:
        assert float(gauss(corner)) == pytest.approx(corner, rel=1e-6)
    assert mu(BoundedRange(cost)) == size
    assert mu(LaplaceTradeoff(cost)) == size


def test_no_mu_follows_from_less():
    for loss in (Concentrated(1), Approximate(1, MICRO), Renyi(((2, 1),)), GaussianShift(1, 1)):
        with pytest.raises(LossError, match="no μ is known"):
            mu(loss)
    with pytest.raises(LossError, match="something else"):
        gaussian_dp_epsilon(Pure(1), MICRO)
    with pytest.raises(LossError, match="has no ε"):
        gaussian_dp_epsilon(GaussianTradeoff(1), 0)
    assert pure_mu(Fraction(0)) == 0
