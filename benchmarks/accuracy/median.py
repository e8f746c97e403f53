"""Rank error of the private median on GeoNames latitudes, and its time next to a sort.

Needs the file geonames_cities500.tsv.gz; its folder is named by SFUMATO_DATA.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.timing import ratio
from sfumato.noise import system

RUNS = 2000
TARGETS = {"0.1": 9.7, "1": 0.94}


def run() -> dict[str, Any]:
    """Measure the mean rank error over many releases."""
    values = np.sort(latitudes())
    result: dict[str, Any] = {"values": int(values.size), "runs": RUNS}
    for epsilon, target in TARGETS.items():
        median = sf.mechanisms.Quantile.calibrate(
            sf.Sensitivity(l1=1), low=-90, high=90, step="0.00001", epsilon=epsilon
        )
        positions = np.sort(median.exact(values))
        errors = [rank_error(positions, median.sample(positions, system())) for _ in range(RUNS)]
        result[f"epsilon {epsilon}"] = {
            "mean_rank_error": round(float(np.mean(errors)), 3),
            "standard_error": round(float(np.std(errors) / np.sqrt(RUNS)), 3),
            "reference": target,
        }
    many = np.tile(values, 43)[: 10**7]
    median = sf.mechanisms.Quantile.calibrate(
        sf.Sensitivity(l1=1), low=-90, high=90, step="0.00001", epsilon=1
    )
    result["median of 10^7 over numpy sort"] = ratio(lambda: median(many), lambda: np.sort(many), 3)
    return result


def rank_error(positions: np.ndarray, drawn: int) -> float:
    """Return how far the drawn position is from the middle, in ranks."""
    low, high = np.searchsorted(positions, [drawn, drawn + 1])
    middle = positions.size / 2
    return float(max(0, low - middle, middle - high))


def latitudes() -> np.ndarray:
    """Read the latitudes."""
    folder = Path(os.environ.get("SFUMATO_DATA", "data"))
    path = next(folder.rglob("geonames_cities500.tsv.gz"), None)
    if path is None:
        raise FileNotFoundError("geonames_cities500.tsv.gz; name its folder by SFUMATO_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return np.array([float(row["lat"]) for row in rows])
