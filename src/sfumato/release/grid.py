"""Floats as exact numbers on a public grid: what is computed from noisy numbers is released so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import numpy as np

from sfumato.release.format import approximate

if TYPE_CHECKING:
    from sfumato.release.law import Floats

_DIGITS = 2  # decimals of the narrowest half-width that the public grid keeps
_EXACT = 2.0**48  # largest value on the grid; floats then err by less than a quarter of a cell


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of 10^-digits between two bounds, and the bounds themselves.

    Attributes:
        low: the lower bound, kept exactly wherever it lies.
        high: the upper one.
        digits: the decimals.
    """

    low: Fraction
    high: Fraction
    digits: int

    @classmethod
    def of(cls, low: Fraction, high: Fraction, narrowest: float, reach: float) -> Grid:
        """Choose the decimals: the narrowest half-width has a hundred cells or more.

        Args:
            low: the lower bound.
            high: the upper one.
            narrowest: the narrowest half-width; 0 if there is none.
            reach: the largest number that is computed with, in absolute value.
        """
        digits = 0 if narrowest <= 0 else max(0, ceil(-log10(narrowest)) + _DIGITS)
        return cls(low, high, min(digits, floor(log10(_EXACT / reach))) if reach > 0 else digits)

    def columns(self, value: Floats, low: Floats, high: Floats) -> list[tuple[Fraction, ...]]:
        """Return values to the nearest, ends outwards past any rounding of floats, in bounds."""
        unit = 10.0**self.digits
        cells = np.array(
            (np.rint(value * unit), np.floor(low * unit - 0.25), np.ceil(high * unit + 0.25))
        )
        grid = Fraction(10) ** -self.digits
        first, last = ceil(self.low / grid), floor(self.high / grid)
        p, q = grid.numerator, grid.denominator
        # Most cells come more than once, and a Fraction is slow to make.
        different, place = np.unique(cells, return_inverse=True)
        made = np.empty(different.shape, np.object_)
        made[:] = [
            self.low if k < first else self.high if k > last else Fraction(k * p, q)
            for k in map(int, different.tolist())
        ]
        return [tuple(column) for column in made[place.reshape(cells.shape)].tolist()]


def upward(number: float) -> Fraction:
    """Round up to three significant digits.

    Example:
        >>> upward(0.12341), upward(0)
        (Fraction(31, 250), Fraction(0, 1))
    """
    if number <= 0:
        return Fraction(0)
    grid = Fraction(10) ** (floor(log10(number)) - 2)
    return Fraction(ceil(Fraction(number) / grid)) * grid


def span(*ends: Fraction) -> float:
    """Return the largest of some numbers, in absolute value."""
    return max(approximate(abs(end)) for end in ends)
