"""Rows of many groups in the order of their values, ready to be looked up.

A row does not sit at a point: it is spread evenly over the cell of its value, in as many shares as
the cell has places. So rows of one value can be cut apart at any share, and wherever a group is
cut, the shares of one row on all sides add up to one row.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]

_LARGEST = 2**63 - 1


class Ranking:
    """Sorted rows; groups, positions and places count from 0.

    Attributes:
        groups: how many groups there are.
        points: how many positions the grid has.
        shares: how many places the cell of a position has; rows are weighed in these.
        alone: whether the rows came as one group, without a list of groups.
    """

    __slots__ = ("_keys", "_levels", "_starts", "_stride", "alone", "groups", "points", "shares")

    def __init__(
        self, positions: Integers, cells: Integers | None, groups: int, points: int, shares: int
    ) -> None:
        """Sort the rows.

        Args:
            positions: where each row is, from 0 to points - 1; overwritten.
            cells: the group of each row; None if there is one group.
            groups: how many groups there are.
            points: how many positions the grid has.
            shares: how many places a position has.
        """
        self.groups, self.points, self.shares, self.alone = groups, points, shares, cells is None
        self._levels: Integers | None = None
        self._stride = points
        if groups * points > _LARGEST:  # group and position do not fit one word: number the values
            self._levels = np.unique(positions)
            positions = np.searchsorted(self._levels, positions)
            self._stride = self._levels.size + 1
        if cells is not None:
            positions += cells * self._stride
        positions.sort()
        self._keys = positions
        self._starts = np.searchsorted(positions, np.arange(groups + 1) * self._stride)

    def __repr__(self) -> str:
        """Say what it is, and nothing about it."""
        return "<sorted rows, not shown>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return one number for each row, of its group and its position; for comparisons."""
        if self._levels is None:
            return np.array(self._keys, dtype)
        group, level = np.divmod(self._keys, self._stride)
        return np.asarray(group.astype(np.object_) * self.points + self._levels[level])

    def below(self, groups: Integers, positions: Integers) -> Integers:
        """Return how many rows of a group lie below a position."""
        if self._levels is not None:
            positions = np.searchsorted(self._levels, positions)
        return np.searchsorted(self._keys, groups * self._stride + positions) - self._starts[groups]

    def position(self, groups: Integers, ranks: Integers) -> Integers:
        """Return where the row of a rank is: any position at all in a group without rows."""
        if not self._keys.size:
            return np.zeros(np.broadcast_shapes(groups.shape, ranks.shape), np.int64)
        last = np.maximum(self._starts[groups + 1] - 1, self._starts[groups])
        index = np.minimum(self._starts[groups] + ranks, last)
        key = self._keys[np.minimum(index, self._keys.size - 1)]
        found: Integers = np.clip(key - groups * self._stride, 0, self._stride - 1)
        if self._levels is not None:
            found = self._levels[np.minimum(found, self._levels.size - 1)]
        return found

    def held(self, groups: Integers, positions: Integers) -> tuple[Integers, Integers]:
        """Return how many rows lie below a position, and how many at it."""
        under = self.below(groups, positions)
        return under, self.below(groups, np.minimum(positions + 1, self.points)) - under

    def weight(self, groups: Integers, places: Integers) -> Integers:
        """Return how much lies below a place, in shares of rows."""
        position, place = np.divmod(places, self.shares)
        under, here = self.held(groups, position)
        return under * self.shares + here * place
