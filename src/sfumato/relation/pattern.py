"""LIKE: a constant pattern in which % stands for any characters and _ for one.

No character escapes another unless ESCAPE names one, as in the standard. What a matcher does for a
pattern with several % must not take time that multiplies with each: a category is matched here in
one pass, and a text by the engine's linear matcher of regular expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

from sfumato.core.errors import ExpressionError
from sfumato.relation.category import each
from sfumato.relation.expr import Typed, constant, literal
from sfumato.relation.kind import Truth
from sfumato.relation.rule import rule
from sfumato.relation.text import lower, said, text, words

LONGEST = 250  # characters of a pattern
_SPECIAL = frozenset(r".+*?()|[]{}^$\\")
_HINT = "It takes a text and a constant pattern: zone LIKE 'A%'. Behind ESCAPE is one character."


class _Wild(Enum):
    ONE = "_"
    MANY = "%"


Piece: TypeAlias = str | _Wild


def pieces(pattern: str, escape: str | None = None) -> list[Piece]:
    """Read a pattern: characters, and what stands for one or many of them.

    Raises:
        ExpressionError: too long, or an escape before nothing that needs it.
    """
    if len(pattern) > LONGEST:
        raise ExpressionError(
            f"this pattern has {len(pattern):,} characters, and at most {LONGEST} are matched. "
            f"Use a shorter one, or several with OR."
        )
    found: list[Piece] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            behind = next(letters, "")
            if behind not in {"%", "_", escape}:
                raise ExpressionError(
                    f"in the pattern {pattern!r} the escape {escape!r} stands before something "
                    f"other than %, _ or itself. Remove it there, or write it twice."
                )
            found.append(behind)
        elif letter == "%":
            if found[-1:] != [_Wild.MANY]:
                found.append(_Wild.MANY)
        else:
            found.append(_Wild.ONE if letter == "_" else letter)
    return found


def matches(given: str, pattern: Sequence[Piece]) -> bool:
    """Say whether a text has a pattern, in time of their lengths multiplied at most."""
    at = place = 0
    star, resumed = -1, 0
    while at < len(given):
        piece = pattern[place] if place < len(pattern) else None
        if piece is _Wild.MANY:
            star, resumed = place, at
            place += 1
        elif piece is _Wild.ONE or piece == given[at]:
            at, place = at + 1, place + 1
        elif star >= 0:  # the last % takes one character more; those before it need not
            resumed += 1
            at, place = resumed, star + 1
        else:
            return False
    return all(piece is _Wild.MANY for piece in pattern[place:])


def _like(given: Sequence[Typed], *, folded: bool) -> Typed:
    escape = text(given[2]) if len(given) > 2 else None
    if escape is not None and len(escape) != 1:
        raise ExpressionError(
            f"ESCAPE takes one character, and this has {len(escape)}. Write LIKE 'A!%' ESCAPE '!'."
        )
    found = pieces(text(given[1]), escape)
    if folded:
        found = [lower(piece) if isinstance(piece, str) else piece for piece in found]
    first = given[0]

    def met(value: str) -> bool:
        return matches(lower(value) if folded else value, found)

    mine = said(first)
    if mine is not None:
        return constant(met(mine))
    known = each(first, met)
    if known is not None:
        return known
    sql = f"lower({words(first)})" if folded else words(first)
    return Typed(Truth(), _written(sql, found))


def _written(sql: str, found: Sequence[Piece]) -> str:
    """Write the comparison: a search where it is one, else a regular expression."""
    many = [at for at, piece in enumerate(found) if piece is _Wild.MANY]
    letters = literal("".join(piece for piece in found if isinstance(piece, str)))
    last = len(found) - 1
    if _Wild.ONE not in found:
        if not many:
            return f"({sql} = {letters})"
        if many == [last]:
            return f"starts_with({sql}, {letters})"
        if many == [0]:
            return f"suffix({sql}, {letters})"
        if many == [0, last]:
            return f"contains({sql}, {letters})"
    return f"regexp_full_match({sql}, {literal('(?s)' + ''.join(map(_regular, found)))})"


def _regular(piece: Piece) -> str:
    if isinstance(piece, _Wild):
        return "." if piece is _Wild.ONE else ".*"
    return f"\\{piece}" if piece in _SPECIAL else piece


rule("like", takes=(2, 3), hint=_HINT)(lambda given: _like(given, folded=False))
rule("ilike", takes=(2, 3), hint=_HINT)(lambda given: _like(given, folded=True))
