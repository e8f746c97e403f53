"""Run the benchmarks and keep their results, one small JSON file each."""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np

import benchmarks.accuracy
import benchmarks.speed
from benchmarks.process import peak

RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """List the benchmarks: every module of `speed` and `accuracy`."""
    return [
        f"{package.__name__.rpartition('.')[2]}.{module.name}"
        for package in (benchmarks.speed, benchmarks.accuracy)
        for module in pkgutil.iter_modules(package.__path__)
    ]


def main(wanted: list[str]) -> None:
    """Run the benchmarks whose names contain one of the words given, or all.

    Several run one after the other in processes of their own, so that the memory of each is known.
    """
    found = [name for name in names() if not wanted or any(word in name for word in wanted)]
    if len(found) == 1:
        _measured(found[0])
        return
    for name in found:
        subprocess.run([sys.executable, "-m", "benchmarks", name], check=True)


def _measured(name: str) -> None:
    print(f"== {name}", flush=True)
    try:
        result = importlib.import_module(f"benchmarks.{name}").run()
    except FileNotFoundError as missing:
        print(f"left out: it needs {missing}", flush=True)
        return
    machine = {"python": platform.python_version(), "numpy": np.__version__}
    # Of this process; where a benchmark starts others, their peaks are in its result.
    text = json.dumps({"machine": machine, "own_peak_mebibytes": peak(), **result}, indent=2) + "\n"
    print(text)
    (RESULTS / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
