"""Sums of w(x) = exp(−x²/(2σ²)) over the integers, enclosed.

Narrow Gaussians are added up term by term. For wide ones the sum is the integral plus the first
terms of the Euler-Maclaurin series, whose remainder is bounded; the integral is e^(−z²/2) times the
Mills ratio, which has a series for small z and a continued fraction for large z.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from sfumato.core.interval import Interval, directed

_WIDE = 48  # σ from which the series is used
_STEEP = 16  # ... unless the terms fall by more than exp(−1/16) each: then few of them count
_PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
_LAST_ZERO = Fraction(415, 100)  # above the largest zero of the Hermite polynomial He8, 4.1446
_VARIATION = 121  # above the integral of |He8(z)|·exp(−z²/2) over z > 0, 120.46


def total(sigma: Fraction, digits: int) -> Interval:
    """Enclose Σ w(x) over all integers."""
    if sigma < 3:
        return 1 + 2 * tail(1, sigma, digits)
    # Poisson summation: σ·sqrt(2π)·(1 + 2·Σ exp(−2π²σ²k²)); and 2π² > 19.
    rest = 3 * (-Interval.of(19 * sigma * sigma, digits)).exp()
    _, up = directed(digits)
    factor = Interval(Decimal(1), up.add(Decimal(1), rest.high), digits)
    return sigma * (2 * pi(digits)).sqrt() * factor


@lru_cache(maxsize=1024)
def tail(first: int, sigma: Fraction, digits: int) -> Interval:
    """Enclose Σ w(x) over the integers x >= first, where first >= 1."""
    if sigma < _WIDE or first * _STEEP >= sigma * sigma:
        return _added(first, sigma, digits)
    return _series(first, sigma, digits)


def _added(first: int, sigma: Fraction, digits: int) -> Interval:
    """Add the terms up; those left out fall faster than a geometric series."""
    variance = sigma * sigma
    term = (-Interval.of(first * first / (2 * variance), digits)).exp()
    ratio = (-Interval.of(Fraction(2 * first + 1) / (2 * variance), digits)).exp()
    factor = (-Interval.of(1 / variance, digits)).exp()
    down, up = directed(digits)
    negligible = Decimal(10) ** (10 - digits)
    low, w, r = Decimal(0), term.low, ratio.low
    high, v, s = Decimal(0), term.high, ratio.high
    while v > up.multiply(high, negligible):
        for _ in range(8):
            low, high = down.add(low, w), up.add(high, v)
            w, v = down.multiply(w, r), up.multiply(v, s)
            r, s = down.multiply(r, factor.low), up.multiply(s, factor.high)
    return Interval(low, up.add(high, up.divide(v, down.subtract(Decimal(1), s))), digits)


def _series(first: int, sigma: Fraction, digits: int) -> Interval:
    """Sum by Euler-Maclaurin: the integral of w, then w/2 and the odd derivatives up to the fifth.

    With z = first/σ the n-th derivative is (−1)^n·He_n(z)/σ^n·w, and its coefficients are −1/12,
    1/720 and −1/30240. The remainder of order 8 and the term before it, which is left out, are each
    at most the integral of the eighth derivative's size over 1209600. From the largest zero of He8
    on that integral is the size of the seventh derivative; it is never above 121/σ^7.
    """
    z = Fraction(first) / sigma
    decay = (-Interval.of(z * z / 2, digits)).exp()
    head = (
        Fraction(1, 2)
        + z / (12 * sigma)
        - (z**3 - 3 * z) / (720 * sigma**3)
        + (z**5 - 10 * z**3 + 15 * z) / (30240 * sigma**5)
    )
    middle = decay * (sigma * mills(Interval.of(z, digits)) + head)
    if z >= _LAST_ZERO:
        seventh = (z**7 - 21 * z**5 + 105 * z**3 - 105 * z) / sigma**7
        rest = decay * (seventh / 604800)
    else:
        rest = Interval.of(_VARIATION / (604800 * sigma**7), digits)
    return middle + Interval(rest.high.copy_negate(), rest.high, digits)


def mills(z: Interval) -> Interval:
    """Enclose e^(z²/2)·∫ e^(−t²/2) dt over t > z, for z > 0."""
    return _mills_fraction(z) if z.low >= 4 else _mills_series(z)


def _mills_fraction(z: Interval) -> Interval:
    """Enclose it by 1/(z + 1/(z + 2/(z + 3/(z + ...)))), cut where the digits are used up."""
    depth = int((2.31 * z.digits / (2.0 * float(min(z.low, Decimal(10**6))))) ** 2 / 2) + 8
    # The part that is cut off lies between z and z + (depth + 1)/z.
    rest = Interval(z.low, (z + (depth + 1) / z).high, z.digits)
    for k in range(depth, 0, -1):
        rest = z + k / rest
    return 1 / rest


def _mills_series(z: Interval) -> Interval:
    """Enclose it by sqrt(π/2)·e^(z²/2) − Σ z^(2k+1)/(1·3·5···(2k+1))."""
    square = z * z
    negligible = Decimal(10) ** -z.digits
    term = series = z
    k = 1
    # From k = z² on each term is less than half of the one before: the rest is below the last.
    while term.high > negligible or k < 16:
        term = term * square / (2 * k + 1)
        series = series + term
        k += 1
    series = Interval(series.low, (series + term).high, z.digits)
    return (pi(z.digits) / 2).sqrt() * (square / 2).exp() - series


def pi(digits: int) -> Interval:
    """Enclose π, to 80 digits at most."""
    unit = Decimal(1).scaleb(2 - len(_PI))
    return Interval(Decimal(_PI), Decimal(_PI) + unit, digits)
