"""Polygons: what they hold, how rings may lie, and what is refused."""

from fractions import Fraction
from math import cos, nextafter, pi, sin

import numpy as np
import pytest

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.ring import Ring
from sfumato.spatial.segment import enters, orientation

SQUARE = [(0, 0), (4, 0), (4, 4), (0, 4)]
HOLE = [(1, 1), (2, 1), (2, 2), (1, 2)]


def moved(points, x=0, y=0):
    return [(a + x, b + y) for a, b in points]


def geojson(*parts):
    return {"type": "MultiPolygon", "coordinates": [list(part) for part in parts]}


@pytest.mark.parametrize("turned", [1, -1])
@pytest.mark.parametrize("closed", [False, True])
def test_polygon_is_the_same_in_either_direction(turned, closed):
    points = SQUARE[::turned]
    made = Polygon(points + points[:1] if closed else points, holes=[HOLE[::turned]])
    assert made.area == 15
    assert made.bounds.tolist() == [0, 0, 4, 4]
    x0, y0, x1, y1 = made.edges.T
    assert (x0 * y1 - x1 * y0).sum() / 2 == 15  # the area lies on the left


def test_orientation_is_exact_where_floats_are_not():
    # Points a few bits beside a line: the differences are rounded, and floats alone say 0 or worse.
    b, c = np.array([12.0, 12.0]), np.array([24.0, 24.0])
    for i in range(-20, 21):
        x = 0.5 + i * 2.0**-53
        sign = (x > 0.5) - (x < 0.5)
        assert orientation(np.array([x, 0.5]), b, c) == -sign
        assert orientation(b, c, np.array([x, 0.5])) == -sign
    tiny = np.array([[0, 0], [1e-200, 1e-200], [2e-200, 2.1e-200]])
    assert orientation(*tiny) == 1  # the product is not even a float


def hairs(rng, count):
    """Draw points at whole numbers, or a hair beside."""
    whole = rng.integers(-2, 3, (count, 2)).astype(float)
    beside = [whole, np.nextafter(whole, -9), np.nextafter(whole, 9), whole + 1e-20, whole - 1e-9]
    return np.choose(rng.integers(0, len(beside), whole.shape), beside)


def test_orientation_of_many_points_is_that_of_rationals():
    rng = np.random.default_rng(3)
    a, b, c = (hairs(rng, 3_000) for _ in range(3))
    found = orientation(a, b, c).tolist()
    for sign, *points in zip(found, a.tolist(), b.tolist(), c.tolist(), strict=True):
        (px, py), (qx, qy), (rx, ry) = [map(Fraction, point) for point in points]
        exact = (qx - px) * (ry - py) - (qy - py) * (rx - px)
        assert sign == (exact > 0) - (exact < 0)


def part_inside(start, end, low, high):
    """Say whether an open box holds a point of a segment, in rationals: where is it on its way."""
    first, last, there = Fraction(0), Fraction(1), True
    for p, q, least, most in zip(
        *([Fraction(v) for v in x] for x in (start, end, low, high)), strict=True
    ):
        if p == q:
            there &= least < p < most
            continue
        ways = sorted([(least - p) / (q - p), (most - p) / (q - p)])
        there &= ways[0] < 1 and ways[1] > 0  # its ends may lie inside, those of the box not
        first, last = max(first, ways[0]), min(last, ways[1])
    return there and first < last


def test_segments_enter_boxes_as_rationals_say():
    rng = np.random.default_rng(4)
    starts, ends, one, other = (hairs(rng, 6_000) for _ in range(4))
    low, high = np.minimum(one, other), np.maximum(one, other)
    proper = (low < high).all(axis=1) & (starts != ends).any(axis=1)
    given = [each[proper] for each in (starts, ends, low, high)]
    found = enters(*given)
    assert 300 < found.sum() < len(found) - 300
    assert found.tolist() == [
        part_inside(*each) for each in zip(*map(np.ndarray.tolist, given), strict=True)
    ]


