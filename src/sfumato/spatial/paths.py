"""Rectangles that were cut again and again, put into the order of their paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.rectangles import divisible, halved, longer, quartered
from sfumato.spatial.decomposition import Decomposition, Integers

# Returns the parts of rectangles, and which part of its rectangle each is.
Cut = Callable[[Integers], tuple[Integers, Integers]]


class Cuts:
    """Rectangles that follow from a plane by public or noisy cuts.

    A path has so many bits for each cut; those of a rectangle that is cut no more end in zeros. So
    rectangles that are sorted by their paths have all parts of a larger one side by side.

    Args:
        shape: of the lattice.
        bits: for each cut, 2 for quarters and 1 for halves.
    """

    def __init__(self, shape: tuple[int, int], bits: int) -> None:
        """Begin with the whole plane."""
        self.shape, self._bits = shape, bits
        self._open = np.array([[0, 0, *shape]]), np.zeros(1, np.int64)
        self._done: list[tuple[Integers, Integers]] = []
        self.depth = 0

    @property
    def rectangles(self) -> Integers:
        """Those that can still be cut."""
        return self._open[0][divisible(self._open[0])]

    def cut(self, decided: Sequence[bool] | Integers | None, parts: Cut) -> None:
        """Cut some of the rectangles that can be cut; the others stay as they are for good.

        Args:
            decided: which ones; all, if None.
            parts: cuts them.
        """
        rectangles, paths = self._open
        chosen = divisible(rectangles)
        if decided is not None:
            chosen[chosen] = np.asarray(decided, np.bool_)
        made, which = parts(rectangles[chosen])
        counts = np.diff(np.append(np.flatnonzero(_first(which)), len(which)))
        below = np.repeat(paths[chosen], counts) << self._bits | which
        self._done.append((rectangles[~chosen], paths[~chosen] << self._bits))
        self._done = [
            (done, path if i == len(self._done) - 1 else path << self._bits)
            for i, (done, path) in enumerate(self._done)
        ]
        self._open = made, below
        self.depth += 1

    def quarter(self, decided: Sequence[bool] | Integers | None = None) -> None:
        """Cut rectangles in the middle of both sides."""
        self.cut(decided, quartered)

    def halve(self, places: Integers | None = None) -> None:
        """Cut all rectangles across their longer side, at given places or in the middle."""

        def parts(rectangles: Integers) -> tuple[Integers, Integers]:
            sides = longer(rectangles, self.shape)
            rows = np.arange(len(rectangles))
            middle = (rectangles[rows, sides] + rectangles[rows, sides + 2]) // 2
            made = halved(rectangles, sides, middle if places is None else places)
            return made, np.tile([0, 1], len(rectangles))

        self.cut(None, parts)

    def decomposition(self, *depths: int) -> Decomposition:
        """Return all rectangles as leaves, with levels of those after so many cuts.

        Args:
            depths: from the deepest up.
        """
        every = [*self._done, self._open]
        leaves = np.concatenate([rectangles for rectangles, _ in every])
        paths = np.concatenate([path for _, path in every])
        order = np.argsort(paths, kind="stable")
        paths = paths[order]
        starts = [
            np.flatnonzero(np.diff(paths >> self._bits * (self.depth - depth), prepend=-1))
            for depth in depths
        ]
        return Decomposition.of(self.shape, leaves[order], *starts)


def _first(which: Integers) -> NDArray[np.bool_]:
    """Say which parts are the first of their rectangle: parts of one are numbered upwards."""
    return np.diff(which, prepend=which.max(initial=0) + 1) <= 0
