"""The exact privacy curve of one discrete Gaussian.

Two discrete Gaussians that lie Δ apart have a likelihood ratio that falls in x, so the event that
tells them apart best is x <= c, and δ(ε) = P(X <= c) − e^ε·P(X <= c − Δ) for the largest integer c
below Δ/2 − ε·σ²/Δ. See ``docs/theory/zcdp.md``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from sfumato.accounting.grid import dyadic, index_below, least_near, rational_up
from sfumato.accounting.tail import tail, total
from sfumato.core.interval import DIGITS, Interval, directed

_SANE = 300  # decimal exponent of a step that the search may take


@lru_cache(maxsize=4096)
def gaussian_delta(sigma: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """Return δ(ε) of discrete Gaussian noise on one integer that one unit can shift, rounded up.

    Guarantee: (ε, δ)-DP for shifts up to `shift`.
    Theorem:   docs/theory/zcdp.md
    Exactness: rounded up, by about 1 in 10^9 of the value at most; never below 10^-400

    Args:
        sigma: the noise has P(x) proportional to exp(−x²/(2·sigma²)).
        shift: the largest shift Δ; smaller shifts have a smaller δ.
        epsilon: ε, zero or above.

    Example:
        >>> round(float(gaussian_delta(Fraction(4), 1, Fraction(1))) * 1e6, 4)
        3.0555
    """
    if not shift:
        return Fraction(0)
    digits = _digits(sigma, shift)
    gap, _ = _gap(sigma, shift, epsilon, digits)
    high = directed(digits)[1].divide(gap, total(sigma, digits).low)  # up: overstates loss
    return rational_up(min(high, Decimal(1)))


@lru_cache(maxsize=4096)
def gaussian_epsilon(sigma: Fraction, shift: int, delta: Fraction) -> Fraction:
    """Return the least ε of 41 significant bits at which ``gaussian_delta`` is at most `delta`.

    Guarantee: (ε, δ)-DP for shifts up to `shift`.
    Theorem:   docs/theory/zcdp.md
    Exactness: rounded up, by about 1 in 10^9 of the value at most

    Args:
        sigma: the noise has P(x) proportional to exp(−x²/(2·sigma²)).
        shift: the largest shift Δ.
        delta: δ, from 10^-400 up.
    """
    if gaussian_delta(sigma, shift, Fraction(0)) <= delta:
        return Fraction(0)
    guess = index_below(_newton(sigma, shift, delta))
    index = least_near(lambda i: gaussian_delta(sigma, shift, dyadic(i)) <= delta, guess)
    return dyadic(index)


def _digits(sigma: Fraction, shift: int) -> int:
    """Return digits that suffice after the two tails, which differ by shift/σ, are subtracted."""
    ratio = sigma / shift
    lost = (ratio.numerator.bit_length() - ratio.denominator.bit_length()) // 3
    return DIGITS + min(max(lost, 0), DIGITS)


def _threshold(sigma: Fraction, shift: int, epsilon: Fraction) -> int:
    """Return the largest integer below Δ/2 − ε·σ²/Δ."""
    return math.ceil(Fraction(shift, 2) - epsilon * sigma * sigma / shift) - 1


def _gap(sigma: Fraction, shift: int, epsilon: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Return δ(ε) times the sum of all weights, rounded up, and −dδ/dε times it, rounded down."""
    down, up = directed(digits)
    c = _threshold(sigma, shift, epsilon)
    factor = Interval.of(epsilon, digits).exp()
    # down: e^ε may be too large for a decimal, then its low end is the largest decimal
    lost = down.multiply(factor.low, max(_upto(c - shift, sigma, digits).low, Decimal(0)))
    return up.subtract(_upto(c, sigma, digits).high, lost), lost


def _upto(last: int, sigma: Fraction, digits: int) -> Interval:
    """Enclose the weight of the integers up to `last`; w is even."""
    if last < 0:
        return tail(-last, sigma, digits)
    return total(sigma, digits) - tail(last + 1, sigma, digits)


def _newton(sigma: Fraction, shift: int, delta: Fraction) -> Fraction:
    """Return about the ε at which δ(ε) is `delta`, by Newton's method.

    First on ln δ, which comes near from afar; then, from the left, on δ as a function of e^ε, which
    is convex and piecewise linear, so that no step goes too far and the last one is exact.
    """
    digits = _digits(sigma, shift)
    down, _ = directed(digits)
    weight = (delta * total(sigma, digits)).high
    mu = Fraction(shift) / sigma
    log = math.log(delta.denominator) - math.log(delta.numerator)
    epsilon = mu * mu / 2 + mu * Fraction(math.sqrt(max(2 * log, 0.0)) + 0.1)
    left = Fraction(0)
    for steps in range(16):
        gap, slope = _gap(sigma, shift, epsilon, digits)
        if gap > weight:
            left = max(left, epsilon)
        if steps < 6:
            step = down.multiply(down.ln(down.divide(gap, weight)), down.divide(gap, slope))
        elif epsilon == left:
            step = down.ln(down.add(Decimal(1), down.divide(down.subtract(gap, weight), slope)))
        else:
            epsilon = left
            continue
        if not step.is_finite() or abs(step.adjusted()) > _SANE:
            break
        epsilon = max(epsilon + Fraction(step), epsilon / 4)
        if abs(Fraction(step)) * 10**13 <= epsilon:
            break
    return epsilon or mu
