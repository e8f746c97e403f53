"""Intervals of ranges: tails, lattices, bins, and what is given as many."""

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, RangeError, SensitivityError, SfumatoError
from sfumato.ranges.measured import Measured, fourth, variance
from sfumato.ranges.norms import Norms
from sfumato.ranges.solution import Solution, model, reach, widths
from sfumato.ranges.tail import chernoff, factor, median_reach, unweighted
from sfumato.ranges.tree import Tree
from sfumato.relation.matrix import Blocks, Halves
from sfumato.release import inversion, law
from sfumato.release.error import Noise


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.9999, 1 - 1e-9])
def test_factors_are_right_however_sure(confidence):
    alpha = 1 - confidence
    one, two, normal = factor(confidence, np.array([3.0, 1.5, 0.0]))
    assert exp(-one * sqrt(2)) == pytest.approx(alpha, rel=1e-6)
    # Two terms of scale 1: the chance of more than x is exp(-x)(1 + x/2), of variance 4.
    assert exp(-2 * two) * (1 + two) == pytest.approx(alpha, rel=0.06)
    broad = Noise("gaussian", Fraction(100))
    widest = max(log(1 / alpha) / sqrt(2), normal) * 100 + 0.5
    (found,) = unweighted([broad], np.array([10_000.0]), confidence)
    assert widest * (1 - 1e-6) <= found <= widest + 0.5  # one number ends at a whole one


