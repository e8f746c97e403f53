"""Counts of the leaves of a map from noisy sums of its levels, and how far sums may be off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sfumato.ranges.measured import variance
from sfumato.ranges.solution import widths
from sfumato.ranges.tail import unweighted
from sfumato.ranges.tree import Tree
from sfumato.release import law
from sfumato.release.error import Noise
from sfumato.spatial.box import Floats
from sfumato.spatial.decomposition import Integers

_WORK = 2**22  # weights that are computed; beyond, only variances are


class Solution:
    """The least-squares counts of the leaves.

    Args:
        starts: for each level where its blocks begin among the leaves, and how many leaves there
            are; from the leaves up.
        noises: the noise on each level.
        sums: the noisy sums of each level.
    """

    def __init__(
        self, starts: Sequence[Integers], noises: Sequence[Noise], sums: Sequence[Floats]
    ) -> None:
        """Hold the sums."""
        self.starts, self.noises, self.sums = starts, noises, sums

    @cached_property
    def tree(self) -> Tree:
        """How the levels lie in one another."""
        return Tree(self.starts, [variance(noise) for noise in self.noises])

    @cached_property
    def levels(self) -> list[Floats]:
        """The counts of all blocks, level by level."""
        return self.tree.fit(self.sums)

    @property
    def counts(self) -> Floats:
        """The counts of the leaves, without bias."""
        return self.levels[0]

    def nonnegative(self) -> Floats:
        """Return counts of the leaves of which none is negative."""
        return self.tree.nonnegative(self.sums)[0]

    def pruned(self, least: float, areas: Floats) -> Floats:
        """Return counts where blocks below a count are taken to be even, from the top down.

        Args:
            least: the count.
            areas: of the leaves.
        """
        out = self.counts.copy()
        done = np.zeros(len(out), np.bool_)
        for level in range(len(self.levels) - 1, 0, -1):
            starts = self.tree.edges[level]
            small = np.repeat(self.levels[level] < least, np.diff(starts)) & ~done
            density = self.levels[level] / np.add.reduceat(areas, starts[:-1])
            out[small] = (np.repeat(density, np.diff(starts)) * areas)[small]
            done |= small
        return out

    @cached_property
    def variances(self) -> Floats:
        """The variance of the count of each leaf."""
        place = np.arange(len(self.starts[0]) - 1)
        return self.tree.variance(place, place + 1)

    def reach(self, weights: Sequence[tuple[Integers, Floats]], confidence: float) -> Floats:
        """Return how far weighted sums of leaves may be off, by noise alone.

        Args:
            weights: for each sum its leaves, increasing, and the share of each.
            confidence: of the interval.
        """
        spread = np.array([self.tree.variance_at(*each) for each in weights])
        leaves = len(self.starts[0]) - 1
        if leaves * len(weights) > _WORK:
            return unweighted(self.noises, spread, confidence)
        dense = np.zeros((leaves, len(weights)))
        whole = np.zeros(len(weights), np.bool_)
        for i, (places, shares) in enumerate(weights):
            dense[places, i], whole[i] = shares, bool((shares == 1).all())
        return widths(self.tree.norms_at(dense), spread, self.noises, confidence, whole)

    def reach_of_leaves(self, confidence: float) -> Floats:
        """Return how far the count of each leaf may be off, by noise alone."""
        if len(self.noises) == 1:
            return np.full(len(self.variances), float(law.reach(self.noises[0], 1 - confidence)))
        return unweighted(self.noises, self.variances, confidence)
