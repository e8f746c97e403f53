"""Expressions over released columns: numbers, + - * /, comparisons, is null, and or not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from sfumato.core.errors import ExpressionError
from sfumato.core.number import exact
from sfumato.release.format import printable

_LONGEST, _DEEPEST = 2000, 100
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*) | "(?P<quoted>[^"]+)" | '(?P<text>[^']*)'
      | (?P<sign><=|>=|<>|!=|==|[-+*/()<>=])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)
_COMPARISONS = {"=": "==", "<>": "!="} | {sign: sign for sign in ("==", "!=", "<", "<=", ">", ">=")}
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("and",),
    tuple(_COMPARISONS),
    ("+", "-"),
    ("*", "/"),
)
_COMPARING = 2  # the level of comparisons, of which there is one at most


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """An exact number or a text."""

    value: Fraction | str


@dataclass(frozen=True, slots=True)
class Call:
    """A sign or words with what stands left and right of them; some also with one."""

    sign: str
    parts: tuple[Node, ...]


Node: TypeAlias = Name | Literal | Call


def parse(text: str) -> Node:
    """Read an expression.

    A name with spaces or signs in it is written in double quotes, a text in single ones.

    Raises:
        ExpressionError: it is not one; the message shows where.

    Example:
        >>> parse('100 * fare / "no. of trips"').sign
        '/'
    """
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        raise ExpressionError(
            "an expression is a text of at most 2,000 characters, such as 'fare / n' or 'n > 100'."
        )
    return _Parser(text).whole()


def names(node: Node) -> list[str]:
    """List the columns in an expression, each once."""
    if isinstance(node, Name):
        return [node.name]
    parts = node.parts if isinstance(node, Call) else ()
    return list(dict.fromkeys(name for part in parts for name in names(part)))


def evaluate(node: Node, column: Callable[[str], Any], call: Callable[..., Any]) -> Any:
    """Compute an expression: `column` looks up a name, `call` applies a sign to its parts."""
    if isinstance(node, Name):
        return column(node.name)
    if isinstance(node, Literal):
        return call("literal", node.value)
    return call(node.sign, *(evaluate(part, column, call) for part in node.parts))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.kind, self.word = "", ""
        self.next()

    def next(self) -> None:
        found = _TOKEN.match(self.text, self.place)
        if found is None:
            raise self.refusal()
        self.start = self.place
        self.kind, self.place = str(found.lastgroup), found.end()
        self.word = found[self.kind]
        if self.kind == "name" and self.word.lower() in {"and", "or", "not"}:
            self.kind, self.word = "sign", self.word.lower()

    def refusal(self) -> ExpressionError:
        rest = self.text[self.place if not self.word else self.start :].strip()
        shown = printable(rest[:20]) or "the end"
        return ExpressionError(
            f"the expression cannot be read from {shown!r} on. Use names, numbers, + - * /, "
            f"comparisons, is null, and, or, not, parentheses; a name with spaces in double "
            f"quotes, a text in single quotes."
        )

    def whole(self) -> Node:
        node = self.level(0)
        if self.kind != "end":
            raise self.refusal()
        return node

    def level(self, depth: int) -> Node:
        if depth == len(_LEVELS):
            return self.one()
        if depth == _COMPARING and self.kind == "sign" and self.word == "not":
            self.next()
            return Call("not", (self.level(depth),))
        left = self.level(depth + 1)
        if depth == _COMPARING and self.follows("is"):
            negated = self.follows("not")
            if not self.follows("null"):
                raise self.refusal()
            missing = Call("is null", (left,))
            return Call("not", (missing,)) if negated else missing
        while self.kind == "sign" and self.word in _LEVELS[depth]:
            sign = _COMPARISONS.get(self.word, self.word)
            self.next()
            left = Call(sign, (left, self.level(depth + 1)))
            if depth == _COMPARING:
                break
        return left

    def follows(self, word: str) -> bool:
        there = self.kind in {"name", "sign"} and self.word.lower() == word
        if there:
            self.next()
        return there

    def one(self) -> Node:
        kind, word = self.kind, self.word
        if kind in {"name", "quoted", "text", "number"}:
            self.next()
            if kind in {"name", "quoted"}:
                return Name(word)
            return Literal(word if kind == "text" else exact(word, "a number"))
        if kind != "sign" or word not in {"(", "-", "+"}:
            raise self.refusal()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ExpressionError("an expression is nested 100 levels deep at most. Simplify it.")
        self.next()
        if word == "(":
            node = self.level(0)
            if (self.kind, self.word) != ("sign", ")"):
                raise self.refusal()
            self.next()
        else:
            part = self.one()
            node = part if word == "+" else Call("-", (part,))
        self.depth -= 1
        return node
