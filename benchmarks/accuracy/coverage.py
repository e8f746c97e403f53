"""How often the intervals of every aggregate hold the exact answer, through a session."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf

TIMES = 40  # releases of each question
GROUPS, PEOPLE = 25, 3000
SCALE = 18  # of the noise of a count, in rows
EDGES = [0, 20, 60, 100, 200]
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Real(0, 200, "0.01"))
UNITS = {"row": (sf.Unit.row(), 1), "rider": (sf.Unit.by("rider", max_rows=2), 2)}


def run() -> dict[str, Any]:
    """Return the share of intervals that hold, of `TIMES` times 25 groups, for 95 %."""
    data, truth = town()
    result: dict[str, Any] = {"intervals": TIMES * GROUPS, "people in a group": PEOPLE}
    for law in ("laplace", "gaussian"):
        for name, (unit, rows) in UNITS.items():
            budget = sf.Budget(rho=10**6) if law == "gaussian" else sf.Budget(10**6)
            with sf.Session(data, unit=unit, schema=SCHEMA, budget=budget) as session:
                result[f"{law}, {name}"] = covered(session.table(), law, rows, truth)
    return result


def town() -> tuple[pa.Table, dict[str, Any]]:
    """Make rides by two riders' turns in each zone, and what is exactly true of each zone."""
    rng = np.random.default_rng(7)
    shape = rng.uniform(1, 4, (2, GROUPS, 1))
    cents = np.rint(20_000 * rng.beta(*shape, (GROUPS, PEOPLE))).astype(np.int64)
    table = {
        "rider": np.repeat(np.arange(cents.size // 2), 2),
        "zone": np.repeat(np.arange(GROUPS), PEOPLE),
        "fare": cents.ravel() / 100,
    }
    exact = [[Fraction(int(c), 100) for c in row] for row in cents]
    means = [sum(row) / PEOPLE for row in exact]
    variances = [
        sum(x * x for x in row) / PEOPLE - m * m for row, m in zip(exact, means, strict=True)
    ]
    edges = np.array(EDGES) * 100
    bins = [np.histogram(row, edges)[0] for row in cents]
    truth = {
        "count": [PEOPLE] * GROUPS,
        "sum": [sum(row) for row in exact],
        "mean": means,
        "variance": variances,
        "std": [float(v) ** 0.5 for v in variances],
        "histogram": [int(n) for row in bins for n in row],
    }
    return pa.table(table), truth


def covered(table: Any, law: str, rows: int, truth: dict[str, Any]) -> dict[str, float]:
    """Ask each question many times, and count."""
    zones = table.group_by("zone")
    together = {
        "count": sf.count("fare"),
        "mean": sf.mean("fare"),
        "variance": sf.variance("fare"),
        "std": sf.std("fare"),
    }
    questions = [
        (zones.agg(**together), 3, {name: name for name in together}),
        (zones.sum("fare"), 1, {"fare": "sum"}),
        (zones.histogram("fare", EDGES), 1, {"n": "histogram"}),
    ]
    held: dict[str, list[float]] = {}
    for question, parts, names in questions:
        for time in range(TIMES):
            answer = question.release(**price(law, rows, parts, time))
            for column, name in names.items():
                held.setdefault(name, []).append(share(answer[column], truth[name]))
    return {name: round(100 * float(np.mean(shares)), 2) for name, shares in held.items()}


def price(law: str, rows: int, parts: int, time: int) -> dict[str, Fraction]:
    """Return what makes the noise of a count so large; a little more each time, for a new draw."""
    more = 1 + Fraction(time, 10**9)
    if law == "laplace":
        return {"epsilon": Fraction(parts * rows, SCALE) * more}
    return {"rho": Fraction(parts * rows**2, 2 * SCALE**2) * more}


def share(estimate: Any, truth: list[Any]) -> float:
    """Return how many of the intervals hold."""
    pairs = zip(estimate.low, truth, estimate.high, strict=True)
    return float(np.mean([low <= true <= high for low, true, high in pairs]))
