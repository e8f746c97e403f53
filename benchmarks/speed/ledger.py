"""Durable charges a second, next to bare SQLite commits of the same size in the same run."""

from __future__ import annotations

import sqlite3
import tempfile
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import seconds
from sfumato.core.budget import Budget
from sfumato.core.loss import LaplaceShift
from sfumato.core.unit import Unit
from sfumato.ledger import Ledger, verify

CHARGES, ROUNDS = 100, 5
REQUESTS = 20
ROW = bytes(900)  # about what an entry takes, with its indexes
FILLED = 5_000


def run() -> dict[str, Any]:
    """Time charges, whole requests, a ledger that holds many entries, and its verification."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(Path(folder))


def _run(folder: Path) -> dict[str, Any]:
    count = iter(range(10**9))
    ledger = Ledger.create(folder / "ledger", Budget(epsilon=10**6), Unit.row())
    floor = sqlite3.connect(folder / "floor", isolation_level=None)
    floor.execute("PRAGMA journal_mode = WAL")
    floor.execute("PRAGMA synchronous = FULL")
    floor.execute("CREATE TABLE rows (content BLOB)")

    def commit() -> None:
        floor.execute("BEGIN IMMEDIATE")
        floor.execute("INSERT INTO rows VALUES (?)", (ROW,))
        floor.execute("COMMIT")

    charges, floors, requests = [], [], []
    for _ in range(ROUNDS):  # in turn: the disk drifts
        charges.append(seconds(lambda: [_reserve(ledger, next(count)) for _ in range(CHARGES)]))
        floors.append(seconds(lambda: [commit() for _ in range(CHARGES)]))
        requests.append(seconds(lambda: [_request(ledger, next(count)) for _ in range(REQUESTS)]))
    floor.close()
    each, least = median(charges) / CHARGES, median(floors) / CHARGES

    memory = Ledger.create(None, Budget(epsilon=10**6), Unit.row())
    young = seconds(lambda: [_reserve(memory, next(count)) for _ in range(CHARGES)]) / CHARGES
    for _ in range(FILLED):
        _reserve(memory, next(count))
    old = seconds(lambda: [_reserve(memory, next(count)) for _ in range(CHARGES)]) / CHARGES
    head = ledger.head
    ledger.close()
    checked = seconds(lambda: verify(folder / "ledger", head))
    return {
        "durable_charges_per_second": round(1 / each),
        "floor_commits_per_second": round(1 / least),
        "time_over_floor": round(each / least, 2),
        "milliseconds_per_charge": round(1e3 * each, 2),
        "milliseconds_per_request": round(1e3 * median(requests) / REQUESTS, 2),
        "in_memory_microseconds_per_charge": round(1e6 * young),
        f"in_memory_microseconds_per_charge_after_{FILLED}": round(1e6 * old),
        "verified_entries_per_second": round(int(head.split(":")[0]) / checked),
    }


def _reserve(ledger: Ledger, number: int) -> Any:
    loss = LaplaceShift(Fraction(10**4 + number), 1, 1)
    return ledger.reserve(f"request {number}", None, "trips", "1", f"plan {number}", loss)


def _request(ledger: Ledger, number: int) -> None:
    granted = _reserve(ledger, number)
    ledger.touch(granted)
    ledger.settle(granted, ROW)
