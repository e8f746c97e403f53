"""Integer matrices: what is measured of the cells of a table where single cells are not enough.

Strategies of the literature have real entries. They are rounded to a public integer matrix first,
and every norm here is that matrix's own, so that no rounding stands between a person and the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError

LARGEST = 2**62  # no row may add up to more
MOST_ENTRY = 2**42  # so that a cell of a million does not lead beyond
_DENSE = 2**26  # entries that are held at once


@dataclass(frozen=True, slots=True)
class Norms:
    """What a matrix does to changes, at most; exact whole numbers.

    Attributes:
        count: how many entries of a column are not 0.
        total: the sum of a column's absolute entries.
        square: the sum of a column's squares.
        largest: an absolute entry.
        row: the sum of a row's absolute entries.
        meeting: the least that the inner product of two columns can be; a lower bound.
    """

    count: int
    total: int
    square: int
    largest: int
    row: int
    meeting: int


@canonical
@dataclass(frozen=True, slots=True)
class Blocks:
    """Sums of so many cells in a row; the last block may be shorter. Of one cell each: identity."""

    columns: int
    width: int = 1

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self.columns, self.width)

    @property
    def rows(self) -> int:
        """How many blocks."""
        return -(-self.columns // self.width)

    @property
    def norms(self) -> Norms:
        """A cell is in one block."""
        return Norms(1, 1, 1, 1, min(self.width, self.columns), 0)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up."""
        if self.width == 1:
            return cells
        starts = np.arange(0, self.columns, self.width)
        return np.add.reduceat(cells, starts, axis=0)


@canonical
@dataclass(frozen=True, slots=True)
class Buckets:
    """Sums of cells between edges: from 0 to the number of cells, each beyond the one before."""

    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the edges."""
        _whole(self.edges, "the edges of buckets")
        pairs = zip(self.edges, self.edges[1:], strict=False)
        if len(self.edges) < 2 or self.edges[0] != 0 or any(a >= b for a, b in pairs):
            raise InputError("edges of buckets begin at 0 and grow.")

    @property
    def rows(self) -> int:
        """How many buckets."""
        return len(self.edges) - 1

    @property
    def columns(self) -> int:
        """How many cells."""
        return self.edges[-1]

    @property
    def norms(self) -> Norms:
        """A cell is in one bucket."""
        widest = max(b - a for a, b in zip(self.edges, self.edges[1:], strict=False))
        return Norms(1, 1, 1, 1, widest, 0)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up."""
        return np.add.reduceat(cells, np.array(self.edges[:-1]), axis=0)


