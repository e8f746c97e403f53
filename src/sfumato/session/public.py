"""Public tables: read whole, with the types and bounds they have. Nobody is protected by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import lcm
from os import fsdecode
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.backends.frame import columns_of, names_of
from sfumato.backends.origin import Database, Delimited, Frame, Parquet, origin
from sfumato.backends.physical import name as quoted
from sfumato.core.errors import ExpressionError, InputError, UnknownName
from sfumato.relation.expr import Call, Expr, Scope, check_text, known, names, shown, typed
from sfumato.relation.kind import Code, Day, Instant, Kind, Label, Number, Truth, code, day_number
from sfumato.relation.public import MOST_ROWS, PublicColumn, PublicTable
from sfumato.relation.source import unused

if TYPE_CHECKING:
    import pyarrow as pa

# What a column of text is read as, if all of it can be: 007 is no number, it would lose its zeros.
_READINGS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    (r"-?(0|[1-9][0-9]{0,17})", int),
    (r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", Decimal),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date.fromisoformat),
    (r"(?i:true|false)", lambda text: text.lower() == "true"),
)


def read_public(given: object, name: str) -> dict[str, Sequence[Any]]:
    """Return the columns of a public table as Python values.

    Args:
        given: a path to CSV, Parquet or a DuckDB file, a frame of pandas, Polars or Arrow, a
            mapping from column to values, or a list of mappings.
        name: what it is called.

    Raises:
        InputError: it cannot be read as a table.
    """
    import duckdb
    import pyarrow as pa

    if hasattr(given, "__fspath__"):
        given = fsdecode(given)
    try:
        if isinstance(given, Mapping):
            held: dict[str, Sequence[Any]] = {str(c): list(values) for c, values in given.items()}
            if len({len(values) for values in held.values()}) <= 1:
                return held
        elif isinstance(given, list | tuple):
            return _columns(pa.Table.from_pylist(list(given)))
        match origin(given, name):
            case Frame(frame):
                places = {column: i for i, column in enumerate(names_of(frame))}
                return _columns(columns_of(frame, places, name))
            case Delimited() as text:
                return {column: _read(values) for column, values in _texts(text).items()}
            case Parquet(paths):
                return _columns(_selected(":memory:", f"read_parquet({list(paths)!r})"))
            case Database(path, table):
                return _columns(_selected(path, quoted(table or name)))
    except (duckdb.Error, pa.ArrowException, TypeError, ValueError, AttributeError):
        pass  # raised below, where no library's message hangs on it
    raise InputError(
        f"the public table {name!r} cannot be read. Pass a path to CSV or Parquet, a pandas or "
        f"Polars DataFrame, a pyarrow Table, or {{'zone': ['A', 'B'], 'size': [3, 5]}}."
    )


def _selected(database: str, table: str) -> pa.Table:
    import duckdb

    with duckdb.connect(database, read_only=database != ":memory:") as connection:
        return connection.sql(f"SELECT * FROM {table}").to_arrow_table()  # noqa: S608 - the owner's


def _columns(table: pa.Table) -> dict[str, Sequence[Any]]:
    return {name: table.column(i).to_pylist() for i, name in enumerate(table.column_names)}


def _texts(file: Delimited) -> dict[str, list[str | None]]:
    import pyarrow as pa
    from pyarrow import csv

    found: dict[str, list[str | None]] = {column: [] for column in file.names}
    for path in file.paths:
        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=file.delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(file.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        for column in file.names:
            found[column] += table.column(column).to_pylist()
    return found


def _read(texts: Sequence[str | None]) -> list[Any]:
    """Return the values of a column of text, as the first type that fits all of them."""
    present = [text for text in texts if text is not None]
    for pattern, reading in _READINGS:
        if present and all(re.fullmatch(pattern, text) for text in present):
            try:
                return [None if text is None else reading(text) for text in texts]
            except ValueError:  # a day that no calendar has
                continue
    return list(texts)


def filtered(
    name: str, data: Mapping[str, Sequence[Any]], conditions: Sequence[Expr]
) -> Mapping[str, Sequence[Any]]:
    """Return the rows of a public table that meet conditions.

    They are computed as conditions on private rows are, by the engine over codes.

    Args:
        name: what it is called.
        data: its columns.
        conditions: over its columns.

    Raises:
        ExpressionError: what is no condition on these columns.
        InputError: no row meets them.
    """
    if not conditions:
        return data
    import duckdb
    import pyarrow as pa

    used = dict.fromkeys(column for each in conditions for column in names(each))
    coded = [_coded(name, column, data[column]) for column in used]
    scope = {column: kind for column, kind, _ in coded}
    for each in conditions:
        if not isinstance(typed(each, scope).kind, Truth):
            raise ExpressionError(
                f"a table is filtered by conditions, and {shown(each)} is none. Compare it with "
                f"something, as in 'size > 3'."
            )
    found = typed(Call("and", tuple(conditions)), scope)
    place = unused("place", used)
    rows = range(len(next(iter(data.values()))))
    held = {place: list(rows), **{column: list(codes) for column, _, codes in coded}}
    with duckdb.connect() as connection:
        connection.register("held", pa.table(held))
        wanted = f"SELECT {quoted(place)} FROM held WHERE {found.sql} ORDER BY 1"  # noqa: S608
        kept = [row for (row,) in connection.execute(wanted).fetchall()]
    if not kept:
        raise InputError(
            f"no row of the public table {name!r} meets the conditions on it. Check how its values "
            f"are spelled."
        )
    return {column: [values[row] for row in kept] for column, values in data.items()}


def snapshot(
    name: str, data: Mapping[str, Sequence[Any]], on: Mapping[str, str], private: Scope
) -> PublicTable:
    """Read a public table for the private columns that it will meet.

    Kinds and bounds of its columns are read off it, because it is public. Rows whose key no
    private row can have are dropped.

    Args:
        name: what it is called.
        data: its columns.
        on: private key columns, and the public columns that they meet.
        private: the private columns.

    Raises:
        UnknownName: a column that does not exist.
        InputError: values that cannot be read, or no key that a private row could have.
    """
    longest = max((len(values) for values in data.values()), default=0)
    if longest > MOST_ROWS:
        raise InputError(
            f"the public table {name!r} has {longest:,} rows, and a plan holds {MOST_ROWS:,}. "
            f"Leave out the rows that you do not need."
        )
    missing = next((public for public in on.values() if public not in data), None)
    if missing is not None:
        raise UnknownName(
            f"the public table {name!r} has no column {missing!r}; it has: {', '.join(data)}."
        )
    kinds = {key: known(key, private) for key in on}
    met = [[_met(kind, _plain(value)) for value in data[on[key]]] for key, kind in kinds.items()]
    rows = [i for i, key in enumerate(zip(*met, strict=True)) if None not in key]
    if not rows:
        raise InputError(
            f"no row of the public table {name!r} has a key that {' and '.join(on)} can have "
            f"as declared. Check that both spell it in the same way: 7 is not '07'."
        )
    keys = tuple(
        (key, kind, tuple(codes[i] for i in rows))
        for (key, kind), codes in zip(kinds.items(), met, strict=True)
    )
    added = [column for column in data if column not in on.values()]
    columns = (_coded(name, column, [data[column][i] for i in rows]) for column in added)
    return PublicTable(name, keys, tuple(columns))


def _met(kind: Kind, value: Any) -> Code | None:
    """Return the code of a key; a whole number also meets the text that it is written as."""
    found = code(kind, value)
    if found is None and type(value) is int:
        return code(kind, str(value))
    return found


def _coded(table: str, column: str, given: Sequence[Any]) -> PublicColumn:
    """Read kind and codes off the values of a public column."""
    values = [_plain(value) for value in given]
    kind = _kind([value for value in values if value is not None])
    if kind is None:
        raise InputError(
            f"column {column!r} of the public table {table!r} has no values, or values of several "
            f"types, or of one that has no place in a plan. Leave it out, or convert it to "
            f"numbers, text, dates or truth values."
        )
    return column, kind, tuple(None if value is None else code(kind, value) for value in values)


def _plain(value: Any) -> Any:
    """Return a value as the exact number, text, truth value or moment it is; NaN is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | Decimal):
        written = Decimal(repr(value)) if isinstance(value, float) else value
        return Fraction(written) if written.is_finite() else None
    return value


def _kind(values: Sequence[Any]) -> Kind | None:
    types = {type(value) for value in values}
    if types == {bool}:
        return Truth()
    if types == {str}:
        for text in values:
            check_text(text)
        return Label(tuple(sorted(set(values))))
    if types and types <= {int, Fraction}:
        step = Fraction(1, lcm(*(Fraction(value).denominator for value in values)))
        return Number(int(min(values) / step), int(max(values) / step), step)
    if types == {date}:
        days = [day_number(value.isoformat()) for value in values]
        return Day(min(days), max(days))
    if types == {datetime} and all(value.tzinfo is None for value in values):
        micros = [(value - min(values)) // timedelta(microseconds=1) for value in values]
        step = Fraction(1) if all(m % 10**6 == 0 for m in micros) else Fraction(1, 10**6)
        return Instant(min(values).isoformat(), int(max(micros) / step / 10**6), step)
    return None
