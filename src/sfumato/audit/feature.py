"""Features: what an attacker may look at in an output, each as one column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.batch import TIME, Batch
from sfumato.audit.bits import lowest_bit, places, reachable
from sfumato.audit.cut import Cut

_COLUMNS = 16  # numbers of an output that are looked at one by one: those that differ most
_LOW_BITS = 4  # … and of these, bit by bit
_WIDE = 256  # numbers that sums and projections are over
_COARSE = 64  # cells of a column in a learned likelihood
_RIDGE = 1e-3
_OUTLIER = 50.0


@dataclass(frozen=True, slots=True)
class Support:
    """Where textbook noise was added, if it was: the exact values of both sides, and its scale."""

    a: float
    b: float
    scale: float


Take: TypeAlias = Callable[[Batch], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing to look at.

    Attributes:
        name: for people.
        ordered: whether its values have an order.
        of: computes it.
    """

    name: str
    ordered: bool
    of: Take


def features(a: Batch, b: Batch, support: Support | None = None) -> Iterator[Feature]:
    """Yield what is worth looking at in outputs like these, learned from these where need be."""
    for name in {**a.atoms, **b.atoms}:
        yield Feature(name, False, _atoms(name))
    names = list(dict.fromkeys((*a.names, *b.names)))
    chosen = _most_different(a, b, names)
    for name in chosen:
        yield Feature(name, True, _column(name))
    for name in [name for name in chosen if _is_value(name)][:_LOW_BITS]:
        yield from _bitwise(a, name, support)
    together = [name for name in names if _is_value(name)][:_WIDE]
    if len(together) > 1:
        yield from _joint(a, b, together, [name for name in chosen if name in together])


def _bitwise(a: Batch, name: str, support: Support | None) -> Iterator[Feature]:
    """Yield the features of one number that are about its bits."""
    take = _column(name)
    yield Feature(f"lowest bit of {name}", True, lambda batch: lowest_bit(take(batch)))
    if a.column(name).dtype.kind == "f":
        yield Feature(f"bits of {name}", False, lambda batch: places(take(batch)))
        if support is not None:
            yield Feature(f"textbook support of {name}", False, _reach(take, support))


def _joint(a: Batch, b: Batch, names: list[str], chosen: list[str]) -> Iterator[Feature]:
    """Yield the features of several numbers together."""

    def matrix(batch: Batch) -> NDArray[np.float64]:
        return np.column_stack([batch.column(name).astype(np.float64) for name in names])

    def filled(batch: Batch) -> NDArray[np.float64]:
        rows = matrix(batch)
        return np.where(np.isnan(rows), -np.inf, rows)

    yield Feature("sum", True, lambda batch: np.nansum(matrix(batch), axis=1))
    yield Feature("largest", True, lambda batch: filled(batch).max(axis=1))
    yield Feature("place of the largest", True, lambda batch: filled(batch).argmax(axis=1))
    yield Feature("learned projection", True, _projection(matrix(a), matrix(b), matrix))
    yield Feature("learned likelihood", True, _likelihood(a, b, chosen))


def _column(name: str) -> Take:
    return lambda batch: batch.column(name)


def _atoms(name: str) -> Take:
    return lambda batch: batch.atoms_of(name)


def _is_value(name: str) -> bool:
    return name != TIME and not name.endswith("length")


def _reach(take: Take, support: Support) -> Take:
    """Return whether each output can have come from either exact value: 0, 1, 2 or 3."""

    def of(batch: Batch) -> NDArray[np.int64]:
        values = take(batch).astype(np.float64)
        from_a = reachable(values, support.a, support.scale)
        from_b = reachable(values, support.b, support.scale)
        return from_a.astype(np.int64) + 2 * from_b.astype(np.int64)

    return of


def _most_different(a: Batch, b: Batch, names: list[str]) -> list[str]:
    """Return the columns whose distributions differ most between the sides, the worst first."""
    if len(names) <= _LOW_BITS:
        return names

    def difference(name: str) -> float:
        x, y = a.column(name), b.column(name)
        cut = Cut.learn(np.concatenate([x, y]), ordered=True, most=_COARSE)
        p, q = cut.counts(x), cut.counts(y)
        return float(((p - q) ** 2 / np.maximum(p + q, 1)).sum())

    return sorted(names, key=difference, reverse=True)[:_COLUMNS]


def _projection(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    matrix: Callable[[Batch], NDArray[np.float64]],
) -> Take:
    """Learn the linear discriminant of two samples, after taming outliers."""
    pooled = np.concatenate([x, y])
    usual = np.where(np.isfinite(pooled), pooled, np.nan)
    empty = ~np.isfinite(usual).any(axis=0)
    usual[:, empty] = 0.0
    low, center, high = np.nanquantile(usual, [0.25, 0.5, 0.75], axis=0)
    spread = np.maximum(high - low, 1e-9 * np.maximum(np.abs(center), 1.0))

    def tamed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (rows - center) / spread
        return np.asarray(np.clip(np.nan_to_num(scaled, nan=0.0), -_OUTLIER, _OUTLIER))

    p, q = tamed(x), tamed(y)
    scatter = np.atleast_2d(np.cov(p, rowvar=False) + np.cov(q, rowvar=False))
    scatter += _RIDGE * np.eye(len(scatter)) * max(1.0, float(np.trace(scatter)) / len(scatter))
    direction = np.linalg.solve(scatter, p.mean(axis=0) - q.mean(axis=0))

    def of(batch: Batch) -> NDArray[np.float64]:
        return np.asarray(tamed(matrix(batch)) @ direction)

    return of


def _likelihood(a: Batch, b: Batch, names: list[str]) -> Take:
    """Learn a log-likelihood ratio for each number, and add them up as if they were independent."""
    tables = []
    for name in names:
        x, y = a.column(name), b.column(name)
        cut = Cut.learn(np.concatenate([x, y]), ordered=True, most=_COARSE)
        ratio = np.log((cut.counts(x) + 0.5) / (cut.counts(y) + 0.5))
        tables.append((name, cut, ratio))

    def of(batch: Batch) -> NDArray[np.float64]:
        total = np.zeros(batch.size)
        for name, cut, ratio in tables:
            total += ratio[cut.cells(batch.column(name))]
        return total

    return of
