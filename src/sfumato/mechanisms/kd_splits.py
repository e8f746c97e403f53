"""Private medians that cut a plane of counts in two, and its parts again: a kd-tree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.budget import Budget
from sfumato.core.errors import RangeError
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, is_integer, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.buckets import NoError
from sfumato.mechanisms.mechanism import Laboratory, need, need_movable, whole
from sfumato.mechanisms.rectangles import (
    Integers,
    divisible,
    halved,
    longer,
    plane_of,
    running,
    shape_of,
)
from sfumato.mechanisms.scores import check_rate, range_for
from sfumato.noise import Rng
from sfumato.noise.choice import Choice

MOST_HEIGHT = 16


@dataclass(frozen=True, slots=True, repr=False)
class KdSplits(Laboratory):
    """Cut a plane of counts near the median of its longer side, then both parts, and so on.

    A place between two cells is chosen with probability proportional to exp(-rate·|records before
    it - half of the records|). Places are public, and every rectangle is cut as deep as any other,
    whether there is somebody in it or not.

    Guarantee: `height` choices one after the other, each of bounded range rate·l1: a record takes
        part in one choice of each level; for the neighbor relation of the sensitivity.
    Theorem:   [CPSSY12], [DDR20]; docs/theory/maps.md, theorem 3
    Exactness: scores are whole numbers and each choice has exactly the stated law.
    Error:     none is stated: how points lie inside of a rectangle depends on the data.

    Args:
        shape: how many columns and rows of cells the plane has.
        height: how often parts are cut.
        rate: the bounded range of one choice, for each record that comes or goes.

    Example:
        >>> medians = KdSplits(shape=(4, 1), height=1, rate=4)
        >>> [int(place) for place in medians([50, 50, 50, 50])]
        [2]
    """

    shape: tuple[int, int]
    height: int
    rate: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, shape: tuple[int, int], height: int, rate: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "shape", shape_of(self.shape))
        if not is_integer(self.height) or not 1 <= int(self.height) <= MOST_HEIGHT:
            raise RangeError(f"height= is a whole number from 1 to {MOST_HEIGHT}.")
        object.__setattr__(self, "height", int(self.height))
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        check_rate(self.rate)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        shape: tuple[int, int],
        height: int,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> KdSplits:
        """Return the mechanism with the sharpest choices whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(shape, height, Fraction(1))
        records = whole(need(sensitivity.l1, "l1", cls.__name__))
        if target.epsilon is None:
            spread = range_for(Budget(rho=(target.rho or Fraction(0)) / unit.height))
        else:
            spread = target.epsilon / unit.height
        return cls(unit.shape, unit.height, spread / records)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of one choice, as often as there are levels."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        records = whole(need(sensitivity.l1, "l1", type(self).__name__))
        return BoundedRange(self.rate * records, neighbors=sensitivity.neighbors) * self.height

    def error(self, sensitivity: Sensitivity) -> NoError:  # noqa: ARG002 - depends on data
        """Return that nothing is known beforehand."""
        return NoError()

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return how many records come or go."""
        return {"l1": sensitivity.l1}

    def exact(self, values: Any) -> Integers:
        """Take counts of all cells, column after column; what is below 0 counts as 0."""
        return plane_of(values, self.shape)

    def cells(self, exact: Integers) -> tuple[int, ...]:
        """Return the most places that there can be: fewer than cells."""
        return (exact.size,)

    def sample(self, exact: Integers, rng: Rng) -> Integers:
        """Return where each rectangle of more than one cell is cut, level after level."""
        sums = running(exact)
        rectangles, chosen = np.array([[0, 0, *self.shape]]), []
        for _ in range(self.height):
            rectangles = rectangles[divisible(rectangles)]
            sides = longer(rectangles, self.shape)
            pairs = zip(rectangles.tolist(), sides.tolist(), strict=True)
            places = np.array([self._place(sums, *each, rng) for each in pairs], np.int64)
            chosen.append(places)
            rectangles = halved(rectangles, sides, places)
        return np.concatenate(chosen)

    def _place(self, sums: Integers, rectangle: list[int], side: int, rng: Rng) -> int:
        a, b, c, d = rectangle
        if side:
            before = sums[c, b : d + 1] - sums[a, b : d + 1]
        else:
            before = sums[a : c + 1, d] - sums[a : c + 1, b]
        before = before - before[0]
        # Twice the rank error: one record that comes or goes moves it by 1.
        scores = -np.abs(2 * before[1:-1] - before[-1])
        place = int(Choice(scores, self.rate / 2).draw(1, rng)[0])
        return (b if side else a) + 1 + place
