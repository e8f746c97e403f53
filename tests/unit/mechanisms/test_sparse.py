"""Sparse histograms: the law of dense noise without the dense work."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato import accounting
from sfumato.core.errors import CostError, DataError, InputError, RangeError
from sfumato.noise import Laplace, draw
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
ONE = S(l0=1, linf=1)
LEVEL = 1e-6


def dense(scale, threshold, domain, cells, rng, *, two_sided=False):
    """Noise on every cell, then the threshold: what the shortcut must equal."""
    counts = np.zeros(domain, np.int64)
    counts[list(cells)] = list(cells.values())
    noisy = counts + draw(Laplace(Fraction(scale)), domain, rng)
    kept = (noisy >= threshold) | (two_sided & (noisy <= -threshold))
    return dict(zip(np.flatnonzero(kept).tolist(), noisy[kept].tolist(), strict=True))


def alike(xs, ys):
    """Whether two samples of whole numbers look like one law (chi-square, rare values pooled)."""
    values = sorted({*xs, *ys})
    table = np.array([[list(side).count(v) for v in values] for side in (xs, ys)])
    common = table.sum(axis=0) >= 20
    pooled = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    pooled = pooled[:, pooled.sum(axis=0) > 0]
    return pooled.shape[1] < 2 or stats.chi2_contingency(pooled).pvalue > LEVEL


@pytest.mark.parametrize("two_sided", [False, True])
def test_sparse_and_dense_releases_agree(two_sided):
    filled, domain, repeats = {3: 6, 4: 2, 29: -5, 0: 4}, 30, 300
    mechanism = M.SparseHistogram(2, 4, domain, two_sided)
    exact, rng = mechanism.exact(filled), SeededRng(1)
    shortcut = [dict(mechanism.sample(exact, rng)) for _ in range(repeats)]
    full = [dense(2, 4, domain, filled, rng, two_sided=two_sided) for _ in range(repeats)]
    for summary in (
        len,
        lambda out: sum(out.values()),
        lambda out: out.get(3, 0),
        lambda out: out.get(29, 0),
        lambda out: sum(value for cell, value in out.items() if cell not in filled),
        lambda out: max(out, default=-1),
        lambda out: min(out, default=-1),
    ):
        assert alike([summary(out) for out in shortcut], [summary(out) for out in full])


def test_every_empty_cell_passes_equally_often():
    filled = dict.fromkeys((0, 2, 3, 7), 10**6)
    mechanism = M.SparseHistogram(1, 1, 10)
    exact, rng, repeats = mechanism.exact(filled), SeededRng(2), 600
    seen = np.zeros(10)
    for _ in range(repeats):
        cells = [cell for cell, _ in mechanism.sample(exact, rng)]
        assert cells == sorted(set(cells)) and set(filled) <= set(cells)
        seen[cells] += 1
    empty = np.delete(seen, list(filled))
    expected = repeats * exp(-1) / (1 + exp(-1))
    assert stats.chi2.sf(((empty - expected) ** 2 / expected).sum(), 6) > LEVEL


@pytest.mark.parametrize("domain", [10**6, 2**60])
def test_empty_cells_of_large_domains_pass_as_expected(domain):
    mechanism = M.SparseHistogram.calibrate(ONE, domain=domain, expected=50, epsilon="1/2")
    assert 50 * exp(-0.5) < mechanism.expected <= 50
    filled = dict.fromkeys((0, 1, 5, domain // 2, domain - 1), 10**4)
    exact, rng = mechanism.exact(filled), SeededRng(3)
    empty, values = [], []
    repeats = 12
    for _ in range(repeats):
        out = dict(mechanism.sample(exact, rng))
        assert out.keys() >= filled.keys()
        risen = {cell: value for cell, value in out.items() if cell not in filled}
        empty += risen
        values += risen.values()
    mean = float(mechanism.expected) * repeats
    assert abs(len(empty) - mean) < 6 * mean**0.5
    assert stats.kstest(np.array(empty) / domain, "uniform").pvalue > LEVEL
    beyond = np.array(values) - mechanism.threshold
    assert beyond.min() >= 0
    a = exp(-0.5)
    assert abs(beyond.mean() - a / (1 - a)) < 6 * (a**0.5 / (1 - a)) / len(beyond) ** 0.5


def test_zero_counts_are_empty_cells():
    mechanism = M.SparseHistogram(1, 2, 5)
    assert mechanism.exact({4: 0, 1: 3, np.int64(0): np.int32(2)}) == ((0, 2), (1, 3))


def test_a_domain_may_be_filled_altogether():
    mechanism = M.SparseHistogram(1, 40, 3)
    assert mechanism({0: 100, 1: 1, 2: 100}).keys() == {0, 2}
    assert M.SparseHistogram(1, 60, 1)({}) == {}


def test_negative_values_are_kept_when_asked_for():
    assert M.SparseHistogram(1, 60, 5)({2: -1000}) == {}
    assert M.SparseHistogram(1, 60, 5, two_sided=True)({2: -1000})[2] < -900
    both = M.SparseHistogram(1, 3, 1000, two_sided=True)
    assert both.expected == pytest.approx(2 * float(M.SparseHistogram(1, 3, 1000).expected))
    values = [value for _ in range(30) for value in both({}).values()]
    assert min(values) <= -3 and max(values) >= 3 and not {-2, -1, 0, 1, 2} & set(values)


def test_values_saturate_at_64_bits():
    mechanism = M.SparseHistogram(2**40, 2**62, 4)
    assert mechanism({1: 2**63 - 1})[1] <= 2**63 - 1


def test_loss_is_that_of_noise_on_every_cell():
    mechanism = M.SparseHistogram(2, 90, 10**9)
    for s in (ONE, S(l0=4, linf=3), S(l1=2, linf=1, neighbors="replace")):
        assert mechanism.loss(s) == M.DiscreteLaplace(2).loss(s)


@pytest.mark.parametrize("scale", ["1/4", "1", "17/3", "1000"])
@pytest.mark.parametrize("two_sided", [False, True])
def test_calibrated_thresholds_are_the_least_that_keep_the_promise(scale, two_sided):
    epsilon = 1 / Fraction(scale)
    made = M.SparseHistogram.calibrate(
        ONE, domain=10**9, expected="5/2", epsilon=epsilon, two_sided=two_sided
    )
    assert made.expected <= Fraction(5, 2)
    one_less = M.SparseHistogram(made.scale, made.threshold - 1, 10**9, two_sided)
    assert made.threshold > 1 and one_less.expected > Fraction(5, 2)
    assert accounting.epsilon(made.loss(ONE)) == epsilon


def test_thresholds_are_stated_or_found():
    made = M.SparseHistogram.calibrate(ONE, domain=10**6, threshold=9, epsilon=1)
    assert (made.threshold, made.scale) == (9, 1)
    assert M.SparseHistogram.calibrate(ONE, domain=5, expected=100, epsilon=1).threshold == 1
    by_rho = M.SparseHistogram.calibrate(ONE, domain=10**6, expected=1, rho="1/8")
    assert accounting.rho(by_rho.loss(ONE)) <= Fraction(1, 8)
    for both in ({}, {"threshold": 3, "expected": 3}):
        with pytest.raises(CostError, match="one of them"):
            M.SparseHistogram.calibrate(ONE, domain=10**6, epsilon=1, **both)


def test_hopeless_tails_are_enclosed_without_being_computed():
    mechanism = M.SparseHistogram("1/1000", 2**62, 2**60)
    assert mechanism._passing(64) == (0, 1)
    assert mechanism({}) == {}


def test_release_lists_cells_with_intervals_before_selection():
    mechanism = M.SparseHistogram(1, 60, 10**12)  # an empty cell passes once in 10^13 draws
    release = mechanism.release({7: 1000, 10**11: 400}, ONE, name="visits", column="place")
    assert release.keys == (("place", (7, 10**11)),)
    measure = release.measures[0]
    assert measure.covers == "noise only, before selection"
    assert all(high - low == 6 for low, high in zip(measure.low, measure.high, strict=True))
    assert "from a noisy value of 60 on" in release.notes[0]
    assert len(mechanism.release({}, ONE)) == 0
    assert mechanism.cells(()) == (0,)  # how many come out is not known before
    with pytest.raises(InputError, match="column="):
        mechanism.release({7: 1000}, ONE, keys={"place": [7]})


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0},
        {"threshold": 1.5},
        {"threshold": 2**62 + 1},
        {"domain": 0},
        {"domain": 2**60 + 1},
        {"domain": True},
        {"threshold": 1, "domain": 2**60},  # nearly all cells would be listed
    ],
)
def test_parameters_that_mean_nothing_are_refused(options):
    with pytest.raises(RangeError):
        M.SparseHistogram(**{"scale": 1, "threshold": 5, "domain": 100, **options})


def test_sides_are_yes_or_no():
    with pytest.raises(InputError, match="two_sided"):
        M.SparseHistogram(1, 5, 100, "yes")


@pytest.mark.parametrize(
    "values", [[1, 2], {-1: 3}, {100: 3}, {"a": 3}, {1.0: 3}, {1: 0.5}, {1: 2**63}, {1: None}]
)
def test_cells_outside_the_domain_and_other_data_are_refused(values):
    with pytest.raises(DataError):
        M.SparseHistogram(1, 5, 100)(values)


def test_both_ends_of_64_bits_are_as_likely_for_empty_cells_as_for_filled():
    wide = M.SparseHistogram(2**60, 1, 40_000, two_sided=True)
    values = dict(wide.sample(wide.exact({}), SeededRng(4))).values()
    assert (min(values), max(values)) == (-(2**63), 2**63 - 1)
