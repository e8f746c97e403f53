"""Rényi divergences in closed form, as intervals, for one pair of laws and one order α > 1.

Each function encloses the divergence of the worst pair that a kind of loss allows, or bounds it.
The formulas and their proofs are in ``docs/theory/renyi.md``.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.accounting.grid import shorten_up
from sfumato.core.interval import Interval

_DIGITS = 60
_LEAST, _MOST = Fraction(1, 10**20), 10**4


def two_point(epsilon: Fraction, order: Fraction) -> Fraction:
    """Bound the divergence of any ε-DP pair: that of randomized response.

    Theorem: docs/theory/renyi.md
    """
    if not epsilon:
        return Fraction(0)
    whole = Interval.of(epsilon, _DIGITS)
    # (α − 1)·D = (α − 1)·ε + ln(1 + e^(−(2α−1)ε)) − ln(1 + e^(−ε))
    far = (1 + (-((2 * order - 1) * whole)).exp()).log()
    near = (1 + (-whole).exp()).log()
    return _up(whole + (far - near) / (order - 1))


def bounded_range(epsilon: Fraction, order: Fraction) -> Fraction:
    """Bound the divergence of any pair whose log-likelihood ratios span at most ε.

    Theorem: docs/theory/renyi.md
    """
    if not epsilon:
        return Fraction(0)
    whole = Interval.of(epsilon, _DIGITS)
    if not _LEAST < epsilon < _MOST:  # too small or too large to divide by what is left
        return two_point(epsilon, order)
    near, far = (-whole).exp(), (-(order * whole)).exp()
    # The worst pair has its largest ratio at u = (α − 1)·(1 − e^(−αε))/(α·(e^(−ε) − e^(−αε))).
    ratio = (order - 1) / order * (1 - far) / (near - far)
    rest = (1 - far) / (order * (1 - near))
    return _up(ratio.log() + rest.log() / (order - 1))


def discrete_laplace(shift: int, scale: Fraction, order: Fraction) -> Fraction:
    """Bound the divergence of discrete Laplace laws that lie `shift` apart.

    Theorem: docs/theory/renyi.md
    """
    if not shift:
        return Fraction(0)
    digits = _DIGITS + 2 * max(len(str(scale.numerator)) - len(str(scale.denominator)), 0)
    step = Interval.of(1 / scale, digits)
    p, r = (-step).exp(), (-((2 * order - 1) * step)).exp()
    whole = (1 + p) * (1 - r)
    return _two_exponentials((1 - p * r) / whole, (p - r) / whole, shift * step, order)


def laplace(epsilon: Fraction, order: Fraction) -> Fraction:
    """Bound the divergence of continuous Laplace laws that lie ε scales apart.

    Theorem: [Mironov17]; docs/theory/renyi.md
    """
    if not epsilon:
        return Fraction(0)
    up = Interval.of(order / (2 * order - 1), _DIGITS)
    down = Interval.of((order - 1) / (2 * order - 1), _DIGITS)
    return _two_exponentials(up, down, Interval.of(epsilon, _DIGITS), order)


def _two_exponentials(up: Interval, down: Interval, y: Interval, order: Fraction) -> Fraction:
    """Enclose ln(up·e^((α−1)y) + down·e^(−αy))/(α − 1)."""
    return _up(y + (up + down * (-((2 * order - 1) * y)).exp()).log() / (order - 1))


def _up(divergence: Interval) -> Fraction:
    high = divergence.high
    # up: a divergence is not negative, and below 10^-400 nobody tells it from that
    return shorten_up(Fraction(high)) if high.adjusted() > -400 and high > 0 else _SMALLEST


_SMALLEST = Fraction(1, 10**400)
