"""The filter: what fits, what is refused, what a refusal says."""

import time
from fractions import Fraction
from itertools import permutations

import pytest

from sfumato.accounting import (
    Charge,
    Limits,
    Sums,
    charge,
    epsilon,
    fits,
    remaining,
    rho,
    rho_within,
    spend,
)
from sfumato.accounting.grid import units_up
from sfumato.accounting.sums import Remaining
from sfumato.core.budget import Budget
from sfumato.core.codec import decode, encode
from sfumato.core.errors import (
    BudgetExceeded,
    CostError,
    LossError,
    NeighborsError,
    NumberError,
    RangeError,
    UnitError,
)
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Loss,
    Pure,
    Worst,
)

UNIT = 10**18
BUDGET = Budget(epsilon=4, delta="1e-6")
NOISE = GaussianShift(10, 1, scalar=True)


def admitted(loss, limit, most=1000):
    """Count how often a loss fits, one after the other."""
    spent = Sums()
    for count in range(most):
        if not fits(spent, loss, limit):
            return count
        spent = spend(spent, loss, limit)
    return most


@pytest.mark.parametrize("loss", [Pure("0.1"), LaplaceShift(10, 1, 1), LaplaceShift(20, 2, 1)])
def test_ten_tenths_fit_one_and_the_eleventh_does_not(loss):
    assert admitted(loss, Budget(epsilon=1)) == 10


def test_a_million_millionths_fit_one_exactly():
    price = charge(Pure("1e-6"))
    assert price.epsilon * 10**6 == UNIT
    assert fits(Sums(price.epsilon * (10**6 - 1), 0, 0), price, Budget(epsilon=1))
    assert not fits(Sums(price.epsilon * 10**6, 0, 0), price, Budget(epsilon=1))
    assert charge(Pure("1e-6") * 10**6).epsilon == UNIT


@pytest.mark.parametrize(
    ("loss", "count"),
    [
        (LaplaceShift(1, 1, 1), 4),  # by Σε
        (LaplaceShift(10, 1, 1), 59),  # by Σρ
        (GaussianShift(10, 1), 59),
        (GaussianShift(1, 1), 0),
        (BoundedRange("0.2"), 59),
        (Approximate("0.1", "1e-9"), 59),
        (Approximate("0.1", "1e-7"), 5),  # by Σδ
        (Pure("4.1"), 0),
    ],
)
def test_either_sum_admits(loss, count):
    assert admitted(loss, BUDGET) == count


def test_limits_are_exact_to_the_last_unit():
    limits = Limits.of(BUDGET)
    closed = 10**30  # far beyond the other limit
    for within, beyond in (
        (Charge(limits.epsilon, closed), Charge(limits.epsilon + 1, closed)),
        (Charge(closed, limits.rho), Charge(closed, limits.rho + 1)),
        (Charge(None, limits.rho), Charge(None, limits.rho + 1)),
        (Charge(0, 0, limits.delta), Charge(0, 0, limits.delta + 1)),
    ):
        assert fits(Sums(), within, BUDGET)
        assert not fits(Sums(), beyond, BUDGET)


def test_a_pure_budget_counts_epsilon_only():
    assert admitted(LaplaceShift(10, 1, 1), Budget(epsilon=4)) == 40
    assert admitted(GaussianShift(1000, 1), Budget(epsilon=4)) == 0
    assert admitted(Approximate("0.1", "1e-18"), Budget(epsilon=4)) == 0


def test_a_rho_budget_counts_rho_only():
    assert admitted(GaussianShift(10, 1), Budget(rho="0.05")) == 10
    assert admitted(Concentrated("0.005"), Budget(rho="0.05")) == 10
    assert admitted(Pure(1), Budget(rho=1)) == 2
    assert admitted(Approximate("0.1", "1e-18"), Budget(rho=1)) == 0


def test_a_budget_is_split_once():
    limits = Limits.of(BUDGET)
    assert limits.epsilon == 4 * UNIT
    assert limits.delta == limits.conversion == UNIT // (2 * 10**6)
    assert limits.rho == rho_within(4, "5e-7") * UNIT
    assert Limits.of(limits) is limits
    assert Limits.of(Budget(epsilon=1)) == Limits(UNIT, None)
    assert Limits.of(Budget(rho=1)) == Limits(None, UNIT)


def test_a_delta_below_the_grid_is_none():
    assert Limits.of(Budget(epsilon=1, delta="1e-18")) == Limits(UNIT, None)


def test_limits_round_down_and_charges_up():
    third = Limits.of(Budget(epsilon="1/3")).epsilon
    assert Fraction(third, UNIT) < Fraction(1, 3) < Fraction(charge(Pure("1/3")).epsilon, UNIT)


