"""A private query over ten million rows, next to the quantized query written by hand.

Row units: the product must cost no more than the engine. User units are measured too, without a
floor by hand; what they cost is the truncation.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import sfumato as sf
from benchmarks.timing import seconds

ROWS, GROUPS, ROUNDS = 10**7, 1000, 7
HAND = """
    SELECT zone, count(*), sum(CAST(round(greatest(least(fare, 200), 0) * 100) AS BIGINT))
    FROM '{file}' WHERE zone IS NOT NULL GROUP BY zone
"""
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Real(0, 200, step="0.01"))


def run() -> dict[str, Any]:
    """Time count and sum by a thousand groups, in turn with the floor."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(Path(folder))


def _run(folder: Path) -> dict[str, Any]:
    file = folder / "trips.parquet"
    engine = duckdb.connect()
    engine.execute("SELECT setseed(0.5)")
    engine.execute(
        f"COPY (SELECT CAST(floor(random() * {GROUPS}) AS INTEGER) AS zone, "
        f"random() * 210 - 5 AS fare, CAST(floor(random() * 1000000) AS INTEGER) AS rider "
        f"FROM range({ROWS})) TO '{file}' (FORMAT parquet)"
    )
    by_row = _session(file, sf.Unit.row(), folder / "row.ledger")
    by_rider = _session(file, sf.Unit.by("rider", max_rows=5), folder / "rider.ledger")
    times: dict[str, list[float]] = {"hand": [], "row": [], "rider": []}
    costs = iter(range(2, 10**6))
    for round_ in range(ROUNDS):
        times["hand"].append(seconds(lambda: engine.execute(HAND.format(file=file)).fetchall()))
        times["row"].append(seconds(lambda: _ask(by_row, next(costs))))
        if round_ < 3:
            times["rider"].append(seconds(lambda: _ask(by_rider, next(costs))))
    hand, row, rider = (1e3 * median(times[name]) for name in ("hand", "row", "rider"))
    return {
        "rows": ROWS,
        "groups": GROUPS,
        "by_hand_milliseconds": round(hand),
        "row_unit_milliseconds": round(row),
        "limit_milliseconds": round(1.2 * hand + 20),
        "row_unit_over_hand": round(row / hand, 2),
        "rider_unit_milliseconds": round(rider),
        "rider_unit_over_hand": round(rider / hand, 2),
    }


def _session(file: Path, unit: sf.Unit, ledger: Path) -> sf.Session:
    return sf.Session(file, unit=unit, schema=SCHEMA, budget=sf.Budget(10), ledger=ledger)


def _ask(session: sf.Session, cost: int) -> None:
    table = session.table().group_by("zone")
    table.agg(n=sf.count(), fare=sf.sum("fare")).release(epsilon=f"1/{cost}")
