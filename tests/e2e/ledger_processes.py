"""Processes that race for a ledger, and processes that are killed while they use it.

Run as a program of its own, because its children are forks: ``race PATH CAP`` and
``kill FOLDER COUNT``. Each prints one line of JSON.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import sfumato as sf
from sfumato.core.errors import BudgetExceeded, RequestError
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger, verify
from sfumato.ledger import connection as ledger_connection

PROCESSES, THREADS = 8, 2
STEPS = ("create", "reserve", "touch", "settle")
MOMENTS = (
    "before BEGIN",
    "after BEGIN",
    "before INSERT",
    "after INSERT",
    "before COMMIT",
    "after COMMIT",
)
POINTS = [(step, moment) for step in STEPS for moment in MOMENTS]


def fork(work):
    """Run work in a child, which never comes back."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def race(path, cap):
    """Let eight processes charge units until the budget is spent; return what each was granted."""
    shared = Ledger.create(path, sf.Budget(cap), sf.Unit.row(), timeout=120)
    read, write = os.pipe()

    def spend(ledger, name, grants):
        for i in range(cap + 1):
            try:
                ledger.reserve(f"{name}.{i}", None, "t", "1", f"{name}.{i}", Pure(1))
            except BudgetExceeded:
                return
            grants.append(i)

    def work(number):
        # Half of them go on with what the parent had opened, half open their own.
        ledger = shared if number % 2 else Ledger.open(path, timeout=120)
        grants = []
        with ThreadPoolExecutor(THREADS) as pool:
            names = [f"{number}.{t}" for t in range(THREADS)]
            list(pool.map(lambda name: spend(ledger, name, grants), names))  # raises what they do
        os.write(write, f"{len(grants)}\n".encode())

    children = [fork(lambda number=number: work(number)) for number in range(PROCESSES)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    os.close(write)
    with os.fdopen(read) as pipe:
        grants = [int(line) for line in pipe]
    found = verify(path)
    return {
        "codes": codes,
        "grants": grants,
        "entries": found.entries,
        "ok": found.ok,
        "left": str(Ledger.open(path).remaining().epsilon),
    }


class Deadly(sqlite3.Connection):
    """Kills its process before or after a statement, in one step of a request."""

    step, point = None, (None, None)

    def execute(self, sql, *values):
        word = sql.split(" ", 1)[0]
        Deadly.die(f"before {word}")
        result = super().execute(sql, *values)
        Deadly.die(f"after {word}")
        return result

    @staticmethod
    def die(moment):
        if (Deadly.step, moment) == Deadly.point:
            os.kill(os.getpid(), signal.SIGKILL)


def request(path, shown, answer):
    """Do what a release does: charge, touch, compute, settle, and only then show the answer."""
    ledger = Ledger.open(path)
    Deadly.step = "reserve"
    granted = ledger.reserve("q", None, "t", "1", "plan", Pure("0.25"))
    if granted.answer is None:
        Deadly.step = "touch"
        ledger.touch(granted)
        Deadly.step = "settle"
        ledger.settle(granted, answer)
    shown.write_bytes(granted.answer or answer)


def examine(path, shown, attempt):
    """Say what is wrong after a crash; nothing may be."""
    if not verify(path).ok:
        return ["the ledger is damaged"]
    wrong = []
    ledger = Ledger.open(path)
    kinds = [event.kind for event in ledger.history()]
    spent = 1 - ledger.remaining().epsilon
    if shown.exists() and "settled" not in kinds:
        wrong.append("an answer was shown that is not settled")
    if spent != (Fraction(1, 4) if "reserved" in kinds else 0):
        wrong.append("the charge is not what was reserved")
    if kinds != ["reserved", "touched", "settled"][: len(kinds)]:
        wrong.append("steps are missing")
    if kinds[-1:] == ["touched"]:
        return wrong + examine_touched(ledger)
    attempt(b"first" if "settled" in kinds else b"second")
    if shown.read_bytes() != (b"first" if "settled" in kinds else b"second"):
        wrong.append("the repetition was answered otherwise")
    if ledger.remaining().epsilon != Fraction(3, 4):
        wrong.append("the repetition was charged again")
    if not verify(path, ledger.head).ok:
        wrong.append("the ledger is damaged after the repetition")
    return wrong


def examine_touched(ledger):
    """Whoever touched is dead: nobody may touch again, and the charge stands."""
    wrong = []
    try:
        ledger.reserve("q", None, "t", "1", "plan", Pure("0.25"))
        wrong.append("what was touched is granted again")
    except RequestError:
        pass
    (left,) = ledger.pending()
    ledger.abandon(left)
    if ledger.remaining().epsilon != Fraction(3, 4):
        wrong.append("a touched charge was given back")
    return wrong


def crash(folder, name, point=None, delay=None):
    """Kill one process at a point, or after a time; return (whether it died, what is wrong)."""
    path, shown = folder / f"{name}.ledger", folder / f"{name}.shown"

    def work():
        connect = sqlite3.connect
        ledger_connection.sqlite3.connect = lambda *a, **k: connect(*a, factory=Deadly, **k)
        Deadly.point, Deadly.step = point or (None, None), "create"
        if point and point[0] == "create":
            Ledger.create(path, sf.Budget(1), sf.Unit.row())
        request(path, shown, b"first")

    if not (point and point[0] == "create"):
        Ledger.create(path, sf.Budget(1), sf.Unit.row()).close()
    child = fork(work)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    if point and point[0] == "create":
        try:  # a ledger that was half made can be made again; one that was made cannot
            Ledger.create(path, sf.Budget(1), sf.Unit.row()).close()
            made = point[1] != "after COMMIT"
        except sf.errors.LedgerError:
            made = point[1] == "after COMMIT"
        if not made:
            return died, ["a crash while making a ledger left something else"]
    return died, examine(path, shown, lambda answer: request(path, shown, answer))


def kill(folder, count):
    """Kill at every point, then `count` times at any time."""
    wrong, died = [], 0
    for number, point in enumerate(POINTS):
        dead, found = crash(folder, f"p{number}", point=point)
        died += dead
        wrong += [f"{' '.join(point)}: {what}" for what in found]
    died_any_time = 0
    for number in range(count):
        dead, found = crash(folder, f"t{number}", delay=0.0005 * (number % 100))
        died_any_time += dead
        wrong += [f"after {number % 100 / 2} ms: {what}" for what in found]
    return {"points": len(POINTS), "died": died, "died_any_time": died_any_time, "wrong": wrong}


if __name__ == "__main__":
    command, where, number = sys.argv[1:]
    result = {"race": race, "kill": kill}[command](Path(where), int(number))
    print(json.dumps(result))  # noqa: T201
