"""Amplification by a secret sample: both directions, and only where the theorem holds."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.accounting import amplify, delta, epsilon, renyi_delta, sampled_epsilon
from sfumato.core.errors import LossError, NeighborsError, RangeError
from sfumato.core.loss import Approximate, GaussianShift, LaplaceShift, PoissonSampled, Pure

sys.path.insert(0, str(Path(__file__).parent))

from law_pairs import gaussian, hockey_stick, laplace, response, sampled, together

sys.path.pop(0)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("cost", [0.1, 1.0, 6.0])
def test_amplified_epsilon_is_attained_by_randomized_response(cost, rate):
    found = float(sampled_epsilon(cost, rate))
    assert found == pytest.approx(math.log1p(rate * math.expm1(cost)), rel=1e-12)
    pair = sampled(response(cost), rate)
    assert hockey_stick(pair, found * (1 + 1e-9)) <= 1e-15
    assert hockey_stick(pair, found * 0.999) > 0
    assert epsilon(amplify(Pure(cost), rate)) == sampled_epsilon(cost, rate)


def test_the_ends_of_the_rate():
    assert sampled_epsilon(1, 0) == 0
    assert sampled_epsilon(1, 1) == 1
    assert sampled_epsilon(10**6, "0.5") == 10**6  # up: nothing worth a computation is lost
    assert epsilon(amplify(Pure(3), 0)) == 0
    assert sampled_epsilon("1e-30", "0.5") <= Fraction("1e-30")


def test_a_delta_shrinks_with_the_rate():
    loss = amplify(Approximate(1, "1e-6"), "0.1")
    assert delta(loss, sampled_epsilon(1, "0.1")) <= Fraction(1, 10**7)


@pytest.mark.parametrize(
    ("loss", "pair"),
    [
        (LaplaceShift(1, 1, 1), laplace(1.0, 1, 30)),
        (GaussianShift(1, 1, scalar=True), gaussian(1.0, 1)),
    ],
)
@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_samples_are_never_below_the_laws(loss, pair, rate):
    once = sampled(pair, rate)
    twice = together(once, once)
    for point in (0.0, 0.2, 0.8):
        bound = float(renyi_delta(amplify(loss, rate), point))
        assert hockey_stick(once, point) <= bound * (1 + 1e-9) + 1e-15
        bound = float(renyi_delta(amplify(loss, rate) * 2, point))
        assert hockey_stick(twice, point) <= bound * (1 + 1e-9) + 1e-15


def test_coins_do_not_amplify_under_replace():
    with pytest.raises(NeighborsError, match="add_remove"):
        amplify(Pure(1, neighbors="replace"), "0.1")


@pytest.mark.parametrize("rate", ["1.1", 2])
def test_a_rate_is_a_probability(rate):
    for ask in (lambda: amplify(Pure(1), rate), lambda: sampled_epsilon(1, rate)):
        with pytest.raises(LossError, match="probability"):
            ask()
    with pytest.raises(RangeError, match="negative"):
        amplify(Pure(1), "-0.1")


def test_amplify_names_what_it_is():
    assert amplify(Pure(1), "0.1") == PoissonSampled(Pure(1), "0.1")
