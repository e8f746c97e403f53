"""The auditor raises no false alarm on what is right, and catches what is planted.

A false alarm has probability 1/1000 at most in each audit, by the confidence; for these mechanisms
it is far below that, since both of its bounds would have to fail together.
"""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import audit

M = sf.mechanisms
S = sf.Sensitivity
RNG = np.random.default_rng()
ONE = S(l0=1, l1=1)


def correct():
    """Mechanisms, the sensitivity they are audited at, and the least share of ε or μ to be shown.

    The shares lie six standard deviations below what audits of this size show on average.
    """
    names = tuple("abcde")
    return {
        "laplace 0.1": (M.DiscreteLaplace(scale=10), 1, 0.3),
        "laplace 1": (M.DiscreteLaplace(scale=1), 1, 0.88),
        "laplace 4": (M.DiscreteLaplace(scale="1/4"), 1, 0.88),
        "laplace, shift 3": (M.DiscreteLaplace(scale=3), 3, 0.88),
        "laplace, vector": (M.DiscreteLaplace(scale=4), S(l0=4, linf=1), 0.7),
        "laplace on a grid": (M.GridLaplace(scale=1, step="1/100"), 1, 0.88),
        "laplace on a coarse grid": (M.GridLaplace(scale=1, step="1/4"), "3/10", 0.8),
        "gaussian": (M.DiscreteGaussian(sigma=5), 1, 0.5),
        "gaussian, small": (M.DiscreteGaussian(sigma="1/2"), 1, 0.9),
        "gaussian, vector": (M.DiscreteGaussian(sigma=5), S(l0=5, linf=1), 0.6),
        "exponential": (M.Exponential(names, rate=1), 1, 0.6),
        "exponential, monotone": (M.Exponential(names, rate=1, monotone=True), 1, 0.55),
        "median": (M.Quantile(q="0.5", low=0, high=100, step=1, rate=1), 1, 0.6),
        "ninth decile, replace": (
            M.Quantile(q="0.9", low=0, high=100, step=1, rate=1),
            S(l1=1, neighbors="replace"),
            0.4,
        ),
        "randomized response": (M.RandomizedResponse(epsilon=1), 1, 0.88),
        "two answers": (M.RandomizedResponse(epsilon=1), S(l1=2, neighbors="replace"), 0.88),
    }


@pytest.mark.parametrize("name", correct())
def test_correct_mechanisms_are_not_flagged_and_nearly_exhausted(name):
    mechanism, sensitivity, share = correct()[name]
    verdict = audit.mechanism(mechanism, sensitivity, trials=50_000)
    assert not verdict.flagged, verdict
    if verdict.claimed.mu is None:
        assert verdict.epsilon_lower > share * float(verdict.claimed.points[0][0]), verdict
    else:
        assert verdict.mu_lower > share * verdict.claimed.mu, verdict


def test_a_single_release_is_as_private_as_one_of_many():
    # Releases one by one take other samplers than those in bulk.
    laplace = M.DiscreteLaplace(scale=1)
    verdict = audit.program(laplace, 3, 4, claim=laplace.loss(ONE), trials=5_000)
    assert not verdict.flagged, verdict
    assert verdict.epsilon_lower > 0.8


def test_half_the_scale_is_flagged():
    verdict = audit.mechanism(M.DiscreteLaplace(scale="1/2"), claim=1, trials=20_000)
    assert verdict.flagged
    assert verdict.epsilon_lower > 1.8


def test_a_tenth_too_little_noise_is_flagged():
    verdict = audit.mechanism(M.DiscreteLaplace(scale="0.9"), claim=1, trials=200_000)
    assert verdict.flagged
    assert 1 < verdict.epsilon_lower < 1 / 0.9


def test_half_the_sigma_is_flagged_by_mu():
    honest = M.DiscreteGaussian(sigma="4.84").loss(ONE)
    verdict = audit.mechanism(M.DiscreteGaussian(sigma="2.42"), claim=honest, trials=50_000)
    assert verdict.flagged
    assert verdict.claimed.mu < verdict.mu_lower < 1 / 2.42
    by_mu_alone = audit.Claim(((Fraction(9), Fraction(0)),), verdict.claimed.mu)
    assert audit.mechanism(M.DiscreteGaussian("2.42"), claim=by_mu_alone, trials=50_000).flagged
    # A claim of one ε and one δ alone would have passed, though it is broken as well.
    budget = sf.Budget(epsilon=1, delta="1e-5")
    assert not audit.mechanism(M.DiscreteGaussian("2.42"), claim=budget, trials=50_000).flagged


def test_noise_for_one_row_of_three_is_flagged():
    verdict = audit.mechanism(M.DiscreteLaplace(scale=1), claim=1, pairs=[(10, 13)], trials=20_000)
    assert verdict.flagged
    assert verdict.epsilon_lower > 2.7


