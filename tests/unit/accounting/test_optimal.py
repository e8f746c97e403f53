"""Optimal composition: the exact curve of many equal releases, and nothing below it."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato.accounting import advanced_epsilon, compose, optimal_delta, optimal_epsilon
from sfumato.accounting.optimal import _log_factorial
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval
from sfumato.core.loss import Approximate, Concentrated, GaussianShift, LaplaceShift, Pure

sys.path.insert(0, str(Path(__file__).parent))

from law_pairs import hockey_stick, response, together

sys.path.pop(0)

MICRO = Fraction(1, 10**6)


def binomial_sum(cost, count, point):
    """Return δ of many randomized responses, by logarithms of factorials, in floats."""
    i = np.arange(count + 1)
    log = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in i]
    weight = np.exp(np.array(log) + i * cost - count * math.log1p(math.exp(cost)))
    return math.fsum(weight * np.maximum(1 - np.exp(point - (2 * i - count) * cost), 0))


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("cost", [0.1, 1.0, 3.0])
def test_delta_is_that_of_the_laws(cost, count):
    pair = together(*[response(cost)] * count)
    for share in (0.0, 0.3, 0.77, 0.999):
        point = share * cost * count
        found = float(optimal_delta(Pure(cost) * count, point))
        assert found == pytest.approx(hockey_stick(pair, point), rel=1e-9, abs=1e-15)
    assert optimal_delta(Pure(cost) * count, Fraction(str(cost)) * count) == 0


@pytest.mark.parametrize(("cost", "count"), [("0.01", 30_000), ("0.002", 100_000)])
def test_stirling_takes_over_where_binomials_are_long(cost, count):
    found = float(optimal_delta(Pure(cost) * count, "1.3"))
    assert found == pytest.approx(binomial_sum(float(cost), count, 1.3), rel=1e-7)


@pytest.mark.parametrize(("cost", "count"), [("0.1", 400), ("1", 30)])
def test_delta_is_above_the_sum_to_the_last_digit(cost, count):
    whole, point = Interval.of(Fraction(cost), 90), Fraction(2)
    total = Interval.of(0, 90)
    for i in range(math.floor((count + point / Fraction(cost)) / 2) + 1, count + 1):
        weight = math.comb(count, i) * (i * whole - count * (1 + whole.exp()).log()).exp()
        total = total + weight * (1 - (point - (2 * i - count) * whole).exp())
    found = optimal_delta(Pure(cost) * count, point)
    assert Fraction(total.low) <= found <= Fraction(total.high) * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("n", [1001, 5000, 10**5])
def test_logarithms_of_factorials_are_enclosed(n):
    found = _log_factorial(n)
    assert float(found.low) == pytest.approx(math.lgamma(n + 1), rel=1e-14)
    assert 0 <= found.high - found.low < 1e-23
    if n < 10_000:
        exact = Interval.of(math.factorial(n), 60).log()
        assert found.low <= exact.high
        assert exact.low <= found.high


@pytest.mark.parametrize("failure", ["1e-2", "1e-6", "1e-30"])
@pytest.mark.parametrize(
    "loss", [Pure("0.1") * 100, Pure(1) * 5, LaplaceShift(3, 1, 1) * 7, Pure(2)]
)
def test_epsilon_is_the_least_at_its_delta(loss, failure):
    found = optimal_epsilon(loss, failure)
    assert optimal_delta(loss, found) <= Fraction(failure)
    assert optimal_delta(loss, found * (1 - Fraction(1, 10**11))) > Fraction(failure)


def test_delta_of_the_parts_compounds():
    loss = Approximate("0.1", "1e-9") * 100
    pure = optimal_delta(Pure("0.1") * 100, 3)
    assert float(optimal_delta(loss, 3)) == pytest.approx(
        1 - (1 - 1e-9) ** 100 * (1 - float(pure)), rel=1e-9
    )
    found = optimal_epsilon(loss, MICRO)
    assert optimal_epsilon(Pure("0.1") * 100, MICRO) < found
    assert optimal_delta(loss, found) <= MICRO
    with pytest.raises(LossError, match="fail with a probability above"):
        optimal_epsilon(loss, "1e-8")
    # Failures that overlap count once: the sum 10^-7 is a little more than is needed.
    assert optimal_delta(loss, 10) < Fraction(1, 10**7)
    assert optimal_epsilon(loss, optimal_delta(loss, 10)) <= 10


def test_more_releases_and_smaller_deltas_cost_more():
    costs = [optimal_epsilon(Pure("0.2") * count, MICRO) for count in (1, 2, 5, 20, 100)]
    assert costs == sorted(costs)
    costs = [optimal_epsilon(Pure("0.2") * 20, Fraction(1, 10**k)) for k in (1, 3, 9, 300)]
    assert costs == sorted(costs)
    assert optimal_epsilon(Pure("0.2") * 20, 0) == 4


def test_kinds_with_one_epsilon_are_equal_releases():
    mixed = compose([Pure("0.5"), LaplaceShift(2, 1, 1)])
    assert optimal_epsilon(mixed, MICRO) == optimal_epsilon(Pure("0.5") * 2, MICRO)


@pytest.mark.parametrize(
    "loss",
    [
        Pure(1) + Pure(2),
        Concentrated(1),
        GaussianShift(1, 1) * 2,
        Pure("0.1") * 10**7,
        Pure(1) + Approximate(1, MICRO),
    ],
)
def test_other_losses_are_refused(loss):
    with pytest.raises(LossError, match="same ε"):
        optimal_epsilon(loss, MICRO)


def test_hopeless_losses_are_added_up():
    assert optimal_epsilon(Pure(10**6) * 3, MICRO) == 3 * 10**6
    assert optimal_epsilon(Pure(0) * 3, MICRO) == 0
    assert optimal_delta(Pure(0), 0) == 0
    assert optimal_epsilon(Pure("0.001") * 2, "0.5") == 0


@pytest.mark.parametrize(
    ("loss", "exact"),
    [(Pure("0.1") * 100, 6.308), (Pure("0.05") * 100, 2.885), (Pure(1) * 30, 80.3)],
)
def test_advanced_composition_is_as_published(loss, exact):
    found = advanced_epsilon(loss, MICRO)
    assert float(found) == pytest.approx(exact, abs=0.06)
    assert optimal_epsilon(loss, MICRO) < found


def test_advanced_composition_takes_parts_that_differ():
    whole = Pure("0.1") * 50 + Approximate("0.2", "1e-8") * 10
    squares = 50 * 0.01 + 10 * 0.04
    drift = 50 * 0.1 * math.expm1(0.1) + 10 * 0.2 * math.expm1(0.2)
    slack = 1e-6 - 1e-7
    assert float(advanced_epsilon(whole, MICRO)) == pytest.approx(
        math.sqrt(-2 * math.log(slack) * squares) + drift, rel=1e-12
    )
    for loss, failure in ((whole, "1e-7"), (Concentrated(1), MICRO), (Pure(2000), MICRO)):
        with pytest.raises(LossError, match="advanced composition"):
            advanced_epsilon(loss, failure)
