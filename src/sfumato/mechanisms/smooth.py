"""The median with noise that is scaled to its smooth sensitivity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.calibrate import calibrate
from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import CandidateError, CostError, RangeError, SensitivityError
from sfumato.core.interval import Interval, directed
from sfumato.core.loss import Approximate, Loss, Pure
from sfumato.core.number import Exactable, exact, failure_probability, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms.mechanism import (
    Laboratory,
    check_unit,
    need,
    need_movable,
    whole,
)
from sfumato.mechanisms.quantile import Quantile
from sfumato.mechanisms.smooth_noise import Family, SmoothNoise
from sfumato.mechanisms.smooth_sensitivity import flanked, median_rank, smooth_sensitivity
from sfumato.noise import Rng, system
from sfumato.release.key import check_cells
from sfumato.release.release import Release

_HALF = Fraction(1, 2)
_SMALLEST, _LARGEST = Fraction(1, 2**40), Fraction(2**10)
_FARTHEST = 50  # exponent from which groups of rows are charged row by row
# Of ε = β + 2·sqrt(β² + ρ²) this share makes β·ρ largest, which suits evenly spread values:
# 6x² + 3x = 1 has the root 0.2287.
_SMOOTHING = Fraction(8, 35)
_DIGITS = 12  # that a calibrated rate keeps, rounded down


@dataclass(frozen=True, slots=True, repr=False)
class SmoothMedian(Laboratory):
    """Add to the median noise that is scaled to how far it could move near data like these.

    The median of spread-out values hardly moves when one row does, though at worst it jumps across
    the whole range. This noise follows the data and is still private, because its scale changes
    slowly from row to row. `Quantile` is nearly always more accurate; this is for comparison, and
    for values without a fine grid. Values are clamped to [low, high] and rounded to the grid, and
    so is the answer. O(n log n). The number of values stays private.

    Guarantee: with l1 rows a unit, b = l1·beta and r = rate·exp((l1 - 1)·beta), for both neighbor
        relations: Student's noise is ε-DP with ε = b + 2·sqrt(b² + r²); Laplace noise is (ε, δ)-DP
        with ε = max(r, b + r·exp(-b), r - b + (exp(b) - 1)·ln((1 - exp(-b))/δ)).
    Theorem:   [NRS07], [BS19]; docs/theory/instance-noise.md
    Exactness: the smooth sensitivity is exact and the answer has exactly the law of the rounded
        continuous mechanism; ε rational, rounded up.
    Error:     scaled to the data, so nothing about it is published: no interval, no scale.

    Args:
        low: lower bound of the grid; public.
        high: upper bound of the grid; public.
        step: step of the grid; low and high must lie on it.
        beta: how fast the scale may change from row to row, from 2^-40 to 2^10.
        rate: smooth sensitivity over noise scale, from 2^-40 to 2^10.
        noise: ``"student"`` (three degrees of freedom, pure ε) or ``"laplace"`` (needs `delta`).
        delta: the δ at which Laplace noise states its ε.

    Example:
        >>> rows = Sensitivity(l1=1)
        >>> median = SmoothMedian.calibrate(rows, low=0, high=120, step=1, epsilon=1)
        >>> 0 <= median([30, 40, 50]) <= 120
        True
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    low: Fraction
    high: Fraction
    step: Fraction
    beta: Fraction
    rate: Fraction
    noise: Family = "student"
    delta: Fraction = Fraction(0)

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            low: Exactable,
            high: Exactable,
            step: Exactable,
            beta: Exactable,
            rate: Exactable,
            noise: str = "student",
            delta: Exactable = 0,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check grid, rates and law."""
        for name in ("beta", "rate"):
            number = positive(getattr(self, name), name)
            if not _SMALLEST <= number <= _LARGEST:
                raise RangeError(
                    f"{name} = {show(number)} is outside 2^-40 to 2^10: the noise would cover the "
                    f"whole range, or protect nobody. Calibrate by an epsilon= of some 10^-9 to "
                    f"1,000 for a row."
                )
            object.__setattr__(self, name, number)
        grid = Quantile(_HALF, self.low, self.high, self.step, 1)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(grid, name))
        object.__setattr__(self, "delta", failure_probability(self.delta))
        check_noise(self.noise)
        if (self.noise == "laplace") != bool(self.delta):
            raise CostError(
                "Laplace noise of a data-dependent scale has no guarantee in epsilon alone, and "
                "Student's noise needs no delta. Pass noise='laplace' with delta='1e-6', or "
                "noise='student' without."
            )

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        low: Exactable,
        high: Exactable,
        step: Exactable,
        noise: str = "student",
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> SmoothMedian:
        """Return the mechanism that balances smoothness and noise and fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        check_noise(noise)
        rows = whole(need(sensitivity.l1, "l1", cls.__name__))
        grid = (exact(low, "low"), exact(high, "high"), exact(step, "step"))
        if noise == "laplace":
            if target.epsilon is None or not target.delta:
                raise CostError(
                    "Laplace noise of a data-dependent scale has a guarantee in epsilon and delta "
                    "only. Pass both, or noise='student'."
                )
            rate = target.epsilon / 2

            def made(spread: Fraction) -> SmoothMedian:
                beta = 1 / spread
                near = Interval.of(-beta * (rows - 1)).exp()
                return cls(*grid, beta, max(_down(near * rate), _SMALLEST), noise, target.delta)

            return made(
                calibrate(
                    lambda spread: made(spread).loss(sensitivity),
                    epsilon=target.epsilon,
                    delta=target.delta,
                    low=rows / 20,
                    high=1 / _SMALLEST,
                )
            )
        if target.epsilon is not None:
            most = target.epsilon
        else:  # ε·tanh(ε/2) <= ε²/2 <= ρ; down
            most = Fraction(Interval.of(2 * (target.rho or Fraction(0))).sqrt().low)
        smooth = _SMOOTHING * most
        shift = (Interval.of(((most - smooth) / 2) ** 2 - smooth**2)).sqrt()
        beta = smooth / rows
        return cls(*grid, beta, _down(shift / _growth(beta, rows, group=True)), noise)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε, with Laplace noise at the δ of the mechanism, for the rows of one unit."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        rows = whole(need(sensitivity.l1, "l1", type(self).__name__))
        smooth = self.beta * rows
        if self.noise == "student":
            shift = self.rate * _growth(self.beta, rows, group=True)
            square = Interval.of(smooth * smooth) + shift * shift
            most = Fraction((smooth + 2 * square.sqrt()).high)  # up
            return Pure(most, neighbors=sensitivity.neighbors)
        if smooth > 1000:
            raise SensitivityError(
                "a unit owns so many rows that the noise scale could change beyond all bounds, and "
                "nobody would be protected. Cap the rows of a unit, or calibrate for that many."
            )
        shift = self.rate * _growth(self.beta, rows)
        grown, left = Interval.of(smooth).exp() - 1, 1 - Interval.of(-smooth).exp()
        ends = (
            shift,
            smooth + shift * Interval.of(-smooth).exp(),
            shift - smooth + grown * (left / self.delta).log(),
        )
        epsilon = max(Fraction(end.high) for end in ends)  # up
        return Approximate(epsilon, self.delta, neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> WithinRange:  # noqa: ARG002 - nothing is public
        """Return all that is public: the answer and the median both lie in the range."""
        return WithinRange(self.high - self.low)

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Clamp and round to the grid, each value by itself; return grid positions, unsorted."""
        return self._grid.exact(values)

    @property
    def _grid(self) -> Quantile:
        return Quantile(_HALF, self.low, self.high, self.step, 1)

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one point."""
        return ()

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> int:
        """Draw a grid position."""
        last = int((self.high - self.low) / self.step)
        ordered = flanked(exact, last)
        spread = smooth_sensitivity(ordered, self.beta)
        center = int(ordered[median_rank(exact.size)])
        return SmoothNoise(self.noise, spread, self.rate).draw(center, last, rng)

    def view(self, drawn: int) -> float | int:
        """Return the grid point as an int where all are, else as the nearest float."""
        return self._grid.view(drawn)

    def grid(self, drawn: int) -> Fraction | int:
        """Return the grid point exactly; an int where all grid points are."""
        return self._grid.grid(drawn)

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "value",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Draw once and return the answer with its cost; there is no interval that is public."""
        cost, bag = self.loss(sensitivity), self.exact(values)
        open_unit(confidence, "confidence")
        check_cells(name, keys, ())
        check_unit(unit, cost)
        return Release.of(
            values=self.grid(self.sample(bag, system())),
            error=None,
            cost=cost,
            mechanism=repr(self),
            name=name,
            keys=keys,
            confidence=confidence,
            unit=unit,
            price=price(cost),
        )


@dataclass(frozen=True, slots=True)
class WithinRange:
    """An error of which only the public range is known; no interval is made of it."""

    width: Fraction
    covers: str = "nothing"
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:  # noqa: ARG002 - it is certain
        """Return the width of the range."""
        return self.width


def check_noise(noise: object) -> None:
    """Refuse a law that is not offered."""
    if not isinstance(noise, str) or noise not in get_args(Family):
        raise CandidateError(
            "no such noise for a data-dependent scale. Pass noise='student' (pure epsilon) or "
            "noise='laplace' (with delta)."
        )


def _growth(beta: Fraction, rows: Fraction, *, group: bool = False) -> Interval:
    """Enclose exp((rows - 1)·beta), by which rows that change together outrun the sensitivity.

    With `group`, no more than `rows`: as much as one row after the other costs under pure ε.
    """
    if rows == 1:
        return Interval.of(1)
    power = beta * (rows - 1)
    if group and power > _FARTHEST:
        return Interval.of(rows)
    grown = Interval.of(power).exp()
    return Interval.of(rows) if group and grown.low > rows else grown


def _down(number: Interval) -> Fraction:
    """Round to a few digits, down: less of a rate is more noise."""
    down, _ = directed(_DIGITS)
    return Fraction(down.plus(number.low))
