"""The square root of the matrix of all prefixes, rounded: the best known for Gaussian noise."""

from __future__ import annotations

from fractions import Fraction

from sfumato.core.errors import InputError
from sfumato.ranges.plan import Plan, check_size
from sfumato.ranges.weights import PARTS
from sfumato.ranges.workload import Workload
from sfumato.relation.matrix import Toeplitz

NAME = "square_root"
MOST = 2**13
SCALE = 2**20


def plan(workload: Workload, *, pure: bool) -> Plan:
    """Measure a lower triangle whose square is that of ones: C(2k, k)/4^k below the diagonal.

    Raises:
        InputError: noise is in ε, for which it is no good; a column adds up to too much.
        RangeError: too many cells.
    """
    if pure:
        raise InputError(
            "the square-root factor is made for Gaussian noise: one row counts in every sum. Pass "
            "delta= or rho=, or take method='hierarchical'."
        )
    check_size(workload.cells, MOST, "the square-root factor")
    return Plan(
        NAME,
        (Toeplitz(column(workload.cells)),),
        (PARTS,),
        "a triangle whose square is the matrix of all prefixes",
    )


def column(cells: int) -> tuple[int, ...]:
    """Return the first column, rounded to whole numbers of 1/`SCALE`."""
    out, entry = [], Fraction(SCALE)
    whole = SCALE
    for k in range(cells):
        out.append(max(1, whole))
        entry = entry * (2 * k + 1) / (2 * k + 2)
        if entry.denominator > 2**80:  # short enough to stay quick; far below one unit
            entry = Fraction(entry * 2**64 // 1, 2**64)
        whole = round(entry)
    return tuple(out)
