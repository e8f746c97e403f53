"""The quantiles of weighted sums of noise: never too small, hardly too large."""

import numpy as np
import pytest

from sfumato.marginals.tail import gaussian_reach, laplace_reach
from sfumato.release.error import Noise


def exceeded(weights, scale, reach):
    """Return P(|sum| > reach) of noises with whole weights, by convolution of their exact laws."""
    p = np.exp(-1 / scale)
    far = int(np.ceil(60 * scale)) + 60
    k = np.arange(-far, far + 1)
    law = (1 - p) / (1 + p) * p ** np.abs(k)
    total = np.ones(1)
    for weight in weights:
        spaced = np.zeros((law.size - 1) * weight + 1)
        spaced[::weight] = law
        total = np.convolve(total, spaced)
    middle = total.size // 2
    place = np.abs(np.arange(total.size) - middle)
    return float(total[place > reach].sum())


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.5])
@pytest.mark.parametrize("weights", [[1], [1, 1], [3, 1], [2, 2, 1, 1, 1]])
def test_laplace_quantile_is_safe_and_close(weights, scale, alpha):
    reach = laplace_reach([(Noise("laplace", scale), np.array(weights, float), 1)], alpha)
    assert exceeded(weights, scale, reach) <= alpha
    if reach > 1:
        assert exceeded(weights, scale, np.floor(reach * 0.98) - 1) > alpha


def test_equal_noises_may_be_counted():
    noise = Noise("laplace", 3)
    once, each = [(noise, np.ones(1), 6)], [(noise, np.ones(6), 1)]
    assert laplace_reach(once, 0.05) == laplace_reach(each, 0.05)


def test_weights_that_differ_by_rounding_are_one():
    noise = Noise("laplace", 3)
    near = np.array([1 / 3, 1 / 3 * (1 + 1e-15), 0.0])
    assert np.isclose(
        laplace_reach([(noise, near, 1)], 0.05), laplace_reach([(noise, near[:1], 2)], 0.05)
    )


def test_a_sum_of_many_is_nearly_normal():
    reach = laplace_reach([(Noise("laplace", 10), np.ones(1), 10_000)], 0.05)
    assert 1.96 < reach / np.sqrt(2 * 10**2 * 10_000) < 2.02


def test_no_noise_reaches_nowhere():
    assert laplace_reach([], 0.05) == 0
    assert laplace_reach([(Noise("laplace", "0.001"), np.ones(1), 1)], 0.05) == 0


def test_gaussian_quantile_holds_for_the_discrete_law():
    for sigma in (0.4, 0.7, 1.0, 3.0):
        k = np.arange(-60, 61)
        law = np.exp(-(k**2) / (2 * sigma**2))
        law /= law.sum()
        both = np.convolve(law, law)
        place = np.abs(np.arange(both.size) - both.size // 2)
        [reach] = gaussian_reach(np.array([2 * (sigma**2 + 0.5)]), np.array([2.0]), 0.05)
        assert both[place > reach].sum() <= 0.05
