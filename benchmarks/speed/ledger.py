"""Durable charges a second, next to bare SQLite commits of the same size in the same run."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.process import alone
from benchmarks.timing import seconds
from sfumato.core.budget import Budget
from sfumato.core.loss import LaplaceShift
from sfumato.core.unit import Unit
from sfumato.ledger import Ledger, Tally, verify
from sfumato.ledger.order import Order

CHARGES, ROUNDS = 100, 5
THREADS, PROCESSES = 64, 4
REQUESTS = 20
ROW = bytes(900)  # about what an entry takes, with its indexes
FILLED = 5_000
SMALL, LARGE = 1_000, 1_000_000  # entries


def run() -> dict[str, Any]:
    """Time charges, whole requests, ledgers that hold many entries, and their verification."""
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
        f"with_{LARGE}_entries": _large(folder),
    }


def _large(folder: Path) -> dict[str, Any]:
    """Compare a ledger of a million entries with one of a thousand, charge by charge in turn."""
    small, large = folder / "small", folder / "large"
    _filled(small, SMALL)
    _filled(large, LARGE)
    opened = alone(_charge, large)
    ledgers = [Ledger.open(path) for path in (small, large)]
    taken: tuple[list[float], ...] = ([], [])
    worked = [0.0, 0.0]
    for number in range(10**6, 10**6 + ROUNDS * CHARGES):
        for place, ledger in enumerate(ledgers):
            before = time.process_time()
            taken[place].append(seconds(partial(_reserve, ledger, number)))
            worked[place] += time.process_time() - before
    each = [median(times) for times in taken]
    for ledger in ledgers:
        ledger.close()
    return {
        "megabytes": round(large.stat().st_size / 2**20),
        "seconds_to_open_and_charge": round(opened["seconds"], 3),
        "megabytes_of_memory_for_that": opened["peak"] - opened["before"],
        f"time_of_a_charge_over_that_with_{SMALL}": round(each[1] / each[0], 2),
        f"processor_time_of_a_charge_over_that_with_{SMALL}": round(worked[1] / worked[0], 2),
    }


def _charge(path: Path) -> Callable[[], None]:
    """Return something that opens a ledger for one charge."""

    def charge() -> None:
        ledger = Ledger.open(path)
        _reserve(ledger, 10**9)
        ledger.close()

    return charge


def _filled(path: Path, entries: int) -> None:
    """Make a ledger of requests that were asked and answered, all of them in one transaction.

    The entries are those that the requests would have made, sums and hashes included: it verifies.
    """
    ledger = Ledger.create(path, Budget(epsilon=10**6), Unit.row())
    names = {"request": "0", "analyst": None, "dataset": "trips", "version": "1", "plan": "0"}
    first = Order.of(
        dict(names), LaplaceShift(Fraction(10**4), Fraction(1), Fraction(1)), None, None
    )
    tally = Tally()
    with ledger._journal() as journal:
        for number in range(entries // 3):
            order = replace(first, request=f"filled {number}", plan=f"filled {number}")
            body, tally = order.body, tally.plus(order.price)
            asked = journal.append(
                "reserved",
                (tally, tally),
                state="reserved",
                request=order.request,
                dataset=order.dataset,
                version=order.version,
                plan=order.plan,
                loss_bytes=order.loss,
                charge_bytes=order.charge,
                body=body,
            )
            for kind, answer in (("touched", None), ("settled", ROW)):
                known = {"request": order.request, "body": body, "ref": asked.seq}
                journal.append(kind, (tally, tally), answer, state=kind, **known)
    ledger.close()


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
    loss = LaplaceShift(Fraction(10**4 + number), Fraction(1), Fraction(1))
    return ledger.reserve(f"request {number}", None, "trips", "1", f"plan {number}", loss)


def _request(ledger: Ledger, number: int) -> None:
    granted = _reserve(ledger, number)
    ledger.touch(granted)
    ledger.settle(granted, ROW)
