"""What asking in SQL costs: over the parser's own time, and over the same question by the builder.

Planning is timed on the questions of TPC-H that are answered, over tables of a small scale: a plan
reads no private data, so its time depends on the question and on the public tables alone. It is one
thread's work, and so its own processor time is taken, which others on the machine do not change.
"""

from __future__ import annotations

import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import sqlglot

import sfumato as sf
from benchmarks.speed.private_table import GROUPS, SCHEMA
from benchmarks.timing import seconds
from sfumato.session.sql import SessionCatalog
from sfumato.sql.question import question
from sfumato.sql.statement import statement
from sfumato.testing.tpch import tables, tpch

QUESTIONS = Path(__file__).parents[2] / "tests" / "e2e" / "tpch.toml"
SCALE, PLANS = "0.001", 5
ROWS, ROUNDS = 10**7, 7
ASKED = "SELECT zone, COUNT(*) AS n, SUM(fare) AS fare FROM trips GROUP BY zone"


def run() -> dict[str, Any]:
    """Time planning and asking."""
    with tempfile.TemporaryDirectory() as folder:
        return {"planning": planning(), "asking": asking(Path(folder))}


def planning() -> dict[str, Any]:
    """Time, in turn, the parser, the binding, and the whole plan of every question."""
    found = {}
    with tpch(tables(SCALE)) as session:
        catalog = SessionCatalog(session)
        for name, asked in answered().items():
            steps = _steps(session, catalog, **asked)
            rounds = [{k: _worked(step) for k, step in steps.items()} for _ in range(PLANS + 1)]
            found[name] = {k: 1e3 * median(r[k] for r in rounds[1:]) for k in steps}
    typical = {k: median(each[k] for each in found.values()) for k in ("parse", "bind", "explain")}
    slowest = max(found, key=lambda name: found[name]["explain"])
    return {
        "scale": SCALE,
        "questions": len(found),
        "milliseconds": {k: round(value, 2) for k, value in typical.items()},
        "bind_over_parse": round(median(e["bind"] / e["parse"] for e in found.values()), 2),
        "explain_over_parse": round(median(e["explain"] / e["parse"] for e in found.values()), 2),
        "slowest": slowest,
        "slowest_milliseconds": {k: round(value, 2) for k, value in found[slowest].items()},
    }


def _worked(action: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def _steps(
    session: sf.Session, catalog: SessionCatalog, text: str, **asked: Any
) -> dict[str, Callable[[], object]]:
    return {
        "parse": lambda: sqlglot.parse_one(text, read="duckdb"),
        "bind": lambda: question(statement(text), catalog),
        "explain": lambda: session.explain(text, **asked),
    }


def answered() -> dict[str, dict[str, Any]]:
    """Return every question of TPC-H that is answered: its text and its price."""
    listed = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))
    texts = {"as is": "sql", "form": "form"}
    return {
        name: {
            "text": each[texts[each["outcome"]]],
            "epsilon": each.get("epsilon", 10**9),  # as it is compared with the engine
        }
        for name, each in listed.items()
        if each["outcome"] in texts
    }


def asking(folder: Path) -> dict[str, Any]:
    """Time the same question by the builder and in SQL, in turn, over ten million rows."""
    file = folder / "trips.parquet"
    with duckdb.connect() as engine:
        engine.execute("SELECT setseed(0.5)")
        engine.execute(
            f"COPY (SELECT CAST(floor(random() * {GROUPS}) AS INTEGER) AS zone, "
            f"random() * 210 - 5 AS fare FROM range({ROWS})) TO '{file}' (FORMAT parquet)"
        )
    costs = iter(range(2, 10**6))
    budget = sf.Budget(10)
    with sf.Session(
        file, unit=sf.Unit.row(), schema=SCHEMA, budget=budget, ledger=folder / "ledger"
    ) as session:
        builder = session.table().group_by("zone")

        def built() -> None:
            builder.agg(n=sf.count(), fare=sf.sum("fare")).release(epsilon=f"1/{next(costs)}")

        def typed() -> None:
            session.sql(ASKED, epsilon=f"1/{next(costs)}")

        built(), typed()  # warm both
        pairs = [(seconds(built), seconds(typed)) for _ in range(ROUNDS)]
        plan = median(seconds(lambda: session.explain(ASKED, epsilon=1)) for _ in range(ROUNDS))
    by_builder, in_sql = (1e3 * median(times) for times in zip(*pairs, strict=True))
    return {
        "rows": ROWS,
        "groups": GROUPS,
        "builder_milliseconds": round(by_builder, 1),
        "sql_milliseconds": round(in_sql, 1),
        "sql_over_builder": round(median(b / a for a, b in pairs), 3),
        "explain_milliseconds": round(1e3 * plan, 1),
    }
