"""What (ε, δ) lets an attacker find out: golden figures, and bounds held against exact laws."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sfumato.accounting.risk import (
    advantage,
    gaussian_advantage,
    gaussian_tpr,
    posterior,
    roc,
    spread,
    surprise,
    tpr,
)
from sfumato.core.errors import NumberError, RangeError

shares = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000))
deltas = st.fractions(min_value=0, max_value=Fraction(1, 2))
# e^ε is a rational below ε + a hair: then randomized response has a rational law.
ratios = st.fractions(min_value=1, max_value=20)


def log_up(ratio):
    """Return a rational just above ln(ratio)."""
    return Fraction(math.log(ratio) * (1 + 1e-12) + 1e-12)


def leaking_response(ratio, delta):
    """Return the worst pair of laws for e^ε = ratio and δ: outputs yes!, yes, no, no!."""
    truth, lie = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    return [delta, truth, lie, Fraction(0)], [Fraction(0), lie, truth, delta]


def hockey(p, q, ratio):
    return sum(max(a - ratio * b, 0) for a, b in zip(p, q, strict=True))


@st.composite
def laws(draw, outputs=5):
    """Return two laws over a few outputs, some of which only one of them has."""
    weights = st.lists(st.integers(0, 50), min_size=outputs, max_size=outputs).filter(any)
    return tuple([Fraction(w, sum(ws)) for w in ws] for ws in (draw(weights), draw(weights)))


@pytest.mark.parametrize(
    ("epsilon", "gain", "belief", "found"),
    [
        ("0.1", 0.050, 1.1, 0.11),
        ("0.5", 0.245, 1.6, 0.16),
        ("1", 0.462, 2.7, 0.27),
        ("2", 0.762, 6.9, 0.74),
        ("3", 0.905, 16.9, 2.01),
        ("5", 0.987, 60.0, 14.84),
    ],
)
def test_risk_table(epsilon, gain, belief, found):
    assert round(float(advantage(epsilon)), 3) == gain
    assert round(100 * float(posterior("0.01", epsilon)), 1) == belief
    assert round(100 * float(tpr("0.001", epsilon)), 2) == found


def test_risk_of_gaussian_dp():
    assert round(float(gaussian_advantage(1)), 3) == 0.383
    assert round(100 * float(gaussian_tpr("0.001", 1)), 1) == 1.8
    assert gaussian_advantage("0.5", people=2) == gaussian_advantage(1)
    assert gaussian_tpr("0.01", "0.5", people=2) == gaussian_tpr("0.01", 1)
    assert gaussian_tpr("0.2", 0) >= Fraction(1, 5)
    assert gaussian_advantage(0) == 0


@pytest.mark.parametrize("mu", ["0.01", "1", "3", "8"])
@pytest.mark.parametrize("fpr", ["1e-9", "0.001", "0.3", "0.99"])
def test_gaussian_figures_are_just_above_those_of_scipy(mu, fpr):
    power = norm.sf(norm.isf(float(fpr)) - float(mu))
    assert float(gaussian_tpr(fpr, mu)) == pytest.approx(power, rel=1e-6)
    assert float(gaussian_advantage(mu)) == pytest.approx(2 * norm.cdf(float(mu) / 2) - 1, rel=1e-9)


@given(ratios, deltas, shares)
def test_bounds_are_attained_by_response_that_leaks(ratio, delta, prior):
    epsilon = log_up(ratio)
    p, q = leaking_response(ratio, delta)
    near = Fraction(1, 10**9)
    gain = sum(max(a - b, 0) for a, b in zip(p, q, strict=True))
    assert gain <= advantage(epsilon, delta) <= gain + near
    points = [(Fraction(0), delta), (q[0] + q[1], p[0] + p[1]), (Fraction(1), Fraction(1))]
    for false, true in points:
        assert true <= tpr(false, epsilon, delta) <= true + near
    bound = posterior(prior, epsilon)
    exact = prior * ratio / (prior * ratio + 1 - prior)
    assert exact <= bound <= exact + near
    mixed = [prior * a + (1 - prior) * b for a, b in zip(p, q, strict=True)]
    seen = [(prior * a / m, m) for a, m in zip(p, mixed, strict=True) if m]
    average = sum(max(belief, exact) * m for belief, m in seen)
    assert average <= posterior(prior, epsilon, delta) <= average + near
    if delta:
        sure = mixed[0]  # the output that proves it
        assert sure <= surprise(1, prior, epsilon, delta) <= sure + near


@given(laws(), shares, ratios)
@settings(deadline=None, max_examples=50)
def test_no_event_of_an_enumerated_law_beats_the_bounds(pair, prior, ratio):
    p, q = pair
    epsilon, delta = log_up(ratio), max(hockey(p, q, ratio), hockey(q, p, ratio))
    if delta >= 1:
        return
    gain = advantage(epsilon, delta)
    for size in range(1, len(p)):
        for event in combinations(range(len(p)), size):
            true, false = sum(p[i] for i in event), sum(q[i] for i in event)
            assert true <= tpr(false, epsilon, delta)
            assert true - false <= gain
            chance = prior * true + (1 - prior) * false
            if chance:
                assert prior * true / chance <= posterior(prior, epsilon, delta, chance=chance)
    for belief in (Fraction(i, 10) for i in range(1, 10)):
        beyond = [
            m
            for a, b in zip(p, q, strict=True)
            if (m := prior * a + (1 - prior) * b) and prior * a > belief * m
        ]
        assert sum(beyond) <= surprise(belief, prior, epsilon, delta)


@given(st.fractions(min_value=Fraction(1, 5), max_value=20), st.integers(1, 6), shares)
@settings(deadline=None)
def test_belief_after_discrete_laplace_noise_is_never_above_the_bound(scale, shift, prior):
    bound = posterior(prior, shift / scale)
    rate = math.exp(-1 / float(scale))
    for x in range(-30, 40):
        factor = rate ** (abs(x - shift) - abs(x))
        belief = float(prior) * factor / (float(prior) * factor + 1 - float(prior))
        assert belief <= float(bound) * (1 + 1e-12)


@given(st.lists(laws(3), min_size=2, max_size=2), ratios)
@settings(deadline=None)
def test_group_of_two_is_covered_by_its_spread(pairs, ratio):
    # Three tables in a row: the middle law is shared.
    (first, middle), (last, _) = pairs
    failure = max(
        hockey(a, b, ratio)
        for a, b in ((first, middle), (middle, first), (middle, last), (last, middle))
    )
    if failure >= 1:
        return
    epsilon, delta = spread(log_up(ratio), failure, 2)
    assert hockey(first, last, ratio**2) <= delta
    assert epsilon == 2 * log_up(ratio)


@given(st.integers(1, 8), st.fractions(min_value=0, max_value=3), deltas)
def test_spread_is_the_sum_of_its_steps(people, epsilon, delta):
    whole, failure = spread(epsilon, delta, people)
    steps = sum(math.exp(i * float(epsilon)) for i in range(people))
    assert whole == people * epsilon
    assert float(failure) == pytest.approx(min(1, float(delta) * steps), rel=1e-9)


def test_people_are_a_larger_epsilon():
    assert advantage("0.5", people=4) == advantage(2)
    assert posterior("0.1", "0.5", people=4) == posterior("0.1", 2)
    assert tpr("0.1", "0.5", people=4) == tpr("0.1", 2)
    assert surprise("0.9", "0.1", 1, "1e-9", people=2) > surprise("0.9", "0.1", 1, "1e-9")


@pytest.mark.parametrize("epsilon", [0, "1e-70", 1, 700, 10**6, 10**30])
def test_extremes_are_bounds_all_the_same(epsilon):
    assert 0 <= advantage(epsilon, "1e-9") <= 1
    assert Fraction("0.01") <= posterior("0.01", epsilon, "1e-9") <= 1
    assert Fraction("1e-300") <= tpr("1e-300", epsilon) <= 1
    assert tpr(0, epsilon, "1e-9") == Fraction("1e-9")
    assert tpr(1, epsilon) == 1
    assert spread(epsilon, "0.1", 10**6)[1] <= 1


def test_nothing_given_away_changes_nothing():
    assert advantage(0) == 0
    assert posterior("0.3", 0) == Fraction(3, 10)
    assert tpr("1/3", 0) == Fraction(1, 3)
    assert surprise("0.31", "0.3", 0) == 0
    assert surprise("0.3", "0.3", 0) == 1


def test_roc_is_monotone_and_above_guessing():
    points = roc(1, "1e-3", points=21)
    assert len(points) == 21
    assert [a for a, _ in points] == [Fraction(i, 20) for i in range(21)]
    found = [b for _, b in points]
    assert found == sorted(found)
    assert all(b >= a for a, b in points)


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: advantage(-1), RangeError, "negative"),
        (lambda: advantage("nan"), NumberError, "finite"),
        (lambda: advantage(1, 1), RangeError, "below 1"),
        (lambda: posterior(0, 1), RangeError, "strictly between"),
        (lambda: posterior("0.1", 1, chance=0), RangeError, "never seen"),
        (lambda: posterior("0.1", 1, chance=2), RangeError, "between 0 and 1"),
        (lambda: tpr("1.1", 1), RangeError, "between 0 and 1"),
        (lambda: tpr("0.1", 1, people=0), RangeError, "whole number from 1"),
        (lambda: tpr("0.1", 1, people=1.5), RangeError, "whole number from 1"),
        (lambda: roc(1, points=1), RangeError, "2 to 10,000"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, error, said):
    with pytest.raises(error, match=said):
        ask()
