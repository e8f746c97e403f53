"""What the documentation writes passes a type checker in the reader's own project."""

import subprocess
import sys

import pytest

SNIPPET = """
from datetime import date, datetime
from decimal import Decimal

import sfumato as sf

sf.Schema(
    age=sf.Integer(0, 120),
    fare=sf.Real(0, 200.5, step="0.01", nullable=True),
    zone=sf.Category(["A", "B"]),
    day=sf.Date(date(2026, 1, 1), "2026-12-31"),
    at=sf.Timestamp(datetime(2026, 1, 1), "2026-12-31", step=60),
    alive=sf.Boolean(),
    name=sf.Text(),
)
sf.Budget(epsilon=4, delta="1e-6")
sf.Budget(rho=Decimal("0.5"))
sf.Unit.by("rider_id", max_rows=20, neighbors="replace")
price: sf.Loss = sf.mechanisms.RandomizedResponse.calibrate(
    sf.Sensitivity(l1=1, neighbors="replace"), epsilon=1
).loss(sf.Sensitivity(l1=1, neighbors="replace"))
price + price * 3
"""


@pytest.mark.deep
def test_documented_calls_pass_a_strict_type_checker(tmp_path):
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", snippet]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
