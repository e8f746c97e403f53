"""Error of the median by smooth sensitivity, next to the exponential mechanism.

Latitudes of GeoNames and incomes of the American Community Survey, with the bounds of the reference
figures. Needs the files geonames_cities500.tsv.gz and sdnist_acs_national2019.csv.gz; their folder
is named by SFUMATO_DATA.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.accuracy.median import latitudes
from sfumato.mechanisms.smooth_noise import SmoothNoise
from sfumato.mechanisms.smooth_sensitivity import flanked, median_rank, smooth_sensitivity
from sfumato.noise import system

RUNS = 300
ROW = sf.Sensitivity(l1=1)
# Mean absolute errors with the published constants: exponential, smooth Laplace, smooth Student.
REFERENCES = {
    ("latitude", "0.1"): (0.00162, 0.423, 0.144),
    ("latitude", "1"): (0.000149, 0.0044, 0.0018),
    ("income", "0.1"): (87.0, 14_990, 7371),
    ("income", "1"): (50.0, 291, 144),
}


def run() -> dict[str, Any]:
    """Measure the mean absolute error over many releases."""
    data: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
        "latitude": (latitudes(), {"low": -90, "high": 90, "step": "0.00001"}),
        "income": (incomes(), {"low": -20_000, "high": 1_000_000, "step": 1}),
    }
    result: dict[str, Any] = {"runs": RUNS}
    for name, (values, grid) in data.items():
        result[name] = {"values": int(values.size)}
        for epsilon in ("0.1", "1"):
            result[name][f"epsilon {epsilon}"] = errors(name, values, grid, epsilon)
    return result


def errors(name: str, values: np.ndarray, grid: dict[str, Any], epsilon: str) -> dict[str, Any]:
    """Return the errors of three mechanisms at one ε."""
    rank = sf.mechanisms.Quantile.calibrate(ROW, **grid, epsilon=epsilon)
    positions = np.sort(rank.exact(values))
    middle, step = int(positions[median_rank(positions.size) - 1]), float(rank.step)
    references = REFERENCES[name, epsilon]
    rows = {"exponential": error(lambda: rank.sample(positions, system()), middle, step)}
    for noise, delta in (("laplace", "1e-6"), ("student", 0)):
        smooth = sf.mechanisms.SmoothMedian.calibrate(
            ROW, **grid, noise=noise, epsilon=epsilon, delta=delta
        )
        last = int((smooth.high - smooth.low) / smooth.step)
        begun = perf_counter()
        spread = smooth_sensitivity(flanked(positions, last), smooth.beta)
        found = perf_counter() - begun
        law = SmoothNoise(smooth.noise, spread, smooth.rate)
        rows[f"smooth {noise}"] = {
            **error(partial(law.draw, middle, last, system()), middle, step),
            "smooth_sensitivity": round(float(spread.enclose(20).high) * step, 6),
            "milliseconds_to_find_it": round(1000 * found, 1),
        }
    return {
        method: {**row, "reference": reference}
        for (method, row), reference in zip(rows.items(), references, strict=True)
    }


def error(drawn: Callable[[], int], middle: int, step: float) -> dict[str, float]:
    """Return the mean distance of draws from the median, and its standard error."""
    far = np.array([abs(drawn() - middle) for _ in range(RUNS)]) * step
    return {
        "mean_absolute_error": round(float(far.mean()), 6),
        "standard_error": round(float(far.std() / np.sqrt(RUNS)), 6),
    }


def incomes() -> np.ndarray:
    """Read the incomes of those who have one."""
    folder = Path(os.environ.get("SFUMATO_DATA", "data"))
    path = next(folder.rglob("sdnist_acs_national2019.csv.gz"), None)
    if path is None:
        raise FileNotFoundError("sdnist_acs_national2019.csv.gz; name its folder by SFUMATO_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        held = [row["PINCP"] for row in csv.DictReader(lines)]
    return np.array([float(income) for income in held if income != "N"])
