"""Where to look: the tilt, the window and the grid for a composition, and the ε at a δ.

Nothing here is trusted. A bad choice makes the bounds of `compose` wide, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.accounting.pld.compose import Composition, Window
from sfumato.accounting.pld.distribution import Distribution, Grid
from sfumato.accounting.pld.leaf import FAR, Leaf, Sampled
from sfumato.accounting.pld.rounding import TINY, Floats

_CERTAIN = 15.0  # −ln of what may be outside the window, of what is where δ is decided
_SEEN = -7.0  # ln of the part of the tilted law that has to be there
_SHARES = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.0])
_MISSED = 1e-4  # of the tilted law outside the window, from which on it is placed anew
_SIZES = 2**11, 2**20
_LONGEST = 2**18  # points for one pair, each way
_POINTS = 2**14  # of one sketch, each way
_SKETCHED = 12  # pairs of one kind that are looked at to find the window
_LEANS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 14.0])

Parts = Sequence[tuple[Leaf, int]]


@dataclass(frozen=True, slots=True)
class Rough:
    """Coarse distributions side by side, for cumulants that need not be exact."""

    losses: Floats
    logs: Floats
    counts: Floats
    highest: float
    lowest: float

    @classmethod
    def of(cls, laws: Sequence[tuple[Distribution, float]], counts: Floats) -> Rough:
        """Set distributions side by side, each with the interval of its grid."""
        width = max(len(law.mass) for law, _ in laws)
        losses, masses = np.zeros((2, len(laws), width))
        for i, (law, interval) in enumerate(laws):
            size = len(law.mass)
            losses[i, :size] = (law.first + np.arange(size)) * interval
            masses[i, :size] = law.mass
        there = np.where(masses > 0, losses, 0.0)
        highest, lowest = float(counts @ there.max(1)), float(counts @ there.min(1))
        with np.errstate(divide="ignore"):
            return cls(losses, np.log(masses), counts, highest, lowest)

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """Return ln E e^(tilt·loss) and its first two derivatives."""
        powers = self.logs + tilt * self.losses
        top = powers.max(1)
        weights = np.exp(powers - top[:, None])
        total = weights.sum(1)
        mean = (weights * self.losses).sum(1) / total
        spread = (weights * (self.losses - mean[:, None]) ** 2).sum(1) / total
        value = float(self.counts @ (top + np.log(total)))
        return value, float(self.counts @ mean), float(self.counts @ spread)

    def tilt(self, wanted: Callable[[float, float, float, float], float], top: float) -> float:
        """Return the tilt at which a function of tilt and cumulants, falling, crosses zero.

        Or the one from which on the largest loss, `top`, is all that is left, if that comes before.
        """
        reach = float(np.abs(self.losses).max())
        low, high = 1e-4 / reach, 1000 / reach
        if wanted(low, *self.cumulants(low)) < 0:
            return 0.0
        for _ in range(24):
            middle = math.sqrt(low * high)
            found = self.cumulants(middle)
            lone = top < 2 * found[1] and (top - found[1]) * middle < 0.5
            if not lone and wanted(middle, *found) > 0:
                low = middle
            else:
                high = middle
        return high


class Search:
    """A composition to be computed, on one grid after the other."""

    def __init__(self, parts: Parts, delta: float, *, back: bool) -> None:
        """Look for what counts at about this δ, in one direction."""
        self._parts, self._back = parts, back
        self._tails = _tails(parts, delta)
        self._reach = max(max(self._ends(leaf)) for leaf, _ in parts)
        bounded = all(leaf.bounded[back] for leaf, _ in parts)
        ends = [(self._ends(leaf)[0], count) for leaf, count in parts]
        self._top = sum(end * count for end, count in ends) if bounded else math.inf
        chosen = _sketch(parts)
        fine = min(max(_POINTS // len(chosen), 64), 4096)
        laws = []
        for leaf, _ in chosen:
            above, below = self._ends(leaf)
            interval = max(min(above, below) / fine, max(above, below) / 4096)
            grid = Grid(interval, max(above, below))
            laws.append((Distribution.of(leaf, grid, self._tails, back=back), interval))
        self.rough = Rough.of(laws, np.array([count for _, count in chosen]))

    def tilt(self, wanted: Callable[[float, float, float, float], float]) -> float:
        """Return the tilt at which a function of tilt and cumulants, falling, crosses zero."""
        return self.rough.tilt(wanted, self._top)

    def _ends(self, leaf: Leaf) -> tuple[float, float]:
        back = self._back
        return leaf.reach(self._tails[0])[back], leaf.reach(self._tails[1])[not back]

    @staticmethod
    def hopeless(parts: Parts, delta: float) -> bool:
        """Say whether a loss is so large that nothing is computed."""
        tail = min(_tails(parts, delta))
        return any(max(leaf.reach(tail)) > FAR for leaf, _ in parts)

    def composition(self, tilt: float, interval: float) -> Composition:
        """Compose around the tilted mean, on a grid of about the interval asked for."""
        interval = max(interval, self._reach / _LONGEST)
        window = _window(self.rough, tilt, interval)
        grid = Grid(window.interval, self._reach)
        laws = [
            (Distribution.of(leaf, grid, self._tails, back=self._back), count)
            for leaf, count in self._parts
        ]
        found = Composition(laws, grid, window)
        if found.outside > _MISSED:
            counts = np.array([float(count) for _, count in self._parts])
            self.rough = Rough.of([(law, window.interval) for law, _ in laws], counts)
            found = Composition(laws, grid, _window(self.rough, tilt, window.interval, fixed=True))
        return found


def _tails(parts: Parts, delta: float) -> tuple[float, float]:
    """Return what may be left out of one pair, above and below."""
    count = float(sum(count for _, count in parts))
    return max(delta * 1e-7 / count, TINY), max(1e-12 / count, TINY)


def _sketch(parts: Parts) -> list[tuple[Leaf, float]]:
    """Return a few of many parts, each of which stands for those of its kind around it."""
    kinds: dict[tuple[type, ...], list[tuple[Leaf, int]]] = {}
    for leaf, count in parts:
        kind = (Sampled, type(leaf.inner)) if isinstance(leaf, Sampled) else (type(leaf),)
        kinds.setdefault(kind, []).append((leaf, count))
    chosen: list[tuple[Leaf, float]] = []
    for alike in kinds.values():
        group = -(-len(alike) // _SKETCHED)
        chosen.extend(
            (alike[i][0], float(sum(count for _, count in alike[i : i + group])))
            for i in range(0, len(alike), group)
        )
    return chosen


def _window(rough: Rough, saddle: float, interval: float, *, fixed: bool = False) -> Window:
    """Return the shortest window around the mean at the saddle point; its size is a power of two.

    Less tilt can do as well where a heavy tail would make the window long, as long as enough of the
    tilted law is left where δ is decided.
    """
    value, mean, variance = rough.cumulants(saddle)
    spread = math.sqrt(max(variance, TINY))
    thin = max(math.log1p(2.6 * saddle * (1 + saddle) * spread), -math.log(spread))
    delta = value - saddle * mean - thin
    windows = []
    for tilt in saddle * _SHARES:
        left = delta - rough.cumulants(tilt)[0] + tilt * mean
        if left > _SEEN or tilt == saddle:
            windows.append((*_stretch(rough, float(tilt), _CERTAIN - left), float(tilt)))
    low, high, lean, tilt = min(windows, key=lambda window: window[1] - window[0])
    many = float(rough.counts.sum()) + 2  # a loss between two points is moved to both
    high = min(high, rough.highest + many * interval) + 2 * interval
    low = max(low, rough.lowest - many * interval) - 2 * interval
    size = 2 ** math.ceil(math.log2(max((high - low) / interval + 4, _SIZES[0])))
    if not fixed:
        size = min(size, _SIZES[1])
        interval = _short((high - low) / (size - 4))
    return Window(interval, tilt, math.floor(low / interval) - 1, size, lean)


def _stretch(rough: Rough, tilt: float, certain: float) -> tuple[float, float, tuple[float, float]]:
    """Return where all but e^(−certain) of the tilted law is, and the tilts that show it."""
    value, _, variance = rough.cumulants(tilt)
    spread = math.sqrt(max(variance, TINY))
    ends = []
    for sign in (-1.0, 1.0):
        leans = [float(lean) / spread for lean in _LEANS]
        bounds = [(rough.cumulants(tilt + sign * s)[0] - value + certain) / s for s in leans]
        ends.append(min(zip(bounds, leans, strict=True)))
    (down, lean_down), (up, lean_up) = ends
    return -down, up, (lean_down, lean_up)


def _short(number: float) -> float:
    """Round up to 20 significant bits, so that multiples are exact."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(math.ceil(fraction * 2**20), exponent - 20)
