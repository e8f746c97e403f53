"""Shares of many cells in large regions, and what is refused; see the property tests too."""

from math import nextafter

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, RangeError
from sfumato.spatial.box import Box
from sfumato.spatial.index import FAN, Index
from sfumato.spatial.overlap import covers, total, weights
from sfumato.spatial.polygon import Polygon
from sfumato.spatial.trapezoid import Trapezoids


def cut(rng, box, depth):
    """Cut a box into four, again and again, more in some places than in others."""
    x0, y0, x1, y1 = box
    if depth == 0 or rng.random() < 0.15:
        return [box]
    x, y = x0 + (x1 - x0) * rng.uniform(0.3, 0.7), y0 + (y1 - y0) * rng.uniform(0.3, 0.7)
    parts = ((x0, y0, x, y), (x, y0, x1, y), (x0, y, x, y1), (x, y, x1, y1))
    return [cell for part in parts for cell in cut(rng, part, depth - 1)]


def all_shares(cells, boxes):
    """Compare every cell with every box."""
    share = 1.0
    for axis in (0, 1):
        low = np.maximum(cells[:, axis], boxes[:, None, axis])
        high = np.minimum(cells[:, axis + 2], boxes[:, None, axis + 2])
        share = share * np.clip(high - low, 0, None) / (cells[:, axis + 2] - cells[:, axis])
    return share


RNG = np.random.default_rng(8)
CELLS = np.array(cut(RNG, (-10, 0, 30, 20), 6))
INDEX = Index(CELLS)
COUNTS = RNG.normal(4, 9, len(CELLS))
AREAS = (CELLS[:, 2] - CELLS[:, 0]) * (CELLS[:, 3] - CELLS[:, 1])


def some_boxes(count):
    x = np.sort(RNG.uniform(-15, 35, (count, 2)), axis=1)
    y = np.sort(RNG.uniform(-5, 25, (count, 2)), axis=1)
    return np.column_stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]])


def blob(points, waves=9):
    turn = np.linspace(0, 2 * np.pi, points, endpoint=False)
    radius = 7 + 2 * np.sin(waves * turn)
    return np.column_stack([10 + radius * np.cos(turn), 10 + radius * np.sin(turn)])


def test_there_are_cells_of_several_levels():
    assert len(CELLS) > 500
    assert len(INDEX.levels) >= 3
    assert sorted(INDEX.order.tolist()) == list(range(len(CELLS)))
    for level, held in enumerate(INDEX.levels):
        starts, stops = INDEX.runs(level, np.arange(len(held)))
        assert (stops - starts).sum() == len(CELLS)
        for start, stop, box in zip(starts, stops, held, strict=True):
            inside = CELLS[INDEX.order[start:stop]]
            assert box.tolist() == [*inside[:, :2].min(axis=0), *inside[:, 2:].max(axis=0)]
    assert len(INDEX.levels[-1]) <= FAN


def test_sums_of_boxes_are_those_of_all_pairs():
    boxes = some_boxes(60)
    share = all_shares(CELLS, boxes)
    assert total(INDEX, boxes, COUNTS) == pytest.approx(share @ COUNTS)
    assert total(INDEX, boxes, AREAS, power=2) == pytest.approx(share**2 @ AREAS)
    first = 0
    for cover in covers(INDEX, boxes):
        for i in range(cover.count):
            found = np.zeros(len(CELLS))
            cell, weight = cover.weights(i)
            found[cell] = weight
            assert found == pytest.approx(share[first + i])
        assert cover.sums(COUNTS) == pytest.approx(share[first : first + cover.count] @ COUNTS)
        first += cover.count
    assert first == len(boxes)


def test_cells_within_a_box_have_the_weight_one():
    cell, weight = weights(INDEX, (-10, 0, 30, 20))
    assert cell.tolist() == list(range(len(CELLS)))
    assert (weight == 1).all()
    for i in (0, 7, len(CELLS) - 1):  # edges coincide, neighbors are not touched
        cell, weight = weights(INDEX, CELLS[i])
        assert (cell.tolist(), weight.tolist()) == ([i], [1.0])
    assert weights(INDEX, (31, 0, 40, 20))[0].size == 0
    assert weights(INDEX, (30, 0, 40, 20))[0].size == 0


