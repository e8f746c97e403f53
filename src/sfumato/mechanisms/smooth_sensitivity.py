"""The smooth sensitivity of a median: how far it could move, near data like these.

Sorted values x_1 <= … <= x_n are flanked by the public bounds, x_0 = low and x_(n+1) = high; the
median is x_m with m = ceil(n/2). The smooth sensitivity is the largest of

    (x_j - x_i) · exp(-beta·(j - i - 1))    over i <= m <= j.

One row that is added, removed or replaced changes it by a factor of at most exp(beta), and moves
the median by at most this much: ``docs/theory/instance-noise.md``. It is found without rounding:
floats only propose, and what they cannot tell apart is compared in enclosures.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval import Interval

# A logarithm below 44 is good to 2^-46 in numpy, a product to 2^-51 of itself; see `_score`.
_FILTER_WIDTH = 2.0**-44
_LOG_SIZE = 64.0


@dataclass(frozen=True, slots=True)
class SmoothSensitivity:
    """The number width·exp(-beta·distance), in grid steps.

    Attributes:
        width: how far apart two values lie, from 1 on.
        distance: how many rows must change before the median can move so far, less one.
        beta: how fast it may change from row to row.
    """

    width: int
    distance: int
    beta: Fraction

    def enclose(self, digits: int) -> Interval:
        """Enclose it, to about so many digits."""
        decay = -self.beta * self.distance
        return Interval.of(decay, digits + len(str(int(-decay)))).exp() * self.width

    def exceeds(self, other: SmoothSensitivity) -> bool:
        """Compare two of one beta.

        It ends: exp of a rational other than 0 is irrational, so two of them are equal only if
        both numbers are.
        """
        if (self.width >= other.width) == (self.distance <= other.distance):
            return (self.width, -self.distance) > (other.width, -other.distance)
        digits = 40
        while True:
            # other.width / self.width against exp(-beta·(self.distance - other.distance))
            power = -self.beta * (self.distance - other.distance)
            decay = Interval.of(power, digits + len(str(int(abs(power))))).exp()
            wanted = Interval.of(Fraction(other.width, self.width), digits)
            if decay.low > wanted.high:
                return True
            if decay.high < wanted.low:
                return False
            digits *= 2


def median_rank(n: int) -> int:
    """Return m of the median x_m: the middle one, the lower of two, 0 (the low bound) of none.

    One row more leaves it or moves it up by one; the proof for add_remove needs no more.
    """
    return (n + 1) // 2


def flanked(positions: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """Sort grid positions and put the ends of the grid around them."""
    return np.concatenate([[0], np.sort(positions), [last]]).astype(np.int64)


def smooth_sensitivity(ordered: NDArray[np.int64], beta: Fraction) -> SmoothSensitivity:
    """Return the smooth sensitivity of the median of values that are sorted and flanked.

    The best j does not fall as i grows: with j < j', (x_j' - x_i)/(x_j - x_i) grows with x_i. So
    rows i are halved again and again, and each new one looks only between the best of the two
    rows around it. O(n log n), level by level in numpy.
    """
    middle = median_rank(ordered.size - 2)
    rows = np.arange(middle + 1)
    best = np.full(rows.size, ordered.size - 1)
    stride = 1 << (rows.size.bit_length() - 1)
    while stride:
        todo = rows[stride - 1 :: 2 * stride]
        # The rows one stride before and after are done; where there is none there is no limit.
        first = np.where(todo >= stride, best[np.maximum(todo - stride, 0)], middle)
        behind = todo + stride <= middle
        final = np.where(behind, best[np.minimum(todo + stride, middle)], ordered.size - 1)
        best[todo] = _best_columns(ordered, todo, first, final, beta)
        stride //= 2
    chosen = _largest(ordered[best] - ordered[rows], best - rows - 1, np.array([0]), beta)
    i, j = int(rows[chosen[0]]), int(best[chosen[0]])
    return SmoothSensitivity(int(ordered[j] - ordered[i]), j - i - 1, beta)


def _best_columns(
    ordered: NDArray[np.int64],
    rows: NDArray[np.int64],
    first: NDArray[np.int64],
    final: NDArray[np.int64],
    beta: Fraction,
) -> NDArray[np.int64]:
    """Return for each row i the best j from `first` to `final`; the last where all widths are 0."""
    counts = final - first + 1
    ends = np.cumsum(counts)
    starts = ends - counts
    row = np.repeat(rows, counts)
    column = np.arange(row.size) - np.repeat(starts - first, counts)
    chosen = _largest(ordered[column] - ordered[row], column - row - 1, starts, beta)
    return np.asarray(column[chosen])


def _largest(
    widths: NDArray[np.int64],
    distances: NDArray[np.int64],
    starts: NDArray[np.int64],
    beta: Fraction,
) -> NDArray[np.int64]:
    """Return where each segment has its largest width·exp(-beta·distance); its end if all are 0."""
    scores = np.full(widths.size, -np.inf)
    np.log(widths, out=scores, where=widths > 0)
    decay = float(beta) * distances
    scores -= decay
    slack = _FILTER_WIDTH * (_LOG_SIZE + decay)  # many times what log, product and sum may be off
    surest = np.maximum.reduceat(scores - slack, starts)
    ends = np.append(starts[1:], widths.size)
    segment = np.repeat(np.arange(starts.size), ends - starts)
    possible = np.flatnonzero((widths > 0) & (scores + slack >= surest[segment]))
    chosen = ends - 1
    where, at, times = np.unique(segment[possible], return_index=True, return_counts=True)
    chosen[where] = possible[at]
    for i in np.flatnonzero(times > 1):  # so close that only enclosures tell
        best: SmoothSensitivity | None = None
        for place in possible[at[i] : at[i] + times[i]].tolist():
            pair = SmoothSensitivity(int(widths[place]), int(distances[place]), beta)
            if best is None or pair.exceeds(best):
                best, chosen[where[i]] = pair, place
    return chosen
