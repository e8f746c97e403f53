"""What a bought cap costs counts and sums, next to declared caps and to hindsight.

Most riders have a few rides and some have thousands. With max_rows="auto" a share of ε finds how
many rows of one rider count, and the rest answers. The error is that of leaving rows out and of
noise together: the mean distance from the truth, over that with the best cap that hindsight could
choose with all of ε. Declared caps are computed, the mean over the noise exactly; answers with
bought caps are drawn through a session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import exp
from statistics import fmean, median
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf

TIMES = 100
RIDERS, MOST, HIGHEST, ZONES = 20_000, 1_000, 100, 10
TAILS = {"thick": 1.8, "thin": 2.5}  # exponents of Zipf's law of rides per rider
EPSILONS = ("0.1", "1")
CAPS = (1, 10, 100)
SCHEMA = sf.Schema(zone=sf.Integer(0, ZONES - 1), fare=sf.Integer(0, HIGHEST))


def run() -> dict[str, Any]:
    """Return the errors over those of hindsight, for each tail, question and ε.

    The median of what was bought stands beside the mean: one cap far too high spoils a mean.
    """
    result: dict[str, Any] = {
        "runs": TIMES,
        "riders": RIDERS,
        "figures": "mean error over that of the best cap with hindsight",
    }
    for tail, exponent in TAILS.items():
        town = Town(exponent)
        result[f"{tail} tail"] = f"{town.rows.sum():,} rides, {town.rows.max():,} of one rider"
        unit = sf.Unit.by("rider", max_rows="auto")
        with sf.Session(town.table, unit=unit, schema=SCHEMA, budget=sf.Budget(10**6)) as session:
            for name in ("count", "sum", "count by zone"):
                for epsilon in EPSILONS:
                    found = compared(town, session.table(), name, epsilon)
                    result[f"{name}, {tail} tail, epsilon {epsilon}"] = found
    return result


class Town:
    """Rides of riders, in random order, and what declared caps leave out."""

    def __init__(self, exponent: float) -> None:
        rng = np.random.default_rng(11)
        self.rows = np.minimum(rng.zipf(exponent, RIDERS), MOST)
        rider = np.repeat(np.arange(RIDERS), self.rows)
        self.fares = rng.binomial(HIGHEST, 0.3, rider.size)
        self.zones = rng.integers(0, ZONES, rider.size)
        # Rides are independent of each other, so the first of each rider are any of them.
        self.turn = np.arange(rider.size) - np.repeat(np.cumsum(self.rows) - self.rows, self.rows)
        columns = {"rider": rider, "zone": self.zones, "fare": self.fares}
        self.table = pa.table(columns).take(rng.permutation(rider.size))

    def truth(self, name: str) -> list[int]:
        """Return the exact answers."""
        return self.kept(name, MOST)

    def kept(self, name: str, cap: int) -> list[int]:
        """Return the answers of what counts under a cap."""
        counts = self.turn < cap
        if name == "count":
            return [int(counts.sum())]
        if name == "sum":
            return [int(self.fares[counts].sum())]
        return [int(n) for n in np.bincount(self.zones[counts], minlength=ZONES)]

    def error(self, name: str, cap: int, epsilon: float) -> float:
        """Return the mean distance of an answer under a cap from the truth."""
        scale = cap * (HIGHEST if name == "sum" else 1) / epsilon
        pairs = zip(self.kept(name, cap), self.truth(name), strict=True)
        return fmean(with_noise(abs(a - b), scale) for a, b in pairs)


def compared(town: Town, table: Any, name: str, epsilon: str) -> dict[str, Any]:
    """Compare what was bought with what could have been declared."""
    caps = np.unique(np.geomspace(1, MOST, 60).astype(int)).tolist()
    errors = {cap: town.error(name, cap, float(epsilon)) for cap in caps}
    best = min(errors, key=errors.__getitem__)
    asked = {
        "count": table.count(),
        "sum": table.sum("fare"),
        "count by zone": table.group_by("zone").count(),
    }[name]
    truth, off, found = town.truth(name), [], []
    for time in range(TIMES):
        more = 1 + Fraction(time, 10**9)  # a little more each time, for a new draw
        answer = asked.release(epsilon=Fraction(epsilon) * more)
        off.append(_off(answer.measures[0].values, truth))
        found.append(_cap(answer.notes))
    declared = {f"cap {cap}": town.error(name, cap, float(epsilon)) for cap in CAPS}
    return {
        "best cap": best,
        "best error, of the truth": f"{errors[best] / fmean(truth):.2%}",
        "bought caps": f"{min(found)} to {max(found)}, in the middle {median(found):g}",
        "auto": _ratio(fmean(off), errors[best]),
        "auto, median": _ratio(median(off), errors[best]),
        **{cap: _ratio(error, errors[best]) for cap, error in declared.items()},
    }


def with_noise(bias: float, scale: float) -> float:
    """Return the mean of |bias + noise| under Laplace noise."""
    return bias + scale * exp(-bias / scale)


def _off(values: Sequence[Any], truth: Sequence[int]) -> float:
    return fmean(abs(float(a) - b) for a, b in zip(values, truth, strict=True))


def _cap(notes: Sequence[str]) -> int:
    found = re.search(r"max_rows was bought: ([\d,]+)", " ".join(notes))
    if found is None:
        raise ValueError("no note tells the cap that was bought")
    return int(found[1].replace(",", ""))


def _ratio(error: float, best: float) -> float:
    return float(f"{error / best:.3g}")
