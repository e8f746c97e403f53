"""The best few: peeling draws its exact law, is fast, and is priced by its bounded ranges."""

from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.loss import BoundedRange, Pure
from sfumato.noise.choice import Choice
from sfumato.testing.rng import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
ONE = S(linf=1)


def peeled(weights, k):
    law = {}
    for order in permutations(range(len(weights)), k):
        left, odds = list(weights), 1.0
        for i in order:
            odds *= weights[i] / (sum(left) or 1.0)
            left[i] = 0.0
        law[order] = odds
    return law


@pytest.mark.parametrize(
    ("scores", "rate", "weights", "k"),
    [
        ([0, 0, 0, 0], "1", None, 3),
        ([9, 3, 0, -2], "1/3", None, 4),
        ([40, 0, 0, 0], "1", None, 2),  # the first is certain, and then all are equal
        ([2, 1, 0, 5], "1/2", [1, 7, 3, 0], 3),
    ],
)
def test_different_indices_follow_the_law_of_removal(scores, rate, weights, k):
    prior = None if weights is None else np.array(weights, np.int64)
    choice = Choice(np.array(scores, np.int64), Fraction(rate), prior)
    true = [
        w * exp(float(Fraction(rate)) * (s - max(scores)))
        for s, w in zip(scores, weights or [1] * len(scores), strict=True)
    ]
    rng, runs, seen = SeededRng(9), 6_000, {}
    for _ in range(runs):
        drawn = tuple(choice.distinct(k, rng).tolist())
        assert len(set(drawn)) == k
        seen[drawn] = seen.get(drawn, 0) + 1
    for order, odds in peeled(true, k).items():
        spread = (runs * odds * (1 - odds)) ** 0.5
        assert abs(seen.get(order, 0) - runs * odds) < 6.5 * spread + 3


def test_steep_weights_are_drawn_without_waiting():
    choice = Choice(np.arange(200, dtype=np.int64) * 10**6, Fraction(1))
    assert choice.distinct(200, SeededRng(1)).tolist() == list(range(199, -1, -1))


def test_no_more_can_be_drawn_than_there_are():
    choice = Choice(np.zeros(3, np.int64), Fraction(1), np.array([1, 0, 1], np.int64))
    with pytest.raises(sf.errors.CandidateError):
        choice.distinct(3, SeededRng(1))


def test_a_hundred_of_many_are_all_different():
    rng = SeededRng(2)
    scores = np.sort((rng.words(16_470) >> np.uint64(50)).astype(np.int64))
    top = M.TopK(range(16_470), 100, "1/100", monotone=True)
    exact = top.exact(scores)
    for _ in range(5):
        assert len(set(top.sample(exact, rng))) == 100


def test_loss_is_as_many_bounded_ranges_as_choices():
    top = M.TopK(list("abcdefgh"), 4, "1/2")
    assert top.loss(ONE) == BoundedRange(1) * 4
    assert sf.accounting.epsilon(top.loss(ONE)) == 4
    assert sf.accounting.rho(top.loss(ONE)) == Fraction(4, 8)
    growing = M.TopK(list("abcdefgh"), 4, "1/2", monotone=True)
    assert growing.loss(ONE) == BoundedRange("1/2") * 4
    replaced = S(linf=1, neighbors="replace")
    assert growing.loss(replaced) == BoundedRange(1, neighbors="replace") * 4


def test_a_choice_with_one_candidate_left_costs_nothing():
    assert M.TopK(["a", "b"], 2, 1).loss(ONE) == BoundedRange(2)
    assert M.TopK(["a", "b"], 1, 1).loss(ONE) == BoundedRange(2)
    assert M.TopK(["a", "b"], 2, 1).loss(S(linf=0)) == Pure(0)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_calibration_fits_every_target(relation):
    s, many = S(linf=1, neighbors=relation), {"candidates": range(300), "k": 100, "monotone": True}
    pure = M.TopK.calibrate(s, epsilon=1, **many)
    assert sf.accounting.epsilon(pure.loss(s)) == 1
    slack = M.TopK.calibrate(s, epsilon=1, delta="1e-6", **many)
    assert Fraction(98, 100) < sf.accounting.epsilon(slack.loss(s), "1e-6") <= 1
    assert slack.rate > 4 * pure.rate
    rho = M.TopK.calibrate(s, rho="1/50", **many)
    assert Fraction(1, 51) < sf.accounting.rho(rho.loss(s)) <= Fraction(1, 50)
    # With few choices and a tiny δ, adding up is best.
    few = M.TopK.calibrate(s, candidates=["a", "b", "c"], k=2, epsilon=1, delta="1e-300")
    assert sf.accounting.epsilon(few.loss(s)) == 1


def test_release_holds_the_candidates_in_order():
    top = M.TopK(["x", 3, (1, 2)], 2, 1)
    answer = top.release([0, 900, 500], ONE, name="best")
    assert answer.measure("best").values == ("3", "(1, 2)")
    assert M.TopK([10, 20, 30], 2, 1).release([0, 900, 500], ONE).measure("value").values == (
        20,
        30,
    )


@pytest.mark.parametrize("k", [0, 4, True, "2", 1.5])
def test_k_is_a_number_of_candidates(k):
    with pytest.raises(sf.errors.RangeError):
        M.TopK(["a", "b", "c"], k, 1)
