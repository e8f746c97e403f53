"""Rows that look like a table's, made up from its declaration alone.

They are uniform within the declared bounds and know nothing of the data, which nobody opens: free,
and good for trying out code, not for learning anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.errors import InputError, RangeError
from sfumato.core.schema import (
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Text,
    Timestamp,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from sfumato.core.unit import Unit
    from sfumato.noise.rng import Rng
    from sfumato.relation.source import Source

_MOST = 10_000_000  # rows; what is larger tries out nothing that these do not
_MISSING = 20  # of a nullable column one value in so many is missing
_SEVERAL = 5  # rows of one unit, where caps are bought and nobody knows them yet
_UNITS = 20  # at least so many units, or one a row
_MODEST = 1_000  # steps up to which values go where nobody declared bounds
_SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "tu", "vi", "zo")


def dummy(source: Source, rows: int, rng: Rng, tables: Iterable[Source] = ()) -> pa.Table:
    """Make up rows of a table.

    Keys are whole numbers from 1 up, so that rows of linked tables find one another.

    Args:
        source: the table as it is declared; nothing else is looked at.
        rows: how many.
        rng: where the randomness is from.
        tables: all tables that are declared, some of which may refer to this one.

    Returns:
        An Arrow table: the column that says whose a row is, if there is one, then keys that link
        tables, then the declared columns.

    Raises:
        RangeError: not a number of rows.
    """
    import pyarrow as pa

    if not isinstance(rows, int) or isinstance(rows, bool) or not 0 <= rows <= _MOST:
        raise RangeError(f"rows is a whole number from 0 to {_MOST:,}. Pass rows=1000.")
    columns = {}
    keys = {link.key for table in tables for link in table.links if link.table == source.name}
    if source.owner is not None:
        units = _units(source.unit, rows, rng)
        linked = source.links or source.owner in keys
        named = not linked and isinstance(source.schema.get(source.owner), Text | Category)
        columns[source.owner] = pa.array([f"unit {unit}" for unit in units] if named else units)
    for link in source.links:
        columns.setdefault(link.column, pa.array(_units(source.unit, rows, rng)))
    for name in sorted(keys):  # each once
        columns.setdefault(name, pa.array(np.arange(1, rows + 1, dtype=np.int64)))
    for name in source.columns:
        if name in columns:
            continue
        declared = source.schema[name]
        missing = _uniform(rng, _MISSING, rows) == 0 if declared.nullable else None
        columns[name] = _column(declared, rows, rng, missing)
    return pa.table(columns)


def _column(declared: Column, rows: int, rng: Rng, missing: NDArray[np.bool_] | None) -> pa.Array:
    import pyarrow as pa

    match declared:
        case Integer():
            low, high = (0, _MODEST) if declared.low is None else declared.bounds
            drawn = _uniform(rng, high - low + 1, rows) + low
            return pa.array(drawn, pa.int64(), mask=missing)
        case Real():
            first, last = 0, _MODEST
            if declared.low is not None:
                first, last = (int(bound / declared.step) for bound in declared.bounds)
            steps = _uniform(rng, last - first + 1, rows) + first
            top, below = declared.step.numerator, declared.step.denominator
            values = np.array([_float(int(k) * top, below) for k in steps], np.float64)
            return pa.array(values, mask=missing)
        case Category():
            words = not all(isinstance(value, int) for value in declared.values)
            listed = [str(v) if words else v for v in declared.values]
            places = pa.array(_uniform(rng, len(listed), rows), mask=missing)
            return pa.array(listed).take(places)
        case Boolean():
            return pa.array(_uniform(rng, 2, rows) == 1, mask=missing)
        case Date():
            start, end = date.fromisoformat(declared.low), date.fromisoformat(declared.high)
            days = _uniform(rng, (end - start).days + 1, rows) + (start - date(1970, 1, 1)).days
            return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
        case Timestamp():
            return pa.array(_moments(declared, rows, rng), pa.timestamp("us"), mask=missing)
        case _:
            return pa.array(_words(rows, rng), pa.string(), mask=missing)


def _moments(declared: Timestamp, rows: int, rng: Rng) -> NDArray[np.int64]:
    """Draw moments on the grid, as microseconds; a finer grid is rounded down to those."""
    first, last = (datetime.fromisoformat(text) for text in (declared.low, declared.high))
    tick = timedelta(microseconds=1)
    span = Fraction((last - first) // tick, 10**6) / declared.step
    start = (first - datetime(1970, 1, 1)) // tick
    step = declared.step * 10**6
    drawn = _uniform(rng, int(span) + 1, rows)
    return np.array([start + int(k) * step.numerator // step.denominator for k in drawn], np.int64)


def _words(rows: int, rng: Rng) -> list[str]:
    """Draw words of three syllables, so few that some come twice."""
    parts = [np.array(_SYLLABLES)[_uniform(rng, len(_SYLLABLES), rows)] for _ in range(3)]
    return ["".join(word) for word in zip(*parts, strict=True)]


def _units(unit: Unit, rows: int, rng: Rng) -> NDArray[np.int64]:
    """Draw whose rows they are: each unit owns from one row to as many as its caps let count."""
    bought = "auto" in (unit.max_rows, unit.max_groups)
    most = max(1, min(_SEVERAL if bought else unit.most_rows or 1, rows // _UNITS))
    sizes = _uniform(rng, most, rows) + 1
    owners = np.repeat(np.arange(1, rows + 1, dtype=np.int64), sizes)[:rows]
    return owners[np.argsort(rng.words(rows))]


def _uniform(rng: Rng, size: int, count: int) -> NDArray[np.int64]:
    """Draw whole numbers below `size`; no promise rests on their law."""
    return (rng.words(count) % np.uint64(min(size, 2**63))).astype(np.int64)


def _float(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        raise InputError(
            "a Real column has bounds that no 64-bit number reaches, and its rows could not be "
            "read either. Declare it in another unit, with numbers below 1e290."
        ) from None
