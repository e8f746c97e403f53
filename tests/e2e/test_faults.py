"""Clocks that disagree, and processes and threads that draw at once: neither order nor noise."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "ledger_processes.py"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run(*arguments):
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_clocks_that_jump_and_disagree_change_neither_order_nor_sums(tmp_path):
    found = run("clocks", tmp_path / "ledger", 12)
    assert found["codes"] == [0] * 8
    assert (found["granted"], set(found["left"])) == (12, {"0"})
    assert found["versions"] == ["second"] * 8  # the later entry, whatever its time
    assert found["ordered"]
    assert found["ok"]
    # One clock only runs backward, so that there is such a pair however the processes took turns.
    assert found["backward"] >= 1
    assert found["shown"] > 3  # every time can be shown to people


def check_noise(found, count):
    words = [word for drawn in found["words"] for word in drawn]
    assert len(words) == len(set(words)) >= 1000 * count
    values = [value for release in found["releases"] for value in release]
    assert len(values) == len(set(values)) == 2 * count  # a collision has odds of 2^-25 or less


def test_sixty_four_children_of_a_process_that_has_drawn_repeat_no_noise(tmp_path):
    found = run("forks", tmp_path / "ledger", 64)
    assert found["codes"] == [0] * 64
    check_noise(found, 64)


def test_sixty_four_threads_repeat_no_noise(tmp_path):
    check_noise(run("threads", tmp_path / "ledger", 64), 64)
