"""Trials: a mutant in a copy of the sources, and the tests that run the function it is in."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from tools.mutation.calls import CALLS, CHOSEN, KILLER
from tools.mutation.mutant import Mutant

COPIED = ("src", "tests", "tools", "docs", "pyproject.toml", "mkdocs.yml", "README.md", "Makefile")
# These read the text of the sources, not what they do: any change would fail them.
READERS = {
    "tests/unit/test_layout.py",
    "tests/unit/test_mutation.py",
    "tests/property/test_sensitivity_bugs.py",
    "tests/docs/test_blocks.py",
    "tests/docs/test_documented.py",
    "tests/docs/test_site.py",
}
# What happens in other processes is not seen by the one that runs the tests.
ELSEWHERE = {
    "ledger": ("tests/e2e/test_ledger_processes.py", "tests/e2e/test_faults.py"),
    "session": ("tests/e2e/test_ledger_processes.py", "tests/e2e/test_faults.py"),
}
_MEMORY = 8 * 2**30  # bytes; a mutant may ask for any amount
_START = 40.0  # seconds for pytest to start and to collect, on a busy machine
_SLACK = 4  # a test that takes so many times its usual time hangs


@dataclass(frozen=True)
class Outcome:
    """What came of a trial.

    Attributes:
        killed: whether a test failed or hung.
        killer: the test that did; what happened, where none is to be blamed.
        stage: 1 for the quick tests near the source, 2 for others, 3 for other processes.
        tests: how many tests were to run, over all stages.
        seconds: how long it took.
    """

    killed: bool
    killer: str
    stage: int
    tests: int
    seconds: float


@dataclass(frozen=True)
class Stage:
    """Tests that are run together, by name or whole files, and how long they usually take."""

    tests: tuple[str, ...]
    seconds: float

    @property
    def files(self) -> list[str]:
        """Where the tests are, in the order of the tests."""
        return list(dict.fromkeys(test.partition("::")[0] for test in self.tests))

    @property
    def limit(self) -> float:
        """After how many seconds something hangs."""
        return _START + _SLACK * self.seconds


class Known:
    """Which tests call which function, and how long each test takes."""

    def __init__(self, file: Path) -> None:
        self.seconds: dict[str, float] = {}
        self._calling: dict[str, set[str]] = defaultdict(set)
        self._touching: dict[str, set[str]] = defaultdict(set)
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                self.seconds[entry["test"]] = entry["seconds"]
                for function in entry["calls"]:
                    self._calling[function].add(entry["test"])
                    self._touching[function.split(":")[0]].add(entry["test"])

    def stages(self, mutant: Mutant, quick: float, slow: float) -> list[Stage]:
        """Return the tests for a mutant: near and quick ones, then others, then other processes.

        Args:
            mutant: the mutant.
            quick: how many seconds the first stage may take.
            slow: how many the second and the third; with 0 there are none.
        """
        tests = self._calling.get(f"{mutant.file}:{mutant.function}")
        tests = tests or self._touching.get(mutant.file, set())
        order = sorted(tests, key=lambda t: (_distance(t, mutant.file), self.seconds[t], t))
        first = self._within(order, quick)
        rest = sorted(set(order) - set(first.tests), key=lambda t: (self.seconds[t], t))
        far = ELSEWHERE.get(mutant.file.split("/")[0], ()) if slow else ()
        return [first, self._within(rest, slow), Stage(far, slow)]

    def _within(self, tests: Sequence[str], limit: float) -> Stage:
        """Take tests in their order while there is time, and put those of one file together."""
        taken: dict[str, list[str]] = defaultdict(list)
        spent = 0.0
        for test in tests:
            if spent + self.seconds[test] > limit:
                break
            spent += self.seconds[test]
            taken[test.partition("::")[0]].append(test)
        return Stage(tuple(test for group in taken.values() for test in group), spent)


def _distance(test: str, file: str) -> int:
    """Return how far from a source a test stands: its own, its package's, the contracts, others."""
    path, source = PurePosixPath(test.partition("::")[0]), PurePosixPath(file)
    if path.parts[:3] != ("tests", "unit", source.parts[0]):
        return 2 if path.parts[1] in {"contracts", "docs", "golden"} else 3
    return 0 if path.stem.startswith(f"test_{source.stem}") else 1


