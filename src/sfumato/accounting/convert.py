"""From ρ to (ε, δ) and back.

For every α > 1 a ρ-zCDP mechanism is (ε, δ)-DP with

    ln δ = (α − 1)·(α·ρ − ε) + α·ln(1 − 1/α) − ln(α − 1),

so any α proves a bound, and the search for the best one may use floats. With a = α − 1 every search
is for the zero of an increasing function of a; the bound itself is evaluated in intervals at the
nearest points of a fixed grid of 21 significant bits. As the bound has one valley and the grid is
always the same, what is returned is the best on the grid, and monotone in every argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from sfumato.accounting.grid import UNIT, rational_up, shorten_up, units_down
from sfumato.core.errors import RangeError
from sfumato.core.interval import DIGITS, Interval
from sfumato.core.number import Exactable, failure_probability, nonnegative, positive

_MANTISSA = 20
_SPAN = 340.0  # ln(α − 1) is sought between −340 and 340


def zcdp_epsilon(rho: Exactable, delta: Exactable) -> Fraction:
    """Return an ε such that ρ-zCDP implies (ε, δ)-DP, rounded up.

    Guarantee: (ε, δ)-DP for every ρ-zCDP mechanism.
    Theorem:   [CKS20, Cor 13]; docs/theory/zcdp.md
    Exactness: rounded up, by at most 1 in 10^10 of the best bound that the theorem gives

    Args:
        rho: ρ, zero or above.
        delta: δ, strictly between 0 and 1.

    Example:
        >>> round(float(zcdp_epsilon("0.5", "1e-6")), 4)
        5.2215
    """
    return _zcdp_epsilon(nonnegative(rho, "rho"), _some_delta(delta))


def zcdp_delta(rho: Exactable, epsilon: Exactable) -> Fraction:
    """Return a δ such that ρ-zCDP implies (ε, δ)-DP, rounded up and at most 1.

    Guarantee: (ε, δ)-DP for every ρ-zCDP mechanism.
    Theorem:   [CKS20, Cor 13]; docs/theory/zcdp.md
    Exactness: rounded up; never below 10^-400 unless ρ is 0

    Args:
        rho: ρ, zero or above.
        epsilon: ε, zero or above.
    """
    return _zcdp_delta(nonnegative(rho, "rho"), nonnegative(epsilon, "epsilon"))


def rho_within(epsilon: Exactable, delta: Exactable) -> Fraction:
    """Return the largest ρ, in units of 10^-18, for which ρ-zCDP implies (ε, δ)-DP.

    Guarantee: every mechanism with this ρ is (ε, δ)-DP.
    Theorem:   [CKS20, Cor 13]; docs/theory/zcdp.md
    Exactness: rounded down

    Args:
        epsilon: ε, above 0.
        delta: δ, strictly between 0 and 1.

    Example:
        >>> round(float(rho_within(4, "5e-7")), 4)
        0.2961
    """
    return _rho_within(positive(epsilon, "epsilon"), _some_delta(delta))


@lru_cache(maxsize=4096)
def _zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    if not rho:
        return Fraction(0)
    log_delta, size = _log(delta), _float(rho)

    def slope(u: float) -> float:
        a = math.exp(u)
        return a * a * size + _log1p(u) + log_delta

    # up: overstates loss
    best = min((rho * (1 + a) + penalty(a, delta)).high for a in _near_zero_of(slope))
    return shorten_up(max(rational_up(best), Fraction(0)))


@lru_cache(maxsize=4096)
def _rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    log_delta, size = _log(delta), _float(epsilon)

    def slope(u: float) -> float:
        a, short = math.exp(u), _log1p(u) + log_delta
        if short >= 0:  # the best order is below 1/δ
            return 1.0
        # The derivative times a²: `a` may be small.
        return (size + _log_ratio(u)) * a * a + short * (1 + 2 * a)

    # down: understates what may be spent
    best = max(((epsilon - penalty(a, delta)) / (1 + a)).low for a in _near_zero_of(slope))
    return Fraction(max(units_down(Fraction(best)), 0), UNIT)


@lru_cache(maxsize=4096)
def _zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    if not rho:
        return Fraction(0)
    size, target = _float(rho), _float(epsilon)

    def slope(u: float) -> float:
        return (1 + 2 * math.exp(u)) * size - target - _log_ratio(u)

    # up: overstates loss
    best = min(_exponent(a, rho, epsilon).exp().high for a in _near_zero_of(slope))
    return rational_up(min(best, Decimal(1)))


def penalty(a: Fraction, delta: Fraction) -> Interval:
    """Enclose [ln(1/δ) + (α − 1)·ln(1 − 1/α) − ln α]/(α − 1) at α = 1 + a."""
    digits = _digits(a)
    ratio = Interval.of(a / (1 + a), digits).log()
    spread = a * ratio - Interval.of(1 + a, digits).log()
    return (spread - Interval.of(delta, digits).log()) / a


def _exponent(a: Fraction, rho: Fraction, epsilon: Fraction) -> Interval:
    """Enclose ln δ at α = 1 + a."""
    digits = _digits(a)
    ratio = Interval.of(a / (1 + a), digits).log()
    slack = Interval.of(a * ((1 + a) * rho - epsilon), digits)
    return slack + (1 + a) * ratio - Interval.of(a, digits).log()


def _digits(a: Fraction) -> int:
    """Return the digits that keep 40 after a logarithm near 0 is multiplied by a large `a`."""
    return DIGITS + max(a.numerator.bit_length() - a.denominator.bit_length(), 0) // 3


def _log_ratio(u: float) -> float:
    """Return ln(1 + 1/a) for a = exp(u)."""
    return math.log1p(math.exp(-u))


def _log1p(u: float) -> float:
    """Return ln(1 + a) for a = exp(u)."""
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


def _near_zero_of(slope: Callable[[float], float]) -> list[Fraction]:
    """Return the grid points around exp(u) where the increasing function `slope` of u is zero."""
    low, high = -_SPAN, _SPAN
    for _ in range(42):  # to 2^-31 of exp(u), well within a step of the grid
        middle = (low + high) / 2
        if slope(middle) < 0:
            low = middle
        else:
            high = middle
    mantissa, exponent = math.frexp(math.exp(low))
    nearest = round(mantissa * (1 << _MANTISSA + 1))
    unit = Fraction(2) ** (exponent - _MANTISSA - 1)
    return [(nearest + step) * unit for step in (-1, 0, 1)]


def _log(number: Fraction) -> float:
    if 2 * number > 1:
        return math.log1p(float(number - 1))
    return math.log(number.numerator) - math.log(number.denominator)


def _float(number: Fraction) -> float:
    """Return a float near `number`, kept between 10^-290 and 10^290: it only steers a search."""
    return float(min(max(number, Fraction(1, 10**290)), Fraction(10**290)))


def _some_delta(delta: Exactable) -> Fraction:
    number = failure_probability(delta)
    if not number:
        raise RangeError(
            "delta = 0 cannot be had from ρ: concentrated DP bounds the loss with high probability "
            "only. Pass a delta such as '1e-6'."
        )
    return number
