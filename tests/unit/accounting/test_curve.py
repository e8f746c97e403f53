"""ε for a δ and δ for an ε: the least of the methods, sound where losses are mixed."""

import math
from fractions import Fraction

import pytest

from sfumato.accounting import compose, rho, zcdp_delta, zcdp_epsilon
from sfumato.accounting.curve import delta, epsilon
from sfumato.accounting.gaussian import gaussian_delta, gaussian_epsilon
from sfumato.core.errors import LossError, NumberError, RangeError
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

MICRO = Fraction(1, 10**6)
NOISE = GaussianShift(4, 1, scalar=True)


@pytest.mark.parametrize(
    ("loss", "cost"),
    [
        (Pure("0.1") * 10, 1),
        (LaplaceShift(10, 3, 1), Fraction(3, 10)),
        (LaplaceShift(10, 0, 0), 0),
        (BoundedRange(2) + Pure(1), 3),
        (Composed.of([]), 0),
        (GaussianShift(4, 0) + Concentrated(0) + Pure(1), 1),
        (Approximate(1, 0), 1),
    ],
)
def test_pure_epsilon_adds_up_exactly(loss, cost):
    assert epsilon(loss) == cost
    assert delta(loss, cost) == 0


def test_many_small_losses_cost_less_with_a_delta():
    loss = compose([Pure("0.1")] * 100)
    assert epsilon(loss, "1e-6") == zcdp_epsilon(100 * rho(Pure("0.1")), MICRO) < 6
    assert epsilon(loss) == 10
    assert delta(loss, 6) == zcdp_delta(100 * rho(Pure("0.1")), 6)


def test_few_large_losses_cost_their_sum():
    assert epsilon(Pure(1) * 4, "1e-6") == 4


def test_one_scalar_gaussian_is_exact():
    assert epsilon(NOISE, MICRO) == gaussian_epsilon(Fraction(4), 1, MICRO)
    assert epsilon(NOISE, MICRO) < zcdp_epsilon(Fraction(1, 32), MICRO)
    assert delta(NOISE, 1) == gaussian_delta(Fraction(4), 1, Fraction(1))


@pytest.mark.parametrize("tiny", ["1e-399", "1e-400", "1e-401", "1e-999", Fraction(1, 10**3000)])
def test_a_delta_however_small_gives_an_epsilon(tiny):
    assert epsilon(NOISE, "1e-398") <= epsilon(NOISE, tiny)
    assert epsilon(NOISE, tiny) <= zcdp_epsilon(rho(NOISE), tiny)


def test_a_scalar_moves_by_whole_numbers():
    assert epsilon(GaussianShift(4, "3.9", scalar=True), MICRO) == epsilon(NOISE, MICRO)
    assert epsilon(GaussianShift(4, "0.5", scalar=True), MICRO) == 0


def test_vectors_and_repeated_gaussians_go_by_rho():
    for loss in (GaussianShift(4, 2), NOISE * 2, Concentrated("1/16")):
        assert epsilon(loss, MICRO) == zcdp_epsilon(Fraction(1, 16), MICRO)


def test_pure_parts_are_added_where_that_is_better():
    loss = Pure(8) + GaussianShift(10, 1)
    assert epsilon(loss, MICRO) == 8 + zcdp_epsilon(Fraction(1, 200), MICRO)
    assert epsilon(Pure(8) + NOISE, MICRO) == 8 + epsilon(NOISE, MICRO)
    assert delta(Pure(8) + NOISE, 9) == delta(NOISE, 1)
    assert delta(loss, 9) == zcdp_delta(Fraction(1, 200), 1)


def test_delta_of_approximate_parts_is_taken_off():
    keys = Approximate(1, "4e-7")
    assert epsilon(keys, "4e-7") == 1
    assert epsilon(keys + NOISE, MICRO) == 1 + epsilon(NOISE, "6e-7")
    assert delta(keys + NOISE, 2) == Fraction(4, 10**7) + delta(NOISE, 1)
    many = Approximate("0.01", "1e-9") * 500
    assert epsilon(many, MICRO) == zcdp_epsilon(500 * rho(Pure("0.01")), "5e-7")


