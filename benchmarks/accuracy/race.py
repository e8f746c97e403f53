"""How far a count is off if nobody knows how many rows one unit has: a race, and a bought cap.

About 25,000 customers with a million items, made as in TPC-H: two thirds of all customers have
orders, ten on average, and an order has one item to seven. And riders of whom a few have many
rides. A race is drawn on the exact totals of its levels, with the noise that a session plans; a cap
is bought through a session, on the same rows. The share of the truth by which answers are off, in
the middle and beyond which one in twenty lies, next to what a cap would give that the owner happens
to declare right.
"""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sfumato as sf
from sfumato.noise import system
from sfumato.session.race import Raced

TIMES = 50
CUSTOMERS, ORDERS, ITEMS = 37_500, 10, 7
RIDERS, MOST = 20_000, 1_000
PRICES = {
    "epsilon 0.1": {"epsilon": "0.1"},
    "epsilon 0.8": {"epsilon": "0.8"},
    "epsilon 0.8, delta 1e-6": {"epsilon": "0.8", "delta": "1e-6"},
}
CONFIDENCE = Fraction(95, 100)


def run() -> dict[str, Any]:
    """Return the relative errors for each table and price."""
    result: dict[str, Any] = {
        "runs": TIMES,
        "figures": "share of the truth by which answers are off: median, 95th percentile",
    }
    for name, rows in {"items": items(), "rides, thick tail": rides()}.items():
        result[name] = f"{rows.sum():,} of {rows.size:,} units, {rows.max():,} of one"
        unit = sf.Unit.by("id", max_rows="auto")
        data = pa.table({"id": np.repeat(np.arange(rows.size), rows), "x": np.zeros(rows.sum())})
        schema, budget = sf.Schema(x=sf.Integer(0, 1)), sf.Budget(10**6, "1e-2")
        with sf.Session(data, unit=unit, schema=schema, budget=budget) as session:
            for price, cost in PRICES.items():
                result[f"{name}, {price}"] = compared(rows, session, cost)
    return result


def items() -> NDArray[np.int64]:
    """Return how many items each customer has who has any."""
    rng = np.random.default_rng(22)
    orders = np.where(np.arange(CUSTOMERS) % 3 < 2, rng.poisson(ORDERS, CUSTOMERS), 0)
    sizes = rng.integers(1, ITEMS + 1, orders.sum())
    whose = np.repeat(np.arange(CUSTOMERS), orders)
    counted = np.bincount(whose, sizes, CUSTOMERS).astype(np.int64)
    return counted[counted > 0]


def rides() -> NDArray[np.int64]:
    """Return how many rides each rider has: Zipf's law, cut."""
    return np.minimum(np.random.default_rng(11).zipf(1.8, RIDERS), MOST)


def compared(rows: NDArray[np.int64], session: Any, cost: dict[str, str]) -> dict[str, Any]:
    """Compare a race, at two ends, with caps that are bought and with one that is right."""
    truth, table = int(rows.sum()), session.table()
    found: dict[str, Any] = {}
    for most in (2**20, 2**10):
        plan = table.count(per_unit="auto", most=most).explain(**cost)
        [recipe] = plan.recipes
        answers = raced(recipe, rows)
        found[f"race up to {most:,} rows"] = off(answers, truth)
        found[f"race up to {most:,} rows, answers above the truth"] = int((answers > truth).sum())
    bought = []
    for time in range(TIMES):
        more = 1 + Fraction(time, 10**9)  # a little more each time, for a new draw
        price = {**cost, "epsilon": Fraction(cost["epsilon"]) * more}
        bought.append(int(table.count().release(**price)["n"].value))
    found["max_rows='auto'"] = off(np.array(bought), truth)
    # The noise alone: of a cap at the largest number of rows, which no table tells beforehand.
    scale = int(rows.max()) / float(cost["epsilon"])
    found["largest number declared, noise of ε"] = [
        _share(scale * log(1 / fails), truth) for fails in (0.5, 0.05)
    ]
    return found


def raced(recipe: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Draw answers of a race on the exact totals of its levels."""
    if not isinstance(recipe, Raced):
        raise TypeError("the plan is one of a race")
    noisy = []
    for part, end in zip(recipe.parts, recipe.ends, strict=True):
        exact = int(np.minimum(rows, int(end)).sum())
        noisy.append(part.mechanism.sample(np.full(TIMES, exact, np.int64), system()))
    return np.array(recipe.measure(noisy, CONFIDENCE).values)


def off(answers: NDArray[Any], truth: int) -> list[str]:
    """Return median and 95th percentile of the relative error."""
    error = np.abs(answers - truth)
    return [_share(float(each), truth) for each in np.quantile(error, [0.5, 0.95])]


def _share(error: float, truth: int) -> str:
    return f"{error / truth:.2%}"
