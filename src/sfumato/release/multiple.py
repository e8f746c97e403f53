"""A measured quantity in another unit: a public multiple of it, with its interval, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import InputError
from sfumato.core.number import Exactable, positive

if TYPE_CHECKING:
    from sfumato.release.error import Error
    from sfumato.release.measure import Kind, Measure


@dataclass(frozen=True, slots=True)
class Multiple:
    """The error of a public multiple of a noisy number; an `Error`.

    Attributes:
        error: how far the number itself may err.
        factor: what it is multiplied with, above 0.
    """

    error: Error
    factor: Fraction

    @property
    def covers(self) -> str:
        """What an interval covers: the same."""
        return self.error.covers

    @property
    def std(self) -> float | None:
        """The standard deviation, in the new unit."""
        return None if self.error.std is None else self.error.std * float(self.factor)

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return how far an interval reaches, in the new unit."""
        return self.error.halfwidth(confidence) * self.factor


def scaled(measure: Measure, factor: Exactable, name: str | None = None) -> Measure:
    """Return `factor` times the measure: a sum in steps becomes a sum in the column's unit.

    Values, interval and noise scale are multiplied exactly, so the interval holds with the same
    confidence. Integers stay integers under a whole factor and become rationals otherwise. A margin
    in ranks or scores, and the scale of noise on those, is no length in the values' unit and stays.

    Args:
        measure: numbers; text has no multiple.
        factor: a public number above 0.
        name: the new name; the old one if not given.

    Raises:
        InputError: the measure holds text.
        RangeError: the factor is not above 0.

    Example:
        >>> from fractions import Fraction
        >>> from sfumato.release import Measure
        >>> cents = Measure("fare", (1250,), (1200,), (1300,), scale=Fraction(20))
        >>> fare = scaled(cents, "0.01")
        >>> fare.values, fare.high, fare.scale, fare.kind
        ((Fraction(25, 2),), (Fraction(13, 1),), Fraction(1, 5), 'rational')
    """
    times = positive(factor, "factor")
    if measure.kind == "text":
        raise InputError(
            f"{measure.name!r} holds text, which has no multiple. Scale a measure of numbers."
        )
    if times == 1 and name in (None, measure.name):
        return measure
    kind: Kind = "integer" if measure.kind == "integer" and times.denominator == 1 else "rational"
    p, q = times.numerator, times.denominator

    def times_all(numbers: tuple[Any, ...]) -> tuple[int | Fraction, ...]:
        if kind == "integer":
            return tuple(p * number for number in numbers)
        if measure.kind == "integer":
            return tuple(Fraction(p * number, q) for number in numbers)
        return tuple(times * number for number in numbers)

    scale = measure.scale
    if scale is not None and measure.margin is None:
        scale *= times
    return replace(
        measure,
        name=measure.name if name is None else name,
        values=times_all(measure.values),
        low=None if measure.low is None else times_all(measure.low),
        high=None if measure.high is None else times_all(measure.high),
        scale=scale,
        kind=kind,
    )
