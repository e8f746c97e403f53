"""Quantiles of large groups and of many, next to numpy's sort of the same numbers."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.timing import ratio, seconds
from sfumato.noise import system

ROWS, GROUPS = 10**7, 1000
DECILES = [f"{i}/10" for i in range(1, 10)]
RANGE = 2**40


def run() -> dict[str, Any]:
    """Measure one group of 10^7 values, and 1,000 groups of 10^4."""
    generator = np.random.default_rng()
    values = generator.integers(-RANGE, RANGE, ROWS)
    cells = generator.permutation(np.repeat(np.arange(GROUPS), ROWS // GROUPS))
    bag = sf.mechanisms.Bag(values, cells, GROUPS)
    result: dict[str, Any] = {"unit": "time over numpy's sort of all the values, same run"}
    for name, targets in (("median", ["1/2"]), ("nine deciles", DECILES)):
        search = sf.mechanisms.Quantiles.calibrate(
            sf.Sensitivity(l1=1), targets=targets, low=-RANGE, high=RANGE, step=1, epsilon=1
        )
        result[f"{name} of 10^7"] = ratio(
            lambda search=search: search(values), lambda: np.sort(values), rounds=5
        )
        result[f"{name} of 1,000 groups of 10^4"] = ratio(
            lambda search=search: search(bag), lambda: np.sort(values), rounds=3
        )
        draw = partial(search.sample, search.exact(bag), system())
        drawing = median(seconds(draw) for _ in range(3))
        result[f"{name} of 1,000 groups of 10^4"]["milliseconds_a_group_and_target_once_sorted"] = (
            round(1e3 * drawing / GROUPS / len(targets), 4)
        )
    return result
