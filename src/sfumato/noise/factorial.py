"""Logarithms of ratios of factorials, enclosed: what large binomial coefficients are made of."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, prod

from sfumato.core.interval import Interval


def log_decline(half: int, offset: int, digits: int) -> Interval:
    """Enclose the logarithm of C(2·half, half + offset) / C(2·half, half), for |offset| <= half.

    Args:
        half: half of an even number of coins.
        offset: how far from the middle.
        digits: digits behind the point that the enclosure is good to.
    """
    # The three logarithms have some len(half) digits before the point, and these cancel.
    held = digits + len(str(half)) + 10
    at, up, down = (_log_factorial(x, held) for x in (half, half + offset, half - offset))
    return at * 2 - up - down


def _log_factorial(number: int, digits: int) -> Interval:
    """Enclose ln(number!) - ln(2π)/2 by Stirling's series [DLMF, §5.11(ii)].

    For a positive argument the series is off by less than the first term that is left out, and in
    the direction of that term. Its terms fall until about the π·x-th; a small argument is first
    moved up, where `digits` can be had.
    """
    small = max(0, digits - number)
    x = number + small
    one = Interval.of(x, digits)
    total = one.log() * (x + Fraction(1, 2)) - x
    tiny = Fraction(1, 10**digits)
    k = 1
    while True:
        term = bernoulli(2 * k) / (2 * k * (2 * k - 1) * x ** (2 * k - 1))
        if abs(term) < tiny:
            break
        total = total + term
        k += 1
    ends = sorted((Fraction(0), term))
    total = total + Interval(
        Interval.of(ends[0], digits).low, Interval.of(ends[1], digits).high, digits
    )
    if small:
        total = total - Interval.of(prod(range(number + 1, x + 1)), digits).log()
    return total


@lru_cache(maxsize=1024)
def bernoulli(index: int) -> Fraction:
    """Return the Bernoulli number of an even index, from the recurrence."""
    if index == 0:
        return Fraction(1)
    known = [(k, bernoulli(k)) for k in range(0, index, 2)]
    # B_1 = -1/2 is the only odd one that counts
    total = sum((comb(index + 1, k) * b for k, b in known), -Fraction(index + 1, 2))
    return -total / (index + 1)
