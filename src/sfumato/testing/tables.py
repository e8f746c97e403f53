"""Hypothesis strategies for schemas, raw tables and their neighbors; needs the extra ``testing``.

The tables are what a careless or hostile owner hands in: columns in whatever type they came, with
values beyond their bounds, unlisted categories, text that is no number, NaN, infinities, NULL.

>>> from hypothesis import find
>>> from sfumato.core.unit import Unit
>>> table = find(tables(find(schemas(), bool), Unit.row()), lambda table: table.num_rows == 2)
>>> table.num_rows
2
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import isnan
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

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
from sfumato.core.unit import Neighbors, Unit
from sfumato.testing.values import WORDS, raw_values, stored_types

MOST_ROWS = 12
# Names that SQL, the lowering or a careless quotation could take for something else.
COLUMNS = ("a", "b", "c", "k0", "m0", "rowid", "select", "$key", "t.a", "日付", 'q"', "2\nlines")
UNIT_NAMES = ("id", "unit", "Kunde №", "sfumato unit")
_NAMED_BY = (pa.int64(), pa.string(), pa.float64())
_EXTREMES = ((-(2**62), 2**62), (0, 2**40), (2**61, 2**61 + 3), (-(2**32), -(2**31)))


# ---- declarations --------------------------------------------------------------------------------


@st.composite
def columns(draw: st.DrawFn) -> Column:
    """Declared columns of every type, most with few values, some with extreme bounds."""
    nullable = draw(st.booleans())
    low, size = draw(st.integers(-3, 3)), draw(st.integers(1, 4))
    match draw(st.sampled_from(("integer", "real", "category", "boolean", "day", "time", "text"))):
        case "integer":
            if draw(st.integers(0, 9)) == 9:
                return Integer(*draw(st.sampled_from(_EXTREMES)), nullable=nullable)
            return Integer(low, low + size, nullable=nullable)
        case "real":
            step = Fraction(draw(st.sampled_from(("1/2", "0.1", "1/3", "100", "1e-9"))))
            return Real(low * step, (low + size) * step, step, nullable=nullable)
        case "category":
            listed: Sequence[str | int] = (1, 2, -7) if draw(st.booleans()) else WORDS
            some = st.sampled_from(listed)
            values = draw(st.lists(some, min_size=1, max_size=3, unique=True))
            return Category(values, nullable=nullable)
        case "boolean":
            return Boolean(nullable=nullable)
        case "day":
            first = draw(st.sampled_from((date(1969, 12, 30), date(2024, 2, 28), date(1, 1, 1))))
            return Date(first, first + timedelta(days=size), nullable=nullable)
        case "time":
            start = draw(st.sampled_from((datetime(1969, 12, 31, 23, 59), datetime(2024, 2, 29))))
            step = draw(st.sampled_from((Fraction(1), Fraction(3600), Fraction(1, 2))))
            end = start + timedelta(microseconds=int(size * step * 10**6))
            return Timestamp(start, end, step, nullable=nullable)
    return Text(nullable=nullable)


@st.composite
def schemas(draw: st.DrawFn, unit: Unit | None = None) -> Schema:
    """Schemas of one to four columns; the column that names the unit is declared, or is not."""
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4, unique=True))
    declared = {name: draw(columns()) for name in names}
    if unit is not None and unit.column is not None and draw(st.booleans()):
        # Too narrow on purpose: two units stay two, whatever is declared of their column.
        narrow = draw(st.sampled_from((Integer(0, 1), Category(["A"]), Text())))
        declared[unit.column] = narrow
    return Schema(declared)


# ---- rows ----------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, schema: Schema, unit: Unit, *, most_rows: int = MOST_ROWS) -> pa.Table:
    """Raw Arrow tables for a schema: skewed, with equal rows, with values of every bad kind.

    Args:
        draw: given by hypothesis.
        schema: the declared columns.
        unit: who is protected; if a column names it, that column is there too.
        most_rows: how long a table may be.
    """
    fields = [
        pa.field(name, draw(st.sampled_from(stored_types(column))))
        for name, column in schema.items()
        if name != unit.column
    ]
    if unit.column is not None:
        fields.append(pa.field(unit.column, draw(st.sampled_from(_NAMED_BY))))
    # A table without any column has no rows in Arrow; a schema has at least one.
    return draw(_rows(schema, unit, pa.schema(fields), None, most_rows))


@st.composite
def neighbors(draw: st.DrawFn, table: pa.Table, schema: Schema, unit: Unit) -> pa.Table:
    """Tables that differ from a given one by one unit, under the unit's neighbor relation.

    A unit that a column names is removed with all its rows, or added, or, under ``"replace"``,
    given other rows, perhaps none. A unit of k rows is up to k of them, removed, added or replaced
    one for one. The order of rows may change as well.

    Args:
        draw: given by hypothesis.
        table: the table.
        schema: the declared columns.
        unit: who is protected.
    """
    if unit.column is None:
        other = draw(_other_rows(table, schema, unit))
    else:
        other = draw(_other_unit(table, schema, unit))
    if draw(st.booleans()):
        other = other.take(pa.array(range(other.num_rows - 1, -1, -1), pa.int64()))
    return other


@st.composite
def _other_rows(draw: st.DrawFn, table: pa.Table, schema: Schema, unit: Unit) -> pa.Table:
    assert isinstance(unit.max_rows, int)
    replaces = unit.neighbors is Neighbors.REPLACE
    adds = not replaces and draw(st.booleans())
    most = unit.max_rows if adds else min(unit.max_rows, table.num_rows)
    count = draw(st.integers(min(most, 1), most))
    kept = table
    if not adds:
        first = draw(st.integers(0, table.num_rows - count))
        places = [*range(first), *range(first + count, table.num_rows)]
        kept = table.take(pa.array(places, pa.int64()))
    if not (adds or replaces):
        return kept
    added = draw(_rows(schema, unit, table.schema, None, count, count))
    return pa.concat_tables([kept, added])


@st.composite
def _other_unit(draw: st.DrawFn, table: pa.Table, schema: Schema, unit: Unit) -> pa.Table:
    owners = table.column(unit.column).to_pylist()
    somebody = dict.fromkeys(filter(_somebody, owners))
    present = sorted(somebody, key=owners.count, reverse=True)
    adds = not present or draw(st.integers(0, 3)) == 3
    if adds and unit.neighbors is Neighbors.REPLACE and not present:
        return table  # nobody to replace
    likely = [*present[:1] * 3, *present]  # who has most can move most
    gone = None if adds and unit.neighbors is not Neighbors.REPLACE else _one(draw, likely)
    kept = table
    if gone is not None:
        places = [i for i, owner in enumerate(owners) if owner != gone]
        kept = table.take(pa.array(places, pa.int64()))
    if unit.neighbors is Neighbors.ADD_REMOVE and gone is not None:
        return kept
    ids = filter(_somebody, _ids(table.schema.field(unit.column).type))
    fresh = next(each for each in ids if each not in owners)
    owner = fresh if gone is None or draw(st.booleans()) else gone
    return pa.concat_tables([kept, draw(_rows(schema, unit, table.schema, owner, MOST_ROWS))])


def _one(draw: st.DrawFn, choices: Sequence[Any]) -> Any:
    return draw(st.sampled_from(choices))


def _somebody(owner: Any) -> bool:
    return owner is not None and not (isinstance(owner, float) and isnan(owner))


def _ids(stored: pa.DataType) -> Sequence[Any]:
    """Return who there may be: people whom a sloppy reading would take for one another."""
    if pa.types.is_integer(stored):
        return (2**53, 2**53 + 1, 0, -(2**63), 7, 8)
    if pa.types.is_floating(stored):
        return (0.0, 1.5, -0.0, float("nan"), 2.0**53, 5e-324)
    return ("A", "a", "A ", "1", "01", "", "é", "e\u0301")


@st.composite
def _rows(
    draw: st.DrawFn,
    schema: Schema,
    unit: Unit,
    fields: pa.Schema,
    owner: Any,
    most: int,
    least: int = 0,
) -> pa.Table:
    """Draw rows as repetitions of a few, so that units are skewed and rows equal."""
    stored = {field.name: field.type for field in fields}
    values = {
        name: raw_values(column, stored[name])
        for name, column in schema.items()
        if name != unit.column
    }
    # Few tables are empty: nothing would move in them.
    size = max(least, draw(st.sampled_from((0, 1, 2, 3, *(5, 6, 7, 8) * 4))))
    several = min(size, 3)
    patterns = draw(st.lists(st.fixed_dictionaries(values), min_size=several, max_size=4))
    owners: st.SearchStrategy[Any] = st.just(owner)
    if unit.column is not None and owner is None:
        first, second, *others = _ids(stored[unit.column])[:4]
        owners = st.sampled_from((*(first, first, second) * 3, *others, None))
    places = st.sampled_from(range(len(patterns))) if patterns else st.nothing()
    runs = draw(
        st.lists(
            st.tuples(owners, places, st.sampled_from((1, 1, 1, 2, 4))),
            min_size=size,
            max_size=size,
        )
    )
    rows = [(who, patterns[place]) for who, place, times in runs for _ in range(times)][:most]
    arrays = [
        pa.array([who if name == unit.column else row[name] for who, row in rows], stored[name])
        for name in stored
    ]
    return pa.Table.from_arrays(arrays, schema=fields)
