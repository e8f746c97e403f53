"""Segments of the plane: on which side a point lies, and which segments meet, or enter a box.

Signs are exact: they are computed in floats with a bound on the rounding (Shewchuk 1997), and in
whole numbers where the bound does not decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.spatial.box import Floats

Signs = NDArray[np.int8]
Integers = NDArray[np.int64]

_ROUNDING = (3 + 16 * 2.0**-53) * 2.0**-53  # times the sum of both products bounds the error
_UNDERFLOW = 1e-290  # products below have lost bits that the bound does not know of
_BLOCK = 2**20  # pairs that are looked at together


def orientation(a: Floats, b: Floats, c: Floats) -> Signs:
    """Say on which side of the line from a to b each c lies: 1 left, -1 right, 0 on it. Exact.

    Args:
        a: one point, or an array of them with two columns.
        b: the same.
        c: the same.
    """
    (ux, uy), (vx, vy) = (np.moveaxis(np.atleast_2d(side), -1, 0) for side in (b - a, c - a))
    left, right = np.atleast_1d(ux * vy), np.atleast_1d(uy * vx)
    twice = left - right  # exactly 0 where b is c
    found: Signs = np.sign(twice).astype(np.int8)
    # Differences have the right sign, so a product with a zero in it is known exactly.
    level = (ux == 0) | (vy == 0) | (uy == 0) | (vx == 0)
    signs = np.sign(ux) * np.sign(vy) - np.sign(uy) * np.sign(vx)
    found[level] = signs[level]
    bound = _ROUNDING * (np.abs(left) + np.abs(right)) + _UNDERFLOW
    same = np.broadcast_to((b == c).all(axis=-1), level.shape)
    points = [np.broadcast_to(each, (*level.shape, 2)) for each in (a, b, c)]
    doubt = np.flatnonzero((np.abs(twice) <= bound) & ~level & ~same)
    if len(doubt):
        px, py, qx, qy, rx, ry = _whole(np.hstack([each[doubt] for each in points])).T
        found[doubt] = np.sign((qx - px) * (ry - py) - (qy - py) * (rx - px))
    return found


def _whole(floats: Floats) -> Any:
    """Return floats as whole numbers of Python, all times the same power of 2."""
    part, power = np.frexp(floats)
    digits = (part * 2.0**53).astype(np.int64).astype(object)
    return digits << (power - power.min()).astype(object)


def enters(starts: Floats, ends: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Say which segments have a point inside of a box, and not only on its border. Exact.

    Args:
        starts: an end of each segment, in two columns.
        ends: the other.
        low: the lower left corner of the box that is compared with it.
        high: the upper right one.
    """
    near: Any = ((np.minimum(starts, ends) < high) & (low < np.maximum(starts, ends))).all(axis=1)
    some = np.flatnonzero(near)
    a, b, (x0, y0), (x1, y1) = starts[some], ends[some], low[some].T, high[some].T
    # Of the corners, the two that are farthest from the line to its left and to its right.
    rising = (a[:, 0] < b[:, 0]) == (a[:, 1] < b[:, 1])
    first = np.column_stack([x0, np.where(rising, y1, y0)])
    second = np.column_stack([x1, np.where(rising, y0, y1)])
    near[some] = orientation(a, b, first) * orientation(a, b, second) < 0
    return np.asarray(near, np.bool_)


class Contacts(NamedTuple):
    """Pairs of segments that have a point in common.

    Attributes:
        first: the place of one segment.
        second: the place of the other, which is after it.
        crossing: whether each passes to the other side of the other, between its ends.
        along: whether they lie on one line and share more than a point.
    """

    first: Integers
    second: Integers
    crossing: NDArray[np.bool_]
    along: NDArray[np.bool_]


def contacts(starts: Floats, ends: Floats) -> Iterator[Contacts]:
    """Yield all pairs of segments that meet, in blocks; those that only share an end too."""
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    # The axis along which fewer segments lie over one another leaves fewer pairs to look at.
    length = (high - low).sum(axis=0)
    reach = high.max(axis=0) - low.min(axis=0)
    axis = int(length[1] * reach[0] < length[0] * reach[1])
    order = np.argsort(low[:, axis], kind="stable")
    after = np.arange(1, len(order) + 1)
    counts = np.searchsorted(low[order, axis], high[order, axis], side="right") - after
    stops = np.cumsum(counts)
    done = 0
    while done < len(order):
        before = stops[done - 1] if done else 0
        until = max(done + 1, int(np.searchsorted(stops, before + _BLOCK, side="right")))
        some = np.arange(done, until)
        i = np.repeat(some, counts[some])
        j = i + 1 + np.arange(len(i)) - np.repeat(stops[some] - counts[some] - before, counts[some])
        i, j = order[i], order[j]
        near = (low[i] <= high[j]).all(axis=1) & (low[j] <= high[i]).all(axis=1)
        yield _meeting(starts, ends, np.minimum(i, j)[near], np.maximum(i, j)[near])
        done = until


def _meeting(starts: Floats, ends: Floats, i: Integers, j: Integers) -> Contacts:
    a, b, c, d = starts[i], ends[i], starts[j], ends[j]
    sides = orientation(a, b, c), orientation(a, b, d)
    others = orientation(c, d, a), orientation(c, d, b)
    product, other = sides[0] * sides[1], others[0] * others[1]
    meet = (product <= 0) & (other <= 0)
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    level = (sides[0] == 0) & (sides[1] == 0)
    along = level & (low < high).any(axis=1)
    return Contacts(i[meet], j[meet], ((product < 0) & (other < 0))[meet], along[meet])
