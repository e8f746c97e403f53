"""A pair of laws replaced by one whose losses lie on a grid.

The new pair is above the old one in its hockey-stick curve, at every α = e^ε >= 0, and that is all
that a composition needs. Its masses are found in floats, any way that works; then the curve that
they really have is computed by sums of positive terms, compared with the bounds on the true one,
and the masses are scaled until it is above. See ``docs/theory/pld.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.accounting.pld.leaf import FAR, Leaf
from sfumato.accounting.pld.rounding import UNIT, Floats

_ROUNDS = 64  # of removals on the way to a convex hull; they rarely take more than twenty
_BEYOND = 1 + 1e-9  # so that a curve that ends is at its end on the last point of the grid
_CLOSE = 1e-6  # relative excess over the true curve from which on it is counted absolutely


class Grid:
    """Multiples of an interval, from −reach to reach at least, and their exponentials."""

    def __init__(self, interval: float, reach: float) -> None:
        """Compute them once for all pairs."""
        self.interval = interval
        self.size = max(math.ceil(reach * _BEYOND / interval), 1)
        self.points: Floats = np.arange(-self.size, self.size + 1, dtype=np.float64) * interval
        self.rising, self.falling = np.exp(self.points), np.exp(-self.points)
        self.common = -np.expm1(np.minimum(self.points, 0.0))  # the part (1 − e^ε)₊ of every curve
        self.step_up, self.step_down = math.expm1(interval), -math.expm1(-interval)

    def index(self, loss: float) -> int:
        """Return the number of the first point at or beyond a loss, one at least."""
        return min(max(math.ceil(loss * _BEYOND / self.interval), 1), self.size)

    def part(self, below: int, above: int) -> slice:
        """Return where the points from −below to above are."""
        return slice(self.size - below, self.size + above + 1)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A measure on the points of a grid that dominates a pair.

    Attributes:
        first: the number of the first point.
        mass: the measure P.
        infinite: the mass of P where Q has none.
        excess: the curve is at most 1 + excess times that of the pair joined to the grid,
        stray: ... plus this; and P of the pair has at most this much above the grid,
        sunk: ... and at most this much below.
    """

    first: int
    mass: Floats
    infinite: float
    excess: float
    stray: float
    sunk: float

    @classmethod
    def of(cls, leaf: Leaf, grid: Grid, tails: tuple[float, float], *, back: bool) -> Distribution:
        """Join the curve of `leaf`, or its way back, to a grid.

        Theorem: [DGKKM22]

        Args:
            leaf: the pair.
            grid: the grid.
            tails: what may be left out above and below.
            back: whether the laws are exchanged.
        """
        above, below = (grid.index(leaf.reach(tails[i])[i ^ back]) for i in (0, 1))
        here = grid.part(below, above)
        low, high = _sides(leaf, grid, above, below, back=back)
        mass, infinite = _masses(grid, -below, high), float(high[-1])
        own, total = _own(grid, here, mass, infinite)
        rounding = (8 * len(mass) + 64) * UNIT
        whole = high + grid.common[here]
        ratio = np.divide(whole, own, out=np.ones_like(own), where=own > 0)
        scale = max(float(ratio.max()), 1 / total) * (1 + rounding)  # up: overstates loss
        own *= scale
        low += grid.common[here]
        near = own <= low * (1 + _CLOSE)
        over = np.divide(own, low, out=np.ones_like(own), where=near & (low > 0))
        excess = max(float(over.max()), total * scale) * (1 + rounding) - 1
        stray = float(np.max(own - low, where=~near, initial=0.0))
        sunk = 0.0
        if not leaf.bounded[back]:
            stray += _beyond(high[below:][::-1], -grid.interval)
        if not leaf.bounded[not back]:
            sunk = _beyond(high[: below + 1], grid.interval)
        return cls(-below, mass * scale, infinite * scale, excess, stray * 1.01, sunk * 1.01)


def _sides(leaf: Leaf, grid: Grid, above: int, below: int, *, back: bool) -> tuple[Floats, Floats]:
    """Bound H less (1 − e^ε)₊ on the grid: H for ε >= 0, e^ε times the way back for ε < 0."""
    right = leaf.curve(grid.points[grid.part(0, above)], back=back)
    left = leaf.curve(grid.points[grid.part(-1, below)], back=not back)
    fall = grid.rising[grid.part(below, -1)]
    value = np.concatenate((fall * left.value[::-1], right.value))
    error = np.concatenate((fall * left.error[::-1], right.error)) + 8 * UNIT * value
    return np.maximum(value - error, 0.0), np.minimum(value + error, 1.0)


def _masses(grid: Grid, first: int, values: Floats) -> Floats:
    """Return the masses of the convex hull of the points, as a function of e^ε.

    A point above the line through its neighbors is no corner of the hull; such points, which
    rounding makes, are removed all at once, until there is none.
    """
    change = np.diff(values)
    mass: Floats = np.append(change / grid.step_up, 0.0)
    mass[1:] -= change / grid.step_down
    mass[0] -= values[0]
    mass[-first] += 1
    kept = np.arange(len(values))
    for _ in range(_ROUNDS):
        inside = mass < 0
        if not inside.any():
            break
        kept = kept[~inside]
        mass = _corners(first + kept, values[kept], grid.interval)
    full = np.zeros_like(values)
    full[kept] = np.maximum(mass, 0.0)
    return full


def _corners(index: npt.NDArray[np.int64], values: Floats, interval: float) -> Floats:
    """Return the P-mass at each corner of a piecewise linear function of e^ε.

    It is e^ε times the change of slope. The values are less (1 − e^ε)₊, so that a neighbor on the
    other side of ε = 0 needs the line 1 − e^ε added to be on the same footing.
    """
    x = index * interval
    gaps = np.diff(x)
    right = np.append(values[1:] - values[:-1], 0.0)
    left = np.concatenate((-values[:1], values[:-1] - values[1:]))
    over = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    right[over] += np.expm1(x[over + 1])
    left[over + 1] -= np.expm1(x[over])
    mass: Floats = right / np.append(np.expm1(gaps), 1.0)
    mass += left / np.concatenate(([1.0], -np.expm1(-gaps)))
    return mass


def _own(grid: Grid, here: slice, mass: Floats, infinite: float) -> tuple[Floats, float]:
    """Return the curve that masses have, by sums of positive terms only, and its value at α = 0.

    With T the mass above a point, H(x) = e^(−d)·H(x + d) + (1 − e^(−d))·T(x) for an interval d.
    """
    survival = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0) + infinite
    weighed = grid.falling[here] * survival * grid.step_down
    weighed[-1] = grid.falling[here][-1] * infinite
    own: Floats = grid.rising[here] * np.cumsum(weighed[::-1])[::-1]
    return own, float(survival[0] + mass[0])


def _beyond(values: Floats, interval: float) -> float:
    """Bound the mass beyond the first point, which is that of the loss farthest from zero.

    H(x) >= (1 − e^(−d))·P(loss > x + d) for x >= 0; below, the values are Σ P·(e^(x − loss) − 1)
    over the losses below x, so that at x + d they are at least e^d − 1 times the mass below x.
    """
    steps = 2 ** np.arange(int(math.log2(len(values))) + 1)
    steps = steps[steps < len(values)]
    gaps = np.minimum(steps * interval, FAR)
    return float(np.min(values[steps] / np.abs(np.expm1(gaps))))
