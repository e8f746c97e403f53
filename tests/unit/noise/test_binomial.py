"""Binomial draws: their law, their bounds and what is refused.

Draws are from fixed seeds, so that a pass is a pass for ever.
"""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from sfumato.core.errors import NumberError, RangeError
from sfumato.core.interval import Interval
from sfumato.noise import binomial as module
from sfumato.noise.binomial import binomial, binomials
from sfumato.noise.factorial import bernoulli, log_decline
from sfumato.noise.uniform import ratio, scaled_exp
from sfumato.testing import RecordedRng, SeededRng

LEVEL = 1e-6


def fits(drawn, weights):
    """Whether draws look like a law on 0, 1, 2, …, rare values pooled."""
    drawn = np.asarray(drawn, np.int64)
    assert drawn.min() >= 0 and drawn.max() < len(weights)
    seen = np.bincount(drawn, minlength=len(weights))
    expected = np.array([float(w) for w in weights]) * drawn.size
    common = expected >= 10
    seen = np.append(seen[common], seen[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    if expected.size < 2:
        return True
    statistic = ((seen - expected) ** 2 / np.maximum(expected, 1)).sum()
    return stats.chi2.sf(statistic, expected.size - 1) > LEVEL


def law(n, p):
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def loose(value, width=3):
    """An enclosure that never gets tight: its ends stay some units apart."""

    def enclose(length):
        return int(value * 2**length) - width, int(value * 2**length) + width

    return enclose


@pytest.mark.parametrize("p", ["1/3", "1/2", "9/10", "1/100", "5/8", "99/100"])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_small_numbers_of_coins_follow_their_law(n, p):
    p, rng = Fraction(p), SeededRng(n)
    assert fits([binomial(n, p, rng) for _ in range(400)], law(n, p))
    assert fits(binomials(np.full(40_000, n), p, rng), law(n, p))


@pytest.mark.parametrize("n", [64, 65, 200])
def test_words_of_coins_follow_their_law(n):
    drawn = binomials(np.full(20_000, n), Fraction(2, 7), SeededRng(n))
    assert fits(drawn, law(n, Fraction(2, 7)))


def test_enclosed_probabilities_follow_their_law():
    rng, p = SeededRng(3), float(np.exp(-0.7) / 2)
    threshold = scaled_exp(Fraction(1, 2), Fraction(-7, 10))
    assert fits([binomial(12, threshold, rng) for _ in range(500)], law(12, p))
    assert fits(binomials(np.full(40_000, 12), threshold, rng), law(12, p))


@pytest.mark.parametrize("value", ["1/2", "3/4", "0", "1"])
def test_enclosures_of_binary_fractions_need_no_last_bit(value):
    p, rng = Fraction(value), SeededRng(4)
    assert fits([binomial(10, loose(p), rng) for _ in range(300)], law(10, p))
    assert fits(binomials(np.full(2000, 10), loose(p), rng), law(10, p))
    large = binomial(2**60, loose(p), rng)
    assert abs(large - p * 2**60) <= 7 * 2**29


def test_coins_within_a_loose_enclosure_are_refined_one_by_one():
    def enclose(length):  # useless for the first 100 bits, then good
        return (0, 1 << length) if length < 100 else ratio(Fraction(1, 3))(length)

    rng = SeededRng(5)
    assert fits([binomial(9, enclose, rng) for _ in range(400)], law(9, Fraction(1, 3)))


@pytest.mark.parametrize("half", [1, 2, 9, 60])
def test_rejection_from_the_gaussian_has_the_law_of_fair_coins(half):
    rng = SeededRng(half)
    drawn = [module._middle(half, rng) for _ in range(600)]
    assert fits(drawn, law(2 * half, Fraction(1, 2)))


def test_numbers_too_large_to_throw_one_by_one_follow_their_law(monkeypatch):
    monkeypatch.setattr(module, "_FEW", 6)  # everything beyond six coins takes the other way
    rng = SeededRng(6)
    assert fits([binomial(51, Fraction(3, 10), rng) for _ in range(300)], law(51, Fraction(3, 10)))
    assert fits(binomials(np.full(300, 51), Fraction(1, 3), rng), law(51, Fraction(1, 3)))


@pytest.mark.parametrize(
    ("n", "p", "draws"),
    [
        (10**4, "1/3", 500),
        (2**14 + 1, "1/2", 1000),
        (10**6, "1/7", 100),
        (2**40 + 1, "1/3", 50),
        (2**60, "1/2", 1000),
        (2**60, "9/10", 30),
        pytest.param(2**14 + 1, "1/2", 20_000, marks=pytest.mark.deep),
        pytest.param(10**7, "1/3", 3000, marks=pytest.mark.deep),
        pytest.param(2**60, "1/3", 2000, marks=pytest.mark.deep),
    ],
)
def test_large_numbers_of_coins_have_the_right_quantiles(n, p, draws):
    p, rng = Fraction(p), SeededRng(n)
    drawn = [binomial(n, p, rng) for _ in range(draws)]
    mean, std = n * p, float(n * p * (1 - p)) ** 0.5
    scores = np.array([float(x - mean) / std for x in drawn])
    assert abs(scores.mean()) * draws**0.5 < 5
    # the kurtosis of a binomial is nearly 3, so its sample variance spreads by sqrt(2/draws)
    assert abs(scores.var() - 1) < 5.5 * (2 / draws) ** 0.5
    cuts = [Fraction(float(mean)) + Fraction(z * std) for z in (-1.2, -0.7, -0.3, 0, 0.3, 0.7, 1.2)]
    if n < 10**8:
        below = [float(stats.binom.cdf(int(c), n, float(p))) for c in cuts]
    else:  # the normal law, within 1/std
        below = [float(stats.norm.cdf(float(c - mean) / std)) for c in cuts]
    places = np.searchsorted(np.array([int(c) for c in cuts], object), drawn, "left")
    assert fits(places, np.diff([0.0, *below, 1.0]))


def test_rare_heads_among_very_many_coins_are_poisson():
    rng, draws = SeededRng(18), 80
    drawn = [binomial(2**60, Fraction(1, 10**18), rng) for _ in range(draws)]
    assert fits(drawn, stats.poisson.pmf(range(30), 2**60 / 10**18))


@pytest.mark.deep
def test_rare_heads_among_very_many_coins_are_poisson_at_length():
    rng = SeededRng(19)
    drawn = [binomial(2**60, Fraction(1, 10**18), rng) for _ in range(3000)]
    assert fits(drawn, stats.poisson.pmf(range(30), 2**60 / 10**18))


def test_certain_coins_need_no_bits():
    nothing = RecordedRng([])
    for certain in (Fraction(1), ratio(Fraction(1)), lambda length: (2 << length, 2 << length)):
        assert binomial(2**60, certain, nothing) == 2**60
        assert binomials(np.array([3, 0]), certain, nothing).tolist() == [3, 0]
    for never in (Fraction(0), ratio(Fraction(0)), lambda length: (-5, 0)):
        assert binomial(2**60, never, nothing) == 0
        assert binomials(np.array([3, 0]), never, nothing).tolist() == [0, 0]
    assert binomial(0, Fraction(1, 3), nothing) == 0
    assert binomials(np.empty((0, 2), np.int64), Fraction(1, 3), nothing).shape == (0, 2)


def test_counts_keep_their_shape_and_bounds():
    counts = np.array([[0, 1, 2**20], [5, 2**40, 300]], np.uint64)
    heads = binomials(counts, Fraction(1, 4), SeededRng(8))
    assert heads.shape == counts.shape and heads.dtype == np.int64
    assert (heads >= 0).all() and (heads <= counts.astype(np.int64)).all()
    assert counts[0, 2] == 2**20
    expected, spread = counts / 4.0, np.sqrt(counts * 3 / 16.0)
    assert (np.abs(heads - expected) <= 7 * spread + 3).all()


def test_many_cells_are_thrown_in_pieces(monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    drawn = binomials(np.full(3000, 130), Fraction(1, 2), SeededRng(9))
    assert fits(drawn, law(130, Fraction(1, 2)))


def test_words_decide_and_nothing_else():
    p = Fraction(3, 11)
    assert binomial(2**50, p, SeededRng(1)) == binomial(2**50, p, SeededRng(1))
    assert binomial(2**50, p, SeededRng(1)) != binomial(2**50, p, SeededRng(2))


@pytest.mark.parametrize("half", [1, 2, 3, 10, 57, 150])
def test_envelope_and_squeeze_hold_at_every_offset(half):
    sigma = module._envelope(half)
    assert 4 * sigma**2 >= 2 * half + 1
    middle = comb(2 * half, half)
    for offset in range(-half, half + 1):
        true = Interval.of(Fraction(comb(2 * half, half + offset), middle), 60)
        log, found = true.log(), log_decline(half, offset, 50)
        assert found.low <= log.high and log.low <= found.high
        assert found.high - found.low < Fraction(1, 10**45)
        coin = true * Interval.of(Fraction(offset**2, 2 * sigma**2), 60).exp()
        assert coin.low <= 1
        low, high = module._coin(half, offset, sigma)(80)
        assert low <= Fraction(coin.high) * 2**80 and Fraction(coin.low) * 2**80 <= high
        assert high - low <= 2
        if 2 * abs(offset) <= half:
            excess, scale = module._excess(half, offset, sigma)
            assert excess >= 0 and 1 - Fraction(excess, scale) <= Fraction(coin.high)


def test_bernoulli_numbers_are_those_of_the_tables():
    assert [bernoulli(k) for k in (0, 2, 4, 12)] == [
        1,
        Fraction(1, 6),
        Fraction(-1, 30),
        Fraction(-691, 2730),
    ]


@pytest.mark.parametrize("n", [-1, 2**63, 1.5, True, "3"])
def test_numbers_of_coins_that_mean_nothing_are_refused(n):
    with pytest.raises(RangeError, match="whole number"):
        binomial(n, Fraction(1, 2), SeededRng(1))


@pytest.mark.parametrize("counts", [[-1], [0.5], [True], np.array([2**63], np.uint64)])
def test_counts_that_mean_nothing_are_refused(counts):
    with pytest.raises(RangeError, match="whole numbers"):
        binomials(counts, Fraction(1, 2), SeededRng(1))


@pytest.mark.parametrize("p", [Fraction(-1, 2), Fraction(3, 2)])
def test_probabilities_outside_the_unit_interval_are_refused(p):
    with pytest.raises(RangeError, match="between 0 and 1"):
        binomial(3, p, SeededRng(1))
    with pytest.raises(RangeError, match="between 0 and 1"):
        binomials(np.array([3]), p, SeededRng(1))


def test_probabilities_that_are_no_numbers_are_refused():
    with pytest.raises(NumberError):
        binomial(3, None, SeededRng(1))
