"""The explicit matrix mechanism [MMHM18]: single cells and a few rows of weights, optimized."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.ranges.plan import Plan, check_size
from sfumato.ranges.weights import PARTS, best
from sfumato.ranges.workload import Workload
from sfumato.relation.matrix import Explicit

NAME = "p_identity"
MOST = 512
SCALE = 2**16  # what each column adds up to
_STEPS = 200
_ALONE = 2**17  # multiplications up to which linear algebra libraries use one thread

Floats = NDArray[np.float64]


def plan(workload: Workload, *, pure: bool) -> Plan:
    """Measure the rows of an optimized matrix, each column of which adds up to the same.

    Raises:
        InputError: noise is not in ε.
        RangeError: too many cells.
    """
    if not pure:
        raise InputError(
            "this matrix is optimized for noise in epsilon. Leave out delta= and rho=, or take "
            "method='hierarchical'."
        )
    check_size(workload.cells, MOST, "the explicit matrix mechanism")
    return Plan(NAME, (_matrix(workload),), (PARTS,), "an optimized matrix of weights")


@lru_cache(maxsize=32)
def _matrix(workload: Workload) -> Explicit:
    """Return the matrix in whole numbers: floored, what is missing goes to the single cells."""
    rows = optimized(gram(workload), _start(workload))
    columns = 1 + rows.sum(axis=0)
    below = np.floor(rows / columns * SCALE).astype(np.int64)
    cells = SCALE - below.sum(axis=0)
    return Explicit.of(np.vstack([np.diag(cells), below[(below > 0).any(axis=1)]]))


def gram(workload: Workload) -> Floats:
    """Return how often each pair of cells is summed together."""
    n = workload.cells
    low, high = np.minimum(*np.indices((n, n))), np.maximum(*np.indices((n, n)))
    if workload.name == "prefix":
        return np.asarray(n - high, np.float64)
    if workload.name == "ranges":
        return np.asarray((low + 1) * (n - high), np.float64)
    steps = np.zeros((n + 1, n + 1))
    for a, b in workload.intervals:
        for i, j, sign in ((a, a, 1), (a, b, -1), (b, a, -1), (b, b, 1)):
            steps[i, j] += sign
    return np.asarray(np.cumsum(np.cumsum(steps, axis=0), axis=1)[:n, :n])


def optimized(wanted: Floats, start: Floats) -> Floats:
    """Return rows T that make tr(W'W (A'A)^-1) least, A = [I; T] with columns scaled to 1.

    Args:
        wanted: W'W.
        start: rows to begin with, none negative.
    """
    from scipy.optimize import minimize

    shape, diagonal = start.shape, np.diag(wanted)

    def cost(flat: Floats) -> tuple[float, Floats]:
        """Return the cost and its gradient; (A'A)^-1 = I - T'S with S = (I + TT')^-1 T."""
        rows = flat.reshape(shape)
        sums = 1 + rows.sum(axis=0)
        small = np.eye(shape[0]) + _product(rows, rows.T)
        inner = _product(np.asarray(np.linalg.inv(small), np.float64), rows)
        summed = _product(inner * sums, wanted)
        both = rows * summed
        value = float(sums @ (diagonal * sums - both.sum(axis=0)))
        by_sums = 2 * (diagonal * sums - both.sum(axis=0))
        scaled = summed * sums
        by_rows = -2 * (scaled - _product(_product(scaled, rows.T), inner))
        return value, (by_rows + by_sums).ravel()

    first = cost(start.ravel())[0]
    found = minimize(
        lambda flat: tuple(part / first for part in cost(flat)),
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * start.size,
        options={"maxiter": _STEPS, "maxfun": 2 * _STEPS},
    )
    return np.asarray(found.x.reshape(shape))


def _product(one: Floats, other: Floats) -> Floats:
    """Multiply in blocks that one thread computes.

    These products are small and there are thousands: shared among threads each would wait for all,
    and on a busy machine that is nearly all the time.
    """
    width = max(1, _ALONE // one.size)
    blocks = [one @ other[:, i : i + width] for i in range(0, other.shape[1], width)]
    return np.hstack(blocks) if len(blocks) > 1 else blocks[0]


def _start(workload: Workload) -> Floats:
    """Return the blocks of the best tree, and half as many more, shifted by half a block."""
    sizes, shares = best(workload, pure=True)
    cells = np.arange(workload.cells)
    rows = []
    for size, share in zip(sizes[1:], shares[1:], strict=True):
        for begin in range(0, workload.cells, max(1, size // 2)):
            inside = (cells >= begin) & (cells < begin + size)
            rows.append(inside * share / shares[0] * (0.75 if begin % size == 0 else 0.25))
    if not rows:
        rows.append(np.full(workload.cells, 0.1))
    return np.array(rows)
