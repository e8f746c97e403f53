"""Grids in the cells of grids, each as fine as what is known so far is worth: what `auto` takes.

An adaptive grid [QYL13g] has two of them. Here the first is coarser, so that few cells lie where
nobody is, and a grid between the two finds out where the points are. Every grid is measured and
counts: nothing is spent on the shape alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, sqrt
from typing import Any

import numpy as np

from sfumato.ranges.measured import variance
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS
from sfumato.release.error import Noise
from sfumato.session.points import Plane
from sfumato.spatial.box import Floats
from sfumato.spatial.decomposition import Decomposition, Integers, Level, grid, refined
from sfumato.spatial.measured import Measured, Stages, Steps, level_of, total, values
from sfumato.spatial.plan import Plan
from sfumato.spatial.solution import Solution
from sfumato.spatial.uniform_grid import TOTAL, rate

NAME = "auto"
_C, _COARSER = 10, 16  # the first grid has √(Nε/c)/16 cells along each side, if that is more
_BETWEEN, _MOST = 10, 4  # the second: points in a part at ε = 1, and parts along each side
_EVEN = 0.5  # standard deviation of counts over their mean, below which they count as even


@dataclass(frozen=True, slots=True)
class _Rule:
    """What is measured, by how many points there are, times ε.

    Attributes:
        below: for fewer of them.
        side: least number of cells along each side of the first grid.
        shares: of the budget, for the first grid and the one between; the last gets the rest.
        part: points in a part of the last grid at ε = 1.
        skips: whether there is no grid between where the first finds points to lie evenly: there is
            nothing to find out then, and of so few points its noise costs more than it gives.
    """

    below: float
    side: int
    shares: tuple[Fraction, ...]
    part: int
    skips: bool = False


_RULES = (
    _Rule(3_000, 10, (Fraction(1, 2),), 4),
    _Rule(30_000, 8, (Fraction(7, 20), Fraction(3, 20)), 5, skips=True),
    _Rule(inf, 8, (Fraction(1, 4), Fraction(1, 4)), 7),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Cells of a grid, where those in each cell of the grid before begin, and its share."""

    cells: Integers
    starts: Integers
    share: Fraction


# Takes a grid, and returns how many points are then known to lie in each of its cells, and the
# standard deviation of its noise.
_Know = Callable[[_Grid], tuple[Floats, float]]


def prepare(
    plane: Plane,  # noqa: ARG001 - as every method is prepared
    spending: Spending,
) -> Steps:
    """Return the steps of a release; nothing is charged so far."""

    def steps(inside: Plane) -> Measured:
        answer, points = total(inside, spending.share(TOTAL))
        return _measured(inside, points, spending.share(1 - TOTAL), answer)

    return Steps(steps, tuple(_ways(spending)))


def _ways(spending: Spending) -> Iterator[Stages]:
    """Iterate over all that may be charged: the grid between may be left out."""
    rest = spending.share(1 - TOTAL)
    for rule in _RULES:
        for some in range(1, len(rule.shares) + 1):
            shares = *rule.shares[:some], 1 - sum(rule.shares[:some], Fraction(0))
            yield tuple((p, PARTS) for p in (spending.share(TOTAL), *map(rest.share, shares)))


def even(plane: Plane, points: float, spending: Spending) -> Plan:
    """Return what would be measured if so many points lay evenly; for foresight."""

    def known(made: _Grid) -> tuple[Floats, float]:
        a, b, c, d = made.cells.T
        return np.asarray(points * (c - a) * (d - b) / (plane.shape[0] * plane.shape[1])), 0.0

    plan = _plan(plane.shape, _grown(plane.shape, points, rate(spending), known))
    return replace(plan, said=f"about {plan.said}")


def _measured(plane: Plane, points: float, spending: Spending, bought: Any) -> Measured:
    paid, noises, drawn, grids = [bought], list[Noise](), list[Integers](), list[_Grid]()

    def known(made: _Grid) -> tuple[Floats, float]:
        query = plane.question(Decomposition.of(plane.shape, made.cells).levels[0].matrix)
        mechanism = spending.share(made.share).mechanism(plane, query)
        paid.append(plane.measure(query, mechanism))
        grids.append(made)
        noises.append(mechanism.law)
        drawn.append(values(paid[-1]))
        sums = [each.astype(np.float64) for each in reversed(drawn)]
        counts = Solution(_starts(grids), noises[::-1], sums).counts
        return counts, sqrt(variance(noises[-1]))

    _grown(plane.shape, points, rate(spending), known)
    plan = _plan(plane.shape, grids)
    found = zip(plan.rectangles.levels, noises[::-1], drawn[::-1], strict=True)
    return Measured(plan, tuple(level_of(*each) for each in found), tuple(paid))


def _grown(shape: tuple[int, int], points: float, epsilon: float, known: _Know) -> list[_Grid]:
    """Make grids one after the other, the later ones from what is known after the earlier."""
    worth = max(points, 0.0) * epsilon
    rule = next(rule for rule in _RULES if worth < rule.below)
    side = max(rule.side, ceil(sqrt(worth / _C) / _COARSER))
    made = [_Grid(grid(shape, side, side).leaves, np.zeros(1, np.int64), rule.shares[0])]
    counts, noise = known(made[0])
    left = 1 - rule.shares[0]
    for share in rule.shares[1:]:
        if rule.skips and float(counts.var()) - noise**2 < (_EVEN * float(counts.mean())) ** 2:
            continue  # its share is left for the last
        parts = np.minimum(_parts(counts - noise, float(left) * epsilon / _BETWEEN), _MOST)
        if (parts > 1).any():
            made.append(_Grid(*refined(made[-1].cells, parts), share))
            (counts, noise), left = known(made[-1]), left - share
    parts = _parts(counts - noise, float(left) * epsilon / rule.part)
    made.append(_Grid(*refined(made[-1].cells, parts), left))
    known(made[-1])
    return made


def _parts(counts: Floats, rate: float) -> Integers:
    """Return how often cells are cut along each side.

    Args:
        counts: less a standard deviation of their noise, which alone is not worth a cut.
        rate: parts that a point is worth.
    """
    wanted = np.ceil(np.sqrt(np.maximum(counts, 0.0) * rate))
    return np.maximum(wanted, 1).astype(np.int64)


def _starts(grids: list[_Grid]) -> list[Integers]:
    """Return where the cells of each grid begin among those of the last, from the last up."""
    found = [np.arange(len(grids[-1].cells) + 1)]
    for below in reversed(grids[1:]):
        found.append(found[-1][np.append(below.starts, len(below.cells))])
    return found


def _plan(shape: tuple[int, int], grids: list[_Grid]) -> Plan:
    levels = tuple(
        Level(starts, Decomposition.of(shape, each.cells).levels[0].matrix)
        for starts, each in zip(_starts(grids), reversed(grids), strict=True)
    )
    shares = {i: float(each.share) for i, each in enumerate(reversed(grids))}
    said = " in ".join(f"{len(each.cells):,}" for each in reversed(grids))
    made = Decomposition(shape, grids[-1].cells, levels)
    return Plan.shared(NAME, made, shares, f"{said} cells, grids in grids")
