"""Blocks in blocks of cells, each level with noise of its own: least squares and exact variances.

One structure serves every tree: of even or uneven fanout, with a root or without, over cells or
over buckets of cells. Nothing here is private; noisy sums go in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.norms import Norms

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_AT_ONCE = 2**21  # weights that are held at once


class Tree:
    """Levels of blocks, from the leaves to the top, and how noisy the sums of each level are.

    Within a leaf all cells are taken to be equal. Above the top level stands a root that nobody
    measured.

    Theorem: docs/theory/strategies.md, theorem 3

    Attributes:
        edges: for each level where its blocks begin and end, in cells; each level's edges are among
            those of the level below.
        variances: of the noise on each sum of a level.
    """

    def __init__(self, edges: Sequence[Integers], variances: Sequence[float]) -> None:
        """Find out how the blocks of each level lie in those of the next, and how they weigh."""
        ends = np.array([0, edges[0][-1]])
        self.edges = tuple(np.asarray(level, np.int64) for level in (*edges, ends))
        self.variances = tuple(variances)
        self._starts = [
            np.searchsorted(below, above[:-1])
            for below, above in zip(self.edges, self.edges[1:], strict=False)
        ]
        self._parents = [
            np.repeat(np.arange(len(start)), np.diff([*start, len(below) - 1]))
            for start, below in zip(self._starts, self.edges, strict=False)
        ]
        self._own: list[Floats] = [np.full(len(self.edges[0]) - 1, self.variances[0])]
        self._sums: list[Floats] = []
        for level, start in enumerate(self._starts, 1):
            together = np.add.reduceat(self._own[-1], start)
            self._sums.append(together)
            if level < len(self.variances):
                self._own.append(1 / (1 / together + 1 / self.variances[level]))
        self._own.append(self._sums[-1])

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return int(self.edges[0][-1])

    @property
    def leaves(self) -> Integers:
        """Where the leaves begin and end."""
        return self.edges[0]

    def fit(self, sums: Sequence[NDArray[np.generic]]) -> list[Floats]:
        """Return the least-squares sums of all blocks, level by level: they add up.

        Args:
            sums: the noisy sums of each level, from the leaves to the top.
        """
        return self._down(*self._up([np.asarray(level, np.float64) for level in sums]))

    def nonnegative(self, sums: Sequence[NDArray[np.generic]]) -> list[Floats]:
        """Return sums that add up and of which none is negative, from the top down.

        The children of a block are those nearest to what is known of them, in the measure of their
        variances, among all that are not negative and add up to the block.
        """
        means, _ = self._up([np.asarray(level, np.float64) for level in sums])
        out = [np.maximum(means[-1], 0.0)]
        for level in range(len(self._starts) - 1, -1, -1):
            out.append(self._shared(level, means[level], out[-1]))
        return out[::-1]

    def variance(self, lows: Integers, highs: Integers) -> Floats:
        """Return the variance of the sums of the cells from each low to below each high."""
        left, below = self._leaf(np.asarray(lows, np.int64))
        right, until = self._leaf(np.asarray(highs, np.int64))
        after, before = 1 - below, until  # of a block, what is at the right of low, left of high
        one = left == right
        inside = np.where(one, until - below, 0.0)
        spent = np.zeros(left.shape)
        for own, together, parent in self._levels():
            total = np.concatenate([[0.0], np.cumsum(own)])
            start = np.searchsorted(parent, np.arange(len(together)))
            last = np.append(start[1:], len(parent))
            up_left, up_right = parent[left], parent[right]
            meet = ~one & (up_left == up_right)
            apart = ~one & ~meet
            # One block: its share of the parent.
            share = inside * own[left]
            # Two blocks that meet in one parent, all between them whole; or each goes up alone.
            between = total[right] - total[left + 1]
            both = after * own[left] + before * own[right]
            square = after**2 * own[left] + before**2 * own[right]
            to_left = total[last[up_left]] - total[left + 1]
            to_right = total[right] - total[start[up_right]]
            sum_left, sum_right = after * own[left] + to_left, before * own[right] + to_right
            spent += np.where(
                one,
                inside * share - share**2 / together[up_left],
                np.where(
                    meet,
                    square + between - (both + between) ** 2 / together[up_left],
                    after**2 * own[left]
                    + to_left
                    - sum_left**2 / together[up_left]
                    + before**2 * own[right]
                    + to_right
                    - sum_right**2 / together[up_right],
                ),
            )
            inside = np.where(one, share, both + between) / together[up_left]
            after = np.where(apart, sum_left / together[up_left], 0.0)
            before = np.where(apart, sum_right / together[up_right], 0.0)
            left, right, one = up_left, up_right, one | meet
        return np.asarray(np.maximum(spent + inside**2 * self._own[-1][0], 0.0))

    def variance_of(self, weights: Floats) -> float:
        """Return the variance of a weighted sum of all cells."""
        share = np.add.reduceat(weights, self.leaves[:-1]) / np.diff(self.leaves)
        spent = 0.0
        for level, start in enumerate(self._starts):
            own, together = self._own[level], self._sums[level]
            part = np.add.reduceat(share * own, start)
            spent += float((share**2 * own).sum() - (part**2 / together).sum())
            share = part / together
        return spent + float(share[0] ** 2 * self._own[-1][0])

    def variance_at(self, leaves: Integers, shares: Floats) -> float:
        """Return the variance of a weighted sum of some leaves.

        Args:
            leaves: which ones, increasing.
            shares: how much of each.
        """
        spent, place, share = 0.0, leaves, shares
        if not place.size:
            return 0.0
        for own, together, parent in self._levels():
            up = parent[place]
            starts = np.flatnonzero(np.diff(up, prepend=-1))
            up = up[starts]
            weighed = share * own[place]
            part = np.add.reduceat(weighed, starts)
            spent += float((share * weighed).sum() - (part**2 / together[up]).sum())
            place, share = up, part / together[up]
        return max(spent + float(share[0] ** 2 * self._own[-1][0]), 0.0)

    @property
    def rows(self) -> int:
        """How many weights are computed to know the norms of one sum."""
        return sum(len(level) for level in self.edges) if len(self.variances) > 1 else 1

    def norms(self, lows: Integers, highs: Integers) -> Norms:
        """Return the norms of what the same sums weigh each level by; a slice of them at a time."""
        if len(self.variances) == 1:
            return self._norms_of_one_level(lows, highs)
        some = max(1, _AT_ONCE // self.rows)
        found = [
            self._norms(
                self._covered(lows[start : start + some])
                - self._covered(highs[start : start + some])
            )
            for start in range(0, max(len(lows), 1), some)
        ]
        return Norms(*np.concatenate(found, axis=2).swapaxes(0, 1))

    def norms_at(self, shares: Floats) -> Norms:
        """Return the norms of what weighted sums of the leaves weigh each level by.

        Args:
            shares: a row for each leaf, and a column for each sum.
        """
        return Norms(*self._norms(shares).swapaxes(0, 1))

    def _norms_of_one_level(self, lows: Integers, highs: Integers) -> Norms:
        """Return the norms where leaves alone are measured: all weigh 1 but the two at the ends."""
        left, below = self._leaf(lows)
        right, until = self._leaf(highs)
        one = left == right
        first = np.where(one, until - below, 1 - below)
        last = np.where(one, 0.0, until)
        between = np.maximum(right - left - 1, 0)
        sums, squares, fourths = (first**k + between + last**k for k in (1, 2, 4))
        largest = np.where(between > 0, 1.0, np.maximum(first, last))
        return Norms(sums[None], squares[None], fourths[None], largest[None])

    def _norms(self, shares: Floats) -> Floats:
        return np.array(
            [
                (np.abs(level).sum(0), (level**2).sum(0), (level**4).sum(0), np.abs(level).max(0))
                for level in self._weights(shares)
            ]
        )

    def _weights(self, share: Floats) -> list[Floats]:
        """Return the weight of each noisy sum in weighted sums of the leaves."""
        first = share * self.variances[0]
        zeros = [np.zeros((len(level) - 1, share.shape[1])) for level in self.edges[1 : -1 or None]]
        fitted = self._down(*self._up([first, *zeros]))
        return [level / variance for level, variance in zip(fitted, self.variances, strict=False)]

    def _covered(self, bounds: Integers) -> Floats:
        """Return the share of each leaf that lies at or beyond each bound."""
        widths = np.diff(self.leaves)
        part: Floats = (self.leaves[1:, None] - bounds[None, :]) / widths[:, None]
        return np.clip(part, 0.0, 1.0)

    def _leaf(self, bounds: Integers) -> tuple[Integers, Floats]:
        """Return the leaf in which each bound lies, and the share of it that is below."""
        leaf = np.searchsorted(self.leaves, bounds, side="right") - 1
        leaf = np.clip(leaf, 0, len(self.leaves) - 2)
        below = (bounds - self.leaves[leaf]) / (self.leaves[leaf + 1] - self.leaves[leaf])
        return leaf, below

    def _levels(self) -> list[tuple[Floats, Floats, Integers]]:
        return list(zip(self._own, self._sums, self._parents, strict=False))

    def _up(self, sums: list[Floats]) -> tuple[list[Floats], list[Floats]]:
        """Return what each block and the blocks below tell of it; and what its children tell."""
        means, together = [sums[0]], []
        for level, start in enumerate(self._starts, 1):
            children = np.add.reduceat(means[-1], start, axis=0)
            together.append(children)
            if level < len(self.variances):
                own, below = self._column(self._own[level], children), self._sums[level - 1]
                below = self._column(below, children)
                means.append(own * (children / below + sums[level] / self.variances[level]))
        means.append(together[-1])
        return means, together

    def _down(self, means: list[Floats], together: list[Floats]) -> list[Floats]:
        """Share what each block differs from its children among them, by their variances."""
        out = [means[-1]]
        for level in range(len(self._starts) - 1, -1, -1):
            parent = self._parents[level]
            gain = self._own[level] / self._sums[level][parent]
            gap = (out[-1] - together[level])[parent]
            out.append(means[level] + self._column(gain, gap) * gap)
        return out[::-1]

    def _shared(self, level: int, means: Floats, above: Floats) -> Floats:
        """Return children that are not negative: those that would be are set to 0, and again."""
        parent, own = self._parents[level], self._own[level]
        start, count = self._starts[level], len(self._starts[level])
        free = np.ones(len(means), np.bool_)
        for _ in range(len(means)):
            weight = np.where(free, own, 0.0)
            spare = above - np.add.reduceat(np.where(free, means, 0.0), start)
            whole = np.add.reduceat(weight, start)
            step = np.divide(spare, whole, out=np.zeros(count), where=whole > 0)
            found = np.where(free, means + own * step[parent], 0.0)
            if not (found < 0).any():
                break
            free &= found >= 0
        return np.maximum(found, 0.0)

    @staticmethod
    def _column(values: Floats, like: Floats) -> Floats:
        return values if like.ndim == 1 else values[:, None]
