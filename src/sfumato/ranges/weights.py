"""How blocks nest and how much of the budget each level gets: the best for a workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.ranges.workload import Workload

Floats = NDArray[np.float64]

PARTS = 2**30  # shares of a budget are whole numbers of so many
_LEAST = 1e-4  # a level that would get less is not measured
_LARGEST = 64  # fanout
_STEPS = 40


def widths(cells: int, fanouts: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of the blocks of each level, from single cells up.

    A block that would hold all cells is as wide as they are.
    """
    out = [1]
    for fanout in fanouts:
        out.append(min(out[-1] * fanout, cells))
        if out[-1] == cells:
            break
    return tuple(dict.fromkeys(out))


def even(cells: int, fanout: int) -> tuple[int, ...]:
    """Return one fanout as often as it takes to hold all cells."""
    levels, reached = 0, 1
    while reached < cells:
        levels, reached = levels + 1, reached * fanout
    return (fanout,) * levels


def uniform(levels: int) -> Floats:
    """Give each level as much."""
    return np.full(levels, 1 / levels)


def geometric(levels: int) -> Floats:
    """Give each level, from the leaves up, less than the one below by the cube root of 2."""
    shares = 2.0 ** (-np.arange(levels) / 3)
    return np.asarray(shares / shares.sum())


def optimal(energies: Floats, sizes: Sequence[int], *, pure: bool) -> tuple[Floats, float]:
    """Return the shares of the levels that make the mean variance of a workload least.

    A level with the share s has precision s² where noise is in ε, and s where it is in ρ. With
    widths w the variance is the sum of (E_l - E_{l+1})/(sum over j <= l of w_j·precision_j).

    Theorem: docs/theory/strategies.md, theorem 2

    Args:
        energies: E for each level.
        sizes: the widths.
        pure: whether noise is measured in ε.

    Returns:
        The shares, and the sum of variances at a budget of 1.
    """
    from scipy.optimize import minimize

    gains = energies - np.append(energies[1:], 0.0)
    scale = np.array(sizes, np.float64)
    power = 0.5 if pure else 1.0

    def cost(logs: Floats) -> tuple[float, Floats]:
        precision = np.exp(logs)
        reached = np.cumsum(scale * precision)
        value = float((gains / reached).sum())
        slope = -scale * np.cumsum((gains / reached**2)[::-1])[::-1]
        spent = float((precision**power).sum())
        of_spent = power * precision**power / spent
        rate = 1 / power
        return rate * np.log(spent) + np.log(value), rate * of_spent + slope * precision / value

    start = np.zeros(len(scale)) if pure else -np.log(scale)
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(-40, 40)] * len(scale))
    shares = np.exp(found.x * power)
    return shares / shares.sum(), float(np.exp(found.fun))


@lru_cache(maxsize=256)
def best(workload: Workload, *, pure: bool) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Search fanouts, each with its best shares, by small changes to the best so far.

    Returns:
        The widths of the levels that are measured, and their shares.
    """
    found: dict[tuple[int, ...], tuple[float, Floats]] = {}

    def value(sizes: tuple[int, ...]) -> float:
        if sizes not in found:
            shares, cost = optimal(workload.energies(sizes), sizes, pure=pure)
            found[sizes] = cost, shares
        return found[sizes][0]

    for fanout in (2, 4, 8, 16, 32):
        value(widths(workload.cells, even(workload.cells, fanout)))
    top = min(found, key=value)
    for _ in range(_STEPS):
        nearest = min(_changed(workload.cells, top), key=value, default=top)
        if value(nearest) >= value(top) * (1 - 1e-6):
            break
        top = nearest
    return kept(top, found[top][1])


def kept(sizes: Sequence[int], shares: Floats) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Leave out levels that would get next to nothing; the leaves stay."""
    some = [i for i, share in enumerate(shares) if not i or share >= _LEAST]
    total = float(sum(shares[i] for i in some))
    return tuple(sizes[i] for i in some), tuple(float(shares[i]) / total for i in some)


def parts(shares: Sequence[float]) -> tuple[int, ...]:
    """Return shares as whole numbers, each at least 1, that add up to `PARTS`."""
    given = np.asarray(shares, np.float64)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given <= 0).any():
        raise InputError(
            "weights= gives each level a positive number, from the leaves up, or is 'uniform', "
            "'geometric' or 'optimal'."
        )
    whole = [max(1, int(share)) for share in given / given.sum() * PARTS]
    whole[whole.index(max(whole))] += PARTS - sum(whole)  # it is large enough to give some away
    return tuple(whole)


def _changed(cells: int, sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield widths that differ in one fanout, or by one level."""
    fanouts = [ceil(b / a) for a, b in pairwise(sizes)]
    seen = {sizes}
    for i, fanout in enumerate(fanouts):
        others = [[f] for f in (fanout - 1, fanout + 1, fanout // 2, fanout * 2) if f >= 2]
        others += [[]]
        if fanout >= 4:
            half = 2 ** round(log2(fanout) / 2)
            others += [[half, -(-fanout // half)]]
        for other in others:
            if any(f > max(_LARGEST, cells) for f in other):
                continue
            made = widths(cells, [*fanouts[:i], *other, *fanouts[i + 1 :]])
            if made not in seen:
                seen.add(made)
                yield made
    for made in (sizes[:-1], widths(cells, [*fanouts, 2]), widths(cells, [*fanouts, 8])):
        if made and made not in seen:
            seen.add(made)
            yield made
