"""Buckets by a private partition, then a tree over them [LHM14], with the noise that it needs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.core.errors import InputError, SfumatoError
from sfumato.core.number import exact
from sfumato.mechanisms import BucketPartition
from sfumato.ranges.plan import Plan, check_size
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS, best, kept, parts
from sfumato.ranges.workload import Workload
from sfumato.relation.matrix import Buckets
from sfumato.session.column import Column

NAME = "dawa"
SHARE = Fraction(3, 20)  # of the budget, for the partition
MOST = 2**18
LEAST = 2**20  # a level gets at least the share 1/LEAST of what the sums cost


def check(workload: Workload, spending: Spending, share: Any) -> Fraction:
    """Refuse what cannot be done, before anything is charged; return the share of the partition.

    Raises:
        InputError: noise is not in ε, or a share outside of 0 and 1.
        RangeError: too many cells.
    """
    if not spending.pure:
        raise InputError(
            "a private partition is paid for in epsilon. Leave out delta= and rho=, or take "
            "method='hierarchical'."
        )
    check_size(workload.cells, MOST, "a private partition")
    try:
        part = SHARE if share is None else exact(share, "partition")
    except SfumatoError:
        part = Fraction(0)
    if not 0 < part < 1:
        raise InputError("partition= is the share of the budget for the partition: 0.15.")
    return part


def first(column: Column, spending: Spending, rest: Spending) -> tuple[Any, Any]:
    """Return what buys the partition: a question, and a mechanism whose values are the edges.

    Args:
        column: the cells.
        spending: what the partition may cost.
        rest: what is left for the sums.
    """
    query = column.question()
    return query, BucketPartition.calibrate(
        query.sensitivity(column.unit),
        epsilon=spending.epsilon,
        charge=1 / (rest.epsilon or Fraction(1)),
    )


def extremes(workload: Workload) -> list[Plan]:
    """Return plans with less noise, and with more, than any that a partition can lead to."""
    whole = (Buckets((0, workload.cells)),)
    return [Plan(NAME, whole, (part,), "one bucket") for part in (PARTS, PARTS // LEAST // 2)]


def plan(workload: Workload, found: Any) -> Plan:
    """Measure a tree over buckets; how it is cut follows from how many buckets there are.

    Args:
        workload: what is to be answered well.
        found: the edges.
    """
    cut = np.array([int(edge) for edge in found], np.int64)
    count = len(cut) - 1
    # Sums over buckets are planned as if they were cells: a power of two, so that few are.
    name = "prefix" if workload.name == "prefix" else "ranges"
    sizes, shares = best(Workload(name, 1 << (count - 1).bit_length()), pure=True)
    fitting = [i for i, size in enumerate(sizes) if size < count or not i]
    sizes, shares = kept([sizes[i] for i in fitting], np.array([shares[i] for i in fitting]))
    levels = tuple(
        Buckets(tuple(dict.fromkeys([*cut[:-1:size].tolist(), workload.cells]))) for size in sizes
    )
    enough = [max(share, 1 / LEAST) for share in shares]
    return Plan(NAME, levels, parts(enough), f"{count:,} buckets of a private partition")