AMPLE = sf.Budget(epsilon=10**6)
ALPHAS = (0.5, 0.05, 0.01, 1e-3, 1e-5, 1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_one_number_is_within_what_its_variance_allows(kind, alpha):
    """Narrow noise lies on whole numbers, of which a continuous quantile may miss the next."""
    for tenths in range(1, 40):
        noise = Noise(kind, Fraction(tenths, 10))
        width = unweighted([noise], np.array([variance(noise)]), 1 - alpha)[0]
        outside = 1 - law.weights(noise, int(width)).sum()
        assert outside <= alpha * (1 + 1e-6) + 1e-12, (noise, width)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_bound_of_a_sum_is_above_its_quantile_and_near_it(alpha):
    rng = np.random.default_rng(5)
    for scale in ("1/8", "1/4", "1/2", "1"):
        for kinds in (("laplace",), ("gaussian",), ("laplace", "gaussian")):
            noises = [Noise(kind, Fraction(scale)) for kind in kinds]
            weights = rng.integers(1, 5, (len(noises), 6)) / 4
            squares = (weights**2).sum(axis=1, keepdims=True)
            largest = weights.max(axis=1, keepdims=True)
            parts = tuple(
                (noise, w, 1)
                for noise, row in zip(noises, weights.tolist(), strict=True)
                for w in row
            )
            (bound,) = chernoff(noises, squares, largest, alpha)
            assert bound >= inversion.quantile(parts, alpha) * 0.99 - 1e-2 * bound
            assert bound <= 2 * inversion.reach(parts, alpha)


def test_bound_of_many_sums_is_computed_a_part_at_a_time():
    import tracemalloc

    rng, levels, sums = np.random.default_rng(3), 8, 20_000
    noises = [Noise("laplace", Fraction(1, 3))] * levels
    largest = rng.integers(1, 50, (levels, sums)) / 50
    squares = largest**2 * rng.integers(1, 9, (levels, sums))
    tracemalloc.start()
    found = chernoff(noises, squares, largest, 0.05)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 2**20  # of all sums at once, one level has 10 MB and all have 80
    for i in (0, 8191, 8192, 19_999):
        (alone,) = chernoff(noises, squares[:, [i]], largest[:, [i]], 0.05)
        assert found[i] == alone


def test_sums_that_weigh_noise_alike_are_bounded_once(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "sfumato.ranges.tail.log_moment",
        lambda noise, slope: (asked.append(slope.shape[1]), inversion.log_moment(noise, slope))[1],
    )
    levels = [Blocks(2**10, 2**10), *(Halves(2**10, 2**k) for k in range(1, 11))]
    noises = [Noise("laplace", Fraction(1, 2))] * len(levels)
    cells = np.arange(2**10)
    found = reach(model(levels, noises), noises, cells, cells + 1, 0.95)
    assert (found == found[0]).all()
    assert max(asked) <= 4


def test_bound_of_nothing_is_nothing():
    nothing = np.zeros((1, 2))
    assert chernoff([Noise("laplace", Fraction(1))], nothing, nothing, 0.05).tolist() == [0, 0]


@pytest.mark.parametrize(("epsilon", "most"), [(8, 4), (16, 0)])
def test_narrow_noise_on_many_cells_does_not_add_up_step_by_step(epsilon, most):
    """Of 2,000 cells nearly all are exact: half of each is no bound that anybody can use."""
    found = sf.ranges.release(sf.lab(np.zeros(4096, int)), method="identity", epsilon=epsilon)
    count = found.count(0, 1999)
    assert count.high - count.low <= 2 * most


@pytest.mark.parametrize("epsilon", [100, 300, 700])
def test_noise_that_is_never_there_is_not_taken_for_normal(epsilon):
    noise = Noise("laplace", Fraction(1, epsilon))
    assert fourth(noise) == pytest.approx(variance(noise))
    gaussian = Noise("gaussian", Fraction(1, epsilon))
    assert fourth(gaussian) == pytest.approx(variance(gaussian))
    lab = sf.lab([1, 1, 1, 1], budget=AMPLE)
    total = sf.ranges.release(lab, method="identity", epsilon=epsilon).total()
    assert (total.low, total.value, total.high) == (4, 4, 4)


def test_shares_of_many_cells_go_by_standard_deviations():
    counts = np.bincount(np.random.default_rng(0).integers(0, 20_000, 1000), minlength=20_000)
    found = sf.ranges.release(sf.lab(counts), method="identity", epsilon=5)
    spread = sqrt(20_000 * variance(Noise("laplace", Fraction(1, 5))))
    normal = 1.96 * spread / 2 / 1000  # of both halves, each half of the whole
    assert 0.9 * normal < found.cdf(9999).halfwidth < 1.2 * normal  # the total is noisy too


def test_shares_hold_where_noise_is_whole_steps():
    """Here each half is exact in most releases, and their sum is not."""
    counts = np.random.default_rng(1).poisson(3, 64)
    stops, runs = np.arange(0, 64, 8), 100
    true = np.cumsum(counts)[stops] / counts.sum()
    missed = 0
    for _ in range(runs):
        found = sf.ranges.release(sf.lab(counts), method="identity", epsilon=6).cdf(stops)
        missed += int(((found.low > true + 1e-12) | (found.high < true - 1e-12)).sum())
    assert missed <= 0.06 * runs * len(stops)


def test_asked_in_an_array_an_interval_is_no_narrower():
    blocks = [Blocks(2**12, 1), Blocks(2**12, 16), Blocks(2**12, 256)]
    noises = [Noise("laplace", Fraction(3))] * 3
    found = model(blocks, noises)
    for confidence in (0.5, 0.8, 0.9, 0.95):
        few = reach(found, noises, np.array([37]), np.array([4000]), confidence)
        many = reach(found, noises, np.full(2**15, 37), np.full(2**15, 4000), confidence)
        assert many[0] >= few[0]


def test_of_single_cells_an_interval_is_the_same_alone_and_in_an_array():
    """Their norms need no weights, however many ranges are asked for."""
    many = sf.ranges.release(sf.lab(np.zeros(20_000, int)), method="identity", epsilon=5)
    alone, listed = many.count(0, 19_999), many.count([0] * 4000, [19_999] * 4000)
    assert set(listed.halfwidth) == {alone.halfwidth}
    cells = sf.ranges.release(sf.lab(np.zeros(8200, int)), method="identity", epsilon=1)
    (measure,) = cells.table().measures
    widths = {high - low for low, high in zip(measure.low, measure.high, strict=True)}
    assert widths == {2 * cells.count(5, 5).halfwidth}


def test_of_buckets_the_norms_are_those_of_their_weights():
    edges = np.array([0, 3, 4, 9, 11, 20])
    (lows, highs) = np.array([(a, b) for a in range(20) for b in range(a, 21)]).T
    found = Tree([edges], [2.0]).norms(lows, highs)
    cells = np.arange(20)
    inside = (cells >= lows[:, None]) & (cells < highs[:, None])
    weights = np.add.reduceat(inside, edges[:-1], axis=1) / np.diff(edges)
    for norm, expected in (
        (found.sums, weights.sum(axis=1)),
        (found.squares, (weights**2).sum(axis=1)),
        (found.fourths, (weights**4).sum(axis=1)),
        (found.largest, weights.max(axis=1)),
    ):
        np.testing.assert_allclose(norm, expected[None], atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-5, 1e-6, 1e-9])