class FloatLaplace:
    """The textbook, in floats."""

    def __init__(self, noise_scale):
        self.noise_scale = noise_scale

    def loss(self, sensitivity):
        return M.DiscreteLaplace(scale=1).loss(sensitivity)


def draw(exact, size):
    return RNG.laplace(exact, 1.0, size)


@pytest.mark.parametrize(("pair", "least"), [((0.0, 1.0), 8.0), ((2.0, 3.0), 6.0)])
def test_float_laplace_is_flagged_by_its_bits(pair, least):
    verdict = audit.mechanism(FloatLaplace(None), pairs=[pair], draw=draw)
    assert verdict.flagged
    assert verdict.epsilon_lower > least
    assert "bit" in verdict.event


@pytest.mark.parametrize("pair", [(0.0, 1.0), (2.0, 3.0)])
def test_float_laplace_is_flagged_by_its_support(pair):
    verdict = audit.mechanism(FloatLaplace(1.0), pairs=[pair], draw=draw)
    assert verdict.flagged
    assert verdict.epsilon_lower > 8.5
    assert "textbook support" in verdict.event


def test_float_laplace_of_a_program_is_flagged_by_its_support():
    verdict = audit.program(
        lambda x: float(RNG.laplace(x, 8.0)), 5.0, 6.0, claim="1/8", support=(5.0, 6.0, 8.0)
    )
    assert verdict.flagged
    assert "textbook support" in verdict.event


def test_float_normal_is_flagged_by_its_bits():
    verdict = audit.program(
        lambda x: float(RNG.normal(x, 4.84)), 0.0, 1.0, claim=sf.Budget(epsilon=1, delta="1e-5")
    )
    assert verdict.flagged
    assert verdict.epsilon_lower > 3


def planted():
    """Programs that leak, with two neighboring inputs each."""

    def error_text(rows):
        if any(age > 120 for age in rows):
            raise ValueError("age 130 out of range")
        return float(np.rint(RNG.laplace(len(rows), 1)))

    def keys_without_threshold(rows):
        return {name: int(np.rint(RNG.laplace(1, 1))) for name in set(rows)}

    def nan_through_a_clamp(rows):
        clamped = np.clip(rows, 0.0, 1.0)  # NaN stays
        return float(np.rint(clamped.sum() + RNG.laplace(0, 1)))

    def order_of_rows(rows):
        return {name: int(np.rint(RNG.laplace(1, 1))) for name in rows}

    def threshold_without_query_noise(rows):
        threshold = RNG.laplace(0, 2)
        return [row >= threshold for row in rows]

    def noise_once(rows):
        noise = np.rint(RNG.laplace(0, 1))
        return [row + noise for row in rows]

    def no_noise_if_empty(rows):
        return int(np.rint(RNG.laplace(len(rows), 1))) if rows else 0

    return {
        "error text": (error_text, [40, 130], [40]),
        "keys": (keys_without_threshold, ["al", "bob"], ["al"]),
        "nan": (nan_through_a_clamp, [0.5, float("nan")], [0.5]),
        "order": (order_of_rows, ["al", "bob"], ["bob", "al"]),
        "sparse vector": (threshold_without_query_noise, [0] * 5 + [1] * 5, [1] * 5 + [0] * 5),
        "shared noise": (noise_once, [3, 3], [3, 4]),
        "empty": (no_noise_if_empty, [], ["bob"]),
    }


@pytest.mark.parametrize("name", planted())
def test_planted_leaks_are_flagged(name):
    program, a, b = planted()[name]
    verdict = audit.program(program, a, b, claim=1, trials=2_000)
    assert verdict.flagged, verdict
    assert not audit.program(program, a, a, claim=1, trials=500).flagged


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(6))
def test_six_hundred_audits_raise_no_false_alarm(shard):
    cases = list(correct().values())
    flagged = [
        str(verdict)
        for i in range(100 * shard, 100 * shard + 100)
        for verdict in [audit.mechanism(*cases[i % len(cases)][:2], trials=20_000)]
        if verdict.flagged
    ]
    assert flagged == []


@pytest.mark.deep
def test_false_alarms_stay_below_what_a_low_confidence_allows():
    # Exact claims at a confidence of 1/2: half of the audits may err, hardly any should.
    laplace = M.DiscreteLaplace(scale=1)
    flagged = sum(
        audit.mechanism(laplace, trials=2_000, pairs=[(0, 1)], confidence="0.5").flagged
        for _ in range(200)
    )
    assert flagged <= 100


@pytest.mark.deep
def test_an_error_of_a_tenth_is_caught_every_time():
    light = M.DiscreteLaplace(scale="0.9")
    assert all(audit.mechanism(light, claim=1, pairs=[(0, 1)]).flagged for _ in range(20))
