"""What is measured of one column beyond the total: an integer matrix, and the way back.

A basis of a column with n values is an integer matrix M with M·1 = 0: what it makes says nothing of
how many there are, only how they are spread. `Lift` is its pseudoinverse M⁺, and says what noise on
M·x does to sums of cells.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.relation.matrix import Centered, Explicit, Halves

Basis: TypeAlias = Centered | Halves | Explicit
Asked: TypeAlias = Literal["values", "prefix", "ranges"]
Floats: TypeAlias = NDArray[np.float64]

MOST_ORDERED = 256  # values of a column with prefixes or ranges: its matrix is written down
_SCALE = 512  # a real matrix with columns of length 1 is rounded to these parts
_ROUNDS = 60


class Lift:
    """The pseudoinverse of a basis, and the questions of one column seen through it.

    Attributes:
        size: how many values the column has.
    """

    __slots__ = ("_inverse", "_matrix", "size")

    def __init__(self, matrix: Basis) -> None:
        """Invert the matrix; those with a closed form are not written down."""
        self._matrix, self.size = matrix, matrix.columns
        self._inverse: Floats | None = None
        if isinstance(matrix, Explicit):
            self._inverse = np.linalg.pinv(matrix.array.astype(np.float64))

    def apply(self, measured: Floats, axis: int) -> Floats:
        """Return what is known of the cells from M·x along one axis: they add up to 0."""
        moved = np.moveaxis(measured, axis, 0)
        if isinstance(self._matrix, Centered):
            made = (moved - moved.mean(axis=0, keepdims=True)) / self.size
        elif isinstance(self._matrix, Halves):
            made = np.concatenate([moved / 2, -moved / 2])
        else:
            made = np.tensordot(self._dense, moved, axes=1)
        return np.asarray(np.moveaxis(made, 0, axis))

    def weights(self, rows: Floats | None) -> tuple[Floats, Floats]:
        """Return of each row q·M⁺ the sum of squares, and the sum of absolute values.

        Args:
            rows: weights of the cells, a row for each question; None for one question a cell.
        """
        n = self.size
        if rows is None and isinstance(self._matrix, Centered):
            return np.full(n, (n - 1) / n**3), np.full(n, 2 * (n - 1) / n**2)
        made = self.through(np.eye(n) if rows is None else rows)
        return (made**2).sum(axis=1), np.abs(made).sum(axis=1)

    def through(self, rows: Floats) -> Floats:
        """Return q·M⁺ for each row q."""
        if isinstance(self._matrix, Centered):
            return np.asarray((rows - rows.mean(axis=1, keepdims=True)) / self.size)
        if isinstance(self._matrix, Halves):
            return np.asarray((rows[:, :1] - rows[:, 1:]) / 2)
        return np.asarray(rows @ self._dense)

    @property
    def _dense(self) -> Floats:
        if self._inverse is None:  # the others are not asked for it
            raise InputError("this basis has a closed form.")
        return self._inverse


@lru_cache(maxsize=256)
def lift(matrix: Basis) -> Lift:
    """Return the way back from a basis; made once."""
    return Lift(matrix)


@lru_cache(maxsize=256)
def basis(size: int, asked: Asked) -> Basis:
    """Return what to measure of a column with so many values.

    For single values it is n·I − J, of which no direction is better known than another. For
    prefixes and ranges it is the best matrix with columns of one length (docs/theory/residuals.md),
    rounded to integers whose rows add up to 0.

    Args:
        size: how many values, two or more.
        asked: of what counts are asked for.
    """
    if size == 2:
        return Halves(2, 2)
    if asked == "values":
        return Centered(size)
    if size > MOST_ORDERED:
        raise InputError(
            f"counts of prefixes and ranges are planned for columns of up to {MOST_ORDERED} "
            f"values, and this one has {size:,}. Make coarser bins with floor(column, width), or "
            f"release them with sf.ranges."
        )
    return Explicit.of(_rounded(_factor(gram(size, asked))))


def gram(size: int, asked: Asked) -> Floats:
    """Return WᵀW of the questions about one column; entry (j, k) counts those that hold both."""
    if asked == "values":
        return np.eye(size)
    here = np.arange(size)
    far = np.maximum.outer(here, here)
    if asked == "prefix":
        return np.asarray(size - far, np.float64)
    return np.asarray((np.minimum.outer(here, here) + 1) * (size - far), np.float64)


def number(size: int, asked: Asked) -> int:
    """Return how many questions about one column there are."""
    return size * (size + 1) // 2 if asked == "ranges" else size


def _factor(wanted: Floats) -> Floats:
    """Return the best real matrix S with S·1 = 0 and columns no longer than 1.

    It minimizes tr(G·(SᵀS)⁺), with G what is wanted, its mean taken out. At the optimum G = X·D·X
    for X = SᵀS and a diagonal D, found by a fixed point.
    """
    n = len(wanted)
    center = np.eye(n) - 1 / n
    g = center @ wanted @ center
    d = np.ones(n)
    for _ in range(_ROUNDS):
        root = np.sqrt(d)
        d = np.diag(_root(root[:, None] * g * root)).copy()
    root = np.sqrt(d)
    x = _root(root[:, None] * g * root) / root[:, None] / root
    values, vectors = np.linalg.eigh(center @ x @ center)
    kept = vectors[:, 1:] * np.sqrt(np.maximum(values[1:], 0))  # the first is that of 1, and 0
    made: Floats = kept.T / np.sqrt((kept**2).sum(axis=1).max())
    return made


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def _rounded(factor: Floats) -> NDArray[np.int64]:
    """Round to integers; in each row, those that were rounded farthest make up for the sum."""
    scaled = factor * _SCALE
    made = np.rint(scaled).astype(np.int64)
    for row, wanted in zip(made, scaled, strict=True):
        over = int(row.sum())
        order = np.argsort((row - wanted) * -np.sign(over))[: abs(over)]
        row[order] -= np.sign(over)
    if made.sum(axis=1).any():  # no row is off by more than one in each cell
        raise InputError("a basis could not be rounded.")
    return made
