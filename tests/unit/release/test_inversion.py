from fractions import Fraction
from functools import reduce
from math import log

import numpy as np
import pytest

from sfumato.release import law
from sfumato.release.combination import _mixed
from sfumato.release.error import Noise
from sfumato.release.inversion import deviation, exceeds, merged, quantile, reach

L, G = (lambda s: Noise("laplace", s)), (lambda s: Noise("gaussian", s))
SUMS = [
    ((L(2), 1.0, 3),),
    ((L(1), 1.0, 2), (L(2), 3.0, 1)),
    ((G(2), 1.0, 4), (G("0.5"), 2.0, 3)),
    ((L("0.1"), 1.0, 3),),
    ((L("0.3"), 1.0, 3), (G("0.7"), 5.0, 3)),
    ((L(20), 1.0, 3), (L(3), 7.0, 2)),
    ((G(3), 1.0, 1), (L(3), 2.0, 1)),
]


def pmf(parts):
    """The law of a sum with whole weights, by convolution."""
    laws = []
    for noise, w, n in parts:
        most = law.reach(noise, 1e-14)
        spread = np.zeros(2 * most * int(w) + 1)
        spread[:: int(w)] = law.weights(noise, most)
        laws += [spread] * n
    return reduce(np.convolve, laws)


def brute(parts, alpha):
    weights = pmf(parts)
    c = weights.size // 2
    tails = 1 - np.concatenate([[weights[c]], weights[c] + 2 * np.cumsum(weights[c + 1 :])])
    return int(np.argmax(tails <= alpha))


@pytest.mark.parametrize("parts", SUMS, ids=str)
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 1e-4, 1e-7])
def test_quantile_is_that_of_the_convolution(parts, alpha):
    exact, found = brute(parts, alpha), quantile(parts, alpha)
    assert np.floor(found + 1e-9) >= exact  # never too small
    assert found <= 1.01 * exact + 0.8  # and little more


@pytest.mark.parametrize("parts", SUMS, ids=str)
def test_tail_is_that_of_the_convolution(parts):
    weights = pmf(parts)
    c = weights.size // 2
    at = np.array([-3, -1, 0, 1, 4])
    exact = [weights[c + k + 1 :].sum() for k in at]
    assert exceeds(parts, at + 0.5) == pytest.approx(exact, abs=2e-5)


def test_many_noises_are_nearly_normal():
    parts = ((L(1), 1.0, 10**6),)
    assert quantile(parts, 0.05) == pytest.approx(1.96 * deviation(parts), rel=0.005)


def test_one_noise_is_exact_and_none_is_nothing():
    assert quantile(((L(2), 3.0, 1),), 0.05) == 3 * law.reach(L(2), 0.05)
    assert quantile((), 0.05) == quantile(((L(2), 0.0, 1),), 0.05) == 0
    assert exceeds((), np.array([-1.0, 1.0])).tolist() == [1, 0]
    assert reach((), 0.1) == 0


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_below_all_floats_is_nothing(kind):
    parts = ((Noise(kind, Fraction(1, 10**4)), 1.0, 2),)
    assert quantile(parts, 0.05) < 1
    assert exceeds(parts, np.array([-0.5, 0.5])) == pytest.approx([1, 0])


def test_signs_and_equal_parts_do_not_matter():
    assert merged(((L(2), -1.0, 1), (L(2), 1.0, 2), (L(2), 0.0, 5))) == ((L(2), 1.0, 3),)


@pytest.mark.parametrize("parts", SUMS, ids=str)
@pytest.mark.parametrize("alpha", [0.05, 1e-6, 1e-15])
def test_bound_is_above_the_quantile(parts, alpha):
    assert reach(parts, alpha) * (1 + 1e-9) >= quantile(parts, max(alpha, 1e-12)) * 0.99


def test_below_what_floats_can_tell_the_bound_is_taken():
    assert quantile(SUMS[0], 1e-15) == reach(SUMS[0], 1e-15)


@pytest.mark.parametrize("alpha", [0.2, 0.1, 0.05, 0.01, 1e-3])
def test_laplace_and_normal_add_up_in_squares(alpha):
    """What `population` rests on: beyond the root of both squares is less than `alpha`.

    For alpha above 0.05 it is a little more.
    """
    from scipy.special import ndtri

    scale = np.geomspace(0.05, 20, 60)
    root = np.hypot(-log(alpha) * scale, -ndtri(alpha / 2))
    more = 1e-9 if alpha <= 0.05 else 0.05
    assert (_mixed(root, scale, np.ones(60)) <= alpha * (1 + more)).all()
