"""Neighboring inputs for the sparse vector technique: rows that move in the worst directions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.sparse_vector import SparseVector

Inputs: TypeAlias = "tuple[Any, Any]"

# Lengths of rows, and how far below the threshold, in scales, misses lie before the last hits: near
# enough to be seldom all missed, where such an event shows nearly all that it can give away.
_ROWS = ((10, Fraction(1, 2)), (30, Fraction(5, 4)))


def sparse_vectors(s: Sensitivity, mechanism: SparseVector) -> Iterator[Inputs]:
    """Yield rows of ten and of thirty numbers about the threshold, each moved by linf.

    Half of them up and half down, and the reverse: with the published mistakes the answers "below"
    and "above" then tell together which way they moved. Misses before the last hits cost all that
    the threshold and every hit may cost. Numbers that only grow are moved one way.
    """
    move, at = int(s.linf), mechanism.threshold
    one_way = mechanism.monotone and s.neighbors is Neighbors.ADD_REMOVE
    down = 0 if one_way else -move
    for length, depth in _ROWS:
        low, high = [at] * (length // 2), [at + move] * (length // 2)
        rows = [(low + low, high + low), (low + low, high + high)]
        if not one_way:
            rows = [(low + high, high + low), (high + low, low + high)]
        hits = min(mechanism.hits, length // 2)
        misses, far = length - hits, at - int(depth * mechanism.query_scale)
        rows.append(([far] * misses + [at] * hits, [far + move] * misses + [at + down] * hits))
        for a, b in rows:
            yield a, _moved(a, b, s)


def _moved(a: list[int], b: list[int], s: Sensitivity) -> list[int]:
    """Move no more numbers of `a` to `b` than the norms allow, from both ends of the row."""
    most = len(a) if s.l0 is None else int(s.l0)
    if s.l1 is not None and s.linf:
        most = min(most, int(s.l1 / s.linf))
    ends = [i // 2 if i % 2 else len(a) - 1 - i // 2 for i in range(len(a))]
    kept = set([i for i in ends if a[i] != b[i]][:most])
    return [y if i in kept else x for i, (x, y) in enumerate(zip(a, b, strict=True))]
