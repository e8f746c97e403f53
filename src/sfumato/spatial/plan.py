"""What a method measures of a decomposition, with which share of the budget. Nothing is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import is_integer
from sfumato.ranges.measured import variance
from sfumato.ranges.spending import Spending
from sfumato.ranges.tree import Tree
from sfumato.ranges.weights import geometric, kept, optimal, parts, uniform
from sfumato.ranges.workload import Workload
from sfumato.release.error import Noise
from sfumato.session.points import Plane
from sfumato.spatial.box import Floats
from sfumato.spatial.decomposition import Decomposition

LEVELS = ("optimal", "geometric", "uniform")


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Levels of a decomposition with shares.

    Attributes:
        method: its name.
        rectangles: the decomposition.
        picks: which of its levels are measured, from the leaves up.
        parts: how many parts of the budget each gets, of `sfumato.ranges.weights.PARTS`.
        said: what is particular about it, in words.
    """

    method: str
    rectangles: Decomposition
    picks: tuple[int, ...]
    parts: tuple[int, ...]
    said: str

    @classmethod
    def shared(
        cls, method: str, rectangles: Decomposition, shares: dict[int, float], said: str
    ) -> Plan:
        """Give some levels shares of the budget; they need not add up to 1."""
        picks = tuple(sorted(shares))
        return cls(method, rectangles, picks, parts([shares[pick] for pick in picks]), said)

    def batch(self, plane: Plane, spending: Spending) -> list[tuple[Any, Any]]:
        """Return questions with their noise."""
        asked = [plane.question(self.rectangles.levels[pick].matrix) for pick in self.picks]
        return [
            (query, spending.mechanism(plane, query, part))
            for query, part in zip(asked, self.parts, strict=True)
        ]

    def noises(self, plane: Plane, spending: Spending) -> list[Noise]:
        """Return the noise on each level."""
        return [mechanism.law for _, mechanism in self.batch(plane, spending)]

    def tree(self, plane: Plane, spending: Spending) -> Tree:
        """Return how counts will follow from the noisy sums, and how far they may be off."""
        starts = [self.rectangles.levels[pick].starts for pick in self.picks]
        return Tree(starts, [variance(noise) for noise in self.noises(plane, spending)])


def height_of(given: Any, default: int, most: int) -> int:
    """Read a height.

    Raises:
        InputError: not a whole number.
        RangeError: more levels than the lattice or memory has room for; both are public.
    """
    height = min(default, most) if given is None else given
    if not is_integer(height) or int(height) < 0:
        raise InputError("height= is how many levels of splits there are, a whole number from 0.")
    if int(height) > most:
        raise RangeError(
            f"height={height} would cut the lattice finer than it is: there is room for {most} "
            f"levels of splits here. Pass a smaller height=, or more cells with bins=."
        )
    return int(height)


def shared_out(
    weights: Any, levels: int, shape: tuple[int, int], fanout: int, *, pure: bool
) -> dict[int, float]:
    """Return which levels of a regular tree get which share of the budget, from the leaves up.

    Args:
        weights: ``"optimal"`` for boxes of every size, ``"geometric"`` or ``"uniform"``; or a
            number for each level.
        levels: how many there are.
        shape: how many leaves the tree has along each side.
        fanout: how many children a rectangle has: 4, or 2.
        pure: whether noise is measured in ε.
    """
    if isinstance(weights, str):
        if weights not in LEVELS:
            raise InputError(
                f"weights= is one of {', '.join(LEVELS)}, or a number for each level, and not "
                f"{weights!r:.80}."
            )
        if weights == "optimal":
            return _optimal(levels, shape, fanout, pure)
        made = uniform(levels) if weights == "uniform" else geometric(levels)
        return dict(enumerate(made.tolist()))
    try:
        given = [float(each) for each in weights]
    except (TypeError, ValueError):
        given = []
    if len(given) != levels or not all(0 < each < np.inf for each in given):
        raise InputError(
            f"weights= gives each of the {levels} levels a positive number, from the leaves up, or "
            f"is one of {', '.join(LEVELS)}."
        )
    return dict(enumerate(given))


@lru_cache(maxsize=64)
def _optimal(levels: int, shape: tuple[int, int], fanout: int, pure: bool) -> dict[int, float]:
    """Return the shares that make the mean variance of all boxes least.

    The leaves that a box covers, averaged over blocks, have squares that are products of those
    along both sides.

    Theorem: docs/theory/strategies.md, theorem 2
    """
    sides = [Workload("ranges", max(size, 1)) for size in shape]
    energies, sizes = [], []
    for level in range(levels):
        # Blocks of 2^level leaves, or half as often where sides are halved in turn.
        times = [level, level] if fanout == 4 else [level // 2, -(-level // 2)]
        widths = [min(2**time, size) for time, size in zip(times, shape, strict=True)]
        one, two = (
            float(side.energies([width])[0]) / len(side)
            for side, width in zip(sides, widths, strict=True)
        )
        energies.append(one * two)
        sizes.append(widths[0] * widths[1])
    shares, _ = optimal(np.array(energies), sizes, pure=pure)
    picked, weights = kept(range(levels), shares)
    return dict(zip(picked, weights, strict=True))


def spread(tree: Tree, shares: list[tuple[Any, Floats]]) -> float:
    """Return the root of the mean variance of weighted sums of leaves."""
    return float(np.sqrt(np.mean([tree.variance_at(*each) for each in shares])))
