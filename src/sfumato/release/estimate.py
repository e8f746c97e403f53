"""A number, or many at once, each with the interval in which the exact one lies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sfumato.core.errors import InputError
from sfumato.core.number import exact, open_unit
from sfumato.release.error import NOISE_ONLY, quantity
from sfumato.release.format import percent, plain

# A number (int, Fraction or float), or an array of them, which is a view for computing with; None
# where there is nothing to say.
Values: TypeAlias = Any

_SHOWN = 3  # entries of an array in `repr`


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Estimate:
    """A noisy answer with its interval; the fields are arrays when the question was.

    Each interval holds its own exact value with probability `confidence`; it says nothing about all
    of them at once.

    Args:
        value: the noisy answer.
        low: lower end of the interval; None where there is no interval in the value's own unit.
        high: upper end of the interval.
        confidence: the probability with which an interval holds.
        covers: what the interval covers, such as ``"noise only"``.
        margin: half the width of the interval where it is counted in something else than the
            value's unit: in ranks for a quantile.

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

    def __init__(
        self,
        value: Values,
        low: Values = None,
        high: Values = None,
        confidence: object = Fraction(95, 100),
        covers: str = NOISE_ONLY,
        margin: object | None = None,
    ) -> None:
        """Check that value and ends belong together; arrays are copied and made read-only."""
        if (low is None) != (high is None):
            raise InputError("an interval has two ends. Pass low= and high=, or neither.")
        fields = {"value": value, "low": low, "high": high}
        for name, given in fields.items():
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

    def __eq__(self, other: object) -> bool:
        """Compare all fields; two arrays are equal if all their entries are."""
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
        if not isinstance(self.value, np.ndarray):
            return f"{_one(self.value, self.low, self.high)} ({tail})"
        flat = [
            None if end is None else end.ravel().tolist()
            for end in (self.value, self.low, self.high)
        ]
        values, lows, highs = flat
        shown = [
            _one(v, lows and lows[i], highs and highs[i])
            for i, v in enumerate((values or [])[:_SHOWN])
        ]
        more = ", …" if self.value.size > _SHOWN else ""
        return f"Estimate of {self.value.size}: {', '.join(shown)}{more} ({tail})"


def _one(value: object, low: object, high: object) -> str:
    interval = "" if low is None else f" [{plain(low)}, {plain(high)}]"
    return f"{plain(value)}{interval}"


def _held(given: Values) -> Values:
    if isinstance(given, np.ndarray | list | tuple):
        array = np.array(given)
        array.flags.writeable = False
        return array
    return given.item() if isinstance(given, np.generic) else given


def _comparable(field: Values) -> object:
    return (field.shape, tuple(field.ravel().tolist())) if isinstance(field, np.ndarray) else field
