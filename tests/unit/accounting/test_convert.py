"""ρ to (ε, δ) and back: never optimistic, inverse to one another, monotone."""

import math
from fractions import Fraction

import pytest

from sfumato.accounting import rho_within, zcdp_delta, zcdp_epsilon
from sfumato.core.errors import NumberError, RangeError
from sfumato.core.interval import Interval

DELTAS = [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**12), Fraction(1, 10**300)]


def best_epsilon(rho, delta):
    """Minimize the bound of the theorem over a fine grid of orders, in floats."""
    log = math.log(delta.denominator) - math.log(delta.numerator)
    orders = (math.exp(i / 2000) for i in range(-30_000, 30_000))
    return min(
        rho * (1 + a) + (log + a * math.log(a / (1 + a)) - math.log1p(a)) / a for a in orders
    )


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", ["1e-4", "0.05", "0.5", 3, 100])
def test_epsilon_is_the_best_that_any_order_gives(rho, delta):
    found = float(zcdp_epsilon(rho, delta))
    best = max(best_epsilon(float(Fraction(rho)), delta), 0.0)
    assert found == pytest.approx(best, rel=1e-6, abs=1e-12)
    assert found <= best * (1 + 1e-12)


def at_order(a, rho, delta):
    """Enclose, in many digits, the ε that the order 1 + a proves."""
    ratio = Interval.of(a / (1 + a), 100).log()
    spread = a * ratio - Interval.of(1 + a, 100).log() - Interval.of(delta, 100).log()
    return rho * (1 + a) + spread / a


def ln_delta(a, rho, epsilon):
    """Enclose, in many digits, ln δ that the order 1 + a proves."""
    ratio = Interval.of(a / (1 + a), 100).log()
    return a * ((1 + a) * rho - epsilon) + (1 + a) * ratio - Interval.of(a, 100).log()


def least_on_grid(function):
    """Return the least value of a function with one valley, over a of 21 significant bits."""
    low, high = -10.0, 10.0  # powers of two
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if function(Fraction(2.0**left)).low <= function(Fraction(2.0**right)).low:
            high = right
        else:
            low = left
    fraction, exponent = math.frexp(2.0**low)
    near = round(fraction * 2**21)
    values = [function(m * Fraction(2) ** (exponent - 21)) for m in range(near - 3, near + 4)]
    return min(values, key=lambda value: value.low)


@pytest.mark.parametrize("rho", ["0.01", "0.5", 7])
def test_results_are_rounded_to_the_safe_side_of_what_the_best_order_proves(rho):
    rho, epsilon, delta = Fraction(rho), Fraction(3), Fraction(1, 10**6)
    assert zcdp_epsilon(rho, delta) >= Fraction(
        least_on_grid(lambda a: at_order(a, rho, delta)).low
    )
    assert zcdp_delta(rho, epsilon) >= Fraction(
        least_on_grid(lambda a: ln_delta(a, rho, epsilon)).exp().low
    )
    limit = -least_on_grid(lambda a: (at_order(a, 0, delta) - rho - epsilon) / (1 + a))
    assert rho_within(epsilon + rho, delta) <= Fraction(limit.high)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", ["0.01", 1, 4, 30, 1000])
def test_rho_within_and_back(epsilon, delta):
    limit = Fraction(epsilon)
    rho = rho_within(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= limit
    assert zcdp_delta(rho, epsilon) <= delta
    more = rho * (1 + Fraction(1, 10**9)) + Fraction(1, 10**17)
    assert zcdp_epsilon(more, delta) > limit
    assert zcdp_delta(more, epsilon) > delta


def test_rho_is_on_the_grid_of_the_ledger():
    assert (rho_within(1, "1e-6") * 10**18).denominator == 1


def test_no_rho_means_no_loss():
    assert zcdp_epsilon(0, "1e-6") == zcdp_delta(0, 1) == 0


def test_a_small_budget_with_a_tiny_delta_holds_no_rho():
    assert rho_within("1e-9", "1e-300") == 0


@pytest.mark.parametrize("rho", ["1e-300", "1e-18", "1e18", "1e300", "1e-999", "1e999"])
@pytest.mark.parametrize("delta", ["1e-999", "0.999999999999999999"])
def test_extremes_give_a_bound(rho, delta):
    exact = Fraction(rho)
    assert 0 <= zcdp_epsilon(rho, delta) < 4 * exact + 10**6
    assert 0 < zcdp_delta(rho, exact) <= 1
    assert zcdp_epsilon(rho_within(exact, delta), delta) <= exact


def test_delta_is_never_above_one_and_falls():
    curve = [zcdp_delta(1, Fraction(i, 4)) for i in range(60)]
    assert curve[0] <= 1
    assert curve == sorted(curve, reverse=True)
    assert len(set(curve)) > 55


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "-1", None, "x", "٣", True])
@pytest.mark.parametrize("function", [zcdp_epsilon, zcdp_delta, rho_within])
def test_bad_numbers_are_refused(function, bad):
    with pytest.raises((NumberError, RangeError)):
        function(bad, "0.1")
    with pytest.raises((NumberError, RangeError)):
        function("0.1", bad)


@pytest.mark.parametrize("delta", [0, 1, 2, "1.0"])
@pytest.mark.parametrize("function", [zcdp_epsilon, rho_within])
def test_delta_must_be_a_probability_that_helps(function, delta):
    with pytest.raises(RangeError, match="delta"):
        function(1, delta)


def test_a_target_of_zero_is_refused():
    with pytest.raises(RangeError, match="epsilon"):
        rho_within(0, "1e-6")
