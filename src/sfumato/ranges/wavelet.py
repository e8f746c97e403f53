"""The Haar wavelet [XWG10]: the total, and differences of halves of blocks of all sizes."""

from __future__ import annotations

import numpy as np

from sfumato.core.errors import InputError
from sfumato.ranges.plan import Plan
from sfumato.ranges.weights import parts
from sfumato.ranges.workload import Workload
from sfumato.relation.linear import Strategy
from sfumato.relation.matrix import Blocks, Halves

NAME = "wavelet"


def plan(workload: Workload, *, pure: bool, weights: str = "optimal") -> Plan:
    """Measure differences of halves.

    Args:
        workload: what is to be answered well.
        pure: whether noise is measured in ε.
        weights: ``"optimal"``, or ``"uniform"`` as published.
    """
    levels = max(workload.cells - 1, 0).bit_length()
    sizes = [2**level for level in range(levels + 1)]
    if isinstance(weights, str) and weights == "uniform":
        shares = np.ones(levels + 1)
    elif isinstance(weights, str) and weights == "optimal":
        # A level of width w has E/w of variance for each of its noise: the optimum is closed.
        energies = workload.energies(sizes)
        gains = np.maximum(energies - np.append(energies[1:], 0.0), energies[0] * 1e-9)
        scaled = np.append(gains[:-1] / sizes[1:], gains[-1] / sizes[-1])
        shares = scaled ** (1 / 3 if pure else 1 / 2)
        shares = np.append(shares[-1], shares[:-1])
    else:
        raise InputError("weights= of a wavelet is 'optimal' or 'uniform'.")
    matrices: tuple[Strategy, ...] = (
        Blocks(workload.cells, workload.cells),
        *(Halves(workload.cells, size) for size in sizes[1:]),
    )
    said = f"the total, and {levels} levels of differences of halves"
    return Plan(NAME, matrices, parts(shares.tolist()), said)
