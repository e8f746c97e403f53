import copy
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.codec import decode, encode
from sfumato.core.errors import DataError, InputError, NumberError
from sfumato.release import Measure

SURE = Fraction(95, 100)


def measure(values, error, **parts):
    return Measure.of("n", values, error, confidence=SURE, mechanism="M", **parts)


def test_interval_of_integers_is_rounded_outwards(error):
    built = measure([10, -3], error(factor=Fraction(10)))
    assert (built.kind, built.low, built.high) == ("integer", (0, -13), (20, 7))


def test_interval_of_rationals_is_exact(error):
    built = measure([Fraction(1, 2), Decimal("3.0")], error(factor=Fraction(10)))
    assert built.kind == "rational"
    assert built.low == (-9, Fraction(-13, 2))
    assert built.high == (10, Fraction(25, 2))


def test_rationals_stay_rationals_even_if_whole(error):
    built = measure([Fraction(3)], error())
    assert [type(v) for v in built.values] == [Fraction]


@pytest.mark.parametrize("values", [np.int64(3), np.array(3), np.array([3], np.int32), [3], 3])
def test_integers_of_any_width_become_plain_ints(values, error):
    built = measure(values, error())
    assert built.values == (3,)
    assert type(built.values[0]) is int


def test_yes_and_no_become_one_and_zero(error):
    assert measure(np.array([True, False]), error()).values == (1, 0)


@pytest.mark.parametrize("values", [0.5, [1, 2.0], np.array([1.0]), np.float32(1)])
def test_floats_are_refused(values, error):
    with pytest.raises(DataError, match="float"):
        measure(values, error())


@pytest.mark.parametrize("values", [None, [object()], [[1, 2], [3]], (v for v in [1])])
def test_what_is_not_a_number_is_refused(values, error):
    with pytest.raises((DataError, NumberError)):
        measure(values, error())


def test_rank_error_is_a_margin_and_not_an_interval(error):
    built = measure(41, error("rank, noise only"))
    assert (built.low, built.high, built.margin) == (None, None, 95)
    assert [name for name, _, _ in built.columns()] == ["n", "n_rank_error"]


def test_choice_may_be_text_or_a_public_float(error):
    chosen = measure("kale", error("score, noise only"))
    assert (chosen.values, chosen.kind, chosen.margin) == (("kale",), "text", 95)
    assert measure(0.1, error("score, noise only")).values == (Fraction(1, 10),)


def test_without_error_there_is_no_interval():
    built = measure([1, 2], None)
    assert (built.low, built.high, built.margin, built.covers) == (None, None, None, "nothing")


@pytest.mark.parametrize(
    "parts",
    [
        {"low": (2,), "high": (3,)},
        {"low": (0,), "high": (0,)},
        {"low": (0,)},
        {"low": (0, 0), "high": (2, 2)},
        {"margin": 3},
        {"scale": -1},
        {"name": ""},
        {"name": "\ud800"},
        {"mechanism": "\ud800"},
        {"values": ("a",), "low": ("a",), "high": ("a",)},
        {"values": ("a",), "kind": "integer"},
        {"values": (Fraction(1, 2),), "kind": "integer"},
        {"values": (1,), "kind": "text"},
    ],
    ids=str,
)
def test_parts_that_do_not_fit_are_refused(parts):
    with pytest.raises(InputError):
        Measure(**({"name": "n", "values": (1,)} | parts))


def test_error_that_covers_nothing_makes_no_interval():
    class Range:
        covers, std = "nothing", None

        def halfwidth(self, confidence):
            return Fraction(9)

    built = Measure.of("p50", 7, Range(), confidence=Fraction(95, 100), mechanism="m")
    assert (built.low, built.high, built.margin, built.covers) == (None, None, None, "nothing")


# ---- long columns --------------------------------------------------------------------------------


def twins(values, error):
    """Return the same measure from an array, which it keeps, and from plain integers."""
    return measure(np.array(values, np.int64), error), measure(list(values), error)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0],
        [3, -1, 4],
        [2**53 - 1, 1 - 2**53],
        [2**53 + 10**6],
        [-(2**53) - 10**6, 0],
        [2**63 - 1, -(2**63)],
    ],
    ids=str,
)
@pytest.mark.parametrize("factor", [Fraction(1, 3), Fraction(10**6)])
def test_array_is_the_same_measure_as_its_numbers(values, factor, error):
    array, plain = twins(values, error(factor=factor))
    assert encode(array) == encode(plain)  # before anybody looked
    assert hash(array) == hash(plain)
    assert array == plain
    assert (array.values, array.low, array.high) == (plain.values, plain.low, plain.high)
    assert {type(v) for v in (*array.values, *array.low, *array.high)} <= {int}
    assert repr(array) == repr(plain)
    assert decode(encode(array)) == plain
    assert len(array) == len(values)
    assert array.names == plain.names == [name for name, _, _ in plain.columns()]
    for twin in (copy.deepcopy(array), copy.copy(array), replace(array)):
        assert twin == plain
        assert encode(twin) == encode(plain)
    renamed = array.replaced(name="m")
    assert renamed == replace(plain, name="m")
    assert encode(renamed) == encode(replace(plain, name="m"))


def test_interval_beyond_64_bits_is_exact(error):
    array, _ = twins([2**63 - 1, -(2**63)], error(factor=Fraction(10)))
    assert array.high[0] == 2**63 + 9
    assert array.low[1] == -(2**63) - 10


def test_array_that_changes_afterwards_changes_nothing(error):
    given = np.array([1, 2, 3])
    built = measure(given, error())
    shown = built.held("values")
    given[0] = 99
    assert built.values == (1, 2, 3)
    with pytest.raises(ValueError, match="read-only"):
        shown[0] = 99


def test_arrays_that_are_no_interval_are_refused():
    one = np.array([1, 1])
    for low, high in ((one + 1, one + 1), (one - 1, one - 1), (one[:1], one), ((0, 2), one)):
        with pytest.raises(InputError, match="intervals"):
            Measure("n", one, low, high)
    with pytest.raises(InputError):
        Measure("n", np.array([[1], [1]]))


def test_name_that_a_measure_does_not_have_is_no_column(error):
    built = measure(np.array([1]), error())
    assert not hasattr(built, "median")
    with pytest.raises(AttributeError, match="median"):
        built.median  # noqa: B018


def test_column_that_is_handed_out_cannot_be_changed():
    column = Measure("n", np.arange(5), kind="integer", mechanism="m").held("values")
    with pytest.raises(ValueError, match="WRITEABLE"):
        column.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 7
