"""Counting questions of the laboratory: a histogram, and some of its cells together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError, UnitError
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation.linear import Strategy, fits, known, moved
from sfumato.relation.query import Shape


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many records have each combination of values of some columns.

    Guarantee: adding or removing one record moves one cell by 1; replacing one moves two.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers

    Attributes:
        columns: the columns.
        sizes: how many values each has, coded 0, 1, 2, …
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """One count for each combination."""
        return Shape("cells", self.columns, prod(self.sizes))

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Return how far the records of one unit can move the counts."""
        if unit.column is not None or not isinstance(unit.max_rows, int):
            raise UnitError("in the laboratory a unit is rows. Pass Unit.row() or Unit.rows(3).")
        rows, cells = unit.max_rows, prod(self.sizes)
        if unit.neighbors is Neighbors.ADD_REMOVE:
            return Sensitivity(l0=min(rows, cells), l1=rows, linf=rows)
        if cells == 1:
            return Sensitivity(l0=0, l1=0, linf=0, neighbors="replace")
        return Sensitivity(
            l0=min(2 * rows, cells),
            l1=2 * rows,
            l2_squared=2 * rows**2,
            linf=rows,
            neighbors="replace",
        )

    def lower(self, dialect: str) -> str:
        """Refuse: data in memory needs no SQL."""
        raise InputError(f"the laboratory runs no SQL, so there is none for {dialect!r}.")

    def weighted(self, matrix: Strategy) -> Weighted:
        """Return the question for weighted sums of the cells.

        Args:
            matrix: whole numbers, with a column for each cell.
        """
        return Weighted(self, matrix)

    def subset(self, cells: Any) -> Subset:
        """Return the question how many records lie in some of the cells.

        Args:
            cells: the code of one cell, such as ``3``, or ``(0, 2)`` where there are two columns;
                or an array of the histogram's shape of True and False, or of ones and zeros.

        Raises:
            InputError: the cells are none of these.
        """
        try:
            given = np.asarray(cells)
        except ValueError:  # rows of different lengths
            given = np.array(None)
        if given.dtype.kind in "iu" and given.size == len(self.sizes) and given.ndim < 2:
            code = tuple(given.ravel().tolist())
            if given.shape != self.sizes and all(map(_is_code, code, self.sizes)):
                mask = np.zeros(self.sizes, np.bool_)
                mask[code] = True
                return Subset(self, mask.tobytes())
        if given.shape == self.sizes and given.dtype.kind in "biu":
            weights = given.astype(np.bool_)
            if (given == weights).all():  # a weight of 2 would move twice as far, of -1 both ways
                return Subset(self, weights.tobytes())
        raise InputError(
            f"a counting question names cells of the histogram: the codes of one, or an array of "
            f"shape {self.sizes} of True and False. Weights are 0 or 1."
        )


@dataclass(frozen=True, slots=True)
class Weighted:
    """An integer matrix times the cells of a histogram.

    Guarantee: between neighbors the answer moves by no more than `sensitivity` says, in each norm.
    Theorem:   docs/theory/strategies.md, theorem 1
    Exactness: whole numbers; a sum is cut at 2^62, which moves no two answers apart

    Attributes:
        histogram: whose cells.
        matrix: a column for each cell.
    """

    histogram: Histogram
    matrix: Strategy

    def __post_init__(self) -> None:
        """Check that the two fit."""
        known(self.matrix)
        if self.matrix.columns != (cells := prod(self.histogram.sizes)):
            raise InputError(
                f"the matrix has {self.matrix.columns:,} columns, and the histogram {cells:,} "
                f"cells. A strategy needs one column for each."
            )
        fits(self.matrix)

    @property
    def shape(self) -> Shape:
        """One number for each row of the matrix."""
        return Shape("cells", (), self.matrix.rows)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Return how far the records of one unit can move the sums."""
        base = self.histogram.sensitivity(unit)
        return moved(base, self.matrix, Fraction(unit.max_rows or 0))

    def lower(self, dialect: str) -> str:
        """Refuse: data in memory needs no SQL."""
        return self.histogram.lower(dialect)


def _is_code(code: int, size: int) -> bool:
    return 0 <= code < size


@dataclass(frozen=True, slots=True)
class Subset:
    """How many records lie in some cells of a histogram: one number.

    Guarantee: adding or removing one record moves it by 1, and never up for one question and down
        for another; replacing one moves it by 1 either way.
    Theorem:   docs/theory/sensitivity.md
    Exactness: a whole number

    Attributes:
        histogram: whose cells; `Histogram.subset` makes it.
        mask: a byte for each cell, 1 if it counts.
    """

    histogram: Histogram
    mask: bytes

    @property
    def shape(self) -> Shape:
        """One number."""
        return Shape("cells", (), 1)

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """The cells, as an array of the histogram's shape."""
        return np.frombuffer(self.mask, np.bool_).reshape(self.histogram.sizes)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Return how far the records of one unit can move the number."""
        rows = self.histogram.sensitivity(unit).linf
        none, whole = not any(self.mask), all(self.mask)
        if none or (whole and unit.neighbors is Neighbors.REPLACE):  # how many there are is public
            return Sensitivity(l0=0, l1=0, linf=0, neighbors=unit.neighbors)
        return Sensitivity(l0=1, l1=rows, linf=rows, neighbors=unit.neighbors)

    def lower(self, dialect: str) -> str:
        """Refuse: data in memory needs no SQL."""
        return self.histogram.lower(dialect)
