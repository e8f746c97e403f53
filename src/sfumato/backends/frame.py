"""Frames of pandas, Polars and Arrow as plain Arrow columns, whatever is in them.

A frame is copied when it is opened, so that what its owner does to it later changes no answer. What
a frame knows beyond its values is dropped: categories and their order, time zones (moments are read
as UTC), extension types. Columns of Python objects become text value by value; a value that is no
text, number, truth value, date or moment is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sfumato.backends.origin import module_of
from sfumato.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_EXACT = 2**53  # whole numbers up to here are doubles
_LONGEST = 1100  # bits of a whole number; beyond, it is infinite as a double, and long to write


def names_of(frame: Any) -> list[str]:
    """Return the names of all columns."""
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return [str(name) for name in names]


def columns_of(frame: Any, places: Mapping[str, int], table: str) -> pa.Table:
    """Copy some columns of a frame.

    Args:
        frame: a pandas or Polars DataFrame, or a pyarrow Table.
        places: new names, and where in the frame each column stands.
        table: the name of the source, for messages.

    Raises:
        InputError: a column of a type that cannot be held.
    """
    import pyarrow as pa

    library = module_of(frame).__name__
    take = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}[library]
    names = names_of(frame)
    held = {}
    for name, place in places.items():
        problem = None
        try:
            held[name] = _plain(take(frame, place))
            held[name].validate(full=True)
        except pa.ArrowException:
            problem = InputError(
                f"column {names[place]!r} of table {table!r} cannot be held as Arrow data. "
                f"Convert it to numbers, text or dates."
            )
        if problem is not None:  # raised here so that Arrow's message does not hang on it
            raise problem
    return pa.table(held)


def text_of(value: object) -> str | None:
    """Return the text of one Python value, None if it is missing or has none. Never raises.

    Example:
        >>> text_of(7.0), text_of(0.1), text_of(True), text_of(float("nan")), text_of([1])
        ('7', '0.1', 'true', None, None)
    """
    import numpy as np

    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return str.encode(value, errors="replace").decode()
        case int():
            if value.bit_length() > _LONGEST:
                return "inf" if value > 0 else "-inf"
            return str(int(value))
        case float():
            return _text_of_float(float(value))
        case Decimal():
            return None if value.is_nan() else re.sub(r"\.0+$", "", str(value))
        case bytes():
            return _decoded(value)
        case date():  # moments too
            missing = isinstance(value, datetime) and value != value  # noqa: PLR0124 - NaT
            return None if missing else value.isoformat()
        case UUID():
            return str(value)
        case _:
            return None


def _text_of_float(value: float) -> str | None:
    if value != value:  # noqa: PLR0124 - NaN
        return None
    if abs(value) <= _EXACT and value == int(value):
        return str(int(value))
    return repr(value)


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _texts(values: Iterable[object]) -> pa.Array:
    import pyarrow as pa

    return pa.array([text_of(value) for value in values], pa.large_string())


def _from_pandas(frame: Any, place: int) -> Any:
    import numpy as np
    import pyarrow as pa

    series = frame.iloc[:, place]
    kind = type(series.dtype).__name__
    if kind == "CategoricalDtype":
        categories = type(frame)({0: series.cat.categories})
        codes = series.cat.codes.to_numpy()
        return _plain(_from_pandas(categories, 0)).take(pa.array(codes, mask=codes < 0))
    if kind == "SparseDtype":
        series = type(series)(np.asarray(series))
    if kind == "StringDtype" and series.dtype.storage == "python":
        return _texts(series.array)
    if not isinstance(series.dtype, np.dtype):
        return pa.array(series)
    if series.dtype.kind == "O":
        return _texts(series.array)
    if series.dtype.kind == "f":  # NaN stays NaN: it has its own meaning
        values = series.to_numpy()
        return pa.array(values if values.dtype.itemsize < 16 else values.astype("float64"))
    if series.dtype.kind == "b":
        return pa.array(series.to_numpy())
    return pa.array(series)


def _from_polars(frame: Any, place: int) -> Any:
    series = frame.to_series(place)
    if str(series.dtype).startswith("Object"):
        return _texts(series.to_list())
    return series.to_arrow()


def _from_arrow(frame: Any, place: int) -> Any:
    return frame.column(place)


def _plain(column: Any) -> Any:
    """Return a column as values alone, in a type that the engine takes without looking at them."""
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        storage = kind.storage_type
        column = _each(column, lambda part: part.storage) if storage is not None else column
        kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        naive = pa.timestamp(kind.unit)
        return _each(column, lambda part: part.view(pa.int64()).view(naive))
    if pa.types.is_date64(kind):
        return _each(column, lambda part: part.view(pa.int64()).view(pa.timestamp("ms")))
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_decimal256(kind):
        return column.cast(pa.string())
    return column


def _each(column: Any, change: Any) -> Any:
    """Change every part of a column that may be in several."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return change(column)
    parts = [change(part) for part in column.chunks]
    return pa.chunked_array(
        parts, parts[0].type if parts else change(pa.array([], column.type)).type
    )
