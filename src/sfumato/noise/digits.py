"""Geometric and discrete Laplace noise by its binary digits, which are independent coins.

Let G be geometric, P(G = g) = (1 - q)·q^g with q = exp(-1/scale). Digit i of G is one with odds
q^(2^i)/(1 + q^(2^i)), independently of all others, and G reaches 2^n with probability q^(2^n). So a
draw is one comparison with a public number for each of n digits, and one for the rest, n being
chosen so that the rest is rarer than 2^-64. A discrete Laplace number is zero, or 1 + G with a fair
sign; it is not zero with odds 2q/(1 + q). Nothing is rejected and nothing depends on what came up.

Theorem:   docs/theory/exact-noise.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval import Interval
from sfumato.noise.coins import Coins, Heads
from sfumato.noise.law import Laplace
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, Threshold, below, scaled_exp

_REST = 45  # exp(-45) < 2^-64
_HALF = 32  # digits that are put together at a time where all of them would not fit 64 bits
_MOST = 60  # digits of a number that fits int64 with room to spare


class Digits:
    """One law, prepared: `draw` takes the same steps whatever it draws."""

    __slots__ = ("_coins", "_length", "_rest", "_two_sided")

    def __init__(self, law: Laplace) -> None:
        """Compute the odds of all digits."""
        self._two_sided = law.two_sided
        self._length = (-(-_REST * law.scale // 1) - 1).bit_length()  # least n: 2^n >= 45·scale
        self._rest = scaled_exp(Fraction(1), -(1 << self._length) / law.scale)
        odds = [logistic(1, (1 << i) / law.scale) for i in range(self._length)]
        nonzero = [logistic(2, 1 / law.scale)] if self._two_sided else []
        self._coins = Coins([*odds, self._rest, *nonzero])

    @property
    def words(self) -> int:
        """How many random words one draw takes, but with probability 2^-64 for the rest."""
        return self._coins.words + self._two_sided

    def draw(self, size: int, rng: Rng) -> Any:
        """Draw `size` integers: int64, or Python's own where the scale is near 2^60."""
        heads = self._coins.throw(size, rng)
        drawn = self._put_together(heads[: self._length])
        for i in np.flatnonzero(heads[self._length]):
            drawn = drawn.astype(np.object_)
            drawn[i] += (1 + self._further(rng)) << self._length
        if not self._two_sided:
            return drawn
        signs = 1 - 2 * (rng.words(size) & np.uint64(1)).view(np.int64)
        drawn += 1
        drawn *= signs * heads[-1]
        return drawn

    def _put_together(self, digits: Heads) -> NDArray[Any]:
        if self._length <= _MOST:
            return _number(digits)
        high = _number(digits[_HALF:]).astype(np.object_)
        wide: NDArray[np.object_] = (high << _HALF) + _number(digits[:_HALF])
        return wide

    def _further(self, rng: Rng) -> int:
        """Return how often 2^n is reached again; every time it is as rare as the first."""
        times = 0
        while below(int(rng.words(1)[0]), WORD, self._rest, rng):
            times += 1
        return times


def logistic(factor: int, exponent: Fraction) -> Threshold:
    """Return factor/(1 + exp(exponent)), for a positive exponent, as a threshold."""

    def enclose(length: int) -> tuple[int, int]:
        # A huge exponent would make a decimal of as many digits as it has; e^x > 2^x > 2^(l+2).
        if exponent > length + 2:
            return 0, 1
        digits = length * 31 // 100 + 20
        shrunk = Interval.of(-exponent, digits).exp()
        odds = shrunk * factor / (shrunk + 1)
        return odds.floor_fixed(length), odds.ceil_fixed(length)

    return enclose


def _number(digits: Heads) -> NDArray[np.int64]:
    number = np.zeros(digits.shape[1], np.int64)
    for digit in digits[::-1]:
        number += number
        number += digit
    return number
