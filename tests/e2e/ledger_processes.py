"""Processes that race for a ledger, and processes that are killed while they use it.

Run as a program of its own, because its children are forks: ``COMMAND PATH ARGUMENT...``, where
the commands are the functions in `COMMANDS`. Each prints one line of JSON.

What is killed is a `Program`; a new one is a row in `PROGRAMS`.
"""

import itertools
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import BudgetExceeded, LedgerError, RequestError
from sfumato.core.loss import Pure
from sfumato.ledger import Branch, Ledger, verify
from sfumato.ledger import backup as ledger_backup
from sfumato.ledger import connection as ledger_connection
from sfumato.noise.rng import system
from sfumato.session.exact import Exact
from sfumato.session.staged import StagedPlan

PROCESSES, THREADS = 8, 2


def fork(work):
    """Run work in a child, which never comes back; return its id and where its lines come out."""
    out, inlet = os.pipe()
    child = os.fork()
    if child:
        os.close(inlet)
        return child, out
    status = 1
    try:
        os.close(out)
        work(lambda line: os.write(inlet, f"{json.dumps(line)}\n".encode()))
        status = 0
    finally:
        os._exit(status)


def reap(child, out):
    """Wait for a child; return its exit code and its lines."""
    with os.fdopen(out) as pipe:
        lines = [json.loads(line) for line in pipe]
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lines


def together(work):
    """Let eight processes begin at the same time; return their exit codes and their lines."""
    wait, gate = os.pipe()

    def begin(number, say):
        os.close(gate)
        os.read(wait, 1)  # until the parent closes its end
        work(number, say)

    children = [fork(lambda say, n=n: begin(n, say)) for n in range(PROCESSES)]
    os.close(wait)
    os.close(gate)
    codes, lines = zip(*(reap(*child) for child in children), strict=True)
    return codes, [line for said in lines for line in said]


