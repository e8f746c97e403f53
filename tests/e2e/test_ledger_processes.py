"""Many processes on one ledger never overspend; kill -9 anywhere never yields an unpaid release."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("ledger_processes.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run(command, where, number):
    done = subprocess.run(
        [sys.executable, PROGRAM, command, where, str(number)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_race(path, cap):
    found = run("race", path, cap)
    assert found["codes"] == [0] * 8
    assert sum(found["grants"]) == cap
    assert (found["entries"], found["left"], found["ok"]) == (cap, "0", True)
    assert sum(grants > 0 for grants in found["grants"]) > 1  # it was a race


@pytest.mark.parametrize("number", range(2))
def test_racing_processes_are_granted_the_budget_exactly(tmp_path, number):
    check_race(tmp_path / "ledger", 200)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(20))
def test_many_races_are_granted_the_budget_exactly(tmp_path, number):
    check_race(tmp_path / "ledger", 1000)


def check_kills(folder, count):
    found = run("kill", folder, count)
    assert found["wrong"] == []
    # No point is named in vain: every one of them killed its process.
    assert found["died"] == found["points"] == 24
    return found["died_any_time"]


def test_kill_at_any_point_leaves_no_unpaid_release_and_no_damage(tmp_path):
    check_kills(tmp_path, 10)


@pytest.mark.deep
def test_kill_at_any_time_leaves_no_unpaid_release_and_no_damage(tmp_path):
    assert check_kills(tmp_path, 1000) > 100
