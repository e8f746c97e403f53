"""Random orders and subsets: every one equally likely, ties and limits included."""

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest
from scipy import stats

from sfumato.core.errors import RangeError
from sfumato.noise.permutation import distinct, permutation
from sfumato.testing import RecordedRng, SeededRng

LEVEL = 1e-6


def uniform(counts, outcomes):
    """Whether counts of `outcomes` equally likely outcomes look so."""
    assert len(counts) <= outcomes
    seen = np.zeros(outcomes)
    seen[: len(counts)] = list(counts.values())
    expected = seen.sum() / outcomes
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), outcomes - 1) > LEVEL


def counted(drawn):
    counts = {}
    for one in drawn:
        key = tuple(one.tolist())
        counts[key] = counts.get(key, 0) + 1
    return counts


class Coarse:
    """Words of a few values only: nearly every sort meets ties, which are broken by good words."""

    def __init__(self, seed, values):
        self.rng, self.values, self.asked = SeededRng(seed), values, 0

    def words(self, count):
        self.asked += 1
        words = self.rng.words(count)
        return words % np.uint64(self.values) if self.asked % 4 else words


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_order_is_equally_likely(n):
    rng = SeededRng(n)
    counts = counted(permutation(n, rng) for _ in range(12_000))
    assert set(counts) == set(permutations(range(n)))
    assert uniform(counts, factorial(n))


@pytest.mark.parametrize("values", [1, 2, 3])
def test_ties_are_broken_evenly(values):
    rng = Coarse(values, values)
    counts = counted(permutation(4, rng) for _ in range(12_000))
    assert uniform(counts, 24)


def test_ties_take_further_words_and_only_for_those_tied():
    # keys 7 5 7 5: places 1 and 3 tie, then 0 and 2; each pair is ordered by two more words
    rng = RecordedRng([7, 5, 7, 5, 9, 8, 1, 2])
    assert permutation(4, rng).tolist() == [3, 1, 0, 2]
    assert rng.left == 0


def test_large_orders_are_permutations_without_pattern():
    order = permutation(10**5, SeededRng(1))
    assert np.array_equal(np.sort(order), np.arange(10**5))
    fixed = int((order == np.arange(10**5)).sum())
    assert fixed <= 12  # Poisson(1)
    assert abs(stats.spearmanr(order, np.arange(10**5)).statistic) < 6 / 10**2.5


def test_nothing_and_one_thing_have_one_order():
    assert permutation(0, RecordedRng([])).tolist() == []
    assert permutation(1, SeededRng(1)).tolist() == [0]


@pytest.mark.parametrize(("m", "k"), [(4, 1), (5, 2), (5, 3), (5, 4), (6, 3)])
def test_every_subset_is_equally_likely(m, k):
    rng = SeededRng(10 * m + k)
    counts = counted(distinct(m, k, rng) for _ in range(12_000))
    assert set(counts) == set(combinations(range(m), k))
    assert uniform(counts, comb(m, k))


@pytest.mark.parametrize("m", [2**60, 2**60 + 7, 2**63])
def test_ranks_reach_over_the_whole_range(m):
    drawn = distinct(m, 1000, SeededRng(5))
    assert drawn.dtype == np.int64 and (np.diff(drawn) > 0).all()
    assert drawn[0] >= 0 and int(drawn[-1]) < m
    assert stats.kstest(drawn / float(m), "uniform").pvalue > LEVEL


@pytest.mark.parametrize(("m", "k"), [(0, 0), (7, 0), (2**60, 0)])
def test_no_ranks_need_no_words(m, k):
    assert distinct(m, k, RecordedRng([])).tolist() == []


def test_all_ranks_need_no_words():
    assert distinct(9, 9, RecordedRng([])).tolist() == list(range(9))


def test_more_ranks_than_there_are_is_refused():
    with pytest.raises(RangeError, match="distinct"):
        distinct(3, 4, SeededRng(1))


@pytest.mark.parametrize("bad", [-1, 2**63 + 1, 1.0, True, None])
def test_numbers_that_count_nothing_are_refused(bad):
    with pytest.raises(RangeError, match="whole number"):
        permutation(bad, SeededRng(1))
    with pytest.raises(RangeError, match="whole number"):
        distinct(bad, 0, SeededRng(1))
    with pytest.raises(RangeError, match="whole number"):
        distinct(5, bad, SeededRng(1))
