"""The canonical codec: one value, one text; used for hashing, storage and exchange.

Compact JSON with sorted keys and ASCII escapes, plus tags for what JSON lacks: ``{"$q": "1/3"}`` a
rational, ``{"$f": "0x1.8p+0"}`` a float bit for bit, ``{"$t": [...]}`` a tuple, ``{"$b": "..."}``
bytes in hex, ``{"$": "Budget", ...}`` a registered class. Decoding accepts the canonical text only,
so two texts never mean the same value, and it calls nothing but registered constructors.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.core.errors import CodecError, SfumatoError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
_registry: dict[str, type] = {}

# Metadata of a field that a class got when it was in use already: left out at its default.
LATER = "later"
# An attribute in which a class may hold fields that are long: whole numbers, as arrays by name.
LONG = "_long"
_FEW = 2**12  # numbers that are written before Arrow has loaded what writes them, and pandas


def canonical(cls: type[T]) -> type[T]:
    """Register a frozen dataclass under its name, which from then on is part of the format.

    Raises:
        CodecError: the name is taken; what was written under it must not change its meaning.
    """
    known = _registry.get(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise CodecError(
            f"in the format, {cls.__name__!r} already means "
            f"{known.__module__}.{known.__qualname__}. Give your class another name."
        )
    _registry[cls.__name__] = cls
    return cls


def encode(value: Any) -> bytes:
    """Write `value` canonically.

    Raises:
        CodecError: the value, or something in it, has no canonical form.

    Example:
        >>> encode({"b": 1, "a": Fraction(1, 3)})
        b'{"a":{"$q":"1/3"},"b":1}'
    """
    try:
        return _text(value).encode("ascii")
    except RecursionError:
        raise CodecError("a value nested this deeply has no canonical form.") from None


def decode(data: bytes) -> Any:
    """Read what `encode` wrote, and nothing else.

    Raises:
        CodecError: the bytes are not the canonical encoding of a value.
    """
    try:
        value = _unpack(json.loads(str(data, "ascii"), parse_float=_no_bare_float))
    except CodecError:
        raise
    except (
        ValueError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        SfumatoError,
    ) as problem:
        raise CodecError(
            f"these bytes are not a canonical encoding ({type(problem).__name__}). "
            f"They were cut, edited, or written by a newer version."
        ) from None
    if encode(value) != data:
        raise CodecError(
            "these bytes decode, but they are not in canonical form: they were edited, or written "
            "by something else, and their hash would not be the value's."
        )
    return value


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical encoding, in hex."""
    return hashlib.sha256(encode(value)).hexdigest()


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return json.dumps(value)
    if isinstance(value, int):
        return int.__repr__(value) if abs(value) < 2**53 else _ratio_text(value)
    if isinstance(value, Fraction):
        return _ratio_text(value)
    if isinstance(value, float):
        return f'{{"$f":"{value.hex()}"}}'
    if isinstance(value, bytes):
        return f'{{"$b":"{value.hex()}"}}'
    if isinstance(value, tuple | list):
        text = _plain_text(value) or f"[{','.join([_text(item) for item in value])}]"
        return f'{{"$t":{text}}}' if isinstance(value, tuple) else text
    if isinstance(value, dict):
        if any(not isinstance(key, str) or key.startswith("$") for key in value):
            raise CodecError("a dictionary needs plain string keys to have a canonical form.")
        return _members_text({key: _text(item) for key, item in value.items()})
    return _object_text(value, type(value).__name__)


def _members_text(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{quoted(key)}:{members[key]}" for key in sorted(members)) + "}"


