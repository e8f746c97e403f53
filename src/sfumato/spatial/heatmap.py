"""A map as a picture of equal pixels: what cells hold, spread evenly over each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.core.number import is_integer
from sfumato.spatial.box import Box, Floats, boxes

Integers = NDArray[np.int64]

_MOST = 2**26  # pixels
_BLOCK = 2**21  # pairs of a cell and a pixel that are computed together


class Heatmap(NamedTuple):
    """Counts of pixels; the first row is the highest, as in pictures.

    Attributes:
        counts: the expected count of each pixel, if rows lie evenly within each cell.
        std: the standard deviation of its noise, if that of the cells is independent.
    """

    counts: Floats
    std: Floats


def heatmap(
    cells: Any, counts: Any, box: Any, width: int, height: int, *, variances: Any = None
) -> Heatmap:
    """Spread the counts of cells over pixels by the share of each cell that lies in a pixel.

    The pixels of a box that holds all cells add up to the counts.

    Args:
        cells: an array of four columns: x_low, y_low, x_high, y_high.
        counts: one for each cell.
        box: what the picture shows.
        width: how many pixels lie beside one another.
        height: how many pixels lie above one another.
        variances: of the counts; 0 if not given.

    Example:
        >>> heatmap([(0, 0, 2, 2)], [8], (0, 0, 4, 2), 4, 1).counts.tolist()
        [[4.0, 4.0, 0.0, 0.0]]
    """
    held, seen = boxes(cells, "cell"), Box.of(box)
    values = _numbers(counts, len(held), "counts")
    spread = (
        np.zeros(len(held)) if variances is None else _numbers(variances, len(held), "variances")
    )
    if (spread < 0).any():
        raise RangeError("a variance is not below 0. Pass the variances of the counts.")
    for pixels in (width, height):
        if not is_integer(pixels) or not 1 <= int(pixels) <= _MOST:
            raise RangeError(f"width and height are whole numbers from 1 to {_MOST:,}.")
    if int(width) * int(height) > _MOST:
        raise RangeError(f"a picture has at most {_MOST:,} pixels. Ask for fewer.")
    across = np.linspace(seen.x_low, seen.x_high, int(width) + 1)
    upward = np.linspace(seen.y_low, seen.y_high, int(height) + 1)
    first_x, wide = _pixels(held[:, 0], held[:, 2], across)
    first_y, high = _pixels(held[:, 1], held[:, 3], upward)
    size = int(width) * int(height)
    total, noise = np.zeros(size), np.zeros(size)
    for some in _blocks(wide * high):
        each = (wide * high)[some]
        cell = np.repeat(some, each)
        place = np.arange(len(cell)) - np.repeat(np.cumsum(each) - each, each)
        y, x = np.divmod(place, wide[cell])
        x, y = x + first_x[cell], y + first_y[cell]
        share = _shares(held[cell, 0], held[cell, 2], across, x)
        share *= _shares(held[cell, 1], held[cell, 3], upward, y)
        pixel = (int(height) - 1 - y) * int(width) + x
        total += np.bincount(pixel, values[cell] * share, minlength=size)
        noise += np.bincount(pixel, spread[cell] * share**2, minlength=size)
    shape = (int(height), int(width))
    return Heatmap(total.reshape(shape), np.sqrt(noise).reshape(shape))


def _pixels(low: Floats, high: Floats, borders: Floats) -> tuple[Integers, Integers]:
    """Return the first pixel that each interval meets, and how many."""
    size = len(borders) - 1
    first = np.clip(np.searchsorted(borders, low, side="right") - 1, 0, size)
    after = np.clip(np.searchsorted(borders, high, side="left"), 0, size)
    return first, np.maximum(after - first, 0)


def _shares(low: Floats, high: Floats, borders: Floats, place: Integers) -> Floats:
    """Return the share of intervals that lies in pixels."""
    found: Floats = np.minimum(high, borders[place + 1]) - np.maximum(low, borders[place])
    return found.clip(0.0) / (high - low)


def _blocks(counts: Integers) -> list[Integers]:
    ends = np.cumsum(counts)
    cuts = np.flatnonzero(np.diff((ends - counts) // _BLOCK)) + 1
    return np.split(np.arange(len(counts)), cuts)


def _numbers(given: Any, size: int, called: str) -> Floats:
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{called} are numbers, one for each cell.") from None
    if found.shape != (size,):
        raise InputError(f"{called} are one number for each cell, in the order of the cells.")
    if not np.isfinite(found).all():
        raise NumberError(f"{called} are finite numbers; one is not.")
    return found
