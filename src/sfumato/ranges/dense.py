"""Noisy rows of any small matrix, by least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.norms import Norms

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Dense:
    """The cells as weighted sums of noisy rows.

    Where the rows leave something of the cells open, the shortest cells are taken that fit.

    Theorem: docs/theory/strategies.md, theorem 1

    Attributes:
        matrix: what was measured.
        noise: the variance on each row.
    """

    def __init__(self, matrix: NDArray[np.int64], noise: float) -> None:
        """Find the pseudoinverse, and the weights of each prefix."""
        self.matrix, self.noise = matrix, noise
        self._inverse = np.linalg.pinv(matrix.astype(np.float64))
        self._prefixes = np.vstack([np.zeros(matrix.shape[0]), np.cumsum(self._inverse, axis=0)])

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return int(self.matrix.shape[1])

    def fit(self, values: NDArray[np.generic]) -> Floats:
        """Return the cells."""
        return np.asarray(self._inverse @ np.asarray(values, np.float64))

    def variance(self, lows: Integers, highs: Integers) -> Floats:
        """Return the variance of the sums of the cells from each low to below each high."""
        return np.asarray(self.noise * self.norms(lows, highs).squares[0])

    def norms(self, lows: Integers, highs: Integers) -> Norms:
        """Return the norms of what the same sums weigh the rows by; a slice of them at a time."""
        out = np.empty((4, 1, len(lows)))
        some = max(1, 2**21 // len(self.matrix))
        for start in range(0, len(lows), some):
            here = slice(start, start + some)
            weights = np.abs(self._prefixes[highs[here]] - self._prefixes[lows[here]])
            squares = weights**2
            out[0, 0, here], out[1, 0, here] = weights.sum(axis=1), squares.sum(axis=1)
            out[2, 0, here], out[3, 0, here] = (squares**2).sum(axis=1), weights.max(axis=1)
        return Norms(*out)

    def variance_of(self, weights: Floats) -> float:
        """Return the variance of a weighted sum of all cells."""
        return float(self.noise * ((weights @ self._inverse) ** 2).sum())
