"""New columns and fewer rows, by expressions over released columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import ExpressionError, InputError, UnknownName
from sfumato.release.compute import Computed, compute
from sfumato.release.derived import column, parts_of, rebuilt, rows
from sfumato.release.estimate import Estimate
from sfumato.release.format import printable
from sfumato.release.formula import Formula
from sfumato.release.language import Node, evaluate, names, parse
from sfumato.release.match import places
from sfumato.release.whence import computed

if TYPE_CHECKING:
    from sfumato.release.release import Release

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
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
    "/": operator.truediv,
}


def derive(release: Release, columns: Mapping[str, str | Estimate]) -> Release:
    """Add columns: expressions, or estimates that were computed from this answer and others."""
    if not columns:
        raise InputError("say what to derive, such as derive(per_trip='fare / n').")
    made: dict[str, Computed] = {}
    notes = []
    for name, what in columns.items():
        if isinstance(what, Estimate):
            found = _placed(release, what._made())
            notes.append(f"{printable(name)} is computed, free")
        else:
            found = _expression(release, made, parse(what))
            notes.append(f"{printable(name)} = {printable(what)}; computed, free")
        made[name] = found
    added = [column(release, found, name) for name, found in made.items()]
    origins = tuple(each for found in made.values() for each in found.origins)
    draws = [draw for found in made.values() for draw in parts_of(found)]
    return rebuilt(release, (*release.measures, *added), draws=draws, origins=origins, notes=notes)


def where(release: Release, condition: str) -> Release:
    """Keep the rows for which a condition on released values, or on keys, holds."""
    node = parse(condition)
    keys = dict(release.keys)
    columns = keys | {m.name: m.values for m in release.measures}
    _known(node, columns)
    arrays = {name: _array(values) for name, values in columns.items() if name in names(node)}
    kept = evaluate(node, arrays.__getitem__, _applied)
    if np.shape(kept) not in {(), (len(release),)} or np.asarray(kept).dtype != np.bool_:
        raise ExpressionError("a condition compares, such as 'n > 100'. This is a number or text.")
    chosen = np.flatnonzero(np.broadcast_to(kept, len(release)))
    return rows(release, chosen, selected=any(name not in keys for name in names(node)))


def _expression(release: Release, made: dict[str, Computed], node: Node) -> Computed:
    _known(node, {**dict.fromkeys(release), **made})

    def call(sign: str, *parts: Any) -> Computed:
        if sign == "literal":
            if isinstance(parts[0], str):
                raise ExpressionError("one computes with numbers, and this is a text.")
            return Formula.number(parts[0])
        if sign not in _COMPUTE:
            raise ExpressionError("a column is a number: use + - * /. Conditions go into where().")
        if len(parts) == 1:
            return compute("*", parts[0], Formula.number(Fraction(-1)))
        return compute(sign, *parts)

    found: Computed = evaluate(node, lambda name: made.get(name) or computed(release, name), call)
    return _placed(release, found)


def _placed(release: Release, found: Computed) -> Computed:
    """Bring what was computed into the rows of the release."""
    if not isinstance(found, Formula):
        if found.keys == release.keys:
            return found
        raise InputError("what is no sum and no quotient is kept in its own answer only.")
    if not found.keys and release.keys:
        rows = np.zeros(len(release), np.int64)
        return found.take(rows, release.keys)
    order = places(release.keys, found.keys)
    return found if order is None else found.take(order, release.keys)


def _known(node: Node, columns: Mapping[str, object]) -> None:
    for name in names(node):
        if name not in columns:
            listed = ", ".join(columns)
            raise UnknownName(f"no column {name!r} to compute with; there are: {listed}.")


def _array(values: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array


def _applied(sign: str, *parts: Any) -> Any:
    if sign == "literal":
        return parts[0]
    if sign in {"and", "or", "not"}:
        truths = [np.asarray(part) for part in parts]
        if any(truth.dtype != np.bool_ for truth in truths):
            raise ExpressionError("and, or, not join comparisons, such as 'n > 100 and n < 200'.")
        if sign == "not":
            return ~truths[0]
        return truths[0] & truths[1] if sign == "and" else truths[0] | truths[1]
    try:
        if sign in _COMPARE:
            return np.asarray(_COMPARE[sign](*parts), np.bool_)
        return -parts[0] if len(parts) == 1 else _COMPUTE[sign](*_exactly(sign, parts))
    except (TypeError, ZeroDivisionError):
        raise ExpressionError(
            "this condition mixes text and numbers, or divides by 0, in some row. Compare like "
            "with like."
        ) from None


def _exactly(sign: str, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Divide rationals, not integers, which would become floats."""
    return (Fraction(1) * parts[0], parts[1]) if sign == "/" else parts
