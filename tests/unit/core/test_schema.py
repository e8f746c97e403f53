"""Columns and schemas: public facts, refused where they would not suffice."""

from datetime import UTC, date, datetime
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core import codec
from sfumato.core.errors import ColumnError, SfumatoError, UnknownName
from sfumato.core.schema import (
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Schema,
    Text,
    Timestamp,
)

NEW_YEAR, LEAP_DAY = "2024-01-01", "2024-02-29"


def test_integer_holds_ints():
    for low, high in [(0, 120), ("0", "120"), (0.0, 120.0), (Fraction(0), np.int64(120))]:
        column = Integer(low, high)
        assert (column.low, column.high) == (0, 120)
        assert type(column.low) is type(column.high) is int


def test_real_holds_rationals_on_its_grid():
    column = Real(-0.5, 200, step="0.01")
    assert (column.low, column.high, column.step) == (Fraction(-1, 2), 200, Fraction(1, 100))
    assert Real("1/3", "2/3", "1/3").low == Fraction(1, 3)


@pytest.mark.parametrize("value", [0.005, "199.999"])
@pytest.mark.parametrize("end", ["low", "high"])
def test_real_refuses_bounds_off_the_grid(end, value):
    bounds = {"low": 0, "high": 200, end: value}
    with pytest.raises(ColumnError, match=rf"{end} = .* is not a multiple of the step 0\.01"):
        Real(**bounds, step="0.01")


@pytest.mark.parametrize("step", [0, -1, None, "nan", float("inf"), ""])
def test_step_must_be_a_positive_number(step):
    with pytest.raises(ColumnError, match=r"^step = "):
        Real(0, 1, step)
    with pytest.raises(ColumnError, match=r"^step = "):
        Timestamp(NEW_YEAR, LEAP_DAY, step)


def test_integer_refuses_fractions():
    with pytest.raises(ColumnError, match=r"high = 1\.5 of an Integer must be a whole number"):
        Integer(0, 1.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Integer(5, 5),
        lambda: Integer(6, 5),
        lambda: Real(1, 1, 1),
        lambda: Real(2, 1, 1),
        lambda: Date(LEAP_DAY, NEW_YEAR),
        lambda: Date(NEW_YEAR, NEW_YEAR),
        lambda: Timestamp(LEAP_DAY, NEW_YEAR),
    ],
)
def test_bounds_must_be_in_order(make):
    with pytest.raises(ColumnError, match="low must be below high"):
        make()


def test_bounds_end_where_sums_would_overflow():
    assert Integer(-(2**62), 2**62).high == 2**62
    assert Real(0, 2**42, Fraction(1, 2**20)).high == 2**42
    for make in (
        lambda: Integer(0, 2**62 + 1),
        lambda: Integer(-(2**62) - 1, 0),
        lambda: Real(0, 2**42 + 1, Fraction(1, 2**20)),
        lambda: Timestamp(NEW_YEAR, LEAP_DAY, "1e-30"),
    ):
        with pytest.raises(ColumnError, match=r"2\^62 steps"):
            make()


FARTHEST = 2**53 - 1


def test_numbers_may_have_no_bounds():
    whole, cents = Integer(nullable=True), Real(step="0.01")
    assert whole.low is whole.high is cents.low is cents.high is None
    assert whole.bounds == (-FARTHEST, FARTHEST)
    assert cents.bounds == (Fraction(-FARTHEST, 100), Fraction(FARTHEST, 100))
    assert Integer(0, 9).bounds == (0, 9)
    assert Real(0, 9, 1).bounds == (0, 9)
    assert whole != Integer(-FARTHEST, FARTHEST, nullable=True)
    for column in (whole, cents, Schema(a=whole, b=cents)):
        assert codec.decode(codec.encode(column)) == column


def test_bounds_leave_their_encoding_as_it_was():
    assert codec.encode(Integer(0, 9)) == b'{"$":"Integer","high":9,"low":0,"nullable":false}'


@pytest.mark.parametrize("make", [Integer, lambda **ends: Real(step=1, **ends)])
def test_one_bound_alone_is_refused(make):
    with pytest.raises(ColumnError, match="high is missing: a range has two ends"):
        make(low=0)
    with pytest.raises(ColumnError, match="low is missing: a range has two ends"):
        make(high=0)


