"""A number, or many at once, each with the interval in which the exact one lies."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from sfumato.core.errors import InputError
from sfumato.core.number import Exactable, exact, open_unit
from sfumato.release.compute import Computed, compute
from sfumato.release.error import IF, NOISE_ONLY, quantity
from sfumato.release.evaluate import fields
from sfumato.release.format import cell, percent, plain, shown_end
from sfumato.release.formula import Formula
from sfumato.release.measure import view
from sfumato.release.opaque import refusal
from sfumato.release.whence import Whence

if TYPE_CHECKING:
    from sfumato.release.opaque import Opaque

# A number (int, Fraction or float), or an array of them, which is a view for computing with; None
# where there is nothing to say.
Values: TypeAlias = Any

_SHOWN = 3  # entries of an array in `repr`


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Estimate:
    """A noisy answer with its interval; the fields are arrays when the question was.

    Each interval holds its own exact value with probability `confidence`; it says nothing about all
    of them at once.

    Estimates of releases can be added, subtracted, multiplied by exact numbers and divided; the
    result knows which noise is in it, so that ``x - x`` is exactly 0. Cells are matched by key.

    Args:
        value: the noisy answer.
        low: lower end of the interval; None where there is no interval in the value's own unit.
        high: upper end of the interval.
        confidence: the probability with which an interval holds.
        covers: what the interval covers, such as ``"noise only"``.
        margin: half the width of the interval where it is counted in something else than the
            value's unit: in ranks for a quantile.
        whence: what it is made of; releases fill it in.

    Example:
        >>> Estimate(1234, 1201, 1267)
        1234 [1201, 1267] (95 %)
    """

    value: Values
    low: Values
    high: Values
    confidence: Fraction
    covers: str
    margin: Fraction | None
    whence: Whence | None

    __array_ufunc__ = None  # numpy must not take an estimate apart

    def __init__(
        self,
        value: Values,
        low: Values = None,
        high: Values = None,
        confidence: object = Fraction(95, 100),
        covers: str = NOISE_ONLY,
        margin: object | None = None,
        whence: Whence | None = None,
    ) -> None:
        """Check that value and ends belong together; arrays are copied and made read-only."""
        if (low is None) != (high is None):
            raise InputError("an interval has two ends. Pass low= and high=, or neither.")
        object.__setattr__(self, "whence", whence)
        for name, given in {"value": value, "low": low, "high": high}.items():
            object.__setattr__(self, name, None if given is None else _held(given))
        object.__setattr__(self, "confidence", open_unit(confidence, "confidence"))
        object.__setattr__(self, "covers", covers)
        object.__setattr__(self, "margin", None if margin is None else exact(margin, "margin"))
        if self.low is None or self.high is None:
            return
        shapes = {np.shape(end) for end in (self.low, self.value, self.high)}
        if len(shapes) > 1 or not np.all((self.low <= self.value) & (self.value <= self.high)):
            raise InputError(
                "low <= value <= high must hold, entry by entry: this interval does not belong to "
                "this value."
            )

    @property
    def halfwidth(self) -> Values:
        """How far the interval reaches from the value, on its longer side; None without one."""
        if self.low is None:
            return self.margin
        below, above = self.value - self.low, self.high - self.value
        return np.maximum(below, above) if isinstance(self.value, np.ndarray) else max(below, above)

    def within(self, low: Exactable | None = None, high: Exactable | None = None) -> Estimate:
        """State between which public numbers the exact one lies, whatever the data.

        It bounds the interval of a quotient, also where its denominator may be 0.
        """
        made = self._made()
        if not isinstance(made, Formula):
            raise refusal(made.measure.name)
        ends = (None if end is None else exact(end, "a bound") for end in (low, high))
        return self._of(made.within(*ends))

    def at(self, confidence: object) -> Estimate:
        """Return it with intervals of another confidence."""
        made = self._made()
        if not isinstance(made, Formula):
            raise refusal(made.measure.name)
        return self._of(made, open_unit(confidence, "confidence"))

    def __add__(self, other: object) -> Estimate:
        """Add an estimate or an exact number."""
        return self._with("+", other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Estimate:
        """Subtract an estimate or an exact number."""
        return self._with("-", other)

    def __rsub__(self, other: object) -> Estimate:
        """Subtract from an exact number."""
        return self._with("-", other, turned=True)

    def __mul__(self, other: object) -> Estimate:
        """Multiply by an exact number, or a mean by its own count."""
        return self._with("*", other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Estimate:
        """Divide by an estimate or an exact number."""
        return self._with("/", other)

    def __rtruediv__(self, other: object) -> Estimate:
        """Divide an exact number by it."""
        return self._with("/", other, turned=True)

    def __neg__(self) -> Estimate:
        """Turn the sign."""
        return self._with("*", -1)

    def __pos__(self) -> Estimate:
        """Return it as it is."""
        return self

    def _with(self, sign: str, other: object, *, turned: bool = False) -> Estimate:
        y: Computed
        covers = self.covers
        if isinstance(other, Estimate):
            if other.confidence != self.confidence:
                raise InputError(
                    "these intervals hold with different confidence. Bring them to one with at()."
                )
            y = other._made()
            covers = max(covers, other.covers, key=len)  # the one that says more
        elif isinstance(other, int | float | Fraction | Decimal | np.number):
            y = Formula.number(exact(other, "a number"))
        else:
            return cast("Estimate", NotImplemented)  # Python then asks the other, or refuses
        x = self._made()
        return self._of(compute(sign, y, x) if turned else compute(sign, x, y), covers=covers)

    def _made(self) -> Computed:
        made = None if self.whence is None else self.whence.computed
        if made is None:
            raise InputError(
                "this estimate was made by hand and does not say which noise is in it, so one "
                "cannot compute with it. Take estimates from a release: answer['n']."
            )
        return made

    def _of(
        self, made: Computed, confidence: Fraction | None = None, covers: str | None = None
    ) -> Estimate:
        sure = self.confidence if confidence is None else confidence
        said = self.covers if covers is None else covers
        whence = Whence(None, "", made)
        if isinstance(made, Formula):
            ends = fields(made, float(1 - sure))
            return Estimate(*ends, sure, said, whence=whence)
        return Estimate(*_columns(made), sure, said, made.measure.margin, whence)

    def __eq__(self, other: object) -> bool:
        """Compare all fields but `whence`; two arrays are equal if all their entries are."""
        return (
            self._content() == other._content() if isinstance(other, Estimate) else NotImplemented
        )

    def __hash__(self) -> int:
        """Hash by content."""
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        ends = (self.value, self.low, self.high)
        return (*map(_comparable, ends), self.confidence, self.covers, self.margin)

    def __repr__(self) -> str:
        """Show value, interval and confidence."""
        tail = percent(self.confidence)
        if self.margin is not None and (counted := quantity(self.covers)):
            tail = f"{counted} ±{plain(self.margin)}, {tail}"
        elif self.low is None:
            tail = "no interval"
        elif condition := self.covers.partition(IF)[2]:
            tail = f"{tail}{IF}{condition}"
        noise = (None, Fraction(1)) if self.whence is None else self.whence.noise
        if not isinstance(self.value, np.ndarray):
            return f"{_one(self.value, self.low, self.high, noise)} ({tail})"
        flat = [
            None if end is None else end.ravel().tolist()
            for end in (self.value, self.low, self.high)
        ]
        values, lows, highs = flat
        shown = [
            _one(v, lows and lows[i], highs and highs[i], noise)
            for i, v in enumerate((values or [])[:_SHOWN])
        ]
        more = ", …" if self.value.size > _SHOWN else ""
        return f"Estimate of {self.value.size}: {', '.join(shown)}{more} ({tail})"


def _columns(made: Opaque) -> tuple[Values, Values, Values]:
    m = made.measure
    ends: list[Any] = [m.values, m.low, m.high]
    for i, end in enumerate(ends):
        if end is not None:
            ends[i] = view(end, m.kind or "rational") if made.keys else end[0]
    return ends[0], ends[1], ends[2]


def _one(value: object, low: object, high: object, noise: tuple[Fraction | None, Fraction]) -> str:
    if low is None:
        return plain(value)
    below, above = (cell(shown_end(end, value, *noise)) for end in (low, high))
    return f"{plain(value)} [{below}, {above}]"


def _held(given: Values) -> Values:
    if isinstance(given, np.ndarray | list | tuple):
        array = np.array(given)
        array.flags.writeable = False
        return array
    return given.item() if isinstance(given, np.generic) else given


def _comparable(field: Values) -> object:
    return (field.shape, tuple(field.ravel().tolist())) if isinstance(field, np.ndarray) else field
