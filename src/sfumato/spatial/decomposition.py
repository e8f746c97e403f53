"""Rectangles in rectangles of a lattice: what every method for maps measures and solves.

The leaves are put into an order in which those of one rectangle of a level follow one another. So
a plane is a line, and the trees of ranges serve it. Nothing here is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.relation.linear import Strategy
from sfumato.relation.matrix import Blocks, Boxes, Buckets, Kronecker

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Rectangles that tile the lattice, each a run of leaves.

    Attributes:
        starts: where each begins among the leaves, and how many leaves there are.
        matrix: their sums.
        order: for each row of the matrix which rectangle it is; None where they go in order.
    """

    starts: Integers
    matrix: Strategy
    order: Integers | None = None

    def sorted(self, drawn: Integers) -> Integers:
        """Return what was drawn for the rows of the matrix in the order of the rectangles."""
        if self.order is None:
            return drawn
        out = np.empty_like(drawn)
        out[self.order] = drawn
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Leaves that tile a lattice, and levels of larger rectangles above them.

    Attributes:
        shape: of the lattice.
        leaves: first column, first row, and the ones after the last, of each leaf.
        levels: from the leaves up.
    """

    shape: tuple[int, int]
    leaves: Integers
    levels: tuple[Level, ...]

    def __len__(self) -> int:
        """Count the leaves."""
        return len(self.leaves)

    @classmethod
    def of(cls, shape: tuple[int, int], leaves: Integers, *starts: Integers) -> Decomposition:
        """Return leaves with levels of runs of them, each a rectangle.

        Args:
            shape: of the lattice.
            leaves: the leaves, in their order.
            starts: for each level above the leaves where its rectangles begin among the leaves.
        """
        every = np.arange(len(leaves) + 1)
        levels = [Level(every, Boxes.of(shape, leaves))]
        for each in starts:
            low = np.minimum.reduceat(leaves[:, :2], each)
            high = np.maximum.reduceat(leaves[:, 2:], each)
            made = Boxes.of(shape, np.hstack([low, high]))
            levels.append(Level(np.append(each, len(leaves)), made))
        return cls(shape, leaves, tuple(levels))


def grid(shape: tuple[int, int], across: int, up: int) -> Decomposition:
    """Return a grid of rectangles as even as the lattice allows, column after column."""
    x, y = cuts(shape[0], across), cuts(shape[1], up)
    leaves = _rectangles(x, y)
    return Decomposition(shape, leaves, (Level(np.arange(len(leaves) + 1), _product(x, y)),))


def quadtree(shape: tuple[int, int], height: int) -> Decomposition:
    """Return quarters of quarters, from the leaves to the whole.

    A side of too few cells is halved as often as it can be, and then stays.
    """
    deep = [min(height, size.bit_length() - 1) for size in shape]
    order = _along_curve(height, *deep)
    x, y = (cuts(size, 2**depth) for size, depth in zip(shape, deep, strict=True))
    leaves = np.empty((len(order), 4), np.int64)
    leaves[order] = _rectangles(x, y)
    levels = []
    for depth in range(height, -1, -1):
        here = [min(depth, most) for most in deep]
        size = 2 ** (sum(deep) - sum(here))
        # The first leaf of each rectangle tells where it is.
        first = order.reshape(2 ** deep[0], 2 ** deep[1])[
            :: 2 ** (deep[0] - here[0]), :: 2 ** (deep[1] - here[1])
        ]
        rows = _product(*(cuts(n, 2**d) for n, d in zip(shape, here, strict=True)))
        levels.append(Level(np.arange(0, len(leaves) + 1, size), rows, first.ravel() // size))
    return Decomposition(shape, leaves, tuple(levels))


def cuts(size: int, parts: int) -> Integers:
    """Return where so many parts of a side begin, and where the last one ends; all hold a cell."""
    parts = min(size, parts)
    return np.arange(parts + 1) * size // parts


def refined(blocks: Integers, parts: Integers) -> tuple[Integers, Integers]:
    """Cut each block into so many parts along each side, or as many as it has cells.

    Returns:
        The parts, block after block, and where those of each block begin.
    """
    across = np.minimum(parts, blocks[:, 2] - blocks[:, 0])
    up = np.minimum(parts, blocks[:, 3] - blocks[:, 1])
    counts = across * up
    which = np.repeat(np.arange(len(blocks)), counts)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    a, b, c, d = blocks[which].T
    wide, high = across[which], up[which]
    i, j = np.divmod(np.arange(len(which)) - starts[which], high)
    x, right = (a + k * (c - a) // wide for k in (i, i + 1))
    y, top = (b + k * (d - b) // high for k in (j, j + 1))
    return np.column_stack([x, y, right, top]), starts


def _rectangles(x: Integers, y: Integers) -> Integers:
    """Return all rectangles between cuts, column after column."""
    columns, rows = len(x) - 1, len(y) - 1
    out = np.empty((columns, rows, 4), np.int64)
    out[:, :, 0], out[:, :, 2] = x[:-1, None], x[1:, None]
    out[:, :, 1], out[:, :, 3] = y[None, :-1], y[None, 1:]
    return out.reshape(-1, 4)


def _product(x: Integers, y: Integers) -> Kronecker:
    return Kronecker((_side(x), _side(y)))


def _side(edges: Integers) -> Blocks | Buckets:
    widths = {b - a for a, b in pairwise(edges.tolist())}
    if len(widths) == 1:
        return Blocks(int(edges[-1]), widths.pop())
    return Buckets(tuple(edges.tolist()))


def _along_curve(height: int, across: int, up: int) -> Integers:
    """Return the place of each leaf, column after column, where quarters follow one another.

    Args:
        height: how often there are quarters.
        across: how often the side along x is halved, of the first so many times.
        up: the same along y.
    """
    i, j = np.arange(2**across)[:, None], np.arange(2**up)[None, :]
    key = np.zeros((2**across, 2**up), np.int64)
    for depth in range(1, height + 1):
        if depth <= across:
            key = 2 * key + (i >> (across - depth) & 1)
        if depth <= up:
            key = 2 * key + (j >> (up - depth) & 1)
    return key.ravel()
