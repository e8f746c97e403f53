"""Quarters of quarters of a box, each level with noise of its own [CPSSY12]."""

from __future__ import annotations

from typing import Any

from sfumato.ranges.spending import Spending
from sfumato.session.points import Plane
from sfumato.spatial.decomposition import quadtree
from sfumato.spatial.measured import Steps
from sfumato.spatial.plan import Plan, height_of, shared_out

NAME = "quadtree"
HEIGHT = 8


def plan(plane: Plane, *, pure: bool, height: Any = None, weights: Any = "optimal") -> Plan:
    """Return what is measured: fixed before anything is read.

    Args:
        plane: the points.
        pure: whether noise is measured in ε.
        height: how often the box is quartered.
        weights: how the budget is shared out among the levels, from the leaves up:
            ``"optimal"``, ``"geometric"``, ``"uniform"``, or a number for each.
    """
    most = max(size.bit_length() - 1 for size in plane.shape)
    height = height_of(height, HEIGHT, most)
    sides = [2 ** min(height, size.bit_length() - 1) for size in plane.shape]
    shares = shared_out(weights, height + 1, (sides[0], sides[1]), 4, pure=pure)
    said = f"quarters of quarters, {height} deep"
    return Plan.shared(NAME, quadtree(plane.shape, height), shares, said)


def prepare(
    plane: Plane, spending: Spending, *, height: Any = None, weights: Any = "optimal"
) -> Steps:
    """Return the one step of a release; nothing is charged so far."""
    made = plan(plane, pure=spending.pure, height=height, weights=weights)
    return Steps.at_once(made, spending)
