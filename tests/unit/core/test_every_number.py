"""Every place that takes a number takes the good ones and refuses the bad ones with a code."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.budget import Budget
from sfumato.core.errors import SfumatoError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Pure,
    Worst,
)
from sfumato.core.number import exact, failure_probability, nonnegative, open_unit, positive
from sfumato.core.schema import Integer, Real, Timestamp
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit


class Imitation:
    """Has everything of a number but being one."""

    numerator = denominator = real = 1
    imag = 0

    def __float__(self):
        return 1.0

    def __int__(self):
        return 1

    __index__ = __int__

    def item(self):
        return 1

    def __str__(self):
        return "1"

    __repr__ = __str__


NOT_FINITE = [
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    *(
        kind(x)
        for kind in (np.float16, np.float32, np.float64, np.longdouble)
        for x in ("nan", "inf", "-inf")
    ),
    *(Decimal(x) for x in ("NaN", "-NaN", "sNaN", "NaN123", "Infinity", "-Infinity")),
]
TEXTS = """
    nan NaN -nan +nan nan0 inf -inf +inf Inf INF infinity -Infinity Infinity sNaN NULL null None
    none NA N/A n/a #N/A #REF! #DIV/0! undefined - -- + ++ +- . .. , ; : e E e5 .e5 E+ / // \\ *
    ** % ? ! _ __ ' '' '1' 1' "1" `1` (1) [1] {1} <1> |1| $1 1% %1 #1 1# @1 1@ &1 =1 ==1 ~1 ^1
    0x10 0X10 -0x10 0o17 0b101 0x1p-3 1h 10h x10 1_000 1_0.5 _1 1_ 1__0 1,5 1,000 1,000.5
    1.000,5 1'000 1.2.3 1..2 1.-2 --1 ++1 +-1 -+1 1- 1+ 1e 1e+ 1e- 1e1.5 1e1e1 1ee1 1e_1 1e--1
    e1 1E 1d5 1D5 1f 1.0f 1L 1l 1u 1i 1j 1+1j 1+1 1-1 1*1 2^3 2**3 10^-6 1/ /1 1/2/3 1//2 1/0
    0/0 -1/0 1/-2 1/+2 1/2. 1./2 0.5/1 1/0.5 1/1e3 1e3/1 1:2 one two zero ten eins half true
    false True False yes no on off epsilon auto max all 1e1000 1e-1000 1e99999 1e-99999
    1e999999999999 -1e99999 1E+1000000 0e1000 1e0001 1;DROP 1--x ${1} {{1}} %s %d \\x31 &#49;
    \\u0031 lambda:1
