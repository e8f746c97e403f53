"""Shares of all rows, and the values at which they are reached, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.solution import Solution

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# What floats may be off, in parts of a count: where they are products of whole numbers, and where
# least squares add up a million cells.
_ROUNDED, _COMPUTED = 1e-14, 1e-9


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
    solution: Solution, wanted: Sequence[Fraction], confidence: float
) -> tuple[Integers, Integers, Integers]:
    """Return the cell in which each share of the rows is reached, and its interval.

    The share 0 is reached by the first row, as 1 is by the last. A share that is reached exactly is
    reached, whatever floats round it to.

    Args:
        solution: the cells.
        wanted: the shares, as exact as they were asked for.
        confidence: the probability of each interval.
    """
    size = solution.model.cells
    stops = np.arange(1, size + 1)
    part, rest = solution.sums(*_below(stops)), solution.sums(*_above(stops, size))
    unbiased = Solution(solution.measured)
    mean, more = unbiased.sums(*_below(stops)), unbiased.sums(*_above(stops, size))
    found_off, drawn_off = _rounding(part, rest), _rounding(mean, more)
    a, b, both = _squared(solution, stops, confidence)
    out = []
    for share in wanted:
        if not share:
            width = np.sqrt(np.maximum(a, 0.0)) + drawn_off
            out.append(_first(part - found_off, rest - found_off, mean, width))
            continue
        reached = np.maximum.accumulate(_gap(share, part, rest, found_off)) >= 0
        cell = int(reached.argmax()) if reached.any() else size - 1
        gap, q, left = _gap(share, mean, more, drawn_off), float(share), float(1 - share)
        width = np.sqrt(np.maximum(left**2 * a + q**2 * b - 2 * q * left * both, 0.0)) + drawn_off
        possible = np.flatnonzero(gap + width >= 0)
        # Counts are whole, so that a share that is not reached is short by this much at least.
        short = np.flatnonzero(gap - width <= -1 / share.denominator)
        low = int(possible[0]) if possible.size else size - 1
        high = min(int(short[-1]) + 1, size - 1) if short.size else 0
        out.append((cell, min(low, cell), max(high, cell)))
    found = np.array(out, np.int64).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]


def _gap(share: Fraction, part: Floats, rest: Floats, off: Floats) -> Floats:
    """Return how much more there is up to each cell than a share of all: exactly 0 at the share.

    Args:
        share: of all.
        part: the count up to each cell.
        rest: the count above it.
        off: how far floats may be off. What is no farther from 0 is computed exactly where counts
            are whole, and is 0 elsewhere.
    """
    gap: Floats = float(1 - share) * part - float(share) * rest
    unclear = np.flatnonzero(np.abs(gap) <= off)
    gap[unclear] = 0.0
    if _are_whole(part, rest):
        over, under = share.denominator - share.numerator, share.numerator
        for i in unclear.tolist():
            gap[i] = (over * int(part[i]) - under * int(rest[i])) / share.denominator
    return gap


def _rounding(part: Floats, rest: Floats) -> Floats:
    """Return how far floats may be off: of whole numbers only by what products are rounded."""
    return (_ROUNDED if _are_whole(part, rest) else _COMPUTED) * (np.abs(part) + np.abs(rest))


def _are_whole(*columns: Floats) -> bool:
    return all(bool((column == np.rint(column)).all()) for column in columns)


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

    Half-widths of broad noise and of nearly normal sums are multiples of standard deviations, and
    two parts share as much of them as of those. Other half-widths are whole steps, which do not add
    up like that: then each part is within its own with half of the doubt, whatever they share.
    """
    size = solution.model.cells
    parts = (_below(stops), _above(stops, size))
    near = np.logical_and(*(solution.near(*part, confidence) for part in parts))
    below, above = np.empty(len(stops)), np.empty(len(stops))
    for some, sure in ((near, confidence), (~near, (1 + confidence) / 2)):
        for (lows, highs), width in zip(parts, (below, above), strict=True):
            width[some] = solution.reach(lows[some], highs[some], sure)
    shared = np.where(near, _correlation(solution, stops), -1.0)
    return below**2, above**2, shared * below * above


def _correlation(solution: Solution, stops: Integers) -> Floats:
    """Return that of the noise below each cell and above it."""
    size, variance = solution.model.cells, solution.model.variance
    below, above = variance(*_below(stops)), variance(*_above(stops, size))
    whole = variance(np.array([0]), np.array([size]))
    product = np.sqrt(below * above)
    shared = np.divide(
        (whole - below - above) / 2, product, out=np.zeros(len(stops)), where=product > 0
    )
    return np.clip(shared, -1.0, 1.0)


def _below(stops: Integers) -> tuple[Integers, Integers]:
    return np.zeros(len(stops), np.int64), stops


def _above(stops: Integers, size: int) -> tuple[Integers, Integers]:
    return stops, np.full(len(stops), size)


def _share(part: Floats, rest: Floats) -> Floats:
    whole = part + rest
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(whole > 0, part / whole, 0.0)
    return np.clip(found, 0.0, 1.0)
