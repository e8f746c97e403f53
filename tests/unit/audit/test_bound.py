"""Limits from counts hold as often as they say, and ε and μ follow from them."""

from math import exp, log

import numpy as np
import pytest
from scipy.stats import binom, norm

from sfumato.audit.bound import Limits, ceiling, factor_caught, lower, rarest, score_limits, upper

LEVEL = 0.001 / 8


@pytest.mark.parametrize("share", [0.0, 0.003, 0.2, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("trials", [1, 20, 300])
def test_limits_fail_no_more_often_than_the_level(trials, share):
    level = 0.01
    hits = np.arange(trials + 1)
    chance = binom.pmf(hits, trials, share)
    above = np.array([lower(int(k), trials, level) > share for k in hits])
    below = np.array([upper(int(k), trials, level) < share for k in hits])
    assert chance[above].sum() <= level * (1 + 1e-9)
    assert chance[below].sum() <= level * (1 + 1e-9)


def test_limits_are_not_wider_than_needed():
    # The next count would already be too unlikely at the limit.
    low = lower(40, 200, 0.01)
    assert binom.sf(39, 200, low * 1.001) > 0.01 > binom.sf(39, 200, low * 0.999)
    high = upper(40, 200, 0.01)
    assert binom.cdf(40, 200, high * 0.999) > 0.01 > binom.cdf(40, 200, high * 1.001)


def test_limits_at_the_ends_are_finite():
    assert lower(0, 50, LEVEL) == 0
    assert upper(50, 50, LEVEL) == 1
    assert upper(0, 1000, LEVEL) == pytest.approx(1 - LEVEL ** (1 / 1000))


def test_epsilon_and_mu_follow_the_definitions():
    limits = Limits(0.5, 0.1)
    assert limits.epsilon(0) == pytest.approx(log(5))
    assert limits.epsilon(0.1) == pytest.approx(log(4))
    assert limits.mu() == pytest.approx(norm.ppf(0.5) - norm.ppf(0.1))


@pytest.mark.parametrize("limits", [Limits(0.0, 1.0), Limits(0.2, 0.3), Limits(0.0, 0.1)])
def test_nothing_is_proved_by_the_wrong_order(limits):
    assert limits.epsilon(0) == 0
    assert limits.epsilon(0.5) == 0
    assert limits.mu() == 0


@pytest.mark.parametrize(("trials", "known"), [(200, 3.1), (1000, 4.7), (20_000, 7.7)])
def test_ceiling_is_reached_by_all_hits_against_none(trials, known):
    assert ceiling(trials, LEVEL) == pytest.approx(known, abs=0.05)
    best = Limits.of(trials, 0, trials, LEVEL).epsilon(0)
    assert best == pytest.approx(ceiling(trials, LEVEL), rel=1e-6)
    assert rarest(trials, LEVEL) * trials == pytest.approx(9, rel=0.03)


def test_ceiling_of_a_tiny_audit_is_zero():
    assert ceiling(5, LEVEL) == 0


@pytest.mark.parametrize(
    ("claimed", "trials", "gaussian"),
    [(1.0, 2_000, False), (4.0, 5_000, False), (0.5, 3_000, True)],
)
def test_factor_caught_is_caught_as_often_as_it_says(claimed, trials, gaussian):
    factor, chance = factor_caught(claimed, trials, LEVEL, gaussian=gaussian)
    true = factor * claimed
    p, q = (norm.cdf(true / 2), norm.cdf(-true / 2)) if gaussian else (0.5, exp(-true) / 2)
    draws = np.random.default_rng(3).binomial(trials, [p, q], (500, 2))
    caught = 0
    for hits, other in draws.tolist():
        limits = Limits.of(hits, other, trials, LEVEL)
        caught += (limits.mu() if gaussian else limits.epsilon(0)) > claimed
    assert caught / 500 == pytest.approx(chance, abs=0.05)


@pytest.mark.parametrize(
    ("claimed", "gaussian", "needed"),
    [(0.1, False, 930_000), (1.0, False, 22_000), (4.0, False, 24_000), (1.0, True, 15_000)],
)
def test_a_tenth_is_caught_from_as_many_trials_as_documented(claimed, gaussian, needed):
    enough = factor_caught(claimed, round(1.05 * needed), LEVEL, gaussian=gaussian)
    too_few = factor_caught(claimed, round(0.9 * needed), LEVEL, gaussian=gaussian)
    assert enough[0] == 1.1
    assert too_few[0] > 1.1


def test_factor_caught_is_none_beyond_the_ceiling():
    assert factor_caught(12.0, 20_000, LEVEL) is None


def test_score_limits_enclose_the_share():
    low, high = score_limits(np.array([0, 50, 100]), np.array([0, 50, 100]), 100, 3.0)
    assert low[0] == pytest.approx(0)
    assert (low[1:] < [0.5, 1.0]).all()
    assert (high[:2] > [0.0, 0.5]).all()
    assert (np.diff(low) > 0).all()
    assert (np.diff(high) > 0).all()
