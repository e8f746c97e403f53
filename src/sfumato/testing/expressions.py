"""Hypothesis strategies for expressions over the whitelist; needs the extra ``testing``.

>>> from hypothesis import find
>>> from sfumato.relation import Call
>>> scope = {"age": Number(0, 120)}
>>> find(expressions(scope, Truth), lambda expr: isinstance(expr, Call)).function
'='
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from sfumato.core.errors import ColumnError, ExpressionError
from sfumato.relation import Call, Constant, Expr, Name
from sfumato.relation.expr import Scope, typed
from sfumato.relation.kind import Day, Instant, Kind, Label, Number, Truth, Words, domain, value

_ORDERED = ("=", "<>", "<", "<=", ">", ">=")
_DAYS, _HOURS = ("year", "quarter", "month", "day", "weekday"), ("hour", "minute")
_NUMBERS = (0, 1, -1, 2, 3, -5, Fraction(1, 2), Fraction(-7, 3), 10, 2**33)
_POSITIVE = (1, 2, 3, Fraction(1, 2), Fraction(3, 7), 10)
TEXTS = ("A", "", "B", "it's", "é", "x\n'y")
_CONSTANTS: dict[type[Kind], Sequence[Any]] = {
    Number: _NUMBERS,
    Truth: (True, False),
    Words: TEXTS,
}


@st.composite
def expressions(draw: st.DrawFn, scope: Scope, kind: type[Kind], *, depth: int = 2) -> Expr:
    """Well-typed expressions over the whitelist of functions.

    Args:
        draw: given by hypothesis.
        scope: the columns in scope, by name.
        kind: what kind of value to compute, such as ``Number``.
        depth: how deep calls are nested at most.
    """
    simple = draw(_leaves(scope, kind))
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return simple
    # What a function refuses, such as a number that could overflow, is no expression.
    built = _BUILDERS[kind](_Pen(draw, scope, depth - 1))
    return built if _accepted(built, scope, kind) else simple


def _accepted(expr: Expr, scope: Scope, kind: type[Kind]) -> bool:
    try:
        return isinstance(typed(expr, scope).kind, kind)
    except ExpressionError:
        return False


def _leaves(scope: Scope, kind: type[Kind]) -> st.SearchStrategy[Expr]:
    columns: list[Expr] = [Name(name) for name, held in scope.items() if isinstance(held, kind)]
    constants: list[Expr] = [Constant(each) for each in _CONSTANTS.get(kind, ())]
    if not columns and not constants:
        raise ColumnError(f"there is no {kind.__name__} to start from.")
    # Columns at least four times as often: what is constant moves with nobody.
    often = 1 + 4 * len(constants) // max(len(columns), 1)
    return st.sampled_from(columns * often + constants)


class _Pen:
    """Draws calls whose arguments are drawn in turn."""

    def __init__(self, draw: st.DrawFn, scope: Scope, depth: int) -> None:
        self.draw, self.scope, self.depth = draw, scope, depth

    def one(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def expr(self, kind: type[Kind]) -> Expr:
        return self.draw(expressions(self.scope, kind, depth=self.depth))

    def kinds(self, *wanted: type[Kind]) -> list[type[Kind]]:
        """Return those kinds that the scope has a column of."""
        held = {type(kind) for kind in self.scope.values()}
        return [kind for kind in wanted if kind in held]

    def column(self, kind: type[Kind]) -> tuple[Expr, Kind]:
        return self.one([(Name(n), k) for n, k in self.scope.items() if isinstance(k, kind)])  # type: ignore[no-any-return]

    def listed(self, kind: Kind) -> Expr:
        """Return a value of a column as a constant."""
        every = domain(kind)
        if every is None:
            return Constant(self.one(TEXTS))
        return Constant(value(kind, self.one(every[:8])))

    def choice(self, kind: type[Kind]) -> Expr:
        """Return one of several values: by a condition, by the first that is known."""
        name = self.one(("case", "coalesce", "nullif", "least"))
        if kind in (Number, Truth):
            first, second = self.expr(kind), self.expr(kind)
        else:
            first, of = self.column(kind)
            second = self.listed(of)
        if name == "coalesce":
            return Call("coalesce", (first, second))
        if name == "nullif":
            return Call("nullif", (first, second))
        if name == "least" and kind is Number:
            return Call(self.one(("least", "greatest")), (first, second))
        rest = self.one(((), (second,), (Constant(None),)))
        return Call("case", (self.expr(Truth), first, *rest))


def _number(pen: _Pen) -> Expr:
    moments = pen.kinds(Instant)
    days = [*moments, *pen.kinds(Day)]
    name = pen.one((*_NUMERIC, *(_DAYS if days else ()), *(_HOURS if moments else ())))
    match name:
        case name if name in (*_DAYS, *_HOURS):
            return Call(name, (pen.expr(pen.one(days if name in _DAYS else moments)),))
        case "integer":
            return Call("integer", (pen.expr(pen.one((Truth, Number))),))
        case "+" | "*" | "-":
            return Call(name, (pen.expr(Number), pen.expr(Number)))
        case "/":
            return Call(name, (pen.expr(Number), Constant(pen.one((*_POSITIVE, -2)))))
        case "//" | "%" | "floor" | "ceil" | "magnitude":
            return Call(name, (pen.expr(Number), Constant(pen.one(_POSITIVE))))
        case "round":
            return Call(name, (pen.expr(Number), Constant(pen.one((0, 1, -1)))))
        case "divide":
            step = Constant(pen.one(_POSITIVE))
            return Call(name, (pen.expr(Number), pen.expr(Number), step))
        case "clamp":
            ends = (Constant(pen.one(_NUMBERS)), Constant(pen.one(_NUMBERS)))
            return Call(name, (pen.expr(Number), *ends))
        case "abs" | "negate":
            return Call("-" if name == "negate" else name, (pen.expr(Number),))
    return pen.choice(Number)


_NUMERIC = (
    *("+", "*", "-", "/", "//", "%", "floor", "ceil", "round", "divide", "clamp", "abs", "negate"),
    *("integer", "magnitude", "choice", "choice"),
)


def _truth(pen: _Pen) -> Expr:
    name = pen.one(("compare", "compare", "compare", "in", "and", "or", "not", "is_null", "choice"))
    every = [Number, *pen.kinds(Truth, Label, Words, Day, Instant)]
    match name:
        case "compare":
            return Call(pen.one(_ORDERED), (pen.expr(Number), pen.expr(Number)))
        case "in":
            kind = pen.one(every)
            if kind not in pen.kinds(kind):
                return Call("in", (pen.expr(Number), Constant(1), Constant(Fraction(1, 2))))
            column, of = pen.column(kind)
            if pen.one((True, False)):
                operators = _ORDERED if kind in (Day, Instant, Number) else _ORDERED[:2]
                return Call(pen.one(operators), (column, pen.listed(of)))
            return Call("in", (column, pen.listed(of), pen.listed(of)))
        case "and" | "or":
            return Call(name, (pen.expr(Truth), pen.expr(Truth)))
        case "not":
            return Call(name, (pen.expr(Truth),))
        case "is_null":
            return Call(name, (pen.expr(pen.one(every)),))
    return pen.choice(Truth)


def _day(pen: _Pen) -> Expr:
    if not pen.kinds(Day) or (pen.kinds(Instant) and pen.one((True, False))):
        return Call("date", (pen.expr(Instant),))
    return pen.choice(Day)


_BUILDERS: dict[type[Kind], Callable[[_Pen], Expr]] = {
    Number: _number,
    Truth: _truth,
    Day: _day,
    Label: lambda pen: pen.choice(Label),
    Words: lambda pen: pen.choice(Words) if pen.kinds(Words) else Constant("A"),
    Instant: lambda pen: pen.choice(Instant),
}
