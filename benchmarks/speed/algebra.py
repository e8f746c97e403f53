"""The algebra over ten million rows: each step next to the count without it.

One row for each unit next to truncation: the one groups rows, the other orders them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import sfumato as sf
from benchmarks.timing import seconds

ROWS, RIDERS, ZONES, ROUNDS = 10**7, 10**6, 1000, 3
SCHEMA = sf.Schema(zone=sf.Integer(0, ZONES - 1), fare=sf.Real(0, 200, step="0.01"))


def run() -> dict[str, Any]:
    """Time one question for each step, in turn with the plain ones."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(Path(folder) / "trips.parquet")


def _run(file: Path) -> dict[str, Any]:
    engine = duckdb.connect()
    engine.execute("SELECT setseed(0.5)")
    engine.execute(
        f"COPY (SELECT CAST(floor(random() * {ZONES}) AS INTEGER) AS zone, "
        f"random() * 200 AS fare, CAST(floor(random() * {RIDERS}) AS INTEGER) AS rider "
        f"FROM range({ROWS})) TO '{file}' (FORMAT parquet)"
    )
    public = {"zone": list(range(ZONES)), "town": [f"town {k % 7}" for k in range(ZONES)]}
    rows, riders = _table(file, sf.Unit.row()), _table(file, sf.Unit.by("rider", max_rows=20))
    questions = {
        "rows_counted": rows.group_by("zone").count(),
        "rows_joined_with_a_public_table": rows.join(public, on="zone").group_by("town").count(),
        "rows_united": rows.union(rows.filter("fare > 100")).group_by("zone").count(),
        "distinct_zones": rows.select("zone").distinct().count(),
        "rows_of_riders_truncated": riders.group_by("zone").count(),
        "one_row_for_each_rider": riders.group_by_unit().sum("fare").mean("fare"),
        "riders_counted_by_zone": riders.group_by_unit("zone").count().group_by("zone").count(),
    }
    times: dict[str, list[float]] = {name: [] for name in questions}
    for i in range(ROUNDS):
        for name, question in questions.items():
            ask = question.release
            times[name].append(seconds(lambda ask=ask, i=i: ask(epsilon=f"1/{i + 2}")))
    found = {name: 1e3 * median(each) for name, each in times.items()}
    return {
        "rows": ROWS,
        "riders": RIDERS,
        **{f"{name}_milliseconds": round(time) for name, time in found.items()},
        "one_row_over_truncated": round(
            found["one_row_for_each_rider"] / found["rows_of_riders_truncated"], 2
        ),
    }


def _table(file: Path, unit: sf.Unit) -> Any:
    return sf.Session(file, unit=unit, schema=SCHEMA, budget=sf.Budget(10**6)).table()
