"""A private quantile: the exponential mechanism over the intervals between data points."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import DataError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, exact, open_unit, positive
from sfumato.core.schema import Real
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.exponential import check_rate, range_for
from sfumato.mechanisms.mechanism import (
    Laboratory,
    need,
    need_movable,
    one_by_one,
    rational,
)
from sfumato.noise import Rng
from sfumato.noise.choice import Choice
from sfumato.noise.uniform import integer
from sfumato.release.error import RANK

_MOST = 2**62
_FINEST = 10**6  # denominators of q: keeps the integer scores of 10^12 rows within 64 bits


@dataclass(frozen=True, slots=True, repr=False)
class Quantile(Laboratory):
    """Choose a point of a public grid with probability proportional to exp(-rate·rank error).

    The median is q = 1/2. Values are clamped to [low, high] and rounded to the grid. O(n log n), or
    O(n) from sorted data. The number of values stays private.

    Guarantee: ε-bounded range, hence ε-DP and ε²/8-zCDP, with ε = 2·rate·d. The utility
        -|(1-q)·#below - q·#above| moves by d = l1·max(q, 1-q) under add_remove (1/2 a row for the
        median) and by d = l1 under replace, l1 being the rows that one unit may own.
    Theorem:   [Smith11], [DDR20], [CR21]
    Exactness: ranks are integers and the choice has exactly the stated law.
    Error:     with probability 1 - b the rank error is within ln(grid points/b)/rate of the least.

    Args:
        q: which quantile, strictly between 0 and 1.
        low: lower bound of the grid; public.
        high: upper bound of the grid; public.
        step: step of the grid; low and high must lie on it.
        rate: factor of the rank error in the exponent; for the median, rate = ε for one row.

    Example:
        >>> median = Quantile(q="0.5", low=0, high=120, step=1, rate=1)
        >>> 0 <= median([30, 40, 50]) <= 120
        True
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    q: Fraction
    low: Fraction
    high: Fraction
    step: Fraction
    rate: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self, q: Exactable, low: Exactable, high: Exactable, step: Exactable, rate: Exactable
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check rank, grid and rate."""
        object.__setattr__(self, "q", open_unit(self.q, "q"))
        grid = Real(self.low, self.high, self.step)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(grid, name))
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        check_rate(self.rate)
        if self._points() > _MOST:
            raise RangeError(
                "the grid has more than 2^62 points, too many to count. Take a coarser step."
            )
        if self.q.denominator > _FINEST:
            raise RangeError("q has more than six digits, finer than any rank. Round it.")

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        q: Exactable = Fraction(1, 2),
        low: Exactable,
        high: Exactable,
        step: Exactable,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> Quantile:
        """Return the mechanism with the sharpest choice whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        grid = (exact(q, "q"), exact(low, "low"), exact(high, "high"), exact(step, "step"))
        unit = cls(*grid, Fraction(1))
        return cls(*grid, range_for(target) / unit._range(sensitivity))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of the choice."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        return BoundedRange(self.rate * self._range(sensitivity), neighbors=sensitivity.neighbors)

    def _range(self, sensitivity: Sensitivity) -> Fraction:
        rows = need(sensitivity.l1, "l1", type(self).__name__)
        if sensitivity.neighbors is Neighbors.REPLACE:
            return 2 * rows  # one row leaves below and enters above: (1-q) + q
        return 2 * rows * max(self.q, 1 - self.q)

    def error(self, sensitivity: Sensitivity) -> RankError:  # noqa: ARG002 - not of the data
        """Return how far the rank may lie from the wanted one."""
        return RankError(self._points(), self.rate)

    def _points(self) -> int:
        return int((self.high - self.low) / self.step) + 1

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Clamp and round to the grid, each value by itself; return grid positions, unsorted."""
        array = one_by_one(values).ravel()
        kind, last = array.dtype.kind, self._points() - 1
        if kind == "O" or (kind == "u" and array.dtype.itemsize == 8):
            positions = [self._position(value) for value in array.tolist()]
            if None in positions:
                raise _missing()
            return np.array(positions, np.int64)
        if kind not in "iuf" or (kind == "f" and np.isnan(array).any()):
            raise _missing()
        low, high = self.low, self.high
        if kind != "f" and self.step == 1 and -(2**62) <= low < high <= 2**62:
            clamped = np.clip(array.astype(np.int64), int(low), int(high))
            return np.asarray(clamped - int(low))
        # A float's rounding may choose the grid point beside; it does so for each value by itself,
        # so one row changes one position, and the guarantee does not depend on which.
        above = np.clip(array.astype(np.float64), float(low), float(high)) - float(low)
        steps = np.clip(above / float(self.step), 0.0, float(last))
        return np.minimum(np.rint(steps).astype(np.int64), last)

    def _position(self, value: Any) -> int | None:
        """Return the grid position of a Python number, in exact arithmetic."""
        if isinstance(value, float) and isinf(value):
            return self._points() - 1 if value > 0 else 0
        number = rational(value)
        if number is None:
            return None
        inside = min(max(number, self.low), self.high)
        return int((inside - self.low) / self.step + Fraction(1, 2))

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one point."""
        return ()

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> int:
        """Choose a grid position."""
        starts, lengths, scores = _intervals(np.sort(exact), self._points(), self.q)
        choice = Choice(scores, self.rate / self.q.denominator, lengths)
        chosen = int(choice.draw(1, rng)[0])
        return int(starts[chosen]) + integer(rng, int(lengths[chosen]))

    def view(self, drawn: int) -> float | int:
        """Return the grid point as an int where all are, else as the nearest float."""
        point = self.grid(drawn)
        return point if isinstance(point, int) else float(point)

    def grid(self, drawn: int) -> Fraction | int:
        """Return the grid point exactly; an int where all grid points are."""
        point = self.low + self.step * drawn
        return int(point) if self.low.denominator == self.step.denominator == 1 else point


def _missing() -> DataError:
    return DataError(
        "a value is missing or not a number. Decide what a missing value means and drop or replace "
        "it before asking for a quantile."
    )


@dataclass(frozen=True, slots=True)
class RankError:
    """How far the rank of the chosen point may lie from the wanted one."""

    points: int
    rate: Fraction
    covers: str = RANK
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return r with P(rank error > least + r) <= 1 - confidence."""
        reach = Interval.of(Fraction(self.points) / (1 - confidence)).log() / self.rate
        return Fraction(-(-Fraction(reach.high) // 1))  # up


def _intervals(
    ordered: NDArray[np.int64], points: int, q: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split the grid into runs of equal utility: each data value alone, and the gaps between.

    Returns:
        First position, length and integer score -|(b-a)·#below - a·#above| of each run, q = a/b.
    """
    n = ordered.size
    fresh = np.append(True, ordered[1:] != ordered[:-1]) if n else np.zeros(0, np.bool_)
    first = np.flatnonzero(fresh)
    values = ordered[first]
    after = np.append(first[1:], n) if n else first  # values at or below each distinct one
    starts = np.empty(2 * values.size + 1, np.int64)
    starts[0], starts[1::2], starts[2::2] = 0, values, values + 1
    lengths = np.diff(np.append(starts, points))
    below = np.zeros(starts.size, np.int64)
    below[1::2], below[2::2] = first, after
    above = np.full(starts.size, n, np.int64)
    above[1::2], above[2::2] = n - after, n - after
    a, b = q.numerator, q.denominator
    return starts, lengths, -np.abs((b - a) * below - a * above)
