"""The text of one expression, checked before a parser sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.errors import ExpressionError

if TYPE_CHECKING:
    from sfumato.relation.expr import Expr

LONGEST = 10_000  # characters; nobody types more, and a parser's time grows with them


def parse(text: str) -> Expr:
    """Read one SQL expression over the columns of a row.

    Only what is on the whitelist gets through; docs/reference/expressions.md lists it.

    Args:
        text: such as ``"hour < 9 and zone = 'A'"`` or ``"clamp(fare, 0, 100) / 2"``.

    Raises:
        ExpressionError: text that is no expression, or asks for more than the whitelist has.

    Example:
        >>> parse("hour < 9")
        Call(function='<', arguments=(Name(name='hour'), Constant(value=9)))
    """
    if not isinstance(text, str):
        raise ExpressionError(
            f"an expression is text, and this is a {type(text).__name__}. Write it in quotes, as "
            f"in 'hour < 9'."
        )
    if len(text) > LONGEST:
        raise ExpressionError(
            f"this expression has {len(text):,} characters, and at most {LONGEST:,} are read. "
            f"Compute parts of it as columns first, with with_columns."
        )
    if not text.strip():
        raise ExpressionError("the expression is empty. Write one, as in 'hour < 9'.")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ExpressionError(
            "the expression has a character that no text has, NUL or half of a pair. Remove it."
        )
    from sfumato.sql.reader import read  # loads the parser

    return read(text)
