"""The bits of a float that should say nothing are read exactly."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.audit.bits import lowest_bit, places, reachable


def slow(number):
    """The exponent of the lowest set bit, from the rational that the number is."""
    exact, power = Fraction(number), 0
    while exact.denominator > 1:
        exact, power = exact * 2, power - 1
    while exact.numerator % 2 == 0:
        exact, power = exact / 2, power + 1
    return power


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_lowest_bit_of_a_float_is_that_of_the_rational(number):
    assert lowest_bit(np.array([number])).tolist() == [slow(number)]


@given(st.integers(-(2**63), 2**63 - 1).filter(bool))
def test_lowest_bit_of_an_integer_is_that_of_the_rational(number):
    assert lowest_bit(np.array([number], np.int64)).tolist() == [slow(number)]


def test_lowest_bit_of_what_has_none_is_beyond_all_others():
    zero, strange, huge = lowest_bit(np.array([0.0, np.nan, 1e308])).tolist()
    assert zero < -1100
    assert strange > 1100 > huge
    assert lowest_bit(np.array([-np.inf, np.inf])).tolist() == [strange, strange]
    assert lowest_bit(np.array([0])).tolist() == [zero]


def test_places_tell_magnitudes_apart_that_the_lowest_bit_does_not():
    same_bit = np.array([1.5, 2.5])
    assert lowest_bit(same_bit).tolist() == [-1, -1]
    assert np.unique(places(same_bit)).size == 2


@pytest.mark.parametrize(("center", "other"), [(0.0, 1.0), (2.0, 3.0), (0.1, 1.1)])
def test_textbook_noise_is_reachable_from_its_own_center_alone(center, other):
    noisy = np.random.default_rng(7).laplace(center, 1.0, 20_000)
    assert reachable(noisy, center, 1.0).mean() > 0.99
    assert reachable(noisy, other, 1.0).mean() < 0.8


def test_numbers_on_a_grid_are_rarely_reachable():
    grid = np.arange(1, 4000) / 1024
    assert reachable(grid, 0.0, 1.0).mean() < 0.5


def test_reachable_takes_strange_numbers_without_a_warning():
    nan, finite = reachable(np.array([np.nan, 1e300]), 0.0, 1.0).tolist()
    assert not nan
    assert not finite  # no uniform lies that close to an end
