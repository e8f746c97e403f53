"""The best cells that noisy sums allow, and how far sums of them may be off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.ranges.dense import Dense
from sfumato.ranges.haar import Haar
from sfumato.ranges.measured import Measured, fourth, variance
from sfumato.ranges.norms import Norms
from sfumato.ranges.tail import BROAD, chernoff, factor, unweighted
from sfumato.ranges.tree import Tree
from sfumato.ranges.triangle import Triangle
from sfumato.relation.linear import Strategy
from sfumato.relation.matrix import Blocks, Buckets, Explicit, Halves, Toeplitz, Waves
from sfumato.release import law
from sfumato.release.error import Noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Model = Tree | Haar | Triangle | Dense

_WORK = 2**26  # weights that are computed for one call; beyond, only variances are
_AT_ONCE = 2**16  # sums of which the norms are held at once
_NEAR = 0.2  # excess kurtosis below which a sum has so many terms that it is nearly normal
_FAR = 0.9999  # confidence above which no quantile is taken from variance and kurtosis


def model(strategies: Sequence[Strategy], noises: Sequence[Noise]) -> Model:
    """Return how cells follow from noisy sums: what these matrices call for.

    Args:
        strategies: what is measured: levels of blocks from the leaves up; or the total and halves
            of blocks, from the narrowest up; or one other matrix.
        noises: the noise on each.

    Raises:
        InputError: nothing is known for these matrices together.
    """
    spread = [variance(noise) for noise in noises]
    first, rest = strategies[0], strategies[1:]
    if all(isinstance(each, Blocks | Buckets) for each in strategies):
        return Tree([_edges(each) for each in strategies], spread)
    halves = [each.width for each in rest if isinstance(each, Halves)]
    if isinstance(first, Blocks) and len(halves) == len(rest):
        return Haar(first.columns, halves, spread)
    if isinstance(first, Toeplitz) and not rest:
        return Triangle(first.column, spread[0])
    if isinstance(first, Explicit | Waves) and not rest:
        return Dense(first.array, spread[0])
    raise InputError("no way is known to compute cells from these measurements.")


@dataclass(frozen=True)
class Solution:
    """The cells, and how far they may be off.

    Attributes:
        measured: the noisy sums.
        rule: ``"unbiased"``, or ``"nonnegative"`` where no cell may be below 0, or ``"whole"``
            where cells are whole numbers as well.
    """

    measured: tuple[Measured, ...]
    rule: str = "unbiased"

    @cached_property
    def model(self) -> Model:
        """How cells follow from noisy sums."""
        return model([m.matrix for m in self.measured], [m.noise for m in self.measured])

    @cached_property
    def cells(self) -> Floats:
        """The estimates."""
        drawn, found = [m.array for m in self.measured], self.model
        if isinstance(found, Tree):
            sums = found.fit if self.rule == "unbiased" else found.nonnegative
            widths = np.diff(found.leaves)
            cells = np.repeat(sums(drawn)[0] / widths, widths)
        elif isinstance(found, Haar):
            cells = found.fit(float(drawn[0][0]), drawn[1:])
        else:
            cells = found.fit(drawn[0])
        if self.rule != "unbiased" and not isinstance(found, Tree):
            cells = shifted(cells)
        if self.rule == "whole":
            cells = rounded(cells)
        return cells

    @cached_property
    def prefixes(self) -> Floats:
        """The sums of the first cells: of none, of one, and so on."""
        return np.concatenate([[0.0], np.cumsum(self.cells)])

    def sums(self, lows: Integers, highs: Integers) -> Floats:
        """Return the sums of the cells from each low to below each high."""
        return np.asarray(self.prefixes[highs] - self.prefixes[lows])

    def reach(self, lows: Integers, highs: Integers, confidence: float) -> Floats:
        """Return how far each of these sums may be off, by noise alone."""
        return reach(self.model, [m.noise for m in self.measured], lows, highs, confidence)

    def near(self, lows: Integers, highs: Integers, confidence: float) -> NDArray[np.bool_]:
        """Say which of these sums have half-widths that are multiples of standard deviations."""
        return near(self.model, [m.noise for m in self.measured], lows, highs, confidence)


def reach(
    found: Model, noises: Sequence[Noise], lows: Integers, highs: Integers, confidence: float
) -> Floats:
    """Return the half-width of the intervals of sums of cells.

    Where noise is several counts wide, or a sum has many terms, it is that of a continuous law with
    the same variance and kurtosis, and half a step of the widest lattice more. Otherwise it is the
    lesser of two bounds: each noise is replaced by a continuous one that is farther from 0
    (`release.law.peaked`), and half of all weights is added; or Chernoff's. Far out in the tail it
    is a bound always.

    Theorem: docs/theory/strategies.md, theorem 5
    """
    lows, highs = np.asarray(lows, np.int64), np.asarray(highs, np.int64)
    if _beyond(found, len(lows)):
        return unweighted(noises, found.variance(lows, highs), confidence)
    out = np.empty(len(lows))
    for here in _slices(len(lows)):
        low, high = lows[here], highs[here]
        whole = np.zeros(len(low), np.bool_)
        if isinstance(found, Tree):
            whole = _whole(found, low) & _whole(found, high)
        norms, spread = found.norms(low, high), found.variance(low, high)
        out[here] = widths(norms, spread, noises, confidence, whole)
    return out


def near(
    found: Model, noises: Sequence[Noise], lows: Integers, highs: Integers, confidence: float
) -> NDArray[np.bool_]:
    """Return which sums have half-widths that are multiples of their standard deviations, nearly.

    Those of broad noise are, and up to a confidence those of so many terms that they are nearly
    normal. Others go by whole steps.
    """
    if min(variance(noise) for noise in noises) >= BROAD:
        return np.ones(len(lows), np.bool_)
    out = np.zeros(len(lows), np.bool_)
    if confidence > _FAR or _beyond(found, len(lows)):
        return out
    for here in _slices(len(lows)):
        low, high = lows[here], highs[here]
        kurtosis = _kurtosis(found.norms(low, high), found.variance(low, high), noises)
        out[here] = kurtosis < _NEAR
    return out


def widths(
    norms: Norms,
    spread: Floats,
    noises: Sequence[Noise],
    confidence: float,
    whole: NDArray[np.bool_],
) -> Floats:
    """Return the half-widths of intervals of sums.

    Args:
        norms: of the weights of each noise in the sums.
        spread: the variances of the sums.
        noises: the noise of each level.
        confidence: of the intervals.
        whole: which sums are of whole leaves.
    """
    kurtosis = _kurtosis(norms, spread, noises)
    smooth = factor(confidence, kurtosis) * np.sqrt(spread)
    # Each noise farther from 0, and all that its steps can add.
    peaked = np.array([law.peaked(n) ** 2 * (2 if n.kind == "laplace" else 1) for n in noises])
    tails = np.array([12 * law.peaked(n) ** 4 * (n.kind == "laplace") for n in noises])
    wide = peaked @ norms.squares
    heavy = _ratio(tails @ norms.fourths, wide**2)
    safe = factor(confidence, heavy) * np.sqrt(wide) + norms.sums.sum(axis=0) / 2
    far = confidence > _FAR
    if far and tails.any():  # a mixture of Laplace terms has a heavier tail than its kurtosis tells
        safe[:] = np.inf
    broad = min(variance(noise) for noise in noises) >= BROAD
    smoothed = np.full(len(spread), not far) & (broad | (kurtosis < _NEAR))
    few = np.flatnonzero(~smoothed)
    if few.size:
        tight = chernoff(noises, norms.squares[:, few], norms.largest[:, few], 1 - confidence)
        safe[few] = np.minimum(safe[few], tight)
    width = np.minimum(np.where(smoothed, smooth + norms.largest.max(axis=0) / 2, safe), safe)
    if len(noises) == 1:  # errors of whole leaves are whole numbers
        width = np.where(whole, np.minimum(np.floor(safe), np.floor(width + 0.5)), width)
        one = whole & (norms.sums[0] == norms.largest[0])
        width = np.where(one, law.reach(noises[0], 1 - confidence), width)
    return np.asarray(np.where(spread > 0, width, 0.0))


def _beyond(found: Model, sums: int) -> bool:
    """Say whether so many sums would take too many weights. Only trees compute each of them."""
    return isinstance(found, Tree) and found.rows * sums > _WORK


def _slices(sums: int) -> Iterator[slice]:
    """Yield parts of so many sums, so that what is computed for one of them fits into memory."""
    return (slice(start, start + _AT_ONCE) for start in range(0, sums, _AT_ONCE))


def _kurtosis(norms: Norms, spread: Floats, noises: Sequence[Noise]) -> Floats:
    """Return the excess kurtosis of sums of these variances."""
    return _ratio(np.array([fourth(noise) for noise in noises]) @ norms.fourths, spread**2)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros(len(below)), where=below > 0)


def shifted(cells: Floats) -> Floats:
    """Return the nearest cells that are not negative and have the same total, if that is above 0.

    All cells are lowered by one amount, and those that would be negative are 0.
    """
    total = max(float(cells.sum()), 0.0)
    ranked = np.sort(cells)[::-1]
    excess = (np.cumsum(ranked) - total) / np.arange(1, len(cells) + 1)
    last = np.flatnonzero(ranked > excess)
    by = float(excess[last[-1]]) if last.size else float(ranked[0])
    return np.maximum(cells - by, 0.0)


def rounded(cells: Floats) -> Floats:
    """Return whole cells of which every prefix is the rounded one, so that no range is off by 1."""
    return np.diff(np.rint(np.cumsum(cells)), prepend=0.0)


def _whole(found: Tree, bounds: Integers) -> NDArray[np.bool_]:
    return np.isin(bounds, found.leaves)


def _edges(matrix: Strategy) -> Integers:
    if isinstance(matrix, Buckets):
        return np.array(matrix.edges, np.int64)
    if not isinstance(matrix, Blocks):  # only these have edges
        raise InputError("only blocks and buckets have edges.")
    return np.append(np.arange(0, matrix.columns, matrix.width), matrix.columns)
