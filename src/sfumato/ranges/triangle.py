"""Noisy rows of a lower triangle with constant diagonals, inverted: prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.norms import Norms

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Triangle:
    """All prefixes of the cells, from a triangle times the cells with noise on each row.

    A prefix is the same combination of the rows up to it, wherever it ends.

    Theorem: docs/theory/strategies.md, theorem 4

    Attributes:
        column: the first column of the triangle.
        noise: the variance on each row.
    """

    def __init__(self, column: Sequence[int], noise: float) -> None:
        """Invert the column as a power series, times the series of ones."""
        self.column, self.noise = np.array(column, np.float64), noise
        self._rows = _inverted(tuple(column))
        self._squares = np.concatenate([[0.0], np.cumsum(self._rows**2)])

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.column)

    def fit(self, values: NDArray[np.generic]) -> Floats:
        """Return the cells."""
        from scipy.signal import fftconvolve

        drawn = np.asarray(values, np.float64)
        prefixes = fftconvolve(drawn, self._rows)[: self.cells]
        return np.diff(prefixes, prepend=0.0)

    def variance(self, lows: Integers, highs: Integers) -> Floats:
        """Return the variance of the sums of the cells from each low to below each high."""
        lows, highs = np.asarray(lows, np.int64), np.asarray(highs, np.int64)
        both = self._squares[highs] + self._squares[lows]
        shared = np.zeros(len(lows))
        apart = highs - lows
        for gap in np.unique(apart[lows > 0]):
            products = self._rows[gap:] * self._rows[: self.cells - gap]
            sums = np.concatenate([[0.0], np.cumsum(products)])
            here = (apart == gap) & (lows > 0)
            shared[here] = sums[lows[here]]
        return np.asarray(self.noise * np.maximum(both - 2 * shared, 0.0))

    def norms(self, lows: Integers, highs: Integers) -> Norms:
        """Return norms of what the same sums weigh the rows by; all but the squares at most.

        A range is the difference of two prefixes, of which each weighs rows as all do.
        """
        sizes = np.concatenate([[0.0], np.cumsum(np.abs(self._rows))])
        sums = sizes[highs] + sizes[lows]
        squares = self.variance(lows, highs) / self.noise
        largest = np.minimum(np.sqrt(squares), 2 * np.abs(self._rows).max())
        return Norms(sums[None], squares[None], (squares * largest**2)[None], largest[None])

    def variance_of(self, weights: Floats) -> float:
        """Return the variance of a weighted sum of all cells."""
        from scipy.signal import fftconvolve

        # Sums of cells are differences of prefixes: weight of a prefix is the step of the weights.
        steps = weights - np.append(weights[1:], 0.0)
        rows = fftconvolve(steps[::-1], self._rows)[: self.cells]
        return float(self.noise * (rows**2).sum())


@lru_cache(maxsize=8)
def _inverted(column: tuple[int, ...]) -> Floats:
    """Return what a prefix weighs the rows up to it by, from the last back."""
    from scipy.linalg import solve_triangular, toeplitz

    lower = np.tril(toeplitz(np.array(column, np.float64)))
    made = np.asarray(solve_triangular(lower, np.ones(len(column)), lower=True))
    made.flags.writeable = False
    return made
