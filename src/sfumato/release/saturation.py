"""Totals that end at 64 bits: which ends of an interval that leaves open, and where they then are.

A total is cut to ±(2^63 − 1) steps before noise is added, and a total beyond looks like one at that
end. With q such that |noise| > q has probability α at most, a total that was cut has a noisy number
within q of the end but for a probability of α/2. So wherever a noisy number lies within q of an
end, the interval is open on that side, and an interval holds as often as it says: see
docs/theory/sensitivity.md#saturation. To overlook it would leave an answer wrong by far, and a
larger q costs nothing elsewhere, so that it is taken for an α of 10^-12, or less.

An end that is open is a number all the same, so that answers stay exact: totals are added up in 128
bits, and no total of a table lies beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.release.law import reach

if TYPE_CHECKING:
    from sfumato.release.error import Noise
    from sfumato.release.linear import Linear
    from sfumato.release.measure import Measure

LARGEST = 2**63 - 1  # where totals end, in steps
FARTHEST = 2**127  # no total is farther from 0, in steps
_RARELY = 1e-12

Marks: TypeAlias = NDArray[np.bool_]


class Open(NamedTuple):
    """Which intervals are open, below and above."""

    low: Marks
    high: Marks

    @property
    def either(self) -> Marks:
        """Those that are open on some side."""
        return np.asarray(self.low | self.high)


def reached(values: Any, noise: Noise, alpha: float) -> Open:
    """Return which noisy totals may be those of totals that were cut.

    Args:
        values: noisy whole numbers, in steps.
        noise: the law of their noise.
        alpha: the probability with which an interval may fail.

    Example:
        >>> from sfumato.release.error import Noise
        >>> reached([0, LARGEST - 2, -LARGEST], Noise("laplace", 2), 0.05).high.tolist()
        [False, True, False]
    """
    within = min(reach(noise, min(alpha, _RARELY)), 2 * LARGEST)  # beyond, all are
    whole = np.array(values, np.object_).ravel() if within >= LARGEST else np.ravel(values)
    return Open(
        np.asarray(whole <= within - LARGEST, np.bool_),
        np.asarray(whole >= LARGEST - within, np.bool_),
    )


def joined(terms: Sequence[tuple[Fraction | int, Any, Noise]], alpha: float) -> Open:
    """Return which weighted sums of noisy totals are open: terms are weight, values and noise."""
    low = high = np.zeros(1, np.bool_)
    for weight, values, noise in terms:
        found = reached(values, noise, alpha)
        below, above = found if weight >= 0 else found[::-1]
        low, high = low | below, high | above
    return Open(low, high)


def of_rows(linear: Linear, alpha: float) -> Open:
    """Return which rows of a weighted sum are open."""
    marks = Open(*(np.zeros(linear.size, np.bool_) for _ in range(2)))
    for i, part in enumerate(linear.parts):
        here = np.flatnonzero(linear.part == i)
        found = reached(part.at(linear.cell[here]), part.noise, alpha)
        if not found.either.any():
            continue
        rows, up = linear.row[here], linear.weight[here] > 0
        marks.low[rows[np.where(up, found.low, found.high)]] = True
        marks.high[rows[np.where(up, found.high, found.low)]] = True
    return marks


def farthest(linear: Linear) -> NDArray[Any]:
    """Return for each row how far its exact number can be from its constant, over the same."""
    out = np.zeros(linear.size, np.object_)
    np.add.at(out, linear.row, np.abs(linear.weight.astype(np.object_)) * FARTHEST)
    return out


def opened(measure: Measure, marks: Open, least: Fraction | int, most: Fraction | int) -> Measure:
    """Return a measure with those ends open that are marked: moved to what is never exceeded."""
    if measure.low is None or measure.high is None or not marks.either.any():
        return measure
    kind = int if measure.kind == "integer" else Fraction
    lows, highs = (np.broadcast_to(each, len(measure)).tolist() for each in marks)
    return replace(
        measure,
        low=tuple(
            min(end, kind(least)) if far else end
            for end, far in zip(measure.low, lows, strict=True)
        ),
        high=tuple(
            max(end, kind(most)) if far else end
            for end, far in zip(measure.high, highs, strict=True)
        ),
    )
