"""The first Fourier coefficients [RN10], as many as are worth their noise [ACC12]."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.mechanisms import SpectralCut
from sfumato.ranges.plan import Plan, check_size
from sfumato.ranges.spending import Spending
from sfumato.ranges.weights import PARTS
from sfumato.ranges.workload import Workload
from sfumato.relation.matrix import Waves
from sfumato.session.column import Column

NAME = "fourier"
SHARE = Fraction(1, 2)  # of the budget, for how many
MOST = 2**10
SCALE = 2**16


def check(workload: Workload, spending: Spending, k: Any) -> None:
    """Refuse what cannot be done, before anything is charged.

    Raises:
        InputError: noise is not in ε, or a number of coefficients that there is not.
        RangeError: too many cells.
    """
    if not spending.pure:
        raise InputError(
            "the private choice of coefficients is paid for in epsilon. Leave out delta= and rho=."
        )
    check_size(workload.cells, MOST, "the Fourier basis")
    if k is not None and (type(k) is not int or not 1 <= k <= workload.cells):
        raise InputError(
            f"k= is how many coefficients are kept: a whole number from 1 to {workload.cells:,}. "
            f"Leave it out, and it is chosen privately."
        )


def first(column: Column, spending: Spending, rest: Spending) -> tuple[Any, Any]:
    """Return what buys how many coefficients to keep: a question, and a mechanism of one number.

    Args:
        column: the cells.
        spending: what the choice may cost.
        rest: what is left for the coefficients.
    """
    cells = column.size
    query = column.question(Waves(cells, cells, SCALE))
    moved = query.sensitivity(column.unit)
    # Noise on k coefficients: the root of the sum of their variances.
    rows = float((moved.l1 or 0) / query.matrix.norms.total)
    prices = [
        int(min(sqrt(2 * k) * rows * total / float(rest.epsilon or 1), 2.0**39))
        for k, total in enumerate(_totals(cells), 1)
    ]
    return query, SpectralCut.calibrate(moved, prices=prices, epsilon=spending.epsilon)


def extremes(workload: Workload) -> list[Plan]:
    """Return the plans of one coefficient and of all: those with the least noise and the most."""
    return [plan(workload, k) for k in (1, workload.cells)]


def plan(workload: Workload, k: int) -> Plan:
    """Measure the first coefficients."""
    waves = Waves(workload.cells, k, SCALE)
    return Plan(NAME, (waves,), (PARTS,), f"{k:,} of {workload.cells:,} Fourier coefficients")


@lru_cache(maxsize=8)
def _totals(cells: int) -> tuple[int, ...]:
    """Return what the absolute entries of a column add up to at most, over the first rows."""
    sizes = np.cumsum(np.abs(Waves(cells, cells, SCALE).array), axis=0)
    return tuple(int(total) for total in sizes.max(axis=1))
