"""One table of whole numbers behind all marginals, by linear programming (Barak et al., 2007).

For tables of few cells: the non-negative table whose readings come nearest to those that were
drawn, relative to their noise, then rounded. The largest distance is made least, then their sum;
the total is kept. All marginals are then those of one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.marginals.basis import Floats
from sfumato.marginals.domain import Attribute, Places
from sfumato.marginals.reading import Reading
from sfumato.release import law

MOST_CELLS = 4096  # of the whole table
_MOST_ENTRIES = 2**26  # of the programme
_SLACK = 1e-7  # what the first solution may miss, relative and in all


class Whole:
    """A table of whole numbers, 0 or above, that explains the readings.

    Attributes:
        counts: the table, with an axis for each column.
    """

    def __init__(
        self, attributes: Sequence[Attribute], readings: Sequence[Reading], total: float
    ) -> None:
        """Solve the programme.

        Args:
            attributes: the columns.
            readings: what was measured.
            total: what the table is to add up to, rounded; 0 if it is below.

        Raises:
            InputError: the table has too many cells.
        """
        sizes = [attribute.size for attribute in attributes]
        cells, rows = prod(sizes), sum(map(len, readings))
        if cells > MOST_CELLS or 2 * rows * (cells + 1) > _MOST_ENTRIES:
            raise InputError(
                f"all columns together have {cells:,} cells, and one table behind {rows:,} noisy "
                f"numbers is sought for up to {MOST_CELLS:,}. Take fewer columns, or nonnegative()."
            )
        matrix = np.concatenate([_matrix(attributes, reading) for reading in readings])
        drawn = np.concatenate([reading.numbers for reading in readings]).astype(np.float64)
        scale = np.concatenate([np.full(len(r), law.scale(r.noise)) for r in readings])
        self._sizes = sizes
        # The total stays: otherwise a shift up to the largest distance would cost nothing.
        kept = max(round(total), 0)
        found = _nearest(matrix / scale[:, None], drawn / scale, kept)
        self.counts = _rounded(found, kept).reshape(sizes)

    def marginal(self, places: Places) -> Floats:
        """Return the counts of any marginal."""
        others = tuple(i for i in range(len(self._sizes)) if i not in places)
        return np.asarray(self.counts.sum(axis=others), np.float64)


def _matrix(attributes: Sequence[Attribute], reading: Reading) -> Floats:
    """Return what a reading measures, over the cells of the whole table."""
    factors: list[Floats] = []
    for i, attribute in enumerate(attributes):
        if i not in reading.places:
            factors.append(np.ones((1, attribute.size)))
        elif reading.kind == "marginal" or attribute.matrix is None:
            factors.append(np.eye(attribute.size))
        else:
            factors.append(
                attribute.matrix.apply(np.eye(attribute.size, dtype=np.int64)).astype(np.float64)
            )
    return reduce(lambda a, b: np.asarray(np.kron(a, b)), factors)


def _nearest(matrix: Floats, drawn: Floats, total: int) -> Floats:
    """Return the x >= 0 of this total with the least largest |matrix·x − drawn|.

    Where many have it, as each is bounded by one draw far off, the one with the least sum of them.
    """
    from scipy import sparse

    rows, cells = matrix.shape
    held = sparse.csr_array(matrix)
    one = sparse.csr_array(np.ones((rows, 1)))
    largest = float(_solved(held, drawn, total, one, np.inf)[cells])
    most = largest * (1 + _SLACK) + _SLACK
    found = np.maximum(_solved(held, drawn, total, sparse.eye_array(rows), most)[:cells], 0)
    return np.asarray(found * (total / found.sum() if total else 0.0))  # to the last digit


def _solved(held: Any, drawn: Floats, total: int, width: Any, most: float) -> Floats:
    """Return x, then the widths that |matrix·x − drawn| lies within, with the least sum of them."""
    from scipy import sparse
    from scipy.optimize import linprog

    cells, widths = held.shape[1], width.shape[1]
    solved = linprog(
        np.repeat([0.0, 1.0], [cells, widths]),
        A_ub=sparse.block_array([[held, -width], [-held, -width]], format="csr"),
        b_ub=np.concatenate([drawn, -drawn]),
        A_eq=np.repeat([[1.0, 0.0]], [cells, widths], axis=1),
        b_eq=[total],
        bounds=[(0, None)] * cells + [(0, most)] * widths,
        method="highs",
    )
    if solved.x is None:  # it is always feasible and bounded
        raise InputError("no table was found behind these readings.")
    return np.asarray(solved.x)


def _rounded(table: Floats, total: int) -> NDArray[np.int64]:
    """Round to whole numbers that add up to the total: up where the most was cut off."""
    made = np.floor(table).astype(np.int64)
    missing = total - int(made.sum())
    made[np.argsort(made - table, kind="stable")[:missing]] += 1
    return made
