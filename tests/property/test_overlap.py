"""Shares of cells in regions, against exact clipping in rationals."""

from fractions import Fraction
from math import atan2, inf, nextafter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.core.errors import InputError
from sfumato.spatial.box import Box
from sfumato.spatial.index import Index
from sfumato.spatial.overlap import covers, total, weights
from sfumato.spatial.polygon import Polygon

SIZE = 16


@st.composite
def tilings(draw):
    """Cut a square again and again; what comes out tiles it."""
    cells = [(0, 0, SIZE, SIZE)]
    for _ in range(draw(st.integers(0, 40))):
        place = draw(st.integers(0, len(cells) - 1))
        x0, y0, x1, y1 = cells[place]
        if draw(st.booleans()) and x1 - x0 > 1:
            cut = draw(st.integers(x0 + 1, x1 - 1))
            cells[place : place + 1] = [(x0, y0, cut, y1), (cut, y0, x1, y1)]
        elif y1 - y0 > 1:
            cut = draw(st.integers(y0 + 1, y1 - 1))
            cells[place : place + 1] = [(x0, y0, x1, cut), (x0, cut, x1, y1)]
    return draw(st.permutations(cells))


places = st.integers(-3, SIZE + 3) | st.floats(-3, SIZE + 3, allow_subnormal=False)


@st.composite
def some_boxes(draw):
    x = sorted(draw(st.lists(places, min_size=2, max_size=2, unique=True)))
    y = sorted(draw(st.lists(places, min_size=2, max_size=2, unique=True)))
    return (x[0], y[0], x[1], y[1])


@st.composite
def stars(draw, steps=None):
    """Points around a center, in the order of their angle: a simple ring, if not degenerate."""
    if steps is None:
        at = st.integers(-2, SIZE + 2)
        steps = at if draw(st.booleans()) else st.floats(-2, SIZE + 2, allow_subnormal=False)
    points = draw(st.lists(st.tuples(steps, steps), min_size=3, max_size=12, unique=True))
    center = np.mean(points, axis=0)
    return sorted(points, key=lambda p: atan2(p[1] - center[1], p[0] - center[0])), center


@st.composite
def polygons(draw, steps=None):
    points, center = draw(stars(steps))
    holes = []
    if draw(st.booleans()):
        shrink = draw(st.sampled_from([0.25, 0.5, 0.9]))
        holes = [[tuple(center + (np.array(p) - center) * shrink) for p in points]]
    try:
        made = Polygon(points, holes)
    except InputError:
        assume(False)
    return made


def hairs(value):
    """Return a number, and some that are a hair beside it."""
    beside = [nextafter(value, -inf), nextafter(value, inf), value - 1e-9, value + 1e-9]
    return [float(value), *beside, value + 1e-20]


@st.composite
def near_misses(draw):
    """Cells, and a polygon whose corners lie on or a hair beside theirs."""
    cells = draw(tilings())
    ends = sorted({end for cell in cells for end in cell} | {-1, SIZE + 1})
    return cells, draw(polygons(st.sampled_from([near for at in ends for near in hairs(at)])))


def clipped(ring, axis, bound, keep):
    """Keep of a ring of rationals what lies below (or above) a line; Sutherland and Hodgman."""
    out = []
    for p, q in zip(ring, ring[1:] + ring[:1], strict=True):
        inside = [keep * (bound - each[axis]) >= 0 for each in (p, q)]
        if inside[0]:
            out.append(p)
        if inside[0] != inside[1]:
            t = (bound - p[axis]) / (q[axis] - p[axis])
            out.append(tuple(a + t * (b - a) for a, b in zip(p, q, strict=True)))
    return out


def exact_area(ring, cell):
    points = [tuple(Fraction(v) for v in p) for p in ring.points.tolist()]
    x0, y0, x1, y1 = (Fraction(v) for v in cell)
    for axis, bound, keep in ((0, x1, 1), (0, x0, -1), (1, y1, 1), (1, y0, -1)):
        points = clipped(points, axis, bound, keep)
    pairs = zip(points, points[1:] + points[:1], strict=True)
    twice = sum((a[0] * b[1] - a[1] * b[0] for a, b in pairs), Fraction(0))  # of none, too
    return abs(twice) / 2


def exact_share(area, cell):
    inside = sum(
        exact_area(outer, cell) - sum(exact_area(hole, cell) for hole in holes)
        for outer, *holes in area.parts
    )
    x0, y0, x1, y1 = (Fraction(v) for v in cell)
    return inside / ((x1 - x0) * (y1 - y0))


def exact_box_share(box, cell):
    share = Fraction(1)
    for axis in (0, 1):
        low, high = (Fraction(cell[axis + k]) for k in (0, 2))
        common = min(high, Fraction(box[axis + 2])) - max(low, Fraction(box[axis]))
        share *= max(common, Fraction(0)) / (high - low)
    return share


