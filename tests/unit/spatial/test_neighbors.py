"""Neighbors, record and play, and one far-away point: on every method."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit import replay
from sfumato.core.errors import SfumatoError
from sfumato.mechanisms import DiscreteLaplace, KdSplits, PrivTree
from sfumato.mechanisms.rectangles import divisible, quartered, running, within
from sfumato.relation.matrix import Boxes
from sfumato.session.histogram import Histogram
from sfumato.spatial.measured import total
from sfumato.spatial.program import METHODS

NEAR = np.random.default_rng(3).poisson(4, (16, 16))
NEAR[10:, :] = 0
FAR = NEAR.copy()
FAR[15, 15] += 1  # one point, far from all others
ROWS = [(i % 10, i % 7) for i in range(60)]
BOX = (0, 0, 16, 16)  # half of what may be along each side
# What one unit adds: where many are, far from all others, outside of the box, and nowhere.
ADDED = {"among others": (3, 3), "far": (15, 15), "outside": (31, 20), "missing": (None, 3)}
PAIRS = [("among others", "drop"), ("far", "drop"), ("missing", "clamp")]
PAIRS += [("outside", rule) for rule in ("drop", "clamp")]
LOW = {"kd_tree": {"height": 3}, "kd_hybrid": {"height": 3}}  # which are quick to draw
TRIALS, DEEP = 100, 1_000  # releases a side for the search, and as many for the proof


def opened(rows, budget=None, unit=None):
    import pandas as pd

    frame = pd.DataFrame(rows, columns=["x", "y"]).assign(who=range(len(rows)))
    return sf.Session(
        frame,
        unit=unit or sf.Unit.row(),
        schema=sf.Schema(x=sf.Integer(0, 31, nullable=True), y=sf.Integer(0, 31, nullable=True)),
        budget=budget or sf.Budget(epsilon=20),
    )


def shown(found):
    """Return all that a map holds."""
    return found.leaves, [level.values for level in found.levels], found.notes


@pytest.mark.parametrize(("added", "outside"), PAIRS)
@pytest.mark.parametrize("method", METHODS)
def test_record_and_play_finds_nothing_that_only_the_data_explains(method, added, outside):
    def program(session):
        points = session.table().points("x", "y")
        return shown(sf.spatial.release(points, box=BOX, outside=outside, method=method, epsilon=1))

    found = replay(program, opened(ROWS), opened([*ROWS, ADDED[added]]), claim=1)
    assert not found.flagged, found
    assert found.calls >= 1
    assert not found.unjudged


@pytest.mark.parametrize(
    "unit", [sf.Unit.rows(2), sf.Unit.by("who", max_rows=2), sf.Unit.row("replace")]
)
@pytest.mark.parametrize("method", METHODS)
def test_record_and_play_finds_nothing_for_other_units(method, unit):
    def program(session):
        return shown(sf.spatial.release(session.table().points("x", "y"), method=method, epsilon=1))

    changed = [*ROWS[:-1], (31, 31)] if unit == sf.Unit.row("replace") else [*ROWS, (31, 31)]
    found = replay(program, opened(ROWS, unit=unit), opened(changed, unit=unit), claim=1)
    assert not found.flagged, found


def game(method, trials):
    """Look for what tells one far-away point apart, in the shape and in the numbers of maps."""

    def release(counts):
        found = sf.spatial.release(sf.lab(counts), method=method, epsilon=1, **LOW.get(method, {}))
        (last,) = np.flatnonzero((found.blocks[:, 2:] == 16).all(axis=1))
        corner = found.blocks[last].tolist()
        return len(found), corner, found.levels[0].values[last], float(found.counts[last])

    return sf.audit.program(release, NEAR, FAR, claim=1, trials=trials)


@pytest.mark.parametrize("method", METHODS)
def test_one_far_away_point_gives_away_no_more_than_was_paid_for(method):
    """Play the outlier game: whether the far corner is cut out tells little about the point."""
    verdict = game(method, TRIALS)
    assert verdict.epsilon_lower <= 1, verdict
    assert not verdict.flagged, verdict


@pytest.mark.deep
@pytest.mark.parametrize("method", METHODS)
def test_far_away_point_stays_hidden_in_many_releases(method):
    verdict = game(method, DEEP)
    assert verdict.epsilon_lower <= 1, verdict
    assert not verdict.flagged, verdict


@pytest.mark.deep
@pytest.mark.parametrize("outside", ["drop", "clamp"])
@pytest.mark.parametrize("method", METHODS)
def test_point_outside_of_the_box_stays_hidden(method, outside):
    def release(rows):
        with opened(rows) as session:  # each anew: the same question has the same answer
            points = session.table().points("x", "y")
            found = sf.spatial.release(
                points, box=BOX, outside=outside, bins=8, method=method, epsilon=1
            )
        (last,) = np.flatnonzero((found.cells[:, 2:] == 16).all(axis=1))
        return len(found), found.blocks[last].tolist(), found.levels[0].values[last]

    verdict = sf.audit.program(release, ROWS, [*ROWS, (31, 31)], claim=1, trials=TRIALS)
    assert verdict.epsilon_lower <= 1, verdict
    assert not verdict.flagged, verdict


def test_tree_that_is_cut_by_truth_is_found(monkeypatch):
    """See the game fail: a rectangle without points is not cut, and others are."""

    def true(self, exact, rng):
        sums, rectangles, decided = running(exact), np.array([[0, 0, *self.shape]]), []
        for _ in range(self.first):
            rectangles = quartered(rectangles[divisible(rectangles)])[0]
        while (rectangles := rectangles[divisible(rectangles)]).size:
            decided.append((within(sums, rectangles) > 0).astype(np.int64))
            rectangles = quartered(rectangles[decided[-1] == 1])[0]
        return np.concatenate(decided)

    monkeypatch.setattr(PrivTree, "sample", true)
    assert game("privtree", TRIALS).flagged


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[pytest.mark.deep] * (m != "quadtree")) for m in METHODS]
)
def test_numbers_without_noise_are_found(method, monkeypatch):
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, exact, rng: exact)
    assert game(method, TRIALS).flagged


def test_shape_that_follows_the_data_is_found(monkeypatch):
    """See record and play fail: how many points there are was read, and not bought."""
    read = [50_000.0, 50.0]

    def peeked(plane, spending):
        return total(plane, spending)[0], read.pop()

    monkeypatch.setattr("sfumato.spatial.uniform_grid.total", peeked)

    def program(session):
        return len(sf.spatial.release(session.table().points("x", "y"), method="grid", epsilon=1))

    assert replay(program, opened(ROWS), opened([*ROWS, (31, 31)])).flagged


@pytest.mark.parametrize("method", ["privtree", "auto", "kd_tree", "adaptive_grid"])
def test_empty_region_is_cut_by_luck_and_not_by_truth(method):
    """An empty table gives trees of many shapes."""
    sizes = set()
    for _ in range(40):
        found = sf.spatial.release(sf.lab(np.zeros((16, 16), int)), method=method, epsilon=1)
        sizes.add(found.leaves)
    assert len(sizes) > 1


def test_rectangles_move_no_further_than_their_norms_say():
    rng = np.random.default_rng(8)
    for _ in range(200):
        shape = tuple(rng.integers(1, 6, 2).tolist())
        ends = np.sort(
            rng.integers(0, 100, (rng.integers(1, 6), 2, 2)) % (np.array(shape)[:, None] + 1)
        )
        ends = ends[(ends[..., 0] < ends[..., 1]).all(axis=1)]
        if not len(ends):
            continue
        matrix = Boxes.of(shape, np.column_stack([ends[:, :, 0], ends[:, :, 1]]))
        asked = Histogram(("x", "y"), shape).weighted(matrix)
        counts = rng.integers(0, 50, shape)
        more = counts.copy()
        more[tuple(rng.integers(0, shape))] += 1
        moved = np.abs(matrix.apply(more.ravel()) - matrix.apply(counts.ravel()))
        said = asked.sensitivity(sf.Unit.row())
        assert moved.sum() <= said.l1
        assert (moved**2).sum() <= said.l2_squared
        assert (moved > 0).sum() <= said.l0
        exact = [more[a:c, b:d].sum() for a, b, c, d in matrix.array.tolist()]
        assert matrix.apply(more.ravel()).tolist() == exact


def test_mechanisms_of_another_plane_are_refused_before_anything_is_read():
    session = opened(ROWS)
    table = session.table()
    query = table.group_by("x", "y").count().queries[0]
    one = table.group_by("x").count().queries[0]
    for mechanism in (PrivTree((16, 32), 1, 2), KdSplits((16, 32), 2, 1)):
        for asked in (query, one):
            with pytest.raises(SfumatoError, match="plane"):
                table.measure(asked, mechanism)
    assert session.remaining.epsilon == 20
    table.measure(query, PrivTree((32, 32), 10, 2))
    assert session.remaining.epsilon < 20


def test_mechanisms_take_any_counts_without_failing():
    for counts in ([-5] * 8, [2**62] * 8, [0] * 8, [2**63 - 1, -(2**63), *[1] * 6]):
        PrivTree((4, 2), 1, 2)(counts)
        PrivTree((4, 2), 1, 2, 5, 1)(counts)
        KdSplits((4, 2), 3, 1)(counts)


@pytest.mark.parametrize(
    "build",
    [
        lambda: PrivTree((1, 1), 1, 1),
        lambda: PrivTree((4, 4), 0, 1),
        lambda: PrivTree((4, 4), 1, 0),
        lambda: PrivTree((4, 4), 1, 1, 0, 2),
        lambda: PrivTree((4, 4), 1, 1, first=-1),
        lambda: PrivTree((4, "4"), 1, 1),
        lambda: PrivTree((2**12, 2**12), 1, 1),
        lambda: KdSplits((4, 4), 0, 1),
        lambda: KdSplits((4, 4), 99, 1),
        lambda: KdSplits((4, 4), 1, 0),
        lambda: PrivTree((4, 4), 1, 1)([1, 2, 3]),
        lambda: KdSplits(7, 1, 1),
    ],
)
def test_mechanisms_refuse_what_makes_no_sense(build):
    with pytest.raises(SfumatoError):
        build()


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "0.5", 1, 3, 20])
def test_tree_is_calibrated_to_its_price_and_not_beyond(epsilon):
    one = sf.Sensitivity(l1=2)
    for ratio in ("0.25", "0.69", "1.386"):
        made = PrivTree.calibrate(one, shape=(64, 64), epsilon=epsilon, ratio=ratio)
        cost = made.loss(one).epsilon
        assert cost <= sf.Budget(epsilon).epsilon
        assert float(cost) > 0.5 * float(sf.Budget(epsilon).epsilon)
    cuts = KdSplits.calibrate(one, shape=(64, 64), height=5, epsilon=epsilon)
    assert (
        float(sf.accounting.epsilon(cuts.loss(one), 0)) <= float(sf.Budget(epsilon).epsilon) + 1e-12
    )
