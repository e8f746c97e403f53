"""A mean from a noisy sum and a noisy count, with the interval that both noises leave.

Nothing here reads data: noisy numbers are public, and so is whatever is computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import exact, positive
from sfumato.release.fieller import Threshold, ends
from sfumato.release.format import approximate
from sfumato.release.grid import Grid, span, upward
from sfumato.release.measure import Measure

if TYPE_CHECKING:
    from sfumato.release.error import Noise


class Expected(NamedTuple):
    """Half-widths known before anything is measured: for a mean at the center, and at worst."""

    typical: Fraction
    worst: Fraction


@dataclass(frozen=True, slots=True)
class Ratio:
    """The mean center + step·S/C of values in [low, high], from noisy whole numbers S and C.

    S sums (x − center)/step over a group and C counts it; their noises are independent. The mean m
    has the slope b = (m − center)/step, and S − b·C is then N_S − b·N_C, pure noise. The interval
    (Fieller's) holds every m in the bounds for which that noise is likely enough:

        |S' − b·C| <= q(b),   with P(|N_S − b·N_C| > q(b)) <= 1 − confidence,

    and what lies between two such m. S' is S moved into [b_low·C, b_high·C], which any true sum of
    C values is in: it brings S closer to b·C for every b in the bounds, so nothing is lost, and a
    sum that noise carried out of bounds does not make the interval look narrow.

    The value is the ratio S'/C. Where C <= 0, nothing is known of the mean: the value is the middle
    of the bounds and the interval all of them.

    Args:
        sums: the noise of S, in steps.
        counts: the noise of C.
        center: what was taken from each value before summing.
        step: the unit in which the sum counts.
        low: the least value that counts.
        high: the largest.

    Example:
        >>> from sfumato.release.error import Noise
        >>> fare = Ratio(Noise("laplace", 400), Noise("laplace", 4), 100, "0.5", 0, 200)
        >>> fare.measure("fare", [-70_000], [1000], confidence=Fraction(95, 100)).low
        (Fraction(2571, 40),)
        >>> [float(h) for h in fare.expected_halfwidth(1000)]
        [0.609, 1.31]
    """

    sums: Noise
    counts: Noise
    center: Fraction
    step: Fraction
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        """Hold exact numbers and check the bounds."""
        object.__setattr__(self, "step", positive(self.step, "step"))
        for name in ("center", "low", "high"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if self.low > self.high:
            raise RangeError("low must not be above high. Pass the bounds in order.")

    def measure(
        self,
        name: str,
        sums: Any,
        counts: Any,
        *,
        confidence: Fraction,
        mechanism: str = "",
    ) -> Measure:
        """Return the means with their intervals, one for each pair of a sum and a count.

        Values are rounded to a grid, a power of ten of which the narrowest half-width among these
        means has a hundred cells or more; ends are rounded outwards, but never past the bounds.

        Args:
            name: what the mean is called.
            sums: noisy whole numbers S.
            counts: noisy whole numbers C, as many.
            confidence: the probability with which each interval holds.
            mechanism: the mechanisms, as their `repr` shows them.

        Raises:
            InputError: there are more of the one than of the other.
        """
        s, c = (np.asarray(given, np.float64).ravel() for given in (sums, counts))
        if s.size != c.size:
            raise InputError(
                f"a mean takes one sum and one count, and there are {s.size} and {c.size}. Pass "
                f"as many of the one as of the other."
            )
        threshold = self._threshold(confidence)
        value, low, high = ends(threshold, s, c, *self._slopes)
        grid = self._grid(float(threshold.values.min()), float(c.max(initial=1)))
        center, step = approximate(self.center), approximate(self.step)
        values, lows, highs = grid.columns(*(center + step * b for b in (value, low, high)))
        return Measure(name, values, lows, highs, mechanism=mechanism, kind="rational")

    def expected_halfwidth(
        self, people: int = 1000, confidence: object = Fraction(95, 100)
    ) -> Expected:
        """Return how far the interval of a group of `people` reaches, before anything is measured.

        It is the interval of the very sum and count, without noise in them: at the center
        (typical), and at the bound that is farther from it (worst). Rounded up to three digits.

        Args:
            people: how many values the group has.
            confidence: the probability with which an interval holds.
        """
        size = np.full(3, approximate(positive(people, "people")))
        middle = min(max(self.center, self.low), self.high)
        at = np.array([self._slope(middle), *self._slopes])
        value, low, high = ends(self._threshold(confidence), at * size, size, *self._slopes)
        reach = np.maximum(value - low, high - value) * approximate(self.step)
        return Expected(upward(float(reach[0])), upward(float(reach.max())))

    def _slope(self, m: Fraction) -> float:
        return approximate((m - self.center) / self.step)

    @property
    def _slopes(self) -> tuple[float, float]:
        return self._slope(self.low), self._slope(self.high)

    def _threshold(self, confidence: object) -> Threshold:
        steepest = max(map(abs, self._slopes))
        return Threshold.of(self.sums, self.counts, steepest, confidence)

    def _grid(self, least: float, most: float) -> Grid:
        """Return the grid, given the least threshold and the largest count."""
        narrowest = min(
            approximate(self.step) * max(least, 1) / max(most, 1),  # one step, if there is no noise
            approximate(self.high - self.low) / 10,  # the middle of the bounds shows as such
        )
        return Grid.of(self.low, self.high, narrowest, span(self.low, self.high, self.center))