def test_approximate_parts_need_their_delta():
    with pytest.raises(LossError, match=r"1e-06.*delta"):
        epsilon(Approximate(1, MICRO), "1e-7")


@pytest.mark.parametrize("loss", [NOISE, Concentrated(1), Pure(1) + NOISE])
def test_gaussian_noise_needs_a_delta(loss):
    with pytest.raises(LossError, match=r"delta='1e-6'"):
        epsilon(loss)


def test_gaussian_noise_needs_a_delta_beyond_that_of_approximate_parts():
    with pytest.raises(LossError, match="above that"):
        epsilon(Approximate(1, MICRO) + NOISE, MICRO)


def test_disjoint_parts_cost_the_worst_of_them_in_every_view():
    parts = [Pure(2), Concentrated("0.1"), NOISE, Approximate(1, "1e-7")]
    worst = Worst.of(parts, touched=1)
    assert epsilon(worst, MICRO) == max(epsilon(part, MICRO) for part in parts)
    assert delta(worst, 1) == max(delta(part, 1) for part in parts)
    two = Worst.of(parts, touched=2)
    pairs = [a + b for a in parts for b in parts if a is not b]
    assert epsilon(two, MICRO) >= max(epsilon(pair, MICRO) for pair in pairs)
    assert delta(two, 3) >= max(delta(pair, 3) for pair in pairs)


def test_disjoint_parts_inside_a_composition_add_up():
    worst = Worst.of([Pure(1), Pure(2), Concentrated(1)], touched=1)
    assert epsilon(worst + NOISE, MICRO) >= epsilon(Concentrated(1) + NOISE, MICRO)
    assert epsilon(worst + NOISE, MICRO) >= epsilon(Pure(2) + NOISE, MICRO)


def test_delta_says_nothing_at_worst():
    assert delta(Pure(100) * 10**6, 0) == 1
    assert delta(Concentrated(10**9), 1) == 1


def randomized_response(k, each, total):
    """Return δ at ε = total of k-fold randomized response, the worst of all ε-DP mechanisms."""
    return math.fsum(
        math.comb(k, i)
        * math.exp(i * each)
        / (1 + math.exp(each)) ** k
        * -math.expm1(total - (2 * i - k) * each)
        for i in range(k + 1)
        if (2 * i - k) * each > total
    )


@pytest.mark.parametrize(("k", "each"), [(10, 0.1), (100, 0.1), (200, 0.02), (30, 1.0)])
@pytest.mark.parametrize("loss", [Pure, lambda e: LaplaceShift(1 / e, 1, 1)])
def test_bounds_lie_above_the_exact_composition(k, each, loss):
    exact = Fraction(str(each))
    whole = loss(exact) * k
    for share in (0.1, 0.3, 0.6, 0.9):
        total = share * k * each
        truth = randomized_response(k, each, total)
        assert float(delta(whole, total)) >= truth * (1 - 1e-9)
        if truth > 1e-300:
            assert float(epsilon(whole, truth)) >= total * (1 - 1e-9)


class Unheard(Loss):
    """A loss of somebody else."""


@pytest.mark.parametrize("loss", [Unheard(), Pure(1) + Unheard(), "pure", None])
def test_unknown_losses_are_not_guessed(loss):
    with pytest.raises(LossError, match="not a loss"):
        epsilon(loss, MICRO)
    with pytest.raises(LossError, match="not a loss"):
        delta(loss, 1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, "1e", None, True, "٣"])
def test_bad_numbers_are_refused(bad):
    with pytest.raises((NumberError, RangeError)):
        epsilon(Pure(1), bad)
    with pytest.raises((NumberError, RangeError)):
        delta(Pure(1), bad)


@pytest.mark.parametrize("bad", [1, "1.0", 2, 10**30])
def test_delta_must_be_below_one(bad):
    with pytest.raises(RangeError, match="below 1"):
        epsilon(Pure(1), bad)
