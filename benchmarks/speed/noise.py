"""Exact noise against numpy's insecure floats: 10^6 draws, same process, alternating."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.timing import ratio
from sfumato.noise import FixedWork, Gaussian, Laplace, batch, draw, fixed, system

SIZE = 10**6
TARGETS = {
    "laplace": {1: 2, 10: 2, 1000: 2, 10**6: 5},
    "gaussian": {1: 2, 10: 2, 1000: 2, 10**6: 10},
}
FIXED_TARGET = 25
FIXED_SCALES = (1, 2**5, 2**10, 2**15, 2**20)


def run() -> dict[str, Any]:
    """Measure both laws at some scales, the first draw at a scale, and noise of fixed work."""
    generator = np.random.default_rng()
    result: dict[str, Any] = {"unit": "time of 10^6 draws over numpy's Generator, same run"}
    for name, kind, floor in (
        ("laplace", Laplace, generator.laplace),
        ("gaussian", Gaussian, generator.normal),
    ):
        for scale, target in TARGETS[name].items():
            law = kind(Fraction(scale))
            row = ratio(
                lambda law=law: draw(law, SIZE, system()), lambda s=scale, f=floor: f(0, s, SIZE)
            )

            def fresh(law: Any = law) -> None:
                batch._kernel.cache_clear()
                draw(law, 32, system())

            row["table_over_floor"] = ratio(fresh, lambda s=scale, f=floor: f(0, s, SIZE))["ratio"]
            result[f"{name} {scale}"] = {**row, "target_ratio": target}
        for scale in FIXED_SCALES:
            law = kind(Fraction(scale))
            row = ratio(
                lambda law=law: draw(law, SIZE, FixedWork(system())),
                lambda s=scale, f=floor: f(0, s, SIZE),
                rounds=3,
            )

            def first(law: Any = law) -> None:
                fixed._kernel.cache_clear()
                draw(law, 1, FixedWork(system()))

            row["table_over_floor"] = ratio(first, lambda s=scale, f=floor: f(0, s, SIZE))["ratio"]
            result[f"{name} {scale}, fixed work"] = {**row, "target_ratio": FIXED_TARGET}
    return result
