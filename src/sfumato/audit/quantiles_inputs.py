"""Neighboring inputs for quantiles by bisection: rows that tip the scales of every choice."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, log
from typing import Any, TypeAlias

import numpy as np

from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.bag import Bag
from sfumato.mechanisms.quantiles import Quantiles

Inputs: TypeAlias = "tuple[Any, Any]"

_MOST_ROWS = 1_000
_MOST_GROUPS = 4
_SELDOM = 0.05  # a rare event shows the whole ratio, a common one only part of it


def searches(s: Sensitivity, mechanism: Quantiles) -> Iterator[Inputs]:
    """Yield rows of one group, and of several where one unit can be in them."""
    for before, after in _codes(_changed(s, s.l1), mechanism):
        yield (
            [code * mechanism.step for code in before],
            [code * mechanism.step for code in after],
        )
    many = min(_MOST_GROUPS, int(s.l0 or 1))
    if many > 1 and (s.l1 is None or s.l1 >= many):
        each = min(s.linf, s.linf if s.l1 is None else s.l1 / many)
        for before, after in _codes(_changed(s, each), mechanism):
            yield _groups(before, many), _groups(after, many)


def _changed(s: Sensitivity, rows: Fraction | None) -> tuple[int, int]:
    """Return how many rows go and how many come; of those replaced, each is one of both."""
    count = int(s.linf if rows is None else rows)
    return (count // 2, count // 2) if s.neighbors is Neighbors.REPLACE else (0, count)


def _groups(codes: list[int], many: int) -> Bag:
    return Bag(np.array(codes * many, np.int64), np.repeat(np.arange(many), len(codes)), many)


def _codes(changed: tuple[int, int], mechanism: Quantiles) -> Iterator[tuple[list[int], list[int]]]:
    gone, new = changed
    low, high = (int(end / mechanism.step) for end in (mechanism.low, mechanism.high))
    qs = sorted({q for q, _ in mechanism.targets})
    for end, beside, other, q in (
        (low, min(low + 1, high), high, qs[0]),
        (high, max(high - 1, low), low, 1 - qs[-1]),
    ):
        # Beside an end, most points lie on one side: rows at the end make the few of the other
        # side likelier and the many less likely, by as much as a choice can move.
        few = [beside] * max(new, gone, 1)
        yield few, few[gone:] + [end] * new
        for odds in (1.0, _SELDOM):
            # A crowd at one end that draws this share of the choices there, and outweighs the rows.
            most = max(q, 1 - q)
            sharp = float(mechanism.rate / (2 * most) * max(1 - q, Fraction(1, 100)))
            wanted = log(max((high - low) * odds, 1.0)) / sharp
            crowd = [end] * max(ceil(min(wanted, _MOST_ROWS)), 2 * new, gone, 1)
            yield crowd, crowd[gone:] + [other] * new
    mixed = [low, (low + high) // 2, (low + high) // 2, high] * max(gone, 1)
    yield mixed, mixed[gone:] + [high] * new
    if not gone:
        yield [], [(low + high) // 2] * new