def test_ring_of_near_points_is_judged_exactly():
    up = nextafter(1.0, 2)
    assert Ring([(0, 0), (1, 1), (1, up)]).area > 0
    with pytest.raises(RangeError, match="one line"):
        Ring([(0, 0), (1, 1), (2, 2), (0.5, 0.5)])
    with pytest.raises(RangeError, match="one line"):
        Ring([(0.1, 0.1), (0.3, 0.3), (0.7, 0.7)])


@pytest.mark.parametrize(
    "points",
    [
        [(0, 0), (2, 2), (2, 0), (0, 2)],  # a bow tie
        [(0, 0), (1, 1), (2, 2), (2, 0), (1, 1), (0, 2)],  # one through a corner
        [(0, 0), (1, 1), (2, 0), (2, 2), (1, 1), (0, 2)],  # touches itself at a corner
        [(0, 0), (4, 0), (4, 4), (2, 0), (0, 4)],  # touches its own edge
        [(0, 0), (4, 0), (6, 0), (4, 0), (4, 4)],  # a spike
        [(0, 0), (4, 0), (4, 4), (4, 1), (8, 1), (8, 0), (3, 0), (0, 4)],  # runs along itself
    ],
)
@pytest.mark.parametrize("turned", [1, -1])
def test_ring_that_meets_itself_is_refused(points, turned):
    with pytest.raises(InputError, match="touches itself"):
        Polygon(points[::turned])


@pytest.mark.parametrize(
    ("points", "error"),
    [
        ([], InputError),
        ([(0, 0), (1, 1)], InputError),
        ([(0, 0), (1, 1), (0, 0), (1, 1)], InputError),
        ([(0, 0), (1, 0), (float("nan"), 1)], NumberError),
        ([(0, 0), (1, 0), (float("inf"), 1)], NumberError),
        ([(0, 0), (1, 0), (1e101, 1)], RangeError),
        ([(0, 0), (1, 0), (10**400, 1)], RangeError),
        ([(0, 0), (1, 0), (1,)], InputError),
        ([("0", "0"), ("1", "0"), ("1", "1")], InputError),
        ("0 0 1 1", InputError),
        (None, InputError),
        (7, InputError),
        (["ab", "cd", "ef"], InputError),
        (np.zeros((3, 3)), InputError),
        ([(0, 0)] * 100_001, RangeError),
        ({"type": "Point", "coordinates": [0, 0]}, InputError),
        ({"type": "Polygon"}, InputError),
        ({"type": "Polygon", "coordinates": []}, InputError),
        ({"type": "MultiPolygon", "coordinates": [[]]}, InputError),
        ({"type": "Feature", "geometry": None}, InputError),
        ({}, InputError),
    ],
)
def test_polygon_refuses_what_is_none(points, error):
    with pytest.raises(error):
        Polygon.of(points)


def test_points_that_repeat_and_lie_in_a_row_are_fine():
    made = Polygon([(0, 0), (0, 0), (2, 0), (4, 0), (4, 0), (4, 4), (0, 4), (0, 0), (0, 0)])
    assert made.area == 16
    assert len(made.parts[0][0]) == 5


@pytest.mark.parametrize(
    "holes",
    [
        [moved(HOLE, 10)],  # outside
        [moved(HOLE, 2.5)],  # across the edge
        [moved(HOLE, 2)],  # along the edge
        [SQUARE],
        [moved(SQUARE, -1)],
        [[(-1, -1), (9, -1), (9, 9), (-1, 9)]],  # around
        [HOLE, HOLE],
        [HOLE, moved(HOLE, 0.5, 0.5)],
        [HOLE, [(1.2, 1.2), (1.8, 1.2), (1.5, 1.8)]],  # in another
        [[(0, 0), (2, 1), (2, -1)]],  # through a corner of the polygon to the outside
        [[(4, 2), (2, 1), (2, 2), (6, 3)]],  # from inside through an edge at a corner
        [[(2, 2), (5, 5), (5, 1)]],  # through the corner (4, 4) in the middle of an edge
    ],
)
def test_holes_that_do_not_lie_inside_are_refused(holes):
    with pytest.raises(InputError):
        Polygon(SQUARE, holes=holes)