@canonical
@dataclass(frozen=True, slots=True)
class Halves:
    """In each block of so many cells, the sum of its first half less that of the second.

    Cells that the last block would have beyond the others are 0.
    """

    columns: int
    width: int

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self.columns, self.width)
        if self.width % 2:
            raise InputError("blocks are halved where their width is even.")

    @property
    def rows(self) -> int:
        """How many blocks."""
        return -(-self.columns // self.width)

    @property
    def norms(self) -> Norms:
        """A cell is in one block, with 1 or -1; two cells of one block may differ in sign."""
        return Norms(1, 1, 1, 1, min(self.width, self.columns), -1)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Subtract."""
        short = self.rows * self.width - self.columns
        padded = np.pad(cells, [(0, short), *[(0, 0)] * (cells.ndim - 1)]) if short else cells
        halves = padded.reshape(self.rows, 2, self.width // 2, *cells.shape[1:]).sum(axis=2)
        return np.asarray(halves[:, 0] - halves[:, 1])


@canonical
@dataclass(frozen=True, slots=True)
class Centered:
    """Each cell times their number, less the sum of all: what one column tells beyond the total."""

    columns: int

    def __post_init__(self) -> None:
        """Check the size."""
        _positive(self.columns)
        if self.columns < 2:
            raise InputError("of one cell nothing is left beyond the total.")

    @property
    def rows(self) -> int:
        """As many as cells."""
        return self.columns

    @property
    def norms(self) -> Norms:
        """A column has n - 1 once, and -1 elsewhere."""
        n = self.columns
        return Norms(n, 2 * (n - 1), n * (n - 1), n - 1, 2 * (n - 1), -n)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Subtract the sum from each multiple."""
        return np.asarray(self.columns * cells - cells.sum(axis=0, keepdims=True))


@canonical
@dataclass(frozen=True)
class Toeplitz:
    """A lower triangle whose diagonals are constant: the first column, moved down."""

    column: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that there is something, in whole numbers."""
        _whole(self.column, "the entries of a matrix")
        _positive(len(self.column))
        _moderate(min(self.column), max(self.column))

    @property
    def rows(self) -> int:
        """As many as cells."""
        return len(self.column)

    @property
    def columns(self) -> int:
        """As many as entries."""
        return len(self.column)

    @property
    def norms(self) -> Norms:
        """The first column holds all entries of the others, as the last row does."""
        sizes = [abs(entry) for entry in self.column]
        square = sum(size * size for size in sizes)
        meeting = 0 if min(self.column) >= 0 else -square
        total = sum(sizes)
        return Norms(sum(map(bool, sizes)), total, square, max(sizes), total, meeting)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convolve in whole numbers."""
        column = np.array(self.column, np.int64)
        flat = cells.reshape(len(column), -1)
        made = [np.convolve(column, flat[:, i])[: len(column)] for i in range(flat.shape[1])]
        return np.stack(made, axis=1).reshape(cells.shape)


@canonical
@dataclass(frozen=True)
class Explicit:
    """A matrix that is written down.

    Attributes:
        columns: how many cells.
        entries: row after row, 8 bytes each, the lowest first.
    """

    columns: int
    entries: bytes

    def __post_init__(self) -> None:
        """Check the sizes, and those of the entries."""
        if type(self.entries) is not bytes:
            raise InputError("the entries of a matrix are bytes. Write an array with Explicit.of.")
        _positive(self.columns, len(self.entries))
        if len(self.entries) % (8 * self.columns):
            raise InputError("a matrix has as many entries in each row as it has columns.")
        _moderate(int(self.array.min()), int(self.array.max()))

    @classmethod
    def of(cls, rows: Any) -> Explicit:
        """Write down an array of whole numbers.

        Raises:
            InputError: it has other than two axes, entries that are not whole numbers of at most
                2^42, or none.
        """
        given = np.asarray(rows)
        if given.ndim != 2 or not given.size or given.dtype.kind not in "iu":
            raise InputError(
                f"a matrix is an array of whole numbers with two axes, and this has {given.ndim} "
                f"and the type {given.dtype}. Scale real entries up and round them, so that what "
                f"is measured is what is stated."
            )
        _moderate(int(given.min()), int(given.max()))  # before they are put into 64 bits
        return cls(given.shape[1], np.ascontiguousarray(given, "<i8").tobytes())

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(self.entries) // (8 * self.columns)

    @cached_property
    def array(self) -> NDArray[np.int64]:
        """The entries."""
        held = np.frombuffer(self.entries, "<i8").reshape(self.rows, self.columns)
        return held.astype(np.int64, copy=False)

    @cached_property
    def norms(self) -> Norms:
        """What the entries say."""
        return _norms(self.array)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Multiply in whole numbers."""
        return np.asarray(np.tensordot(self.array, cells, axes=1))


@canonical
@dataclass(frozen=True)
class Waves:
    """The first rows of the real Fourier basis, times a scale, rounded to whole numbers.

    Row 0 is constant; rows 2k - 1 and 2k are the cosine and the sine that swing k times over the
    cells; of an even number of cells the last row alternates.
    """

    columns: int
    rows: int
    scale: int

    def __post_init__(self) -> None:
        """Check the sizes."""
        _positive(self.columns, self.rows, self.scale)
        _moderate(0, self.scale)
        if self.rows > self.columns or self.rows * self.columns > _DENSE:
            raise InputError(f"a basis has at most as many rows as cells, and {_DENSE:,} entries.")

    @cached_property
    def array(self) -> NDArray[np.int64]:
        """The entries."""
        return _waves(self.columns, self.rows, self.scale)

    @cached_property
    def norms(self) -> Norms:
        """What the entries say."""
        return _norms(self.array)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Multiply in whole numbers."""
        return np.asarray(np.tensordot(self.array, cells, axes=1))


FACTORS = (Blocks, Buckets, Halves, Centered, Toeplitz, Explicit, Waves)


@canonical
@dataclass(frozen=True)
class Boxes:
    """Sums of the cells in upright rectangles of a plane of cells; rectangles may overlap.

    Attributes:
        across: how many columns of cells the plane has; cells of one column stand side by side.
        up: how many cells a column has.
        ends: for each rectangle its first column and row and those after its last, 4 bytes each,
            the lowest first.
    """

    across: int
    up: int
    ends: bytes

    def __post_init__(self) -> None:
        """Check the sizes, and that all rectangles lie in the plane."""
        _positive(self.across, self.up, len(self.ends))
        if len(self.ends) % 16:
            raise InputError("a rectangle of cells has four ends.")
        low, high = self.array[:, :2], self.array[:, 2:]
        if (low < 0).any() or (low >= high).any() or (high > [self.across, self.up]).any():
            raise InputError("a rectangle of cells holds some, and lies in the plane.")

    @classmethod
    def of(cls, shape: tuple[int, int], ends: NDArray[np.int64]) -> Boxes:
        """Write down rectangles: first column, first row, and the ones after the last."""
        return cls(*shape, np.ascontiguousarray(ends, "<i4").tobytes())

    @property
    def rows(self) -> int:
        """How many rectangles."""
        return len(self.ends) // 16

    @property
    def columns(self) -> int:
        """How many cells."""
        return self.across * self.up

    @property
    def array(self) -> NDArray[np.int64]:
        """The ends."""
        return np.frombuffer(self.ends, "<i4").reshape(-1, 4).astype(np.int64)

    @cached_property
    def norms(self) -> Norms:
        """Count in how many rectangles each cell is: as a sum of corners."""
        a, b, c, d = self.array.T
        most = np.zeros((self.across + 1, self.up + 1), np.int64)
        for x, y, sign in ((a, b, 1), (c, d, 1), (a, d, -1), (c, b, -1)):
            np.add.at(most, (x, y), sign)
        often = int(most.cumsum(axis=0).cumsum(axis=1).max())
        largest = int(((c - a) * (d - b)).max())
        return Norms(often, often, often, 1, largest, 0)

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Subtract sums that begin at the corner; beyond 64 bits they wrap, and back again."""
        more = cells.shape[1:]
        sums = np.zeros((self.across + 1, self.up + 1, *more), np.int64)
        np.cumsum(cells.reshape(self.across, self.up, *more), axis=0, out=sums[1:, 1:])
        np.cumsum(sums, axis=1, out=sums)
        a, b, c, d = self.array.T
        return np.asarray(sums[c, d] - sums[a, d] - sums[c, b] + sums[a, b])


@canonical
@dataclass(frozen=True)
class Kronecker:
    """One matrix for each column that cells are grouped by; cells are all combinations."""

    factors: tuple[Blocks | Buckets | Halves | Centered | Toeplitz | Explicit | Waves, ...]

    def __post_init__(self) -> None:
        """Check that there is something, all of it known here."""
        if type(self.factors) is not tuple or not self.factors:
            raise InputError("a product has a tuple of matrices, at least one.")
        for factor in self.factors:
            if type(factor) not in FACTORS:  # its norms would be its own word
                raise InputError(
                    f"a product is of matrices of sfumato.relation.matrix, none of them a product, "
                    f"and this is a {type(factor).__name__}."
                )

    @property
    def rows(self) -> int:
        """Combinations of rows."""
        return prod(factor.rows for factor in self.factors)

    @property
    def columns(self) -> int:
        """Combinations of cells."""
        return prod(factor.columns for factor in self.factors)

    @property
    def norms(self) -> Norms:
        """Products; inner products of columns are those of the factors' columns, multiplied."""
        each = [factor.norms for factor in self.factors]
        low, high = 1, 1
        for norms in each:
            ends = [a * b for a in (low, high) for b in (min(norms.meeting, 0), norms.square)]
            low, high = min(ends), max(ends)
        return Norms(
            count=prod(n.count for n in each),
            total=prod(n.total for n in each),
            square=high,
            largest=prod(n.largest for n in each),
            row=prod(n.row for n in each),
            meeting=low,
        )

    def apply(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Multiply along each axis."""
        made = cells.reshape([factor.columns for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            made = np.moveaxis(factor.apply(np.moveaxis(made, axis, 0)), 0, axis)
        return made.ravel()


def _positive(*sizes: int) -> None:
    if any(type(size) is not int or size < 1 for size in sizes):
        raise InputError("the sizes of a matrix are whole numbers from 1 on.")


def _whole(numbers: Any, what: str) -> None:
    if type(numbers) is not tuple or any(type(number) is not int for number in numbers):
        raise InputError(
            f"{what} are a tuple of whole numbers, as (0, 2, 4): what is measured would else be "
            f"rounded, and not be what is stated."
        )


def _moderate(low: int, high: int) -> None:
    """Refuse entries so large that sums of them, or their absolute values, could pass 64 bits."""
    if max(-low, high) > MOST_ENTRY:
        raise InputError(
            "the entries of a matrix are whole numbers between -2^42 and 2^42: with larger ones "
            "cells of a million would pass 64 bits. Round it to a coarser scale."
        )


def _norms(array: NDArray[np.int64]) -> Norms:
    """Compute the norms of entries, exactly: no entry is beyond 2^42 (`_moderate`)."""
    sizes = np.abs(array)
    largest = int(sizes.max())
    squares = _most(sizes.T, largest, 2)
    return Norms(
        int((sizes > 0).sum(axis=0).max()),
        _most(sizes.T, largest, 1),
        squares,
        largest,
        _most(sizes, largest, 1),
        0 if int(array.min()) >= 0 else -squares,
    )


def _most(rows: NDArray[np.int64], largest: int, power: int) -> int:
    """Return the largest sum of the powers of a row; in Python's whole numbers if it is large."""
    if largest**power * rows.shape[1] < LARGEST:
        return int((rows**power).sum(axis=1).max())
    return int(max(sum(entry**power for entry in row.tolist()) for row in rows))


@lru_cache(maxsize=4)  # each may be large
def _waves(columns: int, rows: int, scale: int) -> NDArray[np.int64]:
    turn = np.arange(columns)
    angles = 2 * np.pi * np.arange(columns) / columns
    cosines, sines = (
        np.rint(scale * np.sqrt(2 / columns) * wave(angles)).astype(np.int64)
        for wave in (np.cos, np.sin)
    )
    made = np.empty((rows, columns), np.int64)
    made[0] = round(scale / columns**0.5)
    for row in range(1, rows):
        swings, place = (row + 1) // 2, turn * ((row + 1) // 2) % columns
        made[row] = cosines[place] if row % 2 else sines[place]
        if 2 * swings == columns:  # it alternates, and its sine is nothing
            made[row] = round(scale / columns**0.5) * (1 - 2 * (turn % 2))
    made.setflags(write=False)
    return made
