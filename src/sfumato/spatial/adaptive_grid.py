"""A coarse grid, and in each of its cells a grid as fine as its noisy count is worth [QYL13g]."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt
from typing import Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.core.number import exact
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS
from sfumato.session.points import Plane
from sfumato.spatial.box import Floats
from sfumato.spatial.decomposition import Decomposition, Level, grid, refined
from sfumato.spatial.measured import Measured, Steps, level_of, measured, total, values
from sfumato.spatial.plan import Plan
from sfumato.spatial.uniform_grid import TOTAL, check, rate

NAME = "adaptive_grid"
SHARE = Fraction(1, 2)  # α of the paper: of the budget, for the coarse grid
_C, _C2, _LEAST = 10, 5, 10  # c, c2 and the least m1 of the paper


def prepare(
    plane: Plane,  # noqa: ARG001 - as every method is prepared
    spending: Spending,
    *,
    cells: Any = None,
    coarse: Any = SHARE,
) -> Steps:
    """Return the steps of a release; nothing is charged so far.

    Args:
        plane: the points.
        spending: the price.
        cells: how many cells each side of the coarse grid has; if not given, a noisy count of all
            points decides, for which a fiftieth of the budget is spent.
        coarse: the share of the budget for the coarse grid.
    """
    given = check(cells)
    share = exact(coarse, "coarse")
    if not 0 < share < 1:
        raise InputError("coarse= is the share of the budget for the coarse grid: 0.5.")

    counting = [] if given is not None else [spending.share(TOTAL)]
    rest = spending.share(1 - TOTAL) if counting else spending
    above, spent = rest.share(share), rest.share(1 - share)

    def steps(inside: Plane) -> Measured:
        bought, first = [], given
        if first is None:
            answer, points = total(inside, *counting)
            bought = [answer]
            first = max(_LEAST, ceil(sqrt(max(points, 0.0) * rate(rest) / _C) / 4))
        blocks = grid(inside.shape, first, first)
        query = inside.question(blocks.levels[0].matrix)
        mechanism = above.mechanism(inside, query)
        answer = inside.measure(query, mechanism)
        counts = values(answer)
        fine = _refined(blocks, counts.astype(np.float64), rate(spent))
        plan = Plan.shared(NAME, fine, {0: 1.0}, f"{len(fine):,} cells in {len(blocks):,} others")
        found = measured(plan, inside, spent)
        coarser = level_of(fine.levels[1], mechanism.law, counts)
        return replace(
            found, levels=(*found.levels, coarser), drawn=(*bought, answer, *found.drawn)
        )

    return Steps(steps, (tuple((price, PARTS) for price in (*counting, above, spent)),))


def even(plane: Plane, points: float, spending: Spending) -> Plan:
    """Return what would be measured if so many points lay evenly; for foresight."""
    first = max(_LEAST, ceil(sqrt(points * rate(spending) / _C) / 4))
    blocks = grid(plane.shape, first, first)
    each = np.full(len(blocks), points / len(blocks))
    fine = _refined(blocks, each, rate(spending.share(1 - SHARE)))
    shares = {0: float(1 - SHARE), 1: float(SHARE)}
    said = f"about {len(fine):,} cells in {len(blocks):,} others"
    return Plan.shared(NAME, fine, shares, said)


def _refined(blocks: Decomposition, counts: Floats, epsilon: float) -> Decomposition:
    """Cut each block into so many cells that a cell's points are worth its noise: √(nε/c2)."""
    wanted = np.maximum(1, np.ceil(np.sqrt(np.maximum(counts, 0.0) * epsilon / _C2)))
    leaves, starts = refined(blocks.leaves, wanted.astype(np.int64))
    fine = Decomposition.of(blocks.shape, leaves, starts)
    above = Level(fine.levels[1].starts, blocks.levels[0].matrix)
    return replace(fine, levels=(fine.levels[0], above))
