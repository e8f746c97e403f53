"""A ring: the closed line around an area, which meets itself nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.spatial.box import LARGEST, Floats
from sfumato.spatial.segment import contacts, orientation

Point = tuple[Fraction, Fraction]

_MOST = 100_000  # points of one ring


class Ring:
    """A closed line of straight edges, counterclockwise; an error says where it meets itself.

    Attributes:
        points: its corners, each once, from the leftmost on; an array of two columns.
    """

    __slots__ = ("points",)

    points: Floats

    def __init__(self, points: Any) -> None:
        """Read and check the corners; the last may repeat the first."""
        found = _points(points)
        if len(found) > 1:
            found = found[(found != np.roll(found, 1, axis=0)).any(axis=1)]
        if len(np.unique(found, axis=0)) < 3:
            raise InputError("a ring has at least three different points. Pass [(x, y), ...].")
        if not orientation(found[0], found[1], found).any():
            raise RangeError("all points of a ring lie on one line, so it holds no area.")
        _check_simple(found)
        # The leftmost corner is convex, so the turn there is that of the whole ring.
        first = int(np.lexsort((found[:, 1], found[:, 0]))[0])
        found = np.roll(found, -first, axis=0)
        if orientation(found[-1], found[0], found[1])[0] < 0:
            found = np.roll(found[::-1], 1, axis=0)
        self.points = found
        self.points.flags.writeable = False

    @property
    def ends(self) -> Floats:
        """Where the edge ends that starts at each corner."""
        return np.roll(self.points, -1, axis=0)

    @property
    def bounds(self) -> Floats:
        """The least box around it: x_low, y_low, x_high, y_high."""
        return np.concatenate([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def area(self) -> float:
        """The area inside."""
        a = self.points - self.points[0]
        b = np.roll(a, -1, axis=0)
        return float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / 2)

    def side(self, point: Point) -> int:
        """Say where a point lies, exactly: 1 inside, 0 on the line, -1 outside."""
        x, y = point
        near = float(y)
        starts, ends = self.points, self.ends
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        level = (low[:, 1] <= np.nextafter(near, np.inf)) & (
            high[:, 1] >= np.nextafter(near, -np.inf)
        )
        inside = False
        for i in np.flatnonzero(level).tolist():
            (ax, ay), (bx, by) = (
                [Fraction(v) for v in each[i].tolist()] for each in (starts, ends)
            )
            twice = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            if twice == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
                return 0
            if (ay <= y) != (by <= y):
                inside ^= (twice > 0) == (by > ay)
        return 1 if inside else -1

    def __len__(self) -> int:
        """Count the corners."""
        return len(self.points)


def _points(given: Any) -> Floats:
    wrong = InputError("a ring is a list of points (x, y), such as [(0, 0), (1, 0), (0, 1)].")
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        if len(given) > _MOST:
            raise _too_many(len(given))
        # A position of GeoJSON may have a height, which no map shows.
        if any(not isinstance(p, Sequence | np.ndarray) or isinstance(p, str) for p in given):
            raise wrong
        if any(isinstance(p, np.ndarray) and not p.ndim for p in given):
            raise wrong
        given = [list(p)[:2] for p in given]
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "iufO":
            raise wrong
        array = np.array(array, np.float64)
    except OverflowError:
        raise RangeError(f"a point is beyond {LARGEST:g}. Use another unit of length.") from None
    except (TypeError, ValueError):
        raise wrong from None
    if array.ndim != 2 or array.shape[1] != 2:
        raise wrong
    if len(array) > _MOST:
        raise _too_many(len(array))
    if not np.isfinite(array).all():
        raise NumberError("a point of a ring is not finite. Pass finite coordinates.")
    if (np.abs(array) > LARGEST).any():
        raise RangeError(f"a point is beyond {LARGEST:g}. Use another unit of length.")
    return array + 0.0  # one zero, not two


def _too_many(count: int) -> RangeError:
    return RangeError(f"a ring of {count:,} points is too long; at most {_MOST:,}. Simplify it.")


def _check_simple(points: Floats) -> None:
    size = len(points)
    ends = np.roll(points, -1, axis=0)
    for found in contacts(points, ends):
        apart = found.second - found.first
        beside = (apart == 1) | (apart == size - 1)
        bad = np.flatnonzero(~beside | found.along | found.crossing)
        if len(bad):
            where = points[found.first[bad[0]]].tolist()
            raise InputError(
                f"a ring crosses or touches itself, at its edge from ({where[0]:g}, {where[1]:g}), "
                f"so it is not clear what lies inside. List its corners in order, each once."
            )
