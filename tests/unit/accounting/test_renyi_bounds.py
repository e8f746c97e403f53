"""Rényi divergences by closed form, against the same divergences summed over the laws."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.accounting import renyi, renyi_delta, renyi_epsilon, rho, zcdp_epsilon
from sfumato.core.errors import LossError, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
    Worst,
)

sys.path.insert(0, str(Path(__file__).parent))

from law_pairs import (
    divergence,
    exponential,
    gaussian,
    hockey_stick,
    laplace,
    response,
    sampled,
    together,
)

sys.path.pop(0)

ORDERS = [Fraction("1.01"), Fraction("1.5"), 2, 3, Fraction("7.5"), 32]
MICRO = Fraction(1, 10**6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cost", [0.1, 1.0, 4.0])
def test_pure_divergence_is_that_of_randomized_response(cost, order):
    found = float(renyi(Pure(cost), order))
    assert found == pytest.approx(divergence(response(cost), float(order)), rel=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("scale", "shift"), [(0.5, 1), (1.0, 3), (4.0, 2), (4.0, 9)])
def test_laplace_divergence_is_that_of_its_laws(scale, shift, order):
    found = float(renyi(LaplaceShift(scale, shift, shift), order))
    assert found == pytest.approx(divergence(laplace(scale, shift), float(order)), rel=1e-9)


def test_laplace_vectors_are_bounded_however_the_shift_is_spread():
    for order in ORDERS:
        found = float(renyi(LaplaceShift(3, 7, 4), order))
        splits = ([4, 3], [4, 2, 1], [3, 3, 1], [1] * 7, [2, 2, 2, 1], [4, 1, 1, 1])
        sums = [sum(divergence(laplace(3.0, k), float(order)) for k in split) for split in splits]
        assert found == pytest.approx(max(sums), rel=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_continuous_laplace_is_the_limit_of_fine_grids(order):
    fine = renyi(LaplaceShift(10**6, 10**6, 10**6), order)
    limit = renyi(LaplaceTradeoff(1), order)
    assert limit <= fine
    assert float(fine) == pytest.approx(float(limit), rel=1e-5)


@pytest.mark.parametrize("cost", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("order", ORDERS)
def test_bounded_range_covers_every_two_point_pair_and_is_attained(cost, order):
    found = float(renyi(BoundedRange(cost), order))
    worst = max(divergence(exponential(cost, i / 400), float(order)) for i in range(1, 400))
    assert worst <= found * (1 + 1e-9)
    assert found == pytest.approx(worst, rel=2e-3)
    assert found <= float(order) * cost**2 / 8 * (1 + 1e-12)


@pytest.mark.parametrize("order", [Fraction("1.5"), 2, 5, Fraction("20.5"), 600])
def test_gaussian_divergences_are_lines(order):
    assert renyi(GaussianTradeoff("0.5"), order) == Fraction(1, 8) * order
    assert renyi(Concentrated("0.5"), order) == Fraction(1, 2) * order
    assert renyi(GaussianShift(2, 3), order) == Fraction(3, 8) * order


@pytest.mark.parametrize(
    "loss", [Pure(2), BoundedRange(1), LaplaceShift(2, 5, 2), LaplaceTradeoff(3)]
)
def test_divergence_grows_and_stays_below_rho_and_epsilon(loss):
    found = [renyi(loss, order) for order in ORDERS]
    assert found == sorted(found)
    assert all(bound <= order * rho(loss) for bound, order in zip(found, ORDERS, strict=True))


def test_tiny_and_huge_losses_keep_their_bounds():
    for loss in (
        Pure("1e-40"),
        LaplaceShift(10**40, 1, 1),
        LaplaceShift("1e-6", 1, 1),
        Pure(10**6),
    ):
        for order in (Fraction("1.01"), 1000):
            assert 0 < renyi(loss, order) <= order * rho(loss)


def test_compositions_add_up_and_parts_count_the_worst():
    assert renyi(Pure(1) * 3 + LaplaceTradeoff(1), 4) == 3 * renyi(Pure(1), 4) + renyi(
        LaplaceTradeoff(1), 4
    )
    worst = Worst.of([Pure(1), Concentrated(1), Pure(3)], touched=2)
    assert renyi(worst, 8) == renyi(Concentrated(1), 8) + renyi(Pure(3), 8)
    assert renyi(worst, Fraction("1.01")) == renyi(Pure(3), Fraction("1.01")) + renyi(
        Concentrated(1), Fraction("1.01")
    )


def test_a_curve_is_interpolated_by_its_lower_hull():
    truth = LaplaceTradeoff(2)
    curve = Renyi(tuple((order, renyi(truth, order)) for order in (2, 3, 5, 9)))
    for order in (Fraction("1.2"), 2, Fraction("2.5"), 4, 7, 9):
        assert renyi(truth, order) <= renyi(curve, order)
        assert float(renyi(curve, order)) <= float(renyi(truth, order)) * 1.05 or order < 2
    # A later bound that is smaller counts for the orders before it; a bump is cut off.
    assert renyi(Renyi(((2, 1), (3, "0.5"))), 2) == Fraction(1, 2)
    assert renyi(Renyi(((2, "0.1"), (3, "0.9"), (4, "0.9"))), 3) == Fraction("0.7")
    assert renyi(Renyi(((2, 0), (3, 1), (5, "0.5"))), 3) == Fraction(1, 3)
    with pytest.raises(LossError, match="smaller Rényi orders"):
        renyi(Renyi(((2, 1),)), 3)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
@pytest.mark.parametrize(
    ("loss", "pair"),
    [
        (Pure(1), response(1.0)),
        (LaplaceShift(1, 2, 2), laplace(1.0, 2)),
        (GaussianShift(1, 1, scalar=True), gaussian(1.0, 1)),
        (GaussianShift(2, 9), gaussian(2.0, 3)),
        (Pure(1) + LaplaceShift(2, 1, 1), together(response(1.0), laplace(2.0, 1))),
    ],
    ids=["response", "laplace", "gaussian", "vector", "both"],
)
def test_samples_are_bounded_in_both_directions(loss, pair, rate):
    spread = PoissonSampled(loss, rate)
    for order in (Fraction("1.3"), 2, Fraction("2.5"), 3, 5, 12):
        truth = divergence(sampled(pair, rate), float(order))
        assert truth <= float(renyi(spread, order)) * (1 + 1e-9)
    # At integers the sum is the divergence itself, where the mechanism's own is known exactly.
    if not isinstance(loss, GaussianShift):
        assert float(renyi(spread, 3)) == pytest.approx(
            divergence(sampled(pair, rate), 3), rel=1e-9
        )


@pytest.mark.parametrize("rate", [0.02, 0.3])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.7, 0.99])
def test_samples_of_pairs_without_a_mirror_are_bounded(share, rate):
    pair = exponential(1.5, share)
    curve = Renyi(tuple((n, str(divergence(pair, n) * (1 + 1e-9))) for n in range(2, 17)))
    for order in (2, 3, 8, 16):
        truth = divergence(sampled(pair, rate), order)
        assert truth <= float(renyi(PoissonSampled(curve, rate), order)) * (1 + 1e-9)
        assert truth <= float(renyi(PoissonSampled(BoundedRange(1.5), rate), order)) * (1 + 1e-9)


def test_a_sample_never_costs_more_than_the_whole():
    for loss in (Pure(1), Concentrated(1), LaplaceShift(1, 5, 2), GaussianTradeoff(1) * 3):
        for order in (Fraction("1.5"), 4, 700):
            bounds = [renyi(PoissonSampled(loss, rate), order) for rate in (0, "0.01", "0.5", 1)]
            assert bounds == sorted(bounds)
            assert bounds[0] == 0
            assert bounds[-1] == renyi(loss, order)
    inner = PoissonSampled(PoissonSampled(Pure(1), "0.5"), "0.5")
    assert renyi(inner, 2) <= renyi(PoissonSampled(Pure(1), "0.5"), 2)


def test_a_sample_of_a_short_curve_is_bounded_as_far_as_it_goes():
    loss = PoissonSampled(Renyi(((2, "0.1"), (4, "0.3"))), "0.1")
    assert renyi(loss, 4) < Fraction("0.3")
    with pytest.raises(LossError, match="smaller Rényi orders"):
        renyi(loss, 5)


def test_sampled_gaussian_is_the_published_sum():
    n, rate, sigma = 8, 0.01, 2.0
    total = math.fsum(
        math.comb(n, k) * (1 - rate) ** (n - k) * rate**k * math.exp((k * k - k) / (2 * sigma**2))
        for k in range(n + 1)
    )
    found = renyi(PoissonSampled(GaussianTradeoff("0.5"), "0.01"), n)
    assert float(found) == pytest.approx(math.log(total) / (n - 1), rel=1e-12)


@pytest.mark.parametrize("failure", ["1e-3", "1e-6", "1e-12"])
@pytest.mark.parametrize(
    ("loss", "pair"),
    [
        (Pure(1) * 2, together(response(1.0), response(1.0))),
        (LaplaceShift(2, 3, 3) * 2, together(*[laplace(2.0, 3, 40)] * 2)),
        (PoissonSampled(Pure(2), "0.2") * 3, together(*[sampled(response(2.0), 0.2)] * 3)),
    ],
)
def test_epsilon_and_delta_are_never_below_the_truth(loss, pair, failure):
    cost = renyi_epsilon(loss, failure)
    assert hockey_stick(pair, float(cost)) <= float(failure)
    assert renyi_delta(loss, cost) <= Fraction(failure) * (1 + MICRO)
    for point in (0, 0.3, 1.0, 2.5):
        assert hockey_stick(pair, point) <= float(renyi_delta(loss, point)) * (1 + 1e-9)


def test_rho_is_never_better():
    for loss in (
        Pure("0.1") * 100,
        LaplaceShift(3, 5, 2) * 20,
        Concentrated("0.3"),
        BoundedRange(1) * 9,
    ):
        assert renyi_epsilon(loss, MICRO) <= zcdp_epsilon(rho(loss), MICRO) * (1 + MICRO)


def test_approximate_parts_pay_their_own_delta():
    loss = Approximate("0.1", "1e-9") * 100
    assert renyi_epsilon(loss, MICRO) == renyi_epsilon(
        Pure("0.1") * 100, MICRO - Fraction(1, 10**7)
    )
    assert renyi_delta(loss, 3) == renyi_delta(Pure("0.1") * 100, 3) + Fraction(1, 10**7)
    with pytest.raises(LossError, match="leaves nothing"):
        renyi_epsilon(loss, "1e-7")
    with pytest.raises(LossError, match="fail with probability"):
        renyi(loss, 2)


def test_nothing_costs_nothing():
    for loss in (
        Pure(0),
        BoundedRange(0),
        LaplaceTradeoff(0),
        LaplaceShift(1, 0, 0),
        GaussianTradeoff(0),
        PoissonSampled(Pure(1), 0),
    ):
        assert renyi(loss, 2) == 0
        assert renyi_epsilon(loss, MICRO) == 0


@pytest.mark.parametrize("order", [1, "0.5", 0, -3])
def test_orders_are_above_one(order):
    with pytest.raises(RangeError, match="must be above 1"):
        renyi(Pure(1), order)


def test_unknown_losses_are_refused():
    with pytest.raises(LossError, match="can account for"):
        renyi(Loss(), 2)
    with pytest.raises(LossError, match="close to 1"):
        renyi_epsilon(Renyi((("1.001", 1),)), MICRO)
