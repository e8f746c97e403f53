"""Which marginals to measure, and with which share of ε each: for pure differential privacy.

Laplace noise costs by L1 norms, which reward few large tables: a table of many columns tells of all
its marginals. So the shares of all candidate tables are optimized together, as HDMM does with its
marginal strategies; for columns of two values signs (Fourier coefficients, Barak et al.) compete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from sfumato.marginals.basis import Floats
from sfumato.marginals.closure import Closure, subsets
from sfumato.marginals.domain import Places
from sfumato.marginals.reading import Kind

_MOST_CANDIDATES = 4096  # tables beside those of the workload
_LARGEST = 2**20  # cells of such a table
_LEAST = 1e-4  # of the mean share; what is below is not measured
_GRID = 2**30  # shares are multiples of its inverse


@dataclass(frozen=True, slots=True)
class Candidate:
    """A table that may be measured.

    Attributes:
        places: its columns.
        kind: the counts themselves, or signs of columns with two values.
        moved: how far one unit moves it, in L1.
    """

    places: Places
    kind: Kind
    moved: Fraction


def candidates(
    closure: Closure, moved: Callable[[Places, Kind], Fraction], *, signs: bool
) -> list[Candidate]:
    """Return the tables that are worth a try.

    Args:
        closure: what is asked for.
        moved: the L1 sensitivity of a table.
        signs: whether only signs are measured.
    """
    attributes = closure.domain.attributes
    free = [i for i, a in enumerate(attributes) if a.size > 1]
    found: dict[tuple[Places, Kind], None] = {}
    for part in closure.parts:
        binary = all(attributes[i].size == 2 for i in part)
        if part and binary:
            found[part, "residual"] = None
        if not signs or not part:
            found[part, "marginal"] = None
    if not signs:
        largest = max(map(len, closure.parts))
        for size in range(largest, len(free) + 1):
            if len(found) + comb(len(free), size) > _MOST_CANDIDATES:
                break
            for part in combinations(free, size):
                if closure.domain.size(part) <= _LARGEST:
                    found[part, "marginal"] = None
    return [Candidate(places, kind, moved(places, kind)) for places, kind in found]


def shares(closure: Closure, tables: Sequence[Candidate]) -> tuple[Floats, float]:
    """Return the share of ε for each table, and the sum of variances that they lead to at ε = 1.

    The sum is not convex in the shares, so the search starts from several places; what it finds is
    a plan like any other, and its error is computed, not estimated.
    """
    tells, weights = telling(closure, tables)
    starts = [np.ones(len(tables))]
    widest = max(len(table.places) for table in tables)
    starts.append(np.array([1.0 if len(t.places) == widest else 1e-3 for t in tables]))
    wanted = {
        tuple(i for i in m if closure.domain.attributes[i].size > 1) for m in closure.workload
    }
    starts.append(np.array([1.0 if t.places in wanted else 1e-3 for t in tables]))
    starts.append(np.array([1.0 if t.kind == "residual" else 1e-3 for t in tables]))
    best, found = np.inf, starts[0]
    for start in starts:
        reached, value = _descended(tells, weights, start / start.sum())
        if value < best:
            best, found = value, reached
    found = _trimmed(tells, found)
    return found, _error(tells, weights, found)


def rounded(found: Floats) -> list[Fraction]:
    """Return shares as fractions that add up to 1 at most; 0 for a table that is not measured."""
    return [Fraction(int(share * _GRID), _GRID) for share in found / found.sum()]  # down


def telling(closure: Closure, tables: Sequence[Candidate]) -> tuple[Any, Floats]:
    """Return how precisely each table tells of each part at a share of 1, and what parts weigh.

    The precision is that of each direction of a part: one over the variance.
    """
    from scipy.sparse import csr_array

    attributes = closure.domain.attributes
    place = {part: k for k, part in enumerate(closure.parts)}
    rows, columns, entries = [], [], []
    for column, table in enumerate(tables):
        once = 1 / (2 * float(table.moved) ** 2)
        if table.kind == "residual":
            told = [(table.places, once * 2 ** len(table.places))]
        else:
            told = [
                (part, once / prod(attributes[i].size for i in table.places if i not in part))
                for part in subsets(table.places)
            ]
        for part, precision in told:
            if part in place:
                rows.append(place[part])
                columns.append(column)
                entries.append(precision)
    telling = csr_array(
        (np.array(entries), (np.array(rows), np.array(columns))),
        shape=(len(place), len(tables)),
    )
    return telling, closure.weights()


def _error(telling: Any, weights: Floats, found: Floats) -> float:
    with np.errstate(divide="ignore"):
        return float((weights / (telling @ found**2)).sum())


def _descended(telling: Any, weights: Floats, start: Floats) -> tuple[Floats, float]:
    from scipy.optimize import minimize

    def objective(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        precision = telling @ shares**2
        value = float((weights / precision).sum())
        slope = -2 * shares * (telling.T @ (weights / precision**2))
        slope = shares * (slope - slope @ shares)  # along the simplex
        return np.log(value), slope / value

    done = minimize(objective, np.log(start), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    logs = done.x - done.x.max()
    shares = np.exp(logs) / np.exp(logs).sum()
    return shares, _error(telling, weights, shares)


def _trimmed(telling: Any, found: Floats) -> Floats:
    """Leave out tables with next to no share, unless a part is told of by no other."""
    kept = found >= _LEAST / found.size
    for part in np.flatnonzero(telling @ kept.astype(np.float64) == 0):
        told = telling[[part]].indices
        kept[told[np.argmax(found[told])]] = True
    trimmed = np.where(kept, found, 0.0)
    return np.asarray(trimmed / trimmed.sum())
