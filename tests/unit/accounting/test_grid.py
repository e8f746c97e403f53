"""Grids: rounding goes where it says, and searches find the least."""

from decimal import Decimal
from fractions import Fraction

import pytest

from sfumato.accounting.grid import (
    bearable,
    coarse_above,
    dyadic,
    index_above,
    index_below,
    least,
    least_near,
    rational_up,
    shorten_up,
    units_down,
    units_up,
)


def test_units_round_up_and_down():
    third = Fraction(1, 3)
    assert units_up(third) == units_down(third) + 1 == 333333333333333334
    assert units_up(Fraction(1, 10)) == units_down(Fraction(1, 10)) == 10**17


def test_rational_up_is_exact_until_the_denominator_would_be_absurd():
    assert rational_up(Decimal("0.1")) == Fraction(1, 10)
    assert rational_up(Decimal("1e-900000000000000000")) == Fraction(1, 10**400)
    assert rational_up(Decimal(0)) == 0


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(10**50, 7), Fraction(1, 3 * 10**40)])
def test_shorten_up_keeps_thirty_digits(number):
    short = shorten_up(number)
    assert 0 <= short - number <= number / 10**29
    assert short.denominator <= 10**75


def test_bearable_rounds_up_only_what_is_long():
    assert bearable(Fraction(1, 3)) == Fraction(1, 3)
    long = Fraction(1, 3**3000)
    assert long < bearable(long) < long * (1 + Fraction(1, 10**390))


@pytest.mark.parametrize(
    "number", [Fraction(1), Fraction(1, 3), Fraction(10**30), Fraction(7, 2**80)]
)
def test_dyadic_numbers_are_dense_and_ordered(number):
    below, above = dyadic(index_below(number)), dyadic(index_above(number))
    assert below <= number <= above <= below * (1 + Fraction(1, 2**40))
    assert dyadic(index_below(number) - 1) < below
    assert index_below(below) == index_above(below) == index_below(number)


def test_dyadic_numbers_step_over_powers_of_two():
    index = index_below(Fraction(1))
    assert dyadic(index) == 1
    assert dyadic(index - 1) == 1 - Fraction(1, 2**41)
    assert dyadic(index + 1) == 1 + Fraction(1, 2**40)


@pytest.mark.parametrize("guess", [-1000, 41, 42, 43, 10**6])
def test_least_near_finds_the_same_from_anywhere(guess):
    assert least_near(lambda index: index >= 42, guess) == 42


def test_least_answers_where_the_condition_held_even_if_it_is_not_monotone():
    asked = {}

    def holds(index):
        asked[index] = index % 3 == 0
        return asked[index]

    found = least(holds, 0, 99)
    assert found == 99 or asked[found]


@pytest.mark.parametrize("number", ["1e-12", "0.998964956360996693", "1", "1.0000001", "733.5"])
def test_coarse_number_is_above_and_near_and_does_not_hang_on_the_last_digits(number):
    exact = Fraction(number)
    found = coarse_above(exact)
    assert exact <= found <= exact * (1 + Fraction(1, 2**19))
    assert coarse_above(found) == found
    assert coarse_above(exact * (1 - Fraction(1, 2**50))) in (found, exact)


def test_nothing_stays_nothing():
    assert coarse_above(Fraction(0)) == 0
