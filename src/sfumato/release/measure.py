"""One measured quantity of a release: noisy values, their intervals, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil
from operator import le
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sfumato.core.codec import LATER, canonical
from sfumato.core.errors import DataError, InputError
from sfumato.core.number import Exactable, exact, nonnegative
from sfumato.release.error import NOISE_ONLY, quantity
from sfumato.release.form import Form
from sfumato.release.format import approximate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sfumato.release.error import Error

Number: TypeAlias = int | Fraction
Kind: TypeAlias = Literal["integer", "rational", "text"]

_INT64 = 2**63

_NOTHING = "nothing"  # what an interval covers that there is none of


@canonical
@dataclass(frozen=True, slots=True)
class Measure:
    """A named column of noisy values. Build it with `of`.

    Attributes:
        name: what was measured; the name of its column.
        values: the noisy values: integers, rationals on a public grid, or text (a choice).
        low: lower ends of the intervals; None where no interval in the unit of the values is known.
        high: upper ends.
        margin: half the width of an interval that is counted in something else than the values'
            unit, which `covers` names: ranks, for a quantile.
        covers: what the interval covers.
        scale: the noise scale where it is public, exact; else None.
        mechanism: the mechanism and its parameters, as its `repr` shows them.
        kind: what the values are by nature: ``"integer"``, ``"rational"`` (even if all of them
            happen to be whole) or ``"text"``. None finds it from the types.
        form: which draws it is made of, so that one can compute with it; None where that is not
            known, or is no weighted sum and no quotient of two.
    """

    name: str
    values: tuple[Any, ...]
    low: tuple[Number, ...] | None = None
    high: tuple[Number, ...] | None = None
    margin: Fraction | None = None
    covers: str = NOISE_ONLY
    scale: Fraction | None = None
    mechanism: str = ""
    kind: Kind | None = None
    form: Form | None = field(default=None, metadata={LATER: True})

    def __post_init__(self) -> None:
        """Check the parts and bring every number into its one form."""
        check_name(self.name, "a measure")
        values = tuple(self.values)
        if self.kind not in {"integer", "rational", "text"}:
            object.__setattr__(self, "kind", _kind(values))
        object.__setattr__(self, "values", self._held(values))
        for end in ("low", "high"):
            if (given := getattr(self, end)) is not None:
                object.__setattr__(self, end, self._held(given))
        for name in ("margin", "scale"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, nonnegative(given, name))
        for text in (self.covers, self.mechanism):
            if not isinstance(text, str) or not is_unicode(text):
                raise InputError("covers and mechanism of a measure are text.")
        if self.form is not None and (not isinstance(self.form, Form) or self.kind == "text"):
            raise InputError("form= says of which draws a measure of numbers is made: a Form.")
        self._check_interval()

    @classmethod
    def of(
        cls,
        name: str,
        values: object,
        error: Error | None,
        *,
        confidence: Fraction,
        mechanism: str,
        scale: Exactable | None = None,
        form: Form | None = None,
    ) -> Measure:
        """Attach to each value the interval that `error` gives at `confidence`.

        Args:
            name: what was measured.
            values: one value or an array: ints, Fractions or Decimals, never floats; text or any
                number where it is a choice among public candidates.
            error: the law of the error; None, or one that covers nothing, where no interval is
                public.
            confidence: the probability with which each interval holds.
            mechanism: the mechanism's `repr`.
            scale: the noise scale, where it does not depend on the data.
            form: which draws it is made of.
        """
        covers = _NOTHING if error is None else error.covers
        held, kind = _exact_cells(cells(values), choice=quantity(covers) == "score")
        low: Iterable[Number] | None = None
        high: Iterable[Number] | None = None
        margin = None
        if error is not None and covers != _NOTHING:
            width = nonnegative(error.halfwidth(confidence), "halfwidth")
            if quantity(covers):
                margin = width
            elif kind == "integer":
                reach = ceil(width)  # outward: it still holds with the stated confidence
                low, high = (v - reach for v in held), (v + reach for v in held)
            elif kind == "rational":
                low, high = (v - width for v in held), (v + width for v in held)
        return cls(
            name,
            held,
            None if low is None else tuple(low),
            None if high is None else tuple(high),
            margin,
            covers,
            None if scale is None else exact(scale, "scale"),
            mechanism,
            kind,
            form,
        )

    def __len__(self) -> int:
        """Count the values."""
        return len(self.values)

    @property
    def has_interval(self) -> bool:
        """Whether anything is known about the error."""
        return self.low is not None or self.margin is not None

    def columns(self) -> Iterator[tuple[str, tuple[Any, ...], Kind]]:
        """Yield name, cells and kind of each column: the values, then interval or margin."""
        kind: Kind = self.kind or "rational"
        yield self.name, self.values, kind
        if self.low is not None and self.high is not None:
            yield f"{self.name}_low", self.low, kind
            yield f"{self.name}_high", self.high, kind
        elif self.margin is not None:
            margins = (self.margin,) * len(self)
            yield f"{self.name}_{quantity(self.covers)}_error", margins, "rational"

    def _held(self, given: Iterable[Any]) -> tuple[Any, ...]:
        given = tuple(given)
        if self.kind == "text":
            if not all(isinstance(text, str) and is_unicode(text) for text in given):
                raise DataError(f"measure {self.name!r} is declared as text, but is not all text.")
            return given
        if set(map(type, given)) <= {int if self.kind == "integer" else Fraction}:
            return given
        rationals = tuple(exact(number, self.name) for number in given)
        if self.kind == "rational":
            return rationals
        if any(number.denominator != 1 for number in rationals):
            raise DataError(f"measure {self.name!r} is declared as integer, but has fractions.")
        return tuple(number.numerator for number in rationals)

    def _check_interval(self) -> None:
        if (self.low is None) != (self.high is None):
            raise InputError("an interval has two ends. Pass low= and high=, or neither.")
        if self.margin is not None and not quantity(self.covers):
            raise InputError(
                f"margin= counts in ranks or scores, and covers={self.covers!r} does not say so. "
                f"Pass low= and high= for an interval in the unit of the values."
            )
        if self.low is None or self.high is None:
            return
        if self.kind == "text":
            raise InputError("a text has no interval. Pass neither low= nor high=.")
        most: Callable[[Any, Any], bool] = le if self.kind == "integer" else _at_most
        if not len(self.low) == len(self.values) == len(self.high) or not (
            all(map(most, self.low, self.values)) and all(map(most, self.values, self.high))
        ):
            raise InputError(
                f"the intervals of {self.name!r} do not hold its values: each value needs a low "
                f"end at or below it and a high end at or above it."
            )


def check_name(name: object, owner: str) -> None:
    """Refuse what cannot name a column: not text, empty, with a NUL in it, or not Unicode."""
    if not isinstance(name, str) or not name or "\0" in name or not is_unicode(name):
        raise InputError(f"{owner} needs a name: a text that is not empty and is valid Unicode.")


def is_unicode(text: str) -> bool:
    """Say whether `text` can be written at all: lone surrogates cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def cells(values: object) -> np.ndarray[Any, Any]:
    """Return what was measured as an array, of the shape it came in."""
    return values if isinstance(values, np.ndarray) else np.array(values, dtype=object)


