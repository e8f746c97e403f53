"""What was bought on the way to a map: noisy sums of its levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from sfumato import accounting
from sfumato.core.errors import InputError
from sfumato.core.loss import Pure
from sfumato.ranges.spending import Spending
from sfumato.relation.aggregate import Aggregate
from sfumato.release.error import Noise
from sfumato.session.points import Plane
from sfumato.spatial.decomposition import Integers, Level, grid
from sfumato.spatial.plan import Plan
from sfumato.spatial.release import MapLevel, as_bytes

# The price of each charge, and the least share of it, in parts of `PARTS`, that a level gets.
Stages: TypeAlias = tuple[tuple[Spending, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Noisy sums, and all that was paid for them.

    Attributes:
        plan: what was measured in the end.
        levels: its noisy sums, from the leaves up.
        drawn: all releases, in the order in which they were paid for.
        notes: static sentences.
    """

    plan: Plan
    levels: tuple[MapLevel, ...]
    drawn: tuple[Any, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What will be charged and measured; all that can be checked was checked.

    Attributes:
        run: charges, measures and returns.
        ways: the stages of every way that answers may lead to, where later steps depend on earlier
            answers. None for a single charge.
    """

    run: Callable[[Plane], Measured]
    ways: tuple[Stages, ...] = ()

    @classmethod
    def at_once(cls, plan: Plan, spending: Spending) -> Steps:
        """Return the one step of a plan that is fixed beforehand."""
        return cls(lambda plane: measured(plan, plane, spending, delta=spending.delta))

    def check(self, plane: Plane, spending: Spending) -> None:
        """Refuse a price of which a later stage could not be paid, before the first one is.

        Raises:
            RangeError: noise of a stage would be too large or too small to be drawn.
            InputError: the charges, each rounded up, could exceed what is set aside for all.
        """
        asked = plane.question()
        for price, part in chain.from_iterable(self.ways):
            price.mechanism(plane, asked, part)
        if spending.epsilon is None or not isinstance(asked, Aggregate):
            return
        # An envelope of a ledger has a ρ too, that of one release of this ε.
        whole = _rho(spending)
        if any(sum(_rho(price) + 2 for price, _ in stages) > whole for stages in self.ways):
            raise InputError(
                "a map that is measured in stages has a price at which their charges, rounded up, "
                "add up to no more: from about 1e-6 to 1000. Change epsilon, or take "
                "method='quadtree'."
            )


def _rho(price: Spending) -> int:
    """Return what is charged in ρ for a price in ε, on the grid of a ledger."""
    return accounting.charge(Pure(price.epsilon or Fraction(0))).rho or 0


def measured(
    plan: Plan, plane: Plane, spending: Spending, *, delta: Fraction = Fraction(0)
) -> Measured:
    """Measure all that was planned in one charge; with a δ, where it is the only one."""
    drawn = plane.measure(plan.batch(plane, spending), delta=delta)
    noises = plan.noises(plane, spending)
    levels = [plan.rectangles.levels[pick] for pick in plan.picks]
    made = [
        level_of(level, noise, values(answer))
        for level, noise, answer in zip(levels, noises, drawn, strict=True)
    ]
    return Measured(plan, tuple(made), tuple(drawn))


def level_of(level: Level, noise: Noise, drawn: Integers) -> MapLevel:
    """Return noisy sums as a release holds them."""
    leaves = int(level.starts[-1])
    starts = b"" if len(level.starts) == leaves + 1 else as_bytes(level.starts[:-1])
    return MapLevel(starts, noise, tuple(level.sorted(drawn).tolist()))


def values(answer: Any) -> Integers:
    """Return the noisy whole numbers of a release."""
    return np.asarray(answer.measures[0].held("values"))


def total(plane: Plane, spending: Spending) -> tuple[Any, float]:
    """Buy how many points there are.

    Returns:
        The release, and the noisy number.
    """
    query = plane.question(grid(plane.shape, 1, 1).levels[0].matrix)
    answer = plane.measure(query, spending.mechanism(plane, query))
    return answer, float(values(answer)[0])