@pytest.mark.parametrize(
    "loss",
    [
        Pure("0.3"),
        Pure(0),
        Pure("1e-12"),
        Pure(40),
        LaplaceShift(7, 3, 2),
        LaplaceShift(7, 0, 0),
        LaplaceShift(7, 0, 3),
        LaplaceShift("0.1", 100, 100),
        BoundedRange(1),
        Pure(1) + BoundedRange(1) * 3,
        Worst.of([Pure(1), BoundedRange(2), LaplaceShift(1, 1, 1)], touched=2),
    ],
)
def test_charge_is_the_cost_rounded_up_once(loss):
    price = charge(loss)
    assert price.epsilon == units_up(epsilon(loss))
    assert 0 <= units_up(rho(loss)) - price.rho <= 1
    assert price.delta == 0


def test_gaussian_is_charged_in_one_view_or_with_a_delta_in_both():
    assert charge(NOISE) == Charge(None, UNIT // 200)
    both = charge(NOISE, "1e-7")
    assert both.epsilon == units_up(epsilon(NOISE, "1e-7"))
    assert both.rho == UNIT // 200
    assert both.delta == UNIT // 10**7


def test_delta_is_charged_only_if_it_helps():
    assert charge(Pure(1), "1e-7") == charge(Pure(1))
    many = charge(Pure("0.1") * 100, "1e-7")
    assert many.delta == UNIT // 10**7
    assert many.epsilon < 6 * UNIT
    assert many.rho == charge(Pure("0.1") * 100).rho


def test_approximate_parts_are_charged_with_their_own_delta():
    keys = Approximate(1, "1e-9")
    assert charge(keys) == Charge(UNIT, charge(Pure(1)).rho, 10**9)
    assert charge(keys + NOISE, "1e-8").delta == 10**10
    assert charge(keys + NOISE) == Charge(None, charge(Pure(1)).rho + UNIT // 200, 10**9)
    with pytest.raises(LossError, match="below"):
        charge(keys, "1e-10")


def test_sums_do_not_depend_on_the_order():
    prices = [charge(Pure("1/3")), charge(NOISE), charge(NOISE, "1e-9"), Charge(5, None, 7)]
    totals = {sum_up(order) for order in permutations(prices)}
    assert len(totals) == 1
    assert totals.pop() == Sums(None, None, 10**9 + 7, "add_remove")


def sum_up(prices):
    spent = Sums()
    for price in prices:
        spent = spent + price
    return spent


def test_a_view_without_a_figure_stays_closed():
    spent = Sums() + charge(NOISE)
    assert spent.epsilon is None
    assert (spent + charge(Pure("0.1"))).epsilon is None
    assert remaining(spent, BUDGET).epsilon is None
    assert fits(spent, Pure("0.1"), BUDGET)
    assert not fits(spent, Pure(2), BUDGET)


def test_refusal_leaves_the_sums_as_they_were():
    spent = spend(Sums(), Pure("3.5"), BUDGET)
    before = encode(spent)
    with pytest.raises(BudgetExceeded):
        spend(spent, Pure(1), BUDGET)
    assert encode(spent) == before
    assert fits(spent, Pure("0.5"), BUDGET)


def test_refusal_says_what_is_left_and_carries_it():
    spent = spend(Sums(), Pure("3.69"), BUDGET)
    with pytest.raises(BudgetExceeded) as caught:
        spend(spent, Pure("0.5"), BUDGET)
    error = caught.value
    assert str(error) == (
        "this release costs ε = 0.5; 0.31 of 4 remains, or ρ = 0.1225; 0 of 0.2961 remains. "
        "Ask for epsilon <= 0.31, or let the owner raise the budget. [E401]"
    )
    assert error.asked == charge(Pure("0.5"))
    assert error.left == remaining(spent, BUDGET)
    assert error.left.epsilon == Fraction(31, 100)
    assert error.limit == BUDGET


def test_refusal_rounds_so_that_its_advice_fits():
    with pytest.raises(BudgetExceeded, match=r"ε = 0\.3334; 0\.3333 of 0\.3333 remains"):
        spend(Sums(), Pure("1/3"), Budget(epsilon="1/3"))


@pytest.mark.parametrize(
    ("spent", "loss", "limit", "said"),
    [
        (Sums(), Approximate(1, "1e-6"), BUDGET, r"δ = 1e-06; 5e-07 of 5e-07 remains \(the other"),
        (Sums(), Approximate(1, "1e-9"), Budget(rho=1), r"the budget has no δ\. Ask without one"),
        (Sums(), NOISE, Budget(epsilon=1), r"has no ε.*set its ε and δ"),
        (Sums(None, 0), NOISE * 99, BUDGET, r"costs ρ = 0\.495; 0\.2961 of 0\.2961 remains"),
        (Sums(4 * UNIT, None), Pure(1), BUDGET, r"ε = 1; 0 of 4 remains\. Let the owner"),
        (Sums(None, 0), Pure(1), Budget(epsilon=1), r"cannot be added"),
    ],
)
def test_refusal_names_the_reason(spent, loss, limit, said):
    with pytest.raises(BudgetExceeded, match=said):
        spend(spent, loss, limit)


def test_advice_of_a_refusal_can_be_followed():
    spent = Sums()
    for _ in range(59):
        spent = spend(spent, Pure("0.1"), BUDGET)
    left = remaining(spent, BUDGET)
    assert left.epsilon == 0
    assert Fraction(5, 100) < left.largest < Fraction(1, 10)
    assert fits(spent, Pure(left.largest), BUDGET)
    assert not fits(spent, Pure(left.largest * Fraction(11, 10)), BUDGET)


def test_remaining_shows_both_views():
    left = remaining(Sums(), BUDGET)
    assert (left.epsilon, left.rho) == (4, rho_within(4, "5e-7"))
    assert str(left) == "ε = 4 or ρ = 0.2961, with δ = 5e-07"
    assert str(remaining(Sums(), Budget(epsilon=1))) == "ε = 1"
    assert str(remaining(Sums(None, 0), Budget(epsilon=1))) == "nothing"
    assert remaining(Sums(None, 0), Budget(epsilon=1)).largest == 0


def test_two_relations_do_not_add_up():
    spent = spend(Sums(), Pure(1), BUDGET)
    with pytest.raises(NeighborsError, match=r"add_remove.*replace"):
        fits(spent, Pure(1, neighbors="replace"), BUDGET)
    with pytest.raises(NeighborsError):
        spend(spent, charge(Pure(1, neighbors="replace")), BUDGET)


@pytest.mark.parametrize(
    "value",
    [Sums(), Sums() + charge(NOISE), charge(Pure(10**6)), Limits.of(BUDGET), charge(NOISE, "1e-9")],
)
def test_figures_survive_their_bytes(value):
    assert decode(encode(value)) == value


@pytest.mark.parametrize("bad", [-1, 1.0, True, "1", float("nan"), Fraction(1)])
def test_forged_figures_are_refused(bad):
    for make in (Charge, Sums, Limits):
        for figures in ((bad, 0, 0), (0, bad, 0), (0, 0, bad)):
            with pytest.raises(RangeError, match="whole numbers"):
                make(*figures)
    with pytest.raises(RangeError):
        Limits(0, 0, 0, bad)
    with pytest.raises(RangeError):
        Sums(0, 0, None)


def test_a_charge_needs_a_view_and_a_relation():
    with pytest.raises(LossError, match="an ε or a ρ"):
        Charge(None, None)
    for make in (Charge, Sums):
        with pytest.raises(UnitError):
            make(0, 0, 0, "sideways")


class Unheard(Loss):
    """A loss of somebody else."""


@pytest.mark.parametrize("loss", [Unheard(), None, 1, [Pure(1)], "1"])
def test_unknown_losses_are_not_charged(loss):
    for call in (charge, lambda new: fits(Sums(), new, BUDGET)):
        with pytest.raises(LossError):
            call(loss)


@pytest.mark.parametrize("limit", [None, 1, "4", {"epsilon": 1}])
def test_a_limit_must_be_a_budget(limit):
    for call in (fits, spend):
        with pytest.raises(CostError, match="not a budget"):
            call(Sums(), Pure(1), limit)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 1, "x", None, True, False])