def test_hole_that_leaves_through_corners_is_refused():
    # No edges cross: the hole passes through two corners, and between them lies outside.
    outer = [(0, 0), (6, 0), (6, 6), (4, 2), (3, 1), (2, 2), (0, 6)]
    with pytest.raises(InputError, match="not inside"):
        Polygon(outer, holes=[[(1, 1), (2, 2), (4, 2), (5, 1), (3, 0.5)]])


def test_holes_may_touch_at_points():
    diamond = [(2, 0), (3, 1), (2, 2), (1, 1)]  # a corner on the lower edge
    assert Polygon(SQUARE, holes=[diamond]).area == 14
    assert Polygon(SQUARE, holes=[diamond, moved(diamond, 0, 2)]).area == 12
    assert Polygon(SQUARE, holes=[[(0, 0), (2, 1), (1, 2)]]).area == 14.5
    # a corner of the polygon touches the middle of an edge of the hole
    notched = [(0, 0), (4, 0), (4, 4), (2, 2), (0, 4)]
    assert Polygon(notched, holes=[[(1, 1), (2, 1), (3, 1), (2, 2)]]).area == 11
    assert Polygon(notched, holes=[[(1, 2), (2, 1), (3, 2)]]).area == 11


def test_parts_lie_apart_or_in_holes():
    far = Polygon.of(geojson([SQUARE, HOLE], [moved(SQUARE, 10)]))
    assert far.area == 31
    assert far.bounds.tolist() == [0, 0, 14, 4]
    island = [(1.2, 1.2), (1.8, 1.2), (1.8, 1.8), (1.2, 1.8)]
    for parts in ([[SQUARE, HOLE], [island]], [[island], [SQUARE, HOLE]]):
        assert Polygon.of(geojson(*parts)).area == pytest.approx(15.36)
    corner = Polygon.of(geojson([SQUARE], [moved(SQUARE, 4, 4)]))
    assert corner.area == 32
    for other in (SQUARE, moved(SQUARE, 2, 2), HOLE, moved(SQUARE, 4), moved(SQUARE, 2, 0)):
        with pytest.raises(InputError):
            Polygon.of(geojson([SQUARE], [other]))
    with pytest.raises(InputError, match="over one another"):
        Polygon.of(geojson([SQUARE, HOLE], [moved(HOLE, 1.5, 1.5)]))


def test_geojson_is_read_and_written():
    written = Polygon(SQUARE, holes=[HOLE]).to_geojson()
    again = Polygon.of({"type": "Feature", "properties": {}, "geometry": written})
    assert again.to_geojson() == written
    assert written["coordinates"][0][0] == written["coordinates"][0][-1]
    two = Polygon.of(geojson([SQUARE], [moved(SQUARE, 9)])).to_geojson()
    assert Polygon.of(two).to_geojson() == two
    high = {"type": "Polygon", "coordinates": [[[0, 0, 5], [1, 0, 5], [0, 1, 6]]]}
    assert Polygon.of(high).area == 0.5
    assert repr(again) == "<Polygon: 2 rings, 8 points, area 15>"


def test_side_is_exact():
    ring = Ring([(0, 0), (3, 0), (0, 1)])
    third = Fraction(1, 3)
    assert ring.side((Fraction(2), third)) == 0
    assert ring.side((Fraction(2), third - Fraction(1, 10**30))) == 1
    assert ring.side((Fraction(2), third + Fraction(1, 10**30))) == -1
    assert [ring.side((Fraction(x), Fraction(y))) for x, y in ((0, 0), (5, 0), (-1, 0))] == [
        0,
        -1,
        -1,
    ]


def test_long_rings_are_checked():
    turn = np.linspace(0, 2 * pi, 30_000, endpoint=False)
    radius = 1 + 0.2 * np.sin(500 * turn)
    circle = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
    assert Polygon(circle).area == pytest.approx(pi * (1 + 0.02), rel=1e-3)
    circle[[70, 90]] = circle[[90, 70]]
    with pytest.raises(InputError, match="touches itself"):
        Polygon(circle)


def test_star_has_its_area():
    points = [
        ((2 if i % 2 else 1) * cos(i * pi / 5), (2 if i % 2 else 1) * sin(i * pi / 5))
        for i in range(10)
    ]
    assert Polygon(points).area == pytest.approx(10 * 0.5 * 2 * sin(pi / 5))
