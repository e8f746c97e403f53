"""Quantiles of a few noises added with weights: safe, and hardly above."""

import numpy as np
import pytest

from sfumato.core.errors import InputError
from sfumato.noise import Gaussian, Laplace, draw
from sfumato.release import combination
from sfumato.release.blend import quantile
from sfumato.release.error import Noise
from sfumato.testing import SeededRng

LAWS = {"laplace": Laplace, "gaussian": Gaussian}
WEIGHTS = [(1, 1, 1), (1, 0, 0), (0, 0, 1), (1, 2, 0.5), (1, 1.0001, -1), (1, 0.999, 1e-9)]


def single(noises, weights, alpha=0.05):
    return float(quantile(noises, [np.array([float(w)]) for w in weights], alpha)[0])


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("weights", WEIGHTS, ids=map(str, WEIGHTS))
def test_sum_exceeds_its_quantile_as_often_as_it_should(kind, weights):
    """Half a step of each noise is added, which is little where scales are large."""
    parts = [Noise(kind, scale) for scale in (100, 120, 100)]
    rng = SeededRng(7)
    total = sum(
        w * draw(LAWS[kind](n.scale), 200_000, rng) for w, n in zip(weights, parts, strict=True)
    )
    above = np.mean(np.abs(total) > single(parts, weights))
    assert 0.046 < above < 0.0515


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("scale", ["0.2", 1, 4])
def test_small_lattices_are_covered_too(kind, scale):
    parts = [Noise(kind, scale)] * 3
    rng = SeededRng(11)
    total = sum(w * draw(LAWS[kind](parts[0].scale), 100_000, rng) for w in (1, 2, 0.7))
    assert np.mean(np.abs(total) > single(parts, (1, 2, 0.7))) < 0.0515


@pytest.mark.parametrize("kind", LAWS)
def test_two_noises_agree_with_the_combination_of_two(kind):
    parts = [Noise(kind, 400), Noise(kind, 90)]
    weights = np.array([0.0, 0.3, 1, 4, 4.444444, 30])
    ours = quantile(parts, [np.ones(6), weights], 0.05)
    other = combination.quantile(np.ones(6), weights, *parts, 0.95)
    assert ours == pytest.approx(other, rel=3e-3)


def test_quantile_grows_with_every_weight_and_with_confidence():
    parts = [Noise("laplace", 50)] * 3
    assert single(parts, (1, 1, 1)) < single(parts, (1, 1, 1.2)) < single(parts, (1, 1, 1.2), 0.01)
    assert single(parts, (1, -1, 1)) == single(parts, (1, 1, 1))


def test_noises_of_two_families_are_refused():
    with pytest.raises(InputError, match="one family"):
        single([Noise("laplace", 1), Noise("gaussian", 1)], (1, 1))


@pytest.mark.parametrize("kind", LAWS)
def test_noise_that_is_almost_surely_zero_is_none(kind):
    parts = [Noise(kind, "0.01"), Noise(kind, 50), Noise(kind, "0.001")]
    assert single(parts, (10**6, 1, 10**9)) == pytest.approx(single(parts[1:2], (1,)), rel=2e-3)
    assert single(parts[::2], (10**6, 10**9)) < 1e-3
