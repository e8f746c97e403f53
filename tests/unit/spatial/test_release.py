"""Maps: what they answer, what they refuse before any charge, and how they travel."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import (
    BudgetExceeded,
    InputError,
    KeysError,
    QueryError,
    RangeError,
    SfumatoError,
)
from sfumato.release import law
from sfumato.spatial.program import METHODS
from sfumato.spatial.release import MapRelease

GENERATOR = np.random.default_rng(11)
COUNTS = GENERATOR.poisson(3, (32, 32))
COUNTS[20:24, 4:8] += 40
AMPLE = sf.Budget(epsilon=10**8)
HUGE = 10**6  # at this ε noise is nearly always 0
BOXES = [(0, 0, 32, 32), (3, 5, 20, 30), (20, 4, 24, 8), (31, 31, 32, 32)]
EXACT = np.array([COUNTS[a:c, b:d].sum() for a, b, c, d in BOXES])


def session(rows=None, budget=None, unit=None):
    import pandas as pd

    if rows is None:
        rows = [(i // 3, i % 20 - 10, (i * 7 % 40) / 4) for i in range(120)]
    frame = pd.DataFrame(rows, columns=["who", "x", "y"]).assign(zone="A")
    return sf.Session(
        frame,
        unit=unit or sf.Unit.by("who", max_rows=3),
        schema=sf.Schema(
            x=sf.Integer(-10, 9, nullable=True),
            y=sf.Real(0, 10, step="0.25", nullable=True),
            zone=sf.Category(["A"]),
        ),
        budget=budget or AMPLE,
    )


def exact_of(table, box, **options):
    return sf.spatial.release(
        table.points("x", "y"), box=box, method="quadtree", height=0, epsilon=HUGE, **options
    ).total()


@pytest.mark.parametrize("method", METHODS)
def test_with_hardly_any_noise_boxes_of_whole_cells_are_right(method):
    found = sf.spatial.release(sf.lab(COUNTS, budget=AMPLE), method=method, epsilon=HUGE)
    if method in ("kd_tree", "kd_hybrid"):  # 2^12 leaves at most, and not of the lattice's cells
        found = sf.spatial.release(
            sf.lab(COUNTS, budget=AMPLE), method=method, epsilon=HUGE, height=10
        )
    assert np.allclose(found.lattice().sum(), COUNTS.sum(), atol=1)
    loose = found.count(BOXES, even=False)
    assert ((loose.low <= EXACT + 1) & (loose.high >= EXACT - 1)).all()
    if method in ("quadtree", "grid", "adaptive_grid", "auto", "privtree"):
        assert np.abs(found.count(BOXES).value - EXACT).max() < 2


@pytest.mark.parametrize("method", METHODS)
def test_cells_tile_the_box_whatever_the_shape(method):
    for shape in ((1, 1), (1, 7), (5, 3), (2, 2), (64, 3)):
        counts = GENERATOR.integers(0, 9, shape)
        found = sf.spatial.release(sf.lab(counts, budget=AMPLE), method=method, epsilon=1)
        covered = np.zeros(shape, int)
        for a, b, c, d in found.blocks.tolist():
            covered[a:c, b:d] += 1
        assert (covered == 1).all(), shape
        x0, y0, x1, y1 = found.cells.T
        assert ((x1 - x0) * (y1 - y0)).sum() == pytest.approx(shape[0] * shape[1])
        assert found.counts.shape == found.variances.shape == (len(found),)
        assert found.lattice().shape == shape


def test_one_and_many_boxes_answer_alike():
    found = sf.spatial.release(sf.lab(COUNTS), method="quadtree", epsilon=1)
    many = found.count(BOXES)
    for i, box in enumerate(BOXES):
        one = found.count(box)
        assert one.value == pytest.approx(many.value[i])
        assert one.low == pytest.approx(many.low[i])
    array = found.count(np.array(BOXES, float))
    assert np.allclose(array.value, many.value)
    wider = found.count(BOXES[1], confidence="0.99")
    assert wider.high - wider.low > found.count(BOXES[1]).high - found.count(BOXES[1]).low


def test_polygon_counts_by_overlap():
    found = sf.spatial.release(
        sf.lab(np.full((8, 8), 4), budget=AMPLE), method="grid", cells=8, epsilon=HUGE
    )
    triangle = sf.spatial.Polygon([(0, 0), (8, 0), (0, 8)])
    assert found.count(triangle).value == pytest.approx(128, abs=1)
    square = sf.spatial.Polygon([(1, 1), (3, 1), (3, 3), (1, 3)])
    both = found.count([triangle, square])
    assert both.value[1] == pytest.approx(found.count((1, 1, 3, 3)).value)
    with pytest.raises(InputError, match="crosses"):
        sf.spatial.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])


def test_interval_that_takes_nothing_as_even_holds_wherever_points_lie():
    counts = np.zeros((8, 8), int)
    counts[0, 0] = 1000  # in the corner of a cell of the map
    found = sf.spatial.release(sf.lab(counts, budget=AMPLE), method="grid", cells=2, epsilon=HUGE)
    box = (0, 0, 2, 2)
    even, anywhere = found.count(box), found.count(box, even=False)
    assert even.value == pytest.approx(250, abs=1)
    assert not even.low <= 1000 <= even.high
    assert anywhere.low <= 1000 <= anywhere.high
    assert "anywhere" in anywhere.covers


def test_points_are_counted_in_the_cell_that_they_lie_in():
    rows = [(i, x, y) for i, (x, y) in enumerate([(-10, 0), (9, 10), (0, 5), (0, 5.25), (3, 2)])]
    table = session(rows).table()
    found = sf.spatial.release(table.points("x", "y"), method="quadtree", height=5, epsilon=HUGE)
    assert found.frame.shape == (20, 41)
    grid = found.lattice()
    assert found.total().value == pytest.approx(5, abs=0.5)
    assert grid[0].sum() + grid[19].sum() > 0.9


def test_rows_outside_of_the_box_are_dropped_or_clamped():
    rows = [(0, -9, 1), (1, 0, 1), (2, 9, 1), (3, None, 1), (4, 0, None), (5, 0, float("nan"))]
    table = session(rows).table()
    box = (-5, 0, 5, 5)
    assert exact_of(table, box).value == pytest.approx(1, abs=0.5)
    assert exact_of(table, box, outside="clamp").value == pytest.approx(3, abs=0.5)
    # The lower ends are in the box, and the upper ones are not.
    assert exact_of(table, (0, 1, 9, 5)).value == pytest.approx(1, abs=0.5)
    assert exact_of(table, (0, 0, 10, 1)).value == pytest.approx(0, abs=0.5)


def test_caps_bound_how_many_points_of_a_unit_count():
    rows = [(0, i % 20 - 10, i / 10) for i in range(90)]
    table = session(rows, unit=sf.Unit.by("who", max_rows=3)).table()
    found = sf.spatial.release(table.points("x", "y"), method="quadtree", height=0, epsilon=HUGE)
    assert found.total().value == pytest.approx(3, abs=0.5)
    assert any("3" in note for note in found.notes)


@pytest.mark.parametrize("method", METHODS)
def test_price_is_what_was_asked_for_and_charged(method):
    opened = session(budget=sf.Budget(epsilon=3))
    before = opened.remaining.epsilon
    found = sf.spatial.release(opened.table().points("x", "y"), method=method, epsilon=1)
    spent = before - opened.remaining.epsilon
    assert 0.9 < spent <= 1
    assert found.receipt is not None
    assert found.price.epsilon == spent


BAD = [
    ({"box": (0, 0, 0, 5)}, "area"),
    ({"box": (5, 0, 0, 5)}, "turned"),
    ({"box": (0, 0, float("nan"), 5)}, "finite"),
    ({"box": (0, 0, 5)}, "four"),
    ({"box": "left"}, "four"),
    ({"box": (500, 500, 600, 600)}, "no point can lie"),
    ({"bins": 0}, "bins"),
    ({"bins": "many"}, "bins"),
    ({"bins": 10**6}, "bins"),
    ({"outside": "guess"}, "outside"),
    ({"method": "voronoi"}, "method"),
    ({"method": "quadtree", "height": 40}, "height"),
    ({"method": "quadtree", "height": -1}, "height"),
    ({"method": "quadtree", "weights": "heavy"}, "weights"),
    ({"method": "quadtree", "weights": [1, 2]}, "weights"),
    ({"method": "quadtree", "leaves": 4}, "leaves"),
    ({"method": "kd_tree", "height": 30}, "height"),
    ({"method": "kd_tree", "share": 2}, "share"),
    ({"method": "kd_tree", "height": 3, "medians": 4}, "medians"),
    ({"method": "privtree", "shape": 1}, "shape"),
    ({"method": "privtree", "first": 99}, "height"),
    ({"method": "grid", "cells": 0}, "cells"),
    ({"method": "adaptive_grid", "coarse": 0}, "coarse"),
    ({"method": "auto", "height": 3}, "height"),
    ({"method": "kd_tree", "delta": "1e-6"}, "epsilon"),
    ({"method": "privtree", "least": "1.5"}, "least= is a whole number"),
    ({"confidence": 2}, "confidence"),
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": -1}, "epsilon"),
    ({"epsilon": float("nan")}, "epsilon"),
    ({"epsilon": None}, "cost"),
]


@pytest.mark.parametrize(("options", "said"), BAD, ids=[str(bad) for bad, _ in BAD])
def test_bad_input_is_refused_before_any_charge(options, said):
    opened = session()
    before = opened.remaining
    with pytest.raises(SfumatoError) as refused:
        sf.spatial.release(opened.table().points("x", "y"), **{"epsilon": 1, **options})
    assert said in str(refused.value)
    assert opened.remaining == before


def test_columns_that_are_no_coordinates_are_refused():
    table = session().table()
    with pytest.raises(KeysError, match="coordinates are numbers"):
        table.points("x", "zone")
    with pytest.raises(QueryError, match="two coordinates"):
        table.points("x", "x")
    with pytest.raises(QueryError, match="names of two columns"):
        table.points("x", 3)
    with pytest.raises(SfumatoError):
        table.points("x", "nowhere")
    with pytest.raises(SfumatoError):
        table.points("x", "who")
    with pytest.raises(InputError, match="points"):
        sf.spatial.release(table, epsilon=1)
    with pytest.raises(InputError, match="two"):
        sf.spatial.release(sf.lab([1, 2, 3]), epsilon=1)


def test_what_does_not_fit_is_refused_before_its_first_part_is_bought():
    opened = session(budget=sf.Budget(epsilon="0.5"))
    for method in METHODS:
        with pytest.raises(BudgetExceeded):
            sf.spatial.release(opened.table().points("x", "y"), method=method, epsilon=1)
    assert opened.remaining.epsilon == sf.Budget(epsilon="0.5").epsilon


def test_empty_table_is_a_map_of_noise():
    table = session(rows=[(0, None, None)]).table()
    for method in METHODS:
        found = sf.spatial.release(table.points("x", "y"), method=method, epsilon=1)
        assert len(found) >= 1


def test_release_travels_as_text():
    found = sf.spatial.release(sf.lab(COUNTS), method="adaptive_grid", epsilon=1)
    back = MapRelease.from_json(found.to_json())
    assert back == found
    assert back.digest == found.digest
    assert np.array_equal(back.counts, found.counts)
    assert "map of" in repr(back)


def test_release_is_written_as_tables_pictures_and_geojson(tmp_path):
    found = sf.spatial.release(sf.lab(COUNTS), method="privtree", epsilon=1)
    table = found.to_arrow()
    assert table.num_rows == len(found)
    assert table.column_names == ["x_low", "y_low", "x_high", "y_high", "n", "n_low", "n_high"]
    found.to_parquet(tmp_path / "map.parquet")
    found.to_geojson(tmp_path / "map.geojson")
    written = json.loads((tmp_path / "map.geojson").read_text())
    assert len(written["features"]) == len(found)
    assert "ε" in written["sfumato"]["price"]
    assert len(found.to_pandas()) == len(found)
    assert found.heatmap(16, 8).counts.shape == (8, 16)
    assert found.heatmap(16, 8).counts.sum() == pytest.approx(found.counts.sum())
    assert found.chart().to_dict()
    assert "Certificate" in str(found.card())
    drawn = found.sample(500)
    assert drawn.points.shape == (500, 2)
    assert ((drawn.points >= 0) & (drawn.points < 32)).all()
    assert drawn.to_arrow().column_names == list(found.frame.names)


def test_pruned_and_nonnegative_are_free():
    found = sf.spatial.release(sf.lab(COUNTS), method="quadtree", height=4, epsilon="0.1")
    clean = found.nonnegative()
    assert (clean.counts >= 0).all()
    assert clean.cost == found.cost
    flat = found.pruned(10**9)
    density = flat.counts / found.counts.sum()
    assert np.allclose(density, density[0])
    assert (found.counts < 0).any()


def test_private_tree_stops_at_a_noisy_count():
    lab = sf.lab(COUNTS, budget=AMPLE)
    fine, coarse = (
        sf.spatial.release(lab, method="privtree", epsilon=HUGE, least=least) for least in (0, 200)
    )
    assert len(coarse) < len(fine)
    assert len(sf.spatial.release(lab, method="privtree", epsilon=HUGE, least=10**6)) == 1


def test_automatic_grids_lie_in_one_another_and_are_finer_where_points_are():
    counts = np.zeros((64, 64), int)
    counts[:16, :16] = 500
    found = sf.spatial.release(sf.lab(counts, budget=AMPLE), epsilon=1)
    assert len(found.levels) == 3
    sides = (found.blocks[:, 2:] - found.blocks[:, :2]).max(axis=1)
    inside = (found.blocks[:, 2:] <= 16).all(axis=1)
    assert sides[inside].max() <= 2
    assert sides[~inside].mean() > 4
    few = sf.spatial.release(sf.lab(counts // 500, budget=AMPLE), epsilon=1)
    assert len(few.levels) == 2


def test_foresight_is_free_and_near_what_noise_does():
    opened = session(budget=sf.Budget(epsilon=1))
    plan = sf.spatial.explain(opened.table().points("x", "y"), epsilon=1, expected=120)
    assert opened.remaining.epsilon == 1
    assert all(plan[name].rmse > 0 for name in plan)
    blind = sf.spatial.explain(opened.table().points("x", "y"), epsilon=1)
    assert blind["auto"].rmse is None
    assert plan["quadtree"].rmse > 0
    assert "box" in repr(plan)
    for name in ("auto", "adaptive_grid", "privtree"):
        assert plan[name].said.startswith("about ")  # more where points crowd
    assert "if these lay evenly" in repr(plan)
    assert "if these lay evenly" not in repr(blind)
    with pytest.raises(InputError):
        sf.spatial.explain(opened.table().points("x", "y"), epsilon=1, area=3)
    flat = np.full((64, 64), 10)
    foreseen = sf.spatial.explain(sf.lab(flat), epsilon="0.1", area="0.25")["quadtree"].rmse
    gaps = []
    for _ in range(60):
        found = sf.spatial.release(sf.lab(flat), method="quadtree", epsilon="0.1")
        gaps.append(found.count((10, 12, 42, 44)).value - 10 * 32 * 32)
    assert 0.5 < np.sqrt(np.mean(np.square(gaps))) / foreseen < 2


def test_gaussian_noise_is_charged_in_rho():
    lab = sf.lab(COUNTS, budget=sf.Budget(rho=10))
    found = sf.spatial.release(lab, method="quadtree", rho=1)
    assert {level.noise.kind for level in found.levels} == {"gaussian"}
    assert float(found.price.rho) <= 1
    sf.spatial.release(lab, method="adaptive_grid", rho=1)
    nested = sf.spatial.release(lab, rho=1)
    assert {level.noise.kind for level in nested.levels} == {"gaussian"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.42813323987193935, 0.23357214690901212, 0.01778279410038923])
def test_stages_fit_a_budget_of_just_that_much(method, epsilon):
    """A ledger rounds each charge up, so that two stages of plain shares would not fit."""
    lab = sf.lab([[3] * 16] * 16, budget=sf.Budget(epsilon))
    assert len(sf.spatial.release(lab, method=method, epsilon=epsilon)) > 0
    assert lab.remaining.epsilon < epsilon / 10**6


def test_intervals_hold_where_noise_is_about_one_count():
    """At σ = 1/2 a fifth of the counts is off by one, which a smooth law would not cover."""
    lab = sf.lab([[3] * 4] * 4)
    found = [sf.spatial.release(lab, method="grid", cells=2, rho=2) for _ in range(60)]
    answers = [each.count([(0, 0, 2, 2), (0, 2, 2, 4), (2, 0, 4, 2)]) for each in found]
    hits = [(answer.low <= 12) & (answer.high >= 12) for answer in answers]
    assert np.mean(hits) > 0.9


BESIDE = [
    (2, 0, 3, 1),
    sf.spatial.Polygon([(-2, 0), (-1, 0), (-1, 1)]),
    [(0, 0, 1, 1), (0, -5, 1, 0)],
    sf.spatial.Polygon([(-1, -1), (5, -1), (5, 5), (3, 5), (3, 0), (-1, 0)]),
    sf.spatial.Polygon(
        [(-5, -5), (9, -5), (9, 9), (-5, 9)], holes=[[(-1, -1), (3, -1), (3, 3), (-1, 3)]]
    ),
]


@pytest.mark.parametrize(
    "where", BESIDE, ids=["box", "polygon", "one of several", "bent", "around"]
)
def test_region_beside_the_map_is_refused(where):
    city = sf.spatial.release(sf.lab([[5, 9], [0, 200]]), method="grid", epsilon=1)
    with pytest.raises(RangeError, match=r"beside the map.*from \(0, 0\) to \(2, 2\)"):
        city.count(where)
    assert city.count((-5, -5, 1, 1)).value == city.count((0, 0, 1, 1)).value  # partly on it
    every = sf.spatial.Polygon([(-5, -5), (9, -5), (9, 9), (-5, 9)])
    assert city.count(every).value == city.total().value


def test_map_says_that_small_counts_are_taken_to_be_even():
    city = sf.spatial.release(sf.lab([[5, 9], [0, 200]]), method="grid", epsilon=1)
    assert "unbiased" in repr(city)
    assert "even below 32" in repr(city.pruned())
    assert "unbiased" not in repr(city.pruned())
    assert "nonnegative, even below 8" in repr(city.nonnegative().pruned(8))


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.99", "0.99999"])
def test_a_cell_of_a_grid_has_one_interval_however_it_is_asked(confidence):
    for epsilon in (0.5, 3, 4.6, 8):
        found = sf.spatial.release(
            sf.lab(COUNTS), method="grid", cells=32, epsilon=epsilon, confidence=confidence
        )
        alone, listed = found.count((3, 5, 4, 6)), found.estimate()
        place = int(np.flatnonzero((found.cells == (3, 5, 4, 6)).all(axis=1))[0])
        assert (listed.low[place], listed.high[place]) == (alone.low, alone.high)
        half = int(alone.high - alone.value)
        outside = 1 - law.weights(found.levels[0].noise, half).sum()
        assert outside <= 1 - float(confidence)


NARROW = [("grid", {"cells": 64}, 8, 8), ("quadtree", {}, 16, 4), ("auto", {}, 8, 8)]


@pytest.mark.parametrize(("method", "options", "epsilon", "most"), NARROW)
def test_narrow_noise_on_a_large_box_does_not_add_up_step_by_step(method, options, epsilon, most):
    lab = sf.lab(np.zeros((64, 64), int))
    found = sf.spatial.release(lab, method=method, epsilon=epsilon, **options)
    box = found.count((0, 0, 45, 45))
    assert box.high - box.low <= most


@pytest.mark.parametrize("box", [(0, 0, 1, 1), ("0.1", "0.1", "0.9", "0.9"), (-3, -3, 1e6, 1e6)])
@pytest.mark.parametrize("bins", [7, 10, 100])
def test_points_count_in_the_cell_that_they_lie_in(box, bins):
    """A point on an edge, or a hair beside it, is not divided into the next cell."""
    empty = sf.lab.points(np.empty((0, 2)), box, bins=bins)
    edges = np.unique(sf.spatial.release(empty, method="grid", cells=bins, epsilon=1).cells[:, 0])
    near = [edges, np.nextafter(edges[1:], -np.inf), np.nextafter(edges, np.inf)]
    for x in np.concatenate(near):
        lab = sf.lab.points([(x, edges[0])], box, bins=bins, budget=AMPLE)
        found = sf.spatial.release(lab, method="grid", cells=bins, epsilon=HUGE)
        ((x0, _, x1, _),) = found.cells[found.counts > 0.5]
        assert x0 <= x < x1


def test_interval_that_takes_points_to_lie_evenly_says_so():
    found = sf.spatial.release(sf.lab([[30, 0], [0, 10]]), method="grid", epsilon=1, cells=2)
    cut, whole = (0, 0, 1.5, 1), (0, 0, 1, 2)
    assert repr(found.count(cut)).endswith(
        "(95 %, if points lie evenly in the cells that a border cuts)"
    )
    assert "points anywhere inside" in found.count(cut, even=False).covers
    assert found.count([whole, cut]).covers == found.count(cut).covers
    for kept in (found.count(whole), found.count(whole, even=False), found.total()):
        assert repr(kept).endswith("(95 %)")
        assert kept.covers == "noise only"
