"""How long maps take once the counts are there, in milliseconds; the best of three."""

from __future__ import annotations

import tracemalloc
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf

AMPLE = sf.Budget(epsilon=10**6)


def run() -> dict[str, Any]:
    """Return times and the memory that is allocated on the way."""
    rng = np.random.default_rng(3)
    fine = rng.poisson(1, (1024, 1024))
    million = np.bincount(
        (np.clip(rng.normal(512, 150, (10**6, 2)), 0, 1023).astype(int) @ [1024, 1]),
        minlength=1024**2,
    ).reshape(1024, 1024)
    world = rng.multinomial(234_908, rng.dirichlet(np.full(512 * 512, 0.02))).reshape(512, 512)
    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "quadtree of 2^20 leaves": (fine, {"method": "quadtree", "height": 10}),
        "kd_tree on 10^6 points, 2^14 leaves": (million, {"method": "kd_tree"}),
        "privtree on 234,908 points": (world, {"method": "privtree"}),
        "auto on 10^6 points": (million, {"method": "auto"}),
        "adaptive_grid on 10^6 points": (million, {"method": "adaptive_grid"}),
    }
    return {name: measured(counts, options) for name, (counts, options) in cases.items()}


def measured(counts: Any, options: dict[str, Any]) -> dict[str, float]:
    """Time a release and one count of it; then once more with an eye on memory."""
    best = float("inf")
    for _ in range(3):
        lab = sf.lab(counts, budget=AMPLE)
        start = perf_counter()
        found = sf.spatial.release(lab, epsilon=1, **options)
        size = counts.shape[0]
        value = found.counts.sum()
        best = min(best, perf_counter() - start)
        assert np.isfinite(value)
        found.count((0, 0, size // 2, size // 2))
    lab = sf.lab(counts, budget=AMPLE)
    tracemalloc.start()
    sf.spatial.release(lab, epsilon=1, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"milliseconds": round(1000 * best, 1), "peak_mebibytes": round(peak / 2**20, 1)}
