"""Which share of each cell lies in a box or a polygon: cells and weights, of many regions at once.

Cells within a region are given as runs of an order that keeps neighbors together, so that a region
of a million cells takes a few thousand numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.spatial.box import Box, Floats, boxes
from sfumato.spatial.index import Index, Integers
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.segment import enters
from sfumato.spatial.trapezoid import Trapezoids

_PAIRS = 2**20  # pairs of a region and a run that are compared together
# A sliver may round away, and yet all points of a cell may lie in it: met in part is neither
# nothing nor all.
_PART = (np.nextafter(0, 1), np.nextafter(1, 0))


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Shares of cells in some regions that follow one another.

    Attributes:
        index: the cells.
        count: how many regions.
        owner: for each run of cells that lie within a region, which region it is.
        start: the place in the order of the index where a run begins.
        stop: the place before which it ends.
        region: for each cell that lies in a region in part, which region it is.
        cell: the cell.
        weight: the share of the cell that lies in the region, between 0 and 1.
    """

    index: Index
    count: int
    owner: Integers
    start: Integers
    stop: Integers
    region: Integers
    cell: Integers
    weight: Floats

    def sums(self, values: Any, power: int = 1) -> Floats:
        """Return for each region the sum of values of cells, each times a power of its share.

        Args:
            values: a number for each cell, of noise independent of the others if power is 2.
            power: 1 for sums; 2 for their variances, from those of the cells.
        """
        return self._sums(*_running(self.index, values), power)

    def _sums(self, values: Floats, running: Floats, power: int) -> Floats:
        inside = running[self.stop] - running[self.start]
        partly = values[self.cell] * self.weight**power
        found: Any = np.bincount(self.owner, inside, minlength=self.count)
        return np.asarray(found + np.bincount(self.region, partly, minlength=self.count))

    def weights(self, region: int = 0) -> tuple[Integers, Floats]:
        """Return the cells that a region meets, increasing, and the share of each."""
        mine, own = self.region == region, self.owner == region
        runs = [
            self.index.order[a:b]
            for a, b in zip(self.start[own].tolist(), self.stop[own].tolist(), strict=True)
        ]
        inside = np.concatenate([np.empty(0, np.int64), *runs])
        cells = np.concatenate([inside, self.cell[mine]])
        shares = np.concatenate([np.ones(len(inside)), self.weight[mine]])
        order = np.argsort(cells, kind="stable")
        return cells[order], shares[order]


def covers(index: Index, regions: Any) -> Iterator[Cover]:
    """Yield the shares of cells in regions: of many boxes together, of polygons one by one.

    Args:
        index: the cells.
        regions: boxes (an array of four columns, a list, or one), or polygons (a list, or one).
    """
    areas = _polygons(regions)
    if areas is not None:
        for area in areas:
            yield _of_polygon(index, area)
        return
    wanted = boxes(regions)
    done, some = 0, 8
    while done < len(wanted):
        cover, compared = _of_boxes(index, wanted[done : done + some])
        yield cover
        done += cover.count
        # As many at a time as memory is meant for; a border may pass through all cells.
        some = min(4096, max(1, _PAIRS * cover.count // max(compared, 1)))


def meets(regions: Any, box: tuple[float, float, float, float]) -> NDArray[np.bool_]:
    """Say which regions have some area inside of a box. Exact.

    Args:
        regions: as for `covers`.
        box: x_low, y_low, x_high, y_high.

    Example:
        >>> meets([(0, 0, 1, 1), (2, 0, 3, 1)], (0, 0, 2, 2)).tolist()
        [True, False]
    """
    areas = _polygons(regions)
    around = boxes(regions) if areas is None else np.array([area.bounds for area in areas])
    low, high = np.array(box[:2]), np.array(box[2:])
    near: Any = ((around[:, :2] < high) & (low < around[:, 2:])).all(axis=1)
    if areas is not None:  # the box around a polygon may hold a place that it bends around
        near[near] = [_reaches(areas[i], low, high) for i in np.flatnonzero(near)]
    return np.asarray(near, np.bool_)


def _reaches(area: Polygon, low: Floats, high: Floats) -> bool:
    edges = area.edges
    corners = (np.broadcast_to(corner, (len(edges), 2)) for corner in (low, high))
    if enters(edges[:, :2], edges[:, 2:], *corners).any():
        return True
    # No edge passes through the box, so all of it lies where its middle does.
    x, y = (
        (Fraction(a) + Fraction(b)) / 2 for a, b in zip(low.tolist(), high.tolist(), strict=True)
    )
    return any(
        outer.side((x, y)) > 0 and all(hole.side((x, y)) < 0 for hole in holes)
        for outer, *holes in area.parts
    )


def total(index: Index, regions: Any, values: Any, power: int = 1) -> Floats:
    """Return for each region the sum of values of cells, each times a power of its share.

    Example:
        >>> cells = Index([(0, 0, 1, 1), (1, 0, 2, 1)])
        >>> total(cells, [(0, 0, 2, 1), (0.5, 0, 1.5, 0.5)], [8, 4]).tolist()
        [12.0, 3.0]
    """
    held, running = _running(index, values)
    return np.concatenate([each._sums(held, running, power) for each in covers(index, regions)])


def weights(cells: Any, region: Any) -> tuple[Integers, Floats]:
    """Return the cells that one box or polygon meets, increasing, and the share of each.

    Example:
        >>> [found.tolist() for found in weights([(0, 0, 1, 1), (1, 0, 2, 1)], (0, 0, 1.5, 1))]
        [[0, 1], [1.0, 0.5]]
    """
    index = cells if isinstance(cells, Index) else Index(cells)
    found = list(covers(index, region))
    if len(found) != 1 or found[0].count != 1:
        raise InputError("weights are those of one region. Pass one box or one polygon.")
    return found[0].weights()


def _running(index: Index, values: Any) -> tuple[Floats, Floats]:
    """Return values as an array, and their sums up to each place of the order."""
    held = np.asarray(values, np.float64)
    if held.shape != (len(index),):
        raise InputError("values are one number for each cell, in the order of the cells.")
    return held, np.concatenate([[0.0], np.cumsum(held[index.order])])


def _polygons(given: Any) -> list[Polygon] | None:
    if isinstance(given, Polygon):
        return [given]
    if isinstance(given, Sequence) and any(isinstance(each, Polygon) for each in given):
        if not all(isinstance(each, Polygon | Box) for each in given):
            raise InputError("regions are boxes or polygons. Make each of points a Polygon(...).")
        return [_corners(each) if isinstance(each, Box) else each for each in given]
    return None


def _corners(box: Box) -> Polygon:
    x0, y0, x1, y1 = box
    return Polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])


