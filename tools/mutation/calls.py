"""A plugin of pytest: notes which functions each test calls, runs chosen tests, tells the killer.

It does what the environment asks for, with one file for each.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Generator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

CALLS = "MUTATION_CALLS"  # to append to: the functions that each passing test calls, a line each
CHOSEN = "MUTATION_CHOSEN"  # to read: the tests to run, in their order
KILLER = "MUTATION_KILLER"  # to write: the first test that fails

_SOURCE = f"{os.sep}src{os.sep}sfumato{os.sep}"


def function_of(code: CodeType) -> str | None:
    """Return file and name of a function of ours, as a mutant says them; None for any other.

    What is defined inside of a function counts as the function. The body of a class runs when it is
    imported, and says nothing about the test that happens to import it.
    """
    if not code.co_flags & CO_OPTIMIZED:
        return None
    _, found, file = code.co_filename.rpartition(_SOURCE)
    name = code.co_qualname.split(".<locals>")[0]
    return f"{Path(file).as_posix()}:{name}" if found and "<" not in name else None


class Calls:
    """Notes what every test calls. Only the first call of a function in a test costs time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: dict[int, CodeType] = {}
        self._passed = False

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> None:
        self._seen[id(frame.f_code)] = frame.f_code

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Trace one test with its fixtures."""
        self._seen, self._passed = {}, True
        start = time.perf_counter()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            if self._passed:
                called = {function_of(code) for code in self._seen.values()} - {None}
                entry = {
                    "test": item.nodeid,
                    "seconds": round(time.perf_counter() - start, 3),
                    "calls": sorted(map(str, called)),
                }
                with self._file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(entry) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what fails or is skipped: it can kill nothing."""
        self._passed &= report.passed


class Chosen:
    """Runs the chosen tests, in their order."""

    def __init__(self, tests: list[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out all others."""
        left = [item for item in items if item.nodeid not in self._place]
        config.hook.pytest_deselected(items=left)
        items[:] = sorted(
            (item for item in items if item.nodeid in self._place),
            key=lambda item: self._place[item.nodeid],
        )


class Killer:
    """Tells which test failed first."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def _tell(self, test: str) -> None:
        if not self._file.exists():
            self._file.write_text(test, encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails."""
        if report.failed:
            self._tell(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot even be read."""
        if report.failed:
            self._tell(report.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    """Do what the environment asks for."""
    wanted = {
        name: Path(os.environ[name]) for name in (CALLS, CHOSEN, KILLER) if name in os.environ
    }
    if CALLS in wanted:
        config.pluginmanager.register(Calls(wanted[CALLS]))
    if CHOSEN in wanted:
        tests = json.loads(wanted[CHOSEN].read_text(encoding="utf-8"))
        config.pluginmanager.register(Chosen(tests))
    if KILLER in wanted:
        config.pluginmanager.register(Killer(wanted[KILLER]))
