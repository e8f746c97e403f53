"""Accounting: monotone, order-free, sound against independent sums, and a filter nobody outwits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.accounting import (
    Limits,
    Sums,
    calibrate,
    charge,
    compose,
    fits,
    parallel,
    remaining,
    rho,
    rho_within,
    spend,
    zcdp_delta,
    zcdp_epsilon,
)
from sfumato.accounting.curve import delta, epsilon
from sfumato.accounting.gaussian import gaussian_delta, gaussian_epsilon
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.core.budget import Budget
from sfumato.core.codec import decode, encode
from sfumato.core.errors import BudgetExceeded
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Pure,
)

UNIT = 10**18
epsilons = st.fractions(0, 5, max_denominator=1000)
scales = st.fractions("1/10", 1000, max_denominator=100)
shifts = st.integers(0, 50)
deltas = st.builds(lambda m, e: Fraction(m, 10**e), st.integers(1, 9), st.integers(1, 40))
leaves = st.one_of(
    epsilons.map(Pure),
    epsilons.map(BoundedRange),
    epsilons.map(lambda e: Concentrated(e / 10)),
    st.builds(LaplaceShift, scales, shifts, st.integers(1, 50)),
    st.builds(GaussianShift, scales, shifts, st.booleans()),
    st.builds(Approximate, epsilons, deltas.map(lambda d: d / 10**6)),
)
losses = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(compose),
        st.builds(
            lambda p, m: parallel(p, shared=m, presence=True),
            st.lists(parts, max_size=4),
            st.integers(1, 3),
        ),
        st.builds(lambda part, times: part * times, parts, st.integers(0, 30)),
    ),
    max_leaves=6,
)
certain = losses.filter(lambda loss: not own_delta(loss))


@given(certain, certain)
def test_rho_adds_up_in_any_order(a, b):
    assert rho(a + b) == rho(b + a)
    assert float(rho(a + b)) == pytest.approx(float(rho(a) + rho(b)), rel=1e-12)


@given(losses, deltas, deltas)
def test_epsilon_falls_as_delta_grows(loss, a, b):
    low, high = sorted((a, b))
    assume(own_delta(loss) < low)
    assert epsilon(loss, low) >= epsilon(loss, high) >= 0


@given(losses, st.fractions(0, 30, max_denominator=10**6), st.fractions(0, 30))
def test_delta_falls_as_epsilon_grows(loss, a, b):
    low, high = sorted((a, b))
    assert 1 >= delta(loss, low) >= delta(loss, high) * (1 - Fraction(1, 10**10)) >= 0


@given(losses, deltas)
def test_epsilon_and_delta_are_two_sides_of_one_curve(loss, target):
    assume(own_delta(loss) < target)
    found = epsilon(loss, target)
    assert delta(loss, found) <= target * (1 + Fraction(1, 10**8))


@given(losses, losses, deltas)
def test_more_loss_is_never_cheaper(a, b, target):
    assume(own_delta(a + b) < target)
    assert epsilon(a + b, target) * (1 + Fraction(1, 10**8)) >= epsilon(a, target)


@given(st.lists(certain, min_size=1, max_size=5), st.integers(1, 3), deltas)
def test_parallel_is_never_below_the_parts_that_one_unit_touches(parts, shared, target):
    whole = parallel(parts, shared=shared, presence=True)
    touched = sorted(parts, key=rho, reverse=True)[:shared]
    slack = 1 + Fraction(1, 10**9)
    assert rho(whole) * slack >= rho(compose(touched))
    assert epsilon(whole, target) * slack >= max(epsilon(part, target) for part in parts)


@given(losses)
def test_compositions_and_worst_parts_survive_their_bytes(loss):
    assert decode(encode(loss)) == loss


@given(st.fractions("1e-6", 50), deltas)
def test_rho_within_is_the_inverse_of_its_conversion(limit, target):
    found = rho_within(limit, target)
    assert zcdp_epsilon(found, target) <= limit
    assert zcdp_delta(found, limit) <= target


def hockey_stick(sigma, shift, limit):
    """Sum the part of the discrete Gaussian above e^ε times its shift, in floats."""
    variance = float(sigma) ** 2
    reach = math.ceil(12 * float(sigma)) + shift + 2
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    log = -x * x / (2 * variance)
    ratio = float(limit) + (2 * x * shift - shift * shift) / (2 * variance)
    gap = -np.expm1(np.minimum(ratio, 0)) * np.exp(log)
    return math.fsum(gap) / math.fsum(np.exp(log))


@given(
    st.fractions("1/3", 120, max_denominator=50),
    st.integers(1, 60),
    st.fractions(0, 8, max_denominator=50),
)
def test_gaussian_delta_is_the_hockey_stick(sigma, shift, limit):
    truth = hockey_stick(sigma, shift, limit)
    assume(truth > 1e-25)
    found = float(gaussian_delta(sigma, shift, limit))
    assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-7)


@given(st.integers(1, 2**60), st.integers(1, 2**30), deltas)
def test_gaussian_epsilon_holds_at_any_width(width, shift, target):
    sigma = Fraction(width, 2**20)
    found = gaussian_epsilon(sigma, shift, target)
    assert gaussian_delta(sigma, shift, found) <= target
    assert found <= zcdp_epsilon(Fraction(shift) ** 2 / (2 * sigma**2), target) * (
        1 + Fraction(1, 10**9)
    )


def divergence(k, scale):
    """Enclose ρ of discrete Laplace noise by the formula as published, in many digits."""
    step = Interval.of(1 / scale, 100)
    p, power = (-step).exp(), (-(k * step)).exp()
    return step * (k - 2 * p * (1 - power) / ((1 + p) * (1 - p)))


@given(st.fractions("1/50", 10**6), st.integers(1, 10**6))
def test_laplace_rho_is_just_above_the_divergence(scale, k):
    truth = divergence(k, scale)
    cost = rho(LaplaceShift(scale, k, k))
    assert Fraction(truth.high) <= cost <= Fraction(truth.low) * (1 + Fraction(1, 10**9))


@given(
    st.sampled_from(
        [
            lambda t: LaplaceShift(t, 7, 3),
            lambda t: GaussianShift(t, 1, scalar=True),
            lambda t: GaussianShift(t, 10**8, scalar=True),
            lambda t: GaussianShift(t, 5),
        ]
    ),
    st.fractions("1/1000", 10, max_denominator=1000).filter(bool),
    deltas,
)
@settings(max_examples=25)
def test_calibrated_noise_is_within_its_target(loss_of, target, failure):
    noise = calibrate(loss_of, epsilon=target, delta=failure, low="1e-6", high="1e12")
    assert epsilon(loss_of(noise), failure) <= target
    noise = calibrate(loss_of, rho=target, low="1e-6", high="1e12")
    assert rho(loss_of(noise)) <= target


budgets = st.one_of(
    st.builds(Budget, st.fractions("1/10", 10)),
    st.builds(lambda r: Budget(rho=r), st.fractions("1/100", 2)),
    st.builds(Budget, st.fractions("1/10", 10), deltas.filter(lambda d: d > Fraction(1, 10**15))),
)
requests = st.lists(st.tuples(leaves, st.just(0) | deltas.map(lambda d: d / 1000)), max_size=40)


def true_costs(loss, failure):
    """Recompute ε, ρ and δ of one request exactly, without the grid."""
    own = own_delta(loss)
    cost = basic_epsilon(loss)
    if failure > own and (cost is None or epsilon(loss, failure) < cost):
        return epsilon(loss, failure), rho_of(loss), failure
    return cost, rho_of(loss), own


def rho_of(loss):
    return rho(Pure(loss.epsilon) if isinstance(loss, Approximate) else loss)


@given(budgets, requests, st.randoms(use_true_random=False))
def test_filter_admits_nothing_beyond_the_budget(budget, asked, policy):
    limits = Limits.of(budget)
    spent, taken, prices = Sums(), [], []
    for planned, chosen in asked:
        # The analyst looks at what is left and picks a size: half of the time just above it.
        left, loss = remaining(spent, budget).largest, planned
        if left and policy.random() < 0.5:
            loss = Pure(left * policy.choice([Fraction(1), 1 + Fraction(1, 10**6)]))
        failure = max(chosen, own_delta(loss)) if chosen else 0
        price = charge(loss, failure)
        before = encode(spent)
        try:
            spent = spend(spent, price, budget)
        except BudgetExceeded:
            assert encode(spent) == before
            assert not fits(spent, price, limits)
        else:
            taken.append(true_costs(loss, failure))
            prices.append(price)
    assert limits.admit(spent)
    shuffled = Sums()
    for price in policy.sample(prices, len(prices)):
        shuffled = shuffled + price
    assert shuffled == spent

    failures = sum(cost[2] for cost in taken)
    by_epsilon = all(cost[0] is not None for cost in taken) and budget.epsilon is not None
    basic = by_epsilon and sum(cost[0] for cost in taken) <= budget.epsilon
    total = sum(cost[1] for cost in taken)
    if budget.rho is not None:
        assert failures == 0
        assert total <= budget.rho
    elif not budget.delta:
        assert failures == 0
        assert basic
    else:
        assert failures <= budget.delta / 2
        assert basic or zcdp_epsilon(total, budget.delta / 2) <= budget.epsilon


@given(st.lists(leaves, max_size=20), st.integers(2, 5))
def test_charging_parts_costs_at_least_the_whole(parts, times):
    whole = Composed.of(parts, times=times)
    price, spent = charge(whole), Sums()
    for part in parts * times:
        spent = spent + charge(part)
    assert spent.rho >= price.rho
    assert spent.delta >= price.delta
    assert (spent.epsilon is None) == (price.epsilon is None)
    if price.epsilon is not None:
        assert 0 <= spent.epsilon - price.epsilon <= len(parts) * times
