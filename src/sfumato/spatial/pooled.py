"""Counts of cells as a picture shows them: what noise does not let tell apart is spread evenly.

It looks at noisy counts and their intervals only, so it is free.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.spatial.box import Box, Floats
from sfumato.spatial.decomposition import Integers
from sfumato.spatial.table import CellTable

# Standard deviations of its noise, at least, from which a cell stands for itself, and a square.
_CLEAR, _CLEAR_SQUARE = 3.0, 2.0
_DEEPEST = 10  # times that the sides of the map are halved
_NEAR = 2  # of them between a cell and a square that is close around it
# Between them a normal quantile is above 0, and finite; no float is between them and 1/2 or 1.
_LEAST, _MOST = 0.5 + 2**-53, 1 - 2**-53


class Pooled(NamedTuple):
    """Counts to draw.

    Attributes:
        counts: one for each cell, none below 0.
        alone: which cells stand for themselves.
    """

    counts: Floats
    alone: NDArray[np.bool_]


def pooled(table: CellTable) -> Pooled:
    """Spread counts that are not clearly above their noise over the places around them.

    The map is cut into quarters of quarters. From the smallest up, what is left of the cells in a
    square is added up; once the sum is clear of its noise, it is spread evenly over them. A cell
    among clear ones would be left over for a far larger square, so it keeps its own count less a
    standard deviation, up to the density of a square close around it which is clear.

    Args:
        table: the cells with their counts.
    """
    value, area, std = table.value, shares(table.cells, table.box), _std(table)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = std**2
        alone = _is_clear(value, variance * max(_CLEAR, _far(len(table))) ** 2)
    out, around = np.where(alone, value, 0.0), np.full(len(table), np.nan)
    left = ~alone
    where, size = _places(table.cells, table.box)
    for depth in range(_DEEPEST, -1, -1):
        # Cells that are larger than a square wait until it is as large.
        fits = np.flatnonzero(size >= depth)
        x, y = np.minimum((where[fits] * 2**depth).astype(np.int64), 2**depth - 1).T
        square = x << depth | y
        clear = variance * max(_CLEAR_SQUARE, _far(min(4**depth, len(table)))) ** 2
        whole, full = _means(square, fits, value, area, clear)
        new = full & np.isnan(around[fits]) & (size[fits] <= depth + _NEAR)
        around[fits[new]] = whole[new]
        rest, at = fits[left[fits]], square[left[fits]]
        mean, found = _means(at, rest, value, area, clear)
        found |= depth == 0
        out[rest[found]] = (mean * area[rest])[found]
        left[rest[found]] = False
    with np.errstate(over="ignore", invalid="ignore"):
        own = np.minimum(value - std, np.nan_to_num(around) * area)
    return Pooled(np.where(alone, value, np.maximum(np.maximum(out, own), 0.0)), alone)


def shares(cells: Floats, box: Box) -> Floats:
    """Return which share of a box each cell is."""
    x0, y0, x1, y1 = cells.T
    return np.asarray((x1 - x0) / box.width * ((y1 - y0) / box.height))


def _std(table: CellTable) -> Floats:
    """Return the standard deviations of noise, about: as if it were normal."""
    half = np.maximum(table.high - table.value, table.value - table.low)
    sure = min(max(float((1 + table.estimate.confidence) / 2), _LEAST), _MOST)
    return np.asarray(half / NormalDist().inv_cdf(sure))


def _means(
    square: Integers, cells: Integers, value: Floats, area: Floats, clear: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return for cells the density of all that are in the same square, and whether it is clear."""
    if not len(cells):
        return np.empty(0), np.empty(0, np.bool_)
    sums, areas = _sums(square, value[cells]), _sums(square, area[cells])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        noise = _sums(square, clear[cells])
        mean = np.nan_to_num(sums / areas)
    several = np.bincount(square)[square] > 1  # one alone was judged as a cell
    return mean, _is_clear(sums, noise) & several


def _sums(square: Integers, each: Floats) -> Floats:
    return np.asarray(np.bincount(square, each)[square], np.float64)


def _far(count: int) -> float:
    """Return how many standard deviations one of so many is off in every other picture.

    Of more cells more are far off by chance.
    """
    return NormalDist().inv_cdf(1 - 0.5 / max(count, 2))


def _is_clear(value: Floats, clear: Floats) -> NDArray[np.bool_]:
    with np.errstate(over="ignore"):
        return np.asarray((value >= 0) & (value**2 >= clear))


def _places(cells: Floats, box: Box) -> tuple[Floats, Floats]:
    """Return where the middles of cells lie in the box, from 0 to 1, and how deep they fit."""
    low = np.array([box.x_low, box.y_low])
    span = np.array([box.width, box.height])
    middle = ((cells[:, :2] - low) / span + (cells[:, 2:] - low) / span) / 2
    widest = ((cells[:, 2:] - cells[:, :2]) / span).max(axis=1)
    # A little slack, since lattices that are no power of 2 have quarters of unequal sizes.
    return middle, np.floor(0.1 - np.log2(np.maximum(widest, 2.0**-_DEEPEST)))
