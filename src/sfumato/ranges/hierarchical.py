"""Blocks of cells in blocks, level by level [HRMS10], [QYL13], to the workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np

from sfumato.core.errors import InputError
from sfumato.ranges.plan import Plan
from sfumato.ranges.weights import best, even, geometric, kept, optimal, parts, uniform, widths
from sfumato.ranges.workload import Workload
from sfumato.relation.matrix import Blocks

NAME = "hierarchical"


def plan(
    workload: Workload,
    *,
    pure: bool,
    fanout: int | Sequence[int] | None = None,
    weights: str | Sequence[float] = "optimal",
) -> Plan:
    """Measure sums of blocks on several levels.

    Args:
        workload: what is to be answered well.
        pure: whether noise is measured in ε.
        fanout: how many blocks make one of the next level, the same on all or one for each from
            the leaves up; the best for the workload, if not given.
        weights: ``"optimal"``, ``"uniform"``, ``"geometric"``, or the shares of the levels from
            the leaves up.
    """
    if fanout is None:
        sizes, shares = best(workload, pure=pure)
        if weights == "optimal":
            return _plan(workload, sizes, shares)
    else:
        sizes = widths(workload.cells, _fanouts(workload.cells, fanout))
    if isinstance(weights, str):
        if weights == "optimal":
            found, _ = optimal(workload.energies(sizes), sizes, pure=pure)
            return _plan(workload, *kept(sizes, found))
        named = {"uniform": uniform, "geometric": geometric}
        if weights not in named:
            raise InputError(
                f"there are no weights {weights!r}. Pass 'optimal', 'uniform', 'geometric', or a "
                f"number for each of the {len(sizes)} levels from the leaves up."
            )
        return _plan(workload, sizes, tuple(named[weights](len(sizes)).tolist()))
    if isinstance(weights, Mapping | Set) or not hasattr(weights, "__len__"):
        raise InputError(
            f"weights= is 'optimal', 'uniform', 'geometric', or a list with a number for each of "
            f"the {len(sizes)} levels from the leaves up, and not a {type(weights).__name__}."
        )
    if len(weights) != len(sizes):
        raise InputError(
            f"weights= has {len(weights)} numbers and the tree {len(sizes)} levels. Pass one for "
            f"each, from the leaves up."
        )
    try:
        given = tuple(float(share) for share in weights)
    except (TypeError, ValueError, OverflowError):
        given = (0.0,)  # refused with what else is no share
    return _plan(workload, sizes, given)


def _plan(workload: Workload, sizes: Sequence[int], shares: Sequence[float]) -> Plan:
    blocks = tuple(Blocks(workload.cells, size) for size in sizes)
    said = f"blocks of {', '.join(f'{size:,}' for size in sizes)} cells"
    return Plan(NAME, blocks, parts(shares), said)


def _fanouts(cells: int, fanout: int | Sequence[int]) -> Sequence[int]:
    given = list(fanout) if isinstance(fanout, Sequence | np.ndarray) else [fanout]
    if not given or any(type(f) is not int or f < 2 for f in given):
        raise InputError(
            "fanout= is how many blocks make one of the next level: a whole number from 2 on, or "
            "one for each level."
        )
    return even(cells, fanout) if isinstance(fanout, int) else given
