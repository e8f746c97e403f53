"""The cells of a map as a release, for pages and certificates."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.release.error import NOISE_ONLY
from sfumato.release.measure import Measure, on_grid
from sfumato.release.release import Release
from sfumato.spatial.box import Floats

if TYPE_CHECKING:
    from sfumato.spatial.release import MapRelease

_ENDS = ("x_low", "y_low", "x_high", "y_high")
_SHOWN = 10_000  # cells that a page or a certificate lists; of more it gives the total


def intervals(found: MapRelease) -> tuple[Floats, Floats, Floats]:
    """Return the lower ends, the counts and the upper ends of all cells."""
    width = found.solution.reach_of_leaves(float(found.confidence))
    middle, value = found.solution.counts, found.counts
    low, high = np.minimum(middle - width, value), np.maximum(middle + width, value)
    if found.rule != "unbiased":
        low = np.maximum(low, 0.0)
    return low, value, high


def listed(found: MapRelease) -> Release:
    """Return the counts of the cells as a release; of a very fine map the total alone."""
    keys: dict[str, list[Any]] = {}
    if len(found) <= _SHOWN:
        ends = intervals(found)
        keys = {
            name: [Fraction(str(end)) for end in column.tolist()]
            for name, column in zip(_ENDS, found.cells.T, strict=True)
        }
    else:
        total = found.total()
        ends = np.array([total.low]), np.array([total.value]), np.array([total.high])
    low, value, high = on_grid(*ends)
    noises = ", ".join(f"{v.noise.kind} {float(v.noise.scale):.6g}" for v in found.levels)
    measure = Measure(
        "n",
        value,
        low,
        high,
        covers=NOISE_ONLY,
        mechanism=f"{found.method} ({noises})"[:400],
        kind="rational",
    )
    return Release(
        keys,  # type: ignore[arg-type] # checked and brought into form there
        (measure,),
        found.confidence,
        found.cost,
        found.price,
        found.unit,
        found.notes,
        found.receipt,
        found.durable,
        found.version,
    )
