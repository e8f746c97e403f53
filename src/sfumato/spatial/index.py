"""Cells of a map in an order that keeps neighbors together, with boxes around runs of them.

A region is compared with large runs first, and with what is in a run only where the region's
border passes through it: of a million cells a box meets a few thousand.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.spatial.box import Floats, boxes

Integers = NDArray[np.int64]

FAN = 8  # runs in a run of the next level
_BITS = 31


class Index:
    """Cells, sorted along a curve that fills the plane (Morton 1966).

    Args:
        cells: an array of four columns: x_low, y_low, x_high, y_high.

    Attributes:
        cells: the cells as they were given.
        order: for each place along the curve, which cell it is.
    """

    def __init__(self, cells: Any) -> None:
        """Check the cells and sort them."""
        self.cells = boxes(cells, "cell")
        low, high = self.cells[:, :2], self.cells[:, 2:]
        middle = low + (high - low) / 2
        start, end = middle.min(axis=0), middle.max(axis=0)
        span = np.where(end > start, end - start, 1.0)
        place = ((middle - start) / span * (2**_BITS - 1)).astype(np.uint64)
        key = _spread(place[:, 0]) | (_spread(place[:, 1]) << np.uint64(1))
        self.order: Integers = np.argsort(key, kind="stable")
        self._columns: dict[int, Floats] = {}

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.cells)

    @cached_property
    def levels(self) -> list[Floats]:
        """Boxes around runs of 1, 8, 64, ... sorted cells; the last level has at most 8 of them."""
        found = [self.cells[self.order]]
        while len(found[-1]) > FAN:
            below = found[-1]
            starts = np.arange(0, len(below), FAN)
            low = np.minimum.reduceat(below[:, :2], starts)
            found.append(np.hstack([low, np.maximum.reduceat(below[:, 2:], starts)]))
        return found

    def columns(self, level: int) -> Floats:
        """Return the boxes of a level as four rows, which are quicker to gather from."""
        if level not in self._columns:
            self._columns[level] = np.ascontiguousarray(self.levels[level].T)
        return self._columns[level]

    def children(self, level: int, nodes: Integers) -> tuple[Integers, Integers]:
        """Return the runs in runs of a level, and for each the place of its parent in `nodes`."""
        size = len(self.levels[level - 1])
        below = (nodes[:, None] * FAN + np.arange(FAN)).ravel()
        parents = np.repeat(np.arange(len(nodes)), FAN)
        if below.max(initial=0) < size:
            return below, parents
        there = below < size
        return below[there], parents[there]

    def runs(self, level: int, nodes: Integers) -> tuple[Integers, Integers]:
        """Return the places from which and before which the cells of runs lie."""
        return nodes * FAN**level, np.minimum((nodes + 1) * FAN**level, len(self))


def _spread(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Put a zero between each two bits of 32."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
    return bits