def test_real_without_step_is_refused():
    for make in (Real, lambda: Real(0, 1), lambda: Real(nullable=True)):
        with pytest.raises(ColumnError, match="step is missing"):
            make()


def test_category_keeps_the_values_in_order():
    assert Category(["b", "a", 3]).values == ("b", "a", 3)
    assert Category(range(3)).values == (0, 1, 2)
    assert Category(("x",)).values == ("x",)


def test_category_holds_plain_values():
    column = Category(np.array(["A", "B"]))
    assert [type(value) for value in column.values] == [str, str]
    assert [type(value) for value in Category(np.arange(2)).values] == [int, int]
    assert Category(np.array(["A", "B"])) == Category(["A", "B"])


@pytest.mark.parametrize(
    "values",
    ["AB", b"AB", 5, None, {"A", "B"}, frozenset("AB"), {"A": 1}],
    ids=lambda values: type(values).__name__,
)
def test_category_refuses_what_is_no_list(values):
    with pytest.raises(ColumnError, match="list of values"):
        Category(values)


@pytest.mark.parametrize(
    "values", [[], [1.5], [True], [None], ["a", b"b"], [["a"]], [np.timedelta64(1, "ns")]]
)
def test_category_refuses_values_that_cannot_be_keys(values):
    with pytest.raises(ColumnError, match="at least one value"):
        Category(values)


def test_category_refuses_duplicates():
    with pytest.raises(ColumnError, match="distinct"):
        Category(["A", "B", "A"])
    assert Category([1, "1"]).values == (1, "1")


def test_date_holds_iso_text():
    column = Date(date(2024, 1, 1), LEAP_DAY)
    assert (column.low, column.high) == (NEW_YEAR, LEAP_DAY)
    assert Date("20240101", "2024-W09-4") == column


def test_timestamp_holds_iso_text():
    column = Timestamp(datetime(2024, 1, 1), "2024-01-01T12:00", step="0.5")
    assert (column.low, column.high) == ("2024-01-01T00:00:00", "2024-01-01T12:00:00")
    assert column.step == Fraction(1, 2)
    assert Timestamp(NEW_YEAR, LEAP_DAY).step == 1


@pytest.mark.parametrize(
    "bound",
    [
        "2024-02-30",
        "yesterday",
        "",
        "２０２４-01-01",  # noqa: RUF001 (digits of another script)
        20240101,
        None,
        np.datetime64("2024-01-01"),
        datetime(2024, 1, 1),
        "2024-01-01T00:00",
    ],
)
def test_date_refuses_other_bounds(bound):
    with pytest.raises(ColumnError, match="date bound must be a date or ISO text"):
        Date(bound, "2030-01-01")


@pytest.mark.parametrize("bound", ["2024-02-30", "noon", 0, None, date(2024, 1, 1)])
def test_timestamp_refuses_other_bounds(bound):
    with pytest.raises(ColumnError, match="datetime bound must be a datetime or ISO text"):
        Timestamp(bound, "2030-01-01")


@pytest.mark.parametrize("bound", ["2024-01-01T00:00Z", datetime(2024, 1, 1, tzinfo=UTC)])
def test_timestamp_refuses_time_zones(bound):
    with pytest.raises(ColumnError, match="no time zone"):
        Timestamp(bound, "2030-01-01")
    with pytest.raises(ColumnError, match="no time zone"):
        Timestamp("2020-01-01", bound)


def test_timestamp_refuses_a_range_that_is_not_whole_steps():
    assert Timestamp("2024-01-01T00:00:00", "2024-01-01T23:59:00", step=60).step == 60
    with pytest.raises(ColumnError, match="whole number of steps"):
        Timestamp("2024-01-01T00:00:00", "2024-01-01T23:59:59", step=60)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Integer(0, 1, nullable=n),
        lambda n: Real(0, 1, 1, nullable=n),
        lambda n: Category(["A"], nullable=n),
        lambda n: Boolean(nullable=n),
        lambda n: Date(NEW_YEAR, LEAP_DAY, nullable=n),
        lambda n: Timestamp(NEW_YEAR, LEAP_DAY, nullable=n),
        lambda n: Text(nullable=n),
    ],
)
def test_nullable_is_true_or_false_and_nothing_else(make):
    assert make(True).nullable is True
    assert make(False).nullable is False
    for wrong in (1, 0, "no", None, np.True_):
        with pytest.raises(ColumnError, match="nullable"):
            make(wrong)


