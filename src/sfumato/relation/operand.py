"""What functions ask of their arguments: one kind, one step, a constant, 64 bits.

Whatever is brought to a common kind here is exact: a finer step multiplies, nothing is rounded, and
every number that can arise on the way is checked against the limit of 64-bit arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Typed, constant, literal
from sfumato.relation.kind import (
    Day,
    Instant,
    Kind,
    Label,
    Number,
    Truth,
    Words,
    common_step,
    rescaled,
)
from sfumato.relation.moment import aligned, dated
from sfumato.relation.rule import Mismatch


def numeric(t: Typed) -> Number:
    """Return the kind of a number."""
    if not isinstance(t.kind, Number):
        raise Mismatch
    return t.kind


def truth(t: Typed) -> str:
    """Return the SQL of a truth value."""
    if not isinstance(t.kind, Truth):
        raise Mismatch
    return t.sql


def number(t: Typed) -> Fraction:
    """Return the value of a constant number."""
    if isinstance(t.constant, bool) or not isinstance(t.constant, int | Fraction):
        raise Mismatch
    return Fraction(t.constant)


def whole(t: Typed) -> int:
    """Return the value of a constant whole number."""
    if number(t).denominator != 1:
        raise Mismatch
    return int(number(t))


def positive(t: Typed) -> Fraction:
    """Return the value of a constant above 0."""
    if number(t) <= 0:
        raise Mismatch
    return number(t)


def wide(t: Typed) -> str:
    """Return SQL of 64 bits: a bare constant would have 32, in which arithmetic overflows."""
    bare = t.constant is not None and not isinstance(t.kind, Truth | Words)
    return f"CAST({t.sql} AS BIGINT)" if bare else t.sql


def computed(
    sql: str, kind: Number, given: Sequence[Typed], fold: Callable[..., int | Fraction]
) -> Typed:
    """Return a number; a constant if all arguments are."""
    if all(t.constant is not None for t in given):
        return constant(fold(*(number(t) for t in given)))
    return Typed(kind, sql)


def on_one_step(given: Sequence[Typed]) -> list[Typed]:
    """Bring numbers onto the largest step that holds them all."""
    step = reduce(common_step, (numeric(t).step for t in given))
    return [rescale(t, step) for t in given]


def rescale(t: Typed, step: Fraction) -> Typed:
    """Bring a number onto a finer step."""
    kind, factor = rescaled(numeric(t), step)
    Number(0, factor)  # refuses a factor of more than 64 bits, even of a number that is always 0
    if t.constant is not None:
        return Typed(kind, literal(kind.low), t.constant)
    return Typed(kind, t.sql if factor == 1 else f"({t.sql} * {factor})")


def alike(given: Sequence[Typed], *, grow: bool = False) -> list[Typed]:
    """Bring all arguments to one kind: a text beside a category or a date is one of its values.

    Args:
        given: the arguments; a bare NULL stays as it is.
        grow: whether a constant may add itself to the values of a category.
    """
    present = [t for t in given if t.kind is not None]
    kinds = {type(t.kind) for t in present}
    if kinds == {Number}:
        step = reduce(common_step, (numeric(t).step for t in present))
        return [t if t.kind is None else rescale(t, step) for t in given]
    columns = [t for t in present if t.constant is None]
    kinds = {type(t.kind) for t in columns or present}
    if len(kinds) != 1:
        raise Mismatch
    of = kinds.pop()
    if of is Label:
        return _labels(given, columns, grow)
    if of is Day:
        return [dated(t) if isinstance(t.constant, str) else _same(t, Day) for t in given]
    if of is Instant:
        return aligned([t if isinstance(t.constant, str) else _same(t, Instant) for t in given])
    return [_same(t, of) for t in given]


def hull(given: Sequence[Typed]) -> Kind:
    """Return the kind that holds all of these, once they are `alike`."""
    kinds = [t.kind for t in given if t.kind is not None]
    if not kinds:
        raise Mismatch
    numbers = [kind for kind in kinds if isinstance(kind, Number)]
    if numbers:
        low, high = min(kind.low for kind in numbers), max(kind.high for kind in numbers)
        return Number(low, high, numbers[0].step)
    days = [kind for kind in kinds if isinstance(kind, Day)]
    if days:
        return Day(min(kind.low for kind in days), max(kind.high for kind in days))
    return max((k for k in kinds if isinstance(k, Instant)), key=lambda k: k.high, default=kinds[0])


def _same(t: Typed, of: type) -> Typed:
    if t.kind is not None and not isinstance(t.kind, of):
        raise Mismatch
    return t


def _labels(given: Sequence[Typed], columns: Sequence[Typed], grow: bool) -> list[Typed]:
    """Return constants as positions in the list of a category, which they may lengthen."""
    kind = columns[0].kind
    if not isinstance(kind, Label) or any(t.kind != kind for t in columns):
        raise ExpressionError(
            "two categories with different lists of values do not mix: the same position would "
            "mean two things. Declare the same list for both, or choose with CASE between texts."
        )
    places = {(type(v), v): at for at, v in enumerate(kind.values)}
    for t in given:
        if t.constant is None:
            continue
        key = _listed(t)
        if key not in places and not grow:
            raise ExpressionError(
                f"{key[1]!r} is not one of the declared values of {columns[0].column or 'this'}, "
                f"so no row can have it. They are: {_some(kind.values)}."
            )
        places.setdefault(key, len(places))
    grown = Label(tuple(v for _, v in places))
    return [
        t
        if t.kind is None
        else Typed(grown, literal(places[_listed(t)]), t.constant)
        if t.constant is not None
        else Typed(grown, t.sql)
        for t in given
    ]


def _listed(t: Typed) -> tuple[type, str | int]:
    """Return a constant as a category lists it: a text or a whole number."""
    value = t.constant
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Mismatch
    return type(value), value


def _some(values: Sequence[object]) -> str:
    shown = ", ".join(repr(v) for v in values[:8])
    return f"{shown}, …" if len(values) > 8 else shown
