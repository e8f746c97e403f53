"""A question in SQL behind `sfumato query`: its text, values for its parameters, its price."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import CostError, InputError, KeysError, QueryError

if TYPE_CHECKING:
    from sfumato.cli.asked import Asked
    from sfumato.session import Session
    from sfumato.session.sql import SqlPlan
    from sfumato.sql.clause import Price
    from sfumato.sql.question import SqlQuestion
    from sfumato.sql.statement import Statement

STDIN = "-"
# A name, and an equals sign right behind it.
_NAMED = re.compile(r"(?P<name>[^\W\d]\w*)=(?P<value>.*)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_QUOTED = re.compile(r"(?P<type>DATE|TIMESTAMP)?\s*'(?P<text>(?:[^']|'')*)'", re.IGNORECASE)
_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
_TYPES = {"DATE": date.fromisoformat, "TIMESTAMP": datetime.fromisoformat}


def typed() -> str:
    """Read a text from standard input.

    Raises:
        InputError: it is no text.
    """
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise no_text() from None


def no_text() -> InputError:
    """Return the refusal of bytes that are no text."""
    return InputError("standard input is not text in UTF-8. Write the questions as such.")


def has_price(price: Price) -> bool:
    """Say whether a question names what it may cost, or how far it may be off."""
    return any(each is not None for each in (price.epsilon, price.rho, price.error))


def read(asked: Asked) -> Statement:
    """Read the question, and refuse one that has no price, or two; nothing is opened.

    Raises:
        QueryError: it is no question.
        CostError: it has no price, or two.
    """
    from sfumato.cli.asked import free
    from sfumato.sql.statement import statement

    parsed = statement(asked.sql or "", parameters(asked.param))
    price = parsed.price
    passed = [name for name in ("epsilon", "rho", "accuracy") if getattr(asked, name)]
    if has_price(price) and passed:
        raise CostError(
            f"the question ends with a price, and --{passed[0]} is passed beside it. Keep one of "
            f"the two."
        )
    if price.error is not None and asked.confidence is not None:
        raise CostError(
            "the question itself says how surely it is within its error. Write WITH ERROR 50 AT "
            "99%, and leave out --confidence."
        )
    if not has_price(price) and not passed:
        raise CostError(
            "an answer has a price, and you set it: --epsilon 0.5, with --delta 1e-6 if you like, "
            "or --rho 0.1; or WITH EPSILON 0.5 at the end of the question. Or say how far counts "
            "and sums may be off, --accuracy 50, and the price is found. "
            f"{free(explained=asked.explain)}"
        )
    return parsed


def sql_plan(session: Session, asked: Asked, parsed: Statement) -> SqlPlan:
    """Return the plan of a question in SQL; free.

    Args:
        session: the session of the contract.
        asked: what was typed.
        parsed: the question in it.
    """
    from sfumato.cli.question import accuracy_of
    from sfumato.core.number import exact
    from sfumato.session.sql import bound, planned

    found = bound(session, parsed)
    cost = {
        "epsilon": asked.epsilon,
        "delta": None if asked.delta is None else exact(asked.delta, "--delta"),
        "rho": asked.rho,
        "accuracy": accuracy_of(list(found.asked), asked) if asked.accuracy else None,
        "confidence": None if asked.accuracy else asked.confidence,
    }
    return planned(session, found, parsed.price, _keys(asked, found), cost)


def parameters(given: Sequence[str]) -> list[Any] | dict[str, Any] | None:
    """Read values for parameters: in order, or by name.

    Example:
        >>> parameters(["22", "A", "'22'"]), parameters(["hour=22", "zone=A"])
        ([22, 'A', '22'], {'hour': 22, 'zone': 'A'})
    """
    named = [_NAMED.fullmatch(each) for each in given]
    if not any(named):
        return [value_of(each) for each in given] or None
    found: dict[str, Any] = {}
    for each, match in zip(given, named, strict=True):
        if match is None or match["name"] in found:
            raise QueryError(
                f"--param {each!r} "
                + ("has no name, and others have one" if match is None else "is passed twice")
                + ". Name each of them once, as --param hour=22, or pass all in order, as --param "
                "22. A text with an equals sign in it is named: --param x=a=b."
            )
        found[match["name"]] = value_of(match["value"])
    return found


def value_of(text: str) -> Any:
    """Read a value as SQL has it: a number, TRUE, NULL, 'a text', DATE '2026-01-31'.

    What is none of these is a text as it stands.

    Example:
        >>> value_of("1.50"), value_of("'it''s'"), value_of("true"), value_of("A")
        (Fraction(3, 2), "it's", True, 'A')
    """
    plain = text.strip()
    if plain.upper() in _WORDS:
        return _WORDS[plain.upper()]
    if _NUMBER.fullmatch(plain):
        from sfumato.core.number import exact

        number: Fraction = exact(plain, f"--param {plain!r}")
        return number.numerator if number.denominator == 1 else number
    quoted = _QUOTED.fullmatch(plain)
    if quoted is None:
        return text
    inside = quoted["text"].replace("''", "'")
    if quoted["type"] is None:
        return inside
    try:
        return _TYPES[quoted["type"].upper()](inside)
    except ValueError:
        raise QueryError(
            f"--param {plain!r} is no date or moment. Write DATE '2026-01-31', or TIMESTAMP "
            f"'2026-01-31 12:00:00'."
        ) from None


def _keys(asked: Asked, found: SqlQuestion) -> Any:
    """Read --keys and --bought for the columns that the question groups by."""
    from sfumato.cli.question import keys_of
    from sfumato.core.schema import Column
    from sfumato.relation.bought import bought
    from sfumato.relation.kind import column_of
    from sfumato.relation.node import scope

    groups = list(dict.fromkeys(name for one in found.sets for name in one))
    if (asked.keys or asked.bought) and not groups:
        option = "--keys lists" if asked.keys else "--bought buys"
        raise KeysError(f"{option} groups, and the question has none. Write GROUP BY.")
    if asked.bought and not asked.keys:
        return bought(other=asked.other)  # also what WHERE lists stays listed then
    kinds = scope(found.node)
    facts: Mapping[str, Column] = {name: column_of(kinds[name]) for name in groups}
    return keys_of(asked, facts, groups)
