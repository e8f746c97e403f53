"""Permute-and-flip: its exact law, its price, and what it is better than."""

from fractions import Fraction
from itertools import product
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.loss import Pure
from sfumato.testing.rng import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
scores = st.lists(st.integers(-12, 12), min_size=1, max_size=5)
rates = st.floats(0.05, 3)


def flipped(values, rate):
    """P(i): the coin of i shows heads, and i is first among those that do."""
    odds = [exp(rate * (v - max(values))) for v in values]
    law = []
    for i, own in enumerate(odds):
        others = [p for j, p in enumerate(odds) if j != i]
        mass = 0.0
        for heads in product([False, True], repeat=len(others)):
            chance = 1.0
            for up, p in zip(heads, others, strict=True):
                chance *= p if up else 1 - p
            mass += chance / (1 + sum(heads))
        law.append(own * mass)
    return law


def exponential(values, rate):
    weights = [exp(rate * (v - max(values))) for v in values]
    return [w / sum(weights) for w in weights]


def expected(law, values):
    return sum(p * v for p, v in zip(law, values, strict=True))


@given(scores, rates)
def test_expected_score_is_never_below_the_exponential_choice(values, rate):
    better = expected(flipped(values, rate), values)
    assert better >= expected(exponential(values, rate), values) - 1e-9


def test_it_is_twice_as_close_where_that_is_possible():
    values, rate = [0, -40], 0.02
    gaps = [-expected(law(values, rate), values) for law in (flipped, exponential)]
    assert gaps[0] < 0.75 * gaps[1]


@given(scores, rates, st.data())
def test_one_unit_moves_no_log_odds_further_than_charged(values, rate, data):
    moves = data.draw(st.lists(st.integers(-1, 1), min_size=len(values), max_size=len(values)))
    for change, monotone in ((moves, False), ([abs(m) for m in moves], True)):
        other = [v + m for v, m in zip(values, change, strict=True)]
        a, b = flipped(values, rate), flipped(other, rate)
        claim = exp(rate * (1 if monotone else 2))
        for p, q in zip(a, b, strict=True):
            assert p <= claim * q * (1 + 1e-9)
            assert q <= claim * p * (1 + 1e-9)


def test_loss_is_pure_and_follows_the_relation():
    plain = M.PermuteAndFlip(["a", "b"], rate="1/2")
    growing = M.PermuteAndFlip(["a", "b"], rate="1/2", monotone=True)
    assert plain.loss(S(linf=1)) == Pure(1)
    assert growing.loss(S(linf=1)) == Pure(Fraction(1, 2))
    assert growing.loss(S(linf=1, neighbors="replace")) == Pure(1, neighbors="replace")
    assert M.PermuteAndFlip(["a"], rate=1, step="1/2").loss(S(linf="3/5")).epsilon == 2


@pytest.mark.parametrize("cost", [{"epsilon": "1/2"}, {"rho": "1/8"}])
def test_calibration_fits(cost):
    s = S(linf=3)
    made = M.PermuteAndFlip.calibrate(s, candidates=["a", "b"], **cost)
    loss = made.loss(s)
    if "rho" in cost:
        assert Fraction(1, 9) < sf.accounting.rho(loss) <= Fraction(1, 8)
    else:
        assert loss == Pure("1/2")


def test_draws_follow_the_law_of_many_candidates():
    values, rng = [3, 1, 4, 1, 5], SeededRng(3)
    made = M.PermuteAndFlip(list(range(5)), rate="1/3")
    exact, seen = made.exact(values), [0] * 5
    for _ in range(20_000):
        seen[made.sample(exact, rng)] += 1
    for count, odds in zip(seen, flipped(values, 1 / 3), strict=True):
        assert abs(count - 20_000 * odds) < 6.5 * (20_000 * odds * (1 - odds)) ** 0.5


def test_scores_far_apart_are_no_trouble():
    made = M.PermuteAndFlip(["a", "b", "c"], rate=2**60)
    assert made([2**63, -(2**63), 0]) == "a"
    assert made([-1e300, 1e-300, 1e300]) == "c"


def test_candidates_are_a_list():
    for bad in ("abc", [], {"a"}):
        with pytest.raises(sf.errors.CandidateError):
            M.PermuteAndFlip(bad, rate=1)