@pytest.mark.parametrize("scale", ["1/2", "1", "20"])
def test_far_out_one_large_term_among_many_is_not_smoothed_away(scale, alpha):
    """By its kurtosis such a sum is nearly normal; its tail is that of the large term."""
    noise = Noise("laplace", Fraction(scale))
    weights = np.append(np.full(400, 0.05), 0.35)
    parts = ((noise, 0.05, 400), (noise, 0.35, 1))
    norms = Norms(*(np.array([[(weights**k).sum()]]) for k in (1, 2, 4)), np.array([[0.35]]))
    spread = norms.squares[0] * variance(noise)
    (width,) = widths(norms, spread, [noise], 1 - alpha, np.zeros(1, np.bool_))
    assert inversion.quantile(parts, alpha) * 0.99 <= width <= inversion.reach(parts, alpha) * 1.5


def law_of(noise, rng, size):
    scale = float(noise.scale)
    if noise.kind == "laplace":
        p = 1 - np.exp(-1 / scale)
        return rng.geometric(p, size) - rng.geometric(p, size)
    k = np.arange(-40, 41)
    chances = np.exp(-(k**2) / (2 * scale**2))
    return rng.choice(k, size, p=chances / chances.sum())


NARROW = [
    (kind, scale)
    for kind, scales in (("laplace", ("1/3", "1/2", "1")), ("gaussian", ("1/3", "1/2", "1", "2")))
    for scale in scales
]


@pytest.mark.parametrize(("kind", "scale"), NARROW)
@pytest.mark.parametrize("shape", ["tree", "wavelet"])
def test_intervals_hold_where_noise_is_about_one_count(kind, scale, shape):
    rng, cells, times = np.random.default_rng(7), 5, 20_000
    strategies = {
        "tree": [Blocks(cells, 1), Blocks(cells, 2), Blocks(cells, 5)],
        "wavelet": [Blocks(cells, cells), Halves(cells, 2), Halves(cells, 4), Halves(cells, 8)],
    }[shape]
    noises = [Noise(kind, Fraction(scale))] * len(strategies)
    lows, highs = np.array([(a, b) for a in range(cells) for b in range(a + 1, cells + 1)]).T
    weights = []
    for i, matrix in enumerate(strategies):
        for row in range(matrix.rows):
            measured = tuple(
                Measured(m, n, tuple(int(j == i and r == row) * 2**20 for r in range(m.rows)))
                for j, (m, n) in enumerate(zip(strategies, noises, strict=True))
            )
            weights.append(Solution(measured).sums(lows, highs) / 2**20)
    drawn = law_of(noises[0], rng, (len(weights), times))
    errors = np.abs(np.array(weights).T @ drawn)
    for confidence in (0.8, 0.95):
        width = reach(model(strategies, noises), noises, lows, highs, confidence)
        held = (errors <= width[:, None] + 1e-9).mean(axis=1)
        assert held.min() > confidence - 0.012  # of 20,000 draws: four deviations


