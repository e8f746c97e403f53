"""Numbers made presentable: rounded, or not negative. Their intervals still hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import Exactable, exact
from sfumato.release.derived import rebuilt
from sfumato.release.format import plain, printable

if TYPE_CHECKING:
    from sfumato.release.measure import Kind, Measure, Number
    from sfumato.release.release import Release


def rounded(release: Release, step: Exactable, names: Iterable[str] = ()) -> Release:
    """Round values to the nearest multiple of a step (ties to even), and intervals outwards."""
    unit = exact(step, "step")
    if unit <= 0:
        raise RangeError(
            f"values are rounded to multiples of a step above 0, and this is {plain(unit)}. Pass "
            f"10 for tens, or 0.01 for hundredths."
        )

    def done(m: Measure) -> Measure:
        kind: Kind = "integer" if unit.denominator == 1 else "rational"
        whole = kind == "integer"

        def at(k: int) -> Number:
            return int(k * unit) if whole else k * unit

        return replace(
            m,
            values=tuple(at(round(Fraction(v) / unit)) for v in m.values),
            low=None if m.low is None else tuple(at(Fraction(v) // unit) for v in m.low),
            high=None if m.high is None else tuple(at(-(-Fraction(v) // unit)) for v in m.high),
            kind=kind,
            form=None,
        )

    return _tidied(release, names, done, f"rounded to multiples of {plain(unit)}")


def nonnegative(release: Release, names: Iterable[str] = ()) -> Release:
    """Raise what is below 0 to 0, ends of intervals too: exact numbers from 0 on stay inside."""

    def done(m: Measure) -> Measure:
        def raised(numbers: tuple[Number, ...] | None) -> tuple[Number, ...] | None:
            return None if numbers is None else tuple(v if v > 0 else v * 0 for v in numbers)

        values = raised(m.values) or ()
        return replace(m, values=values, low=raised(m.low), high=raised(m.high), form=None)

    return _tidied(release, names, done, "not below 0: what noise carried there is raised to 0")


def _tidied(
    release: Release, names: Iterable[str], done: Callable[[Measure], Measure], note: str
) -> Release:
    chosen = [release.measure(name).name for name in names]
    if not chosen:
        chosen = [m.name for m in release.measures if m.kind != "text" and m.covers != "nothing"]
    if any(release.measure(name).kind == "text" for name in chosen):
        raise InputError("a text is not rounded. Name measures of numbers.")
    measures = [done(m) if m.name in chosen else m for m in release.measures]
    listed = ", ".join(printable(name) for name in chosen)
    return rebuilt(release, measures, notes=[f"{listed}: {note}"])