""".split()  # noqa: SIM905 (a list of them would fill pages)
# Digits, fractions, signs and separators of other scripts, as people paste them.
SCRIPTS = [
    "\u221e", "-\u221e", "\u20ac1", "1\u20ac", "1\u2030", "1\xd710", "1\u22c55", "1\xf72",
    "\xbd", "1\xbd", "\xb2", "1\xb2", "\xb9", "\u2153", "\u2163", "\u2460", "\u0661",
    "\u0661\u0662", "\u06f1", "\u0967", "\u09e7", "\u0e51", "\u4e00", "\u4e8c", "\uff11",
    "\uff11\uff12", "\uff11.\uff15", "1\uff0e5", "\u22121", "\u20131", "\u20141", "\u20101",
    "1\u200b", "\u200b1", "\uff11/\uff12", "\u0660\u066b\u0665", "1\u066b5", "1\u066c000",
    "\u03b5",
]  # fmt: skip
SPACED = [
    "", " ", "   ", "\t", "\n", "\r\n", "\0", "\x0b", "\u00a0", "\u2003", "\u200b", "\ufeff",
    "1 2", "1 000", "1\t", "\t1", "1\n", "\n1", "1\0", "\u00a01", "1\u00a0", "\ufeff1", "- 1",
    "1 /2", "1/ 2", "1 e5", "1e 5", "1. 5",
]  # fmt: skip
LONG = ["1" * 129, "0" * 1000, "9" * 100_000, "0." + "0" * 500 + "1", "1/" + "3" * 200, "x" * 10**6,
        10**5000, -(10**5000), Fraction(1, 10**5000), Decimal("1e5000"), Decimal("1e-5000"),
        Decimal("0." + "1" * 200)]  # fmt: skip
OBJECTS = [
    True, False, np.True_, np.False_, 1j, complex(1, 0), np.complex64(1), np.complex128(1), [], [1],
    [0.5], (), (1,), (1, 2), {}, {"a": 1}, {1}, set(), frozenset({1}), range(1), range(2), b"1",
    b"", bytearray(b"1"), memoryview(b"1"), np.array(1), np.array(0.5), np.array([1]),
    np.array([1, 2]), np.array([]), np.array("1"), np.datetime64("2026-01-01"),
    np.timedelta64(1, "s"), np.timedelta64(1, "ns"), np.timedelta64("NaT"), np.datetime64("NaT"),
    np.bytes_(b"1"), np.void(b"1"), np.str_("nan"), np.str_("1_0"), object(),
    object, int, float, Fraction, Decimal, len, lambda: 1, ..., NotImplemented, Exception("1"),
    Imitation(), iter([1]), (x for x in [1]), slice(1), datetime.date(2026, 1, 1),
    datetime.timedelta(1), datetime.time(1), math, type("Text", (), {})(),
]  # fmt: skip
BAD = [*NOT_FINITE, *TEXTS, *SCRIPTS, *SPACED, *LONG, *OBJECTS]

HALVES = [0.5, "0.5", ".5", "1/2", " 0.5 ", "5e-1", "+0.5", "2/4", Decimal("0.5"), Fraction(1, 2),
          np.float16(0.5), np.float32(0.5), np.float64(0.5), np.longdouble(0.5),
          np.str_("0.5")]  # fmt: skip
WIDTHS = [getattr(np, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
WHOLE = [3, *(kind(3) for kind in WIDTHS), np.longlong(3), np.intp(3)]
THREES = [*WHOLE, 3.0, "3", "3.0", "6/2", "3e0", "0.3e1", " 3", Decimal(3), Decimal("3.00"),
          Fraction(3), np.float16(3), np.float32(3), np.float64(3), np.longdouble(3)]  # fmt: skip
TENTHS = [0.1, "0.1", "1/10", Decimal("0.1"), np.float16("0.1"), np.float32("0.1"),
          np.float64("0.1"), np.longdouble("0.1")]  # fmt: skip

# Name, what takes the number and gives it back, and what is below its range.
RATIONAL = {
    "exact": (exact, []),
    "positive": (lambda x: positive(x, "x"), [0, -1]),
    "nonnegative": (lambda x: nonnegative(x, "x"), [-1]),
    "open_unit": (lambda x: open_unit(x, "x"), [0, 1, -1, 2]),
    "failure_probability": (failure_probability, [1, -1, 2]),
    "Budget epsilon": (lambda x: Budget(epsilon=x).epsilon, [0, -1]),
    "Budget delta": (lambda x: Budget(epsilon=1, delta=x).delta, [1, -1, 2]),
    "Budget rho": (lambda x: Budget(rho=x).rho, [0, -1]),
    "Sensitivity l1": (lambda x: Sensitivity(l1=x).l1, [-1]),
    "Sensitivity l2": (lambda x: Sensitivity(l2=x).linf, [-1]),
    "Sensitivity l2_squared": (lambda x: Sensitivity(l2_squared=x).l2_squared, [-1]),
    "Sensitivity linf": (lambda x: Sensitivity(linf=x).linf, [-1]),
    "Real low": (lambda x: Real(x, 1000, "0.1").low, [1000, 1001]),
    "Real high": (lambda x: Real(-1, x, "0.1").high, [-1, -2]),
    "Real step": (lambda x: Real(0, 3, x).step, [0, -1]),
    "Timestamp step": (lambda x: Timestamp("2026-01-01", "2026-01-02", x).step, [0, -1]),
    "Pure": (lambda x: Pure(x).epsilon, [-1]),
    "Approximate epsilon": (lambda x: Approximate(x, 0).epsilon, [-1]),
    "Approximate delta": (lambda x: Approximate(1, x).delta, [1, -1, 2]),
    "Concentrated": (lambda x: Concentrated(x).rho, [-1]),
    "BoundedRange": (lambda x: BoundedRange(x).epsilon, [-1]),
    "LaplaceShift scale": (lambda x: LaplaceShift(x, 1, 1).scale, [0, -1]),
    "GaussianShift sigma": (lambda x: GaussianShift(x, 1).sigma, [0, -1]),
    "GaussianShift l2_squared": (lambda x: GaussianShift(1, x).l2_squared, [-1]),
}
NUMERAL = {  # whole numbers, in any notation
    "Sensitivity l0": (lambda x: Sensitivity(l0=x, linf=1).l0, [-1]),
    "Integer low": (lambda x: Integer(x, 1000).low, [1000, 1001]),
    "Integer high": (lambda x: Integer(-1, x).high, [-1, -2]),
    "LaplaceShift l1": (lambda x: LaplaceShift(1, x, 1).l1, [-1]),
    "LaplaceShift linf": (lambda x: LaplaceShift(1, 9, x).linf, [0, -1]),
    "Unit.rows": (lambda x: Unit.rows(x).max_rows, [0, -1, 2**31]),
    "Unit.by max_rows": (lambda x: Unit.by("u", max_rows=x).max_rows, [0, -1, 2**31]),
    "Unit.by max_groups": (
        lambda x: Unit.by("u", max_groups=x, max_rows_per_group=1).max_groups,
        [0, -1, 2**31],
    ),
    "Unit.by max_rows_per_group": (
        lambda x: Unit.by("u", max_groups=1, max_rows_per_group=x).max_rows_per_group,
        [0, -1, 2**31],
    ),
}
COUNT = {  # whole numbers by their type
    "Composed.of times": (lambda x: Composed.of([Pure(1)], times=x).parts[0][1], [-1]),
    "Worst.of touched": (lambda x: Worst.of([Pure(1)] * 9, touched=x).touched, [0, -1]),
}
EVERY = {**RATIONAL, **NUMERAL, **COUNT}


def wrongly_taken(take, values):
    """Return what was taken, or refused with an error that is not ours."""
    wrong = []
    for value in values:
        shown = "a long number" if any(value is n for n in LONG) else repr(value)[:40]
        try:
            wrong.append((shown, take(value)))
        except SfumatoError as refusal:
            if not (refusal.code in str(refusal) and len(str(refusal)) < 500):
                wrong.append((shown, refusal))
        except Exception as problem:  # noqa: BLE001 (any other error is the finding)
            wrong.append((shown, problem))
    return wrong


def test_table_is_long_and_has_no_repetition():
    assert len(BAD) >= 200
    assert len(set(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("place", EVERY)
def test_place_refuses_every_bad_number(place):
    take, below = EVERY[place]
    # A cap may be "auto", which Unit's own tests cover.
    values = [
        v for v in BAD if not (place.startswith("Unit") and isinstance(v, str) and v == "auto")
    ]
    assert wrongly_taken(take, values) == []
    assert wrongly_taken(take, below) == []


@pytest.mark.parametrize("place", sorted(EVERY.keys() - {"Sensitivity l0"}))
def test_place_refuses_none(place):
    assert wrongly_taken(EVERY[place][0], [None]) == []


@pytest.mark.parametrize("place", NUMERAL | COUNT)
def test_place_for_whole_numbers_refuses_fractions(place):
    assert wrongly_taken(EVERY[place][0], [*HALVES, 1.5, "7/2", Decimal("2.999")]) == []


@pytest.mark.parametrize("place", COUNT)
def test_count_is_no_numeral(place):
    assert wrongly_taken(EVERY[place][0], THREES[len(WHOLE) :]) == []


@pytest.mark.parametrize("place", RATIONAL)
@pytest.mark.parametrize("values", [HALVES, TENTHS], ids=["half", "tenth"])
def test_place_takes_every_good_number_as_what_it_means(place, values):
    take, meant = RATIONAL[place][0], Fraction(values[1])
    taken = [(value, take(value)) for value in values]
    assert [(v, t) for v, t in taken if t != meant or type(t) is not Fraction] == []


@pytest.mark.parametrize("place", NUMERAL)
def test_place_takes_every_good_whole_number(place):
    take = NUMERAL[place][0]
    taken = [(value, take(value)) for value in THREES]
    assert [(v, t) for v, t in taken if t != 3 or type(t) not in (int, Fraction)] == []


@pytest.mark.parametrize("place", COUNT)
def test_place_takes_every_good_count(place):
    take = COUNT[place][0]
    taken = [(value, take(value)) for value in WHOLE]
    assert [(v, t) for v, t in taken if t != 3 or type(t) is not int] == []