def race(path, cap, tries):
    """Let each of eight processes try to charge some units; return what each was granted."""
    shared = Ledger.create(path, sf.Budget(int(cap)), sf.Unit.row(), timeout=120)

    def spend(ledger, name):
        granted = 0
        for i in range(int(tries) // THREADS):
            try:
                ledger.reserve(f"{name}.{i}", None, "t", "1", f"{name}.{i}", Pure(1))
                granted += 1
            except BudgetExceeded:
                pass
        return granted

    def work(number, say):
        # Half of them go on with what the parent had opened, half open their own.
        ledger = shared if number % 2 else Ledger.open(path, timeout=120)
        with ThreadPoolExecutor(THREADS) as pool:
            names = [f"{number}.{thread}" for thread in range(THREADS)]
            say(sum(pool.map(lambda name: spend(ledger, name), names)))  # raises what they do

    start = time.perf_counter()
    codes, grants = together(work)
    seconds = time.perf_counter() - start
    found, left = verify(path), Ledger.open(path).remaining().epsilon
    return {
        "codes": codes,
        "grants": grants,
        "seconds": seconds,
        "entries": found.entries,
        "ok": found.ok,
        "left": str(left),
    }


def race_parts(path, cap, keys, width):
    """Let eight processes charge the parts of one family; return what each part was granted."""
    shared = Ledger.create(path, sf.Budget(int(cap)), sf.Unit.row(), timeout=120)

    def work(number, say):
        ledger = shared if number % 2 else Ledger.open(path, timeout=120)
        part = Branch(digest("family"), f"part {number % int(keys)}", int(width))
        for i in range(int(cap) + 1):
            name = f"{number}.{i}"
            try:
                ledger.reserve(name, None, "t", "1", name, Pure(1), part=part)
                say(part.key)
            except BudgetExceeded:
                pass

    codes, granted = together(work)
    found, left = verify(path), Ledger.open(path).remaining().epsilon
    return {
        "codes": codes,
        "granted": sorted(granted.count(f"part {key}") for key in range(int(keys))),
        "entries": found.entries,
        "ok": found.ok,
        "left": str(left),
    }


def touch(path, rounds):
    """Let eight processes ask under the same id and touch at once; count who succeeds."""
    shared = Ledger.create(path, sf.Budget(int(rounds)), sf.Unit.row(), timeout=120)

    def work(_, say):
        for i in range(int(rounds)):
            try:
                shared.touch(shared.reserve(f"q{i}", None, "t", "1", f"plan {i}", Pure(1)))
                say(i)
            except RequestError:
                pass

    codes, winners = together(work)
    kinds = [event.kind for event in shared.history()]
    return {
        "codes": codes,
        "winners": sorted(winners),
        "kinds": {kind: kinds.count(kind) for kind in kinds},
        "ok": verify(path).ok,
    }


DAY = 86_400 * 10**9  # nanoseconds
YEAR = 365 * DAY
CLOCKS = {  # of a process, given the true time and how often it was asked
    "true": lambda now, _: now,
    "slow": lambda now, _: now - 40 * YEAR,
    "fast": lambda now, _: now + 40 * YEAR,
    "stopped": lambda now, _: 0,
    "before 1970": lambda now, _: -YEAR,
    "backward": lambda now, asked: now - asked * DAY,
    "jumping": lambda now, asked: now + (-1) ** asked * asked * DAY,
    "far": lambda now, _: now + 9_000 * YEAR,
}


def disagree(path, cap):
    """Let eight processes charge one ledger, each by another clock; return what the entries say."""
    Ledger.create(path, sf.Budget(int(cap)), sf.Unit.row(), timeout=120).close()
    true = time.time_ns

    def work(number, say):
        clock, asked = list(CLOCKS.values())[number], iter(range(10**9))
        time.time_ns = lambda: clock(true(), next(asked))
        ledger, granted = Ledger.open(path, timeout=120), 0
        for i in range(int(cap)):
            name = f"{number}.{i}"
            with suppress(BudgetExceeded):
                request = ledger.reserve(name, None, "t", "1", name, Pure(1))
                ledger.touch(request)
                ledger.settle(request, name.encode())
                again = ledger.reserve(name, None, "t", "1", name, Pure(1))
                granted += again.answer == name.encode()
        ledger.refresh(f"of {number}", "first")
        ledger.refresh(f"of {number}", "second")
        say([granted, ledger.version(f"of {number}"), str(ledger.remaining().epsilon)])

    codes, said = together(work)
    ledger, found = Ledger.open(path), verify(path)
    history = ledger.history()
    times = [event.time for event in history]
    return {
        "codes": codes,
        "granted": sum(granted for granted, _, _ in said),
        "versions": [version for _, version, _ in said],
        "left": [left for _, _, left in said],
        "ok": found.ok,
        "ordered": [event.seq for event in history] == [*range(1, len(history) + 1)],
        "backward": sum(b < a for a, b in itertools.pairwise(times)),
        "shown": len({event.moment for event in history}),
    }


def draws(session, number):
    """Return words, and the numbers of a release whose exact numbers are always the same."""
    words = system().words(1000).tolist()
    asked = session.table().filter(f"x < {100 + number}").group_by("zone").agg(x=sf.sum("x"))
    return words, list(asked.release(epsilon="0.01").measures[0].values)


def fork_and_draw(path, count):
    """Let children of a process that has drawn draw words and a release; return all of them."""
    with open_session(path) as session:
        session.table().sum("x").release(epsilon="0.01")
    mine = system().words(1000).tolist()
    children = [fork(lambda say, n=n: say(draws(open_session(path), n))) for n in range(int(count))]
    reaped = [reap(*child) for child in children]
    return {
        "codes": [code for code, _ in reaped],
        "words": [mine, *(line[0] for _, lines in reaped for line in lines)],
        "releases": [line[1] for _, lines in reaped for line in lines],
    }


def draw_in_threads(path, count):
    """Let threads that begin together draw words and a release each; return all of them."""
    session, ready = open_session(path), threading.Barrier(int(count))

    def work(number):
        ready.wait()
        return draws(session, number)

    with ThreadPoolExecutor(int(count)) as pool:
        drawn = list(pool.map(work, range(int(count))))
    return {"words": [words for words, _ in drawn], "releases": [values for _, values in drawn]}


class Program(NamedTuple):
    """What is killed.

    Attributes:
        make: makes a ledger at a path, with `BUDGET`.
        serve: answers requests ``[(id, question)]``, each for `PRICE`, from the ledger at a path:
            ``serve(path, requests, reach, reply)``. It calls ``reach(point)`` at the `INSIDE`
            points (those of the ledger are reached without its help) and ``reply(id, answer)``
            with the bytes that it shows, or None if the request has failed.
        steps: the methods of the ledger that it calls, once for every request but the first.
        moments: points inside of each of them; of several threads one acts for the others, so that
            they are those of any.
        more: further points.
        check: what else is looked at after a crash: given the path, it returns what is wrong.
    """

    make: object
    serve: object
    steps: tuple = ("create", "reserve", "touch", "settle")
    moments: tuple | None = None
    more: tuple = ()
    check: object = lambda _: []

    @property
    def points(self):
        """Where it is killed."""
        within = [f"{step}: {moment}" for step in self.steps for moment in MOMENTS]
        return [
            *(f"{when} {step}" for step in self.steps for when in ("before", "after")),
            *(within if self.moments is None else self.moments),
            *(f"create: {moment}" for moment in MAKING),
            *INSIDE,
            *self.more,
        ]


GOLDEN = 0.6180339887
PRICE = Fraction(1, 4)
BUDGET = 6 * PRICE  # three requests, and all of them anew
REQUESTS = [("q1", "plan 1"), ("q2", "plan 2"), ("q3", "plan 3")]
STEPS = ("create", "reserve", "touch", "settle", "open_scope", "close_scope", "backup")
MOMENTS = ("after BEGIN", "after INSERT", "before COMMIT", "after COMMIT")
STATEMENTS = tuple(
    f"{when} {word}"
    for word in ("BEGIN", "SAVEPOINT", "INSERT", "RELEASE", "COMMIT")
    for when in ("before", "after")
)
MAKING = (  # after the commit: it is brought from the log into the file, which then gets its name
    "before fold",
    "after fold",
    "before link",
    "after link",
    "before unlink",
    "after unlink",
)
COPYING = (
    "before BEGIN",
    "after BEGIN",
    "before COMMIT",
    "after COMMIT",
    "before link",
    "after link",
)
INSIDE = ("during read", "after read", "after draw", "after reply")


class Scythe:
    """Kills its own process when it has reached a point for the nth time."""

    def __init__(self, point=None, turn=1):
        self.point, self.turn = point, turn
        self.of_thread, self.lock = threading.local(), threading.Lock()

    def reach(self, point):
        with self.lock:
            self.turn -= point == self.point
            if self.turn == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def reach_within(self, moment):
        self.reach(f"{getattr(self.of_thread, 'step', None)}: {moment}")
        self.reach(f"any: {moment}")

    def arm(self):
        """Reach the points of the ledger in this process, which must be one that can be spared."""
        scythe = self

        class Deadly(sqlite3.Connection):
            def execute(self, sql, *values):
                word = "fold" if "wal_checkpoint" in sql else sql.split(" ", 1)[0]
                scythe.reach_within(f"before {word}")
                result = super().execute(sql, *values)
                scythe.reach_within(f"after {word}")
                return result

        connect = sqlite3.connect
        ledger_connection.sqlite3.connect = lambda *a, **k: connect(*a, factory=Deadly, **k)
        ledger_backup.os = Linking(self.reach_within)
        unlink = Path.unlink

        def forget(path, **options):
            moment = "unlink" if path.name.endswith(".part") else "unlink of another"
            self.reach_within(f"before {moment}")
            unlink(path, **options)
            self.reach_within(f"after {moment}")

        Path.unlink = forget
        for step in STEPS:
            watched = self.watch(step, getattr(Ledger, step))
            setattr(Ledger, step, staticmethod(watched) if step == "create" else watched)

    def watch(self, step, method):
        def run(*values, **options):
            self.of_thread.step = step
            self.reach(f"before {step}")
            result = method(*values, **options)
            self.of_thread.step = None
            self.reach(f"after {step}")
            return result

        return run


class Linking:
    """The module `os`, of which one function reaches points."""

    def __init__(self, reach):
        self.reach = reach

    def __getattr__(self, name):
        return getattr(os, name)

    def link(self, *paths):
        self.reach("before link")
        os.link(*paths)
        self.reach("after link")


def make_ledger(path):
    Ledger.create(path, sf.Budget(BUDGET), sf.Unit.row()).close()


def serve_from_scopes(path, requests, reach, reply):
    """Set the price of each request aside first, and free what it did not need."""
    for asked in requests:
        ledger = Ledger.open(path)
        scope = ledger.open_scope(sf.Budget(PRICE))
        serve_from_ledger(path, [asked], reach, reply, scope)
        ledger.close_scope(scope)


def serve_from_threads(path, requests, reach, reply):
    """Answer all requests at once: their threads share commits."""
    ledger = Ledger.open(path)
    with ThreadPoolExecutor(len(REQUESTS)) as pool:
        served = [
            pool.submit(serve_from_ledger, path, [asked], reach, reply, None, ledger)
            for asked in requests
        ]
        for each in served:
            each.result()  # raises what it did


def serve_and_copy(path, requests, reach, reply):
    """Make a copy of the ledger after every request; one that is there is not made again."""
    for asked in requests:
        serve_from_ledger(path, [asked], reach, reply)
        copy = path.with_name(f"{path.name} after {asked[0]}")
        if not copy.exists():
            Ledger.open(path).backup(copy)


def check_copies(path):
    """Say what is wrong with copies: each is whole, and a prefix of the ledger."""
    wrong = []
    for copy in path.parent.glob(f"{path.name} after *"):
        if copy.name.endswith((".part", "-wal", "-shm", "-journal")):
            continue  # left by the crash, under a name that nobody takes for a copy
        found = verify(copy)
        if not (found.ok and verify(path, found.head).ok):
            wrong.append("a copy is not whole, or not of this ledger")
    return wrong


def serve_from_ledger(path, requests, reach, reply, scope=None, ledger=None):
    """Do by hand what a release does; the noise is so large that no two answers are equal."""
    ledger = ledger or Ledger.open(path)
    for request, question in requests:
        try:
            granted = ledger.reserve(request, None, "t", "1", question, Pure(PRICE), scope=scope)
            answer = granted.answer
            if answer is None:
                ledger.touch(granted)
                exact = np.zeros(2, np.int64)
                for row in (3, 4):
                    exact += row
                    reach("during read")
                reach("after read")
                noisy = sf.mechanisms.DiscreteLaplace(scale=2**40)(exact)
                reach("after draw")
                answer = noisy.tobytes()
                ledger.settle(granted, answer)
        except RequestError:
            answer = None
        reply(request, answer)
        reach("after reply")


QUESTIONS = {
    "plan 1": lambda table: table.sum("x"),
    "plan 2": lambda table: table.filter("x > 1").sum("x"),
    "plan 3": lambda table: table.group_by("zone").agg(x=sf.sum("x")),
}


def open_session(path, unit=None):
    """Open a session; one row moves a sum so far that no two noisy answers are equal."""
    return sf.Session(
        pa.table({"id": [7, 7, 8], "x": [1, 2, 3], "zone": ["A", "B", "A"]}),
        unit=unit or sf.Unit.row(),
        schema=sf.Schema(x=sf.Integer(0, 2**40), zone=sf.Category(["A", "B"])),
        budget=sf.Budget(BUDGET),
        ledger=path,
        version="1",
    )


def make_by_session(path, unit=None):
    """Make a ledger, as a session does; one that is there is not made again."""
    try:
        Ledger.open(path).close()
    except LedgerError:
        open_session(path, unit).close()
    else:
        raise LedgerError("there is one already.")


BOUGHT = sf.Unit.by("id", max_rows="auto")  # every question buys its cap first


def make_staged(path):
    make_by_session(path, BOUGHT)


def serve_staged(path, requests, reach, reply):
    serve_from_session(path, requests, reach, reply, BOUGHT)


def serve_from_session(path, requests, reach, reply, unit=None):
    session = open_session(path, unit)
    run, drawn = session._backend.run, Exact.drawn

    def read(*values):
        reach("during read")
        table = run(*values)
        reach("after read")
        return table

    def draw(self, *values):
        noisy = drawn(self, *values)
        reach("after draw")
        return noisy

    session._backend.run, Exact.drawn = read, draw
    for request, question in requests:
        plan = QUESTIONS[question](session.table()).explain(epsilon=PRICE)
        staged = isinstance(plan, StagedPlan)
        asked = (plan.first, plan) if staged else (plan.parts, None)
        try:
            answer = encode(session.perform(asked[0], request=request, sequel=asked[1]))
        except RequestError:
            answer = None
        reply(request, answer)
        reach("after reply")


PROGRAMS = {
    "ledger": Program(make_ledger, serve_from_ledger),
    "session": Program(make_by_session, serve_from_session),
    "scope": Program(make_ledger, serve_from_scopes, STEPS[:6]),
    "threads": Program(
        make_ledger, serve_from_threads, moments=tuple(f"any: {each}" for each in STATEMENTS)
    ),
    "staged": Program(make_staged, serve_staged),
    "backup": Program(
        make_ledger,
        serve_and_copy,
        more=("before backup", "after backup", *(f"backup: {each}" for each in COPYING)),
        check=check_copies,
    ),
}


def run(program, path, requests, scythe=None, delay=None):
    """Run a program in a child; return its exit code, whether it made the ledger, its replies."""

    def work(say):
        if scythe is not None:
            scythe.arm()
            program.make(path)
            say("made")
        program.serve(
            path,
            requests,
            scythe.reach if scythe else lambda _: None,
            lambda request, answer: say([request, answer and answer.hex()]),
        )

    child, out = fork(work)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    code, lines = reap(child, out)
    replies = {line[0]: line[1] and bytes.fromhex(line[1]) for line in lines if line != "made"}
    return code, "made" in lines, replies


def crash(program, path, scythe, delay=None):
    """Kill one run of a program; return whether it died, and what is wrong afterwards."""
    code, made, replies = run(program, path, REQUESTS, scythe, delay)
    wrong = [] if code in (0, -signal.SIGKILL) else ["the program failed by itself"]
    wrong += left_by_making(path)
    try:
        program.make(path)  # what was half made can be made again
        if made:
            wrong.append("a ledger was made over another")
    except LedgerError:
        pass
    return code == -signal.SIGKILL, wrong + examine(program, path, replies)


def left_by_making(path):
    """Say what is wrong at once after a crash: there is a whole ledger of that name, or none."""
    beside = {path.name + end for end in ("", "-wal", "-shm")} if path.exists() else set()
    left = {each.name for each in path.parent.glob(f"{path.name}*")} - beside
    if any(".part" not in name and " after " not in name for name in left):
        return ["files were left that somebody may take for a ledger"]
    if path.exists() and not verify(path).ok:
        return ["a ledger was left half made"]
    return []


def examine(program, path, replies):
    """Say what is wrong after a crash; nothing may be."""
    if not (found := verify(path)).ok:
        return [str(found)]
    ledger = Ledger.open(path)
    wrong = free_scopes(ledger)
    history = [event for event in ledger.history() if event.request is not None]
    first = {event.request: event for event in history if event.kind == "reserved"}
    state = {event.request: event.state for event in history}
    stored = {r: ask(ledger, first[r]) for r in state if state[r] == "settled"}
    if any(answer is None or stored.get(r) != answer for r, answer in replies.items()):
        wrong.append("an answer was shown that is not settled")
    if not PRICE * len(replies) <= spent(ledger) == PRICE * len(first):
        wrong.append("the charge is not what was reserved")
    if {r.request_id for r in ledger.pending()} != state.keys() - stored.keys():
        wrong.append("pending requests are not those that were left")
    touched = [r for r in ledger.pending() if state[r.request_id] == "touched"]
    for left in touched:  # its process is dead: nobody may touch again, and the charge stands
        if not isinstance(ask(ledger, first[left.request_id]), RequestError):
            wrong.append("what was touched is granted again")
        ledger.abandon(left)
    wrong += program.check(path)
    return wrong + go_on(program, ledger, path, stored, {left.request_id for left in touched})


def free_scopes(ledger):
    """Close what a crash left open: it was all reserved, and what was not charged is free again."""
    wrong = []
    for scope, inside in ledger.scopes().items():
        before = spent(ledger)
        ledger.close_scope(scope)
        if before - spent(ledger) != PRICE - Fraction(inside.epsilon, 10**18):
            wrong.append("a scope did not hold what was left of it")
    return wrong


def go_on(program, ledger, path, stored, lost):
    """Ask everything again, then what was lost under new ids; say what is wrong."""
    head, wrong = ledger.head, []
    code, _, again = run(program, path, REQUESTS)
    if code != 0 or again.keys() != {request for request, _ in REQUESTS}:
        return ["the program cannot go on"]
    if {request for request, answer in again.items() if answer is None} != lost:
        wrong.append("other requests fail than those that were touched")
    if not stored.items() <= again.items():
        wrong.append("a settled request was answered otherwise")
    if spent(ledger) != PRICE * len(REQUESTS):
        wrong.append("the repetition was charged again, or not at all")
    anew = [(f"{request} anew", question) for request, question in REQUESTS if request in lost]
    _, _, paid = run(program, path, anew) if anew else (0, False, {})
    if len(paid) != len(lost) or None in paid.values():
        wrong.append("what has failed cannot be asked again under a new id")
    if spent(ledger) != PRICE * len(REQUESTS + anew):
        wrong.append("asking anew was not charged")
    if not verify(path, head).ok:
        wrong.append("the ledger is damaged after the repetition")
    return wrong + program.check(path)


def ask(ledger, event):
    """Ask again what an entry asked; return the answer, or the error."""
    part = None if event.part is None else decode(event.part)
    names = (event.request, event.analyst or None, event.dataset, event.version, event.plan)
    try:
        return ledger.reserve(*names, event.loss, event.charge, part).answer
    except RequestError as problem:
        return problem


def spent(ledger):
    return BUDGET - ledger.remaining().epsilon


def kill(folder, name, rounds, moments, stride=1):
    """Kill a program at every point, in each of its requests in turn; then at any moment.

    Or at one of so many points, at others in each round.
    """
    program, wrong, died, died_any_time = PROGRAMS[name], [], 0, 0
    for turn in range(int(rounds)):
        for number, point in enumerate(program.points):
            if (number + turn) % int(stride):
                continue
            scythe = Scythe(point, 1 if "create" in point else 1 + turn % len(REQUESTS))
            dead, found = crash(program, folder / f"{turn}.{number}", scythe)
            died += dead
            wrong += [f"{point}, round {turn}: {what}" for what in found]
    start = time.perf_counter()
    run(program, folder / "whole", REQUESTS, Scythe())
    whole = time.perf_counter() - start
    for number in range(int(moments)):
        delay = number * GOLDEN % 1 * whole  # spread evenly, however many there are
        dead, found = crash(program, folder / f"at {number}", Scythe(), delay)
        died_any_time += dead
        wrong += [f"after {1000 * delay:.1f} ms: {what}" for what in found]
    return {"points": program.points, "died": died, "died_any_time": died_any_time, "wrong": wrong}


COMMANDS = {
    "race": race,
    "parts": race_parts,
    "touch": touch,
    "kill": kill,
    "clocks": disagree,
    "forks": fork_and_draw,
    "threads": draw_in_threads,
}

if __name__ == "__main__":
    command, where, *arguments = sys.argv[1:]
    print(json.dumps(COMMANDS[command](Path(where), *arguments)))  # noqa: T201