def test_a_large_region_takes_few_numbers():
    side = 300
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side), np.arange(side)))
    index = Index(np.column_stack([x, y, x + 1, y + 1]))
    (cover,) = covers(index, (0.5, 0.5, side - 0.5, side - 0.5))
    assert len(cover.cell) == 4 * side - 4
    assert len(cover.start) < side**2 / 10
    assert (cover.stop - cover.start).sum() == (side - 2) ** 2
    (cover,) = covers(index, Polygon([(0.5, 0.5), (side - 0.5, 0.5), (side / 2, side - 0.5)]))
    assert len(cover.cell) < 8 * side
    assert cover.sums(np.ones(side**2))[0] == pytest.approx((side - 1) ** 2 / 2)


@pytest.mark.parametrize("points", [3, 40, 5_000])
def test_area_of_a_polygon_is_found_in_the_cells(points):
    area = Polygon(blob(points))
    assert total(INDEX, area, AREAS)[0] == pytest.approx(area.area)
    with_hole = Polygon(blob(points), holes=[10 + (blob(points) - 10) / 3])
    assert total(INDEX, with_hole, AREAS)[0] == pytest.approx(area.area * 8 / 9)


def test_shares_of_a_polygon_are_those_of_many_points():
    area = Polygon(blob(500), holes=[[(8, 8), (12, 9), (10, 12)]])
    found = np.zeros(len(CELLS))
    cell, weight = weights(INDEX, area)
    found[cell] = weight
    fine = (np.arange(40) + 0.5) / 40
    shape = np.array([(a, b) for a in fine for b in fine])
    points = CELLS[:, None, :2] + shape * (CELLS[:, None, 2:] - CELLS[:, None, :2])
    radius = np.hypot(*np.moveaxis(points - 10, 2, 0))
    turn = np.arctan2(points[..., 1] - 10, points[..., 0] - 10)
    inside = radius < 7 + 2 * np.sin(9 * turn)
    corners = [(8, 8), (12, 9), (10, 12)]
    hole = np.ones(radius.shape, bool)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        hole &= (bx - ax) * (points[..., 1] - ay) - (by - ay) * (points[..., 0] - ax) > 0
    assert found == pytest.approx((inside & ~hole).mean(axis=1), abs=0.06)
    assert np.abs(found - (inside & ~hole).mean(axis=1)).mean() < 0.004


def test_a_comb_of_long_edges_is_cut_into_few_pieces():
    teeth = 700
    x = np.linspace(0, 20, 2 * teeth)
    # Long edges lie over one another: up and down, and all of them slanted to the right.
    top = np.where(np.arange(2 * teeth) % 2, 19.0, 1.0)
    points = [*zip(x + top / 2, top, strict=True), (21, 0), (0, 0)]
    area = Polygon(points)
    pieces = Trapezoids(area.edges)
    assert len(pieces.left) <= 9 * len(area.edges) + 2**16
    assert len(pieces.borders) < len(area.edges) / 8  # there were fewer and fewer slabs
    assert total(INDEX, area, AREAS)[0] == pytest.approx(area.area)


def test_boxes_and_polygons_may_be_mixed():
    triangle = Polygon([(0, 0), (10, 0), (0, 10)])
    found = total(INDEX, [triangle, Box(0, 0, 10, 10)], AREAS)
    assert found == pytest.approx([50, 100])
    parts = {
        "type": "MultiPolygon",
        "coordinates": [[[(0, 0), (1, 0), (0, 1)]], [[(5, 5), (6, 5), (5, 6)]]],
    }
    assert total(INDEX, Polygon.of(parts), AREAS) == pytest.approx([1])


def test_regions_and_values_are_checked():
    with pytest.raises(RangeError, match="turned around"):
        total(INDEX, (1, 0, 0, 1), COUNTS)
    with pytest.raises(InputError, match="one number for each cell"):
        total(INDEX, (0, 0, 1, 1), COUNTS[1:])
    with pytest.raises(InputError, match="one region"):
        weights(INDEX, [(0, 0, 1, 1), (0, 0, 1, 1)])
    with pytest.raises(InputError, match="Polygon"):
        total(INDEX, [Polygon([(0, 0), (1, 0), (0, 1)]), [(0, 0), (1, 1), (2, 0)]], COUNTS)
    with pytest.raises(InputError):
        total(INDEX, [], COUNTS)
    with pytest.raises(InputError, match="a cell is four numbers"):
        Index([])


