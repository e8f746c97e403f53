"""Interval arithmetic: edge cases. That intervals enclose is a property test."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction

import pytest

from sfumato.core.interval import DIGITS, Interval, directed


def test_of_is_exact_where_it_can_be():
    third, half = Interval.of(Fraction(1, 3)), Interval.of(Fraction(-1, 2))
    assert third.low < third.high
    assert third.high - third.low == Decimal(10) ** -DIGITS
    assert half.low == half.high == Decimal("-0.5")


def test_directed_contexts_round_apart():
    down, up = directed(5)
    assert down.divide(Decimal(1), Decimal(3)) == Decimal("0.33333")
    assert up.divide(Decimal(1), Decimal(3)) == Decimal("0.33334")


def test_division_by_an_interval_with_zero_is_refused():
    wide = Interval(Decimal(-1), Decimal(1))
    for divisor in (wide, Interval.of(0), 0):
        with pytest.raises(ZeroDivisionError, match="contains zero"):
            Interval.of(1) / divisor


@pytest.mark.parametrize("number", [0, -1])
def test_logarithm_of_what_reaches_zero_is_refused(number):
    with pytest.raises(ValueError, match="reaches zero"):
        Interval.of(number).log()


def test_square_root_of_a_negative_interval_is_refused():
    with pytest.raises(ValueError, match="negative"):
        Interval.of(-1).sqrt()


def test_square_root_of_an_interval_around_zero_starts_at_zero():
    root = Interval(Decimal("-1e-30"), Decimal(4)).sqrt()
    assert root.low == 0
    assert 2 <= root.high < Decimal("2.01")


def test_known_values_are_exact():
    assert (Interval.of(0).sqrt().low, Interval.of(0).sqrt().high) == (0, 0)
    assert (Interval.of(1).log().low, Interval.of(1).log().high) == (0, 0)
    assert (Interval.of(0).exp().low, Interval.of(0).exp().high) == (1, 1)


def test_exponential_of_large_numbers_still_encloses():
    tiny, huge = Interval.of(-(10**30)).exp(), Interval.of(10**30).exp()
    assert tiny.low == 0 < tiny.high
    assert huge.low.is_finite()
    assert huge.high == Decimal("Infinity")


def test_undefined_results_are_refused_and_never_nan():
    endless = Interval.of(10**30).exp()
    infinite = Interval(endless.high, endless.high)
    assert (endless - endless).low == -infinite.high
    for undefined in (
        lambda: endless * 0,
        lambda: infinite - infinite,
        lambda: infinite / infinite,
    ):
        with pytest.raises(InvalidOperation):
            undefined()


@pytest.mark.parametrize("bits", [0, 8, 64])
def test_fixed_point_rounds_outwards(bits):
    third = Interval.of(Fraction(-1, 3))
    assert third.floor_fixed(bits) == (-(1 << bits)) // 3
    assert third.ceil_fixed(bits) == -((1 << bits) // 3)
    one = Interval.of(1)
    assert one.floor_fixed(bits) == one.ceil_fixed(bits) == 1 << bits


def test_fixed_point_of_the_tiniest_numbers_is_immediate():
    tiny = Interval.of(-(10**30)).exp()  # its high end has an exponent of eighteen digits
    assert (tiny.floor_fixed(64), tiny.ceil_fixed(64)) == (0, 1)
    assert ((-tiny).floor_fixed(64), (-tiny).ceil_fixed(64)) == (-1, 0)
    nearly = Interval.of(Fraction(1, 2**64) - Fraction(1, 2**80))
    assert (nearly.floor_fixed(64), nearly.ceil_fixed(64)) == (0, 1)


def test_numbers_stand_on_either_side():
    two = Interval.of(2)
    for result, expected in [
        (1 + two, 3),
        (1 - two, -1),
        (3 * two, 6),
        (Fraction(1) / two, Fraction(1, 2)),
        (two / 4, Fraction(1, 2)),
    ]:
        assert Fraction(result.low) == Fraction(result.high) == expected


def test_precision_is_that_of_the_left():
    assert Interval.of(1, 10).digits == 10
    assert (Interval.of(1, 10) + Interval.of(1, 50)).digits == 10
    assert len(Interval.of(2, 100).sqrt().low.as_tuple().digits) == 100


def test_repr_shows_both_ends():
    assert repr(Interval.of(Fraction(1, 2))) == "Interval(0.5, 0.5)"
