"""Run the benchmarks and keep their results, one small JSON file each."""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import sys
from pathlib import Path

import numpy as np

import benchmarks.accuracy
import benchmarks.speed

RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """List the benchmarks: every module of `speed` and `accuracy`."""
    return [
        f"{package.__name__.rpartition('.')[2]}.{module.name}"
        for package in (benchmarks.speed, benchmarks.accuracy)
        for module in pkgutil.iter_modules(package.__path__)
    ]


def main(wanted: list[str]) -> None:
    """Run the benchmarks whose names contain one of the words given, or all."""
    for name in names():
        if wanted and not any(word in name for word in wanted):
            continue
        print(f"== {name}", flush=True)
        try:
            result = importlib.import_module(f"benchmarks.{name}").run()
        except FileNotFoundError as missing:
            print(f"left out: it needs {missing}", flush=True)
            continue
        machine = {"python": platform.python_version(), "numpy": np.__version__}
        text = json.dumps({"machine": machine, **result}, indent=2) + "\n"
        print(text)
        (RESULTS / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
