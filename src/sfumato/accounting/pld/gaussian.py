"""Gaussian pairs: the continuous law by erfcx, the discrete one by its tail sums.

Both use that e^x·w(b) = w(a) for the densities w at the two cuts, so that the difference of the two
tails is one density times the difference of two Mills ratios, with a relative error in every tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from sfumato.accounting.pld.leaf import Curve
from sfumato.accounting.pld.rounding import SLACK, TINY, UNIT, Floats

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_WIDE = 128  # σ from which tails are summed by the Euler-Maclaurin series
_DEEP = 80  # standard deviations to go: densities underflow at 39, and μ is below 40
_STEEPEST = 700.0  # exponent up to which a float holds out
_LAST_ZERO = 4.15  # above the largest zero of He8; see accounting/tail.py


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Continuous Gaussian noise, at a shift whose square is `square` variances."""

    square: Fraction

    symmetric: ClassVar[bool] = True
    bounded: ClassVar[tuple[bool, bool]] = (False, False)
    forever: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:  # noqa: ARG002
        """Return Φ(−a) − e^x·Φ(−b), where a, b = x/μ ∓ μ/2, which is φ(a)·(R(a) − R(b)).

        R is the Mills ratio: φ·R is the tail, and R falls by less than 1/(1 + z²) for z > 0. Where
        a < 0 it is 1 − φ(a)·(R(−a) + R(b)).
        """
        mu = math.sqrt(float(self.square))
        b = at / mu + mu / 2
        a = b - mu
        shaky = 16 * UNIT * b  # error of a, and of b
        size = np.abs(a)
        density = np.exp(-a * a / 2) / _ROOT_TWO_PI
        one, two = _mills(size), _mills(b)
        right = a >= 0
        value = np.where(right, density * (one - two), 1 - density * (one + two))
        value = np.maximum(value, 0.0)
        relative = SLACK + UNIT * 4 * a * a + size * shaky  # of φ(a)
        error = density * (SLACK * (one + two) + 4 * shaky / (1 + a * a) + 8 * UNIT * mu)
        error += np.where(right, value, 2.0) * relative
        most = np.where(right, 2 * density * one, 1.0)
        return Curve(value, error + most * blur * at + TINY, most)

    def reach(self, tail: float) -> tuple[float, float]:
        """The curve is below e^(−a²/2)."""
        return _reach(math.sqrt(float(self.square)), tail)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Discrete Gaussian noise on one integer, at a whole shift up to 2^40."""

    sigma: Fraction
    shift: int

    symmetric: ClassVar[bool] = True
    bounded: ClassVar[tuple[bool, bool]] = (False, False)
    forever: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def curve(self, at: Floats, *, back: bool, blur: float = 0.0) -> Curve:  # noqa: ARG002
        """Return P(X <= c) − e^x·P(X <= c − shift) at its best c.

        With B(m) = Σ w(x)/w(m) over x >= m and y the loss at c minus x, the second probability is
        w(c)·e^(−y)·B(shift − c) over the sum of all weights; so is the first, without e^(−y).
        """
        variance, shift = float(self.sigma**2), float(self.shift)
        drift = at * variance / shift
        # Where rounding leaves a choice, the larger c: the error of y covers what it costs.
        cut = np.ceil((shift / 2 - drift) + 16 * UNIT * (shift + drift)) - 1
        loss = (shift - 2 * cut) * shift / (2 * variance)
        shaky = 64 * UNIT * (np.abs(loss) + at + shift * shift / variance)  # error of y
        weight = np.exp(-cut * cut / (2 * variance))
        own, own_error = _tails(np.abs(cut), self.sigma)
        other, other_error = _tails(shift - cut, self.sigma)
        taken = np.exp(at - loss) * other
        whole, whole_error = _total(self.sigma)
        left = cut < 0
        # For c >= 0 the first probability is 1 less its own tail without the first term.
        value = np.where(left, weight * (own - taken), whole - weight * (own - 1 + taken)) / whole
        value = np.maximum(value, 0.0)
        relative = SLACK + 4 * UNIT * cut * cut / variance  # of w(c)
        error = weight * (own * own_error + taken * (other_error + shaky + SLACK))
        error += np.where(left, whole * value, 2 * whole) * (relative + 2 * whole_error)
        next_weight = weight * np.exp(np.minimum((0.5 - cut) / variance, _STEEPEST))
        most = np.where(left, (weight * own + next_weight) / whole, 1.0) * (1 + 1e-6)
        return Curve(value, error / whole + 2 * most * blur * at + TINY, most)

    def reach(self, tail: float) -> tuple[float, float]:
        """About that of the continuous law."""
        return _reach(float(self.shift / self.sigma), tail)


def _reach(mu: float, tail: float) -> tuple[float, float]:
    most = mu * mu / 2 + mu * math.sqrt(-2 * math.log(max(min(tail, 0.5), TINY)))
    return most, most


def _mills(z: Floats) -> Floats:
    """Return e^(z²/2)·∫ e^(−t²/2) dt over t > z, for z >= 0."""
    from scipy.special import erfcx

    ratio: Floats = erfcx(z / math.sqrt(2)) * (_ROOT_TWO_PI / 2)
    return ratio


def _tails(first: Floats, sigma: Fraction) -> tuple[Floats, Floats | float]:
    """Return Σ w(x)/w(first) over x >= first, for first >= 0, and its relative error."""
    if sigma < _WIDE:
        sums = _summed(sigma)
        index = np.minimum(first, len(sums) - 1).astype(np.int64)  # beyond, nothing counts
        return sums[index], SLACK * (1 + float(sigma) / 16)
    s = float(sigma)
    z = np.minimum(first / s, _DEEP)
    series = (
        s * _mills(z)
        + 0.5
        + z / (12 * s)
        - (z**3 - 3 * z) / (720 * s**3)
        + (z**5 - 10 * z**3 + 15 * z) / (30240 * s**5)
    )
    # As in accounting/tail.py; 121·e^(4.15²/2) < 700,000.
    left_out = np.where(z >= _LAST_ZERO, z**7 + 105 * z**3, 700_000.0) / (604800 * s**7)
    return series, 4 * SLACK + left_out / series


@lru_cache(maxsize=512)
def _summed(sigma: Fraction) -> Floats:
    """Return those sums for every integer that counts, from the last one back."""
    half = 1 / (2 * float(sigma**2))
    size = math.ceil(_DEEP * sigma) + 2
    ratios = np.exp(-half * (2 * np.arange(size) + 1.0)).tolist()
    sums = [1 / (1 - ratios[-1])] * size  # about: it counts for nothing after a few
    for m in range(size - 2, -1, -1):
        sums[m] = 1 + ratios[m] * sums[m + 1]
    return np.array(sums)


def _total(sigma: Fraction) -> tuple[float, float]:
    """Return Σ w(x) over all integers, and its relative error."""
    if sigma >= _WIDE:
        return float(sigma) * _ROOT_TWO_PI, SLACK
    return 2 * float(_summed(sigma)[0]) - 1, SLACK * (1 + float(sigma) / 16)