def test_one_cell_is_a_map_too():
    assert weights([(0, 0, 2, 2)], (1, 1, 5, 5)) == (np.array([0]), np.array([0.25]))
    assert weights([(0, 0, 2, 2)], Polygon([(0, 0), (2, 2), (0, 2)]))[1].tolist() == [0.5]


def counted(point, box, bins):
    """Release a map of a thousand points, all at one place."""
    points = sf.lab.points(np.full((1_000, 2), point), box=box, bins=bins)
    return sf.spatial.release(points, method="grid", cells=bins, epsilon=1)


def test_a_corner_that_rounds_away_is_cut_off_all_the_same():
    found = counted(1e-10, (0, 0, 4, 4), 4)
    area = Polygon([(1e-9, 0), (2, 0), (2, 2), (0, 2), (0, 1e-9)])  # all points are cut off
    assert found.count(area, even=False).low == 0
    assert found.count(area, even=False).high > 900


def test_a_sliver_that_rounds_away_is_met_all_the_same():
    found = counted(2e-20, (-1, -1, 1, 1), 1)
    area = Polygon([(-1, 1e-20), (1, 1e-20), (1, 3e-20), (-1, 3e-20)])  # and all points are in it
    assert found.count(area, even=False).low == 0
    assert found.count(area, even=False).high > 900


def test_an_area_of_whole_cells_is_counted_like_the_box():
    found = counted(0.35, (0, 0, 1, 1), 10)
    for box in [(0.3, 0.3, 0.7, 0.9), (0.1, 0.4, 0.2, 0.5), (0, 0, 1, 1), (-1, -1, 2, 0.3)]:
        x0, y0, x1, y1 = box
        # Corners at the ends of cells on the way change nothing.
        area = Polygon([(x0, y0), (x1, y0), (x1, (y0 + y1) / 2), (x1, y1), (x0, y1)])
        cell, weight = weights(found.cells, area)
        assert (weight == 1).all()
        assert cell.tolist() == weights(found.cells, box)[0].tolist()
        for even in (False, True):
            one, other = found.count(area, even=even), found.count(box, even=even)
            assert (one.low, one.high) == pytest.approx((other.low, other.high))
            assert one.value == pytest.approx(other.value)


@pytest.mark.parametrize("step", [1, 10])
def test_a_diagonal_does_not_meet_cells_at_whose_corners_it_passes(step):
    side = 40
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side), np.arange(side)))
    cells = np.column_stack([x, y, x + 1, y + 1]) / step
    cell, weight = weights(cells, Polygon([(0, 0), (side / step, side / step), (0, side / step)]))
    assert cell.tolist() == np.flatnonzero(x <= y).tolist()
    cut = x[cell] == y[cell]
    assert (weight[~cut] == 1).all()
    assert weight[cut] == pytest.approx(0.5)


def test_an_edge_too_steep_for_a_slope_cuts_cells():
    cells = [(-1, 0, 0, 1), (0, 0, 1, 1), (0, 1, 1, 2)]
    small = nextafter(0.0, 1)
    cell, weight = weights(cells, Polygon([(0, 0), (2, 0), (2, 2), (small, 2)]))
    assert cell.tolist() == [1, 2]
    assert weight.tolist() == [nextafter(1, 0)] * 2
    cell, weight = weights(cells, Polygon([(0, 0), (2, 0), (2, 2), (-small, 2)]))
    assert cell.tolist() == [0, 1, 2]
    assert weight.tolist() == [small, 1, 1]


def test_strips_that_every_box_cuts_are_held_in_memory():
    strips = np.column_stack(
        [np.arange(5_000), np.zeros(5_000), np.arange(5_000) + 1, np.ones(5_000)]
    )
    boxes = np.tile([(0.0, 0.25, 5_000.0, 0.75)], (250, 1))
    sizes = [cover.count for cover in covers(Index(strips), boxes)]
    assert sum(sizes) == 250
    assert max(sizes) <= 2**20 // 5_000 + 8
    assert total(Index(strips), boxes, np.ones(5_000)) == pytest.approx(2_500)