def _of_boxes(index: Index, wanted: Floats) -> tuple[Cover, int]:
    """Go down the levels with all boxes at once; return how many pairs were compared, too."""
    inside: list[tuple[Integers, Integers, Integers]] = []
    level = len(index.levels) - 1
    nodes = np.tile(np.arange(len(index.levels[level])), len(wanted))
    region = np.repeat(np.arange(len(wanted)), len(index.levels[level]))
    most = 0
    columns = np.ascontiguousarray(wanted.T)
    while True:
        held = [column[nodes] for column in index.columns(level)]
        box = [column[region] for column in columns]
        most = max(most, len(nodes))
        meets = (held[0] < box[2]) & (box[0] < held[2]) & (held[1] < box[3]) & (box[1] < held[3])
        within = meets & (box[0] <= held[0]) & (held[2] <= box[2])
        within &= (box[1] <= held[1]) & (held[3] <= box[3])
        inside.append((region[within], *index.runs(level, nodes[within])))
        part = meets & ~within
        if level == 0:
            break
        nodes, parents = index.children(level, nodes[part])
        region = region[part][parents]
        level -= 1
    x0, y0, x1, y1 = (column[part] for column in held)
    left, low, right, high = (column[part] for column in box)
    wide = (np.minimum(x1, right) - np.maximum(x0, left)) / (x1 - x0)
    weight = wide * ((np.minimum(y1, high) - np.maximum(y0, low)) / (y1 - y0))
    cell = index.order[nodes[part]]
    return _cover(index, len(wanted), inside, region[part], cell, weight), most


def _of_polygon(index: Index, area: Polygon) -> Cover:
    """Go down the levels where edges pass; elsewhere a run is inside or outside."""
    pieces = Trapezoids(area.edges)
    edges = area.edges
    inside: list[tuple[Integers, Integers, Integers]] = []
    level = len(index.levels) - 1
    nodes = np.arange(len(index.levels[level]))
    # Pairs of a run and an edge that may enter it. One along its border does not, so that an area
    # of whole cells cuts none.
    run, edge = np.repeat(nodes, len(edges)), np.tile(np.arange(len(edges)), len(nodes))
    while True:
        held = index.levels[level]
        cut = enters(edges[edge, :2], edges[edge, 2:], held[run, :2], held[run, 2:])
        run, edge = run[cut], edge[cut]
        passed, place = np.unique(run, return_inverse=True)
        clear = np.setdiff1d(nodes, passed, assume_unique=True)
        clear = clear[pieces.contains(held[clear, :2])]
        inside.append((np.zeros(len(clear), np.int64), *index.runs(level, clear)))
        if level == 0:
            break
        nodes, parents = index.children(level, passed)
        run, edge = _beneath(nodes, parents, place, edge)
        level -= 1
    weight = pieces.shares(held[passed])
    cell = index.order[passed]
    return _cover(index, 1, inside, np.zeros(len(cell), np.int64), cell, weight)


def _beneath(
    nodes: Integers, parents: Integers, place: Integers, edge: Integers
) -> tuple[Integers, Integers]:
    """Pair each edge of a run with the runs in it."""
    counts = np.bincount(parents, minlength=int(place.max(initial=-1)) + 1)
    starts = np.cumsum(counts) - counts
    many = counts[place]
    ends = np.cumsum(many)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - many, many)
    return nodes[np.repeat(starts[place], many) + within], np.repeat(edge, many)


def _cover(
    index: Index,
    count: int,
    inside: list[tuple[Integers, Integers, Integers]],
    region: Integers,
    cell: Integers,
    weight: Floats,
) -> Cover:
    owner, start, stop = (np.concatenate(each) for each in zip(*inside, strict=True))
    return Cover(index, count, owner, start, stop, region, cell, np.clip(weight, *_PART))
