"""The noise laws: weights exp(-f(x)) on the integers, and their distribution in exact enclosures.

A law with a large scale is drawn in blocks of 2^shift integers. The first integers of the blocks
have weights exp(-f(b·2^shift)), which is the same kind of law at scale/2^shift; within a block the
weight falls by the factor exp(-gamma), gamma = f(x) - f(b·2^shift), a rational.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InternalError, RangeError
from sfumato.core.number import show
from sfumato.noise.uniform import fixed_exp

_BLOCK_FROM = 64  # from this scale on a law is drawn in blocks, at a block scale in [32, 64)
SMALLEST, LARGEST = Fraction(1, 2**20), Fraction(2**60)  # scales
_GUARD = 64  # extra bits that soak up the rounding of the recurrences
_LOOK = 32  # how many terms are added between two looks at the rest
_REST = 32  # the rest left out of a sum weighs 2^-32 of the last bit asked for


@dataclass(frozen=True, slots=True)
class Law(ABC):
    """Weights exp(-f(|x|)) on the integers (or on those from zero up), f convex, f(0) = 0.

    Attributes:
        scale: the scale parameter of the law.
        two_sided: whether negative integers take part.
    """

    scale: Fraction
    two_sided: bool = True

    def __post_init__(self) -> None:
        """Check the scale."""
        if not SMALLEST <= self.scale <= LARGEST:
            raise RangeError(
                f"a noise scale of {show(self.scale)} is outside 2^-20 to 2^60, the range in which "
                f"integer noise means anything. {'Lower' if self.scale < SMALLEST else 'Raise'} "
                f"epsilon, or change the step of what is measured."
            )

    @property
    def shift(self) -> int:
        """Log2 of the block length; 0 when the law is drawn directly."""
        if self.scale < _BLOCK_FROM:
            return 0
        return int(self.scale // (_BLOCK_FROM // 2)).bit_length() - 1

    @property
    def block_scale(self) -> Fraction:
        """The scale, counted in blocks."""
        return self.scale / (1 << self.shift)

    @property
    def doubled_zero(self) -> bool:
        """Whether zero is drawn with both signs, so that one of them must be rejected."""
        return self.two_sided and self.shift > 0

    def boundaries(self, length: int) -> tuple[list[int], list[int]]:
        """Enclose the distribution function of the block index, times 2^length.

        Returns:
            Two lists with ``low[k] <= 2^length * P(block <= k) <= high[k]``, ``high - low <= 1``,
            long enough that what lies beyond the last is within the last bit.
        """
        for guard in (_GUARD, 4 * _GUARD, 16 * _GUARD):
            low, high = self._boundaries(length, length + guard)
            if all(h - g <= 1 for g, h in zip(low, high, strict=True)):
                return low, high
        raise InternalError("a noise table did not settle; this is a defect, please report it.")

    def _boundaries(self, length: int, precision: int) -> tuple[list[int], list[int]]:
        one = 1 << precision
        ratio_low, ratio_high, step_low, step_high = self._recurrence(precision)
        weight_low = weight_high = one
        # Every block but a single zero counts for both signs.
        first = one if self.two_sided and not self.doubled_zero else 2 * one
        sum_low = sum_high = first
        lows, highs = [sum_low], [sum_high]
        for k in count(1):
            weight_low = weight_low * ratio_low >> precision  # down
            weight_high = (weight_high * ratio_high >> precision) + 1  # up
            if k % _LOOK == 0:  # a division, and some terms too many do no harm
                # The ratios only fall, so the rest is at most a geometric series.
                rest_high = 2 * weight_high * one // max(one - ratio_high, 1) + 1
                if rest_high << (length + _REST) < sum_low:
                    break
            sum_low += 2 * weight_low
            sum_high += 2 * weight_high
            lows.append(sum_low)
            highs.append(sum_high)
            if step_low < one:
                ratio_low = ratio_low * step_low >> precision
                ratio_high = (ratio_high * step_high >> precision) + 1
        total_low, total_high = sum_low, sum_high + rest_high
        # Products with a rounded inverse in place of divisions; it has guard bits of its own.
        shift = precision + _GUARD
        inverse_low = (1 << (shift + length)) // total_high
        inverse_high = -(-(1 << (shift + length)) // total_low)
        low = [s * inverse_low >> shift for s in lows]
        enough = bisect_left(low, (1 << length) - 1) + 1
        high = [-(-s * inverse_high >> shift) for s in highs[:enough]]
        return low[:enough], [min(h, 1 << length) for h in high]

    @abstractmethod
    def _recurrence(self, precision: int) -> tuple[int, int, int, int]:
        """Enclose weight(1)/weight(0) and the factor by which that ratio changes each step."""

    @abstractmethod
    def gamma(self, block: int, offset: int) -> Fraction:
        """Return f(x) - f(first integer of the block), exactly."""

    @abstractmethod
    def gamma_floats(
        self, block: NDArray[np.float64], fraction: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return gamma to within 6 units of roundoff, `fraction` being offset / 2^shift."""


@dataclass(frozen=True, slots=True)
class Laplace(Law):
    """P(x) proportional to exp(-|x|/scale); one-sided, it is the geometric law."""

    def _recurrence(self, precision: int) -> tuple[int, int, int, int]:
        low, high = fixed_exp(-1 / self.block_scale, precision)
        one = 1 << precision
        return low, min(high, one), one, one

    def gamma(self, block: int, offset: int) -> Fraction:  # noqa: ARG002 - the same in every block
        """Return offset / scale."""
        return offset / self.scale

    def gamma_floats(
        self,
        block: NDArray[np.float64],  # noqa: ARG002
        fraction: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return offset / scale: two roundings."""
        return fraction / float(self.block_scale)


@dataclass(frozen=True, slots=True)
class Gaussian(Law):
    """P(x) proportional to exp(-x²/(2·scale²)), on all integers."""

    def __post_init__(self) -> None:
        """Check the scale; the one-sided law has no sampler of one draw."""
        Law.__post_init__(self)
        if not self.two_sided:
            raise RangeError("the discrete Gaussian is drawn on both sides of zero only.")

    def _recurrence(self, precision: int) -> tuple[int, int, int, int]:
        one = 1 << precision
        square = self.block_scale**2
        ratio_low, ratio_high = fixed_exp(-1 / (2 * square), precision)
        step_low, step_high = fixed_exp(-1 / square, precision)
        return ratio_low, min(ratio_high, one), step_low, min(step_high, one)

    def gamma(self, block: int, offset: int) -> Fraction:
        """Return offset·(2·start + offset) / (2·scale²)."""
        return offset * ((block << (self.shift + 1)) + offset) / (2 * self.scale**2)

    def gamma_floats(
        self, block: NDArray[np.float64], fraction: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the same in blocks: five roundings."""
        return fraction * (2 * block + fraction) / float(2 * self.block_scale**2)
