"""Exact numbers: a float means its literal, and what is not exact is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import NumberError, RangeError
from sfumato.core.number import (
    exact,
    failure_probability,
    nonnegative,
    open_unit,
    positive,
    show,
)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (-0.0, Fraction(0)),
        (5e-324, Fraction(5, 10**324)),
        (1.7976931348623157e308, Fraction(17976931348623157) * 10**292),
        ("1/3", Fraction(1, 3)),
        ("-6/4", Fraction(-3, 2)),
        ("+1e-6", Fraction(1, 10**6)),
        ("  .5 ", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1E3", Fraction(1000)),
        ("1e999", Fraction(10**999)),
        ("1e-999", Fraction(1, 10**999)),
        ("0" * 127 + "1", Fraction(1)),
        (Decimal("0.10"), Fraction(1, 10)),
        (Decimal("1E+3"), Fraction(1000)),
        (Fraction(2, 7), Fraction(2, 7)),
        (10**1000, Fraction(10**1000)),
        (np.float64("0.1"), Fraction(1, 10)),
        (np.float32("0.1"), Fraction(1, 10)),
        (np.float16("0.1"), Fraction(1, 10)),
        (np.longdouble("0.1"), Fraction(1, 10)),
        (np.float32("16777216"), Fraction(2**24)),
        (np.float32("1e-40"), Fraction(1, 10**40)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (np.int8(-128), Fraction(-128)),
    ],
)
def test_exact_returns_the_number_that_was_meant(given, meant):
    number = exact(given)
    assert number == meant
    assert type(number) is Fraction
    assert type(number.numerator) is int


def test_exact_does_not_depend_on_how_numpy_prints():
    given = np.float32("0.1234567")
    with np.printoptions(legacy="1.13", precision=2):
        assert exact(given) == Fraction(1234567, 10**7)


def test_exact_takes_other_rationals():
    class Ratio(Fraction):
        pass

    assert exact(Ratio(1, 3)) == Fraction(1, 3)


class Odd:
    """Claims to be a rational and is none."""

    numerator, denominator = 1, 0


def test_exact_refuses_a_rational_without_value():
    from numbers import Rational

    Rational.register(Odd)
    with pytest.raises(NumberError, match="Odd is not a finite, exact number"):
        exact(Odd())


@pytest.mark.parametrize("digits", [5_000, 1_000_000])
@pytest.mark.parametrize("make", [int, lambda n: Fraction(1, n), lambda n: Fraction(-n, 3)])
def test_exact_refuses_numbers_too_long_to_write_down(make, digits):
    with pytest.raises(NumberError, match="more than 4,000 digits"):
        exact(make(10**digits), "epsilon")


@pytest.mark.parametrize("text", ["1e1000", "1e-1000", "1" * 129, "0." + "0" * 200 + "1"])
def test_exact_says_that_a_numeral_is_too_long(text):
    with pytest.raises(NumberError, match=r"at most 128 characters.*exponent.*three digits"):
        exact(text, "epsilon")


def test_refusal_names_the_argument_and_shortens_the_value():
    with pytest.raises(NumberError) as caught:
        exact("x" * 1000, "epsilon")
    assert caught.value.message.startswith("epsilon = 'xxxx")
    assert len(caught.value.message) < 300


def test_refusal_quotes_no_object():
    class Secret:
        def __repr__(self):
            return "4711"

    with pytest.raises(NumberError, match="Secret") as caught:
        exact(Secret())
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("check", "legal", "illegal"),
    [
        (positive, ["1e-999", 1, 10**30], [0, "-0", "-1e-999", -1, Fraction(-1, 3)]),
        (nonnegative, [0, "1e-999", 5], ["-1e-999", -1, -(10**400)]),
        (open_unit, ["1e-999", 0.5, "0.999999999999999999"], [0, 1, -0.5, 1.5, 10**30]),
        (failure_probability, [0, "1e-999", "0.999999999999999999"], [1, -1, "-1e-999", 2]),
    ],
)
def test_range_check_draws_the_line_exactly(check, legal, illegal):
    for value in legal:
        assert check(value, "x") == exact(value)
    for value in illegal:
        with pytest.raises(RangeError, match=r"^x = .* must "):
            check(value, "x")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(4), "4"),
        (Fraction(-(10**15) + 1), "-999999999999999"),
        (Fraction(10**15), "1e+15"),
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(1, 10**6), "1e-06"),
        (Fraction(-1, 3), "-0.333333"),
        (Fraction(10**400), "about 10^400"),
        (Fraction(-3 * 10**400), "about -10^400"),
        (Fraction(1, 10**400), "about 10^-400"),
        (Fraction(-3, 10**400), "about -10^-400"),
        (Fraction(10**6000), "about 10^6000"),
        (Fraction(1, 10**6000), "about 10^-6000"),
    ],
)
def test_show_is_short_and_never_turns_a_number_into_zero(number, text):
    assert show(number) == text


def test_show_takes_more_digits():
    assert show(Fraction(1, 3), digits=3) == "0.333"
