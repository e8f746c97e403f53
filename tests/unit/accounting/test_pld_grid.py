"""Distributions on a grid, and their composition: on the right side, whatever grid and window."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.pld.compose import Composition, Window, _fold, _power, _Product
from sfumato.accounting.pld.distribution import Distribution, Grid, _masses
from sfumato.accounting.pld.gaussian import DiscreteGaussian, Gaussian
from sfumato.accounting.pld.leaf import DiscreteLaplace, Laplace, Response, Sampled

LEAVES = [
    Response(Fraction(1, 3)),
    Response(Fraction(1, 3), Fraction(1, 1000)),
    Laplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(3), 2),
    Gaussian(Fraction(1, 5)),
    DiscreteGaussian(Fraction(1, 2), 1),
    DiscreteGaussian(Fraction(200), 50),
    Sampled(Gaussian(Fraction(1)), Fraction(1, 20)),
    Sampled(Response(Fraction(2)), Fraction(3, 4)),
]
TAILS = (1e-14, 1e-12)


def joined(leaf, interval, back=False):
    """Return a grid for one pair and its distribution there."""
    grid = Grid(interval, max(leaf.reach(min(TAILS))))
    return grid, Distribution.of(leaf, grid, TAILS, back=back)


def curve(part, interval, epsilon):
    """Return the hockey-stick curve of masses at any ε, by a sum in exact arithmetic."""
    with localcontext(prec=40):
        total = Decimal(part.infinite)
        for i, mass in enumerate(part.mass.tolist()):
            gap = Decimal(part.first + i) * Decimal(interval) - Decimal(epsilon)
            if gap > 0 and mass:
                total += Decimal(mass) * (1 - (-gap).exp())
        return total


def true_curve(leaf, epsilon, back):
    """Return bounds on the curve of a pair at any ε; below 0 from the way back."""
    found = leaf.curve(np.array([abs(epsilon)]), back=back if epsilon >= 0 else not back)
    low, high = (found.value - found.error)[0], (found.value + found.error)[0]
    if epsilon < 0:
        scale, rest = math.exp(epsilon), -math.expm1(epsilon)
        low, high = (rest + scale * side for side in (low, high))
    return low, high


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("interval", [0.5, 2.0**-5, 0.0123])
def test_masses_on_a_grid_are_above_the_pair_everywhere(leaf, interval):
    for back in (False, True):
        _, part = joined(leaf, interval, back)
        assert (part.mass >= 0).all()
        assert float(part.mass.sum()) + part.infinite >= 1 - 1e-15
        above, below = leaf.reach(1e-9)[back], leaf.reach(1e-9)[not back]
        for epsilon in np.linspace(-1.5 * below, 1.5 * above, 61).tolist():
            low, _ = true_curve(leaf, epsilon, back)
            assert curve(part, interval, epsilon) >= Decimal(low) * (1 - Decimal("1e-14"))


@pytest.mark.parametrize("leaf", LEAVES)
def test_masses_on_a_grid_are_close_at_its_points(leaf):
    interval = 2.0**-6
    for back in (False, True):
        _, part = joined(leaf, interval, back)
        assert part.excess < 1e-6
        for j in range(part.first, part.first + len(part.mass), 7):
            _, high = true_curve(leaf, j * interval, back)
            limit = Decimal(high) * (1 + Decimal(part.excess) + Decimal("1e-13"))
            assert curve(part, interval, j * interval) <= limit + Decimal(part.stray)


@pytest.mark.parametrize("leaf", [leaf for leaf in LEAVES if not all(leaf.bounded)])
def test_what_is_beyond_the_grid_is_counted(leaf):
    for back in (False, True):
        _, part = joined(leaf, 2.0**-6, back)
        grid = Grid(2.0**-6, max(leaf.reach(1e-30)))
        wide = Distribution.of(leaf, grid, (1e-30, 1e-30), back=back)
        index = wide.first + np.arange(len(wide.mass))
        last = part.first + len(part.mass) - 1
        # masses between two points were moved to both, so one point of each end is left out
        assert float(wide.mass[index > last + 1].sum()) <= part.stray * 1.01
        assert float(wide.mass[index < part.first - 1].sum()) <= part.sunk * 1.01


def test_points_above_the_hull_are_removed():
    grid = Grid(0.5, 2.0)
    values = np.array([0.0, 0.01, 0.02, 0.05, 0.2, 0.19, 0.05, 0.01, 0.0])
    mass = _masses(grid, -4, values)
    assert (mass >= 0).all()
    assert mass[5] == 0  # 0.19 is above the line from 0.2 to 0.05


def window(interval, tilt, first, size, lean=(3.0, 3.0)):
    return Window(interval, tilt, first, size, lean)


def response_delta(cost, count, epsilon):
    """Return δ of `count` randomized responses."""
    p = 1 / (1 + math.exp(-cost))
    terms = []
    for i in range(count + 1):
        loss = (2 * i - count) * cost
        if loss > epsilon:
            ways = math.comb(count, i) * p**i * (1 - p) ** (count - i)
            terms.append(ways * -math.expm1(epsilon - loss))
    return math.fsum(terms)


def gaussian_delta(square, count, epsilon):
    """Return δ of `count` Gaussians."""
    mu = math.sqrt(square * count)

    def tail(z):
        return math.erfc(z / math.sqrt(2)) / 2

    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return tail(a) - math.exp(epsilon) * tail(b)


@given(
    st.sampled_from(["response", "gaussian"]),
    st.integers(1, 60),
    st.floats(0.05, 0.6),
    st.floats(0, 12),
    st.integers(-3000, 1000),
    st.sampled_from([64, 256, 1024, 4096]),
    st.floats(0.1, 20),
    st.tuples(st.floats(0.001, 0.05), st.floats(-3, 12)),
)
def test_bounds_hold_in_any_window(kind, count, cost, tilt, first, size, lean, grid_and_point):
    # A window that misses the law, a useless tilt, a coarse grid: wide bounds, never wrong ones.
    interval, epsilon = grid_and_point
    if kind == "response":
        leaf, truth = Response(Fraction(cost)), response_delta(cost, count, epsilon)
    else:
        leaf, truth = Gaussian(Fraction(cost**2)), gaussian_delta(cost**2, count, epsilon)
    grid, part = joined(leaf, interval)
    found = Composition([(part, count)], grid, window(interval, tilt, first, size, (lean, lean)))
    ours = 1e-11 * truth + 1e-15  # of the sums here
    if epsilon >= 0:
        assert found.above(epsilon) >= truth - ours
    assert found.below(epsilon) <= truth + ours


@pytest.mark.parametrize("kind", ["response", "gaussian"])
def test_bounds_are_narrow_in_a_good_window(kind):
    if kind == "response":
        leaf, truth = Response(Fraction(1, 5)), response_delta(0.2, 50, 6.07)
    else:
        leaf, truth = Gaussian(Fraction(1, 25)), gaussian_delta(0.04, 50, 6.07)
    grid, part = joined(leaf, 2.0**-10)
    found = Composition([(part, 50)], grid, window(2.0**-10, 2.5, -8192, 2**15, (5.0, 5.0)))
    assert found.above(6.07) == pytest.approx(truth, rel=2e-4)
    assert found.below(6.07) == pytest.approx(truth, rel=1e-3)


def test_composition_is_the_convolution():
    # Losses that lie on the grid are only convolved, and nothing but rounding is added.
    interval = 2.0**-4
    leaves = [(Response(Fraction(1, 4)), 3), (Response(Fraction(3, 4), Fraction(1, 10**5)), 2)]
    grid = Grid(interval, 1.0)
    parts = [(Distribution.of(leaf, grid, TAILS, back=False), count) for leaf, count in leaves]
    found = Composition(parts, grid, window(interval, 1.0, -64, 128))
    law = np.array([1.0])
    for part, count in parts:
        for _ in range(count):
            law = np.convolve(law, part.mass)
    first = sum(part.first * count for part, count in parts)
    losses = (first + np.arange(len(law))) * interval
    for epsilon in (0.0, 0.3, 1.0, 2.0, 2.2):
        kept = losses > epsilon
        finite = float((law[kept] * -np.expm1(epsilon - losses[kept])).sum())
        infinite = 1 - (1 - 1e-5) ** 2
        assert found.above(epsilon) == pytest.approx(finite + infinite, rel=1e-9)
        assert found.above(epsilon) >= finite + infinite * (1 - 1e-9)


@pytest.mark.parametrize("lone", [True, False])
def test_transform_is_wrong_by_no_more_than_it_says(lone):
    masses = [np.exp(-np.linspace(0, rate, 30)) for rate in (1.0, 3.0, 9.0)]
    masses = [mass / mass.sum() for mass in masses]
    product, exact = _Product(512), [Fraction(1)]
    for mass in masses:
        for count in (1, 3):
            product.multiply(mass, count, lone=lone)
            for _ in range(count):
                longer = [Fraction(0)] * (len(exact) + len(mass) - 1)
                for i, u in enumerate(exact):
                    for j, v in enumerate(mass.tolist()):
                        longer[i + j] += u * Fraction(v)
                exact = [Fraction(round(x * 2**200), 2**200) for x in longer]
    law, error = product.law(12 + 6)
    worst = max(abs(Fraction(x) - y) for x, y in zip(law.tolist(), exact, strict=False))
    assert 0 < worst <= error < 1e-12


def test_errors_of_the_transform_are_allowed_for_on_both_sides():
    grid, part = joined(Laplace(Fraction(1, 4)), 2.0**-6)
    found = Composition([(part, 20)], grid, window(2.0**-6, 2.0, -512, 1024))
    above, below = found.above(1.5), found.below(1.5)
    losses = (np.arange(1024) - 512) * 2.0**-6 - 1.5
    weights = -np.expm1(-np.maximum(losses, 0)) * np.exp(-2.0 * losses)
    size = found._factor(1.5) * weights.sum()
    found._error += 1e-4
    assert found.above(1.5) - above == pytest.approx(1e-4 * size, rel=1e-3)
    assert below - found.below(1.5) >= 1e-5 * size


def test_many_parts_once_and_few_parts_often_agree():
    interval = 2.0**-6
    grid = Grid(interval, 1.0)
    part = Distribution.of(Laplace(Fraction(1, 4)), grid, TAILS, back=False)
    place = window(interval, 2.0, -512, 1024)
    often = Composition([(part, 40)], grid, place)
    once = Composition([(part, 1)] * 40, grid, place)
    for epsilon in (0.5, 1.5, 3.0):
        assert often.above(epsilon) == pytest.approx(once.above(epsilon), rel=1e-6)
        assert once.below(epsilon) <= often.above(epsilon)


def test_powers_too_large_for_floats_are_given_up():
    interval = 2.0**-4
    grid = Grid(interval, 1.0)
    part = Distribution.of(Response(Fraction(1, 2)), grid, TAILS, back=False)
    found = Composition([(part, 10**4)], grid, window(interval, 5.0, 0, 1024))
    assert found.above(0.0) == 1.0
    assert found.below(0.0) == 0.0


def test_masses_are_wrapped_around_the_circle():
    folded = _fold(np.arange(10.0), 4)
    assert folded.tolist() == [0 + 4 + 8, 1 + 5 + 9, 2 + 6, 3 + 7]
    assert _fold(np.arange(3.0), 4).tolist() == [0, 1, 2]


def test_powers_by_squaring():
    base = np.array([0.5 + 0.5j, 0.9, 1j])
    for exponent in (1, 2, 7, 64, 1001):
        assert np.allclose(_power(base, exponent), base**exponent, rtol=1e-12)
