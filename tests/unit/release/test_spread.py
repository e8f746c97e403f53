"""Variances of noisy sums and counts: values, what the test accepts, bounds, grids."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InputError, RangeError
from sfumato.release.blend import quantile
from sfumato.release.error import Noise
from sfumato.release.spread import Spread

SURE = Fraction(95, 100)
HALF = 1000  # half the range of FARE, in steps


def noises(kind="laplace", scale=3):
    return [Noise(kind, scale * by) for by in (HALF**2, HALF, 1)]


FARE = Spread(*noises(), 100, Fraction(1, 10), 0, 200)
ROOT = Spread(*noises(), 100, Fraction(1, 10), 0, 200, root=True)
WHOLE = Fraction(200**2, 4)


def sums(people, mean, variance):
    """Return Q, S and N of a group without noise; mean and variance in steps from the center."""
    return [round((variance + mean**2) * people), round(mean * people), people]


def one(squares, total, count, spread=FARE, confidence=SURE):
    built = spread.measure("v", [squares], [total], [count], confidence=confidence)
    return built.low[0], built.values[0], built.high[0]


def test_value_is_the_mean_square_less_the_square_of_the_mean():
    low, value, high = one(*sums(5000, -300, 90_000))
    assert value == 900  # 90,000 squared steps of a tenth
    assert 850 < low < 900 < high < 950


def test_standard_deviation_is_the_root_of_value_and_ends():
    given = sums(5000, 250, 40_000)
    ends, roots = one(*given), one(*given, ROOT)
    assert roots[1] == 20
    for end, root in zip(ends, roots, strict=True):
        assert float(root) == pytest.approx(float(end) ** 0.5, rel=1e-4)


@pytest.mark.parametrize("count", [0, -1, -500])
def test_without_a_count_anything_is_possible(count):
    assert one(10**8, 5, count) == (0, pytest.approx(float(WHOLE / 3), rel=1e-3), WHOLE)
    assert one(-5, 10**8, count, ROOT) == (0, pytest.approx(200 / 12**0.5, rel=1e-2), 100)


def test_interval_of_a_tiny_group_is_everything():
    assert one(*sums(2, 0, 300_000))[::2] == (0, WHOLE)


def test_value_and_interval_stay_in_bounds():
    assert one(-(10**12), 0, 1000)[:2] == (0, 0)
    low, value, high = one(10**12, 0, 1000)
    assert (value, high) == (WHOLE, WHOLE)
    assert low < WHOLE


def test_mean_near_a_bound_leaves_little_variance():
    """No values in the bounds have a larger one than (high − mean)·(mean − low)."""
    _, _, high = one(10**11, 990 * 10**5, 10**5)
    assert high < Fraction(2 * 200 * 3)
    assert one(10**11, 2000 * 10**5, 10**5)[2] <= Fraction(1, 100)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("people", [60, 400, 3000])
@pytest.mark.parametrize("mean", [0, -0.4, 0.8])
def test_interval_is_what_the_test_accepts(kind, people, mean):
    parts = noises(kind)
    q, s, n = sums(people, mean * HALF, 0.1 * HALF**2)
    spread = Spread(*parts, 0, 1, -HALF, HALF)
    low, _, high = (float(end) for end in one(q, s, n, spread))
    b, candidates = s / n, np.linspace(0, HALF**2, 20_001)
    ones = np.ones(candidates.shape)
    limit = quantile(parts, [ones, 2 * b * ones, b * b - candidates], 0.05)
    reach = quantile(parts[1:], [ones[:1], np.abs(b) + 0.1 * HALF * ones[:1]], 0.01)[0]
    pivot = q - s * s / n - candidates * n
    accepted = candidates[(pivot <= limit) & (pivot >= -limit - reach**2 / n)]
    slack = 0.04 * (accepted[-1] - accepted[0]) + HALF**2 / 20_000
    assert low == pytest.approx(accepted[0], abs=slack)
    assert high == pytest.approx(min(accepted[-1], (HALF**2 - (abs(b) * 0.9) ** 2)), abs=slack)


@given(
    st.integers(-(10**12), 10**12),
    st.integers(-(10**9), 10**9),
    st.integers(-100, 10**6),
    st.sampled_from([FARE, ROOT]),
    st.sampled_from(["0.5", "0.95", "0.9999"]),
)
def test_interval_holds_its_value(squares, total, count, spread, confidence):
    low, value, high = one(squares, total, count, spread, Fraction(confidence))
    assert 0 <= low <= value <= high <= (WHOLE if spread is FARE else 100)


@given(st.integers(0, 10**9), st.integers(-(10**6), 10**6), st.integers(1, 10**4))
def test_turning_the_sign_changes_nothing(squares, total, count):
    assert one(squares, total, count) == one(squares, -total, count)


@given(st.integers(0, 10**9), st.integers(-(10**5), 10**5), st.integers(1, 10**4))
def test_interval_is_wider_for_more_confidence(squares, total, count):
    inner, outer = (one(squares, total, count, confidence=Fraction(c)) for c in ("0.8", "0.99"))
    assert outer[0] <= inner[0]
    assert inner[2] <= outer[2]


def test_values_lie_on_a_decimal_grid_finer_than_the_noise():
    built = FARE.measure("v", [10**10, 10**7], [5, 6], [100_000, 900], confidence=SURE)
    grid = Fraction(1, 1000)
    assert all(end % grid == 0 for end in (*built.values, *built.low, *built.high))
    assert all(
        high - value >= 100 * grid for value, high in zip(built.values, built.high, strict=True)
    )
    assert built.kind == "rational"


def test_bounds_off_the_grid_are_kept_exactly():
    thirds = Spread(*noises(), 0, Fraction(1, 7), Fraction(-1, 3), Fraction(200, 3))
    assert one(5, 1, 0, thirds)[2] == (Fraction(67) / 2) ** 2
    assert one(5, 1, 0, Spread(*noises(), 0, 1, 0, Fraction(1, 3), root=True))[2] == Fraction(1, 6)


def test_bounds_that_are_one_point_leave_no_variance():
    assert one(30, 3, 10, Spread(*noises(), 0, 1, 7, 7)) == (0, 0, 0)


def test_large_numbers_keep_the_interval_outside_of_rounding():
    half = 2**31
    parts = [Noise("laplace", 1) for _ in range(3)]
    wide = Spread(*parts, 0, 1, -half, half)
    n = 2**30
    low, value, high = one((half // 2) ** 2 * n, 0, n, wide)
    assert low < (half // 2) ** 2 < high
    assert abs(value - (half // 2) ** 2) < 10**6


def test_no_group_gives_no_variance():
    assert FARE.measure("v", [], [], [], confidence=SURE).values == ()


def test_parts_come_in_threes():
    with pytest.raises(InputError, match="as many of each"):
        FARE.measure("v", [1, 2], [1], [1], confidence=SURE)


def test_noises_of_two_families_are_refused():
    mixed = Spread(Noise("gaussian", 9), Noise("laplace", 9), Noise("laplace", 9), 0, 1, 0, 9)
    with pytest.raises(InputError, match="one family"):
        one(1, 1, 1, mixed)


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(RangeError, match="low"):
        Spread(*noises(), 0, 1, 2, 1)


@pytest.mark.parametrize("spread", [FARE, ROOT], ids=["variance", "std"])
def test_expected_halfwidth_is_that_of_exact_sums(spread):
    typical, worst = spread.expected_halfwidth(1000)
    low, value, high = one(*sums(1000, 0, (2 * HALF) ** 2 / 12), spread)
    assert float(typical) == pytest.approx(float(max(value - low, high - value)), rel=0.01)
    for mean, variance in ((0, 0), (1000, 0), (0, 10**6), (500, 10**5), (-700, 2 * 10**5)):
        low, value, high = one(*sums(1000, mean, variance), spread)
        assert float(max(value - low, high - value)) <= 1.02 * float(worst)


def test_expected_halfwidth_falls_with_people_and_ends_at_the_range():
    few, some, many = (FARE.expected_halfwidth(people) for people in (1, 1000, 100_000))
    assert few.worst == WHOLE
    assert some.typical > 80 * many.typical
    assert some.typical < some.worst


def test_many_groups_work():
    rng = np.random.default_rng(3)
    n = rng.integers(0, 5000, 100_000)
    q, s = n * 300_000 + rng.integers(-(10**6), 10**6, n.size), n * rng.integers(-500, 500, n.size)
    assert len(FARE.measure("v", q, s, n, confidence=SURE)) == n.size
