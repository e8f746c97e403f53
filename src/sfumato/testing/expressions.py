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
_DAYS = ("year", "quarter", "month", "day", "weekday", "week", "dayofyear", "dayofweek")
_HOURS = ("hour", "minute", "second")
_UNITS = ("day", "week", "month", "quarter", "year", "hour", "minute")
_SPELLED = (
    *("lower", "upper", "trim", "ltrim", "rtrim", "left", "right", "substr", "split_part"),
    *("replace", "||", "concat", "varchar"),
)
_WHOLE = ("tinyint", "smallint", "integer", "bigint")
_FOUND = ("starts_with", "ends_with", "contains")
_PATTERNS = ("%", "A%", "%t'%", "_", "", "%_%B%")
_NUMBERS = (0, 1, -1, 2, 3, -5, Fraction(1, 2), Fraction(-7, 3), 10, 2**33)
_POSITIVE = (1, 2, 3, Fraction(1, 2), Fraction(3, 7), 10)
# Functions of a number and a constant.
_CONSTANT: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("//", "%", "floor", "ceil", "magnitude", "root"), _POSITIVE),
    "/": (*_POSITIVE, -2),
    "round": (0, 1, -1),
    "power": (1, 2, 3),
}
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

    def text(self) -> Expr | None:
        """Return a text or a category; None if the scope has neither."""
        kinds = self.kinds(Words, Label)
        return self.expr(self.one(kinds)) if kinds else None

    def spelled(self, kind: type[Kind]) -> Expr:
        """Return a text made of another; a category of whole numbers is refused later."""
        first = self.expr(kind)
        name = self.one(_SPELLED)
        match name:
            case "left" | "right":
                return Call(name, (first, Constant(self.one((0, 1, 3)))))
            case "substr":
                return Call(name, (first, Constant(2), Constant(self.one((0, 1, 5)))))
            case "split_part":
                return Call(name, (first, Constant("'"), Constant(self.one((1, 2)))))
            case "replace":
                return Call(name, (first, Constant(self.one(("A", "'"))), Constant("B")))
            case "||" | "concat":
                rest = (first, Constant(self.one(TEXTS)))
                return Call(name, self.one((rest, rest[::-1])))
            case "varchar":
                return Call(name, (self.expr(self.one((kind, *self.kinds(Truth, Day)))),))
        return Call(name, (first,))

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
    dated = (*_DAYS, "date_diff") if days else ()
    name = pen.one((*_NUMERIC, *dated, *(_HOURS if moments else ())))
    match name:
        case name if name in (*_DAYS, *_HOURS):
            return Call(name, (pen.expr(pen.one(days if name in _DAYS else moments)),))
        case "date_diff":
            unit, kind = Constant(pen.one(_UNITS)), pen.one(days)
            return Call(name, (unit, pen.expr(kind), pen.expr(kind)))
        case "double":
            return Call(name, (pen.expr(pen.one((Number, Truth))),))
        case name if name in _WHOLE and pen.one((True, False)):
            return Call(name, (pen.expr(pen.one((Truth, Number))),))
        case name if name in ("length", "strpos", "decimal", *_WHOLE):
            found = pen.text()
            more = {"strpos": (Constant("A"),), "decimal": (Constant(4), Constant(1))}
            return pen.choice(Number) if found is None else Call(name, (found, *more.get(name, ())))
        case "+" | "*" | "-":
            return Call(name, (pen.expr(Number), pen.expr(Number)))
        case name if name in _CONSTANT:
            return Call(name, (pen.expr(Number), Constant(pen.one(_CONSTANT[name]))))
        case "divide":
            step = Constant(pen.one(_POSITIVE))
            return Call(name, (pen.expr(Number), pen.expr(Number), step))
        case "clamp":
            ends = map(Constant, sorted([pen.one(_NUMBERS), pen.one(_NUMBERS)]))
            return Call(name, (pen.expr(Number), *ends))
        case "abs" | "sign" | "negate":
            return Call("-" if name == "negate" else name, (pen.expr(Number),))
    return pen.choice(Number)


_NUMERIC = (
    *("+", "*", "-", "/", "//", "%", "floor", "ceil", "round", "divide", "clamp", "abs", "negate"),
    *("magnitude", "power", "sign", "root", "length", "strpos", "decimal", "double", *_WHOLE),
    *("choice", "choice"),
)


def _truth(pen: _Pen) -> Expr:
    plain = ("compare", "compare", "compare", "in", "and", "or", "not", "is_null", "choice")
    name = pen.one((*plain, "like", "ilike", "boolean", *_FOUND))
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
        case name if name in ("like", "ilike", *_FOUND):
            found, listed = pen.text(), TEXTS if name in _FOUND else _PATTERNS
            if found is not None:
                return Call(name, (found, Constant(pen.one(listed))))
        case "boolean":
            return Call(name, (pen.text() or pen.expr(Number),))
        case "not":
            return Call(name, (pen.expr(Truth),))
        case "is_null":
            return Call(name, (pen.expr(pen.one(every)),))
    return pen.choice(Truth)


def _moved(pen: _Pen, kind: type[Kind]) -> Expr:
    count = Constant(pen.one((-13, -1, 1, 40)))
    return Call("date_add", (pen.expr(kind), count, Constant(pen.one(_UNITS))))


def _day(pen: _Pen) -> Expr:
    if pen.kinds(Day) and pen.one((False, True)):
        return _moved(pen, Day)
    if not pen.kinds(Day) or (pen.kinds(Instant) and pen.one((True, False))):
        return Call("date", (pen.expr(Instant),))
    return pen.choice(Day)


def _instant(pen: _Pen) -> Expr:
    match pen.one(("choice", "date_add", "timestamp", "date_trunc")):
        case "date_add":
            return _moved(pen, Instant)
        case "timestamp":
            return Call("timestamp", (pen.expr(pen.one(pen.kinds(Instant, Day, Words))),))
        case "date_trunc":
            return Call("date_trunc", (Constant(pen.one(_HOURS)), pen.expr(Instant)))
    return pen.choice(Instant)


def _label(pen: _Pen) -> Expr:
    days = pen.kinds(Day, Instant)
    name = pen.one(("choice", "spelled", "date_trunc"))
    if name == "date_trunc" and days:
        unit = Constant(pen.one(("week", "month", "quarter", "year")))
        return Call(name, (unit, pen.expr(pen.one(days))))
    return pen.choice(Label) if name == "choice" else pen.spelled(Label)


def _words(pen: _Pen) -> Expr:
    if not pen.kinds(Words):
        return Constant("A")
    return pen.spelled(Words) if pen.one((False, True)) else pen.choice(Words)


_BUILDERS: dict[type[Kind], Callable[[_Pen], Expr]] = {
    Number: _number,
    Truth: _truth,
    Day: _day,
    Label: _label,
    Words: _words,
    Instant: _instant,
}
