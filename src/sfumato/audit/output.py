"""Any output, taken apart: a canonical form that can be hashed, and the numbers inside it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import inf, nan
from typing import Any

import numpy as np

_DEPTH = 4  # how far numbers are looked for inside an output
_MANY = 64  # how many are taken
_BASIC = frozenset({bool, int, float, str, bytes, list, tuple, dict, type(None)})
# Where an object lies in memory says which side ran last, not what the data was.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Raised:
    """An error that a program ended with: as much an output as a number."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """Keep the type and the text, which is what a caller sees."""
        return cls(type(error).__name__, _ADDRESS.sub("", str(error)))

    def __repr__(self) -> str:
        """Show it as Python would."""
        return f"{self.kind}: {self.text}"


def outcome(program: Callable[[Any], Any], data: Any) -> Any:
    """Run a program and return what it ended with: its result, or the error that it raised."""
    try:
        return program(data)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller of the program sees it
        return Raised.of(error)


def atom(value: Any) -> int:
    """Return a 64-bit hash of the canonical form: equal for equal outputs, and hardly otherwise."""
    return int.from_bytes(hashlib.blake2b(canonical(value), digest_size=8).digest(), "little")


def canonical(value: Any) -> bytes:
    """Write an output as bytes: equal bytes mean that nobody could tell the outputs apart.

    Example:
        >>> canonical({"b": 1, "a": float("nan")}) == canonical({"a": float("nan"), "b": 1})
        True
        >>> canonical(0.0) == canonical(-0.0)
        False
    """
    value = _plain(value)
    if value is None or isinstance(value, bool | int | Fraction | Decimal | complex):
        return f"{type(value).__name__}:{value!r}".encode()
    if isinstance(value, float):
        return b"float:" + value.hex().encode()
    if isinstance(value, str):
        return b"str:" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray):
        return b"bytes:" + bytes(value)
    if isinstance(value, np.ndarray) and value.dtype != np.object_:
        return _framed(
            b"array", [value.dtype.str.encode(), repr(value.shape).encode(), value.tobytes()]
        )
    if isinstance(value, Mapping):
        # The order of keys is an output of its own: see `parts`.
        items = (_framed(b"item", [canonical(k), canonical(v)]) for k, v in value.items())
        return _framed(b"mapping", sorted(items))
    if isinstance(value, Set):
        return _framed(b"set", sorted(map(canonical, value)))
    if isinstance(value, Sequence | np.ndarray):
        return _framed(b"sequence", map(canonical, value))
    if is_dataclass(value) and not isinstance(value, type):
        inside = (canonical(getattr(value, f.name)) for f in fields(value))
        return _framed(type(value).__name__.encode(), inside)
    text = _ADDRESS.sub("", repr(value))
    return f"{type(value).__name__}:{text}".encode("utf-8", "surrogatepass")


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the views of an output that are compared as a whole, by name."""
    yield "output", value
    yield "type", value.kind if isinstance(value, Raised) else type(value).__name__
    if isinstance(value, Mapping):
        yield "set of keys", frozenset(map(canonical, value))
        yield "order of keys", tuple(map(canonical, value))


def numbers(value: Any) -> Iterator[tuple[str, float]]:
    """Return the numbers inside an output, by name; what cannot be ordered is left to `parts`.

    Example:
        >>> dict(numbers({"n": 3, "by": [1, 2]}))
        {'length': 2.0, 'n': 3.0, 'by.length': 2.0, 'by[0]': 1.0, 'by[1]': 2.0}
    """
    return islice(_numbers(value, "", _DEPTH), _MANY)


def _numbers(value: Any, path: str, depth: int) -> Iterator[tuple[str, float]]:
    value = _plain(value)
    if isinstance(value, bool | int | float | Fraction | Decimal):
        yield path or "value", _float(value)
        return
    if isinstance(value, str | bytes | Set | Sequence | Mapping | np.ndarray):
        yield f"{path}.length" if path else "length", float(len(value))
    if not depth or isinstance(value, str | bytes):
        return
    if isinstance(value, Mapping):
        inside = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, Sequence | np.ndarray):
        inside = [(f"{path or 'value'}[{i}]", item) for i, item in enumerate(islice(value, _MANY))]
    elif is_dataclass(value) and not isinstance(value, type | Raised):
        names = [f.name for f in fields(value)]
        inside = [(f"{path}.{name}" if path else name, getattr(value, name)) for name in names]
    else:
        return
    for name, item in inside:
        yield from _numbers(item, name, depth - 1)


def _plain(value: Any) -> Any:
    """Turn numpy scalars into Python's, and tables into dictionaries of lists."""
    if type(value) in _BASIC:
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    kind = type(value).__module__.partition(".")[0], type(value).__name__
    if kind == ("pandas", "DataFrame"):
        return {**value.to_dict("list"), "(index)": list(value.index)}
    if kind == ("polars", "DataFrame"):
        return value.to_dict(as_series=False)
    if kind == ("pyarrow", "Table"):
        return value.to_pydict()
    return value


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    except ValueError:  # a signaling NaN
        return nan


def _framed(kind: bytes, items: Any) -> bytes:
    """Join parts with their lengths, so that no two lists of parts give the same bytes."""
    return kind + b"".join(b"%d:%s" % (len(item), item) for item in items)