def test_cumulants_of_narrow_gaussian_noise_are_those_of_its_law():
    assert fourth(Noise("gaussian", Fraction(2))) == pytest.approx(0, abs=1e-9)
    assert fourth(Noise("gaussian", 50)) == 0
    k, scale = np.arange(-9, 10), 0.4
    chances = np.exp(-(k**2) / (2 * scale**2))
    chances /= chances.sum()
    exact = (chances * k**4).sum() - 3 * (chances * k**2).sum() ** 2
    assert fourth(Noise("gaussian", Fraction(2, 5))) == pytest.approx(exact, rel=1e-6)


def test_a_median_of_few_sums_is_wide_and_of_many_by_rank():
    noise = Noise("laplace", Fraction(1))
    sums = np.abs(np.random.default_rng(0).normal(0, 100, 20_000))
    assert median_reach(sums, 1, noise, 0.05) == pytest.approx(196, rel=0.05)
    assert median_reach(sums, 5, noise, 0.05) < 120
    assert median_reach(np.array([10.0]), 1, noise, 0.05) > 100
    assert median_reach(np.zeros(1000), 1, noise, 0.05) >= 3  # what noise reaches by itself


def session(**columns):
    frame = pd.DataFrame({name: np.full(1000, value) for name, (value, *_) in columns.items()})
    schema = sf.Schema(**{name: kind for name, (_, kind) in columns.items()})
    budget = sf.Budget(epsilon=10**6)
    return sf.Session(frame, unit=sf.Unit.row(), schema=schema, budget=budget).table()


def test_quantiles_of_bins_hold_the_whole_bin():
    table = session(x=(37, sf.Integer(0, 100)), y=(-37, sf.Integer(-37, 100)))
    found = sf.ranges.release(table.values("x", bins=4), epsilon=100)
    median = found.quantile("0.5")
    assert (median.value, median.low, median.high) == (49, 25, 49)
    found = sf.ranges.release(table.values("y", bins=10), method="identity", epsilon=1000)
    median = found.quantile([0, 0.5, 1])
    assert found.line.value(0) < -37  # the first bin begins below the least value
    assert median.low.tolist()[:2] == [-37, -37]
    assert median.value.tolist()[0] == -37 < median.value.tolist()[1] < -20
    assert found.count(-37, 100).value == pytest.approx(1000, abs=1)
    assert found.count(-1000, 1000).value == found.count(-37, 100).value
    assert found.count(-1000, -38).value == 0
    last = sf.ranges.release(table.values("x", bins=3), method="identity", epsilon=1000)
    assert last.line.last(last.line.size - 1) == 100


@pytest.mark.parametrize("rule", ["unbiased", "nonnegative"])
def test_the_lowest_quantile_is_that_of_the_first_row(rule):
    counts = [0] * 20 + [1000] * 10 + [0] * 20
    found = sf.ranges.release(sf.lab(counts), method="identity", epsilon=1)
    found = found.nonnegative() if rule == "nonnegative" else found
    lowest, highest = (found.quantile(q, confidence="0.99999") for q in (0, 1))
    assert lowest.low == 0 < lowest.high <= 20  # empty cells in front might hold somebody
    assert 29 <= highest.low < highest.high == 49
    assert lowest.low <= lowest.value <= lowest.high


def line_of(counts, epsilon=40, **options):
    """Return a line without noise to speak of: it misses once in 10^17 cells."""
    lab = sf.lab(counts, budget=AMPLE)
    return sf.ranges.release(lab, method="identity", epsilon=epsilon, **options)


