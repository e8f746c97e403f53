"""Means of noisy sums and counts: values, hulls of accepted means, grids."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InputError, RangeError
from sfumato.release.combination import quantile
from sfumato.release.error import Noise
from sfumato.release.fieller import Threshold, ends
from sfumato.release.ratio import Ratio

SURE = Fraction(95, 100)
LAPLACE = Noise("laplace", 2000), Noise("laplace", 2)
GAUSSIAN = Noise("gaussian", 5000), Noise("gaussian", 5)
LATTICE = Noise("laplace", "0.4"), Noise("laplace", "0.4")
FARE = Ratio(*LAPLACE, 100, Fraction(1, 10), 0, 200)


def one(sums, counts, ratio=FARE, confidence=SURE):
    built = ratio.measure("mean", [sums], [counts], confidence=confidence)
    return built.low[0], built.values[0], built.high[0]


def test_value_is_center_plus_steps_over_count():
    low, value, high = one(-200_000, 1000)
    assert value == 80
    assert 79 < low < 80 < high < 81


def test_value_and_interval_stay_in_bounds():
    low, value, high = one(10**9, 1000)
    assert (value, high) == (200, 200)
    assert 198 < low < 200
    low, value, high = one(-(10**9), 1000)
    assert (low, value) == (0, 0)
    assert 0 < high < 2


@pytest.mark.parametrize("count", [0, -1, -500])
@pytest.mark.parametrize("total", [-(10**6), 0, 10**6])
def test_without_a_count_the_mean_is_the_middle_of_all_there_is(total, count):
    assert one(total, count) == (0, 100, 200)


def test_interval_of_a_tiny_group_is_everything():
    assert one(700, 1) == (0, 170, 200)


@pytest.mark.parametrize("noises", [LAPLACE, GAUSSIAN, LATTICE], ids=["l", "g", "lattice"])
@pytest.mark.parametrize("count", [1, 3, 6, 10, 25, 400])
@pytest.mark.parametrize("share", [-1.2, -0.9, 0, 0.3, 1])
def test_interval_is_the_hull_of_what_the_test_accepts(noises, count, share):
    bound = 1000.0 if noises is not LATTICE else 4.0
    threshold = Threshold.of(*noises, bound, SURE)
    value, low, high = (
        end[0]
        for end in ends(
            threshold, np.array([share * bound * count]), np.array([float(count)]), -bound, bound
        )
    )
    grid = np.linspace(-bound, bound, 20_001)
    limit = threshold(grid)
    accepted = grid[np.abs(value - grid) * count <= limit]
    slack = 2e-3 * float(limit.max()) / count + 2 * bound / 20_000
    assert accepted[0] - slack * 4 <= low <= accepted[0]
    assert accepted[-1] <= high <= accepted[-1] + slack * 4


@pytest.mark.parametrize("noises", [LAPLACE, GAUSSIAN, LATTICE], ids=["l", "g", "lattice"])
def test_threshold_is_never_below_the_quantile_and_hardly_above(noises):
    bound = 1000.0 if noises is not LATTICE else 4.0
    threshold = Threshold.of(*noises, bound, SURE)
    between = np.random.default_rng(5).uniform(-bound, bound, 300)
    true = quantile(np.ones(300), between, *noises, SURE)
    assert (threshold(between) >= true * (1 - 1e-9)).all()
    assert (threshold(between) <= true * 1.02 + threshold.width).all()


def test_threshold_lies_on_either_side_of_zero():
    threshold = Threshold.of(*LAPLACE, 1000.0, SURE)
    assert threshold(np.array([-700.0])) == threshold(np.array([700.0]))


@given(
    st.integers(-(10**9), 10**9),
    st.integers(-100, 10**6),
    st.sampled_from(["0.5", "0.95", "0.9999"]),
)
def test_interval_holds_its_value(total, count, confidence):
    low, value, high = one(total, count, confidence=Fraction(confidence))
    assert 0 <= low <= value <= high <= 200


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4))
def test_interval_is_wider_for_more_confidence(total, count):
    inner, outer = (one(total, count, confidence=Fraction(c)) for c in ("0.8", "0.99"))
    assert outer[0] <= inner[0]
    assert inner[2] <= outer[2]


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**4))
def test_turning_the_sign_turns_the_interval(total, count):
    low, value, high = one(total, count)
    assert tuple(200 - end for end in one(-total, count)) == pytest.approx((high, value, low))


def test_values_lie_on_a_decimal_grid_finer_than_the_noise():
    built = FARE.measure("mean", [12_345, -777], [100_000, 100], confidence=SURE)
    grid = Fraction(1, 10**5)
    assert all(end % grid == 0 for end in (*built.values, *built.low, *built.high))
    assert built.high[0] - built.values[0] >= 100 * grid
    assert built.kind == "rational"


def test_grid_is_as_fine_as_the_largest_count_needs():
    share = Ratio(Noise("laplace", 2), Noise("laplace", 2), 0, 1, 0, 1)
    low, value, high = one(123_456_789, 10**9, share)
    assert value == Fraction("0.1234567890")
    assert 0 < high - value < Fraction(1, 10**7)
    assert 0 < value - low < Fraction(1, 10**7)


def test_bounds_off_the_grid_are_kept_exactly():
    thirds = Ratio(*LAPLACE, 0, Fraction(1, 7), Fraction(-1, 3), Fraction(200, 3))
    assert one(-(10**6), 50, thirds)[0] == Fraction(-1, 3)
    assert one(5, 1, thirds)[2] == Fraction(200, 3)


def test_bounds_that_are_one_point_leave_that_point():
    assert (
        one(3, 10, Ratio(*LAPLACE, 0, 1, Fraction(1, 3), Fraction(1, 3))) == (Fraction(1, 3),) * 3
    )


def test_bounds_far_from_zero_keep_the_interval_outside_of_rounding():
    far = Ratio(*LAPLACE, 10**15, 1, 10**15 - 1000, 10**15 + 1000)
    low, value, high = one(250_000, 1000, far)
    assert value == 10**15 + 250
    assert low <= value - 5
    assert high >= value + 5


def test_integers_beyond_64_bits_are_taken():
    low, value, high = one(2**70, 2**60)
    assert low <= value <= high
    assert value == 200


def test_no_group_gives_no_mean():
    assert FARE.measure("mean", [], [], confidence=SURE).values == ()


def test_sums_and_counts_come_in_pairs():
    with pytest.raises(InputError, match="2 and 1"):
        FARE.measure("mean", [1, 2], [1], confidence=SURE)


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(RangeError, match="low"):
        Ratio(*LAPLACE, 0, 1, 2, 1)


def test_step_of_zero_is_refused():
    with pytest.raises(RangeError, match="step"):
        Ratio(*LAPLACE, 0, 0, 0, 1)


@pytest.mark.parametrize("noises", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_expected_halfwidth_is_that_of_exact_sums(noises):
    ratio = Ratio(*noises, 100, Fraction(1, 10), 0, 200)
    typical, worst = ratio.expected_halfwidth(1000)
    low, value, high = one(0, 1000, ratio)
    assert float(typical) == pytest.approx(float(max(value - low, high - value)), rel=0.01)
    low, value, _ = one(10**6, 1000, ratio)
    assert float(worst) == pytest.approx(float(value - low), rel=0.01)
    assert typical < worst


def test_expected_halfwidth_falls_with_people_and_ends_at_the_range():
    halfwidths = [FARE.expected_halfwidth(people) for people in (1, 100, 10_000)]
    assert halfwidths[0].worst == 200
    assert halfwidths[0].typical == 100
    assert halfwidths[1].typical > 50 * halfwidths[2].typical
    assert halfwidths[1].worst > 50 * halfwidths[2].worst


def test_expected_halfwidth_takes_the_farther_bound_for_worst():
    aside = Ratio(*LAPLACE, 20, Fraction(1, 10), 0, 100)
    low, value, _ = one(800_000, 1000, aside)
    assert float(aside.expected_halfwidth(1000).worst) == pytest.approx(
        float(value - low), rel=0.01
    )
