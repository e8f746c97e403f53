"""Counts, sums and means of users in capped groups, next to OpenDP in the same run.

The tables and caps are those of `truncation`: 10^6 users, three groups and one row in each. OpenDP
releases counts and sums, of which means are quotients. It lives in an environment of its own, which
`make bench-peers` makes, because it needs another version of Polars. What others took is in
`truncation`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.process import alone
from benchmarks.speed.truncation import CAPPED, SIZES, released, write

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "peers" / "bin" / "python"
PROGRAM = ROOT / "benchmarks" / "peers" / "opendp_groups.py"


def run() -> dict[str, Any]:
    """Time both on both tables, one after the other."""
    if not PYTHON.exists():
        raise FileNotFoundError("OpenDP: make bench-peers")
    found: dict[str, Any] = {"opendp": _version()}
    with tempfile.TemporaryDirectory() as folder:
        for rows in SIZES:
            file = Path(folder) / f"{rows}.parquet"
            write(file, rows)
            mine = alone(released, file, CAPPED)["result"]
            theirs = json.loads(_run(str(PROGRAM), str(file), str(rows)))
            own, other = median(mine), median(theirs["seconds"])
            found[f"{rows} rows"] = {
                "seconds": round(own, 3),
                "opendp_seconds": round(other, 3),
                "times_faster": round(other / own, 1),
                "opendp_rows_that_counted": theirs["rows_that_counted"],
            }
    return found


def _version() -> str:
    return _run("-c", "import importlib.metadata as m; print(m.version('opendp'))").strip()


def _run(*given: str) -> str:
    done = subprocess.run([PYTHON, *given], capture_output=True, text=True, check=True)
    return done.stdout
