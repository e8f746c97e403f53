"""Cells: the values of a feature cut into finitely many, so that everything else is counting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 4096
_DENSE, _FAR = 2**14, 2**62


@dataclass(frozen=True, slots=True)
class Cut:
    """A partition of all possible values into cells, numbered from 0.

    With an order, cell i holds what lies above edge i − 1 and up to edge i, and the last cell the
    rest, NaN included. Without one, cell i holds the value of edge i alone.

    Attributes:
        edges: distinct and ascending.
        ordered: whether values have an order.
    """

    edges: NDArray[Any]
    ordered: bool

    @classmethod
    def learn(cls, values: NDArray[Any], *, ordered: bool, most: int = MOST_CELLS) -> Cut:
        """Choose the cells from examples: their distinct values if they are few, else quantiles."""
        if not ordered:
            distinct, counts = np.unique(values, return_counts=True)
            common = distinct[counts > 1]
            if common.size > most:
                common = np.sort(distinct[np.argsort(counts)[-most:]])
            return cls(common, False)
        if values.dtype.kind == "f":
            values = values[~np.isnan(values)]
        values = np.sort(values)
        fresh = np.append(True, values[1:] != values[:-1]) if values.size else np.zeros(0, np.bool_)
        edges = values[fresh]
        if edges.size > most:
            edges = np.unique(values[_ranks(values.size, most)])
        if edges.dtype.kind == "f":
            edges = np.unique(np.append(edges, np.inf))  # so that NaN has the last cell to itself
        return cls(edges, True)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.edges.size + 1

    def cells(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Return the cell of each value."""
        if self.ordered and self.edges.dtype == values.dtype == np.int64 and self.edges.size:
            low, high = int(self.edges[0]), int(self.edges[-1])
            if high - low < _DENSE and high < _FAR:  # integers close together: look them up
                table = np.searchsorted(self.edges, np.arange(low, high + 2), "left")
                looked_up: NDArray[np.intp] = table[np.clip(values, low, high + 1) - low]
                return looked_up
        cells = np.searchsorted(self.edges, values, "left")
        if not self.ordered and self.edges.size:
            inside = np.minimum(cells, self.edges.size - 1)
            cells = np.where(self.edges[inside] == values, inside, self.edges.size)
        return cells

    def counts(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Count the values in each cell."""
        return np.bincount(self.cells(values), minlength=self.size).astype(np.int64)


def _ranks(size: int, most: int) -> NDArray[np.int64]:
    """Return ranks that are even in the middle and geometric towards both ends."""
    near = np.geomspace(1, size, most // 4).astype(np.int64) - 1
    return np.concatenate(
        [np.linspace(0, size - 1, most // 2).astype(np.int64), near, size - 1 - near]
    )
