"""Sample and aggregate: any program, made private by running it on many small blocks."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CandidateError, DataError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import BoundedRange, Composed, Loss, Pure
from sfumato.core.number import Exactable, exact, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.exponential import range_for
from sfumato.mechanisms.laplace import LaplaceError, laplace_loss
from sfumato.mechanisms.mechanism import Laboratory, need, need_movable, rational, whole
from sfumato.mechanisms.quantile import Quantile, RankError
from sfumato.noise import Laplace, Rng, draw
from sfumato.noise.permutation import permutation
from sfumato.noise.uniform import integers
from sfumato.release.error import Error

Aggregate: TypeAlias = Literal["mean", "median", "winsorized"]

_MOST_BLOCKS = 2**20
_QUARTER = Fraction(1, 4)


@dataclass(frozen=True, slots=True, repr=False)
class SampleAggregate(Laboratory):
    """Run a program on random blocks of the rows and release an average of its answers.

    For estimators whose sensitivity nobody knows: a regression, a package's own function. Every row
    throws its own coins for the blocks it goes to, so one row touches `resample` blocks and no
    other, whatever the program does with them. The program must be a function of its block alone:
    it runs in this process, so what it keeps, prints, or takes time for is not protected.

    A block whose program fails, or returns something else than a number, counts as the middle of
    the range; so does an empty block, if the program cannot take it. Answers are clamped to
    [low, high] and rounded to the grid.

    Guarantee: for l1 rows a unit, and k = l1·resample block answers that they can change (at most
        `blocks`), under both neighbor relations: k·ε, as discrete Laplace noise on the sum
        (``"mean"``), ε-bounded range (``"median"``), or a quarter of it for each quartile as
        bounded range and half for the mean between them (``"winsorized"``).
    Theorem:   [NRS07], [MTSCS12], [Smith11]; docs/theory/instance-noise.md
    Exactness: coins, sums and noise are integers; exactly the stated law of a given program.
    Error:     of the noise alone; how far the average of the blocks lies from the answer on all
        rows depends on the program.

    Args:
        function: the program: takes a list of rows (an array, if the rows are one), returns a
            number.
        blocks: how many blocks; public. Each has about rows·resample/blocks rows.
        low: lower bound of an answer; public.
        high: upper bound of an answer; public.
        step: step of the grid; low and high must lie on it.
        epsilon: what one changed block answer costs.
        aggregate: ``"mean"``; ``"median"``, which a few wild blocks do not move; or
            ``"winsorized"``, a mean within three times the quartiles' distance, for a wide range.
        resample: how many blocks each row goes to.

    Example:
        >>> from statistics import fmean
        >>> mean = SampleAggregate(fmean, blocks=10, low=0, high=100, step="0.01", epsilon=1)
        >>> isinstance(mean(list(range(100))), float)
        True
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    function: Callable[[Any], Any]
    blocks: int
    low: Fraction
    high: Fraction
    step: Fraction
    epsilon: Fraction
    aggregate: Aggregate = "mean"
    resample: int = 1

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            function: Callable[[Any], Any],
            blocks: Exactable,
            low: Exactable,
            high: Exactable,
            step: Exactable,
            epsilon: Exactable,
            aggregate: str = "mean",
            resample: Exactable = 1,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check program, blocks, grid and cost."""
        if not callable(self.function):
            raise CandidateError(
                "the program must be callable: it takes the rows of one block and returns a "
                "number. Pass a function, such as statistics.fmean."
            )
        if not isinstance(self.aggregate, str) or self.aggregate not in get_args(Aggregate):
            raise CandidateError(
                f"no such aggregate. Pass one of: {', '.join(get_args(Aggregate))}."
            )
        for name, most in (("blocks", _MOST_BLOCKS), ("resample", _MOST_BLOCKS)):
            number = exact(getattr(self, name), name)
            if number.denominator != 1 or not 1 <= number <= most:
                raise RangeError(
                    f"{name} = {show(number)} must be a whole number from 1 to 2^20, chosen "
                    f"without looking at the data."
                )
            object.__setattr__(self, name, int(number))
        if self.resample > self.blocks:
            raise RangeError(
                f"a row cannot go to {self.resample} of {self.blocks} blocks. Pass more blocks, or "
                f"resample less."
            )
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        grid = Quantile(Fraction(1, 2), self.low, self.high, self.step, self.epsilon / 2)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(grid, name))
        if self._last * self.blocks >= 2**62:
            raise RangeError(
                "blocks times grid points is beyond 2^62, too many to add up. Take a coarser step."
            )
        Laplace(self._spread * self._last)
        Laplace(self._spread)

    @classmethod
    def calibrate(  # noqa: PLR0913 - what the constructor takes, and the target
        cls,
        sensitivity: Sensitivity,
        *,
        function: Callable[[Any], Any],
        blocks: int,
        low: Exactable,
        high: Exactable,
        step: Exactable,
        aggregate: str = "mean",
        resample: int = 1,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> SampleAggregate:
        """Return the mechanism whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(function, blocks, low, high, step, 1, aggregate, resample)
        if target.epsilon is not None or aggregate == "median":
            most = range_for(target)
        else:  # ε·tanh(ε/2) <= ε²/2 <= ρ; down
            most = Fraction(Interval.of(2 * (target.rho or Fraction(0))).sqrt().low)
        each = most / unit._changed(sensitivity)
        return cls(
            function, unit.blocks, unit.low, unit.high, unit.step, each, aggregate, unit.resample
        )

    @property
    def _last(self) -> int:
        return int((self.high - self.low) / self.step)

    @property
    def _spread(self) -> Fraction:
        """Noise scale on the sum over the width of one answer."""
        return (1 if self.aggregate == "mean" else 2) / self.epsilon

    def _changed(self, sensitivity: Sensitivity) -> Fraction:
        """Return how many block answers one unit can change."""
        rows = whole(need(sensitivity.l1, "l1", type(self).__name__))
        return min(rows * self.resample, Fraction(self.blocks))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε for each block answer that one unit can change."""
        held = sensitivity.neighbors
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=held)
        changed = self._changed(sensitivity)
        if self.aggregate == "mean":
            shift = changed * self._last
            return laplace_loss(shift, shift, self._spread * self._last, held)
        if self.aggregate == "median":
            return BoundedRange(changed * self.epsilon, neighbors=held)
        quartile = BoundedRange(changed * self.epsilon / 4, neighbors=held)
        return Composed.of([quartile, quartile, Pure(changed * self.epsilon / 2, neighbors=held)])

    def error(self, sensitivity: Sensitivity) -> Error:  # noqa: ARG002 - not of the data
        """Return the law of the noise; that of ``"winsorized"`` for the widest range of all."""
        if self.aggregate == "median":
            return RankError(self._last + 1, self.epsilon / 2)
        return LaplaceError(self._spread * self._last, self.step / self.blocks)

    def exact(self, values: Any) -> Any:
        """Take rows: an array, of which the first axis counts them, or a list."""
        if isinstance(values, np.ndarray) and values.ndim:
            return values
        if isinstance(values, list | tuple):
            return list(values)
        raise DataError(
            "sample and aggregate takes rows: a list, a tuple or an array. Of a data frame pass "
            "frame.to_numpy(), or frame.to_dict('records')."
        )

    def cells(self, exact: Any) -> tuple[int, ...]:  # noqa: ARG002 - one answer
        """Return the shape of one answer."""
        return ()

    def sample(self, exact: Any, rng: Rng) -> int:
        """Split, run, aggregate; a mean in steps over blocks, a median in steps."""
        homes = assign(len(exact), self.blocks, self.resample, rng).ravel()
        # Within a block rows are in random order: that in which they came tells nothing.
        order = np.lexsort((np.repeat(permutation(len(exact), rng), self.resample), homes))
        cuts = np.searchsorted(homes[order], np.arange(1, self.blocks))
        members = np.split(order // self.resample, cuts)
        answers = np.array([self._answer(exact, rows) for rows in members], np.int64)
        if self.aggregate == "median":
            return self._quantile(Fraction(1, 2), self.epsilon / 2).sample(answers, rng)
        low, high = 0, self._last
        if self.aggregate == "winsorized":
            low, high = self._between(answers, rng)
        total = int(np.clip(answers, low, high).sum())
        if low == high:
            return total  # the same for everybody
        noise = draw(Laplace(self._spread * (high - low)), 1, rng)
        return total + int(noise[0])

    def _quantile(self, q: Fraction, rate: Fraction) -> Quantile:
        return Quantile(q, self.low, self.high, self.step, rate)

    def _between(self, answers: NDArray[np.int64], rng: Rng) -> tuple[int, int]:
        """Draw both quartiles and widen what is between them by its width on either side."""
        drawn = sorted(
            self._quantile(q, self.epsilon / 8).sample(answers, rng)
            for q in (_QUARTER, 1 - _QUARTER)
        )
        width = drawn[1] - drawn[0]
        return max(drawn[0] - width, 0), min(drawn[1] + width, self._last)

    def _answer(self, rows: Any, chosen: NDArray[np.intp]) -> int:
        """Run the program on its own copy of a block and return a grid position."""
        block: Any
        try:
            if isinstance(rows, np.ndarray):
                block = rows[chosen]
                block = deepcopy(block) if block.dtype.hasobject else block
            else:
                block = [deepcopy(rows[row]) for row in chosen.tolist()]
            answer = self.function(block)
            return self._position(answer)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - whatever it is, it would tell blocks apart
            return self._last // 2

    def _position(self, answer: Any) -> int:
        """Return an answer as a grid position; the middle for what is no number."""
        if isinstance(answer, np.ndarray) and answer.ndim == 0:
            answer = answer[()]
        if isinstance(answer, float) and isinf(answer):
            return self._last if answer > 0 else 0
        number = rational(answer)
        if number is None:
            return self._last // 2
        inside = min(max(number, self.low), self.high)
        return int((inside - self.low) / self.step + Fraction(1, 2))

    def view(self, drawn: int) -> float | int:
        """Return the answer as an int where all are, else as the nearest float."""
        point = self.grid(drawn)
        return point if isinstance(point, int) else float(point)

    def grid(self, drawn: int) -> Fraction | int:
        """Return the answer exactly, on the grid of step over blocks; a median on that of step."""
        if self.aggregate == "median":
            return self._quantile(Fraction(1, 2), Fraction(1)).grid(drawn)
        return self.low + self.step * Fraction(drawn, self.blocks)

    @property
    def noise_scale(self) -> Fraction | None:
        """The scale of the noise on a mean; none where it follows the quartiles."""
        if self.aggregate != "mean":
            return None
        return self._spread * (self.high - self.low) / self.blocks


def assign(rows: int, blocks: int, each: int, rng: Rng) -> NDArray[np.int64]:
    """Send every row to `each` different blocks, all choices alike; one line a row.

    Floyd's way: the t-th pick is uniform on the first blocks - each + t + 1 of them, and the last
    of these if it was picked before.
    """
    homes = np.full((rows, each), -1, np.int64)
    for t in range(each):
        last = blocks - each + t
        picked = integers(rng, last + 1, rows).astype(np.int64)
        taken = (homes == picked[:, None]).any(axis=1)
        homes[:, t] = np.where(taken, last, picked)
    return homes
