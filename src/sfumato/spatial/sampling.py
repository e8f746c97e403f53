"""Made-up points that lie as a released map says. They cost nothing: no data is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.core.number import is_integer
from sfumato.noise.rng import Rng, system
from sfumato.spatial.box import Floats, boxes

_MOST = 100_000_000  # points


def sample(cells: Any, counts: Any, size: int | None = None, *, rng: Rng | None = None) -> Floats:
    """Draw points: each in a cell by the share of its count, and anywhere within it.

    Counts below 0, which only noise makes, get no points. The points are still as many as all
    counts add up to, so where many are below 0 the others get fewer than they say.

    Args:
        cells: an array of four columns: x_low, y_low, x_high, y_high.
        counts: one for each cell; released ones.
        size: how many points; if not given, the sum of the counts, rounded.
        rng: where the randomness is from; the system's if not given.

    Returns:
        An array of two columns, x and y.

    Raises:
        RangeError: no cell has a count above 0, or not a number of points.
    """
    held = boxes(cells, "cell")
    try:
        values = np.asarray(counts, np.float64)
    except (TypeError, ValueError):
        raise InputError("counts are numbers, one for each cell.") from None
    if values.shape != (len(held),):
        raise InputError("counts are one number for each cell, in the order of the cells.")
    if not np.isfinite(values).all():
        raise NumberError("counts are finite numbers; one is not.")
    wanted = max(0, round(float(values.sum()))) if size is None else size
    if not is_integer(wanted) or not 0 <= int(wanted) <= _MOST:
        raise RangeError(f"size= is a whole number of points from 0 to {_MOST:,}.")
    ends = np.cumsum(np.maximum(values, 0.0))
    if int(wanted) and not ends[-1] > 0:
        raise RangeError(
            "no cell has a count above 0, so there is nowhere to put points. Pass size=0, or "
            "release the map with more budget or coarser cells."
        )
    source = system() if rng is None else rng
    u, v, w = (_uniform(source, int(wanted)) for _ in range(3))
    # Cells of no count end where the one before ends, and are never the first end above.
    chosen = np.searchsorted(ends, u * ends[-1], side="right")
    # The product may round up to the very end.
    chosen = np.minimum(chosen, np.searchsorted(ends, ends[-1], side="left"))
    low, high = held[chosen, :2], held[chosen, 2:]
    points = low + np.column_stack([v, w]) * (high - low)
    found: Floats = np.clip(points, low, np.nextafter(high, low))  # a box is open above
    return found


def _uniform(rng: Rng, count: int) -> Floats:
    """Draw floats from 0 to below 1; no promise rests on their law."""
    return (rng.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
