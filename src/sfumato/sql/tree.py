"""The parser at work: whatever it does with an odd text, the text is read or cannot be read."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import Token, exp, tokenize
from sqlglot.errors import ParseError, TokenError

from sfumato.core.errors import ExpressionError, QueryError
from sfumato.sql.place import shortened, underlined

DIALECT = "duckdb"
MOST_LEVELS = 200  # of a parsed question, from the query that a part stands in

_CHAINED = (exp.And, exp.Or, exp.DPipe)  # nested by the parser, and read as one of many parts
_PARSING = ContextVar("parsing", default=False)
# What the parser has to say stands in the refusal, and not on the user's console.
logging.getLogger("sqlglot").addFilter(lambda _: not _PARSING.get())


@contextmanager
def parsing() -> Iterator[None]:
    """Let the parser fail in one way: it knows functions that it cannot take with any arguments.

    Raises:
        ParseError: the text cannot be read.
    """
    before = _PARSING.set(True)
    try:
        yield
    except (ParseError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - of text alone: nothing was planned or read yet
        raise ParseError("the parser gave up") from None
    finally:
        _PARSING.reset(before)


def words(text: str, problem: type[QueryError | ExpressionError]) -> list[Token]:
    """Return the words of a text.

    Raises:
        problem: a quote or a comment is not closed.
    """
    try:
        return tokenize(text, read=DIALECT)
    except TokenError as said:
        refused = problem(
            f"a quote or a comment is opened and not closed in {shortened(text)}. Close it; a "
            f"quote inside of a text is written twice: 'it''s'."
        )
        refused.where = _opened(said.__cause__, text)
    raise refused


def check_depth(tree: exp.Expression, text: str) -> None:
    """Refuse a tree that is too deep to be walked; a row of ANDs is no depth.

    Raises:
        QueryError: it is.
    """
    left: list[tuple[exp.Expression, int, exp.Expression]] = [(tree, 0, tree)]
    while left:
        node, level, top = left.pop()
        if level > MOST_LEVELS:
            problem = QueryError(
                f"this is nested more than {MOST_LEVELS} levels deep, as a long sum is. Compute "
                f"parts of it in a query in FROM."
            )
            problem.where = underlined(top, text)
            raise problem
        for each in node.iter_expressions():
            if isinstance(each, exp.Query):
                left.append((each, 0, each))
                continue
            same = type(each) is type(node) and isinstance(node, _CHAINED)
            left.append((each, level + (not same), each if level == 0 else top))


def _opened(said: BaseException | None, text: str) -> str:
    """Underline what was opened: the tokenizer says where, but not of a comment."""
    found = re.search(r" from \d+:(\d+)$", str(said))
    start = int(found[1]) if found is not None else text.rfind("/*")
    return underlined((start, start + 1), text) if 0 <= start < len(text) else ""
