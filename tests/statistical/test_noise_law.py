"""Chi-square tests of every sampler against its stated law.

On push: fixed seeds, 10^6 draws, so a pass is a pass for ever. Deep: fresh entropy, 10^8 draws, and
one retry. The level is 10^-6 a test; with fewer than 100 tests, a false alarm a run is below 10^-4.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from sfumato.noise import bernoulli, choice, draw, paper, system, uniform
from sfumato.noise.law import Gaussian, Laplace
from sfumato.testing import SeededRng

LEVEL = 1e-6
SCALES = ["1/4", "1", "5/2", "10", "63", "64", "100", "1000", "12345/7", "1e6", "1e9", "1e14"]


def fits(observed, probabilities):
    """Return whether counts look like draws from these cells, rare cells pooled."""
    expected = np.asarray(probabilities) * observed.sum()
    small = expected < 20
    pooled_seen = np.append(observed[~small], observed[small].sum())
    pooled_want = np.append(expected[~small], expected[small].sum())
    keep = pooled_want > 0
    assert pooled_seen[~keep].sum() == 0
    statistic = ((pooled_seen - pooled_want)[keep] ** 2 / pooled_want[keep]).sum()
    return stats.chi2.sf(statistic, max(keep.sum() - 1, 1)) > LEVEL


def cells(law):
    """Return cut points (inclusive upper ends) and the probability of each cell."""
    scale = float(law.scale)
    reach = 8 if isinstance(law, Gaussian) else 20
    if scale < 30:
        upper = np.arange(-int(reach * scale) - 3, int(reach * scale) + 4)
    else:
        upper = np.unique(np.round(np.linspace(-reach / 2 * scale, reach / 2 * scale, 200)))
    if not law.two_sided:
        upper = upper[upper >= 0]
    below = np.array([distribution(law, x) for x in upper])
    return upper, np.diff(np.concatenate([[0.0], below, [1.0]]))


def distribution(law, x):
    """Return P(X <= x), independently of the sampler's own arithmetic."""
    scale = float(law.scale)
    if isinstance(law, Gaussian):
        if scale > 30:  # the sum over integers is the integral to 1/(24·scale²)
            return float(special.ndtr((x + 0.5) / scale))
        support = np.arange(-int(45 * scale) - 5, int(45 * scale) + 6)
        weights = np.exp(-(support**2) / (2 * scale * scale))
        return float(weights[support <= x].sum() / weights.sum())
    p = np.exp(-1 / scale)
    if not law.two_sided:
        return float(-np.expm1(-(x + 1) / scale))
    return float(1 - p ** (x + 1) / (1 + p) if x >= 0 else p ** (-x) / (1 + p))


def check_law(law, size, rng, piece=10**7):
    upper, probabilities = cells(law)
    seen = np.zeros(probabilities.size, np.int64)
    low_bits = np.zeros(16, np.int64)
    for start in range(0, size, piece):
        drawn = draw(law, min(piece, size - start), rng).astype(np.int64)
        seen += np.bincount(
            np.searchsorted(upper, drawn.astype(np.float64), "left"), minlength=seen.size
        )
        low_bits += np.bincount(drawn & 15, minlength=16)
    assert fits(seen, probabilities)
    if law.scale > 1000:  # wide noise has uniform low bits, whatever the value
        assert fits(low_bits, np.full(16, 1 / 16))


laws = [kind(Fraction(scale)) for kind in (Laplace, Gaussian) for scale in SCALES]
laws += [Laplace(Fraction(scale), two_sided=False) for scale in ("1/2", "3", "1000", "1e6")]


@pytest.mark.parametrize("law", laws, ids=repr)
def test_batch_noise_follows_its_law(law):
    check_law(law, 10**6, SeededRng(1))


@pytest.mark.deep
@pytest.mark.parametrize("law", laws, ids=repr)
def test_batch_noise_follows_its_law_at_full_size(law):
    try:
        check_law(law, 10**8, system())
    except AssertionError:
        check_law(law, 10**8, system())


@pytest.mark.parametrize(
    "law",
    [Laplace(Fraction(5, 2)), Laplace(Fraction(3), two_sided=False), Gaussian(Fraction(7, 3))],
    ids=repr,
)
def test_paper_noise_follows_its_law(law):
    rng = SeededRng(2)
    drawn = np.array([paper.sample(law, rng) for _ in range(20_000)])
    upper, probabilities = cells(law)
    places = np.searchsorted(upper, drawn, "left")
    assert fits(np.bincount(places, minlength=probabilities.size), probabilities)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 257, 2**40 + 1, 2**64])
def test_uniform_integers_are_uniform(bound):
    drawn = uniform.integers(SeededRng(3), bound, 200_000)
    assert int(drawn.max()) < bound
    parts = bound if bound < 1000 else 64
    places = drawn if bound < 1000 else np.minimum(drawn.astype(np.float64) / bound * 64, 63)
    seen = np.bincount(places.astype(np.int64), minlength=parts)
    assert fits(seen, np.full(parts, 1 / parts))


@pytest.mark.parametrize("probability", ["0", "1/2", "1/3", "999999/1000000", "1"])
def test_rational_coins_have_their_odds(probability):
    p = Fraction(probability)
    batch_heads = int(bernoulli.flips(SeededRng(4), p, 10**6).sum())
    rng = SeededRng(5)
    single_heads = sum(bernoulli.flip(rng, p) for _ in range(20_000))
    assert fits(np.array([batch_heads, 10**6 - batch_heads]), [float(p), float(1 - p)])
    assert fits(np.array([single_heads, 20_000 - single_heads]), [float(p), float(1 - p)])


@pytest.mark.parametrize("gamma", ["0", "1/1000", "1/2", "1", "5/2", "8"])
def test_exponential_coins_have_their_odds(gamma):
    p = float(np.exp(-float(Fraction(gamma))))
    batch_heads = int(bernoulli.exp_flips(SeededRng(6), Fraction(gamma), 10**6).sum())
    rng = SeededRng(7)
    single_heads = sum(bernoulli.exp_flip(rng, Fraction(gamma)) for _ in range(20_000))
    assert fits(np.array([batch_heads, 10**6 - batch_heads]), [p, 1 - p])
    assert fits(np.array([single_heads, 20_000 - single_heads]), [p, 1 - p])


@pytest.mark.parametrize("rate", ["1/10", "1", "3"])
@pytest.mark.parametrize("weighted", [False, True])
def test_choices_follow_exponential_weights(rate, weighted):
    scores = np.array([0, 1, 2, -5, 3, 3, -40], np.int64)
    weights = np.array([1, 2, 3, 4, 0, 1, 10**6], np.int64) if weighted else None
    true = np.exp(float(Fraction(rate)) * (scores - 3.0)) * (weights if weighted else 1)
    drawn = choice.Choice(scores, Fraction(rate), weights).draw(10**6, SeededRng(8))
    assert fits(np.bincount(drawn, minlength=7), true / true.sum())
