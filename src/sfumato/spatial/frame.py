"""Where a map lies: its public box, and the lattice of cells in it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, RangeError
from sfumato.session.points import edges_of
from sfumato.spatial.box import LARGEST, Floats
from sfumato.spatial.decomposition import Integers
from sfumato.spatial.overlap import meets

if TYPE_CHECKING:
    from sfumato.session.points import Plane

_MOST_CELLS = 10**8


@canonical
@dataclass(frozen=True, slots=True)
class MapFrame:
    """A box, cut into cells of one size; the last ones end with the box.

    Attributes:
        names: the columns of x and of y.
        box: x_low, y_low, x_high, y_high.
        widths: of a cell, along x and y.
        shape: how many cells there are along x and y.
    """

    names: tuple[str, str]
    box: tuple[Fraction, Fraction, Fraction, Fraction]
    widths: tuple[Fraction, Fraction]
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        for axis in (0, 1):
            span = self.box[axis + 2] - self.box[axis]
            cells = -(-span // self.widths[axis]) if self.widths[axis] > 0 else 0
            if span <= 0 or cells != self.shape[axis]:
                raise InputError("the cells of a map fill its box.")
        if max(map(abs, self.box)) > LARGEST or self.shape[0] * self.shape[1] > _MOST_CELLS:
            raise RangeError(
                f"a map reaches to {LARGEST:g} at most, and has up to {_MOST_CELLS:,} cells. Use "
                f"another unit of length, or fewer cells."
            )
        if not all((np.diff(self.edges(axis)) > 0).all() for axis in (0, 1)):
            raise RangeError(
                "the cells of this map are thinner than floats can tell apart there. Pass fewer "
                "bins=, a larger box, or coordinates that are nearer to 0."
            )

    @classmethod
    def of(cls, plane: Plane) -> MapFrame:
        """Return where the points of a plane lie."""
        return cls(plane.names, plane.box, plane.widths, plane.shape)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The box in floats."""
        x0, y0, x1, y1 = map(float, self.box)
        return x0, y0, x1, y1

    def check_meets(self, where: Any) -> None:
        """Refuse regions that lie beside the map: nobody was counted there, which is not 0.

        Args:
            where: what `sfumato.spatial.MapRelease.count` takes.

        Raises:
            RangeError: one of them meets nothing of the map.
        """
        x0, y0, x1, y1 = self.bounds
        beside = ~meets(where, self.bounds)
        if beside.any():
            many = len(beside) > 1
            which = f"; it is number {int(beside.argmax())}, counted from 0" if many else ""
            x, y = self.names
            raise RangeError(
                f"this lies beside the map, and nobody was counted there. The map reaches from "
                f"({x0:g}, {y0:g}) to ({x1:g}, {y1:g}), {x!r} first and {y!r} second{which}."
            )

    def edges(self, axis: int) -> Floats:
        """Return where the cells along an axis begin, and where the last one ends."""
        return edges_of(self.box[axis], self.box[axis + 2], self.widths[axis], self.shape[axis])

    def placed(self, blocks: Integers) -> Floats:
        """Return rectangles of cells as boxes of the map.

        Args:
            blocks: first column, first row, and the ones after the last.
        """
        across, up = self.edges(0), self.edges(1)
        a, b, c, d = blocks.T
        return np.stack([across[a], up[b], across[c], up[d]], axis=1)