@pytest.mark.parametrize("rule", ["unbiased", "nonnegative", "whole"])
def test_a_share_that_is_reached_exactly_is_reached(rule):
    """In floats 0.1·9 − 0.9·1 is below 0, and 18 of 99 such shares are like it."""
    found = line_of([9, 1])
    found = found if rule == "unbiased" else found.nonnegative(whole=rule == "whole")
    assert repr(found.quantile(0.9)).startswith("0 [0, 0]")
    for total in (10, 49, 100, 1000):
        for below in range(1, total, 1 + total // 50):
            found = line_of([below, total - below])
            share = Fraction(below, total)
            at = found.quantile([share, share + Fraction(1, 10**9), share - Fraction(1, 10**9)])
            assert at.value.tolist() == at.low.tolist() == at.high.tolist() == [0, 1, 0]


def test_shares_are_as_exact_as_they_were_asked_for():
    found = line_of([333_333_333_333, 666_666_666_667])
    shares = ["0.333333333333", "0.33333333333300000001", "0.33333333333299999999"]
    assert found.quantile(shares).value.tolist() == [0, 1, 0]


@pytest.mark.parametrize("method", ["hierarchical", "wavelet"])
def test_no_interval_misses_a_share_by_rounding(method):
    counts = [7, 3, 11, 0, 9, 30, 0, 40]
    found = sf.ranges.release(sf.lab(counts, budget=AMPLE), method=method, epsilon=10**4)
    reached = np.cumsum(counts)
    shares = [Fraction(int(part), 100) for part in reached]
    at = found.quantile(shares)
    exact = np.searchsorted(reached, reached)
    assert (at.low <= exact).all() and (at.high >= exact).all()
    assert at.value.tolist() == exact.tolist()
    lowest = found.quantile(0)
    assert (lowest.low, lowest.value, lowest.high) == (0, 0, 0)


def test_the_lowest_quantile_stays_below_the_highest():
    for _ in range(5):
        found = sf.ranges.release(sf.lab([0] * 30), epsilon=1)
        assert found.quantile(0).value <= found.quantile(1).value
    exact = sf.ranges.release(sf.lab([0, 0, 5, 7, 0], budget=AMPLE), epsilon=10**4)
    lowest = exact.quantile(0)
    assert (lowest.value, lowest.low, lowest.high) == (2, 2, 2)


MANY = [list, tuple, np.array, pd.Series, pd.Index, lambda given: range(given[0], given[-1] + 1)]


@pytest.mark.parametrize("make", MANY)
def test_any_list_is_many(make):
    found = sf.ranges.release(sf.lab([10, 20, 30, 40]), method="identity", epsilon=1000)
    assert np.rint(found.count(make([0, 1, 2]), make([0, 1, 2])).value).tolist() == [10, 20, 30]
    assert np.rint(found.count(0, make([0, 1, 2])).value).tolist() == [10, 30, 60]
    assert np.rint(found.count(make([0, 1]), 1).value).tolist() == [30, 20]
    assert found.cdf(make([0, 3])).value.shape in {(2,), (4,)}
    assert found.quantile(make([0, 1])).value.tolist() == [0, 3]


def test_what_is_no_list_of_values_is_refused():
    found = sf.ranges.release(sf.lab([10, 20, 30, 40]), method="identity", epsilon=1000)
    for low, high in (([0, 1], [1, 2, 3]), ({0, 1}, 3), (np.zeros((2, 2)), 3), (None, 3)):
        with pytest.raises(InputError):
            found.count(low, high)
    assert found.count([], []).value.shape == found.quantile([]).value.shape == (0,)
    with pytest.raises(SfumatoError):
        found.quantile("half")


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}])
def test_a_column_that_nobody_can_move_is_refused(price):
    unit = sf.Unit.row(neighbors="replace")
    lab = sf.lab([5], unit=unit, budget=sf.Budget(epsilon=10, delta="1e-6"))
    with pytest.raises(SensitivityError):
        sf.ranges.release(lab, method="identity", **price)
    assert lab.remaining.epsilon == 10


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("hierarchical", {"fanout": 2.5}),
        ("hierarchical", {"fanout": "ab"}),
        ("hierarchical", {"weights": None}),
        ("hierarchical", {"weights": {1: 2}}),
        ("hierarchical", {"weights": [1, "a", 2], "fanout": 3}),
        ("wavelet", {"weights": None}),
        ("wavelet", {"weights": np.ones(3)}),
    ],
)
def test_options_that_are_none_are_refused_before_the_charge(method, options):
    lab = sf.lab([5] * 9)
    with pytest.raises(InputError):
        sf.ranges.release(lab, method=method, epsilon=1, **options)
    assert lab.remaining.epsilon == 1000


