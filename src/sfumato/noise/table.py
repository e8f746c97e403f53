"""Inverse-distribution sampling by a guide table, exact by lazy refinement.

The first 63 bits of a uniform real U pick a cell of the table. Most cells lie between two
boundaries of the distribution or contain one, and the answer follows from one comparison. Cells
with several boundaries (the tail) are searched. Bits that coincide with the first bits of a
boundary leave the answer open; then, with probability about 2^-63 per boundary, more bits of U and
of the boundary are compared until it is certain.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.law import Law
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD

PREFIX = 63  # bits of U in a word; the last bit of the word is left to the caller (a sign)
_GUIDE = 13  # log2 of the number of cells: two arrays of 64 KiB, which stay in the cache
_NEVER = np.uint64(2**63)


class Scratch:
    """Arrays for the steps in between, reused: fresh pages cost more than the arithmetic."""

    __slots__ = ("cell", "flag", "prefix", "threshold")

    def __init__(self, size: int) -> None:
        """Make room for `size` draws."""
        self.prefix = np.empty(size, np.uint64)
        self.threshold = np.empty(size, np.uint64)
        self.cell = np.empty(size, np.int64)
        self.flag = np.empty(size, np.bool_)


class Table:
    """The blocks of a law, ready to be drawn."""

    __slots__ = ("_base", "_edges", "_law", "_tail", "_threshold")

    def __init__(self, law: Law) -> None:
        """Lay out boundaries and cells."""
        low, _ = law.boundaries(PREFIX)
        self._law = law
        self._edges = np.array(low, np.uint64)
        starts = np.arange(2**_GUIDE, dtype=np.uint64) << np.uint64(PREFIX - _GUIDE)
        self._base = np.searchsorted(self._edges, starts, "left")
        inside = np.append(self._base[1:], self._edges.size) - self._base
        self._threshold = np.where(
            inside == 1, self._edges[np.minimum(self._base, self._edges.size - 1)], _NEVER
        )
        crowded = np.flatnonzero(inside > 1)
        # The boundaries thin out only upwards, so everything from the first crowded cell is tail.
        self._tail = starts[crowded[0]] if crowded.size else _NEVER

    @property
    def blocks(self) -> int:
        """How many blocks the table knows; draws beyond them come from refinement."""
        return int(self._edges.size)

    def lookup(
        self, words: NDArray[np.uint64], out: NDArray[np.int64], scratch: Scratch, rng: Rng
    ) -> None:
        """Write the block of each word: the number of boundaries at or below its real."""
        size = words.size
        prefix, threshold = scratch.prefix[:size], scratch.threshold[:size]
        cell, flag = scratch.cell[:size], scratch.flag[:size]
        np.right_shift(words, np.uint64(1), out=prefix)
        np.right_shift(words, np.uint64(WORD - _GUIDE), out=cell.view(np.uint64))
        self._threshold.take(cell, mode="clip", out=threshold)
        self._base.take(cell, mode="clip", out=out)
        np.add(out, np.greater(prefix, threshold, out=flag), out=out)
        unsure = np.flatnonzero(np.equal(prefix, threshold, out=flag))
        tail = np.flatnonzero(np.greater_equal(prefix, self._tail, out=flag))
        if tail.size:
            sought = prefix[tail]
            found = np.searchsorted(self._edges, sought, "left")
            out[tail] = found
            met = self._edges[np.minimum(found, self._edges.size - 1)] == sought
            unsure = np.union1d(unsure, tail[met])
        for i in unsure:
            out[i] = self._refine(int(prefix[i]), rng)

    def _refine(self, prefix: int, rng: Rng) -> int:
        length = PREFIX
        while True:
            prefix = (prefix << WORD) | int(rng.words(1)[0])
            length += WORD
            low, high = self._law.boundaries(length)
            # Boundary k is at most U for certain if high[k] <= prefix, above it if low[k] > prefix.
            certain, possible = bisect_left(high, prefix + 1), bisect_left(low, prefix + 1)
            if certain == possible and possible < len(low):
                return certain
