"""Inverse-distribution sampling by a search of fixed length, exact by lazy refinement.

The place of a uniform real U among the boundaries of a distribution is found in as many steps of
one comparison as the number of boundaries has digits, whatever U is. The search looks at the first
64 bits; where they equal those of a boundary, the next 64 decide, by a mask. Only where several
boundaries share their first 64 bits (in the far tail), or 128 bits do not suffice, the place stays
open; `doubt` bounds the probability of that.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.law import Law
from sfumato.noise.rng import Rng, Words
from sfumato.noise.uniform import WORD

_LAST = 2**WORD - 1


class Ladder:
    """The blocks of a law, ready to be drawn in fixed steps."""

    __slots__ = ("_crowded", "_first", "_law", "_second", "blocks", "doubt")

    def __init__(self, law: Law) -> None:
        """Lay out the boundaries, and rungs above them up to a power of two."""
        low, _ = law.boundaries(2 * WORD)
        self._law, self.blocks = law, len(low)
        size = 1 << self.blocks.bit_length()  # at least one more than there are
        self._first = np.full(size, _LAST, np.uint64)
        self._second = np.full(size, _LAST, np.uint64)
        self._first[: self.blocks] = [each >> WORD for each in low]
        self._second[: self.blocks] = [each & _LAST for each in low]
        self._crowded = np.append(self._first[:-1] == self._first[1:], True)
        crowds = np.unique(self._first[self._crowded]).size
        self.doubt = Fraction(crowds + 1, 2**WORD) + Fraction(self.blocks, 2 ** (2 * WORD))

    def climb(self, words: Words, more: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return how many boundaries lie at or below each real, and where that is open.

        Args:
            words: the first 64 bits of each real.
            more: the next 64.
        """
        place = np.zeros(words.size, np.int64)
        step = self._first.size >> 1
        while step:
            rung = self._first.take(place + (step - 1), mode="clip")
            place += (rung < words) * np.int64(step)
            step >>= 1
        met = self._first.take(place, mode="clip") == words
        second = self._second.take(place, mode="clip")
        unsure = met & ((second == more) | self._crowded.take(place, mode="clip"))
        place += met & (second < more)
        return place, unsure

    def refine(self, prefix: int, length: int, rng: Rng) -> int:
        """Return the place of the real that starts with these bits; draws more while it is open."""
        while True:
            low, high = self._law.boundaries(length)
            # Boundary k is at most U for certain if high[k] <= prefix, above it if low[k] > prefix.
            certain, possible = bisect_left(high, prefix + 1), bisect_left(low, prefix + 1)
            if certain == possible and possible < len(low):
                return certain
            prefix = (prefix << WORD) | int(rng.words(1)[0])
            length += WORD
