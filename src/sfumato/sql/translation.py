"""Expressions of SQL into expressions of a plan, node by node; what is not listed is refused.

The parser knows far more SQL than may be asked of private data. Nothing of its tree survives: a
plan is made of names, constants and functions of the whitelist, and its SQL is written from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.core.errors import ExpressionError, NumberError
from sfumato.core.number import exact
from sfumato.relation.expr import Call, Constant, Expr, Name
from sfumato.sql.place import piece
from sfumato.sql.refusal import DEEPEST, misused, no_unit, refused, too_deep
from sfumato.sql.select import filled
from sfumato.sql.vocabulary import BINARY, CALLED, CASTS, CHAINS, FUNCTIONS, PARTS, UNITS

_FALSE = Constant(False)
MOST_PARTS = 5_000  # of an expression in which SQL writes one part several times


def translated(node: Any, text: str, depth: int = 0) -> Expr:
    """Translate a node of the parser's tree; `text` is what it was parsed from.

    Raises:
        ExpressionError: a node that is not on the list.
    """
    if depth > DEEPEST:
        raise too_deep(text)
    translate = _NODES.get(type(node))
    if translate is None:
        raise refused(node, text)
    return translate(node, text, depth + 1)


def _call(name: str, nodes: Iterable[Any], text: str, depth: int) -> Call:
    return Call(name, tuple(translated(node, text, depth) for node in nodes))


def _name(node: exp.Column, text: str, depth: int) -> Expr:  # noqa: ARG001 - one signature for all
    name = node.this
    if not isinstance(name, exp.Identifier) or not name.name or len(_filled(node)) > 1:
        raise refused(node, text)
    return Name(name.name)


def _literal(node: exp.Literal, text: str, depth: int) -> Expr:  # noqa: ARG001
    return Constant(str(node.this) if node.is_string else _number(node, text))


def _number(node: exp.Literal, text: str) -> int | Fraction:
    """Return what the digits say; they never become a float."""
    try:
        value = exact(str(node.this), "the number")
    except NumberError as problem:
        raise ExpressionError(f"{problem.message} It is here: {piece(node, text)}.") from None
    return int(value) if value.denominator == 1 else value


def _constant(node: exp.Null | exp.Boolean, text: str, depth: int) -> Expr:  # noqa: ARG001
    return Constant(bool(node.this) if isinstance(node, exp.Boolean) else None)


def _inner(node: exp.Paren, text: str, depth: int) -> Expr:
    return translated(node.this, text, depth)


def _negative(node: exp.Neg, text: str, depth: int) -> Expr:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return Constant(-_number(node.this, text))
    return _call("-", [node.this], text, depth)


def _not(node: exp.Not, text: str, depth: int) -> Expr:
    return _call("not", [node.this], text, depth)


def _binary(node: exp.Binary, text: str, depth: int) -> Expr:
    sides = [node.this, node.expression]
    if isinstance(sides[0], exp.Interval) and isinstance(node, exp.Add):
        sides.reverse()
    if isinstance(sides[1], exp.Interval) and isinstance(node, exp.Add | exp.Sub):
        return _moved(sides[0], sides[1], text, depth, back=isinstance(node, exp.Sub))
    return _call(BINARY[type(node)], [node.this, node.expression], text, depth)


def _chain(node: exp.Connector, text: str, depth: int) -> Expr:
    """Translate a AND b AND c, which the parser nests, as one function of three."""
    of, last = type(node), []
    inner: Any = node
    while type(inner) is of:
        last.append(inner.expression)
        inner = inner.this
    return _call(CHAINS[of], [inner, *reversed(last)], text, depth)


def _sized(found: Call, repeated: Expr, text: str) -> Call:
    """Return a call that has one part several times; nested, it would grow without end.

    Raises:
        ExpressionError: it is too large already.
    """
    if not isinstance(repeated, Call):
        return found
    left, size = list[Expr]([found]), 0
    while left:
        part, size = left.pop(), size + 1
        if isinstance(part, Call):
            left += part.arguments
        if size > MOST_PARTS:
            raise too_deep(text)
    return found


def _between(node: exp.Between, text: str, depth: int) -> Expr:
    if node.args.get("symmetric"):
        raise refused(node, text)
    this, low, high = (translated(node.args.get(k), text, depth) for k in ("this", "low", "high"))
    return _sized(Call("and", (Call(">=", (this, low)), Call("<=", (this, high)))), this, text)


def _in(node: exp.In, text: str, depth: int) -> Expr:
    if _filled(node) != {"this", "expressions"}:
        raise refused(node.args.get("query") or node, text)
    return _call("in", [node.this, *node.expressions], text, depth)


def _is(node: exp.Is, text: str, depth: int) -> Expr:
    if isinstance(node.expression, exp.Null):
        return _call("is_null", [node.this], text, depth)
    if not isinstance(node.expression, exp.Boolean):
        raise refused(node, text)
    this = translated(node.this, text, depth)
    return Call("coalesce", (this if node.expression.this else Call("not", (this,)), _FALSE))


def _same(node: exp.NullSafeEQ | exp.NullSafeNEQ, text: str, depth: int) -> Expr:
    """Translate IS NOT DISTINCT FROM: equal, or both missing."""
    sides = [translated(side, text, depth) for side in (node.this, node.expression)]
    missing = tuple(Call("is_null", (side,)) for side in sides)
    if Constant(None) in sides:  # nothing can be compared with it
        alike: Expr = missing[sides.index(Constant(None)) - 1]
    else:
        alike = Call("coalesce", (Call("=", tuple(sides)), Call("and", missing)))
        for side in sides:
            _sized(alike, side, text)
    return alike if isinstance(node, exp.NullSafeEQ) else Call("not", (alike,))


def _like(node: exp.Like | exp.ILike, text: str, depth: int, escape: Any = None) -> Expr:
    listed = isinstance(node.expression, exp.Any | exp.All)
    if listed or _filled(node) != {"this", "expression"}:
        raise refused(node, text)
    name = "like" if isinstance(node, exp.Like) else "ilike"
    parts = [node.this, node.expression, *([] if escape is None else [escape])]
    found = _call(name, parts, text, depth)
    return Call("not", (found,)) if node.args.get("negate") else found


def _escaped(node: exp.Escape, text: str, depth: int) -> Expr:
    if type(node.this) not in (exp.Like, exp.ILike):
        raise refused(node.this, text)
    return _like(node.this, text, depth, node.expression)


def _case(node: exp.Case, text: str, depth: int) -> Expr:
    given = node.args.get("this")
    subject = None if given is None else translated(given, text, depth)
    parts: list[Expr] = []
    for arm in node.args["ifs"]:
        condition = translated(arm.this, text, depth)
        if subject is not None:
            condition = Call("=", (subject, condition))
        parts += [condition, translated(arm.args.get("true"), text, depth)]
    default = node.args.get("default")
    if default is not None:
        parts.append(translated(default, text, depth))
    found = Call("case", tuple(parts))
    return found if subject is None else _sized(found, subject, text)


def _if(node: exp.If, text: str, depth: int) -> Expr:
    otherwise = node.args.get("false")
    parts = [node.this, node.args.get("true"), *([] if otherwise is None else [otherwise])]
    return _call("case", parts, text, depth)


def _cast(node: exp.Cast, text: str, depth: int) -> Expr:
    this, name = node.this, CASTS.get(node.to.this)
    moment = {"date": date, "timestamp": datetime}.get(name or "")
    if moment is not None and isinstance(this, exp.Literal) and this.is_string:
        return _moment(this, moment, text)
    if name is None or (node.to.expressions and name != "decimal"):
        raise refused(node, text)
    found = _call(name, [this, *(size.this for size in node.to.expressions)], text, depth)
    return Call(name, (*found.arguments, Constant(0))) if len(found.arguments) == 2 else found


def _moment(node: exp.Literal, kind: type[date], text: str) -> Constant:
    """Return DATE '...' or TIMESTAMP '...' as the text that a plan knows it by."""
    try:
        found = kind.fromisoformat(str(node.this))
    except ValueError:
        found = None
    if found is None or getattr(found, "tzinfo", None) is not None:
        example = "2026-01-31" if kind is date else "2026-01-31 12:00:00"
        raise ExpressionError(
            f"this is not a {'date' if kind is date else 'timestamp without time zone'} in ISO "
            f"form: {piece(node, text)}. Write '{example}'."
        )
    return Constant(found.isoformat())


def _extract(node: exp.Extract, text: str, depth: int) -> Expr:
    part = PARTS.get(node.this.name.lower())
    if part is None:
        raise refused(node, text)
    return _call(part, [node.expression], text, depth)


def _unit(node: Any, text: str) -> Constant:
    """Return a unit of time by its one name: DAYS is day."""
    unit = node.args.get("unit")
    name = UNITS.get(unit.name.lower()) if isinstance(unit, exp.Var | exp.Literal) else None
    if name is None:
        raise no_unit(node, text)
    return Constant(name)


def _truncated(node: exp.TimestampTrunc, text: str, depth: int) -> Expr:
    if _filled(node) != {"this", "unit"}:
        raise misused(node, "date_trunc", text)
    return Call("date_trunc", (_unit(node, text), translated(node.this, text, depth)))


def _difference(node: exp.DateDiff, text: str, depth: int) -> Expr:
    if _filled(node) != {"this", "expression", "unit"}:
        raise misused(node, "date_diff", text)
    ends = (translated(end, text, depth) for end in (node.expression, node.this))
    return Call("date_diff", (_unit(node, text), *ends))


def _added(node: exp.DateAdd | exp.DateSub, text: str, depth: int) -> Expr:
    back = isinstance(node, exp.DateSub)
    if isinstance(node.expression, exp.Interval):
        return _moved(node.this, node.expression, text, depth, back=back)
    if not node.args.get("unit"):  # date_add(d, 3, 'day') comes with its unit, or not at all
        raise misused(node, "date_add", text)
    count = translated(node.expression, text, depth)
    count = Call("-", (count,)) if back else count
    return Call("date_add", (translated(node.this, text, depth), count, _unit(node, text)))


def _moved(moment: Any, span: exp.Interval, text: str, depth: int, *, back: bool) -> Expr:
    """Translate d + INTERVAL 3 DAY."""
    count = span.this.unnest() if isinstance(span.this, exp.Expression) else None
    sign = -1 if back else 1
    if isinstance(count, exp.Neg):
        count, sign = count.this, -sign
    if not isinstance(count, exp.Literal):
        raise refused(span, text)
    try:
        size = exact(str(count.this), "the interval")
    except NumberError:
        raise refused(span, text) from None
    if size.denominator != 1:
        raise refused(span, text)
    moved = Constant(int(sign * size))
    return Call("date_add", (translated(moment, text, depth), moved, _unit(span, text)))


def _trim(node: exp.Trim, text: str, depth: int) -> Expr:
    places = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    name = places.get(str(node.args.get("position") or ""), "trim")
    if not _filled(node).issubset({"this", "expression", "position"}):
        raise misused(node, name, text)
    more = node.args.get("expression")
    return _call(name, [node.this, *([] if more is None else [more])], text, depth)


def _place(node: exp.StrPosition, text: str, depth: int) -> Expr:
    """Translate strpos(x, 'a'); position(x, 'a') means this to some engines and not to others."""
    turned = isinstance(node.this, exp.Literal) and not isinstance(node.args["substr"], exp.Literal)
    if turned or _filled(node) != {"this", "substr"}:
        raise misused(node, "strpos", text)
    return _call("strpos", [node.this, node.args["substr"]], text, depth)


def _joined(node: exp.DPipe, text: str, depth: int) -> Expr:
    """Translate a || b || c, which the parser nests, as one function of three."""
    last, inner = [], node
    while isinstance(inner, exp.DPipe):
        last.append(inner.expression)
        inner = inner.this
    return _call("||", [inner, *reversed(last)], text, depth)


def _function(node: exp.Func, text: str, depth: int) -> Expr:
    name, keys = FUNCTIONS[type(node)]
    if not _filled(node).issubset(keys):
        raise misused(node, name, text)
    found = [node.args[key] for key in keys if node.args.get(key) is not None]
    flat = [part for each in found for part in (each if isinstance(each, list) else [each])]
    return _call(name, flat, text, depth)


def _called(node: exp.Anonymous, text: str, depth: int) -> Expr:
    name, given = node.name.lower(), node.expressions
    if name in ("date_part", "datepart") and len(given) == 2 and given[0].is_string:
        name, given = given[0].name.lower(), given[1:]
        if name not in PARTS:
            raise refused(exp.Extract(this=node.expressions[0], expression=given[0]), text)
        return _call(PARTS[name], given, text, depth)
    if name not in CALLED:
        raise refused(node, text)
    return _call(CALLED[name], given, text, depth)


def _filled(node: Any) -> set[str]:
    return set(filled(node, flags=False))


_NODES: dict[type, Callable[[Any, str, int], Expr]] = {
    exp.Column: _name,
    exp.Literal: _literal,
    exp.Null: _constant,
    exp.Boolean: _constant,
    exp.Paren: _inner,
    exp.Neg: _negative,
    exp.Not: _not,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escaped,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Trim: _trim,
    exp.StrPosition: _place,
    exp.DPipe: _joined,
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.DateDiff: _difference,
    exp.DateAdd: _added,
    exp.DateSub: _added,
    exp.Extract: _extract,
    exp.Anonymous: _called,
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(CHAINS, _chain),
    **dict.fromkeys(FUNCTIONS, _function),
}
