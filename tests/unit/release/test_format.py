from fractions import Fraction

import pytest

from sfumato.release.format import approximate, grouped, percent, plain, printable, rounded_up


@pytest.mark.parametrize(
    ("number", "short", "wide"),
    [
        (0, "0", "0"),
        (-1234567, "-1234567", "-1,234,567"),
        (Fraction(-1, 2), "-0.5", "-0.5"),
        (Fraction(12345678901, 100), "123456789.01", "123,456,789.01"),
        (Fraction(1, 3), "0.333333", "0.333333"),
        (Fraction(10**9, 3), "333333333", "333,333,333"),
        (Fraction(1, 10**9), "1e-09", "1e-09"),
        (0.25, "0.25", "0.25"),
        (1234567.8, "1234568", "1,234,568"),
        (Fraction(10**400 + 1, 3), "1.79769e+308", "1.79769e+308"),
    ],
)
def test_numbers_are_written_for_people(number, short, wide):
    assert (plain(number), grouped(number)) == (short, wide)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Fraction(1, 3), "0.34"), (Fraction(0), "0.00"), (Fraction(101, 100), "1.01")],
)
def test_costs_are_rounded_up(number, shown):
    assert rounded_up(number) == shown


def test_percent_keeps_what_is_needed():
    assert percent(Fraction(999, 1000)) == "99.9 %"


def test_printable_keeps_scripts_and_drops_controls():
    assert printable(kept := "Île\xa0ü 漢 👩\u200d🌾") == kept
    assert printable("a\n\t\x00\u202e\u2028b") == "a�����b"


def test_approximate_is_always_finite():
    assert approximate(10**400) == -approximate(-(10**400)) < float("inf")
