"""The enclosed arctangent: it holds the angle, and is as narrow as its digits say."""

from fractions import Fraction
from math import atan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.core.interval import Interval

tangents = st.one_of(
    st.fractions(-10, 10, max_denominator=1000),
    st.fractions(max_denominator=10**6),
    st.builds(lambda x, e: x * Fraction(10) ** e, st.fractions(-9, 9), st.integers(-70, 70)),
)


def overlap(a, b):
    return a.low <= b.high and b.low <= a.high


@given(tangents, st.sampled_from([12, 25, 40]))
@example(Fraction(1, 10**61), 12)
def test_many_digits_lie_within_few(x, digits):
    few, many = Interval.of(x, digits).arctan(), Interval.of(x, 3 * digits + 80).arctan()
    low, high, least, most = map(Fraction, (few.low, few.high, many.low, many.high))
    slack = most - least  # the angle is somewhere in there, so no more than that may stick out
    assert low - slack <= least <= most <= high + slack
    assert slack <= (high - low) * Fraction(1, 10**9) or slack == 0


@given(tangents)
def test_it_agrees_with_the_platform_and_is_odd(x):
    angle = Interval.of(x).arctan()
    assert float(angle.low) == pytest.approx(atan(float(x)), rel=1e-14, abs=1e-300)
    width = Fraction(angle.high) - Fraction(angle.low)
    assert width <= abs(Fraction(angle.high)) * Fraction(10) ** -37
    mirrored = -Interval.of(-x).arctan()
    assert (mirrored.low, mirrored.high) == (angle.low, angle.high)


@given(st.fractions(Fraction(1, 10**6), 10**6))
def test_an_angle_and_its_complement_are_a_right_angle(x):
    right = Interval.of(1).arctan() * 2
    assert overlap(Interval.of(x).arctan() + Interval.of(1 / x).arctan(), right)


@pytest.mark.parametrize("digits", [15, 40, 200])
def test_machin_agrees_about_pi(digits):
    fifth, small = (Interval.of(Fraction(1, q), digits).arctan() for q in (5, 239))
    assert overlap(16 * fifth - 4 * small, 4 * Interval.of(1, digits).arctan())


def test_zero_is_kept_and_wide_intervals_stay_wide():
    assert Interval.of(0).arctan().high == 0 == Interval.of(0).arctan().low
    wide = Interval(Interval.of(-1).low, Interval.of(10).high).arctan()
    assert float(wide.low) == pytest.approx(-0.7853981633974483)
    assert float(wide.high) == pytest.approx(1.4711276743037347)


def test_the_ends_of_the_scale_need_no_huge_integers():
    far = Interval.of(1).exp()  # some positive interval
    for _ in range(12):
        far = far * far
    angle = far.arctan()
    assert float(angle.low) == pytest.approx(1.5707963267948966, abs=1e-15)
    near = (1 / far).arctan()
    assert near.low > 0
    assert near.high <= (1 / far).high
