"""Processes that race for a ledger, and processes that are killed while they use it.

Run as a program of its own, because its children are forks: ``COMMAND PATH ARGUMENT...``, where
the commands are the functions in `COMMANDS`. Each prints one line of JSON.

What is killed is a `Program`; a new one is a row in `PROGRAMS`.
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
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import BudgetExceeded, LedgerError, RequestError
from sfumato.core.loss import Pure
from sfumato.ledger import Branch, Ledger, verify
from sfumato.ledger import connection as ledger_connection
from sfumato.session.exact import Exact

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


class Program(NamedTuple):
    """What is killed.

    Attributes:
        make: makes a ledger at a path, with a budget of four times `PRICE`.
        serve: answers requests ``[(id, question)]``, each for `PRICE`, from the ledger at a path:
            ``serve(path, requests, reach, reply)``. It calls ``reach(point)`` at the `INSIDE`
            points (those of the ledger are reached without its help) and ``reply(id, answer)``
            with the bytes that it shows, or None if the request has failed.
        steps: the methods of the ledger that it calls, once for every request but the first.
    """

    make: object
    serve: object
    steps: tuple = ("create", "reserve", "touch", "settle")

    @property
    def points(self):
        """Where it is killed."""
        return [
            *(f"{when} {step}" for step in self.steps for when in ("before", "after")),
            *(f"{step}: {moment}" for step in self.steps for moment in MOMENTS),
            *INSIDE,
        ]


GOLDEN = 0.6180339887
PRICE = Fraction(1, 4)
REQUESTS = [("q1", "plan 1"), ("q2", "plan 2"), ("q3", "plan 3")]
STEPS = ("create", "reserve", "touch", "settle", "open_scope", "close_scope")
MOMENTS = ("after BEGIN", "after INSERT", "before COMMIT", "after COMMIT")
INSIDE = ("during read", "after read", "after draw", "after reply")


class Scythe:
    """Kills its own process when it has reached a point for the nth time."""

    def __init__(self, point=None, turn=1):
        self.point, self.turn, self.step = point, turn, None

    def reach(self, point):
        self.turn -= point == self.point
        if self.turn == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def arm(self):
        """Reach the points of the ledger in this process, which must be one that can be spared."""
        scythe = self

        class Deadly(sqlite3.Connection):
            def execute(self, sql, *values):
                word = sql.split(" ", 1)[0]
                scythe.reach(f"{scythe.step}: before {word}")
                result = super().execute(sql, *values)
                scythe.reach(f"{scythe.step}: after {word}")
                return result

        connect = sqlite3.connect
        ledger_connection.sqlite3.connect = lambda *a, **k: connect(*a, factory=Deadly, **k)
        for step in STEPS:
            watched = self.watch(step, getattr(Ledger, step))
            setattr(Ledger, step, staticmethod(watched) if step == "create" else watched)

    def watch(self, step, method):
        def run(*values, **options):
            self.step = step
            self.reach(f"before {step}")
            result = method(*values, **options)
            self.step = None
            self.reach(f"after {step}")
            return result

        return run


def make_ledger(path):
    Ledger.create(path, sf.Budget(4 * PRICE), sf.Unit.row()).close()


def serve_from_scopes(path, requests, reach, reply):
    """Set the price of each request aside first, and free what it did not need."""
    for asked in requests:
        ledger = Ledger.open(path)
        scope = ledger.open_scope(sf.Budget(PRICE))
        serve_from_ledger(path, [asked], reach, reply, scope)
        ledger.close_scope(scope)


def serve_from_ledger(path, requests, reach, reply, scope=None):
    """Do by hand what a release does; the noise is so large that no two answers are equal."""
    ledger = Ledger.open(path)
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


def open_session(path):
    """Open a session; one row moves a sum so far that no two noisy answers are equal."""
    return sf.Session(
        pa.table({"x": [1, 2, 3], "zone": ["A", "B", "A"]}),
        unit=sf.Unit.row(),
        schema=sf.Schema(x=sf.Integer(0, 2**40), zone=sf.Category(["A", "B"])),
        budget=sf.Budget(4 * PRICE),
        ledger=path,
        version="1",
    )


def make_by_session(path):
    """Make a ledger, as a session does; one that is there is not made again."""
    try:
        Ledger.open(path).close()
    except LedgerError:
        open_session(path).close()
    else:
        raise LedgerError("there is one already.")


def serve_from_session(path, requests, reach, reply):
    session = open_session(path)
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
        try:
            answer = encode(session.perform(plan.parts, request=request))
        except RequestError:
            answer = None
        reply(request, answer)
        reach("after reply")


PROGRAMS = {
    "ledger": Program(make_ledger, serve_from_ledger),
    "session": Program(make_by_session, serve_from_session),
    "scope": Program(make_ledger, serve_from_scopes, STEPS),
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
    try:
        program.make(path)  # what was half made can be made again
        if made:
            wrong.append("a ledger was made over another")
    except LedgerError:
        pass
    return code == -signal.SIGKILL, wrong + examine(program, path, replies)


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
    _, _, paid = run(program, path, anew)
    if len(paid) != len(lost) or None in paid.values():
        wrong.append("what has failed cannot be asked again under a new id")
    if spent(ledger) != PRICE * len(REQUESTS + anew):
        wrong.append("asking anew was not charged")
    if not verify(path, head).ok:
        wrong.append("the ledger is damaged after the repetition")
    return wrong


def ask(ledger, event):
    """Ask again what an entry asked; return the answer, or the error."""
    part = None if event.part is None else decode(event.part)
    names = (event.request, event.analyst or None, event.dataset, event.version, event.plan)
    try:
        return ledger.reserve(*names, event.loss, event.charge, part).answer
    except RequestError as problem:
        return problem


def spent(ledger):
    return 4 * PRICE - ledger.remaining().epsilon


def kill(folder, name, rounds, moments):
    """Kill a program at every point, in each of its requests in turn; then at any moment."""
    program, wrong, died, died_any_time = PROGRAMS[name], [], 0, 0
    for turn in range(int(rounds)):
        for number, point in enumerate(program.points):
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


COMMANDS = {"race": race, "parts": race_parts, "touch": touch, "kill": kill}

if __name__ == "__main__":
    command, where, *arguments = sys.argv[1:]
    print(json.dumps(COMMANDS[command](Path(where), *arguments)))  # noqa: T201
