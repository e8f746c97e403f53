"""A million text keys in ten million rows that nobody listed, next to the same exact grouping.

Every key occurs; a few occur often. The exact statement counts distinct units and rows, and sums
where a sum is asked. The same one also clamps, leaves out what is missing and truncates units: it
is the statement that a plan shows, in an engine with its own settings, and the ratio is to that.
Each runs in a process of its own, in turn, so that the memory is its own: once, which loads what it
needs, and then three times, of which the mean counts. Where every key appears, what costs most is
to put a million keys in order and to write them, with intervals, to the ledger.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

import sfumato as sf
from benchmarks.process import alone

ROWS, KEYS, RIDERS, ROUNDS = 10**7, 10**6, 10**6, 3
TIMES = 3  # in each process, after a first
MOST_MEMORY = 6 * 1024  # MiB
SCHEMA = sf.Schema(word=sf.Text(), fare=sf.Integer(0, 200))
UNITS = {
    "row": sf.Unit.row(),
    "rider": sf.Unit.by("rider", max_rows=10, max_groups=10),
}
EXACT = {"row": "count(*)", "rider": "count(DISTINCT rider), count(*)"}
OUTPUTS = {"count": {"n": sf.count()}, "count and sum": {"n": sf.count(), "fare": sf.sum("fare")}}


def run() -> dict[str, Any]:
    """Ask for counts, and for counts and sums; for rows and for riders."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.parquet"
        _write(file)
        cases = [("row", "count"), ("row", "count and sum"), ("rider", "count and sum")]
        found = {f"{unit}, {asked}": _compared(file, unit, asked, 1) for unit, asked in cases}
        found["row, count, every key appears"] = _compared(file, "row", "count", 20)
    return {"rows": ROWS, "keys": KEYS, "limit_mebibytes": MOST_MEMORY, **found}


def _write(file: Path) -> None:
    engine = _engine()
    engine.execute("SELECT setseed(0.5)")
    engine.execute(
        f"COPY (SELECT 'key ' || CASE WHEN i < {KEYS} THEN i "
        f"ELSE CAST(floor({KEYS} * random() ** 4) AS BIGINT) END AS word, "
        f"CAST(floor(random() * 200) AS INTEGER) AS fare, "
        f"CAST(floor(random() * {RIDERS}) AS INTEGER) AS rider "
        f"FROM range({ROWS}) AS r(i)) TO '{file}' (FORMAT parquet)"
    )


def _compared(file: Path, unit: str, asked: str, epsilon: int) -> Any:
    times: dict[str, list[float]] = {"exact": [], "same": [], "ours": []}
    peaks: dict[str, int] = {}
    appeared = 0
    for _ in range(ROUNDS):
        for name, made in (
            ("exact", alone(_exact, file, unit, asked)),
            ("same", alone(_same, file, unit, asked)),
            ("ours", alone(_bought, file, unit, asked, epsilon)),
        ):
            times[name].append(made["seconds"] / TIMES)
            peaks[name] = max(peaks.get(name, 0), made["peak"])
            appeared = made["result"]
    exact, same, ours = (median(times[name]) for name in ("exact", "same", "ours"))
    return {
        "epsilon": epsilon,
        "keys_that_appeared": appeared,
        "exact_seconds": round(exact, 2),
        "same_seconds": round(same, 2),
        "seconds": round(ours, 2),
        "ratio": round(ours / same, 2),
        "ratio_to_exact": round(ours / exact, 2),
        "exact_peak_mebibytes": peaks["exact"],
        "same_peak_mebibytes": peaks["same"],
        "peak_mebibytes": peaks["ours"],
    }


def _engine() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false")
    return engine


def _exact(file: Path, unit: str, asked: str) -> Callable[[], int]:
    engine = _engine()
    total = ", sum(fare)" if "sum" in asked else ""
    text = f"SELECT word, {EXACT[unit]}{total} FROM '{file}' GROUP BY word"
    return _warm(lambda: int(engine.sql(text).to_arrow_table().num_rows))


def _same(file: Path, unit: str, asked: str) -> Callable[[], int]:
    engine = _engine()
    columns = "word, greatest(least(fare, 200), 0) AS fare, rider AS sfumato_unit"
    shown = _question(file, unit, asked).explain(epsilon=1, delta="1e-6").sql
    text = f"WITH words AS (SELECT {columns} FROM '{file}') {shown}"
    given = {"key": "00"} if "$key" in text else None  # of the hash by which units are truncated
    return _warm(lambda: int(engine.sql(text, params=given).to_arrow_table().num_rows))


def _warm(action: Callable[[], int]) -> Callable[[], int]:
    """Act once, and return what does so some more times."""
    action()
    return lambda: [action() for _ in range(TIMES)][-1]


def _question(file: Path, unit: str, asked: str) -> Any:
    budget = sf.Budget(100, delta="1e-3")
    session = sf.Session(file, unit=UNITS[unit], schema=SCHEMA, budget=budget, name="words")
    return session.table().group_by("word", keys=sf.bought()).agg(**OUTPUTS[asked])


def _bought(file: Path, unit: str, asked: str, epsilon: int) -> Callable[[], int]:
    question = _question(file, unit, asked)
    # Another price is another answer; the same one would be given again.
    prices = iter(epsilon * (1 + Fraction(i, 1000)) for i in range(TIMES + 1))
    return _warm(lambda: len(question.release(epsilon=next(prices), delta="1e-6")))
