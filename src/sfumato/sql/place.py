"""Where in the analyst's own text something stands, for messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from sqlglot import exp

from sfumato.core.errors import SfumatoError

Span: TypeAlias = tuple[int, int]

_LONGEST = 60
_WIDEST = 100  # letters of a line that are shown around what is meant


def at(start: int, text: str) -> str:
    """Name a position: 'line 1, column 5'."""
    before = text[:start]
    return f"line {before.count(chr(10)) + 1}, column {start - before.rfind(chr(10))}"


def piece(node: exp.Expression, text: str) -> str:
    """Quote the part of the text that became a node, and say where it is."""
    found = span(node)
    if found is None:
        return shortened(text)
    start, end = _closed(*found, text)
    return f"{shortened(text[start:end])} ({at(start, text)})"


@contextmanager
def pointing(node: Any, text: str) -> Iterator[None]:
    """Underline a node in the error that is raised inside, unless something in it is already."""
    try:
        yield
    except SfumatoError as problem:
        if not problem.where:
            problem.where = underlined(node, text)
        raise


def underlined(node: Any, text: str) -> str:
    """Show the line that a node stands in, with a mark below its letters.

    Example:
        >>> from sqlglot import parse_one
        >>> print(underlined(parse_one("SELECT zon").expressions[0], "SELECT zon"))
        <BLANKLINE>
          line 1, column 8
            SELECT zon
                   ^^^
    """
    found = node if node is None or isinstance(node, tuple) else span(node)
    if found is None:
        return ""
    first_, last_ = found
    start, end = _closed(first_, last_, text)
    begins = text.rfind("\n", 0, start) + 1
    ends = text.find("\n", start)
    line = text[begins : len(text) if ends < 0 else ends].replace("\t", " ")
    first, last = start - begins, min(end - begins, len(line))
    cut = max(0, first - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[cut : cut + _WIDEST]
    marks = " " * (first - cut) + "^" * max(1, min(last - first, _WIDEST - (first - cut)))
    return f"\n  {at(start, text)}\n    {shown}\n    {marks}"


def _closed(start: int, end: int, text: str) -> Span:
    """Return a piece with its closing brackets: positions are of words, and these lie behind."""
    missing = text.count("(", start, end) - text.count(")", start, end)
    while missing > 0 and end < len(text):
        missing += (text[end] == "(") - (text[end] == ")")
        end += 1
    return start, end


def word(node: exp.Expression, text: str) -> str:
    """Return the word with which a node begins, such as the name of a function as it was typed."""
    meta = node.meta
    return text[meta["start"] : meta["end"] + 1] if "start" in meta else node.key


def shortened(text: str) -> str:
    """Quote text, not all of it if it is long."""
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def span(node: exp.Expression) -> Span | None:
    """Return where a node begins and ends in the text; None if nobody knows."""
    metas = [part.meta for part in node.walk()]
    spans = [(meta["start"], meta["end"] + 1) for meta in metas if "start" in meta]
    if not spans:
        return None
    return min(start for start, _ in spans), max(end for _, end in spans)
