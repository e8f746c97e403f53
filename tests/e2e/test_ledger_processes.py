"""Many processes on one ledger never overspend; kill -9 anywhere never yields an unpaid release."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run(program, *arguments, before=()):
    done = subprocess.run(
        [*before, sys.executable, HERE / program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_race(path, cap):
    found = run("ledger_processes.py", "race", path, cap, cap // 5)  # 1.6 times what there is
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


def check_parts(path, cap, keys, width):
    found = run("ledger_processes.py", "parts", path, cap, keys, width)
    assert found["codes"] == [0] * 8
    assert (found["entries"], found["left"], found["ok"]) == (sum(found["granted"]), "0", True)
    return found["granted"]


def test_racing_processes_are_granted_every_part_exactly(tmp_path):
    assert check_parts(tmp_path / "ledger", 15, 4, 1) == [15] * 4


def test_racing_processes_are_granted_the_two_largest_parts_exactly(tmp_path):
    *others, second, first = check_parts(tmp_path / "ledger", 40, 8, 2)
    assert first + second == 40
    assert others == [second] * 6  # free up to there, and no further


def test_racing_processes_touch_a_request_once(tmp_path):
    found = run("ledger_processes.py", "touch", tmp_path / "ledger", 40)
    assert found["codes"] == [0] * 8
    assert found["winners"] == list(range(40))
    assert (found["kinds"], found["ok"]) == ({"reserved": 40, "touched": 40}, True)


def check_kills(folder, program, rounds, moments, stride=1):
    found = run("ledger_processes.py", "kill", folder, program, rounds, moments, stride)
    assert found["wrong"] == []
    # No point is named in vain: every one of them killed its process.
    assert found["died"] == rounds * -(-len(found["points"]) // stride)
    assert len(found["points"]) == POINTS[program]
    return found["died_any_time"]


# What is killed, and at how many points: requests one by one, through a session, in scopes, in
# threads that share commits, with caps that are bought first, and with a copy after each.
POINTS = {"ledger": 34, "session": 34, "scope": 46, "threads": 28, "staged": 34, "backup": 42}
# How often at each point, and at any moment, where it is not 25 and 250 times.
TIMES = {"ledger": (50, 500), "threads": (50, 500), "session": (10, 100), "staged": (10, 100)}


@pytest.mark.parametrize("program", ["ledger", "session", "scope", "threads"])  # all in deep
def test_kill_at_any_point_leaves_no_unpaid_release_and_no_damage(tmp_path, program):
    # A session starts an engine each time; its points are those of the ledger that it asks.
    check_kills(tmp_path, program, 1, 5, stride=3 if program == "session" else 1)


@pytest.mark.deep
@pytest.mark.parametrize("program", POINTS)
def test_kill_at_any_time_leaves_no_unpaid_release_and_no_damage(tmp_path, program):
    # Sessions start an engine each time, and their points are those of the ledger that they ask;
    # scopes and copies take more steps. These are killed less often, for the time.
    rounds, moments = TIMES.get(program, (25, 250))
    assert check_kills(tmp_path, program, rounds, moments) > moments / 3


FULL, LOCKED = "Free some space, then ask again", "Let this process write the file and its folder"


def check_refusals(folder, disk, says, before=(), first=("create",)):
    found = run("ledger_disks.py", folder, disk, before=before)
    assert found["wrong"] == []
    assert found["said"].keys() == {*first, "reserve", "touch", "settle"}
    for message in found["said"].values():
        assert says in message
        assert "[E404]" in message


@pytest.fixture
def namespace(tmp_path):
    """Return the words before a command that may mount over the folder."""
    words = ["unshare", "--map-root-user", "--mount"]
    able = shutil.which("unshare") and subprocess.run(
        [*words, "mount", "-t", "tmpfs", "tmpfs", tmp_path], capture_output=True, check=False
    )
    if not able or able.returncode != 0:
        pytest.skip("needs the right to mount in a namespace of its own")
    return words


@pytest.mark.parametrize(("disk", "says"), [("full", FULL), ("mounted read-only", LOCKED)])
def test_disk_that_cannot_be_written_refuses_and_loses_nothing(tmp_path, namespace, disk, says):
    check_refusals(tmp_path, disk, says, namespace)


def test_disk_that_is_nearly_full_has_a_whole_new_ledger_or_none(tmp_path, namespace):
    found = run("ledger_disks.py", tmp_path, "nearly full", before=namespace)
    assert found["wrong"] == []
    assert found["made"] > 10
    assert len(found["said"]) == 1
    assert FULL in found["said"][0]


def test_file_that_cannot_grow_refuses_and_loses_nothing(tmp_path):
    check_refusals(tmp_path, "short", FULL)


@pytest.mark.parametrize("disk", ["read-only", "read-only file", "read-only folder"])
def test_file_without_the_right_to_write_refuses_and_loses_nothing(disk):
    # Not in tmp_path, which is closed to the user that a superuser becomes for this.
    with tempfile.TemporaryDirectory() as folder:
        check_refusals(folder, disk, LOCKED, first=() if disk == "read-only file" else ("create",))
