"""One grid of equal cells: as fine as the noise is worth it [QYL13g]."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

from sfumato.core.errors import InputError
from sfumato.core.number import is_integer
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS
from sfumato.session.points import Plane
from sfumato.spatial.decomposition import grid
from sfumato.spatial.measured import Measured, Steps, measured, total
from sfumato.spatial.plan import Plan

NAME = "grid"
TOTAL = Fraction(1, 50)  # of the budget, for how many points there are
_C = 10  # c of the paper: cells of about so many points at ε = 1


def check(cells: Any) -> int | None:
    """Read how many cells each side has; None where the points decide.

    Raises:
        InputError: not a whole number.
    """
    if cells is None:
        return None
    if not is_integer(cells) or int(cells) < 1:
        raise InputError("cells= is how many cells each side of the grid has, from 1 on.")
    return int(cells)


def side(points: float, epsilon: float) -> int:
    """Return how many cells each side should have, for so many points: √(Nε/c)."""
    return max(1, round(sqrt(max(points, 0.0) * epsilon / _C)))


def rate(spending: Spending) -> float:
    """Return the ε whose Laplace noise is as large as that of a budget."""
    if spending.epsilon is not None:
        return float(spending.epsilon)
    return 2 * sqrt(float(spending.rho or 0))  # σ² = 1/2ρ and 2/ε² alike


def plan(plane: Plane, cells: int) -> Plan:
    """Return what is measured: so many cells along each side, or as many as the lattice has."""
    made = grid(plane.shape, cells, cells)
    return Plan.shared(NAME, made, {0: 1.0}, f"{len(made):,} equal cells")


def prepare(plane: Plane, spending: Spending, *, cells: Any = None) -> Steps:
    """Return the steps of a release; nothing is charged so far.

    Args:
        plane: the points.
        spending: the price.
        cells: how many cells each side has; if not given, a noisy count of all points decides,
            for which a fiftieth of the budget is spent.
    """
    given = check(cells)
    if given is not None:
        return Steps.at_once(plan(plane, given), spending)
    rest = spending.share(1 - TOTAL)

    def steps(inside: Plane) -> Measured:
        bought, points = total(inside, spending.share(TOTAL))
        found = measured(plan(inside, side(points, rate(rest))), inside, rest)
        return replace(found, drawn=(bought, *found.drawn))

    return Steps(steps, (((spending.share(TOTAL), PARTS), (rest, PARTS)),))
