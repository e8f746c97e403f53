"""New columns and fewer rows, by expressions over released columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import ExpressionError, InputError, UnknownName
from sfumato.release.compute import Computed, compute
from sfumato.release.condition import meeting
from sfumato.release.derived import column, parts_of, rebuilt, rows
from sfumato.release.estimate import Estimate
from sfumato.release.evaluate import real
from sfumato.release.format import printable
from sfumato.release.formula import Formula
from sfumato.release.language import Node, evaluate, names, parse
from sfumato.release.match import places
from sfumato.release.whence import computed

if TYPE_CHECKING:
    from sfumato.release.release import Release

_COMPUTE = ("+", "-", "*", "/")


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


def where(release: Release, condition: str, unknown: Collection[str] = ()) -> Release:
    """Keep the rows for which a condition on released values, or on keys, is known to hold.

    Args:
        release: of which.
        condition: the condition.
        unknown: columns beside those of the release, of which nothing is known in any row.
    """
    node = parse(condition)
    keys = dict(release.keys)
    columns: dict[str, Sequence[Any]] = dict.fromkeys(unknown, (None,) * len(release))
    columns |= keys | {m.name: m.values for m in release.measures}
    _known(node, columns)
    chosen = meeting(node, columns, len(release))
    return rows(release, chosen, selected=any(name not in keys for name in names(node)))


def endless(release: Release, text: str) -> NDArray[np.bool_]:
    """Return of each row whether an expression may be anything: its denominator may be 0."""
    found = _expression(release, {}, parse(text))
    if not isinstance(found, Formula) or found.bottom is None:
        return np.zeros(len(release), np.bool_)
    ends = real(found, float(1 - release.confidence))
    return np.asarray(np.isinf(ends.low) | np.isinf(ends.high))


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
