"""Key columns: what the cells of a release are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from math import prod
from types import NoneType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.release.measure import check_name, is_unicode

KeyValue: TypeAlias = str | int | Fraction | None
KeyColumn: TypeAlias = tuple[str, tuple[KeyValue, ...]]

# Which bytes of eight belong to a text that has so many left; eight stands for more than seven.
_MASKS = np.array([2**64 - 2 ** (64 - 8 * min(left, 7)) for left in range(9)], np.uint64)


class Column(tuple[KeyValue, ...]):
    """Keys in their one form, so that many of them are checked once, not wherever they pass.

    Only `key_columns` makes one.
    """

    __slots__ = ()


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
        if type(values) is Column:
            columns.append((name, values))
            continue
        plain = tuple(values)
        if _is_plain(plain):
            columns.append((name, Column(plain)))
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
        columns.append((name, Column(plain)))
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


def _is_plain(values: tuple[Any, ...]) -> bool:
    """Say whether all are whole numbers, or all text or None: the common cases of many keys."""
    kinds = set(map(type, values))
    if kinds <= {str, NoneType}:
        return is_unicode("".join(filter(None, values)))
    return kinds == {int}


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


def whole_column(column: Any) -> Any:
    """Return an Arrow column without chunks."""
    return column.combine_chunks() if hasattr(column, "chunks") else column


def in_order(columns: Sequence[Any]) -> NDArray[np.intp]:
    """Return the places of keys in their order: by the first column, what is equal by the next.

    Texts are compared as Python does, character by character, which for UTF-8 is byte by byte.

    Args:
        columns: Arrow arrays of whole numbers or of texts, in chunks or not, without NULL.
    """
    order = np.arange(len(columns[0]), dtype=np.int64)
    new = np.ones(order.size + 1, np.bool_)  # begins what is alike so far
    new[1:-1] = False
    for column in columns:
        tied = np.flatnonzero(~(new[:-1] & new[1:]))
        for read in _readers(column):
            words = read(order[tied])
            apart = new[1:-1].any()
            by = np.lexsort((words, np.cumsum(new[tied]))) if apart else np.argsort(words)
            order[tied], words = order[tied[by]], words[by]
            new[tied[1:]] |= words[1:] != words[:-1]
            tied = tied[(words & 15 == 8) & ~(new[tied] & new[tied + 1])]
            if not tied.size:
                break
    return order


def _readers(column: Any) -> Iterator[Callable[[NDArray[np.intp]], NDArray[Any]]]:
    """Yield what reads the keys of some rows as words: numbers at once, texts bit by bit."""
    held = whole_column(column)
    if not str(held.type).endswith("string"):
        yield np.from_dlpack(held).__getitem__
        return
    texts = held.cast("large_string")
    ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
    data = np.append(np.frombuffer(texts.buffers()[2] or b"", np.uint8), np.zeros(8, np.uint8))
    at_any = np.ndarray(data.size - 7, ">u8", data, strides=(1,))  # eight bytes from any on

    def word(depth: int, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
        end = ends[rows + 1]
        start = np.minimum(ends[rows] + depth, end)
        left = np.minimum(end - start, 8)
        return at_any[start].astype(np.uint64) & _MASKS[left] | left.astype(np.uint64)

    for depth in count(_alike(texts), 7):
        yield partial(word, depth)


def _alike(texts: Any) -> int:
    """Return how many bytes all texts begin with that are the same."""
    import pyarrow.compute as pc

    low, high = ((end or "").encode() for end in pc.min_max(texts).as_py().values())
    apart = (i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    return next(apart, len(low))
