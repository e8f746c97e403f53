"""A tree as deep as there are points, by PrivTree [ZXX16], and sums over it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.core.errors import InputError
from sfumato.core.number import exact, is_integer
from sfumato.mechanisms import PrivTree
from sfumato.mechanisms.privtree import RATIO
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS, parts
from sfumato.session.points import Plane
from sfumato.spatial.decomposition import Decomposition, Integers, quadtree
from sfumato.spatial.measured import Measured, Steps, measured, values
from sfumato.spatial.paths import Cuts
from sfumato.spatial.plan import Plan, height_of

_DEEPEST = 9  # cuts that are foreseen
NAME = "privtree"
SHARE = Fraction(1, 2)  # of the budget, for the tree; as in the paper


def prepare(
    plane: Plane,
    spending: Spending,
    *,
    shape: Any = SHARE,
    ratio: Any = RATIO,
    first: Any = 0,
    above: Any = 0,
    least: Any = 0,
) -> Steps:
    """Return the steps of a release; nothing is charged so far.

    Args:
        plane: the points.
        spending: the price.
        shape: the share of the budget for the shape of the tree.
        ratio: of the decay and the scale of its noise; with less, trees are deeper.
        first: so many cuts are made in any case.
        above: the share of the rest for sums of the rectangles after one cut more than these; 0
            for none.
        least: rectangles of a smaller noisy count are not cut; a whole number.
    """
    share, more = exact(shape, "shape"), exact(above, "above")
    if not is_integer(least) or int(least) < 0:
        raise InputError("least= is a whole number from 0: below it a noisy count is not cut.")
    if not 0 < share < 1:
        raise InputError("shape= is the share of the budget for the tree: 0.5.")
    if not 0 <= more < 1:
        raise InputError("above= is a share of what is left for the counts, from 0 to below 1.")
    most = (max(plane.shape) - 1).bit_length()
    free = height_of(first, 0, max(most - 1, 0))
    if most == 0:  # one cell
        return Steps.at_once(_counts(Cuts(plane.shape, 2).decomposition(), more), spending)
    query = plane.question()
    mechanism = PrivTree.calibrate(
        query.sensitivity(plane.unit),
        shape=plane.shape,
        epsilon=spending.share(share).epsilon,
        ratio=ratio,
        threshold=int(least),
        first=free,
    )
    rest = spending.share(1 - share)
    least = min(parts([float(1 - more), float(more)])) if more else PARTS

    def steps(inside: Plane) -> Measured:
        tree = inside.measure(inside.question(), mechanism)
        made = grown(plane.shape, free, values(tree))
        found = measured(_counts(made, more), inside, rest)
        return replace(found, drawn=(tree, *found.drawn))

    # The tree is no noise on counts, and was made already; its price is what it is charged.
    return Steps(steps, (((spending.share(share), PARTS), (rest, least)),))


def even(plane: Plane, points: float, spending: Spending) -> tuple[Plan, Spending]:
    """Return what would be measured, and for which price, if so many points lay evenly."""
    most = (max(plane.shape) - 1).bit_length()
    deep = 0
    if most:
        tree = PrivTree.calibrate(
            plane.question().sensitivity(plane.unit),
            shape=plane.shape,
            epsilon=(spending.epsilon or Fraction(0)) * SHARE,
        )
        while deep < min(most, _DEEPEST) and points / 4**deep > deep * tree.decay:
            deep += 1
    made = quadtree(plane.shape, deep)
    said = f"about {len(made):,} cells of a private tree"
    return Plan.shared(NAME, made, {0: 1.0}, said), spending.share(1 - SHARE)


def grown(shape: tuple[int, int], first: int, decided: Integers) -> Decomposition:
    """Return the tree that was drawn, with the level one below those that were cut in any case."""
    cuts = Cuts(shape, 2)
    for _ in range(first):
        cuts.quarter()
    used = 0
    while used < len(decided):
        count = len(cuts.rectangles)
        cuts.quarter(decided[used : used + count])
        used += count
    return cuts.decomposition(min(first + 1, cuts.depth))


def _counts(made: Decomposition, above: Fraction) -> Plan:
    shares = {0: float(1 - above)}
    if above and len(made.levels) > 1 and len(made.levels[1].starts) < len(made) + 1:
        shares[1] = float(above)
    return Plan.shared(NAME, made, shares, f"{len(made):,} cells of a private tree")
