"""Precision of the private top 100 items of the retail baskets, and the time of one draw.

Needs the file retail.dat.gz; its folder is named by SFUMATO_DATA.
"""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.noise import system

RUNS = 100
K = 100
TARGETS: dict[str, tuple[dict[str, str], float]] = {
    "epsilon 1": ({"epsilon": "1"}, 0.82),
    "epsilon 1, delta 1e-6": ({"epsilon": "1", "delta": "1e-6"}, 0.97),
}


def run() -> dict[str, Any]:
    """Measure which share of the true top 100 is among the chosen, over many releases."""
    counts = items()
    best = set(np.argsort(-counts, kind="stable")[:K].tolist())
    result: dict[str, Any] = {"items": int(counts.size), "k": K, "runs": RUNS}
    for name, (cost, target) in TARGETS.items():
        # A basket holds any number of items, but moves no count by more than one.
        top = sf.mechanisms.TopK.calibrate(
            sf.Sensitivity(linf=1), candidates=range(counts.size), k=K, monotone=True, **cost
        )
        exact, shares, times = top.exact(counts), [], []
        for _ in range(RUNS):
            start = perf_counter()
            chosen = top.sample(exact, system())
            times.append(perf_counter() - start)
            shares.append(len(best.intersection(chosen)) / K)
        result[name] = {
            "mean_precision": round(float(np.mean(shares)), 4),
            "standard_error": round(float(np.std(shares) / np.sqrt(RUNS)), 4),
            "reference": target,
            "milliseconds": round(1000 * float(np.median(times)), 1),
        }
    return result


def items() -> np.ndarray:
    """Count in how many baskets each item lies."""
    folder = Path(os.environ.get("SFUMATO_DATA", "data"))
    path = next(folder.rglob("retail.dat.gz"), None)
    if path is None:
        raise FileNotFoundError("retail.dat.gz; name its folder by SFUMATO_DATA")
    counts: Counter[str] = Counter()
    with gzip.open(path, "rt", encoding="ascii") as baskets:
        for basket in baskets:
            counts.update(set(basket.split()))
    return np.array([counts[item] for item in sorted(counts, key=int)])
