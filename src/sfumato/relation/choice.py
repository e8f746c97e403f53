"""Functions that pick one of their arguments; all of them are brought to one kind."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Typed, literal
from sfumato.relation.kind import Label, Words
from sfumato.relation.operand import alike, hull, truth, wide
from sfumato.relation.rule import rule

_ONE_KIND = "All values to choose from must be of one type, and at least one must not be NULL."


@rule("case", takes=(2, None), hint=f"It takes conditions and values in turn. {_ONE_KIND}")
def _case(given: Sequence[Typed]) -> Typed:
    """Take condition, value, condition, value, … and, if the number is odd, what applies else."""
    paired = len(given) // 2 * 2
    conditions = given[0:paired:2]
    chosen = _choices([*given[1:paired:2], *given[paired:]])
    arms = " ".join(
        f"WHEN {truth(c)} THEN {wide(v)}" for c, v in zip(conditions, chosen, strict=False)
    )
    rest = f" ELSE {wide(chosen[-1])}" if len(given) % 2 else ""
    return Typed(hull(chosen), f"(CASE {arms}{rest} END)")


@rule("coalesce", takes=(1, None), hint=_ONE_KIND)
def _coalesce(given: Sequence[Typed]) -> Typed:
    """Return the first argument that is not NULL."""
    chosen = _choices(given)
    return Typed(hull(chosen), f"coalesce({', '.join(wide(t) for t in chosen)})")


@rule("nullif", takes=2, hint="Both must be of one type.")
def _nullif(given: Sequence[Typed]) -> Typed:
    """Return the first argument, or NULL if it equals the second."""
    if any(t.kind is None for t in given):
        raise ExpressionError("nothing equals NULL, so this nullif does nothing. Leave it out.")
    a, b = alike(given)
    return Typed(a.kind, f"nullif({wide(a)}, {wide(b)})")


def _choices(given: Sequence[Typed]) -> list[Typed]:
    """Bring all alternatives to one kind; constant texts make a category of their own."""
    chosen = alike(given, grow=True)
    texts = [t.constant for t in chosen if isinstance(t.kind, Words) and t.constant is not None]
    if not texts or len(texts) < sum(t.kind is not None for t in chosen):
        return chosen
    # What the analyst wrote is public: the result can be grouped by without listing the keys.
    places = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    kind = Label(tuple(str(text) for text in places))
    return [
        t if t.constant is None else Typed(kind, literal(places[t.constant]), t.constant)
        for t in chosen
    ]
