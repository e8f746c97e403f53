"""Choosing among a million groups, against numpy's insecure noise on them; and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.timing import ratio, seconds
from sfumato.mechanisms.selection import alternatives
from sfumato.noise import system

GROUPS = 10**6
TARGETS = (("1", "1e-8", 3), ("0.1", "1e-8", 100))


def run() -> dict[str, Any]:
    """Measure one choice among Zipf counts, and the first calibration for a sensitivity."""
    generator, rng = np.random.default_rng(7), system()
    weights = 1 / np.arange(1, GROUPS + 1)
    counts = generator.multinomial(10**7, weights / weights.sum()).astype(np.int64)
    result: dict[str, Any] = {"unit": "time over numpy's Laplace noise on as many, same run"}
    for epsilon, delta, groups in TARGETS:
        one = sf.Sensitivity(l0=groups, linf=1)
        for each in alternatives(one, epsilon=epsilon, delta=delta, counted=False):
            result[f"{each.name}, epsilon {epsilon}, {groups} groups"] = ratio(
                lambda each=each: each.mechanism.choose(counts, rng),
                lambda: counts + generator.laplace(0.0, 3.0, GROUPS) > 60,
                rounds=5,
            )
    for name, sensitivity in (
        ("10 groups", sf.Sensitivity(l0=10, linf=1)),
        ("10^4 groups", sf.Sensitivity(l0=10**4, linf=1)),
        ("20 rows anywhere", sf.Sensitivity(l0=20, l1=20, linf=20)),
        ("20,000 groups, replace", sf.Sensitivity(l0=2 * 10**4, linf=1, neighbors="replace")),
    ):
        for epsilon, delta in (("0.7", "1e-7"), ("1e-5", "1e-12")):
            taken = seconds(
                lambda s=sensitivity, e=epsilon, d=delta: alternatives(
                    s, epsilon=e, delta=d, counted=False
                )
            )
            named = f"all three calibrated, {name}, epsilon {epsilon}, delta {delta}"
            result[named] = {"milliseconds": round(1e3 * taken, 1)}
    return result
