"""Conditions on released columns, as SQL decides them: true, false or not known.

What is missing, or divided by 0, is not known, and neither is what compares it. A row of which it
is not known that it meets a condition does not meet it, so nothing here fails because of a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import ExpressionError
from sfumato.release.language import Node, evaluate, names

Sort: TypeAlias = Literal["number", "text", "truth", "nothing"]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


@dataclass(frozen=True, slots=True)
class _Cells:
    """A value for each row, None where it is not known."""

    sort: Sort
    values: Sequence[Any]


def meeting(node: Node, columns: Mapping[str, Sequence[Any]], size: int) -> NDArray[np.int64]:
    """Return the places of the rows that are known to meet a condition.

    Args:
        node: the condition.
        columns: the columns that it names, with None where a cell is not known.
        size: how many rows there are.

    Raises:
        ExpressionError: it is no condition, or compares text with numbers.
    """
    cells = {name: _Cells(_sort(columns[name]), columns[name]) for name in names(node)}

    def call(sign: str, *parts: Any) -> _Cells:
        if sign == "literal":
            return _Cells("text" if isinstance(parts[0], str) else "number", [parts[0]] * size)
        return _applied(sign, parts)

    found: _Cells = evaluate(node, cells.__getitem__, call)
    if found.sort != "truth":
        raise ExpressionError("a condition compares, such as 'n > 100'. This is a number or text.")
    return np.array([place for place, each in enumerate(found.values) if each], np.int64)


def _sort(values: Sequence[Any]) -> Sort:
    """Return what the values of a column are; those of one column are alike."""
    first = next((each for each in values if each is not None), None)
    if first is None:
        return "nothing"
    return "text" if isinstance(first, str) else "number"


def _applied(sign: str, parts: Sequence[_Cells]) -> _Cells:
    sorts, cells = {part.sort for part in parts}, [part.values for part in parts]
    if sign in {"and", "or", "not"}:
        if sorts != {"truth"}:
            raise ExpressionError("and, or, not join comparisons, such as 'n > 100 and n < 200'.")
        return _Cells("truth", [_LOGIC[sign](*row) for row in zip(*cells, strict=True)])
    if sign == "is null":
        return _Cells("truth", [each is None for each in cells[0]])
    if len(sorts - {"nothing"}) > 1 or "truth" in sorts:
        raise ExpressionError(
            "this condition mixes text and numbers. Compare like with like: dates are texts, such "
            "as '2026-01-31'."
        )
    if sign in _COMPARE:
        return _Cells("truth", _rowwise(_COMPARE[sign], cells))
    if "text" in sorts:
        raise ExpressionError("one computes with numbers, and this is a text.")
    if len(parts) == 1:
        return _Cells("number", _rowwise(operator.neg, cells))
    return _Cells("number", _rowwise(_divided if sign == "/" else _COMPUTE[sign], cells))


def _rowwise(function: Callable[..., Any], cells: Sequence[Sequence[Any]]) -> list[Any]:
    return [None if None in row else function(*row) for row in zip(*cells, strict=True)]


def _divided(x: Any, y: Any) -> Fraction | None:
    return None if y == 0 else Fraction(x) / y


def _both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a


_LOGIC: dict[str, Callable[..., bool | None]] = {
    "and": _both,
    "or": lambda a, b: _not(_both(_not(a), _not(b))),
    "not": _not,
}
