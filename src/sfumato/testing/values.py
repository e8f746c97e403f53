"""Hypothesis strategies for raw values, as careless or hostile owners hold them.

Needs the extra ``testing``.

>>> from hypothesis import find
>>> from sfumato.core.schema import Integer
>>> find(raw_values(Integer(0, 120), pa.float64()), lambda value: value is not None)
120.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from sfumato.core.schema import Boolean, Category, Column, Date, Integer, Real, Text, Timestamp
from sfumato.relation.kind import Day, Instant, Label, Number, Truth, domain, kind_of, value

WORDS = ("A", "B", "", "a", "A ", "1", "é", "e\u0301", "it's", "x\n'y")
_UNPARSABLE = ("", " ", "abc", "nan", "-inf", "1e999", "0x10", "1_0", "--1", "٣", "1;DROP", "99e99")
_FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0, 1e308, -1e308, 5e-324)
_INTEGERS = (2**63 - 1, -(2**63), 2**64 - 1, 2**31, 0)
_DAYS = (date.min, date.max, date(1970, 1, 1), date(1900, 2, 28))
# In what a column of each type may come.
_STORED: Mapping[type[Column], Sequence[pa.DataType]] = {
    Integer: (pa.int64(), pa.int32(), pa.uint64(), pa.float64(), pa.string(), pa.decimal128(38, 4)),
    Real: (pa.float64(), pa.float32(), pa.int64(), pa.string(), pa.decimal128(38, 4)),
    Category: (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.int64()),
    Boolean: (pa.bool_(), pa.string(), pa.int64()),
    Date: (pa.date32(), pa.timestamp("us"), pa.string()),
    Timestamp: (pa.timestamp("us"), pa.timestamp("s"), pa.string(), pa.date32()),
    Text: (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())),
}


def stored_types(column: Column) -> list[pa.DataType]:
    """Return Arrow types in which a declared column may come and that can hold its values."""
    return [stored for stored in _STORED[type(column)] if _fitting(_near(column), stored)]


@st.composite
def raw_values(draw: st.DrawFn, column: Column, stored: pa.DataType) -> Any:
    """Values that a column of an Arrow type may hold: bounds most of all, NULL, and worse.

    Args:
        draw: given by hypothesis.
        column: the declaration.
        stored: the Arrow type.
    """
    near, far = _fitting(_near(column), stored), _fitting(_far(stored), stored)
    # Lists and not strategies: of equal strategies one_of keeps one, and most values would be bad.
    return draw(st.sampled_from(draw(st.sampled_from([near] * 12 + [far, [None]]))))


def _near(column: Column) -> list[Any]:
    """Return values around the declared ones: each bound, beyond it, and between two steps."""
    kind = kind_of(column)
    match kind:
        case Number():
            low, high = kind.bounds
            middle = kind.step * ((kind.low + kind.high) // 2)
            return [high, low, middle, high + kind.step, low - kind.step, low + kind.step / 2]
        case Label():
            return [*kind.values, *map(str, kind.values)]
        case Truth():
            return [True, False]
        case Day() | Instant():
            every = domain(kind)
            assert every is not None
            return [
                datetime.fromisoformat(str(value(kind, held)))
                for held in sorted({*every[:3], *every[-3:]})
            ]
    return list(WORDS)


def _far(stored: pa.DataType) -> Sequence[Any]:
    if pa.types.is_floating(stored):
        return _FLOATS
    if pa.types.is_integer(stored):
        return _INTEGERS
    if pa.types.is_date(stored) or pa.types.is_timestamp(stored):
        return _DAYS
    if pa.types.is_decimal(stored):
        return (Decimal(10**33), Decimal("-0.5"), Decimal("0.4999"))
    return (True,) if pa.types.is_boolean(stored) else _UNPARSABLE


def _fitting(values: Sequence[Any], stored: pa.DataType) -> list[Any]:
    """Return those values, as Python holds them, that an Arrow type can hold."""
    turn = _turn(stored)
    found = (turn(each) for each in values)
    return [each for each in found if each is not None]


def _turn(stored: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_boolean(stored):
        return lambda each: each if isinstance(each, bool) else None
    if pa.types.is_floating(stored):
        return lambda each: float(each) if isinstance(each, int | float | Fraction) else None
    if pa.types.is_integer(stored):
        lowest = 0 if pa.types.is_unsigned_integer(stored) else -(2 ** (stored.bit_width - 1))
        beyond = lowest + 2**stored.bit_width
        return lambda each: _whole(each, lowest, beyond)
    if pa.types.is_decimal(stored):
        return _decimal
    if pa.types.is_date(stored):
        return lambda each: each.date() if isinstance(each, datetime) else _day(each)
    if pa.types.is_timestamp(stored):
        return _moment
    return _text


def _whole(each: Any, lowest: int, beyond: int) -> int | None:
    if isinstance(each, int | Fraction) and lowest <= int(each) < beyond:
        return int(each)
    return None


def _decimal(each: Any) -> Decimal | None:
    if not isinstance(each, int | Fraction | Decimal):
        return None
    exact = Fraction(each)
    try:
        number = Decimal(exact.numerator) / Decimal(exact.denominator)
        return number.quantize(Decimal("0.0001"), ROUND_HALF_EVEN)
    except InvalidOperation:  # more digits than a decimal has
        return None


def _day(each: Any) -> date | None:
    return each if isinstance(each, date) else None


def _moment(each: Any) -> datetime | None:
    if isinstance(each, datetime):
        return each
    return datetime(each.year, each.month, each.day) if isinstance(each, date) else None


def _text(each: Any) -> str:
    if isinstance(each, Fraction):
        return str(each.numerator) if each.denominator == 1 else str(float(each))
    if isinstance(each, datetime) and each.time() == datetime.min.time():
        return each.date().isoformat()
    return each.isoformat() if isinstance(each, date) else str(each)
