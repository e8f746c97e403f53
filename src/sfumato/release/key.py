"""Key columns: what the cells of a release are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release.measure import check_name, is_unicode

KeyValue: TypeAlias = str | int | Fraction | None
KeyColumn: TypeAlias = tuple[str, tuple[KeyValue, ...]]


def key_columns(
    keys: Mapping[str, Iterable[Any]] | Iterable[KeyColumn] | None,
) -> tuple[KeyColumn, ...]:
    """Bring key columns into their one form: a name, and values of one kind or None."""
    pairs = list(keys.items() if isinstance(keys, Mapping) else keys or ())
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise InputError("keys name their column. Pass keys={'zone': ['A', 'B']}.")
    columns = []
    for name, values in pairs:
        check_name(name, "a key column")
        if isinstance(values, str):
            raise InputError(f"the keys of {name!r} are one text. Pass a list of keys.")
        plain = tuple(values)
        if set(map(type, plain)) <= {int}:  # the common case of many positions
            columns.append((name, plain))
            continue
        plain = tuple(_value(v, name) for v in plain)
        rationals = [v for v in plain if isinstance(v, Fraction)]
        if rationals:  # one form for a column: integers if all are whole, else rationals
            form = int if all(v.denominator == 1 for v in rationals) else Fraction
            plain = tuple(form(v) if _is_number(v) else v for v in plain)
        if len({kind_of(v) for v in plain} - {"none"}) > 1:
            raise InputError(
                f"the keys of {name!r} are of several kinds. Keep one kind in a column: text, "
                f"whole numbers, rationals or true and false."
            )
        columns.append((name, plain))
    return tuple(columns)


def check_cells(
    name: str, keys: Mapping[str, Iterable[Any]] | None, shape: tuple[int, ...]
) -> None:
    """Refuse a name or keys that an answer of this shape could not carry, before it is drawn."""
    check_name(name, "a measure")
    count = prod(shape)
    for column, values in key_columns(keys):
        if len(values) != count:
            raise InputError(
                f"there are {len(values)} keys of {column!r} for {count} values. "
                f"Pass one key for each value."
            )


def index_columns(shape: tuple[int, ...]) -> tuple[KeyColumn, ...]:
    """Name the cells of an array by their position, as numpy counts them."""
    if not shape:
        return ()
    names = ["index"] if len(shape) == 1 else [f"index_{axis}" for axis in range(len(shape))]
    positions = np.indices(shape).reshape(len(shape), -1).tolist()
    return tuple((name, tuple(column)) for name, column in zip(names, positions, strict=True))


def _value(value: object, name: str) -> KeyValue:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | Fraction):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str) and is_unicode(value):
        return str(value)
    raise InputError(
        f"a key of {name!r} is of type {type(value).__name__} or not Unicode. Keys are text, "
        f"whole numbers, Fractions, true or false, or None; write dates as ISO text."
    )


def _is_number(value: KeyValue) -> TypeGuard[int | Fraction]:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def kind_of(value: KeyValue) -> str:
    """Name the kind of a key."""
    for kind, name in ((bool, "flag"), (int, "integer"), (Fraction, "rational"), (str, "text")):
        if isinstance(value, kind):
            return name
    return "none"
