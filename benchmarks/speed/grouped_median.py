"""Medians of ten million rows, next to the engine's own median and to a sort in memory.

Of a thousand public groups, for row units and for user units, whose rows are truncated; the floor
is DuckDB's exact `median` of the same groups, of the same truncated rows. And of all rows, where
the floor is numpy's sort of an array that is in memory already. Reading is included on our side.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np

import sfumato as sf
from benchmarks.process import alone
from benchmarks.timing import seconds

ROWS, GROUPS, ROUNDS, SLOW_ROUNDS = 10**7, 1000, 5, 3
LIMIT = 3
CAP = 5
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Real(0, 200, step="0.01"))
TRUNCATED = (
    "(SELECT * FROM '{file}' QUALIFY row_number() OVER (PARTITION BY rider "
    f"ORDER BY hash(hash('key', rider, zone, fare)), zone, fare) <= {CAP})"
)


def run() -> dict[str, Any]:
    """Time all of them in turn, and take the memory of a grouped median in its own process."""
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
    fares = engine.execute(f"SELECT fare FROM '{file}'").fetchnumpy()["fare"]
    rows = f"'{file}'"
    by_row = _session(file, sf.Unit.row(), folder / "row.ledger")
    by_rider = _session(file, sf.Unit.by("rider", max_rows=CAP), folder / "rider.ledger")
    actions: dict[str, Callable[[int], object]] = {
        "duckdb": lambda _: _exact(engine, rows),
        "row": lambda price: _grouped(by_row, price),
        "numpy": lambda _: np.sort(fares),
        "single": lambda price: by_row.table().median("fare").release(epsilon=f"1/{price}"),
        "duckdb truncated": lambda _: _exact(engine, TRUNCATED.format(file=file)),
        "rider": lambda price: _grouped(by_rider, price),
    }
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(ROUNDS + 1):  # the first warms the file up
        for place, (name, action) in enumerate(actions.items()):
            if place >= 4 and turn > SLOW_ROUNDS:
                continue
            times[name].append(seconds(partial(action, turn + 2)))
    took = {name: median(found[1:]) for name, found in times.items()}
    exact, private = alone(_exact_alone, rows), alone(_grouped_alone, file)
    return {
        "rows": ROWS,
        "groups": GROUPS,
        "limit_ratio": LIMIT,
        "milliseconds": {name: round(1e3 * each) for name, each in took.items()},
        "row_unit_over_duckdb": round(took["row"] / took["duckdb"], 2),
        "single_over_numpy_sort": round(took["single"] / took["numpy"], 2),
        "rider_unit_over_duckdb_truncated": round(took["rider"] / took["duckdb truncated"], 2),
        "peak_mebibytes": {"duckdb": exact["peak"], "row": private["peak"]},
    }


def _session(file: Path, unit: sf.Unit, ledger: Path | None) -> sf.Session:
    return sf.Session(file, unit=unit, schema=SCHEMA, budget=sf.Budget(10), ledger=ledger)


def _exact(engine: duckdb.DuckDBPyConnection, rows: str) -> object:
    return engine.execute(f"SELECT zone, median(fare) FROM {rows} GROUP BY zone").fetchall()


def _grouped(session: sf.Session, price: int) -> object:
    return session.table().group_by("zone").median("fare").release(epsilon=f"1/{price}")


def _exact_alone(rows: str) -> Callable[[], int]:
    engine = duckdb.connect()
    return lambda: len(_exact(engine, rows))  # type: ignore[arg-type]


def _grouped_alone(file: Path) -> Callable[[], int]:
    session = _session(file, sf.Unit.row(), None)
    return lambda: len(_grouped(session, 2))  # type: ignore[arg-type]
