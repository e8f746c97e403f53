"""What was asked, in words that travel with the answer: a name alone does not say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.number import show
from sfumato.mechanisms import BucketPartition, SpectralCut
from sfumato.relation import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Linear,
    Node,
    PerUnit,
    Project,
    Squares,
    Total,
    Union,
    UnitJoin,
    Values,
)
from sfumato.relation.expr import Expr, Name, shown, typed
from sfumato.relation.kind import Number
from sfumato.relation.node import scope, sources, walk
from sfumato.session.proof import notes, title

if TYPE_CHECKING:
    from sfumato.session.part import Asked
    from sfumato.session.wanted import Wanted

_LONGEST = 300  # characters of a condition that are written out


def question_in_words(wanted: Sequence[Wanted], query: Asked) -> list[str]:
    """Say what each output is, and of which rows."""
    return [*(f"{w.name} is {w.output!r}" for w in wanted), _rows(query)]


def part_in_words(query: Asked, mechanism: object = None) -> tuple[str, ...]:
    """Say what the value of a measured part is, as the ledger stores it.

    Args:
        query: what was asked.
        mechanism: what made values of it, where these are something else than what was asked.
    """
    asked = f"{title(query)}{_counted(query)}"
    if isinstance(mechanism, BucketPartition):
        by = "" if isinstance(query, Linear) else f" by {', '.join(query.keys.columns)}"
        asked = f"an edge of a bucket, in cells from the first, found by {asked}{by}"
    elif isinstance(mechanism, SpectralCut):
        asked = f"how many coefficients to keep, found by {asked}"
    return f"value is {asked}", _rows(query), *notes([query])


def _counted(query: Asked) -> str:
    asked = query.quantity if isinstance(query, Aggregate) else query
    if not isinstance(asked, Total | Squares | Values):
        return ""
    kind = typed(asked.expr, scope(query.node)).kind
    step = kind.step if isinstance(kind, Number) else Fraction(1)
    step = step**2 if isinstance(asked, Squares) else step
    return "" if step == 1 else f", counted in steps of {show(step)}"


def _rows(query: Asked) -> str:
    """Say which rows were asked; the caps and the groups are told elsewhere."""
    tables = " and ".join(source.name for source in sources(query.node))
    steps = [step for node in walk(query.node) for step in _words(node, query.keys.columns)]
    return "; ".join([f"asked of {tables}", *reversed(steps)])


def _words(node: Node, keys: Sequence[str]) -> Iterator[str]:
    match node:
        case Filter():
            condition = _short(node.condition)
            if not set(condition.split(" and ")) <= {f"not ({key} is null)" for key in keys}:
                yield f"where {condition}"
        case Project():
            yield from (f"with {n} = {_short(e)}" for n, e in node.columns if e != Name(n))
        case Join():
            yield f"joined with the public table {node.table.name} ({node.how})"
        case UnitJoin():
            tables = " and ".join(source.name for source in sources(node.second))
            yield f"joined with {tables} of the same unit ({node.how})"
        case PerUnit():
            by = f" and {', '.join(node.keys)}" if node.keys else ""
            made = [
                f"{n} = {s.function}({'' if s.expr is None else _short(s.expr)})"
                for n, s in node.summaries
            ]
            yield f"one row for each unit{by} with {', '.join(made)}"
        case Distinct():
            yield "equal rows once" + (" for each unit" if node.within_unit else "")
        case Union():
            yield "the rows of both together"


def _short(expr: Expr) -> str:
    text = shown(expr)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
