"""What a map refuses, before anything is paid; and edges of cells, as people write them."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import SfumatoError
from sfumato.spatial.program import METHODS
from sfumato.spatial.release import MapLevel, MapRelease, as_bytes

STAGED = [method for method in METHODS if method != "quadtree"]
AMPLE = sf.Budget(epsilon=10**8)


def table(low=0, high=1, step="0.125"):
    import pandas as pd

    return sf.Session(
        pd.DataFrame({"x": [float(low)] * 9, "y": [0.5] * 9}),
        unit=sf.Unit.rows(3),
        schema=sf.Schema(x=sf.Real(low, high, step=step), y=sf.Real(0, 1, step="0.125")),
        budget=AMPLE,
    )


def refused(opened, points, **options):
    before = opened.remaining
    with pytest.raises(SfumatoError):
        sf.spatial.release(points, **{"epsilon": 1, **options})
    return opened.remaining == before


@pytest.mark.parametrize("epsilon", ["1e-16", "1e-12", "1e-10", 10**5, 10**7])
@pytest.mark.parametrize("method", STAGED)
def test_price_of_which_a_later_stage_cannot_be_paid_is_refused_before_the_first(method, epsilon):
    opened = table()
    points = opened.table().points("x", "y")
    before = opened.remaining
    try:
        sf.spatial.release(points, method=method, epsilon=epsilon)
    except SfumatoError:
        assert opened.remaining == before


def test_plane_that_cannot_be_cut_is_refused_before_its_points_are_counted():
    lab = sf.lab(np.zeros((2**12, 2**11), np.int8))
    assert refused(lab, lab, method="kd_tree")


def test_cells_that_floats_do_not_tell_apart_are_refused_before_any_charge():
    opened = table(10**15, 10**15 + 1, "0.001")
    assert refused(opened, opened.table().points("x", "y"), method="grid", cells=512)
    for box in ((10**15, 0, 10**15 + 1, 1), (0, 0, "1e-322", 1)):
        lab = sf.lab.points([[0, 0]], box)
        assert refused(lab, lab)


@pytest.mark.parametrize("sure", ["0.99999999999999999999", "1", 0])
def test_confidence_that_no_interval_has_is_refused_before_any_charge(sure):
    opened = table()
    assert refused(opened, opened.table().points("x", "y"), confidence=sure)
    found = sf.spatial.release(sf.lab([[3, 4]]), epsilon=1)
    line = sf.ranges.release(sf.lab([3, 4]).values(), epsilon=1)
    for ask in (
        lambda: found.count((0, 0, 1, 1), confidence=sure),
        lambda: line.total(confidence=sure),
    ):
        with pytest.raises(SfumatoError):
            ask()


UNIT = (0, 0, 1, 1)
BAD_POINTS = [
    ([[1, 2]], UNIT, {"bins": 0}),
    ([[1, 2]], UNIT, {"bins": -3}),
    ([[1, 2]], UNIT, {"bins": "a"}),
    ([[1, 2]], UNIT, {"bins": 2.5}),
    ([[1, 2]], UNIT, {"bins": 10**6}),
    ([[1, 2]], UNIT, {"bins": (1, 2, 3)}),
    ("abc", UNIT, {}),
    ([[1, 2], [3]], UNIT, {}),
    ([["a", "b"]], UNIT, {}),
    ([[10**400, 1]], UNIT, {}),
    ([[1j, 1]], UNIT, {}),
    ([[1, 2]], (0, 0, "1e400", 1), {}),
    ([[1, 2]], (1, 1, "1.00000000000000000001", 2), {}),
]


@pytest.mark.parametrize(("xy", "box", "options"), BAD_POINTS)
def test_laboratory_refuses_what_are_no_points(xy, box, options):
    with pytest.raises(SfumatoError):
        sf.lab.points(xy, box, **options)


def test_laboratory_counts_all_points_in_its_box():
    rng = np.random.default_rng(0)
    for _ in range(300):
        low, bins = rng.normal() * 100, int(rng.integers(1, 3000))
        high = low + rng.random() * 10
        inside = [low, np.nextafter(low, high), np.nextafter(high, low)]
        lab = sf.lab.points([[x, 0.5] for x in (*inside, high)], (low, 0, high, 1), bins=(bins, 1))
        assert lab._records.count(("x", "y")).sum() == 3


def test_cell_ends_where_its_decimal_literal_does():
    points = (np.indices((10, 10)).reshape(2, -1).T + 0.5) / 10
    lab = sf.lab.points(points.repeat(100, axis=0), UNIT, bins=10, budget=AMPLE)
    found = sf.spatial.release(lab, method="grid", cells=10, epsilon=10**5)
    assert found.frame.edges(0).tolist() == [i / 10 for i in range(11)]
    # No border cuts a cell, so nothing is left open about where points lie.
    loose = found.count((0.3, 0.3, 0.6, 0.7), even=False)
    assert 1198 < loose.low <= 1200 <= loose.high < 1202


@pytest.mark.parametrize("box", [(1e-20, 0, 1, 1), (0, 0, 1e-200, 1e-200)])
def test_sliver_of_a_cell_may_hold_all_of_its_points_or_none(box):
    lab = sf.lab.points([[0, 0]] * 1000, UNIT, bins=1, budget=AMPLE)
    found = sf.spatial.release(lab, method="grid", cells=1, epsilon=10**5)
    loose = found.count(box, even=False)
    assert loose.low <= 0
    assert loose.high >= 1000


def test_text_that_is_no_map_is_refused():
    found = sf.spatial.release(sf.lab([[3] * 4] * 4), method="grid", cells=4, epsilon=1)
    level = found.levels[0]
    wrong = [
        {"leaves": as_bytes(found.blocks + 100)},
        {"leaves": as_bytes(found.blocks[:, [2, 3, 0, 1]])},
        {"levels": (level, MapLevel(as_bytes(np.array([5, 3, 0])), level.noise, (1, 2, 3)))},
        {"levels": (level, MapLevel(as_bytes(np.array([0, 3])), level.noise, (1, 2, 3)))},
        {"levels": (level, MapLevel(b"abc", level.noise, (1, 2, 3)))},
        {"levels": (MapLevel(as_bytes(np.arange(16)), level.noise, level.values),)},
        {"levels": (replace(level, values=(10**400, *level.values[1:])),)},
    ]
    for parts in wrong:
        with pytest.raises(SfumatoError):
            MapRelease.from_json(replace(found, **parts).to_json()).total()


def test_numbers_beyond_all_floats_are_taken_or_refused():
    found = sf.spatial.release(sf.lab([[3] * 4] * 4), epsilon=1)
    assert np.isfinite(found.pruned("1e400").counts).all()
    assert sf.spatial.explain(sf.lab([[3] * 4] * 4), epsilon=1, expected="1e400").points > 0
    for holes in (5, None, "a"):
        with pytest.raises(SfumatoError):
            sf.spatial.Polygon([(0, 0), (1, 0), (0, 1)], holes=holes)
    with pytest.raises(SfumatoError):
        sf.spatial.Polygon([np.array(1), np.array(2), np.array(3)])