def dense(cells, region):
    out = np.zeros(len(cells))
    found, share = weights(cells, region)
    assert (np.diff(found) > 0).all()  # each cell once
    assert ((share > 0) & (share <= 1)).all()
    out[found] = share
    return out


@given(tilings(), st.lists(some_boxes(), min_size=1, max_size=6))
def test_shares_of_boxes_are_exact(cells, wanted):
    index = Index(cells)
    values = np.arange(1.0, len(cells) + 1)
    sums, squares = total(index, wanted, values), total(index, wanted, values, power=2)
    for i, box in enumerate(wanted):
        share = np.array([float(exact_box_share(box, cell)) for cell in cells])
        assert dense(index, box) == pytest.approx(share, abs=1e-12)
        assert sums[i] == pytest.approx(share @ values, abs=1e-9)
        assert squares[i] == pytest.approx(share**2 @ values, abs=1e-9)


@given(tilings(), polygons())
def test_shares_of_polygons_are_exact(cells, area):
    share = np.array([float(exact_share(area, cell)) for cell in cells])
    assert dense(cells, area) == pytest.approx(share, abs=1e-10)


@given(near_misses())
def test_cells_are_inside_or_met_or_neither_exactly(drawn):
    cells, area = drawn
    found = dense(cells, area)
    share = [exact_share(area, cell) for cell in cells]
    assert (found >= 1).tolist() == [each == 1 for each in share]
    assert (found > 0).tolist() == [each > 0 for each in share]
    assert found == pytest.approx(np.array(share, np.float64), abs=1e-10)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.sampled_from([1, 0.1, 1 / 3, 1e9]))
def test_polygon_of_whole_cells_cuts_none(heights, width):
    places = [(x, y) for x in range(-1, 7) for y in range(-1, 7)]
    cells = [tuple(width * end for end in (x, y, x + 1, y + 1)) for x, y in places]
    tops = [(width * (x + k), width * top) for x, top in enumerate(heights) for k in (0, 1)]
    area = Polygon([(0, 0), *tops, (width * len(heights), 0)])
    found = dense(cells, area)
    inside = [0 <= x < len(heights) and 0 <= y < heights[x] for x, y in places]
    assert found.tolist() == [float(each) for each in inside]


@given(tilings(), polygons(), st.sampled_from([1e-6, 1.0, 1e6]), st.integers(-(10**6), 10**6))
def test_shares_do_not_depend_on_where_the_map_lies(cells, area, scale, shift):
    share = np.array([float(exact_share(area, cell)) for cell in cells])
    moved = [
        [tuple(scale * (v + shift) for v in p) for p in ring.points.tolist()]
        for ring in area.parts[0]
    ]
    try:
        there = Polygon(moved[0], moved[1:])
    except InputError:
        assume(False)
    found = dense(scale * (np.array(cells, np.float64) + shift), there)
    # A coordinate is rounded at 1e-16 of the distance from 0, an edge at that over its length.
    assert found == pytest.approx(share, abs=1e-7)


@given(tilings(), st.lists(st.tuples(polygons(), some_boxes()), min_size=1, max_size=2))
def test_shares_of_a_tiling_add_up_to_the_area(cells, pairs):
    index = Index(cells)
    areas = np.array([(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in cells], np.float64)
    for area, box in pairs:
        whole = Box(0, 0, SIZE, SIZE)
        inside = float(exact_share(area, tuple(whole))) * whole.area
        assert total(index, area, areas)[0] == pytest.approx(inside, abs=1e-8)
        both = total(index, [area, Box(*box)], areas)
        assert both[0] == pytest.approx(inside, abs=1e-8)
        assert both[1] == pytest.approx(total(index, box, areas)[0], abs=1e-8)


@given(tilings(), some_boxes())
def test_a_box_is_the_polygon_of_its_corners(cells, box):
    x0, y0, x1, y1 = box
    corners = Polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
    assert dense(cells, corners) == pytest.approx(dense(cells, box), abs=1e-10)


@given(st.integers(1, 12), st.lists(some_boxes(), min_size=9, max_size=14))
def test_boxes_in_blocks_are_those_one_by_one(side, wanted):
    grid = [
        (x, y, x + SIZE / side, y + SIZE / side)
        for x in np.arange(side) * SIZE / side
        for y in np.arange(side) * SIZE / side
    ]
    index = Index(grid)
    found = list(covers(index, wanted))
    assert sum(cover.count for cover in found) == len(wanted)
    values = np.arange(len(grid)) % 7
    alone = [total(index, box, values)[0] for box in wanted]
    assert total(index, wanted, values) == pytest.approx(alone)
