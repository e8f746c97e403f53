"""What a release is to answer well: all prefixes, all ranges, or intervals that somebody listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST = 2**20  # intervals that are listed


class Law(Protocol):
    """How far sums of cells may be off."""

    def variance(self, lows: Integers, highs: Integers) -> Floats:
        """Return the variances of the sums of the cells from each low to below each high."""

    def variance_of(self, weights: Floats) -> float:
        """Return the variance of a weighted sum of all cells."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Sums of neighboring cells, all counted alike.

    Attributes:
        name: ``"prefix"``, ``"ranges"`` or ``"intervals"``.
        cells: how many cells there are.
        intervals: pairs of a first cell and one after the last, if they are listed.
    """

    name: str
    cells: int
    intervals: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, given: Any, cells: int, positions: Any = None) -> Workload:
        """Read a workload.

        Args:
            given: ``"prefix"``, ``"ranges"``, or a list of (low, high), both ends included.
            cells: how many cells there are.
            positions: turns a low and a high into a first cell and one after the last.

        Raises:
            InputError: it is none of these, or an interval is reversed.
        """
        if isinstance(given, Workload):
            return given
        if isinstance(given, str):
            if given not in ("prefix", "ranges"):
                raise InputError(
                    f"there is no workload {given!r}. Pass 'ranges', 'prefix', or a list of "
                    f"intervals (low, high) with both ends included."
                )
            return cls(given, cells)
        pairs = _pairs(given)
        found = [tuple(pair) if positions is None else positions(*pair) for pair in pairs]
        return cls("intervals", cells, tuple((int(a), int(b)) for a, b in found))

    def __len__(self) -> int:
        """Count the sums."""
        if self.name == "ranges":
            return self.cells * (self.cells + 1) // 2
        return self.cells if self.name == "prefix" else len(self.intervals)

    @property
    def ends(self) -> tuple[Integers, Integers]:
        """First cells and cells after the last, of prefixes or listed intervals."""
        if self.name == "intervals":
            array = np.array(self.intervals, np.int64)
            return array[:, 0], array[:, 1]
        return np.zeros(self.cells, np.int64), np.arange(1, self.cells + 1)

    def energies(self, widths: Sequence[int]) -> Floats:
        """Return, for blocks of each width, the squares of all sums after averaging over blocks.

        Theorem: docs/theory/strategies.md, theorem 2
        """
        if self.name != "ranges":
            return np.array([_averaged(*self.ends, width).sum() for width in widths])
        # The squares of all differences of two prefixes: n + 1 times the squares of all prefixes,
        # the empty one too, less the square of their sum.
        weights = np.arange(self.cells, 0, -1, dtype=np.float64)
        none, ends = np.zeros(self.cells, np.int64), np.arange(1, self.cells + 1)
        out = []
        for width in widths:
            sums = np.add.reduceat(weights, np.arange(0, self.cells, width))
            squares = _averaged(none, ends, width).sum()
            out.append((self.cells + 1) * squares - (sums**2).sum() / width)
        return np.array(out)

    def error(self, law: Law) -> float:
        """Return the root of the mean variance of the sums."""
        lows, highs = self.ends
        total = float(law.variance(lows, highs).sum())
        if self.name == "ranges":
            weights = np.arange(self.cells, 0, -1, dtype=np.float64)
            total = (self.cells + 1) * total - law.variance_of(weights)
        return float(np.sqrt(max(total, 0.0) / len(self)))


def _averaged(lows: Integers, highs: Integers, width: int) -> Floats:
    """Return the square of each interval's indicator, averaged over blocks of one width."""
    first, last = lows // width, (highs - 1) // width
    head = np.minimum(highs, (first + 1) * width) - lows  # cells of it in its first block
    tail = np.where(last > first, highs - last * width, 0)
    whole = np.maximum(last - first - 1, 0)
    squares = head.astype(np.float64) ** 2 + tail.astype(np.float64) ** 2
    return np.asarray(squares / width + whole * width)


def _pairs(given: Any) -> list[Any]:
    try:
        pairs = [tuple(pair) for pair in given]
    except TypeError:
        pairs = []
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise InputError(
            "a workload is 'ranges', 'prefix', or a list of intervals (low, high), both ends "
            "included, such as [(0, 9), (10, 99)]."
        )
    if len(pairs) > MOST:
        raise InputError(
            f"a workload lists at most {MOST:,} intervals, and this one has {len(pairs):,}. Pass "
            f"'ranges', which stands for all of them."
        )
    return pairs
