"""What `sfumato query` takes beyond its imports: a CSV file of 10^5 rows, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.timing import seconds

ROWS, ROUNDS = 10**5, 7
TARGET_SECONDS = 1.0
CONTRACT = """
[budget]
epsilon = 1000
ledger = "people.ledger"
[tables.people]
source = "people.csv"
unit = "id"
max_rows = 1
[tables.people.columns]
age = { type = "integer", low = 0, high = 99 }
region = { type = "category", values = ["A", "B", "C"] }
income = { type = "integer", low = 0, high = 100000, nullable = true }
"""
QUESTION = ["--group-by", "region", "--count", "--mean", "income", "--where", "age >= 18"]


def run() -> dict[str, Any]:
    """Time, in turn, nothing, the imports, an explanation, and a question that was never asked."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(Path(folder))


def _run(folder: Path) -> dict[str, Any]:
    _write(folder)
    prices = iter(range(1, 10**6))
    actions = {
        "nothing": lambda: _python("pass"),
        "import sfumato.session": lambda: _python("import sfumato.session"),
        "query --explain": lambda: _query(folder, "--explain", "--epsilon", "1"),
        "query": lambda: _query(folder, "--epsilon", f"0.{next(prices):06}"),
    }
    rounds = [
        {name: seconds(action) for name, action in actions.items()} for _ in range(ROUNDS + 1)
    ][1:]  # the first one warms the disk
    took = {name: round(median(r[name] for r in rounds), 3) for name in actions}
    over = median(r["query"] - r["import sfumato.session"] for r in rounds)
    return {
        "rows": ROWS,
        "seconds": took,
        "query_over_import_seconds": round(over, 3),
        "target_over_import_seconds": TARGET_SECONDS,
    }


def _write(folder: Path) -> None:
    rng = np.random.default_rng(1)
    columns = (
        np.arange(ROWS),
        rng.integers(0, 100, ROWS),
        rng.choice(["A", "B", "C"], ROWS),
        rng.integers(0, 100_000, ROWS),
    )
    lines = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    (folder / "people.csv").write_text("\n".join(["id,age,region,income", *lines]) + "\n")
    (folder / "people.toml").write_text(CONTRACT)


def _python(code: str, *arguments: str) -> None:
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, check=True, capture_output=True)


def _query(folder: Path, *options: str) -> None:
    code = "from sfumato.cli import main; main()"
    _python(code, "query", str(folder / "people.toml"), *QUESTION, *options)
