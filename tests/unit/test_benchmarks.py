"""What was measured is kept beside what measures it."""

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = sorted(
    f"{kind}.{path.stem}"
    for kind in ("accuracy", "speed")
    for path in (BENCHMARKS / kind).glob("*.py")
    if path.stem != "__init__"
)


def test_every_result_is_that_of_a_benchmark():
    assert sorted(path.stem for path in (BENCHMARKS / "results").glob("*.json")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_result_says_what_memory_was_used(name):
    result = json.loads((BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert result["own_peak_mebibytes"] > 0
