"""How long a release of ranges takes once the counts are there, in milliseconds; the best of 10."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf

CELLS = 4096


def run() -> dict[str, Any]:
    """Return the time of noise and solving, by method; plans are made before."""
    counts = np.random.default_rng(3).integers(0, 50, CELLS)
    prices: dict[str, dict[str, Any]] = {
        "identity": {"epsilon": 1},
        "hierarchical": {"epsilon": 1},
        "wavelet": {"epsilon": 1},
        "square_root": {"rho": 1},
        "dawa": {"epsilon": 1},
        "auto": {"epsilon": 1},
    }
    return {method: milliseconds(counts, method, price) for method, price in prices.items()}


def milliseconds(counts: Any, method: str, price: dict[str, Any]) -> float:
    """Time a release and one count of it."""
    best = float("inf")
    for _ in range(10):
        lab = sf.lab(counts)
        start = perf_counter()
        found = sf.ranges.release(lab, method=method, **price)
        found.solution.sums(np.array([10]), np.array([99]))
        best = min(best, perf_counter() - start)
    return round(1000 * best, 1)
