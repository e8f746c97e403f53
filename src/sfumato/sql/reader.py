"""The parser: text to a tree of SQL, with its errors in the words of the project."""

from __future__ import annotations

from sqlglot import exp, parse_one
from sqlglot.errors import ParseError

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Expr
from sfumato.sql.place import at, shortened
from sfumato.sql.refusal import too_deep, unread
from sfumato.sql.translation import translated
from sfumato.sql.tree import DIALECT, parsing, words


def read(text: str) -> Expr:
    """Parse one expression and translate it.

    Raises:
        ExpressionError: text that is no expression, or asks for more than the whitelist has.
    """
    try:
        _check_words(text)
        with parsing():
            tree = parse_one(text, read=DIALECT, into=exp.Condition)
        return translated(tree, text)
    except ParseError as problem:
        raise unread(problem, text) from None
    except RecursionError:
        raise too_deep(text) from None


def _check_words(text: str) -> None:
    """Refuse what the parser would skip over, or take for a command."""
    tokens = words(text, ExpressionError)
    if not tokens:
        raise ExpressionError("the expression is empty. Write one, as in 'hour < 9'.")
    before = ""
    for token in tokens:
        word = token.token_type.name
        if token.comments:
            # To SQL 'a --1' is 'a' and a comment: what was meant as a sum would be cut off.
            raise ExpressionError(
                f"comments are not read, and there is one beside {token.text!r} "
                f"({at(token.start, text)}). Remove it; 'a minus minus b' is written a - (-b)."
            )
        if word == "SEMICOLON":
            raise ExpressionError(
                f"a semicolon ends an expression ({at(token.start, text)} of {shortened(text)}), "
                f"and only one is read. Remove the semicolon and what follows."
            )
        if word in ("L_BRACKET", "L_BRACE") and before != "IN":
            # Long rows of them would keep the parser busy for seconds.
            raise ExpressionError(
                f"brackets cannot be used here: {token.text!r} ({at(token.start, text)} of "
                f"{shortened(text)}). Columns hold plain values, and a list stands only behind IN: "
                f"zone IN ('A', 'B')."
            )
        before = word
    first, behind = tokens[0], tokens[1].token_type.name if len(tokens) > 1 else ""
    if first.token_type.name == "VAR" and first.text.lower() == "if" and behind != "L_PAREN":
        raise ExpressionError(
            "'if' is written as a function: IF(condition, value, otherwise). A column of that name "
            "goes in double quotes."
        )
