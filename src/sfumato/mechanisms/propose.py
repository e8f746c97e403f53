"""Propose a noise scale, test privately whether it suffices, release only then."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, RangeError, SensitivityError
from sfumato.core.interval import Interval
from sfumato.core.loss import Approximate, Loss, Pure
from sfumato.core.number import Exactable, exact, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, need, need_movable, whole
from sfumato.mechanisms.quantile import Quantile
from sfumato.mechanisms.smooth_sensitivity import flanked, median_rank
from sfumato.noise import Laplace, Rng, draw

_HALF = Fraction(1, 2)
_FARTHEST = 2**62
_DEEPEST = 2**13
NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True, repr=False)
class ProposeTestRelease(Laboratory):
    """Release the median with noise for a proposed sensitivity, if a private test says that it may.

    The proposal is a bound on how far one row moves the median. The test counts how many rows would
    have to change before the bound fails, adds noise, and compares with a threshold. Where the
    values lie close together around the median, one gets an answer with little noise; elsewhere one
    gets none, and pays all the same. Values are clamped to [low, high] and rounded to the grid.
    O(n log n). The number of values stays private.

    Guarantee: (ε, δ)-DP with ε = l1/test + bound/scale and δ = P(N > threshold - l1 + 1), where N
        is discrete Laplace noise of scale `test`; for both neighbor relations. For one row that
        is δ = p^(threshold + 1)/(1 + p) with p = exp(-1/test).
    Theorem:   [DL09]; docs/theory/instance-noise.md
    Exactness: the distance is exact and the noise is integer; ε rational, δ rounded up.
    Error:     given an answer, that of discrete Laplace noise of this scale.

    Args:
        low: lower bound of the grid; public.
        high: upper bound of the grid; public.
        step: step of the grid; low and high must lie on it.
        bound: the proposal, a whole number of steps, less than the whole range.
        test: the scale of the noise on the distance, in rows.
        threshold: the noisy distance that must be exceeded, in whole rows.
        scale: the scale of the noise on the median, in the unit of the values.

    Example:
        >>> rows = Sensitivity(l1=1)
        >>> median = ProposeTestRelease.calibrate(
        ...     rows, low=0, high=120, step=1, bound=2, epsilon=1, delta="1e-6"
        ... )
        >>> median([10, 110]) is None  # two rows are never enough
        True
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    low: Fraction
    high: Fraction
    step: Fraction
    bound: Fraction
    test: Fraction
    threshold: int
    scale: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            low: Exactable,
            high: Exactable,
            step: Exactable,
            bound: Exactable,
            test: Exactable,
            threshold: Exactable,
            scale: Exactable,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check grid, proposal, test and noise."""
        grid = Quantile(_HALF, self.low, self.high, self.step, 1)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(grid, name))
        for name in ("bound", "test", "scale"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        if (self.bound / self.step).denominator != 1 or self.bound >= self.high - self.low:
            raise RangeError(
                f"bound = {show(self.bound)} must be a whole number of steps and less than the "
                f"range: all of the range holds without a test. Pass a smaller bound, or use "
                f"GridLaplace."
            )
        threshold = exact(self.threshold, "threshold")
        if threshold.denominator != 1 or not 0 <= threshold < _FARTHEST:
            raise RangeError(
                f"threshold = {show(threshold)} must be a whole number of rows from 0 to 2^62: "
                f"below, one row could pass the test by itself; above, no table would. Calibrate "
                f"by an epsilon= and a delta= that some table can meet."
            )
        object.__setattr__(self, "threshold", int(threshold))
        Laplace(self.test)
        Laplace(self.scale / self.step)

    @classmethod
    def calibrate(  # noqa: PLR0913 - what the constructor takes, and the target
        cls,
        sensitivity: Sensitivity,
        *,
        low: Exactable,
        high: Exactable,
        step: Exactable,
        bound: Exactable,
        share: Exactable = _HALF,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> ProposeTestRelease:
        """Return the mechanism with the least threshold that fits ε and δ.

        Args:
            sensitivity: how many rows a unit may own.
            low: lower bound of the grid.
            high: upper bound of the grid.
            step: step of the grid.
            bound: the proposal.
            share: how much of ε goes into the test.
            epsilon: the target ε.
            delta: the target δ; without it nothing can be released.
            rho: refused.
        """
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        if target.epsilon is None or not target.delta:
            raise CostError(
                "a test can be passed by chance, so propose-test-release has a guarantee in "
                "epsilon and delta only. Pass both, delta well below one over the number of people."
            )
        rows = whole(need(sensitivity.l1, "l1", cls.__name__))
        tested = open_unit(share, "share") * target.epsilon
        proposal, test = positive(bound, "bound"), rows / tested
        ratio = Interval.of(-1 / test).exp()
        # p^(t + 1)/(1 + p) <= δ for t = threshold - rows + 1
        least = (1 / ((1 + ratio) * target.delta)).log() * test - 1
        threshold = max(0, -int(-Fraction(least.high) // 1)) + rows - 1  # up
        return cls(low, high, step, proposal, test, threshold, proposal / (target.epsilon - tested))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε of test and answer, and δ: what a test passed by chance may give away."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        rows = whole(need(sensitivity.l1, "l1", type(self).__name__))
        epsilon = rows / self.test + self.bound / self.scale
        delta = tail(self.test, int(self.threshold - rows + 1))
        return Approximate(epsilon, delta, neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> LaplaceError:  # noqa: ARG002 - noise is additive
        """Return the law of the error of an answer, where there is one."""
        return LaplaceError(self.scale / self.step, self.step, "noise only, given an answer")

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Clamp and round to the grid, each value by itself; return grid positions, unsorted."""
        return self._grid.exact(values)

    @property
    def _grid(self) -> Quantile:
        return Quantile(_HALF, self.low, self.high, self.step, 1)

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one point."""
        return ()

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> int | None:
        """Draw a grid position, or None where the test is not passed.

        Answers are clamped to the grid: the median lies on it.
        """
        last = int((self.high - self.low) / self.step)
        ordered = flanked(exact, last)
        far = distance(ordered, int(self.bound / self.step))
        if far + int(draw(Laplace(self.test), 1, rng)[0]) <= self.threshold:
            return None
        noise = int(draw(Laplace(self.scale / self.step), 1, rng)[0])
        return min(max(int(ordered[median_rank(exact.size)]) + noise, 0), last)

    def view(self, drawn: int | None) -> float | int | None:
        """Return the grid point as an int where all are, else as the nearest float."""
        return None if drawn is None else self._grid.view(drawn)

    def grid(self, drawn: int | None) -> Fraction | int | str:
        """Return the grid point exactly, or that there is no answer."""
        return NO_ANSWER if drawn is None else self._grid.grid(drawn)

    @property
    def noise_scale(self) -> Fraction:
        """The scale of the noise on the median."""
        return self.scale


def distance(ordered: NDArray[np.int64], bound: int) -> int:
    """Return how many rows must change before one more can move the median beyond the bound.

    It is the least j - i - 1 with i <= m <= j and x_j - x_i > bound, for values that are sorted and
    flanked; the ends of the grid are further apart than the bound, so there is one.
    """
    middle = median_rank(ordered.size - 2)
    starts = np.arange(middle + 1)
    ends = middle + np.searchsorted(ordered[middle:], ordered[starts] + bound, "right")
    return int((ends - starts)[ends < ordered.size].min()) - 1


def tail(scale: Fraction, threshold: int) -> Fraction:
    """Return P(N > threshold) for discrete Laplace noise of this scale, rounded up."""
    ratio = Interval.of(-1 / scale).exp()
    if threshold >= 0:
        # up: where the power is cut, so that δ can be written down
        power = Interval.of(-min((threshold + 1) / scale, Fraction(_DEEPEST))).exp()
        return Fraction((power / (1 + ratio)).high)
    power = Interval.of(threshold / scale).exp()
    passed = 1 - power / (1 + ratio)
    if passed.high >= 1 - Decimal(10) ** -20:
        raise SensitivityError(
            "a unit owns more rows than the test has threshold for, so that it passes by itself "
            "and nobody is protected. Cap the rows of a unit, or calibrate for that many."
        )
    return Fraction(passed.high)