def _plain_text(items: Sequence[Any]) -> str | None:
    """Write items that JSON has, without a look at each, for columns are long; None of others."""
    kinds = set(map(type, items))
    if kinds == {int} and _are_short(min(items), max(items)):
        return repr([*items]).replace(" ", "")
    if kinds == {str}:
        joined = '","'.join(items)
        # As they are, if no character is one that JSON writes otherwise: two quotes for each comma.
        plain = joined.isascii() and joined.isprintable() and "\\" not in joined
        if plain and joined.count('"') == 2 * (len(items) - 1):
            return f'["{joined}"]'
    if kinds <= {str, bool, NoneType}:
        return json.dumps(items, separators=(",", ":"))
    return None


def _object_text(value: Any, name: str) -> str:
    if not is_dataclass(value) or _registry.get(name) is not type(value):
        raise CodecError(
            f"a value of type {name} has no canonical form. Use plain values, Fractions, or a "
            f"frozen dataclass that is registered with @canonical."
        )
    members = {"$": quoted(name)}
    long = getattr(value, LONG, {})
    for field, later, default in _fields(_registry[name]):
        if field in long:
            members[field] = _column_text(long[field])
            continue
        held = getattr(value, field)
        # What was written before there was such a field must still read, and hash, the same.
        if not (later and held == default):
            members[field] = _text(held)
    return _members_text(members)


@cache
def _fields(cls: type) -> tuple[tuple[str, bool, Any], ...]:
    """Return the fields of a class: name, whether it came later, default."""
    return tuple((f.name, bool(f.metadata.get(LATER)), f.default) for f in fields(cls))


def _column_text(column: NDArray[np.int64]) -> str:
    """Write whole numbers as a tuple of them is written, without a look at each."""
    if column.size < _FEW or not _are_short(int(column.min()), int(column.max())):
        return _text(tuple(column.tolist()))
    import pyarrow as pa
    import pyarrow.compute as pc

    listed = pa.ListArray.from_arrays([0, column.size], pa.array(column).cast(pa.string()))
    return f'{{"$t":[{pc.binary_join(listed, ",")[0]}]}}'


def _are_short(least: int, most: int) -> bool:
    """Say whether JSON's readers know whole numbers from one to the other exactly."""
    return max(-least, most) < 2**53


def _ratio_text(number: int | Fraction) -> str:
    try:
        return f'{{"$q":"{number.numerator}/{number.denominator}"}}'
    except ValueError:  # Python's limit, which guards against quadratic work
        raise CodecError("a number of more than 4,300 digits has no canonical form.") from None


def _is_plain(items: Sequence[Any]) -> bool:
    """Say whether all items are what JSON has; fast, for columns are long."""
    return set(map(type, items)) <= {int, str, bool, NoneType}


def _unpack(node: Any) -> Any:
    if isinstance(node, list):
        return node if _is_plain(node) else [_unpack(item) for item in node]
    if not isinstance(node, dict):
        return node
    match sorted(node):
        case ["$q"]:
            return _ratio(node["$q"])
        case ["$f"]:
            return float.fromhex(node["$f"])
        case ["$b"]:
            return bytes.fromhex(node["$b"])
        case ["$t"]:
            return tuple(_unpack(node["$t"]))
    if "$" not in node:
        return {key: _unpack(item) for key, item in node.items()}
    return _build(node)


def _build(node: dict[str, Any]) -> Any:
    cls = _registry.get(node["$"])
    if cls is None:
        raise CodecError(
            f"the type {node['$']!r} is not known here. Import the module that defines it, or use "
            f"the version of sfumato that wrote it."
        )
    values = {key: _unpack(item) for key, item in node.items() if key != "$"}
    return cls(**values)


def _ratio(text: str) -> int | Fraction:
    if not re.fullmatch(r"-?[0-9]+/[0-9]+", text):
        raise CodecError("a rational must be written p/q.")
    p, q = text.split("/")
    number = Fraction(int(p), int(q))
    # An int beyond 2^53 and a Fraction with denominator 1 share a text; they are equal values.
    return int(number) if q == "1" and abs(number) >= 2**53 else number


def _no_bare_float(_: str) -> float:
    raise CodecError("a bare float has no canonical form.")
