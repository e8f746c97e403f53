"""Rank error of nine deciles from one search, on GeoNames latitudes and on incomes.

The references are figures of a plain recursive search with the same exponents; what makes the
difference on incomes is that rows of one value can be cut apart. Needs the files
geonames_cities500.tsv.gz and sdnist_acs_national2019.csv.gz; their folder is named by SFUMATO_DATA.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.accuracy.median import latitudes
from benchmarks.accuracy.smooth import incomes
from sfumato.noise import system

RUNS = 2000
DECILES = [f"{i}/10" for i in range(1, 10)]
REFERENCES = {
    "latitudes": {"0.1": 60.0, "1": 5.4},
    "incomes": {"0.1": 140.0, "1": 94.0},
}


def run() -> dict[str, Any]:
    """Measure the mean rank error over the deciles and over many releases."""
    data = {
        "latitudes": (latitudes(), {"low": -90, "high": 90, "step": "0.00001"}),
        "incomes": (incomes(), {"low": -20_000, "high": 1_000_000, "step": 1}),
    }
    result: dict[str, Any] = {"runs": RUNS}
    for name, (values, grid) in data.items():
        result[name] = {"values": int(values.size)}
        for epsilon, reference in REFERENCES[name].items():
            deciles = sf.mechanisms.Quantiles.calibrate(
                sf.Sensitivity(l1=1), targets=DECILES, **grid, epsilon=epsilon
            )
            exact = deciles.exact(values)
            errors = rank_errors(np.asarray(exact), deciles.runs(exact, RUNS, system()))
            bounds = deciles.halfwidths("0.95")
            result[name][f"epsilon {epsilon}"] = {
                "mean_rank_error": round(float(errors.mean()), 3),
                "standard_error": round(float(errors.mean(axis=1).std() / np.sqrt(RUNS)), 3),
                "reference": reference,
                "largest_bound": int(max(bounds)),
                "share_within_bounds": float((errors <= np.array(bounds, float)).mean()),
            }
    return result


def rank_errors(positions: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return how far each drawn position is from its decile, in ranks."""
    wanted = np.arange(1, 10) / 10 * positions.size
    below, upto = (np.searchsorted(positions, drawn, side) for side in ("left", "right"))
    return np.maximum(0, np.maximum(below - wanted, wanted - upto))
