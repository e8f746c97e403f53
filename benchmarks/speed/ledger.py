"""Durable charges a second, next to bare SQLite commits of the same size in the same run."""

from __future__ import annotations

import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import seconds
from sfumato.core.budget import Budget
from sfumato.core.loss import LaplaceShift
from sfumato.core.unit import Unit
from sfumato.ledger import Ledger, verify

CHARGES, ROUNDS = 100, 5
THREADS, PROCESSES = 64, 4
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
        f"durable_charges_per_second_from_{THREADS}_threads": _from_threads(folder / "threads"),
        f"durable_charges_per_second_from_{PROCESSES}_processes": _from_processes(folder / "many"),
        "in_memory_microseconds_per_charge": round(1e6 * young),
        f"in_memory_microseconds_per_charge_after_{FILLED}": round(1e6 * old),
        "verified_entries_per_second": round(int(head.split(":")[0]) / checked),
    }


def _from_threads(path: Path) -> int:
    """Return charges a second of threads that share their commits."""
    ledger = Ledger.create(path, Budget(epsilon=10**6), Unit.row())
    numbers, count = iter(range(10**9)), 10 * CHARGES

    def charge(_: int) -> None:
        _reserve(ledger, next(numbers))

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(charge, range(THREADS)))
        took = [seconds(lambda: list(threads.map(charge, range(count)))) for _ in range(3)]
    ledger.close()
    return round(count / median(took))


def _from_processes(path: Path) -> int:
    """Return charges a second of processes, each of which commits for itself."""
    Ledger.create(path, Budget(epsilon=10**6), Unit.row()).close()
    with get_context("spawn").Pool(PROCESSES) as pool:
        pool.starmap(_many, [(path, 10**6 * i, 1) for i in range(PROCESSES)], chunksize=1)
        given = [(path, 10**7 + 10**6 * i, 2 * CHARGES) for i in range(PROCESSES)]
        took = seconds(lambda: pool.starmap(_many, given, chunksize=1))
    return round(2 * CHARGES * PROCESSES / took)


def _many(path: Path, first: int, count: int) -> None:
    ledger = Ledger.open(path)
    for i in range(count):
        _reserve(ledger, first + i)
    ledger.close()


def _reserve(ledger: Ledger, number: int) -> Any:
    loss = LaplaceShift(Fraction(10**4 + number), 1, 1)
    return ledger.reserve(f"request {number}", None, "trips", "1", f"plan {number}", loss)


def _request(ledger: Ledger, number: int) -> None:
    granted = _reserve(ledger, number)
    ledger.touch(granted)
    ledger.settle(granted, ROW)