def test_schema_keeps_the_order_of_its_columns():
    schema = Schema(b=Boolean(), a=Integer(0, 9))
    assert list(schema) == ["b", "a"]
    assert len(schema) == 2
    assert schema["a"] == Integer(0, 9)
    assert "a" in schema
    assert "c" not in schema
    assert schema.get("c") is None


def test_schema_takes_a_mapping_for_other_names():
    columns = {"first name": Text(), "größe": Integer(0, 300), "columns": Boolean(), "self": Text()}
    assert dict(Schema(columns)) == columns
    assert Schema({"a": Text()}, b=Text()) == Schema(a=Text(), b=Text())
    assert Schema([("a", Text()), ("b", Text())]) == Schema(a=Text(), b=Text())
    assert Schema(Schema(a=Text())) == Schema(a=Text())
    assert list(Schema(columns=Boolean(), self=Text())) == ["columns", "self"]
    assert len(Schema()) == 0


@pytest.mark.parametrize("columns", [5, "ab", ["a"], [("a", Text(), 1)], {"a", "b"}, (1, 2), [[]]])
def test_schema_refuses_what_is_no_mapping(columns):
    with pytest.raises(ColumnError, match="one mapping"):
        Schema(columns)
    with pytest.raises(ColumnError):
        Schema(columns=columns)


def test_schema_refuses_to_declare_a_column_twice():
    with pytest.raises(ColumnError, match="'a' is declared twice"):
        Schema({"a": Integer(0, 9)}, a=Integer(0, 10**6))
    with pytest.raises(ColumnError, match="'a' is declared twice"):
        Schema([("a", Integer(0, 9)), ("a", Text())])
    with pytest.raises(ColumnError, match="'a' is declared twice"):
        Schema(columns=(("a", Integer(0, 9)), ("a", Text())))


def test_schema_drops_no_column_beside_one_called_columns():
    with pytest.raises(ColumnError, match="'columns' is declared as a tuple"):
        Schema(columns=(("a", Text()),), b=Text())


@pytest.mark.parametrize("name", ["", None, 3, b"a"])
def test_schema_refuses_columns_without_a_name(name):
    with pytest.raises(ColumnError, match="needs a name"):
        Schema({name: Text()})


@pytest.mark.parametrize("column", [int, "integer", None, Integer, Column()])
def test_schema_refuses_what_is_no_column(column):
    with pytest.raises(ColumnError, match=r"'a' is declared as a .*, which is no column"):
        Schema(a=column)


def test_unknown_column_is_refused_with_those_that_exist():
    with pytest.raises(UnknownName, match="no column 'c' is declared; there are: a, b") as caught:
        Schema(a=Text(), b=Text())["c"]
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, SfumatoError)
    assert str(caught.value).endswith("[E204]")
    with pytest.raises(KeyError, match="there are: none"):
        Schema()["c"]


def test_schema_is_a_value():
    one, two = Schema(a=Integer(0, 9)), Schema({"a": Integer("0", 9.0)})
    assert one == two
    assert hash(one) == hash(two)
    assert Schema(a=Text(), b=Boolean()) != Schema(b=Boolean(), a=Text())
    assert one != {"a": Integer(0, 9)}
    with pytest.raises(AttributeError):
        one.columns = ()


def test_repr_shows_the_declarations_and_can_be_typed():
    names = {
        "Schema": Schema,
        "Integer": Integer,
        "Real": Real,
        "Category": Category,
        "Text": Text,
        "Fraction": Fraction,
    }
    for schema in (
        Schema(a=Integer(0, 9), b=Real(0, 1, "0.1", nullable=True)),
        Schema({"first name": Text()}),
        Schema({"class": Category(["x"])}),
        Schema({"\u00b5": Text()}),  # as a keyword it would turn into another letter
        Schema(),
    ):
        assert eval(repr(schema), names) == schema  # noqa: S307 (our own repr)