class Copy:
    """A copy of sources and tests, in which one file at a time is changed."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Copy the tree anew."""
        self.root = folder / "copy"
        self._folder = folder
        self._sound: set[str] = set()  # tests that pass on the sources as they are
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for name in COPIED:
            if (root / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / name, self.root / name, ignore=ignored)
            elif (root / name).exists():
                shutil.copy2(root / name, self.root / name)

    def test_files(self) -> list[str]:
        """Return the files of tests that can kill a mutant."""
        found = [p.relative_to(self.root).as_posix() for p in self.root.glob("tests/**/test_*.py")]
        return sorted(set(found) - READERS)

    def record(self, file: str, calls: Path, limit: float) -> str:
        """Note which functions the tests of a file call; return what happened, in a word."""
        code = self._pytest([file], {CALLS: str(calls)}, limit)
        return "slow" if code is None else "done" if code in (0, 5) else f"exit code {code}"

    def trial(self, mutant: Mutant, stages: Sequence[Stage]) -> Outcome:
        """Run the stages on a mutant until a test fails."""
        path = self.root / "src" / "sfumato" / mutant.file
        source = path.read_text(encoding="utf-8")
        changed = mutant.applied(source)
        compile(changed, mutant.file, "exec", dont_inherit=True)
        start, tests = time.perf_counter(), 0
        for number, stage in enumerate(stages, start=1):
            tests += len(stage.tests)
            killer = self._killer_of(path, changed, stage)
            if killer is not None:
                return Outcome(True, killer, number, tests, round(time.perf_counter() - start, 1))
        return Outcome(False, "", 0, tests, round(time.perf_counter() - start, 1))

    def _killer_of(self, path: Path, changed: str, stage: Stage) -> str | None:
        """Return a test that fails with the change in place, twice, and passes without it."""
        left_out: list[str] = []
        while stage.tests:
            killer = self._failing_with(path, changed, stage, left_out)
            if killer is None:
                return None
            named = "::" in killer
            alone = replace(stage, tests=(killer,)) if named else stage
            if killer not in self._sound and self._failing(alone, []) is not None:
                if not named:  # too slow or broken without any change: it says nothing
                    return None
            elif not named:
                return killer
            else:
                self._sound.add(killer)
                if self._failing_with(path, changed, alone, []) is not None:
                    return killer
            left_out.append(killer)  # it fails without the change, or does not always fail with it
        return None

    def _failing_with(
        self, path: Path, changed: str, stage: Stage, left_out: Sequence[str]
    ) -> str | None:
        """Run tests with a change in place, and put everything back."""
        source = path.read_text(encoding="utf-8")
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        path.write_text(changed, encoding="utf-8")
        try:
            return self._failing(stage, left_out)
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=times)  # so that what was compiled of it stays valid

    def _failing(self, stage: Stage, left_out: Sequence[str]) -> str | None:
        """Run tests until one fails; return it, or what went wrong instead."""
        names, told = self._folder / "chosen.json", self._folder / "killer"
        names.write_text(json.dumps(stage.tests), encoding="utf-8")
        told.unlink(missing_ok=True)
        wanted = {KILLER: str(told)}
        if "::" in stage.tests[0]:
            wanted[CHOSEN] = str(names)
        without = [f"--deselect={test}" for test in left_out]
        code = self._pytest(["-x", *without, *stage.files], wanted, stage.limit)
        if code == 0:
            return None
        if code is None:
            return "out of time"
        return told.read_text(encoding="utf-8") if told.exists() else "pytest does not start"

    def _pytest(self, arguments: Iterable[str], wanted: dict[str, str], limit: float) -> int | None:
        """Run pytest in the copy; return its exit code, or None if it did not end in time."""
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-n0", "-m", "not deep"),
            *("-p", "no:cacheprovider", "-p", "tools.mutation.calls"),
            f"--basetemp={self._folder / 'tests'}",
            *arguments,
        ]
        path = os.pathsep.join([str(self.root / "src"), str(self.root)])
        environment = {**os.environ, "PYTHONPATH": path} | wanted
        with (self._folder / "output").open("w") as output:
            process = subprocess.Popen(  # noqa: S603 - a command of our own
                command,
                cwd=self.root,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_limited,  # noqa: PLW1509 - no threads here
            )
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run and the processes that its tests started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
