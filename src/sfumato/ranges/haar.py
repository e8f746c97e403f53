"""Noisy differences of halves, in blocks of all sizes: the Haar wavelet, inverted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.norms import Norms

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Haar:
    """The total of all cells, and the differences of the halves of blocks in blocks.

    The rows of the matrix are orthogonal, so that each range rests on the total and on two
    differences of each level at most.

    Theorem: docs/theory/strategies.md, theorem 2

    Attributes:
        cells: how many cells there are.
        sizes: the widths of the blocks, from 2 up, each twice the one before.
        variances: of the noise on the total, then on the differences of each width.
    """

    def __init__(self, cells: int, sizes: Sequence[int], variances: Sequence[float]) -> None:
        """Hold the sizes."""
        self.cells, self.sizes, self.variances = cells, tuple(sizes), tuple(variances)

    def fit(self, total: float, differences: Sequence[NDArray[np.generic]]) -> Floats:
        """Return the cells, from the top down.

        Args:
            total: the noisy total.
            differences: those of each width, in the order of the sizes.
        """
        sums = np.array([total], np.float64)
        for drawn in reversed(differences):
            known = np.zeros(len(sums))
            known[: len(drawn)] = drawn
            sums = np.stack([(sums + known) / 2, (sums - known) / 2], axis=1).ravel()
        return sums[: self.cells]

    def variance(self, lows: Integers, highs: Integers) -> Floats:
        """Return the variance of the sums of the cells from each low to below each high."""
        out = np.zeros(len(lows))
        for variance, weights in zip(self.variances, self._weights(lows, highs), strict=True):
            out += variance * (weights**2).sum(axis=0)
        return out

    def norms(self, lows: Integers, highs: Integers) -> Norms:
        """Return the norms of what the same sums weigh each level by: two blocks of it at most."""
        out = np.empty((4, len(self.variances), len(lows)))
        for level, weights in enumerate(self._weights(lows, highs)):
            pair = np.abs(weights)
            out[0, level], out[1, level] = pair.sum(axis=0), (pair**2).sum(axis=0)
            out[2, level], out[3, level] = (pair**4).sum(axis=0), pair.max(axis=0)
        return Norms(*out)

    def variance_of(self, weights: Floats) -> float:
        """Return the variance of a weighted sum of all cells."""
        whole = 2 ** len(self.sizes)
        padded = np.pad(weights, (0, whole - self.cells))
        out = (padded.sum() / whole) ** 2 * self.variances[0]
        for size, variance in zip(self.sizes, self.variances[1:], strict=True):
            halves = padded.reshape(-1, 2, size // 2).sum(axis=2)
            out += (((halves[:, 0] - halves[:, 1]) / size) ** 2).sum() * variance
        return float(out)

    def _weights(self, lows: Integers, highs: Integers) -> Iterator[Floats]:
        """Yield what each sum weighs the total by, then a first and a last block of each width."""
        lows, highs = np.asarray(lows, np.int64), np.asarray(highs, np.int64)
        some = highs > lows
        yield np.where(some, (highs - lows) / 2.0 ** len(self.sizes), 0.0)[None, :]
        for size in self.sizes:
            first, last = lows // size, (highs - 1) // size
            pair = []
            for block, counts in ((first, some), (last, some & (last > first))):
                start = block * size
                inside = [
                    np.clip(highs, start + shift, start + shift + size // 2)
                    - np.clip(lows, start + shift, start + shift + size // 2)
                    for shift in (0, size // 2)
                ]
                pair.append(np.where(counts, (inside[0] - inside[1]) / size, 0.0))
            yield np.array(pair)
