"""Areas of a map: polygons with holes, one or several together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.spatial.box import Floats
from sfumato.spatial.ring import Point, Ring
from sfumato.spatial.segment import contacts

Part = tuple[Ring, ...]
Touches = dict[tuple[int, int], dict[int, list[Point]]]

_MOST_RINGS = 10_000


class Polygon:
    """An area with straight edges, with or without holes. Coordinates are those of a plane.

    Args:
        points: the corners, in order, in either direction; the first may be repeated at the end.
        holes: rings of corners, inside and apart from one another; they may touch at corners.

    Raises:
        InputError: rings meet themselves or one another, or are no rings.

    Example:
        >>> Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], holes=[[(1, 1), (2, 1), (2, 2)]]).area
        15.5
    """

    __slots__ = ("parts",)

    parts: tuple[Part, ...]

    def __init__(self, points: Any, holes: Sequence[Any] = ()) -> None:
        """Read the rings and check how they lie."""
        if not _is_list(holes):
            raise InputError("holes= is a list of rings, each a list of points (x, y).")
        self.parts = ((Ring(points), *(Ring(hole) for hole in holes)),)
        _check(self.parts)

    @classmethod
    def of(cls, given: Any) -> Polygon:
        """Return a polygon; from points, or from a Polygon, MultiPolygon or Feature of GeoJSON.

        Raises:
            InputError: it is none of them.

        Example:
            >>> Polygon.of({"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2]]]}).area
            2.0
        """
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            return cls(given)
        kind = given.get("type")
        if kind == "Feature" and isinstance(given.get("geometry"), Mapping):
            return cls.of(given["geometry"])
        listed: Any = given.get("coordinates")
        if kind not in ("Polygon", "MultiPolygon") or not _is_list(listed):
            raise InputError(
                f"an area is a Polygon or a MultiPolygon of GeoJSON, with coordinates, or a list "
                f"of points (x, y); this is of type {str(kind)[:40]!r}."
            )
        parts = [listed] if kind == "Polygon" else listed
        if not all(_is_list(part) and part for part in parts) or not parts:
            raise InputError("the coordinates of a polygon are a list of rings, and not empty.")
        if sum(map(len, parts)) > _MOST_RINGS:
            raise InputError(f"an area has more than {_MOST_RINGS:,} rings. Simplify it.")
        made = cls.__new__(cls)
        made.parts = tuple(tuple(Ring(ring) for ring in part) for part in parts)
        _check(made.parts)
        return made

    @property
    def edges(self) -> Floats:
        """All edges as x, y of the start and x, y of the end; the area lies on their left."""
        found = []
        for outer, *holes in self.parts:
            found.append(np.hstack([outer.points, outer.ends]))
            found += [np.hstack([hole.ends, hole.points]) for hole in holes]
        return np.concatenate(found)

    @property
    def bounds(self) -> Floats:
        """The least box around it: x_low, y_low, x_high, y_high."""
        ends = np.array([part[0].bounds for part in self.parts])
        return np.concatenate([ends[:, :2].min(axis=0), ends[:, 2:].max(axis=0)])

    @property
    def area(self) -> float:
        """The area of all parts, without the holes."""
        return sum(outer.area - sum(hole.area for hole in holes) for outer, *holes in self.parts)

    def to_geojson(self) -> dict[str, Any]:
        """Return the geometry as GeoJSON writes it: outer rings counterclockwise, holes not."""
        parts = []
        for outer, *holes in self.parts:
            rings = [outer.points, *(np.roll(hole.points[::-1], 1, axis=0) for hole in holes)]
            parts.append([[*ring.tolist(), ring[0].tolist()] for ring in rings])
        if len(parts) == 1:
            return {"type": "Polygon", "coordinates": parts[0]}
        return {"type": "MultiPolygon", "coordinates": parts}

    def __repr__(self) -> str:
        """Say how large it is."""
        rings = [ring for part in self.parts for ring in part]
        return f"<Polygon: {len(rings)} rings, {sum(map(len, rings))} points, area {self.area:g}>"


def _is_list(given: Any) -> bool:
    return isinstance(given, list | tuple)


def _check(parts: tuple[Part, ...]) -> None:
    """Refuse rings that cross, holes that are not inside, and parts that lie over one another."""
    rings = [ring for part in parts for ring in part]
    if len(rings) == 1:
        return
    touches = _touches(rings)
    bounds = np.array([ring.bounds for ring in rings])
    first = 0
    for part in parts:
        holes = range(first + 1, first + len(part))
        for hole in holes:
            if _sides(rings, hole, first, touches) != {1}:
                raise InputError("a hole is not inside its polygon. List it where it belongs.")
        _check_apart(rings, list(holes), bounds, touches, "two holes lie in one another. Join them")
        first += len(part)
    starts = np.cumsum([0, *map(len, parts)])[:-1].tolist()
    sizes = dict(zip(starts, map(len, parts), strict=True))
    for a, b in combinations(starts, 2):
        if not _near(bounds[a], bounds[b]):
            continue
        if _sides(rings, a, b, touches) == _sides(rings, b, a, touches) == {-1}:
            continue
        # One may still be an island in a lake of the other.
        in_hole = any(
            _sides(rings, inner, hole, touches) == {1}
            for inner, outer in ((a, b), (b, a))
            for hole in range(outer + 1, outer + sizes[outer])
        )
        if not in_hole:
            raise InputError("two parts of an area lie over one another. Join them into one.")


def _check_apart(
    rings: list[Ring], places: list[int], bounds: Floats, touches: Touches, said: str
) -> None:
    for a, b in combinations(places, 2):
        if _near(bounds[a], bounds[b]) and not (
            _sides(rings, a, b, touches) == _sides(rings, b, a, touches) == {-1}
        ):
            raise InputError(f"{said}.")


def _near(a: Floats, b: Floats) -> bool:
    return bool((a[:2] <= b[2:]).all() and (b[:2] <= a[2:]).all())


def _touches(rings: list[Ring]) -> Touches:
    """Return where rings touch: of each ordered pair of rings, the points on edges of the first.

    Raises:
        InputError: they cross, or share part of an edge.
    """
    starts = np.concatenate([ring.points for ring in rings])
    ends = np.concatenate([ring.ends for ring in rings])
    of = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    found: Touches = {}
    for each in contacts(starts, ends):
        apart = of[each.first] != of[each.second]
        if (apart & (each.crossing | each.along)).any():
            raise InputError(
                "two rings of an area cross or share an edge, so it is not clear what lies inside. "
                "Let them touch at corners at most."
            )
        for i, j in zip(each.first[apart].tolist(), each.second[apart].tolist(), strict=True):
            point = _common(starts[i], ends[i], starts[j], ends[j])
            for a, b in ((i, j), (j, i)):
                edges = found.setdefault((int(of[a]), int(of[b])), {})
                edges.setdefault(a, []).append(point)
    return found


def _common(a: Floats, b: Floats, c: Floats, d: Floats) -> Point:
    """Return the point that two touching edges have in common: an end of one of them."""
    for p, q, ends in ((a, b, (c, d)), (c, d, (a, b))):
        for end in ends:
            px, py, qx, qy, x, y = (Fraction(float(v)) for v in (*p, *q, *end))
            level = (qx - px) * (y - py) == (qy - py) * (x - px)
            if level and min(px, qx) <= x <= max(px, qx) and min(py, qy) <= y <= max(py, qy):
                return x, y
    raise InputError("two rings of an area cross. Let them touch at corners at most.")


def _sides(rings: list[Ring], a: int, b: int, touches: Touches) -> set[int]:
    """Return on which sides of ring b ring a lies, which does not cross it between corners."""
    edges = touches.get((a, b))
    if not edges:
        x, y = rings[a].points[0].tolist()
        return {rings[b].side((Fraction(x), Fraction(y)))}
    offset = sum(len(ring) for ring in rings[:a])
    starts, ends = rings[a].points, rings[a].ends
    found = set()
    for edge, points in edges.items():
        p, q = (
            (Fraction(x), Fraction(y))
            for x, y in (starts[edge - offset].tolist(), ends[edge - offset].tolist())
        )
        # Between touches the line keeps to one side, so the middles tell. Points of an edge in
        # the order of their coordinates are in order along it.
        stops = sorted({p, q, *points})
        for (ax, ay), (bx, by) in pairwise(stops):
            found.add(rings[b].side(((ax + bx) / 2, (ay + by) / 2)))
    return found
