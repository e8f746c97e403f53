"""Private medians, and sums of the rectangles between them [CPSSY12]."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, log2
from typing import Any

from sfumato.core.errors import InputError
from sfumato.core.number import exact
from sfumato.mechanisms import KdSplits
from sfumato.mechanisms.kd_splits import MOST_HEIGHT
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS, parts
from sfumato.session.points import Plane
from sfumato.spatial.decomposition import Decomposition, Integers
from sfumato.spatial.measured import Measured, Steps, measured, total, values
from sfumato.spatial.paths import Cuts
from sfumato.spatial.plan import Plan, height_of, shared_out
from sfumato.spatial.uniform_grid import TOTAL, rate

NAME, HYBRID = "kd_tree", "kd_hybrid"
SHARE = Fraction(3, 10)  # of the budget, for the medians; as in the paper
MOST = 14  # halvings, where a noisy count of the points decides
_LEAST = PARTS // 10_000  # about the least that a level gets, where levels share by a rule
_C = 10  # leaves of about so many points at ε = 1, as of a grid


def prepare(
    plane: Plane,
    spending: Spending,
    *,
    height: Any = None,
    medians: Any = None,
    share: Any = SHARE,
    weights: Any = "optimal",
) -> Steps:
    """Return the steps of a release; nothing is charged so far.

    Args:
        plane: the points.
        spending: the price.
        height: how often parts are cut in two; if not given, a noisy count of all points decides,
            for which a fiftieth of the budget is spent.
        medians: how many of these cuts are at medians; the others halve. All, if not given.
        share: of the budget, for the medians.
        weights: how the rest is shared out among the levels, from the leaves up: ``"optimal"``,
            ``"geometric"``, ``"uniform"``; with a height also a number for each.
    """
    return _prepared(NAME, plane, spending, height, medians, share, weights)


def hybrid(
    plane: Plane,
    spending: Spending,
    *,
    height: Any = None,
    medians: Any = None,
    share: Any = SHARE,
    weights: Any = "optimal",
) -> Steps:
    """Return the steps of a tree whose first cuts are at medians, and the others in the middle.

    Half of the cuts are at medians, if `medians` does not say how many.
    """
    return _prepared(HYBRID, plane, spending, height, medians, share, weights)


def _prepared(
    name: str, plane: Plane, spending: Spending, height: Any, medians: Any, share: Any, weights: Any
) -> Steps:
    part = exact(share, "share")
    if not 0 < part < 1:
        raise InputError("share= is the share of the budget for the medians: 0.3.")
    room = room_of(plane)
    height_of(height, MOST, room)
    height_of(medians, 0, min(room, MOST_HEIGHT))
    if height is not None and medians is not None and medians > height:
        raise InputError("medians= is how many of the cuts are at medians, up to height=.")
    if height is None and not isinstance(weights, str):
        raise InputError("weights for each level need a height=, which says how many there are.")
    shares = shared_out(weights, 1 if height is None else height + 1, (1, 1), 2, pure=True)
    counting = [] if height is not None else [spending.share(TOTAL)]
    rest = spending.share(1 - TOTAL) if counting else spending
    cutting, counts = rest.share(part), rest.share(1 - part)
    if room:
        for cuts in (1, MOST_HEIGHT):
            _medians(plane, cuts, cutting)
    least = _LEAST if isinstance(weights, str) else min(parts(list(shares.values())))

    def steps(inside: Plane) -> Measured:
        bought, tall, left = [], height, rest
        if tall is None:
            answer, points = total(inside, *counting)
            bought = [answer]
            tall = tallest(points, rate(rest), room)
        given = (tall + 1) // 2 if name == HYBRID else tall
        cuts = min(given if medians is None else medians, tall, MOST_HEIGHT)
        places = None
        if cuts:
            bought.append(inside.measure(inside.question(), _medians(inside, cuts, cutting)))
            places, left = values(bought[-1]), counts
        made = tree(inside.shape, tall, cuts, places)
        sides = 2 ** (tall - tall // 2), 2 ** (tall // 2)
        shares = shared_out(weights, tall + 1, sides, 2, pure=True)
        plan = Plan.shared(name, made, shares, f"{len(made):,} cells between private medians")
        found = measured(plan, inside, left)
        return replace(found, drawn=(*bought, *found.drawn))

    prices = [(price, PARTS) for price in (*counting, cutting)]
    return Steps(steps, ((*prices, (counts, least)),))


def _medians(plane: Plane, height: int, price: Spending) -> KdSplits:
    moved = plane.question().sensitivity(plane.unit)
    return KdSplits.calibrate(moved, shape=plane.shape, height=height, epsilon=price.epsilon)


def room_of(plane: Plane) -> int:
    """Return how often parts of a lattice can be cut in two, and are held in memory."""
    return min(sum((size - 1).bit_length() for size in plane.shape), 20)


def tallest(points: float, epsilon: float, room: int) -> int:
    """Return how often parts should be cut, for so many points."""
    leaves = max(points * epsilon / _C, 1.0)
    return min(max(1, ceil(log2(leaves))), MOST, room)


def tree(
    shape: tuple[int, int], height: int, medians: int, places: Integers | None
) -> Decomposition:
    """Return the rectangles between medians that were drawn, and halves of these, all levels."""
    cuts, used = Cuts(shape, 1), 0
    for depth in range(height):
        count = len(cuts.rectangles)
        if depth < medians and places is not None:
            cuts.halve(places[used : used + count])
            used += count
        else:
            cuts.halve()
    return cuts.decomposition(*range(height - 1, -1, -1))
