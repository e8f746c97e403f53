"""The price at the end of a question: WITH EPSILON 0.2, or WITH ERROR 500 AT 95%."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import Token

from sfumato.core.errors import CostError, NumberError
from sfumato.core.number import exact
from sfumato.sql.place import underlined

_WORDS = ("EPSILON", "RHO", "ERROR")
_FORMS = "WITH EPSILON 0.5, WITH EPSILON 0.5 DELTA 1e-6, WITH RHO 0.1, or WITH ERROR 500 AT 95%"


@dataclass(frozen=True, slots=True)
class Price:
    """What a text says about its cost; nothing, where all are None.

    Attributes:
        epsilon: the price in ε.
        delta: the δ beside it.
        rho: the price in ρ.
        error: how far counts and sums may be off, instead of a price.
        confidence: how surely they are within it.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    error: Fraction | None = None
    confidence: Fraction | None = None


def price_clause(tokens: list[Token], text: str) -> tuple[Price, list[Token]]:
    """Find the price behind a question, and return the words before it.

    Args:
        tokens: the words of the question.
        text: the question.

    Raises:
        CostError: a price that cannot be read.
    """
    place = _place(tokens)
    if place is None:
        return Price(), tokens
    words = _Words(tokens[place + 1 :], text)
    kind = words.take().upper()
    first = words.number()
    found = {{"EPSILON": "epsilon", "RHO": "rho", "ERROR": "error"}[kind]: first}
    if kind == "ERROR" and words.follows("AT"):
        sure = words.number()
        if words.follows("%"):
            sure /= 100
        if not 0 < sure < 1:
            raise words.refusal("what holds so surely lies between 0 and 100 %, both excluded")
        found["confidence"] = sure
    words.follows(",")
    if kind != "RHO" and words.follows("DELTA"):
        found["delta"] = words.number()
    words.end()
    return Price(**found), tokens[:place]


def _place(tokens: Sequence[Token]) -> int | None:
    """Return where the price begins: at a WITH that names a cost and a number, in no brackets."""
    depth = 0
    for i, token in enumerate(tokens):
        word = token.token_type.name
        depth += (word == "L_PAREN") - (word == "R_PAREN")
        if word != "WITH" or depth or i == 0 or i + 1 == len(tokens):
            continue
        if tokens[i + 1].text.upper() in _WORDS:
            return i  # a second one does not belong to it
    return None


class _Words:
    """The words of a price, one after the other."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens, self.text, self.next = tokens, text, 0

    def take(self) -> str:
        if self.next == len(self.tokens):
            raise self.refusal("it ends too early")
        self.next += 1
        return self.tokens[self.next - 1].text

    def follows(self, word: str) -> bool:
        there = self.next < len(self.tokens) and self.tokens[self.next].text.upper() == word
        self.next += there
        return there

    def number(self) -> Fraction:
        negative = self.follows("-")
        word = self.take()
        try:
            found = exact(word, "the price")
        except NumberError:
            raise self.refusal(f"{word[:40]!r} is no number") from None
        return -found if negative else found

    def end(self) -> None:
        if self.next < len(self.tokens):
            self.next += 1
            raise self.refusal(f"{self.tokens[self.next - 1].text[:40]!r} does not belong to it")

    def refusal(self, why: str) -> CostError:
        problem = CostError(
            f"the price at the end of the question cannot be read: {why}. Write {_FORMS}."
        )
        token = self.tokens[max(self.next - 1, 0)]
        problem.where = underlined((token.start, token.end + 1), self.text)
        return problem
