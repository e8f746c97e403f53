"""Shares of all rows, and the values at which they are reached, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.measured import variance
from sfumato.ranges.solution import Solution
from sfumato.ranges.tail import BROAD

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def shares(solution: Solution, stops: Integers, confidence: float) -> tuple[Floats, ...]:
    """Return the share of the rows below each cell, and its interval.

    The interval holds the shares s for which the count below, less s times the total, is no further
    from 0 than its noise reaches; the noise in common is counted once.

    Args:
        solution: the cells.
        stops: the cells.
        confidence: the probability of each interval.
    """
    size = solution.model.cells
    value = _share(solution.sums(*_below(stops)), solution.sums(*_above(stops, size)))
    unbiased = Solution(solution.measured)
    part, rest = unbiased.sums(*_below(stops)), unbiased.sums(*_above(stops, size))
    a, b, both = _squared(solution, stops, confidence)
    # |part - s(part + rest)|² <= a(1-s)² + b s² - 2 s(1-s) both: a quadratic in s.
    whole = part + rest
    square = whole**2 - (a + b + 2 * both)
    middle = part * whole - (a + both)
    left = part**2 - a
    root = np.sqrt(np.maximum(middle**2 - square * left, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(square > 0, (middle - root) / square, 0.0)
        high = np.where(square > 0, (middle + root) / square, 1.0)
    low = np.clip(np.nan_to_num(low), 0.0, 1.0)
    high = np.clip(np.nan_to_num(high, nan=1.0), 0.0, 1.0)
    return value, np.minimum(low, value), np.maximum(high, value)


def cells_of(
    solution: Solution, wanted: Sequence[float], confidence: float
) -> tuple[Integers, Integers, Integers]:
    """Return the cell in which each share of the rows is reached, and its interval.

    The share 0 is reached by the first row, as 1 is by the last.

    Args:
        solution: the cells.
        wanted: the shares.
        confidence: the probability of each interval.
    """
    size = solution.model.cells
    stops = np.arange(1, size + 1)
    part, rest = solution.sums(*_below(stops)), solution.sums(*_above(stops, size))
    unbiased = Solution(solution.measured)
    mean, more = unbiased.sums(*_below(stops)), unbiased.sums(*_above(stops, size))
    a, b, both = _squared(solution, stops, confidence)
    out = []
    for q in wanted:
        if not q:
            out.append(_first(part, rest, mean, np.sqrt(np.maximum(a, 0.0))))
            continue
        reached = np.maximum.accumulate((1 - q) * part - q * rest) >= 0
        cell = int(reached.argmax()) if reached.any() else size - 1
        gap = (1 - q) * mean - q * more
        width = np.sqrt(np.maximum((1 - q) ** 2 * a + q**2 * b - 2 * q * (1 - q) * both, 0.0))
        possible = np.flatnonzero(gap + width >= 0)
        short = np.flatnonzero(gap - width < 0)
        low = int(possible[0]) if possible.size else size - 1
        high = min(int(short[-1]) + 1, size - 1) if short.size else 0
        out.append((cell, min(low, cell), max(high, cell)))
    found = np.array(out, np.int64).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


def _first(part: Floats, rest: Floats, mean: Floats, width: Floats) -> tuple[int, int, int]:
    """Return the cell of the lowest row, and its interval.

    Args:
        part: the count up to each cell.
        rest: the count above it.
        mean: the count up to it, before any rule.
        width: how far that may be off.
    """
    # In front of the lowest row is nobody. What is found for it is never above the highest one.
    highest = int((rest <= 0).argmax()) if (rest <= 0).any() else len(part) - 1
    cell = min(int(np.flatnonzero(np.append(0.0, part[:-1]) <= 0)[-1]), highest)
    occupied = np.flatnonzero(mean + width >= 1)
    low = int(occupied[0]) if occupied.size else len(part) - 1
    high = int(np.flatnonzero(np.append(0.0, (mean - width)[:-1]) <= 0)[-1])
    return cell, min(low, cell), max(high, cell)


def _squared(solution: Solution, stops: Integers, confidence: float) -> tuple[Floats, ...]:
    """Return squared half-widths of the parts below and above, and the product they share.

    Half-widths of broad noise are multiples of standard deviations, and what two parts share shows
    in that of their sum. Those of narrow noise are whole steps, which do not add up like that: then
    each part is within its own with half of the doubt, whatever they share.
    """
    size = solution.model.cells
    narrow = min(variance(m.noise) for m in solution.measured) < BROAD
    sure = (1 + confidence) / 2 if narrow else confidence
    below = solution.reach(*_below(stops), sure) ** 2
    above = solution.reach(*_above(stops, size), sure) ** 2
    if narrow:
        return below, above, -np.sqrt(below * above)
    whole = solution.reach(np.array([0]), np.array([size]), confidence) ** 2
    return below, above, (whole - below - above) / 2


def _below(stops: Integers) -> tuple[Integers, Integers]:
    return np.zeros(len(stops), np.int64), stops


def _above(stops: Integers, size: int) -> tuple[Integers, Integers]:
    return stops, np.full(len(stops), size)


def _share(part: Floats, rest: Floats) -> Floats:
    whole = part + rest
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(whole > 0, part / whole, 0.0)
    return np.clip(found, 0.0, 1.0)
