"""The interval of a ratio of two noisy integers, by inverting a test (Fieller's theorem)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.number import open_unit
from sfumato.release import law
from sfumato.release.combination import TRIMMED, quantile

if TYPE_CHECKING:
    from sfumato.release.error import Noise
    from sfumato.release.law import Floats

_PIECES = 256  # of the broken line
_STEPS = 100  # at most, towards an end of an interval
_CLOSE = 1e-3  # of the threshold: an end is that near to where the test begins to accept
_FLAT = 1e-9  # least reach of the broken line, in slopes


@dataclass(frozen=True, slots=True)
class Threshold:
    """The q(b) of which N_S − b·N_C exceeds ±q(b) with probability at most 1 − confidence.

    It is a broken line over |b|, never below the true quantile: moving b by h moves N_S − b·N_C by
    at most h·K, but for a trimmed share of the failures in which |N_C| is above K; so between nodes
    h apart, the quantile is at most h·K/2 above its chord.

    Attributes:
        width: the distance of the nodes.
        values: q at the nodes, from b = 0 on.
    """

    width: float
    values: Floats

    @classmethod
    @lru_cache(maxsize=64)  # explain and release ask for the same one
    def of(cls, sums: Noise, counts: Noise, most: float, confidence: object) -> Threshold:
        """Compute it for slopes up to `most` in absolute value."""
        alpha = float(1 - open_unit(confidence, "confidence"))
        nodes = np.linspace(0, max(most, _FLAT), _PIECES + 1)
        width = float(nodes[1])
        above = width / 2 * law.reach(counts, alpha * (1 - TRIMMED) * TRIMMED / 2)
        return cls(width, quantile(np.ones(nodes.shape), nodes, sums, counts, confidence) + above)

    @property
    def steepest(self) -> float:
        """The largest change of q by one unit of b."""
        return float(np.abs(np.diff(self.values)).max()) / self.width

    def __call__(self, b: Floats) -> Floats:
        """Return q at each slope."""
        place = np.abs(b) / self.width
        node = np.minimum(place.astype(np.intp), _PIECES - 1)
        left = self.values[node]
        return np.asarray(left + (place - node) * (self.values[node + 1] - left))


def ends(
    threshold: Threshold, sums: Floats, counts: Floats, least: float, most: float
) -> tuple[Floats, Floats, Floats]:
    """Return S/C within [least, most] and the ends of its interval, for each sum and count.

    Where the count is not above 0, these are the middle of the bounds and the bounds.

    Example:
        >>> from sfumato.release.error import Noise
        >>> threshold = Threshold.of(Noise("gaussian", 30), Noise("gaussian", 3), 10, "0.95")
        >>> tuple(float(end[0].round(2)) for end in ends(
        ...     threshold, np.array([500.0]), np.array([100.0]), -10, 10))
        (5.0, 4.35, 5.68)
    """
    value = np.full(sums.shape, (least + most) / 2)
    low, high = (np.full(sums.shape, end, np.float64) for end in (least, most))
    some = counts > 0
    value[some] = inside = np.clip(sums[some] / counts[some], least, most)
    low[some] = _lower(threshold, inside, counts[some], least)
    high[some] = -_lower(threshold, -inside, counts[some], -most)
    return value, low, high


def _lower(threshold: Threshold, value: Floats, count: Floats, least: float) -> Floats:
    """Return for each ratio the least b that the test accepts, or a bit less, from `least` on.

    While (S/C − b)·C exceeds q(b) by g, no b within g/(C + K) is accepted, where K is the steepest
    slope of q: that far one may go without passing an accepted b. What is accepted need not be
    connected, and q need not be convex, for this to find the outermost end.
    """
    end = np.full(value.shape, least, np.float64)
    steepest = threshold.steepest
    left = np.arange(value.size)
    for _ in range(_STEPS):
        at = end[left]
        limit = threshold(at)
        excess = (value[left] - at) * count[left] - limit
        on = excess > _CLOSE * limit
        left = left[on]
        if not left.size:
            break
        end[left] = at[on] + excess[on] / (count[left] + steepest)
    return end
