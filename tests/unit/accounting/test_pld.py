"""Privacy loss distributions against exact sums, written here in 60 digits and by other means."""

import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting import pld
from sfumato.core.errors import LossError, MissingExtra, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
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
from sfumato.core.unit import Neighbors

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628")


def decimal(number):
    """Write a rational in the digits of the context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def two_outcomes(p, q, count, epsilon):
    """Return δ of `count` coins that fall with probability p or q: a binomial sum."""
    factor, total, ways = decimal(epsilon).exp(), Decimal(0), Decimal(1)
    for i in range(count + 1):
        one = ways * p**i * (1 - p) ** (count - i)
        total += max(one - factor * ways * q**i * (1 - q) ** (count - i), 0)
        ways = ways * (count - i) / (i + 1)
    return total


def response(cost, count, epsilon, lost=0):
    """Return δ of `count` randomized responses, each of which fails with probability `lost`."""
    grown = decimal(cost).exp()
    kept = (1 - decimal(Fraction(lost))) ** count
    return 1 - kept + kept * two_outcomes(grown / (1 + grown), 1 / (1 + grown), count, epsilon)


def sampled_response(cost, rate, count, epsilon):
    """Return δ of `count` randomized responses on samples, in the worse direction."""
    grown = decimal(cost).exp()
    yes, no = grown / (1 + grown), 1 / (1 + grown)
    mixed = decimal(rate) * yes + (1 - decimal(rate)) * no
    return max(
        two_outcomes(mixed, no, count, epsilon),
        two_outcomes(1 - no, 1 - mixed, count, epsilon),
    )


def tail(z):
    """Return P(X > z) of a standard Gaussian."""
    if z < 0:
        return 1 - tail(-z)
    density = (-z * z / 2).exp() / (2 * PI).sqrt()
    if z < 5:
        term, series, n = z, z, 1
        while term > Decimal(10) ** -58:
            term = term * z * z / (2 * n + 1)
            series, n = series + term, n + 1
        return Decimal("0.5") - density * series
    rest = Decimal(0)
    for n in range(400, 0, -1):
        rest = n / (z + rest)
    return density / (z + rest)


def gaussian(mu, count, epsilon):
    """Return δ of `count` Gaussians: one at a shift of μ·sqrt(count)."""
    whole, x = decimal(mu) * Decimal(count).sqrt(), decimal(epsilon)
    return tail(x / whole - whole / 2) - x.exp() * tail(x / whole + whole / 2)


def discrete_laplace(scale, shift, count, epsilon):
    """Return δ of `count` discrete Laplace noises at one shift, by convolution."""
    p, step = (-1 / decimal(scale)).exp(), decimal(scale)
    law = {shift - 2 * x: (1 - p) / (1 + p) * p**x for x in range(1, shift)}
    law |= {shift: 1 / (1 + p), -shift: p**shift / (1 + p)}
    total = {0: Decimal(1)}
    for _ in range(count):
        grown = {}
        for a, u in total.items():
            for b, v in law.items():
                grown[a + b] = grown.get(a + b, 0) + u * v
        total = grown
    x = decimal(epsilon)
    return sum(u * (1 - (x - a / step).exp()) for a, u in total.items() if a / step > x)


def discrete_gaussian(sigma, shift, count, epsilon):
    """Return δ of `count` discrete Gaussians at one shift, by convolution in floats."""
    size = int(16 * sigma) + shift + 4
    x = np.arange(-size, size + 1)
    weights = np.exp(-(x**2) / (2 * float(sigma) ** 2))
    law = np.array([1.0])
    for _ in range(count):
        law = np.convolve(law, weights / weights.sum())
    sums = np.arange(-size * count, size * count + 1)
    losses = shift * (shift * count - 2 * sums) / (2 * float(sigma) ** 2)
    kept = losses > float(epsilon)
    return Decimal(float((law[kept] * -np.expm1(float(epsilon) - losses[kept])).sum()))


COSTS = st.builds(
    lambda digits, power: Fraction(digits, 100) * Fraction(10) ** power,
    st.integers(100, 999),
    st.integers(-3, 0),
)
DELTAS = st.builds(
    lambda digits, power: Fraction(digits, 100) * Fraction(10) ** power,
    st.integers(100, 999),
    st.integers(-15, -3),
)
COUNTS = st.one_of(st.integers(1, 20), st.integers(1, 1000))
RATES = st.integers(1, 999).map(lambda n: Fraction(n, 1000))


@st.composite
def settings_with_oracles(draw):
    """Draw a loss, a δ, and the function that says the true δ at an ε."""
    cost, count, delta = draw(COSTS), draw(COUNTS), draw(DELTAS)
    few, shift = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["pure", "approximate", "sampled", "gauss", "laplace", "discrete"]))
    if kind == "pure":
        return Pure(cost) * count, delta, lambda x: response(cost, count, x)
    if kind == "approximate":
        lost = delta / count * draw(RATES)
        return Approximate(cost, lost) * count, delta, lambda x: response(cost, count, x, lost)
    if kind == "sampled":
        rate = draw(RATES)
        loss = PoissonSampled(Pure(cost), rate) * count
        return loss, delta, lambda x: sampled_response(cost, rate, count, x)
    if kind == "gauss":
        cost = min(cost, Fraction(12, 32))  # so that ε stays below the hundreds
        return GaussianTradeoff(cost) * count, delta, lambda x: gaussian(cost, count, x)
    if kind == "laplace":
        scale = shift / cost
        loss = LaplaceShift(scale, shift, shift) * few
        return loss, delta, lambda x: discrete_laplace(scale, shift, few, x)
    sigma = Fraction(draw(st.integers(3, 60)), 10)
    loss = GaussianShift(sigma, shift * shift, scalar=True) * few
    return loss, max(delta, Fraction(1, 10**9)), lambda x: discrete_gaussian(sigma, shift, few, x)


@given(settings_with_oracles())
def test_epsilon_is_never_below_the_truth_and_at_most_a_thousandth_above(setting):
    loss, delta, truth = setting
    found = pld.bounds(loss, delta)
    with localcontext(prec=60):
        target = decimal(delta)
        ours = Decimal("1e-11")  # of the sums in floats
        assert truth(found.high) <= target * (1 + ours)
        assert found.low == 0 or truth(found.low) >= target * (1 - ours)
        near = found.high * Fraction(999, 1000) - Fraction(1, 10**6)
        assert near <= 0 or truth(near) > target
        # ... and the lower bound is as close
        assert found.high - found.low <= found.high / 500 + Fraction(1, 10**6)


@settings(max_examples=settings().max_examples // 4)
@given(settings_with_oracles(), st.integers(1, 30))
def test_delta_is_between_its_bounds(setting, share):
    loss, delta, truth = setting
    epsilon = pld.bounds(loss, delta).high * Fraction(share, 20)
    found = pld.delta_bounds(loss, epsilon)
    nudge = epsilon / 1000 + Fraction(1, 10**6)
    with localcontext(prec=60):
        before, exact = (Fraction(truth(max(x, Fraction(0)))) for x in (epsilon - nudge, epsilon))
    assert found.low * (1 - Fraction(1, 10**10)) <= exact <= found.high * (1 + Fraction(1, 10**10))
    assert 0 <= found.low <= found.high <= 1
    # Close: as δ is at an ε that differs by a thousandth, or itself to a hundredth.
    assert found.high <= max(before, exact * Fraction(101, 100)) + Fraction(1, 10**25)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
@pytest.mark.parametrize(
    "loss",
    [
        LaplaceTradeoff("0.1") * 100,
        GaussianTradeoff("0.1") * 100,
        LaplaceShift(100, 10, 10) * 100,
        GaussianShift(10, 1, scalar=True) * 100,
        PoissonSampled(GaussianTradeoff(1), "0.01") * 1000,
        Approximate("0.1", "1e-9") * 100,
    ],
)
def test_bounds_on_delta_are_close(loss, epsilon):
    found = pld.delta_bounds(loss, epsilon)
    assert found.high * Fraction(99, 100) <= found.low < found.high


@pytest.mark.parametrize(
    "loss",
    [
        LaplaceTradeoff("0.1") * 50,
        GaussianShift(5, 4, scalar=True) * 3 + Pure("0.2") * 4,
        PoissonSampled(GaussianTradeoff(1), "0.01") * 200,
        PoissonSampled(LaplaceShift(2, 3, 3), "0.2") * 20,
        Approximate("0.5", "1e-17") + LaplaceShift(10, 4, 1),
    ],
)
def test_more_is_never_cheaper(loss):
    def above(worse, better):
        """Say that the worse one costs as much, up to the width of the enclosures."""
        assert worse.high >= better.low
        assert worse.high >= better.high * (1 - Fraction(1, 2000))

    found = [pld.bounds(loss, f"1e-{digits}") for digits in (3, 5, 8, 8, 12, 15)]
    for better, worse in pairwise(found):
        above(worse, better)
    counted = [pld.bounds(loss * count, "1e-6") for count in (1, 2, 3, 10)]
    for better, worse in pairwise(counted):
        above(worse, better)
        assert worse.low > better.high
    above(pld.bounds(loss + Pure("0.01"), "1e-6"), counted[0])


@pytest.mark.parametrize(
    "family",
    [
        lambda p: Pure(p) * 30,
        lambda p: LaplaceTradeoff(p) * 30,
        lambda p: GaussianTradeoff(p) * 30,
        lambda p: LaplaceShift(4 / p, 4, 4) * 30,
        lambda p: GaussianShift(1 / p, 1, scalar=True) * 30,
        lambda p: PoissonSampled(GaussianTradeoff(p), "0.1") * 30,
        lambda p: PoissonSampled(GaussianTradeoff(1), p) * 30,
        lambda p: Approximate("0.1", p / 10**6) * 30,
    ],
)
def test_parameters_are_monotone(family):
    found = [pld.bounds(family(Fraction(p, 100)), "1e-4") for p in (1, 5, 10, 20, 50)]
    assert all(worse.low > better.high for better, worse in pairwise(found))


def test_samples_cost_no_more_than_the_whole():
    for inner in (GaussianTradeoff(1), LaplaceShift(1, 2, 2), Pure(1), GaussianShift(1, 1)):
        whole = pld.bounds(inner * 20, "1e-6")
        rates = [pld.bounds(PoissonSampled(inner, rate) * 20, "1e-6") for rate in ("0.1", "0.9")]
        assert rates[0].high < rates[1].low < rates[1].high < whole.low
        assert pld.bounds(PoissonSampled(inner, 1) * 20, "1e-6") == whole
        assert pld.bounds(PoissonSampled(inner, 0) * 20, "1e-6").high == 0


def test_both_directions_of_a_sample_count():
    # Each direction is the worse one somewhere: little δ for comings, much for goings.
    loss = PoissonSampled(Pure(2), "0.5")
    for epsilon in ("0.1", "0.7", "1.2", "1.4"):
        found = pld.delta_bounds(loss, epsilon)
        with localcontext(prec=60):
            exact = Fraction(sampled_response(Fraction(2), Fraction(1, 2), 1, Fraction(epsilon)))
        assert found.low <= exact <= found.high * (1 + Fraction(1, 10**10))
        assert found.high <= exact * Fraction(101, 100) + Fraction(1, 10**9)


def test_order_does_not_matter():
    parts = [Pure("0.1"), LaplaceTradeoff("0.2"), GaussianShift(9, 1, scalar=True)] * 3
    assert pld.bounds(Composed.of(parts), "1e-6") == pld.bounds(Composed.of(parts[::-1]), "1e-6")


def test_hundreds_of_different_parts_are_followed_by_one_bound():
    parts = [Pure(Fraction(1000 + i, 20_000)) for i in range(40)]
    found = pld.bounds(Composed.of(parts), "1e-6")
    least, most = (pld.bounds(Pure(cost) * 40, "1e-6") for cost in ("0.05", "0.052"))
    assert least.low < found.low <= found.high < most.high
    assert found.high - found.low < found.high / 1000


def test_vectors_of_laplace_noise():
    many = LaplaceShift(10, 5, 1)  # five cells that move by one: five responses
    assert pld.bounds(many, "1e-6") == pld.bounds(Pure("0.1") * 5, "1e-6")
    mixed = pld.bounds(LaplaceShift(10, 5, 2), "1e-6")
    assert mixed.low == 0  # only ε is used: nobody knows whether it is attained
    assert mixed.high <= Fraction(1, 2)
    assert pld.bounds(BoundedRange("0.1") * 5, "1e-6").low == 0
    assert pld.bounds(PoissonSampled(many, "0.5"), "1e-6").low == 0
    assert pld.bounds(LaplaceShift(10, 0, 0) + GaussianShift(3, 0), "1e-6").high == 0


def test_gaussian_noise_on_integers_that_cannot_move_two_cells_is_scalar():
    assert pld.bounds(GaussianShift(3, 1), "1e-6") == pld.bounds(
        GaussianShift(3, 1, scalar=True), "1e-6"
    )


@pytest.mark.parametrize(
    "loss",
    [
        Concentrated("0.1"),
        Renyi(((2, "0.1"),)),
        GaussianShift(3, 2),
        Pure(1) + Concentrated("0.1"),
        PoissonSampled(GaussianTradeoff(1) + Pure(1), "0.5"),
        PoissonSampled(Concentrated(1), "0.5"),
        PoissonSampled(Worst.of([Pure(1), Pure(2)], touched=1), "0.5"),
        Worst.of([Pure(1), Pure(2), Pure(3)], touched=2),
        Worst.of([Pure(1), Concentrated(2)], touched=1),
        Worst.of([Pure(1), Pure(2)], touched=1) * 2,
        Worst.of([Pure(1), Pure(2)], touched=1) + Worst.of([Pure(1), Pure(3)], touched=1),
    ],
)
def test_parts_without_a_distribution_give_none(loss):
    assert pld.bounds(loss, "1e-6") is None
    assert pld.delta_bounds(loss, 1) is None


def test_worst_case_of_disjoint_parts_is_the_worst_part_with_the_rest():
    rest, parts = Pure("0.5"), [LaplaceTradeoff(1), GaussianTradeoff(1), Pure("0.1") * 3]
    found = pld.bounds(Worst.of(parts, touched=1) + rest, "1e-6")
    alone = [pld.bounds(part + rest, "1e-6") for part in parts]
    assert found.high == max(one.high for one in alone)
    assert found.low == max(one.low for one in alone)
    one = pld.delta_bounds(Worst.of(parts, touched=1) + rest, 2)
    assert one.high == max(pld.delta_bounds(part + rest, 2).high for part in parts)


def test_nothing_costs_nothing():
    assert pld.bounds(Composed.of([]), "1e-6") == pld.Bounds(Fraction(0), Fraction(0))
    assert pld.delta_bounds(Pure(0) * 3, 1) == pld.Bounds(Fraction(0), Fraction(0))
    assert pld.bounds(Pure("1e-6"), "0.1").high == 0


def test_without_delta_the_largest_loss_counts():
    found = pld.bounds(Pure("0.5") * 2 + LaplaceShift(2, 3, 1), 0)
    assert found.high == Fraction(5, 2)
    assert found.low > found.high * (1 - Fraction(1, 10**9))
    assert pld.bounds(Pure("0.5"), "1e-250").high == Fraction(1, 2)
    assert pld.bounds(GaussianTradeoff(1), 0) is None
    assert pld.bounds(Approximate(1, "1e-9"), 0) is None


def test_what_is_given_away_for_certain_cannot_be_bought_back():
    loss = Approximate(1, "1e-6")
    assert pld.bounds(loss, "1e-6").high == 1  # no float can tell 1e-6 from 1e-6
    assert pld.bounds(loss, "9e-7") is None
    # Two of them fail together once in 10^12: less than 2e-6 is enough.
    assert Fraction(199, 100) < pld.bounds(loss * 2, "1.9999995e-6").high < Fraction(201, 100)
    assert pld.delta_bounds(loss, 2).high == Fraction(1, 10**6)
    late = pld.delta_bounds(loss + GaussianTradeoff(1), 30)
    assert Fraction(1, 10**6) <= late.high <= Fraction(10001, 10**10)


def test_losses_beyond_all_reason_are_given_up():
    assert pld.bounds(GaussianTradeoff(1000), "1e-6") is None
    assert pld.delta_bounds(GaussianTradeoff(1000), 5) == pld.Bounds(Fraction(0), Fraction(1))
    assert pld.delta_bounds(Pure(1), 10**7).high == 0
    assert pld.bounds(Pure(5000), "1e-6") == pld.Bounds(Fraction(0), Fraction(5000))
    wide = pld.bounds(Pure("1e-5") * 10**11, "1e-6")  # no grid is fine enough
    assert wide.low == 0
    assert wide.high <= 10**6


def test_tiny_deltas_are_as_good_as_others():
    for power in (18, 40, 100):
        found = pld.bounds(GaussianTradeoff(1) * 4, Fraction(1, 10**power))
        with localcontext(prec=130):
            target = Decimal(10) ** -power
            assert gaussian(Fraction(1), 4, found.high) <= target
            assert gaussian(Fraction(1), 4, found.high * Fraction(999, 1000)) > target


def test_neighbors_are_either():
    loss = Pure("0.1", neighbors=Neighbors.REPLACE) * 10
    assert pld.bounds(loss, "1e-6") == pld.bounds(Pure("0.1") * 10, "1e-6")


def test_without_dp_accounting_the_fix_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.common", None)
    with pytest.raises(MissingExtra, match="oracles"):
        pld.to_dp_accounting(Pure(1))
    with pytest.raises(LossError):
        pld.to_dp_accounting(Concentrated(1))


def test_unknown_losses_and_numbers_are_refused():
    class Other(Loss):
        pass

    with pytest.raises(LossError):
        pld.bounds(Other(), "1e-6")
    with pytest.raises(LossError):
        pld.delta_bounds(Other(), 1)
    with pytest.raises(RangeError):
        pld.bounds(Pure(1), 1)
    with pytest.raises(RangeError):
        pld.delta_bounds(Pure(1), -1)


def test_failures_alone_beside_other_parts_are_added_to_them():
    """A part that only fails has no width for a grid, and was once divided by."""
    noise = GaussianShift(3, 1, scalar=True)
    together = Composed.of([noise, Approximate(0, "1e-7")])
    alone = pld.delta_bounds(noise, 1)
    found = pld.delta_bounds(together, 1)
    assert alone.high <= found.high < alone.high + Fraction("1.1e-7") + alone.high / 100
    assert pld.bounds(noise, "9e-7").low <= pld.bounds(together, "1e-6").high
    assert pld.bounds(together, "1e-6").high < pld.bounds(noise, "8e-7").high
