"""A dashboard of 100 questions to 10^7 rows, one by one and as a batch, beside 100 plain queries.

Ten panels for each of ten filters: counts, sums and means by zone, by hour, by kind and in all.
The plain queries are the same ones for the engine by hand, one after the other, as a dashboard asks
them. Rows are their own units; in the smaller table units are users, of whom 5 rows count.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.process import alone
from benchmarks.timing import seconds

ROUNDS, ZONES, USERS = 3, 20, 10**5
CHUNK = 5 * 10**6
KINDS = ["bike", "bus", "car", "taxi", "tram"]
SCHEMA = sf.Schema(
    zone=sf.Integer(0, ZONES - 1),
    hour=sf.Integer(0, 23),
    kind=sf.Category(KINDS),
    fare=sf.Real(0, 100, step="0.01"),
    minutes=sf.Integer(0, 240),
)
FILTERS = [
    None, "hour < 9", "hour >= 17", "fare > 20", "minutes < 30", "kind = 'bus'", "kind = 'taxi'",
    "zone < 5", "zone >= 10 and hour < 12", "minutes >= 60 and fare < 50",
]  # fmt: skip
PANELS = [
    ((), "count", None), ((), "mean", "fare"), ((), "sum", "minutes"), (("zone",), "count", None),
    (("zone",), "mean", "fare"), (("hour",), "count", None), (("hour",), "mean", "minutes"),
    (("kind",), "count", None), (("kind",), "sum", "fare"), (("kind", "hour"), "count", None),
]  # fmt: skip
TABLES = {"rows": (10**7, sf.Unit.row()), "users": (10**6, sf.Unit.by("user", max_rows=5))}


def run() -> dict[str, Any]:
    """Time all three, in turn, each in a process of its own."""
    found: dict[str, Any] = {"questions": len(FILTERS) * len(PANELS)}
    with tempfile.TemporaryDirectory() as folder:
        for name, (rows, _) in TABLES.items():
            file = Path(folder) / f"{name}.parquet"
            _write(file, rows)
            found[name] = {"table_rows": rows, **_compared(file, name)}
    return found


def _write(file: Path, rows: int) -> None:
    draw = np.random.default_rng(8)
    with pq.ParquetWriter(file, _table(draw, 1).schema) as writer:
        for start in range(0, rows, CHUNK):
            writer.write_table(_table(draw, min(CHUNK, rows - start)))


def _table(draw: Any, rows: int) -> pa.Table:
    kinds = pa.DictionaryArray.from_arrays(draw.integers(0, len(KINDS), rows), KINDS)
    return pa.table(
        {
            "user": draw.integers(0, USERS, rows),
            "zone": draw.integers(0, ZONES, rows),
            "hour": draw.integers(0, 24, rows),
            "kind": kinds.cast(pa.string()),
            "fare": np.clip(draw.gamma(4.0, 8.0, rows), 0, 100),
            "minutes": draw.integers(1, 200, rows),
        }
    )


def _compared(file: Path, name: str) -> dict[str, Any]:
    actions = {"plain": _plain, "one_by_one": _one_by_one, "batch": _batch}
    times: dict[str, list[float]] = {action: [] for action in actions}
    peaks = dict.fromkeys(actions, 0)
    for _ in range(ROUNDS):
        for called, action in actions.items():
            made = alone(action, file, name)
            times[called].append(made["result"])
            peaks[called] = max(peaks[called], made["peak"])
    middle = {called: median(each) for called, each in times.items()}
    return {
        **{f"{called}_seconds": round(each, 2) for called, each in middle.items()},
        "one_by_one_over_plain": round(middle["one_by_one"] / middle["plain"], 2),
        "batch_over_plain": round(middle["batch"] / middle["plain"], 2),
        "peak_mebibytes": peaks,
    }


def _plain(file: Path, name: str) -> Callable[[], float]:  # noqa: ARG001 - as the others
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false")
    queries = []
    for condition in FILTERS:
        for keys, function, column in PANELS:
            picked = [*keys, f"{ {'mean': 'avg'}.get(function, function) }({column or '*'})"]
            where = f" WHERE {condition}" if condition else ""
            by = f" GROUP BY {', '.join(keys)}" if keys else ""
            queries.append(f"SELECT {', '.join(picked)} FROM '{file}'{where}{by}")
    return lambda: seconds(lambda: [engine.execute(query).fetchall() for query in queries])


def _session(file: Path, name: str) -> sf.Session:
    budget = sf.Budget(epsilon=1000, delta="1e-6")
    return sf.Session(file, unit=TABLES[name][1], schema=SCHEMA, budget=budget, ledger=f"{file}.l")


def _questions(session: sf.Session) -> list[Any]:
    found = []
    for condition in FILTERS:
        table = session.table() if condition is None else session.table().filter(condition)
        for keys, function, column in PANELS:
            groups = table.group_by(*keys) if keys else table
            found.append(getattr(groups, function)(*([column] if column else [])))
    return found


def _one_by_one(file: Path, name: str) -> Callable[[], float]:
    Path(f"{file}.l").unlink(missing_ok=True)
    session = _session(file, name)
    return lambda: seconds(lambda: [q.release(epsilon="0.1") for q in _questions(session)])


def _batch(file: Path, name: str) -> Callable[[], float]:
    Path(f"{file}.l").unlink(missing_ok=True)
    session = _session(file, name)
    return lambda: seconds(
        lambda: session.batch(_questions(session)).release(epsilon=10, delta="1e-7")
    )