def test_bad_deltas_are_refused(bad):
    with pytest.raises((NumberError, RangeError)):
        charge(Pure(1), bad)


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["same", "different", "laplace"])
def test_charges_cost_the_same_however_many_were_made(kind):
    make = {
        "same": lambda i: Pure(Fraction(1, 10**6)),
        "different": lambda i: Pure(Fraction(10**9 + i, 10**16)),
        "laplace": lambda i: LaplaceShift(Fraction(10**7 + i), 3, 2),
    }[kind]
    losses = [make(i) for i in range(100_000)]
    limits, took = Limits.of(BUDGET), []
    for part in (losses[:20_000], losses):
        spent, start = Sums(), time.process_time()
        for loss in part:
            spent = spend(spent, loss, limits)
        took.append(time.process_time() - start)
    assert took[1] < 10 * took[0]  # five times the charges: linear


@pytest.mark.deep
def test_a_million_charges_fit_one_by_one():
    price, limits, spent = charge(Pure("1e-6")), Limits.of(Budget(epsilon=1)), Sums()
    for _ in range(10**6):
        spent = spend(spent, price, limits)
    assert spent.epsilon == UNIT
    with pytest.raises(BudgetExceeded):
        spend(spent, price, limits)


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        (Fraction(3), "3"),
        (3 - Fraction(1, 10**12), "2.999999…"),
        (3 - Fraction(1, 10**18), "2.999999…"),
        (3 - Fraction(1, 10**3), "2.999"),
        (3 - Fraction(1, 10**4), "2.999"),
        (3 - Fraction(1, 10**6), "2.999999…"),
        (Fraction(2, 3), "0.6666"),
        (Fraction(1, 2000) - Fraction(1, 10**15), "0.0004999999…"),
        (Fraction(0), "0"),
        (Fraction(999, 10**18), "9.99e-16"),
    ],
)
def test_what_is_left_is_rounded_down_and_not_far(left, shown):
    assert str(Remaining(left, None, Fraction(0))) == f"ε = {shown}"
    assert Fraction(shown.rstrip("…")) <= left
