"""Rectangles of a plane of counts: their sums, and the public ways to cut them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DataError, RangeError
from sfumato.core.number import is_integer
from sfumato.mechanisms.mechanism import integers

Integers = NDArray[np.int64]

MOST_CELLS = 2**22
_LARGEST = 2**37  # counts saturate there: 1-Lipschitz, so it costs nothing; twice all fit 2^60


def shape_of(given: Any) -> tuple[int, int]:
    """Check how many columns and rows of cells a plane has.

    Raises:
        RangeError: not two whole numbers, a single cell, or more than fit memory.
    """
    sizes = tuple(given) if isinstance(given, tuple | list) else ()
    if len(sizes) != 2 or not all(is_integer(size) and int(size) >= 1 for size in sizes):
        raise RangeError("shape= is how many cells the plane has along x and y: (256, 256).")
    across, up = int(sizes[0]), int(sizes[1])
    if not 2 <= across * up <= MOST_CELLS:
        raise RangeError(f"a plane that is cut has from 2 to {MOST_CELLS:,} cells.")
    return across, up


def plane_of(values: Any, shape: tuple[int, int]) -> Integers:
    """Take counts of the cells of a plane, column after column; none counts below 0.

    Raises:
        DataError: another number of cells than the shape has.
    """
    counts = integers(values)
    if counts.size != shape[0] * shape[1]:
        raise DataError(f"a plane of {shape[0]:,} by {shape[1]:,} cells has as many counts.")
    return np.clip(counts.reshape(shape), 0, _LARGEST)


def running(counts: Integers) -> Integers:
    """Return the sums of all cells before each column and row."""
    sums = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1), np.int64)
    np.cumsum(counts, axis=0, out=sums[1:, 1:])
    return np.cumsum(sums, axis=1, out=sums)


def within(sums: Integers, rectangles: Integers) -> Integers:
    """Return the sums of rectangles: first column and row, and those after the last."""
    a, b, c, d = rectangles.T
    return np.asarray(sums[c, d] - sums[a, d] - sums[c, b] + sums[a, b])


def divisible(rectangles: Integers) -> NDArray[np.bool_]:
    """Say which rectangles have more than one cell."""
    return np.asarray((rectangles[:, 2:] - rectangles[:, :2] > 1).any(axis=1))


def quartered(rectangles: Integers) -> tuple[Integers, Integers]:
    """Cut rectangles in the middle of both sides; a side of one cell is not cut.

    Returns:
        The quarters, those of one rectangle together, and which of four each one is.
    """
    a, b, c, d = rectangles.T
    x, y = a + (c - a) // 2, b + (d - b) // 2
    # Where a side is not cut, its first half is empty, and left out.
    every = np.stack(
        [
            np.stack([a, b, x, y], axis=1),
            np.stack([a, y, x, d], axis=1),
            np.stack([x, b, c, y], axis=1),
            np.stack([x, y, c, d], axis=1),
        ],
        axis=1,
    ).reshape(-1, 4)
    held = (every[:, :2] < every[:, 2:]).all(axis=1)
    return every[held], np.tile(np.arange(4), len(rectangles))[held]


def longer(rectangles: Integers, shape: tuple[int, int]) -> Integers:
    """Return the side that is longer, in shares of the plane's: 0 for x, 1 for y.

    A side of one cell is not cut, so then it is the other.
    """
    wide, high = (rectangles[:, 2] - rectangles[:, 0]), (rectangles[:, 3] - rectangles[:, 1])
    upright = (high * shape[0] > wide * shape[1]) | (wide == 1)
    return np.where(upright & (high > 1), 1, 0)


def halved(rectangles: Integers, sides: Integers, places: Integers) -> Integers:
    """Cut rectangles across a side at given places, both parts together."""
    first, second = rectangles.copy(), rectangles.copy()
    rows = np.arange(len(rectangles))
    first[rows, sides + 2] = places
    second[rows, sides] = places
    return np.stack([first, second], axis=1).reshape(-1, 4)
