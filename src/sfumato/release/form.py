"""What a measure is made of: the draws in it, with exact weights, as a release stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import Exactable, exact, positive

Constant: TypeAlias = Fraction | tuple[Fraction, ...]


@canonical
@dataclass(frozen=True, slots=True)
class Term:
    """Cells of one draw with one weight.

    Attributes:
        part: the id of the draw.
        weight: what each of these cells counts.
        rows: in which row of the measure each is; None for row i in cell i.
        cells: which cells of the draw; as many as rows.
    """

    part: str
    weight: Fraction = Fraction(1)
    rows: tuple[int, ...] | None = None
    cells: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Check the parts."""
        if not isinstance(self.part, str):
            raise InputError("a term names its draw by a text.")
        object.__setattr__(self, "weight", exact(self.weight, "weight"))
        lengths = {None if each is None else len(each) for each in (self.rows, self.cells)}
        if len(lengths) > 1:
            raise InputError("a term has as many rows as cells, or neither.")


@canonical
@dataclass(frozen=True, slots=True)
class Form:
    """A weighted sum of draws, or offset + factor times a quotient of two. Build it with a verb.

    Attributes:
        top: the terms of the sum, or of the numerator.
        constant: what is added to them: one number, or one for each row.
        bottom: the terms of the denominator; None where there is none.
        below: what is added to those.
        common: whether the denominator is one number for all rows.
        factor: of the quotient.
        offset: of the quotient.
        low: the least that the exact number can be, where that is public.
        high: the largest.
    """

    top: tuple[Term, ...] = ()
    constant: Constant = Fraction(0)
    bottom: tuple[Term, ...] | None = None
    below: Constant = Fraction(0)
    common: bool = False
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    low: Fraction | None = None
    high: Fraction | None = None

    def __post_init__(self) -> None:
        """Hold exact numbers."""
        for name in ("constant", "below", "factor", "offset", "low", "high"):
            given = getattr(self, name)
            if isinstance(given, tuple):
                object.__setattr__(self, name, tuple(exact(each, name) for each in given))
            elif given is not None:
                object.__setattr__(self, name, exact(given, name))
        if self.low is not None and self.high is not None and self.low > self.high:
            raise RangeError("low must not be above high. Pass the bounds in order.")

    @classmethod
    def linear(cls, weights: Mapping[str, Exactable], constant: Exactable = 0) -> Form:
        """Return Σ weight·draw + constant, cell by cell: a count, or a sum about a center.

        Example:
            >>> fare = Form.linear({"7/sum": "0.5", "7/count": 100})
            >>> [term.weight for term in fare.top]
            [Fraction(1, 2), Fraction(100, 1)]
        """
        terms = tuple(Term(part, exact(weight, "weight")) for part, weight in weights.items())
        return cls(terms, exact(constant, "constant"))

    @classmethod
    def mean(
        cls,
        sums: str,
        counts: str,
        *,
        center: Exactable = 0,
        step: Exactable = 1,
        low: Exactable | None = None,
        high: Exactable | None = None,
    ) -> Form:
        """Return center + step·S/C of two draws, cell by cell, with the public range of values."""
        return cls(
            (Term(sums),),
            bottom=(Term(counts),),
            factor=positive(step, "step"),
            offset=exact(center, "center"),
            low=None if low is None else exact(low, "low"),
            high=None if high is None else exact(high, "high"),
        )

    @classmethod
    def exact(cls, *values: Exactable) -> Form:
        """Return numbers without noise: what the owner declared."""
        return cls(constant=tuple(exact(value, "value") for value in values))

    @property
    def step(self) -> Fraction:
        """The most that a step of one draw counts in a sum; 1 for a quotient, or without draws."""
        weights = () if self.bottom is not None else (abs(term.weight) for term in self.top)
        return max(weights, default=Fraction(1))

    @property
    def parts(self) -> set[str]:
        """The ids of all draws in it."""
        return {term.part for term in (*self.top, *(self.bottom or ()))}
