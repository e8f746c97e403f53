"""Releases in bulk are the releases that the mechanism makes one by one."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.bulk import many, releases
from sfumato.testing import SeededRng

M = sf.mechanisms
CASES = [
    (M.DiscreteLaplace(scale=3), 7),
    (M.DiscreteLaplace(scale=3), [1, 2, 3]),
    (M.DiscreteGaussian(sigma="5/2"), 7),
    (M.GridLaplace(scale=1, step="1/8"), 0.3),
    (M.RandomizedResponse(epsilon=1), [True, False]),
    (M.Exponential(("a", "b", "c"), rate=1, prior=(1, 2, 3)), [0, 2, 1]),
    (M.Quantile(q="0.3", low=0, high=50, step=1, rate=1), [3, 4, 4, 40]),
    (M.Quantile(q="0.5", low=-1, high=1, step="1/4", rate=2), []),
]


@pytest.mark.parametrize(("mechanism", "values"), CASES, ids=repr)
def test_one_release_in_bulk_is_the_release_itself(mechanism, values):
    exact = mechanism.exact(values)
    for seed in range(200):
        one = mechanism.sample(exact, SeededRng(seed))
        (bulk,) = many(mechanism, exact, 1, SeededRng(seed))
        if isinstance(mechanism, M.Exponential):
            bulk = mechanism.candidates[bulk]
        assert np.array_equal(one, bulk)


@pytest.mark.parametrize(("mechanism", "values"), CASES, ids=repr)
def test_releases_in_bulk_follow_the_law_of_single_ones(mechanism, values):
    exact, rng = mechanism.exact(values), SeededRng(3)
    singles = [mechanism.sample(exact, rng) for _ in range(1500)]
    if isinstance(mechanism, M.Exponential):
        singles = [mechanism.candidates.index(chosen) for chosen in singles]
    singles = np.array(singles).reshape(1500, -1).astype(float)
    bulk = many(mechanism, exact, 40_000, SeededRng(4)).reshape(40_000, -1).astype(float)
    spread = bulk.std(axis=0)
    apart = np.abs(singles.mean(axis=0) - bulk.mean(axis=0))
    assert (apart <= 5 * spread * (1 / 1500 + 1 / 40_000) ** 0.5 + 1e-12).all()
    assert np.allclose(singles.std(axis=0), spread, rtol=0.2)


class Own:
    """A mechanism that is not ours: it has a `sample` and no more."""

    def sample(self, exact, rng):
        return f"{exact}{int(rng.words(1)[0]) % 2}"


def test_any_other_mechanism_is_drawn_one_by_one():
    outputs = many(Own(), "x", 200, SeededRng(1))
    assert len(outputs) == 200
    assert set(outputs) == {"x0", "x1"}
    assert releases(Own(), "x", 200).names == ("length",)


def test_a_given_sampler_is_asked_for_all_of_them_at_once():
    asked = []

    def draw(exact, size):
        asked.append((exact, size))
        return np.zeros(size)

    assert releases(M.GridLaplace(scale=1, step=1), Fraction(5, 2), 300, draw).size == 300
    assert asked == [(np.int64(3), 300)]


@pytest.mark.parametrize("wrong", [np.zeros(7), np.array(1.0), 1.0, [1, 2, 3], []])
def test_a_given_sampler_that_draws_another_number_is_refused(wrong):
    with pytest.raises(sf.errors.InputError, match="draw="):
        releases(Own(), "x", 100, lambda exact, size: wrong)
