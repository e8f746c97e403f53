"""ρ of every loss: tight, never below the truth, refused where there is none."""

import math
from fractions import Fraction

import pytest

from sfumato.accounting import rho
from sfumato.accounting.zcdp import approximate_rho
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Loss,
    Pure,
    Worst,
)

DIGITS = 150


def divergence(k, scale):
    """Enclose the KL divergence of two discrete Laplace laws by the formula as published."""
    step = Interval.of(Fraction(1) / scale, DIGITS)
    p, power = (-step).exp(), (-(k * step)).exp()
    return step * (k - 2 * p * (1 - power) / ((1 + p) * (1 - p)))


def assert_just_above(number, truth, slack=1e-9):
    low, high = Fraction(truth.low), Fraction(truth.high)
    assert high <= number <= low * (1 + Fraction(slack))


@pytest.mark.parametrize(
    "epsilon", ["1e-30", "1e-9", "0.01", "0.25", "0.3", 1, "1.001", 4, 5, 16, "16.5", 100, 10**6]
)
def test_pure_costs_epsilon_tanh_half_epsilon(epsilon):
    exact = Fraction(epsilon)
    q = (-Interval.of(exact, DIGITS)).exp()
    assert_just_above(rho(Pure(epsilon)), exact * (1 - q) / (1 + q), slack=1e-20)


@pytest.mark.parametrize("k", [1, 2, 3, 10, 1000, 10**9, 10**15])
@pytest.mark.parametrize(
    "scale",
    ["0.05", "0.5", 1, "1.3", 7, 1000, 2**40, 10**16, 10**26],
)
def test_laplace_costs_its_divergence_at_the_shift(k, scale):
    exact = Fraction(scale)
    cost = rho(LaplaceShift(exact, k, k))
    assert_just_above(cost, divergence(k, exact))


def test_laplace_at_shift_one_costs_what_randomized_response_costs():
    assert rho(LaplaceShift(2, 1, 1)) == rho(Pure("0.5"))


@pytest.mark.parametrize(("l1", "linf", "split"), [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 5, [2])])
def test_laplace_over_cells_costs_the_worst_split(l1, linf, split):
    loss = LaplaceShift(4, l1, linf)
    worst = sum(rho(LaplaceShift(4, k, k)) for k in split)
    assert rho(loss) == pytest.approx(float(worst), rel=1e-12)
    everywhere = rho(LaplaceShift(4, l1, 1))
    assert everywhere <= rho(loss) <= rho(LaplaceShift(4, l1, l1))


def test_laplace_without_a_shift_costs_nothing():
    assert rho(LaplaceShift(4, 0, 0)) == rho(LaplaceShift(4, 0, 3)) == 0


def test_gaussian_costs_half_the_squared_shift_exactly():
    assert rho(GaussianShift("1/3", 2)) == 9
    assert rho(GaussianShift(7, 0)) == 0
    long = rho(GaussianShift(Fraction(3**3000, 2**3000), 1))
    assert long.denominator.bit_length() < 13_000  # numbers beyond 4,000 digits are not taken
    assert 1 <= long * 2 * Fraction(9, 4) ** 3000 < 1 + Fraction(1, 10**300)


@pytest.mark.parametrize(("epsilon", "cost"), [(1, Fraction(1, 8)), ("0.5", Fraction(1, 32))])
def test_bounded_range_costs_an_eighth(epsilon, cost):
    assert rho(BoundedRange(epsilon)) == cost


def test_bounded_range_costs_no_more_than_pure():
    assert rho(BoundedRange(10)) == rho(Pure(10)) < Fraction(100, 8)


def test_concentrated_costs_what_it_says():
    assert rho(Concentrated("0.123")) == Fraction(123, 1000)


def test_composition_adds_up():
    loss = Pure(1) * 3 + Concentrated(2) + GaussianShift(1, 2)
    assert rho(loss) == 3 * rho(Pure(1)) + 3


def test_disjoint_parts_cost_the_worst_few():
    parts = [Concentrated(1), Concentrated(2), Pure(1), Pure(1)]
    assert rho(Worst.of(parts, touched=1)) == 2
    assert rho(Worst.of(parts, touched=3)) == 3 + rho(Pure(1))


def test_approximate_has_no_rho():
    with pytest.raises(LossError, match=r"no zCDP cost.*delta"):
        rho(Pure(1) + Approximate(1, "1e-9"))
    assert approximate_rho(Approximate(1, "1e-9")) == rho(Pure(1))
    assert rho(Approximate(1, 0)) == rho(Pure(1))


class Unheard(Loss):
    """A loss of somebody else."""


class Similar(Pure):
    """A subclass is not its parent: it may mean something else."""


@pytest.mark.parametrize("loss", [Unheard(), Similar(1), None, 0.5, Unheard() * 2])
@pytest.mark.parametrize("view", [rho, approximate_rho])
def test_unknown_losses_are_not_guessed(loss, view):
    with pytest.raises(LossError, match="not a loss"):
        view(loss)


def test_many_different_parts_do_not_slow_the_sum_down():
    losses = [Pure(Fraction(1, 10**6 + i)) for i in range(2000)]
    losses += [GaussianShift(Fraction(10**6 + i, 7), 1) for i in range(2000)]
    cost = rho(Composed.of(losses))
    exact = math.fsum(float(rho(loss)) for loss in losses)
    assert float(cost) == pytest.approx(exact, rel=1e-12)
    assert cost.denominator.bit_length() < 5000