@pytest.mark.parametrize(("method", "said"), [("dawa", "inside a bucket"), ("fourier", "swings")])
def test_what_an_interval_takes_for_granted_is_said_beside_it(method, said):
    found = sf.ranges.release(sf.lab([3] * 64), method=method, epsilon=1)
    assert "95 %, if" in repr(found.count(3, 5)) and said in repr(found.count(3, 5))
    assert said in found.count([3], [5]).covers


def test_a_partition_does_not_pass_for_counts():
    from sfumato.mechanisms import BucketPartition
    from sfumato.session.asked import part_in_words

    query = session(x=(37, sf.Integer(0, 100))).values("x").question()
    assert part_in_words(query)[0] == "value is the number of rows"
    assert part_in_words(query, BucketPartition(1))[0].startswith("value is an edge of a bucket")


def test_weights_of_many_ranges_are_held_a_slice_at_a_time():
    import tracemalloc

    cells = 2000
    tree = model([Blocks(cells, 1), Blocks(cells, 40)], [Noise("laplace", Fraction(3))] * 2)
    lows, highs = np.zeros(4 * cells, np.int64), np.tile(np.arange(1, cells + 1), 4)
    tracemalloc.start()
    tree.norms(lows, highs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20  # all weights at once are 130 MB, and several copies of them


@pytest.mark.parametrize("almost", ["0.99999999999999999999", 1 - Fraction(1, 10**13)])
def test_confidences_that_no_float_tells_from_1_are_refused_before_the_charge(almost):
    lab = sf.lab([5, 9, 0, 200], budget=sf.Budget(epsilon=1, delta="1e-6"))
    for method in ("auto", "identity", "dawa"):
        with pytest.raises(RangeError, match="10\\^-12"):
            sf.ranges.release(lab, method=method, epsilon=1, confidence=almost)
    assert lab.remaining.epsilon == 1
    found = sf.ranges.release(lab, epsilon=1)
    for ask in (found.count, found.total, found.cdf, found.quantile):
        ends = {found.count: (1, 2), found.cdf: (2,), found.quantile: ("0.5",)}.get(ask, ())
        with pytest.raises(RangeError, match="10\\^-12"):
            ask(*ends, confidence=almost)
    plane = sf.lab([[3, 4], [5, 6]])
    with pytest.raises(RangeError, match="10\\^-12"):
        sf.spatial.release(plane, method="grid", epsilon=1, confidence=almost)
    nearly = 1 - Fraction(1, 10**12)
    assert found.total(confidence=nearly).halfwidth > 2 * found.total().halfwidth


@pytest.mark.parametrize("bins", [0, -1, 1.5, "a", True, None])
def test_charts_have_a_whole_number_of_bins(bins):
    with pytest.raises(InputError, match="bins="):
        sf.ranges.release(sf.lab([5, 9, 0, 200]), epsilon=1).chart(bins)


@pytest.mark.parametrize("edges", [None, 3, {1: 2, 3: 4}, {1, 2}, np.zeros((2, 2))])
def test_edges_are_a_list(edges):
    with pytest.raises(InputError):
        sf.ranges.release(sf.lab([5, 9, 0, 200]), epsilon=1).histogram(edges)
