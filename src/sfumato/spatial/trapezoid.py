"""The area of a polygon within cells, as a sum over its edges.

The part of a cell below an edge is a trapezoid cut off at the top and the bottom of the cell. Added
over all edges, with the sign of their direction, these are the area of the polygon in the cell:
above each point of the x axis the ends of the polygon's sections alternate. There is no clipping,
and holes and parts need no care.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.spatial.box import Floats
from sfumato.spatial.segment import orientation

Integers = NDArray[np.int64]

_MOST_SLABS = 4096
_EDGES_OF_SLAB = 4
_BLOCK = 2**20  # pairs of a cell and a piece of an edge that are computed together


class Trapezoids:
    """Edges of a polygon, cut where upright slabs end; each slab holds few of them.

    Args:
        edges: x, y of the start and x, y of the end; the polygon lies on their left.
    """

    def __init__(self, edges: Floats) -> None:
        """Cut the edges."""
        steep = edges[edges[:, 0] != edges[:, 2]]  # an upright edge has no area below
        forward = steep[:, 0] < steep[:, 2]
        turned = np.where(forward[:, None], steep, steep[:, [2, 3, 0, 1]])
        # An edge from right to left is the upper end of a section.
        sign = np.where(forward, -1.0, 1.0)
        slabs = min(_MOST_SLABS, max(1, len(turned) // _EDGES_OF_SLAB))
        while True:
            self.borders = _borders(turned, slabs)
            first = np.searchsorted(self.borders, turned[:, 0], side="right") - 1
            last = np.searchsorted(self.borders, turned[:, 2], side="left") - 1
            counts = last - first + 1
            if slabs == 1 or counts.sum() <= 8 * len(turned) + 2**16:
                break
            slabs //= 2
        of = np.repeat(np.arange(len(turned)), counts)
        slab = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts) + first[of]
        order = np.argsort(slab, kind="stable")
        of, slab = of[order], slab[order]
        self.edges, self.sign = turned[of], sign[of]
        self.left = np.maximum(self.edges[:, 0], self.borders[slab])
        self.right = np.minimum(self.edges[:, 2], self.borders[slab + 1])
        self.offsets = np.searchsorted(slab, np.arange(len(self.borders)))

    def shares(self, cells: Floats) -> Floats:
        """Return the share of each cell that lies in the polygon."""
        out = np.zeros(len(cells))
        for some, cut in self._pairs(cells[:, 0], cells[:, 2]):
            over = np.maximum(self.left[cut], cells[some, 0]) < np.minimum(
                self.right[cut], cells[some, 2]
            )
            cell, piece = some[over], cut[over]
            x0, y0, x1, y1 = cells[cell].T
            left = np.maximum(self.left[piece], x0)
            right = np.minimum(self.right[piece], x1)
            a, b = self._height(piece, left, y0), self._height(piece, right, y0)
            share = _below(np.minimum(a, b), np.maximum(a, b), y1 - y0)
            area = self.sign[piece] * share * ((right - left) / (x1 - x0))
            out += np.bincount(cell, area, minlength=len(cells))
        return np.clip(out, 0.0, 1.0)

    def contains(self, points: Floats) -> NDArray[np.bool_]:
        """Say whether the polygon holds boxes that no edge enters, from their lower left corners.

        It is exact. An edge through the corner is not above the box: it would enter it.
        """
        out = np.zeros(len(points))
        for some, cut in self._pairs(points[:, 0], points[:, 0]):
            x = points[some, 0]
            there = (self.left[cut] <= x) & (x < self.right[cut])
            point, piece = some[there], cut[there]
            start, end = self.edges[piece, :2], self.edges[piece, 2:]
            above = orientation(start, end, points[point]) < 0
            out += np.bincount(point[above], self.sign[piece[above]], minlength=len(points))
        return out > 0.5

    def _height(self, piece: Integers, x: Floats, base: Floats) -> Floats:
        """Return how high above a base an edge is at x."""
        ax, ay, bx, by = self.edges[piece].T
        # From the nearer end, so that an end is met exactly.
        near = x - ax <= bx - x
        # A share of the edge first: the slope of one that is nearly upright may be no float.
        part = np.where(near, x - ax, x - bx) / (bx - ax)
        found: Floats = (np.where(near, ay, by) - base) + part * (by - ay)
        return found

    def _pairs(self, low: Floats, high: Floats) -> list[tuple[Integers, Integers]]:
        """Return blocks of pairs of an interval and a piece of a slab that it meets."""
        slabs = len(self.borders) - 1
        first = np.clip(np.searchsorted(self.borders, low, side="right") - 1, 0, slabs - 1)
        last = np.clip(np.searchsorted(self.borders, high, side="right") - 1, 0, slabs - 1)
        starts, counts = self.offsets[first], self.offsets[last + 1] - self.offsets[first]
        return [
            (np.repeat(some, counts[some]), _ranges(starts[some], counts[some]))
            for some in _blocks(counts)
        ]


def _below(low: Floats, high: Floats, top: Floats) -> Floats:
    """Return the mean height of a line from low to high, cut off at 0 and top, over top."""
    rise = np.where(high > low, high - low, 1.0)
    start, end = np.clip(low, 0.0, top), np.clip(high, 0.0, top)
    middle = (end - start) / rise * ((start / top + end / top) / 2)
    beyond = (high - np.clip(low, top, None)).clip(0.0) / rise
    return np.where(high > low, middle + beyond, start / top)


def _borders(edges: Floats, slabs: int) -> Floats:
    ends = np.sort(np.concatenate([edges[:, 0], edges[:, 2]]))
    return np.unique(ends[np.linspace(0, len(ends) - 1, slabs + 1).astype(np.int64)])


def _ranges(starts: Integers, counts: Integers) -> Integers:
    ends = np.cumsum(counts)
    found: Integers = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - (ends - counts), counts
    )
    return found


def _blocks(counts: Integers) -> list[Integers]:
    """Return places in blocks whose counts add up to a few million at most."""
    ends = np.cumsum(counts)
    block = (ends - counts) // _BLOCK
    cuts = np.flatnonzero(np.diff(block)) + 1
    return np.split(np.arange(len(counts)), cuts)
