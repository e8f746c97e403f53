"""Many private quantiles of many groups at once, by bisection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import DataError, RangeError
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, exact, is_integer, positive, show
from sfumato.core.schema import Real
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms.bag import Bag
from sfumato.mechanisms.bisection import (
    SoughtError,
    Target,
    Wanted,
    WorstError,
    bisected,
    listed,
)
from sfumato.mechanisms.cut import Aim, cuts
from sfumato.mechanisms.mechanism import Laboratory, least_noise, need, need_movable, one_by_one
from sfumato.mechanisms.quantile import Quantile
from sfumato.mechanisms.ranking import Integers, Ranking
from sfumato.mechanisms.scores import check_rate, range_for
from sfumato.noise.rng import Rng
from sfumato.release.release import Release

_MOST = 2**62
_SHARES = 2**16
_HALF = Fraction(1, 2)
_SHOWN = 12


@dataclass(frozen=True, slots=True, repr=False)
class Quantiles(Laboratory):
    """Choose grid points of given ranks in every group: bisection by the exponential mechanism.

    The middle target is sought first, with probability proportional to exp(-rank error·rate/2d),
    d = max(q, 1-q); the others below and above what was found, each in its own part of the rows. So
    m targets cost no more than ⌈log2(m+1)⌉ choices, and groups that share no row cost as one.
    Values are clamped to [low, high] and rounded to the grid. One sort, whatever the number of
    targets; the number of values in a group stays private.

    Guarantee: each of ⌈log2(m+1)⌉ levels has bounded range rate·l1; or is l0 choices of bounded
        range rate·linf, where l0·linf = l1. Rows are counted: l1 in all, linf in one group, l0
        groups. A row that goes and one that comes are two, so that under replace one row that
        changes is l1 = 2; counted so, it holds for both neighbor relations.
    Theorem:   [KSS22], [DDR20], [CR21]; docs/theory/quantiles.md
    Exactness: ranks are whole numbers of shares and each choice has exactly the stated law.
    Error:     with probability 1 - b the rank error is within ln(k·candidates/b)·2d/rate for its
        own choice and a mixture of the same for the k - 1 choices that it rests on.

    Args:
        targets: pairs of q and an offset: q·n + offset of the n values of a group are to lie below;
            a bare q has offset 0. From 0 to 1, both included.
        low: lower bound of the grid; public.
        high: upper bound of the grid; public.
        step: step of the grid; low and high must lie on it.
        rate: the bounded range of one choice, for each row that comes or goes.
        shares: in how many shares rows of one value can be cut, where targets meet among them.

    Example:
        >>> quartiles = Quantiles(["1/4", "1/2", "3/4"], low=0, high=120, step=1, rate=2)
        >>> ages = quartiles([30, 40, 50] * 100)
        >>> bool(0 <= ages[0] <= ages[1] <= ages[2] <= 120)
        True
    """

    takes_bag: ClassVar[bool] = True
    takes_cells: ClassVar[bool] = False

    targets: tuple[Target, ...]
    low: Fraction
    high: Fraction
    step: Fraction
    rate: Fraction
    shares: int = _SHARES

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            targets: Sequence[Wanted],
            low: Exactable,
            high: Exactable,
            step: Exactable,
            rate: Exactable,
            shares: int = _SHARES,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check ranks, grid and rate."""
        object.__setattr__(self, "targets", listed(self.targets))
        grid = Real(exact(self.low, "low"), exact(self.high, "high"), exact(self.step, "step"))
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(grid, name))
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        check_rate(self.rate)
        if self._points() > _MOST:
            raise RangeError(
                "the grid has more than 2^62 points, too many to count. Take a coarser step."
            )
        if not is_integer(self.shares) or not 1 <= int(self.shares) <= _SHARES:
            raise RangeError("shares= is a whole number from 1 to 65536. Leave it out.")
        # Places of the grid are counted too, so a very fine one has fewer in a cell.
        object.__setattr__(self, "shares", min(int(self.shares), _MOST // self._points()))

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        targets: Sequence[Wanted],
        low: Exactable,
        high: Exactable,
        step: Exactable,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> Quantiles:
        """Return the mechanism with the sharpest choices whose loss fits the target.

        Args:
            sensitivity: how many rows come or go with one unit: l1 in all, linf in one group, l0
                groups. Under replace count both, those that go and those that come.
            targets: pairs of q and an offset, or bare q's.
            low: lower bound of the grid; public.
            high: upper bound of the grid; public.
            step: step of the grid.
            epsilon: the ε to fit.
            delta: the δ that goes with it; the choices are then priced together.
            rho: the ρ to fit.
        """
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(targets, low, high, step, Fraction(1))
        rows, times = unit._choices(sensitivity)
        if target.epsilon is None:
            rate = range_for(Budget(rho=(target.rho or Fraction(0)) / times)) / rows
        else:
            rate = target.epsilon / (times * rows)
            if target.delta and times > 1:

                def loss_of(noise: Fraction) -> Loss:
                    return BoundedRange(rows / noise, neighbors=sensitivity.neighbors) * times

                rate = max(rate, 1 / least_noise(loss_of, target))
        return cls(unit.targets, unit.low, unit.high, unit.step, rate)

    def __repr__(self) -> str:
        """Show the parameters as one would type them."""
        wanted = [show(q) if not rows else f"({show(q)}, {show(rows)})" for q, rows in self.targets]
        if len(wanted) > _SHOWN:
            wanted = [*wanted[:_SHOWN], f"{len(wanted) - _SHOWN} more"]
        grid = ", ".join(f"{name}={show(getattr(self, name))}" for name in ("low", "high", "step"))
        return f"Quantiles([{', '.join(wanted)}], {grid}, rate={show(self.rate)})"

    @property
    def depth(self) -> int:
        """How many choices one after the other a row takes part in."""
        return len(self.targets).bit_length()

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of one choice, as often as rows of one unit take part in one."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        rows, times = self._choices(sensitivity)
        return BoundedRange(self.rate * rows, neighbors=sensitivity.neighbors) * times

    def _choices(self, sensitivity: Sensitivity) -> tuple[Fraction, int]:
        """Return the rows of one unit that one choice sees, and how many such choices there are."""
        rows = need(sensitivity.l1, "l1", type(self).__name__)
        if sensitivity.l0 is not None and sensitivity.l0 * sensitivity.linf == rows:
            return sensitivity.linf, int(sensitivity.l0) * self.depth
        return rows, self.depth

    def errors(self, sensitivity: Sensitivity) -> tuple[SoughtError, ...]:  # noqa: ARG002
        """Return how far each rank may lie from the wanted one, in the order of the targets.

        It holds where the wanted ranks are in the order of the targets and not beyond the values,
        and no value is held by more rows than there are shares. The offsets do not matter.
        """
        return self._errors()

    def _errors(self) -> tuple[SoughtError, ...]:
        steps = bisected(self.targets)
        found = [
            SoughtError(steps, place, self._points(), self.shares, self.rate)
            for place in range(len(steps))
        ]
        by_target = dict(zip((step.place for step in steps), found, strict=True))
        return tuple(by_target[place] for place in range(len(steps)))

    def error(self, sensitivity: Sensitivity) -> WorstError:
        """Return the worst of the `errors`."""
        return WorstError(self.errors(sensitivity))

    def halfwidths(self, confidence: Exactable) -> tuple[Fraction, ...]:
        """Return how far each rank may be off, with that confidence for each."""
        sure = exact(confidence, "confidence")
        return tuple(error.halfwidth(sure) for error in self._errors())

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return how many rows come or go with one unit."""
        return {"l1": sensitivity.l1}

    def _points(self) -> int:
        return int((self.high - self.low) / self.step) + 1

    def exact(self, values: Any) -> Ranking:
        """Clamp to the grid, each value by itself, and sort.

        Args:
            values: a `Bag` of whole numbers of steps in groups; or a list of numbers, as one group.
        """
        if isinstance(values, Bag):
            codes, cells, groups = values.values, values.cells, values.groups
            _check_cells(codes, cells, groups)
            return self._ranked(self._positions(codes), cells, groups)
        array = one_by_one(values)
        if array.dtype == np.int64 and self.step == 1:
            return self._ranked(self._positions(array.ravel()), None, 1)
        grid = Quantile(_HALF, self.low, self.high, self.step, 1)
        return self._ranked(grid.exact(array), None, 1)

    def _positions(self, codes: Integers) -> Integers:
        low, high = int(self.low / self.step), int(self.high / self.step)
        positions = np.clip(codes, low, high)
        positions -= low
        return positions

    def _ranked(self, positions: Integers, cells: Integers | None, groups: int) -> Ranking:
        return Ranking(positions, cells, groups, self._points(), self.shares)

    def cells(self, exact: Ranking) -> tuple[int, ...]:
        """Return the shape of the answer: groups and targets, or targets of the only group."""
        shape = (len(self.targets),)
        return shape if exact.alone else (exact.groups, *shape)

    def sample(self, exact: Ranking, rng: Rng) -> Integers:
        """Choose a grid position for each group and target."""
        drawn = self._drawn(exact, np.arange(exact.groups), rng)
        return drawn[0] if exact.alone else drawn

    def runs(self, exact: Ranking, size: int, rng: Rng) -> Integers:
        """Draw `size` times over, all at once: the same draws as one by one."""
        groups = np.tile(np.arange(exact.groups), size)
        return self._drawn(exact, groups, rng).reshape(size, *self.cells(exact))

    def _drawn(self, exact: Ranking, groups: Integers, rng: Rng) -> Integers:
        out = np.empty((groups.size, len(self.targets)), np.int64)
        bottom = np.zeros(groups.size, np.int64)
        top = np.full(groups.size, self._points() * self.shares)
        found: dict[int, Integers] = {}
        for number, step in enumerate(bisected(self.targets)):
            low = bottom if step.low is None else found[step.low]
            high = top if step.high is None else found[step.high]
            found[number] = low.copy()  # a part without a place answers where it is
            some = np.flatnonzero(low < high)
            aim = Aim(step.share, step.offset, self.rate / (2 * step.most), step.last)
            chosen = cuts(exact, groups[some], low[some], high[some], aim, rng)
            out[:, step.place] = low // self.shares
            out[some, step.place] = chosen if step.last else chosen // self.shares
            found[number][some] = chosen
        return out

    def view(self, drawn: Integers) -> NDArray[Any]:
        """Return the grid points as ints where all are, else as the nearest floats."""
        points = self.grid(drawn)
        return points if self._whole() else points.astype(np.float64)

    def grid(self, drawn: Integers) -> NDArray[Any]:
        """Return the grid points exactly; as ints where all grid points are."""
        if self._whole():
            if -_MOST <= self.low < self.high <= _MOST:
                return np.asarray(drawn * int(self.step) + int(self.low))
            return np.asarray(drawn.astype(np.object_) * int(self.step) + int(self.low))
        return np.asarray(drawn.astype(np.object_) * self.step + self.low)

    def _whole(self) -> bool:
        return self.low.denominator == self.step.denominator == 1

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
        """Draw once and return the answers, one row a target, with their rank errors and the cost.

        Args:
            values: a list of numbers, or a `Bag` of whole numbers of steps in groups.
            sensitivity: how many rows come or go with one unit.
            name: what was measured.
            keys: names of the groups, as {column: values}; the targets get a column ``quantile``.
            confidence: the probability with which each interval holds.
            unit: who is protected, for the card; the laboratory takes your word for it.
        """
        wanted = [q if not rows else f"{show(q)} {_signed(rows)}" for q, rows in self.targets]
        if any(rows for _, rows in self.targets):
            wanted = [show(q) if not isinstance(q, str) else q for q in wanted]
        given = dict(keys or {})
        if not given and isinstance(values, Bag) and values.cells is not None:
            given["group"] = range(values.groups)
        groups = values.groups if isinstance(values, Bag) else 1
        named = {column: [key for key in held for _ in wanted] for column, held in given.items()}
        column = "quantile"
        while column in named:
            column += "_"
        named[column] = wanted * groups
        return Laboratory.release(
            self, values, sensitivity, name=name, keys=named, confidence=confidence, unit=unit
        )


def _signed(rows: Fraction) -> str:
    return f"{'+' if rows > 0 else '-'} {show(abs(rows))}"


def _check_cells(codes: Integers, cells: Integers | None, groups: int) -> None:
    whole = codes.dtype == np.int64 and codes.ndim == 1
    if cells is None:
        fits = groups == 1
    else:
        fits = cells.shape == codes.shape and (
            not cells.size or bool(cells.min() >= 0 and cells.max() < groups)
        )
    if not whole or not fits:
        raise DataError(
            "a bag holds whole numbers of 64 bits, each with the number of its group, from 0 on. "
            "Pass Bag(values, cells, groups), or cells=None for one group."
        )
