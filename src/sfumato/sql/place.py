"""Where in the analyst's own text something stands, for messages."""

from __future__ import annotations

from sqlglot import exp

_LONGEST = 60


def at(start: int, text: str) -> str:
    """Name a position: 'line 1, column 5'."""
    before = text[:start]
    return f"line {before.count(chr(10)) + 1}, column {start - before.rfind(chr(10))}"


def piece(node: exp.Expression, text: str) -> str:
    """Quote the part of the text that became a node, and say where it is."""
    span = _span(node)
    if span is None:
        return shortened(text)
    start, end = span
    # Positions are of words: the closing bracket of a call lies behind the last of them.
    while text.count("(", start, end) > text.count(")", start, end) and end < len(text):
        end += 1
    return f"{shortened(text[start:end])} ({at(start, text)})"


def word(node: exp.Expression, text: str) -> str:
    """Return the word with which a node begins, such as the name of a function as it was typed."""
    meta = node.meta
    return text[meta["start"] : meta["end"] + 1] if "start" in meta else node.key


def shortened(text: str) -> str:
    """Quote text, not all of it if it is long."""
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def _span(node: exp.Expression) -> tuple[int, int] | None:
    metas = [part.meta for part in node.walk()]
    spans = [(meta["start"], meta["end"] + 1) for meta in metas if "start" in meta]
    if not spans:
        return None
    return min(start for start, _ in spans), max(end for _, end in spans)
