"""Comparisons and logic. A condition of NULL is NULL, as in SQL; a filter keeps what is true."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from sfumato.core.errors import ExpressionError
from sfumato.relation.category import mapped, values
from sfumato.relation.expr import Rule, Typed
from sfumato.relation.kind import Label, Truth
from sfumato.relation.operand import alike, truth
from sfumato.relation.rule import Mismatch, rule

_ORDER = (
    "Order is known for numbers, dates, timestamps and texts, and for a category beside a constant "
    "like its values."
)
_SAME = "Compare like with like: a number with a number, a category with one of its values."
_ORDERED: dict[str, Callable[..., bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LOGIC = "It takes conditions: compare something, as in 'age >= 18'."


def _compare(sign: str, *, ordered: bool) -> Rule:
    def compare(given: Sequence[Typed]) -> Typed:
        if any(t.kind is None for t in given):
            raise ExpressionError(
                f"a comparison with NULL by {sign} is never true. Write IS NULL or IS NOT NULL."
            )
        found = _listed(sign, given) if ordered else None
        if found is not None:
            return found
        a, b = alike(given)
        if ordered and isinstance(a.kind, Label | Truth):
            raise Mismatch
        return Typed(Truth(), f"({a.sql} {sign} {b.sql})")

    return compare


def _listed(sign: str, given: Sequence[Typed]) -> Typed | None:
    """Return which values of a category are on one side of a constant; None for other arguments.

    Texts are in the order of their code points: every engine can sort by them, and dates in ISO
    form are then in the order of the calendar.
    """
    first, second = given
    t, other = (first, second) if first.constant is None else (second, first)
    listed = values(t)
    if listed is None or other.constant is None:
        return None
    text = isinstance(other.constant, str)
    if isinstance(other.constant, bool) or any(isinstance(v, str) != text for v in listed):
        raise Mismatch
    holds, at = _ORDERED[sign], other.constant
    return mapped(t, [holds(v, at) if t is first else holds(at, v) for v in listed])


for _operator in ("=", "<>"):
    rule(_operator, takes=2, hint=_SAME)(_compare(_operator, ordered=False))
for _operator in _ORDERED:
    rule(_operator, takes=2, hint=_ORDER)(_compare(_operator, ordered=True))


@rule("in", takes=(2, None), hint=_SAME)
def _in(given: Sequence[Typed]) -> Typed:
    if any(t.kind is None for t in given):
        raise ExpressionError("NULL is in no list. Write IS NULL beside the list.")
    first, *rest = alike(given)
    return Typed(Truth(), f"({first.sql} IN ({', '.join(t.sql for t in rest)}))")


@rule("and", takes=(1, None), hint=_LOGIC)
def _both(given: Sequence[Typed]) -> Typed:
    return _logic(given, "AND")


@rule("or", takes=(1, None), hint=_LOGIC)
def _either(given: Sequence[Typed]) -> Typed:
    return _logic(given, "OR")


@rule("not", takes=1, hint=_LOGIC)
def _not(given: Sequence[Typed]) -> Typed:
    return Typed(Truth(), f"(NOT {truth(given[0])})")


@rule("is_null", takes=1, hint="It takes one column or expression.")
def _is_null(given: Sequence[Typed]) -> Typed:
    return Typed(Truth(), f"({given[0].sql} IS NULL)")


def _logic(given: Sequence[Typed], word: str) -> Typed:
    parts = [truth(t) for t in given]
    return Typed(Truth(), parts[0] if len(parts) == 1 else f"({f' {word} '.join(parts)})")
