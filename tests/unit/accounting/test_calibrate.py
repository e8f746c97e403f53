"""Calibration: the least parameter that is enough."""

from fractions import Fraction

import pytest

from sfumato.accounting import calibrate, gaussian_reference_sigma, rho
from sfumato.accounting.curve import epsilon
from sfumato.core.errors import CostError, LossError, NumberError, RangeError
from sfumato.core.loss import Approximate, GaussianShift, LaplaceShift, Loss

MICRO = Fraction(1, 10**6)
WIDE = {"low": "1e-3", "high": "1e9"}
STEP = Fraction(1, 2**39)


def laplace(scale):
    return LaplaceShift(scale, 3, 2)


def scalar(sigma):
    return GaussianShift(sigma, 1, scalar=True)


def vector(sigma):
    return GaussianShift(sigma, 5)


@pytest.mark.parametrize("target", ["0.001", "0.3", 1, 7])
def test_pure_target_gives_the_least_scale(target):
    scale = calibrate(laplace, epsilon=target, **WIDE)
    assert epsilon(laplace(scale)) <= Fraction(target)
    assert epsilon(laplace(scale * (1 - STEP))) > Fraction(target)


@pytest.mark.parametrize("loss_of", [laplace, scalar, vector])
@pytest.mark.parametrize("target", ["0.001", "0.3", 1])
def test_rho_target_gives_the_least_noise(loss_of, target):
    noise = calibrate(loss_of, rho=target, **WIDE)
    assert rho(loss_of(noise)) <= Fraction(target)
    assert rho(loss_of(noise * (1 - STEP))) > Fraction(target)


@pytest.mark.parametrize("loss_of", [scalar, vector])
@pytest.mark.parametrize("target", ["0.01", 1, 8])
def test_approximate_target_gives_the_least_sigma(loss_of, target):
    sigma = calibrate(loss_of, epsilon=target, delta=MICRO, **WIDE)
    assert epsilon(loss_of(sigma), MICRO) <= Fraction(target)
    assert epsilon(loss_of(sigma * (1 - STEP)), MICRO) > Fraction(target)


def test_a_tiny_delta_can_be_met():
    sigma = calibrate(scalar, epsilon=1, delta="1e-500", **WIDE)
    assert epsilon(scalar(sigma), "1e-500") <= 1


def test_wide_scalars_need_the_noise_of_the_continuous_law():
    sigma = calibrate(
        lambda s: GaussianShift(s, 10**12, scalar=True), epsilon=1, delta=MICRO, **WIDE
    )
    assert float(sigma) == pytest.approx(10**6 * gaussian_reference_sigma(1, MICRO), rel=1e-9)


def test_parameter_has_few_bits():
    scale = calibrate(laplace, epsilon="0.3", **WIDE)
    assert scale.numerator.bit_length() <= 41
    assert scale.denominator.bit_count() == 1


def test_the_low_end_may_be_enough():
    assert calibrate(laplace, epsilon=1, low=5, high=9) == 5
    assert calibrate(laplace, epsilon=1, low=5, high=5) == 5


def test_the_high_end_may_not_be_enough():
    for high in (2, "2.9"):
        with pytest.raises(RangeError, match="Raise high"):
            calibrate(laplace, epsilon=1, low=1, high=high)


def test_an_empty_range_is_refused():
    with pytest.raises(RangeError, match="Swap"):
        calibrate(laplace, epsilon=1, low=5, high=4)
    with pytest.raises(RangeError, match="no parameter"):
        calibrate(laplace, epsilon=1, low="10000000000000001e-16", high="10000000000000002e-16")


@pytest.mark.parametrize(
    "target", [{}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": MICRO}, {"delta": MICRO}]
)
def test_exactly_one_family_of_targets(target):
    with pytest.raises(CostError, match="one of the two"):
        calibrate(laplace, **target, **WIDE)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x", True])
def test_bad_numbers_are_refused(bad):
    for name in ("epsilon", "rho", "low", "high"):
        arguments = {"epsilon": 1, **WIDE, name: bad}
        if name == "rho":
            del arguments["epsilon"]
        with pytest.raises((NumberError, RangeError)):
            calibrate(laplace, **arguments)


@pytest.mark.parametrize("bad", [1, -1, float("nan"), "x"])
def test_bad_deltas_are_refused(bad):
    with pytest.raises((NumberError, RangeError)):
        calibrate(scalar, epsilon=1, delta=bad, **WIDE)


def test_losses_without_the_cost_are_refused():
    with pytest.raises(LossError, match="delta="):
        calibrate(scalar, epsilon=1, **WIDE)
    with pytest.raises(LossError, match="zCDP"):
        calibrate(lambda t: Approximate(1 / t, MICRO), rho=1, **WIDE)
    with pytest.raises(LossError, match="not a loss"):
        calibrate(lambda t: Loss(), epsilon=1, **WIDE)


def test_a_coarse_search_begins_at_the_low_end_and_not_below():
    low = 1 + Fraction(1, 2**30)  # between two numbers of 21 bits
    found = calibrate(lambda t: LaplaceShift(t, 1, 1), epsilon=50, tight=True, low=low, high=100)
    assert low <= found <= low + Fraction(1, 2**18)