def fits(number: Number) -> bool:
    """Say whether an integer fits 64 bits."""
    return -_INT64 <= number < _INT64


def view(values: Iterable[Any], kind: Kind) -> np.ndarray[Any, Any]:
    """Return an array for computing with: int64 for integers that fit, float64, or text."""
    values = tuple(values)
    if kind == "text":
        return np.array(values, dtype=np.str_)
    if kind == "integer":
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:  # one does not fit
            pass
    return np.array([approximate(number) for number in values], dtype=np.float64)


def _at_most(a: Number, b: Number) -> bool:
    """Compare two exact numbers; several times faster than Fraction's own way."""
    return a.numerator * b.denominator <= b.numerator * a.denominator


def _exact_cells(array: np.ndarray[Any, Any], *, choice: bool) -> tuple[tuple[Any, ...], Kind]:
    """Flatten to exact values and say what they are by type."""
    flat = array.ravel().tolist()
    if set(map(type, flat)) <= {int}:
        return tuple(flat), "integer"
    if not choice and any(isinstance(value, float | np.floating) for value in flat):
        raise DataError(
            "a released value must be exact, and a float is not: its last digits can tell what the "
            "noise was meant to hide. Release integers, or Fractions on a public grid."
        )
    flat = [int(value) if isinstance(value, bool | np.bool_) else value for value in flat]
    kind = _kind(flat)
    if kind == "text":
        return tuple(flat), kind
    return tuple(exact(value, "value") for value in flat), kind


def _kind(values: Iterable[object]) -> Kind:
    values = tuple(values)
    if values and all(isinstance(value, str) for value in values):
        return "text"
    if all(isinstance(value, int | np.integer) for value in values):
        return "integer"
    if all(isinstance(value, int | float | Fraction | Decimal | np.number) for value in values):
        return "rational"
    raise DataError(
        "a release holds numbers, or text where it is a choice; these values are something else."
    )
