"""Counts, sums and means of 10^7 rows of 10^6 users, of whom three groups and one row each count.

Next to the same bound written by hand for the engine: rows of one user and group put together, the
groups of a user numbered by a hash, the first three kept. It picks any value of a user in a group,
where ours picks one by a keyed hash. Users are as unequal as words (Zipf). A smaller table shows
what it costs where peers were measured: at 10^6 rows OpenDP takes 5.9 s, SmartNoise 9.8 s,
PipelineDP 23 s, Tumult 48 s on the machine where this floor takes 0.3 s; at 10^7 rows OpenDP takes
16 s, PipelineDP 202 s and Tumult 280 s, and this floor 2.7 to 5 s.
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

SIZES, USERS, GROUPS, ROUNDS = (10**6, 10**7), 10**6, 1000, 3
CHUNK = 5 * 10**6
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Real(0, 100, step="0.01"))
CAPPED = "3 groups, 1 row in each"
UNITS = {
    CAPPED: sf.Unit.by("user", max_groups=3, max_rows_per_group=1),
    "5 rows": sf.Unit.by("user", max_rows=5),
}
BY_HAND = {
    CAPPED: """
        WITH each AS (SELECT user, zone, any_value(fare) AS fare FROM '{file}' GROUP BY user, zone),
        ranked AS (SELECT zone, fare,
            row_number() OVER (PARTITION BY user ORDER BY hash(zone)) AS place FROM each)
        SELECT zone, count(*), sum(fare), avg(fare) FROM ranked WHERE place <= 3 GROUP BY zone
    """,
    "5 rows": """
        WITH ranked AS (SELECT zone, fare,
            row_number() OVER (PARTITION BY user ORDER BY hash(user, zone, fare)) AS place
            FROM '{file}')
        SELECT zone, count(*), sum(fare), avg(fare) FROM ranked WHERE place <= 5 GROUP BY zone
    """,
}
PLAIN = "SELECT zone, count(*), sum(fare), avg(fare) FROM '{file}' GROUP BY zone"


def run() -> dict[str, Any]:
    """Time both bounds on both tables, in turn with what is written by hand."""
    found: dict[str, Any] = {"users": USERS, "groups": GROUPS}
    with tempfile.TemporaryDirectory() as folder:
        for rows in SIZES:
            file = Path(folder) / f"{rows}.parquet"
            write(file, rows)
            found[f"{rows} rows"] = {unit: _compared(file, unit) for unit in UNITS}
    return found


def write(file: Path, rows: int) -> None:
    """Write a table of so many rows, whose users and groups are unequal."""
    draw = np.random.default_rng(5)
    names = draw.permutation(USERS)
    weights = np.cumsum(1 / np.arange(1, USERS + 1))
    zones = np.cumsum(np.arange(1, GROUPS + 1) ** -0.5)
    with pq.ParquetWriter(file, _table(draw, names, weights, zones, 1).schema) as writer:
        for start in range(0, rows, CHUNK):
            writer.write_table(_table(draw, names, weights, zones, min(CHUNK, rows - start)))


def _table(draw: Any, names: Any, weights: Any, zones: Any, rows: int) -> pa.Table:
    return pa.table(
        {
            "user": names[np.searchsorted(weights / weights[-1], draw.random(rows))],
            "zone": np.searchsorted(zones / zones[-1], draw.random(rows)),
            "fare": np.clip(draw.gamma(4.0, 8.0, rows), 0, 100),
        }
    )


def _compared(file: Path, unit: str) -> dict[str, Any]:
    actions = {
        "plain": (_by_hand, PLAIN),
        "hand": (_by_hand, BY_HAND[unit]),
        "ours": (released, unit),
    }
    times: dict[str, list[float]] = {name: [] for name in actions}
    peaks = dict.fromkeys(actions, 0)
    for _ in range(ROUNDS):  # in turn, each in a process of its own: memory, and a machine's drift
        for name, (action, given) in actions.items():
            made = alone(action, file, given)
            times[name] += made["result"]
            peaks[name] = max(peaks[name], made["peak"])
    plain, hand, ours = (median(times[name]) for name in actions)
    return {
        "plain_seconds": round(plain, 3),
        "by_hand_seconds": round(hand, 3),
        "seconds": round(ours, 3),
        "over_hand": round(ours / hand, 2),
        "over_plain": round(ours / plain, 1),
        "by_hand_peak_mebibytes": peaks["hand"],
        "peak_mebibytes": peaks["ours"],
    }


def _by_hand(file: Path, text: str) -> Callable[[], list[float]]:
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false")
    return lambda: [
        seconds(lambda: engine.execute(text.format(file=file)).fetchall()) for _ in "123"
    ]


def released(file: Path, unit: str) -> Callable[[], list[float]]:
    """Return what times three releases of counts, sums and means."""
    session = sf.Session(file, unit=UNITS[unit], schema=SCHEMA, budget=sf.Budget(10))
    table = session.table().group_by("zone")
    question = table.agg(n=sf.count(), total=sf.sum("fare"), mean=sf.mean("fare"))
    prices = iter(("1", "1.1", "1.2"))  # another each time: the same question is answered once
    return lambda: [seconds(lambda: question.release(epsilon=next(prices))) for _ in "123"]
