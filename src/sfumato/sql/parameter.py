"""Values for the parameters of a question. They enter the parsed tree, never the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sqlglot import Token, TokenType, exp

from sfumato.core.errors import NumberError, QueryError
from sfumato.core.number import exact
from sfumato.sql.place import Span, underlined


def numbered(tokens: Sequence[Token]) -> list[Token]:
    """Return the words of a question with $1, $2, … in place of question marks.

    The tree does not keep the order of the text, so that it could not tell them apart.
    """
    found: list[Token] = []
    turn = 0
    for token in tokens:
        if token.token_type is not TokenType.PLACEHOLDER or token.text != "?":
            found.append(token)
            continue
        turn += 1
        at = token.line, token.col, token.start, token.end
        found += [Token(TokenType.PARAMETER, "$", *at), Token(TokenType.NUMBER, str(turn), *at)]
    return found


def fill(
    tree: exp.Expression,
    given: Sequence[Any] | Mapping[str, Any] | None,
    tokens: Sequence[Token],
    text: str,
) -> None:
    """Put values in place of ``?``, ``$1`` and ``:name``.

    Args:
        tree: the parsed question, which is changed.
        given: the values, in order or by name.
        tokens: the words of the question.
        text: the question.

    Raises:
        QueryError: a parameter without a value, or a value without a parameter.
    """
    named = isinstance(given, Mapping)
    if given is not None and not named and not isinstance(given, list | tuple):
        raise QueryError(
            "parameters are a list of values for ? and $1, or a mapping for :name. Pass "
            "parameters=[22], or parameters={'hour': 22}."
        )
    values: dict[str, Any] = {}
    if isinstance(given, Mapping):
        values = {str(name): value for name, value in given.items()}
    elif given is not None:
        values = {str(i + 1): value for i, value in enumerate(given)}
    used, places = set[str](), _places(tokens)
    if len(marks := {text[start] for start, _ in places.values()} & {"?", "$"}) > 1:
        raise QueryError(
            f"parameters are written in two ways, {' and '.join(sorted(marks))}, so that nobody "
            f"knows which comes first. Write all as ?, or all as $1, $2."
        )
    for node in list(tree.find_all(exp.Placeholder, exp.Parameter)):
        name = _name(node)
        if name not in values:
            problem = QueryError(
                f"the parameter {name!r} has no value. Pass parameters="
                + (f"{{{name!r}: ...}}." if named or not name.isdigit() else "[...], in order.")
            )
            problem.where = underlined(places.get(name), text)
            raise problem
        used.add(name)
        value = _literal(values[name], name)
        if name in places:  # a refusal points at the parameter
            value.meta.update(start=places[name][0], end=places[name][1] - 1)
        node.replace(value)
    idle = [name for name in values if name not in used]
    if idle:
        raise QueryError(
            f"there is a value for the parameter {idle[0]!r}, which the question does not have. "
            f"Write ? or :name where it belongs, or leave the value out."
        )


def _literal(value: Any, name: str) -> exp.Expression:
    """Return a value as the node that the same value makes if it is typed."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, datetime | date):
        kind = "TIMESTAMP" if isinstance(value, datetime) else "DATE"
        form = exp.DataType.build(kind, dialect="duckdb")
        return exp.Cast(this=exp.Literal.string(value.isoformat()), to=form)
    try:
        number = exact(value, "a parameter")
    except NumberError:
        raise QueryError(
            f"the value of the parameter {name!r} is a {type(value).__name__}. Pass a number, a "
            f"text, a truth value, a date or None."
        ) from None
    literal = exp.Literal(this=str(abs(number)), is_string=False)
    return exp.Neg(this=literal) if number < 0 else literal


def _name(node: exp.Expression) -> str:
    """Return what a parameter is called: a name, or its place."""
    given = node.args.get("this")
    return given.name if isinstance(given, exp.Expression) else str(given or "")


def _places(tokens: Sequence[Token]) -> dict[str, Span]:
    """Return where each parameter stands first."""
    found: dict[str, Span] = {}
    turn = 0
    for token, behind in zip(tokens, [*tokens[1:], None], strict=True):
        kind = token.token_type
        if kind is TokenType.PLACEHOLDER and token.text == "?":
            turn += 1
            found.setdefault(str(turn), (token.start, token.end + 1))
        elif kind in (TokenType.PARAMETER, TokenType.COLON, TokenType.PLACEHOLDER) and behind:
            found.setdefault(behind.text, (token.start, behind.end + 1))
    return found
