"""Our privacy loss distributions against those of dp_accounting: the same, to four digits."""

import importlib.util
import warnings
from fractions import Fraction

import pytest

from sfumato.accounting import pld
from sfumato.core.errors import LossError
from sfumato.core.loss import (
    Approximate,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    PoissonSampled,
    Pure,
)

if importlib.util.find_spec("dp_accounting") is None:
    pytest.skip(
        "dp_accounting is not installed: an oracle for development only", allow_module_level=True
    )

pytestmark = pytest.mark.deep

LOSSES = {
    "laplace": LaplaceTradeoff("0.1") * 100,
    "large laplace": LaplaceTradeoff(1) * 30,
    "gauss": GaussianTradeoff("0.1") * 100,
    "discrete laplace": LaplaceShift(30, 3, 3) * 100,
    "unit laplace": LaplaceShift(10, 5, 1) * 20,
    "discrete gauss": GaussianShift(3, 4, scalar=True) * 10,
    "sampled gauss": PoissonSampled(GaussianTradeoff(1), "0.01") * 300,
    "sampled laplace": PoissonSampled(LaplaceTradeoff(1), "0.05") * 100,
    "sampled discrete gauss": PoissonSampled(GaussianShift(2, 1, scalar=True), "0.02") * 200,
    "sampled discrete laplace": PoissonSampled(LaplaceShift(2, 3, 3), "0.1") * 50,
    "response": Pure("0.2") * 40,
    "approximate": Approximate("0.2", "1e-9") * 40,
    "mixture": LaplaceTradeoff("0.05") * 20
    + GaussianShift(20, 1, scalar=True) * 10
    + PoissonSampled(GaussianTradeoff(1), "0.02") * 50
    + Pure("0.01") * 10,
}


def theirs(loss, interval):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pld.to_dp_accounting(loss, interval=interval).get_epsilon_for_delta(1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_epsilon_is_theirs(name):
    found = pld.bounds(LOSSES[name], "1e-6")
    # An upper bound, up to rounding; samples of integers they round up, an interval for each part.
    other = theirs(LOSSES[name], 1e-6 if name.startswith("sampled discrete") else 1e-4)
    assert found.low <= other * (1 + 1e-9)
    assert float(found.high) == pytest.approx(other, rel=5e-4)


def test_many_different_mechanisms_cost_no_more_than_with_them():
    count = 20
    parts = [LaplaceTradeoff(Fraction(100 + i, 10**4)) for i in range(count)]
    parts += [GaussianTradeoff(Fraction(200 + i, 10**4)) for i in range(count)]
    parts += [PoissonSampled(GaussianTradeoff(1 - Fraction(i, 999)), "0.01") for i in range(count)]
    loss = Composed.of(parts) * 5
    found = pld.bounds(loss, "1e-6")
    assert found.low <= theirs(loss, 1e-3)
    assert found.high <= theirs(loss, 1e-3) * (1 + 1e-4)


def test_what_has_no_distribution_is_not_handed_over():
    for loss in (Concentrated(1), PoissonSampled(Pure(1), "0.5"), GaussianShift(3, 2)):
        with pytest.raises(LossError):
            pld.to_dp_accounting(loss)
