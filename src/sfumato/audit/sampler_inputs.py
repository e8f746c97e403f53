"""Neighboring inputs for the mechanisms that rest on samplers: ranges, reports, sparse cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.category_response import CategoryResponse
from sfumato.mechanisms.sparse import SparseHistogram
from sfumato.mechanisms.truncated import TruncatedGeometric

Inputs: TypeAlias = "tuple[Any, Any]"

_CELLS = 8  # of a vector, if one unit may touch as many


def ranges(s: Sensitivity, mechanism: TruncatedGeometric) -> Iterator[Inputs]:
    """Yield values at the ends of the range, where the atoms are, beyond them and between."""
    step, low, high = int(s.linf), mechanism.low, mechanism.high
    for base in (low, (low + high - step) // 2, high - step, low - step, high):
        yield base, base + step
    moved = _cells(s)
    if moved > 1:
        yield [low] * moved, [low + 1] * moved
        yield [high] * moved, [high - 1] * moved


def reports(s: Sensitivity, mechanism: CategoryResponse) -> Iterator[Inputs]:
    """Yield the answers of one person, changed all at once; and beside somebody else's."""
    first, second, last = *mechanism.categories[:2], mechanism.categories[-1]
    many = int((s.l1 if s.l0 is None else s.l0) or 0)
    if many == 1:
        yield first, second
        yield [first, last], [last, last]
    elif many:
        yield [first] * many, [second] * many
        yield [first] * many, [last] * many


def sparse(s: Sensitivity, mechanism: SparseHistogram) -> Iterator[Inputs]:
    """Yield a cell that is filled or not, at the threshold or far above; and several at once."""
    step, end = int(s.linf), mechanism.domain - 1
    yield {}, {0: step}
    yield {end: mechanism.threshold}, {end: mechanism.threshold + step}
    yield {0: 10 * mechanism.threshold}, {0: 10 * mechanism.threshold + step}
    moved = min(_cells(s), mechanism.domain)
    if moved > 1:
        yield {}, dict.fromkeys(range(moved), 1)
        half = moved // 2
        yield dict.fromkeys(range(half), 1), dict.fromkeys(range(half, 2 * half), 1)


def samples(s: Sensitivity) -> Iterator[Inputs]:
    """Yield few rows, so that it shows who is in the sample, and more."""
    step = int(s.linf)
    for base in (0, 1, 40):
        yield base, base + step
    moved = _cells(s)
    if moved > 1:
        yield [0] * moved, [1] * moved


def _cells(s: Sensitivity) -> int:
    """Return how many cells one unit can move by one."""
    return min(
        _CELLS, *(_CELLS if norm is None else int(norm) for norm in (s.l0, s.l1, s.l2_squared))
    )
