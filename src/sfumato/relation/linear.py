"""Weighted sums of the cells of a question: what strategies of the literature measure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, SensitivityError
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation.aggregate import Aggregate
from sfumato.relation.keys import Keys
from sfumato.relation.matrix import (
    LARGEST,
    Blocks,
    Boxes,
    Buckets,
    Centered,
    Explicit,
    Halves,
    Kronecker,
    Toeplitz,
    Waves,
)
from sfumato.relation.node import Node
from sfumato.relation.quantity import Quantity
from sfumato.relation.query import Shape

Strategy: TypeAlias = (
    Blocks | Buckets | Boxes | Halves | Centered | Toeplitz | Explicit | Waves | Kronecker
)

_BITS = 20  # the lower ones of a cell, which are multiplied by themselves
_LOWER = (1 << _BITS) - 1
_FEW = 10**9  # rows; where no fewer can lead beyond 2^62, nothing is said


def moved(base: Sensitivity, matrix: Strategy, side: Fraction | None) -> Sensitivity:
    """Return how far a matrix moves what moves that far itself.

    Guarantee: for any two answers of a question with this sensitivity, cut to a range or not.
    Theorem:   docs/theory/strategies.md, theorem 1
    Exactness: whole norms of an integer matrix

    Args:
        base: how far cells can move.
        matrix: what is applied to them.
        side: how much of one unit can appear in all cells together, where none of it is negative;
            None where that is not known.
    """
    norms, total, square = matrix.norms, base.l1, base.l2_squared
    if total is None or square is None or base.l0 is None:
        raise SensitivityError("a matrix needs every norm of the question that it is applied to.")
    # One row after another: each moves it by a column.
    bounds = [total**2 * norms.square, square * norms.row * norms.total]
    if base.neighbors is Neighbors.REPLACE and side is not None:  # so much vanishes, and appears
        bounds.append(2 * side**2 * (norms.square - min(norms.meeting, 0)))
    length = min(bounds)
    return Sensitivity(
        l0=min(base.l0 * norms.count, Fraction(matrix.rows)),
        l1=total * norms.total,
        l2_squared=length,
        # Answers are whole numbers, and so is what one of them moves by.
        linf=min(total * norms.largest, base.linf * norms.row, Fraction(isqrt(int(length)))),
        neighbors=base.neighbors,
    )


@canonical
@dataclass(frozen=True, slots=True)
class Linear:
    """An integer matrix times the cells of a question.

    Guarantee: between neighbors the answer moves by no more than `sensitivity` says, in each norm.
    Theorem:   docs/theory/strategies.md, theorem 1
    Exactness: whole numbers; a sum is cut at 2^62, which moves no two answers apart

    Attributes:
        counts: the question, with public cells.
        matrix: a column for each cell.
    """

    counts: Aggregate
    matrix: Strategy

    def __post_init__(self) -> None:
        """Check that the two fit."""
        known(self.matrix)
        if not isinstance(self.counts.keys, Keys) or self.counts.keys.cells != self.matrix.columns:
            raise InputError(
                f"the matrix has {self.matrix.columns:,} columns, and the question has "
                f"{self.counts.keys.cells or 'an unknown number of'} cells. A strategy needs one "
                f"column for each of the cells, which are listed beforehand."
            )
        fits(self.matrix)

    @property
    def node(self) -> Node:
        """The relation."""
        return self.counts.node

    @property
    def keys(self) -> Keys:
        """The cells that are read."""
        keys = self.counts.keys
        if not isinstance(keys, Keys):  # refused when made
            raise InputError("a strategy needs cells that are listed.")
        return keys

    @property
    def quantity(self) -> Quantity:
        """What is counted or summed in each cell."""
        return self.counts.quantity

    @property
    def extent(self) -> tuple[int, int]:
        """The least and the largest that one row can add to a cell."""
        return self.counts.extent

    @property
    def shape(self) -> Shape:
        """One number for each row of the matrix."""
        return Shape("cells", (), self.matrix.rows)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Compute how far one unit can move the answer."""
        base, here = self.counts.sensitivity(unit), self.counts.appearing(unit)
        return moved(base, self.matrix, here.l1 if self.extent[0] >= 0 else None)

    def lower(self, dialect: str) -> str:
        """Write the SQL that computes the cells; the matrix is applied to them outside."""
        return self.counts.lower(dialect)


def known(matrix: Any) -> None:
    """Refuse what only looks like a matrix: its norms would be its own word."""
    if type(matrix) not in get_args(Strategy):
        raise InputError(
            f"a strategy is a matrix of sfumato.relation.matrix, such as Blocks or Explicit, and "
            f"this is a {type(matrix).__name__}. Write other ones down with Explicit.of(rows)."
        )


def fits(matrix: Strategy) -> None:
    """Refuse a matrix whose rows could pass the range of whole numbers with ever so small cells."""
    if matrix.norms.row > LARGEST // 2**20:
        raise InputError(
            "the rows of this matrix add up to more than 2^42, and cells of a million could pass "
            "64 bits. Round a matrix of your own to a coarser scale; of marginals, ask for "
            "prefixes or ranges of fewer columns at once, or make coarser bins."
        )


def limits(matrix: Strategy, each: int = 1) -> tuple[str, ...]:
    """Say how many rows are counted exactly, if it is not that many; else nothing.

    Args:
        matrix: what is applied to cells.
        each: how much a row can add to a cell, at most.
    """
    rows = LARGEST // max(matrix.norms.largest * each, 1)  # wherever they are
    if rows >= _FEW:
        return ()
    return (f"weighted sums are cut at 2^62, which no table of up to {rows:,} rows reaches",)


def weighted(matrix: Strategy, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Apply a matrix that `fits` to exact cells; each sum is cut at 2^62.

    Guarantee: cutting answers one by one moves no two of them apart, and cutting cells does not
        either.
    Theorem:   docs/theory/strategies.md, theorem 1
    Exactness: whole numbers; cells count up to 2^40 at least

    Where a row adds up to more than 2^20, the higher bits of the cells and the lower 20 are
    multiplied one after the other, so that neither passes 2^62. Which way is taken depends on the
    matrix alone.
    """
    limit = LARGEST // max(matrix.norms.row, 1)  # a matrix of zeros cuts nothing
    if limit >= 2**42:
        return matrix.apply(np.clip(cells, -limit, limit))
    cut = np.clip(cells, -(limit << _BITS), limit << _BITS)
    low = matrix.apply(cut & _LOWER)
    high = matrix.apply(cut >> _BITS) + (low >> _BITS)  # |each| <= 2^62, and a carry
    inside = np.clip(high, -(LARGEST >> _BITS), (LARGEST >> _BITS) - 1)
    made = (inside << _BITS) + (low & _LOWER)
    return np.where(high > inside, LARGEST, np.where(high < inside, -LARGEST, made))
