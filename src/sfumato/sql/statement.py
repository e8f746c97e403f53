"""The text of one question in SQL, checked, parsed, and with its parameters in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import Dialect, Token, exp
from sqlglot.errors import ParseError

from sfumato.core.errors import QueryError
from sfumato.sql.clause import Price, price_clause
from sfumato.sql.parameter import fill, numbered
from sfumato.sql.place import pointing, shortened, underlined
from sfumato.sql.refusal import unread
from sfumato.sql.select import filled
from sfumato.sql.tree import DIALECT, check_depth, parsing, words
from sfumato.sql.unfinished import check_aliases, check_gaps

LONGEST = 100_000  # characters of a question
MOST_WORDS = 20_000
MOST_QUERIES = 50
DEEPEST = 60  # levels of parentheses: a parser goes down with each

_BEGINNINGS = ("SELECT", "WITH", "L_PAREN")
# What people write in front of a question, or instead of one, and what to do.
_COMMANDS = {
    "EXPLAIN": "Call session.explain(text, epsilon=...), or pass --explain.",
    "DESCRIBE": "See session.table(...).columns and .schema.",
    "SHOW": "See session.tables.",
    "FROM": "Write SELECT first: SELECT COUNT(*) FROM ...",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One question in SQL.

    Attributes:
        text: what was typed, without the price.
        tree: what the parser made of it, with values in place of parameters.
        price: what the text itself says about cost.
    """

    text: str
    tree: exp.Expression
    price: Price


def statement(text: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Statement:
    """Read one SELECT.

    Args:
        text: the SQL; a price may stand behind it, as ``WITH EPSILON 0.5``.
        parameters: values for ``?`` and ``$1`` in order, or for ``:name`` by name.

    Raises:
        QueryError: text that is no question, or more than one.
    """
    if not isinstance(text, str):
        raise QueryError(
            f"a question in SQL is a text, and this is a {type(text).__name__}. Write it in "
            f"quotes: 'SELECT COUNT(*) FROM trips'."
        )
    if len(text) > LONGEST:
        raise QueryError(
            f"this question has {len(text):,} characters, and at most {LONGEST:,} are read. "
            f"Shorten it."
        )
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise QueryError(
            "the question has a character that no text has, NUL or half of a pair. Remove it."
        )
    tokens = _checked(words(text, QueryError), text)
    price, tokens = price_clause(tokens, text)
    asked = text[: tokens[-1].end + 1]
    check_gaps(tokens, asked)
    try:
        with parsing():
            (tree,) = Dialect.get_or_raise(DIALECT).parser().parse(numbered(tokens), asked)
    except ParseError as problem:
        refused = QueryError(unread(problem, asked, question=True).message)
        refused.where = _unread_at(problem, asked)
        raise refused from None
    except RecursionError:
        raise QueryError("this question is nested too deeply to be read. Simplify it.") from None
    tree = _unwrapped(tree, asked)
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise QueryError(
            f"only a SELECT is a question, and this is none: {shortened(asked)}. Write SELECT "
            f"COUNT(*) FROM ..."
        )
    check_depth(tree, asked)
    check_aliases(tree, asked)
    if sum(1 for _ in tree.find_all(exp.Query)) > MOST_QUERIES:
        raise QueryError(
            f"this question is made of more than {MOST_QUERIES} queries. Put the conditions of "
            f"some of them together with OR."
        )
    fill(tree, parameters, tokens, asked)
    return Statement(asked, tree, price)


def _unwrapped(tree: Any, text: str) -> Any:
    """Return a question without parentheses around it; what sorts and cuts it may stand behind."""
    behind = {"this", "order", "limit", "offset"}
    while isinstance(tree, exp.Subquery) and behind.issuperset(filled(tree)):
        inner: Any = tree.this
        clauses = [name for name in filled(tree) if name != "this"]
        twice = any(inner.args.get(name) is not None for name in behind - {"this"})
        if clauses and (twice or not isinstance(inner, exp.Select | exp.Subquery)):
            with pointing(tree.args[clauses[0]], text):
                raise QueryError(
                    "an answer is sorted and cut once. Write ORDER BY, LIMIT and OFFSET behind one "
                    "SELECT."
                )
        for name in clauses:
            inner.set(name, tree.args[name])
        tree = inner
    return tree


def _checked(tokens: list[Token], text: str) -> list[Token]:
    """Refuse what is no single SELECT, and what would keep the parser busy."""
    for token in tokens:
        if token.comments:
            raise _at(
                token,
                text,
                f"comments are not read, and there is one beside {token.text!r}. Remove it; 'a "
                f"minus minus b' is written a - (-b).",
            )
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens = tokens[:-1]
    if not tokens:
        raise QueryError("the question is empty. Write one, as SELECT COUNT(*) FROM trips.")
    first = tokens[0]
    if first.token_type.name not in _BEGINNINGS:
        word = first.text.upper()
        mend = _COMMANDS.get(word, "Nothing is created, changed, loaded or written by a question.")
        raise _at(
            first, text, f"only SELECT is answered, and this begins with {word[:40]!r}. {mend}"
        )
    if len(tokens) > MOST_WORDS:
        raise QueryError(
            f"this question has {len(tokens):,} words, and at most {MOST_WORDS:,} are read. "
            f"Shorten it."
        )
    depth, before = 0, ""
    for token in tokens:
        word = token.token_type.name
        depth += (word == "L_PAREN") - (word == "R_PAREN")
        if word == "SEMICOLON":
            raise _at(
                token,
                text,
                "a semicolon ends a question, and one is answered at a time. Remove it.",
            )
        if depth > DEEPEST:
            raise _at(
                token,
                text,
                f"this question is nested more than {DEEPEST} levels deep. Simplify it.",
            )
        if word in ("L_BRACKET", "L_BRACE") and before != "IN":
            raise _at(
                token,
                text,
                "brackets cannot be used here. Columns hold plain values, and a list stands only "
                "behind IN: zone IN ('A', 'B').",
            )
        before = word
    return tokens


def _at(token: Token, text: str, message: str) -> QueryError:
    problem = QueryError(message)
    problem.where = underlined((token.start, token.end + 1), text)
    return problem


def _unread_at(problem: ParseError, text: str) -> str:
    """Underline the word at which the parser gave up."""
    if not problem.errors:
        return underlined((0, len(text)), text)
    word = str(problem.errors[0].get("highlight") or "")
    line, column = (int(problem.errors[0].get(k) or 0) for k in ("line", "col")) if word else (0, 0)
    begin = sum(len(each) + 1 for each in text.split("\n")[: max(line - 1, 0)])
    end = min(begin + column, len(text))
    start = text.rfind(word, 0, end)
    return underlined((start, start + len(word)), text) if word and start >= 0 else ""
