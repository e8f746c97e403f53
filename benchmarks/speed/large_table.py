"""10^8 rows of 10^7 users in a Parquet file: counts, sums and means of 1,000 groups, unloaded.

Row by row next to the plain query of the engine, which adds up fractions as they are, and next to
one that clamps and quantizes as well, as a sum of known sensitivity must be. By users, of whom
three groups and one row in each count, next to the same bound written by hand, as in `truncation`;
rows that cannot stay are dropped while the file is read. Once more with a user that has half of
6·10^7 rows, as a name for "unknown" may, in 24 groups, of which few rows can be told to be too many
before all are there. Each runs in a process of its own; the most memory it had is in the result,
and the limit is 8 GiB. What is by hand may spill to the disk; ours never does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import sfumato as sf
from benchmarks.process import alone
from benchmarks.speed.truncation import BY_HAND, CAPPED, PLAIN, UNITS
from benchmarks.timing import seconds

ROWS, USERS, GROUPS, ROUNDS = 10**8, 10**7, 1000, 3
UNKNOWN_ROWS, UNKNOWN_GROUPS = 6 * 10**7, 24
# As unequal as words: the logarithm of a user's place is uniform.
USER = f"floor(exp(random() * ln({USERS})))"
MOST_MEMORY = 8 * 1024  # MiB
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Real(0, 100, step="0.01"))
CLAMPED = f"""
    WITH steps AS (SELECT
        CASE WHEN zone < 0 THEN 0 WHEN zone > {GROUPS - 1} THEN {GROUPS - 1} ELSE zone END AS zone,
        CASE WHEN fare < 0 THEN 0 WHEN fare <= 100 THEN CAST(round(fare * 100) AS BIGINT)
            WHEN NOT isnan(fare) THEN 10000 END AS fare FROM '{{file}}')
    SELECT zone, count(*), sum(fare), sum(fare) / count(fare) FROM steps GROUP BY zone
"""


def run() -> dict[str, Any]:
    """Time both, in turn with what is written by hand."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.parquet"
        _write(file, ROWS, USER, GROUPS)
        cases = {
            "rows": (PLAIN, sf.Unit.row()),
            "rows, next to clamped ones": (CLAMPED, sf.Unit.row()),
            "users": (BY_HAND[CAPPED], UNITS[CAPPED]),
        }
        found = {name: _compared(file, *case) for name, case in cases.items()}
        size = file.stat().st_size >> 20
        file = Path(folder) / "unknown.parquet"
        half = f"CASE WHEN random() < 0.5 THEN 0 ELSE {USER} END"
        _write(file, UNKNOWN_ROWS, half, UNKNOWN_GROUPS)
        unknown = _compared(file, BY_HAND[CAPPED], UNITS[CAPPED])
    return {
        "table_rows": ROWS,
        "table_users": USERS,
        "groups": GROUPS,
        "file_mebibytes": size,
        "limit_mebibytes": MOST_MEMORY,
        **found,
        "users, one with half of the rows": {
            "table_rows": UNKNOWN_ROWS,
            "groups": UNKNOWN_GROUPS,
            **unknown,
        },
    }


def _write(file: Path, rows: int, user: str, groups: int) -> None:
    with duckdb.connect() as engine:
        engine.execute("SELECT setseed(0.5)")
        engine.execute(
            f"COPY (SELECT CAST({user} AS INTEGER) AS user, "
            f"CAST(floor({groups} * random() * random()) AS SMALLINT) AS zone, "
            f"100 * random() * random() AS fare FROM range({rows})) TO '{file}' (FORMAT parquet)"
        )


def _compared(file: Path, text: str, unit: sf.Unit) -> dict[str, Any]:
    actions = {"by_hand": (_by_hand, text), "ours": (_ours, unit)}
    times: dict[str, list[float]] = {name: [] for name in actions}
    peaks = dict.fromkeys(actions, 0)
    for _ in range(ROUNDS):
        for name, (action, given) in actions.items():
            made = alone(action, file, given)
            times[name].append(made["result"])
            peaks[name] = max(peaks[name], made["peak"])
    hand, ours = (median(times[name]) for name in actions)
    return {
        "by_hand_seconds": round(hand, 2),
        "seconds": round(ours, 2),
        "over_hand": round(ours / hand, 2),
        "by_hand_peak_mebibytes": peaks["by_hand"],
        "peak_mebibytes": peaks["ours"],
    }


def _by_hand(file: Path, text: str) -> Callable[[], float]:
    engine = duckdb.connect(config={"temp_directory": str(file.parent)})
    engine.execute("SET enable_progress_bar = false")
    return lambda: seconds(lambda: engine.execute(text.format(file=file)).fetchall())


def _ours(file: Path, unit: sf.Unit) -> Callable[[], float]:
    session = sf.Session(file, unit=unit, schema=SCHEMA, budget=sf.Budget(10))
    zones = session.table().group_by("zone")
    question = zones.agg(n=sf.count(), total=sf.sum("fare"), mean=sf.mean("fare"))
    return lambda: seconds(lambda: question.release(epsilon=1))
