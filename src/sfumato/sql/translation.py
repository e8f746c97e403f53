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
from sfumato.sql.refusal import DEEPEST, misused, refused, too_deep

_BINARY: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_CHAINS: dict[type, str] = {exp.And: "and", exp.Or: "or"}
# Functions that the parser knows, and where in its node their arguments are, in order.
_FUNCTIONS: dict[type, tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("abs", ("this",)),
    exp.Floor: ("floor", ("this", "decimals")),
    exp.Ceil: ("ceil", ("this", "decimals")),
    exp.Round: ("round", ("this", "decimals")),
    exp.Least: ("least", ("this", "expressions")),
    exp.Greatest: ("greatest", ("this", "expressions")),
    exp.Coalesce: ("coalesce", ("this", "expressions")),
    exp.Nullif: ("nullif", ("this", "expression")),
    exp.Year: ("year", ("this",)),
    exp.Quarter: ("quarter", ("this",)),
    exp.Month: ("month", ("this",)),
    exp.Day: ("day", ("this",)),
    exp.DayOfMonth: ("day", ("this",)),
    exp.DayOfWeekIso: ("weekday", ("this",)),
    exp.Hour: ("hour", ("this",)),
    exp.Minute: ("minute", ("this",)),
    exp.Date: ("date", ("this",)),
}
_CALLED = {name: name for name in ("clamp", "divide", "integer", "is_null", "magnitude", "weekday")}
_CALLED["isnull"] = "is_null"
_PARTS = {name: name for name in ("year", "quarter", "month", "day", "weekday", "hour", "minute")}
_PARTS["isodow"] = "weekday"


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
    return _call(_BINARY[type(node)], [node.this, node.expression], text, depth)


def _chain(node: exp.Connector, text: str, depth: int) -> Expr:
    """Translate a AND b AND c, which the parser nests, as one function of three."""
    of, last = type(node), []
    inner: Any = node
    while type(inner) is of:
        last.append(inner.expression)
        inner = inner.this
    return _call(_CHAINS[of], [inner, *reversed(last)], text, depth)


def _between(node: exp.Between, text: str, depth: int) -> Expr:
    if node.args.get("symmetric"):
        raise refused(node, text)
    this, low, high = (translated(node.args.get(k), text, depth) for k in ("this", "low", "high"))
    return Call("and", (Call(">=", (this, low)), Call("<=", (this, high))))


def _in(node: exp.In, text: str, depth: int) -> Expr:
    if _filled(node) != {"this", "expressions"}:
        raise refused(node.args.get("query") or node, text)
    return _call("in", [node.this, *node.expressions], text, depth)


def _is(node: exp.Is, text: str, depth: int) -> Expr:
    if not isinstance(node.expression, exp.Null):
        raise refused(node, text)
    return _call("is_null", [node.this], text, depth)


def _case(node: exp.Case, text: str, depth: int) -> Expr:
    subject = node.args.get("this")
    parts: list[Expr] = []
    for arm in node.args["ifs"]:
        condition = translated(arm.this, text, depth)
        if subject is not None:
            condition = Call("=", (translated(subject, text, depth), condition))
        parts += [condition, translated(arm.args.get("true"), text, depth)]
    default = node.args.get("default")
    if default is not None:
        parts.append(translated(default, text, depth))
    return Call("case", tuple(parts))


def _if(node: exp.If, text: str, depth: int) -> Expr:
    otherwise = node.args.get("false")
    parts = [node.this, node.args.get("true"), *([] if otherwise is None else [otherwise])]
    return _call("case", parts, text, depth)


def _cast(node: exp.Cast, text: str, depth: int) -> Expr:
    to, this = node.to.this, node.this
    if to in (exp.DataType.Type.INT, exp.DataType.Type.BIGINT):
        return _call("integer", [this], text, depth)
    moment = {exp.DataType.Type.DATE: date, exp.DataType.Type.TIMESTAMPNTZ: datetime}.get(to)
    if moment is not None and isinstance(this, exp.Literal) and this.is_string:
        return _moment(this, moment, text)
    if moment is date:
        return _call("date", [this], text, depth)
    raise refused(node, text)


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
    part = _PARTS.get(node.this.name.lower())
    if part is None:
        raise refused(node, text)
    return _call(part, [node.expression], text, depth)


def _function(node: exp.Func, text: str, depth: int) -> Expr:
    name, keys = _FUNCTIONS[type(node)]
    if not _filled(node).issubset(keys):
        raise misused(node, name, text)
    found = [node.args[key] for key in keys if node.args.get(key) is not None]
    flat = [part for each in found for part in (each if isinstance(each, list) else [each])]
    return _call(name, flat, text, depth)


def _called(node: exp.Anonymous, text: str, depth: int) -> Expr:
    name, given = node.name.lower(), node.expressions
    if name in ("date_part", "datepart") and len(given) == 2 and given[0].is_string:
        name, given = given[0].name.lower(), given[1:]
        if name not in _PARTS:
            raise refused(exp.Extract(this=node.expressions[0], expression=given[0]), text)
        return _call(_PARTS[name], given, text, depth)
    if name not in _CALLED:
        raise refused(node, text)
    return _call(_CALLED[name], given, text, depth)


def _filled(node: Any) -> set[str]:
    """Return which arguments a node has; flags that the parser sets by itself are none."""
    return {k for k, v in node.args.items() if v not in (None, []) and not isinstance(v, bool)}


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
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.Extract: _extract,
    exp.Anonymous: _called,
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_CHAINS, _chain),
    **dict.fromkeys(_FUNCTIONS, _function),
}
