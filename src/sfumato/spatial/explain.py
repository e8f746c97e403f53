"""What each method would err by for boxes of a size. Free; reads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.budget import Budget
from sfumato.core.errors import InputError
from sfumato.core.number import Exactable, exact, nonnegative
from sfumato.ranges.spending import Spending
from sfumato.session.points import Plane
from sfumato.spatial import adaptive_grid, kd_tree, nested_grids, privtree, quadtree, uniform_grid
from sfumato.spatial.box import Floats
from sfumato.spatial.decomposition import Decomposition
from sfumato.spatial.frame import MapFrame
from sfumato.spatial.index import Index
from sfumato.spatial.overlap import covers
from sfumato.spatial.plan import Plan, shared_out, spread

if TYPE_CHECKING:
    import pyarrow

_BOXES = 64
_MANY = Fraction(10**18)  # points, beyond which nothing changes
_WORTH = "quarters where noisy counts are worth it"
_TURN = (sqrt(5) - 1) / 2  # multiples of it, less whole numbers, are spread evenly


@dataclass(frozen=True, slots=True)
class Expected:
    """One method and its error.

    Attributes:
        method: its name.
        rmse: the root of the mean squared noise of boxes of the size; None where the data decides.
        said: what it measures, in words.
    """

    method: str
    rmse: float | None
    said: str


@dataclass(frozen=True, slots=True, repr=False)
class Foresight:
    """The methods, and what noise alone will do to the count of a box.

    How unevenly points lie inside of cells adds to it, and nobody knows how much beforehand. Cells
    that follow the points are foreseen as if these lay evenly: where they crowd there are more.

    Attributes:
        area: the share of the map that a box covers.
        points: how many points were supposed; None where nobody said.
        expected: the methods; those whose noise is known first, the least of them at the top.
    """

    area: float
    points: float | None
    expected: tuple[Expected, ...]

    def __getitem__(self, method: str) -> Expected:
        """Return one method."""
        for each in self.expected:
            if each.method == method:
                return each
        raise InputError(f"{method!r:.80} was not compared. There are: {', '.join(self)}.")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return (each.method for each in self.expected)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        rows = [{"method": e.method, "rmse": e.rmse, "said": e.said} for e in self.expected]
        return {"area": self.area, "points": self.points, "methods": rows}

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table."""
        import pyarrow as pa

        names = ("method", "rmse", "said")
        return pa.table({name: [getattr(e, name) for e in self.expected] for name in names})

    def __repr__(self) -> str:
        """Show a small table."""
        known = "" if self.points is None else f", if there are about {self.points:,.0f} points"
        lines = [f"noise on the count of a box of {100 * self.area:.3g} % of the map{known}"]
        lines.append(f"{'method':<14} {'rmse':>12}  measures")
        for e in self.expected:
            error = "by the data" if e.rmse is None else f"{e.rmse:,.4g}"
            lines.append(f"{e.method:<14} {error:>12}  {e.said}")
        lines.append("points that lie unevenly inside of a cell which a border cuts add to it")
        if self.points is not None:
            lines.append(
                "grids and trees that follow the points: about so much if these lay evenly; where "
                "they crowd, there are more cells and more noise"
            )
        else:
            lines.append(
                "say about how many points there are, with expected=, to foresee the others"
            )
        return "\n".join(lines)


def foreseen(
    plane: Plane, price: Budget, area: Exactable = "0.1", points: Exactable | None = None
) -> Foresight:
    """Compare the methods for boxes of one size, all over the map.

    Args:
        plane: the points.
        price: the budget.
        area: the share of the map that a box covers.
        points: about how many there are, if that is public. Methods that follow the points are then
            foreseen as if these lay evenly, which they do not: where they crowd, cells are more and
            smaller, and boxes there err more.
    """
    share = exact(area, "area")
    if not 0 < share <= 1:
        raise InputError("area= is the share of the map that a box covers, from 0 to 1: 0.1.")
    spending = Spending.of(
        price.epsilon, price.delta, price.rho, pure=not price.delta, left=plane.remaining
    )
    boxes = _boxes(MapFrame.of(plane), float(share))
    supposed = None if points is None else float(min(nonnegative(points, "expected"), _MANY))
    made = [_fixed(plane, boxes, quadtree.plan(plane, pure=spending.pure), spending)]
    if supposed is None:
        said = "by a noisy count of all"
        made.append(Expected(uniform_grid.NAME, None, f"equal cells, {said}"))
        made.append(Expected(kd_tree.NAME, None, f"cells between medians, {said}"))
        made.append(Expected(privtree.NAME, None, _WORTH))
        made.append(Expected(nested_grids.NAME, None, "grids in the cells of grids"))
        made.append(Expected(adaptive_grid.NAME, None, "a grid, and finer ones in its cells"))
    else:
        rest = spending.share(1 - uniform_grid.TOTAL)
        side = uniform_grid.side(supposed, uniform_grid.rate(rest))
        made.append(_fixed(plane, boxes, uniform_grid.plan(plane, side), rest))
        made.append(_fixed(plane, boxes, adaptive_grid.even(plane, supposed, rest), rest))
        made.append(_fixed(plane, boxes, nested_grids.even(plane, supposed, rest), rest))
        if spending.pure:
            made.append(_kd_tree(plane, boxes, supposed, rest))
            plan, left = privtree.even(plane, supposed, spending)
            made.append(_fixed(plane, boxes, plan, left))
    order = sorted(made, key=lambda each: (each.rmse is None, each.rmse or 0.0))
    return Foresight(float(share), supposed, tuple(order))


def _fixed(plane: Plane, boxes: Floats, plan: Plan, spending: Spending) -> Expected:
    error = _noise(plane, boxes, plan, spending)
    return Expected(plan.method, error, plan.said)


def _kd_tree(plane: Plane, boxes: Floats, points: float, spending: Spending) -> Expected:
    """Take medians to lie in the middle: the noise depends on how many cells a box has in it."""
    tall = kd_tree.tallest(points, uniform_grid.rate(spending), kd_tree.room_of(plane))
    made = kd_tree.tree(plane.shape, tall, 0, None)
    rest = spending.share(1 - kd_tree.SHARE)
    sides = 2 ** (tall - tall // 2), 2 ** (tall // 2)
    shares = shared_out("optimal", tall + 1, sides, 2, pure=True)
    plan = Plan.shared(kd_tree.NAME, made, shares, f"{len(made):,} cells between medians")
    return _fixed(plane, boxes, plan, rest)


def _noise(plane: Plane, boxes: Floats, plan: Plan, spending: Spending) -> float:
    cells: Decomposition = plan.rectangles
    index = Index(MapFrame.of(plane).placed(cells.leaves))
    shares = [cover.weights(i) for cover in covers(index, boxes) for i in range(cover.count)]
    return spread(plan.tree(plane, spending), shares)


def _boxes(frame: MapFrame, area: float) -> Floats:
    """Return boxes of a share of the map, all over it; the same ones every time."""
    x0, y0, x1, y1 = frame.bounds
    wide, high = (x1 - x0) * sqrt(area), (y1 - y0) * sqrt(area)
    turns = np.arange(1, _BOXES + 1)
    left = x0 + (turns - 0.5) / _BOXES * (x1 - x0 - wide)
    low = y0 + turns * _TURN % 1 * (y1 - y0 - high)
    return np.stack([left, low, left + wide, low + high], axis=1)
