"""Threads that charge one ledger share a commit: durable before anybody returns, each by itself."""

import os
import sqlite3
import threading
from contextlib import closing

import pytest

import sfumato as sf
from sfumato.core.errors import BudgetExceeded, LedgerError
from sfumato.ledger import Ledger, verify
from sfumato.ledger.turnstile import Turnstile


def together(actions):
    """Run every action in a thread of its own; return what each returned or raised."""
    found = [None] * len(actions)
    ready = threading.Barrier(len(actions))

    def run(place, action):
        ready.wait()
        try:
            found[place] = action()
        except Exception as problem:  # noqa: BLE001 - looked at by the test
            found[place] = problem

    threads = [threading.Thread(target=run, args=each) for each in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def on_disk(path):
    """Return the requests that another connection sees."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as other:
        return {row[0] for row in other.execute("SELECT request FROM events")}


@pytest.fixture
def commits(make, monkeypatch):
    """Make a ledger that notes its commits."""
    ledger, noted = make(100), []
    commit = ledger._file._commit

    def note(group):
        noted.append(group)
        commit(group)

    monkeypatch.setattr(ledger._file, "_commit", note)
    return ledger, noted


def test_threads_share_commits_and_every_charge_is_on_the_disk_when_it_returns(commits, ask, path):
    ledger, noted = commits

    def charge(name):
        granted = ask(ledger, name, plan=name)
        return name in on_disk(path), granted.entry

    found = together([lambda i=i: charge(f"q{i}") for i in range(64)])
    assert all(seen for seen, _ in found)
    assert sorted(entry for _, entry in found) == [*range(1, 65)]
    assert len(noted) < 64
    assert verify(path, ledger.head).ok


def test_refusal_takes_back_nothing_of_the_others(make, ask, path):
    ledger = make(1)  # of forty requests for a tenth each, ten fit
    found = together([lambda i=i: ask(ledger, f"q{i}", plan=f"p{i}") for i in range(40)])
    granted = [each for each in found if not isinstance(each, Exception)]
    assert len(granted) == 10
    assert all(isinstance(each, BudgetExceeded) for each in found if each not in granted)
    assert on_disk(path) == {each.request_id for each in granted}
    assert ledger.spent().epsilon == 10**18
    assert verify(path).ok


def test_commit_that_fails_fails_for_all_of_its_group(make, ask, path, break_at):
    ledger = make(100)
    ask(ledger, "before")
    break_at("COMMIT", sqlite3.SQLITE_FULL)
    found = together([lambda i=i: ask(ledger, f"q{i}", plan=f"p{i}") for i in range(16)])
    assert all(isinstance(each, LedgerError) for each in found)
    assert len({id(each) for each in found}) == 16
    break_at(None)
    assert on_disk(path) == {"before"}
    assert ask(ledger, "after", plan="after").entry == 2
    assert verify(path).ok


def test_statement_that_fails_takes_the_group_back_and_no_one_is_told_otherwise(
    make, ask, path, monkeypatch
):
    from sfumato.ledger import store

    ledger, asked, told = make(100), store.asked, set()

    def fail(header, journal, order):
        if order.request.endswith("7"):
            raise sqlite3.OperationalError
        return asked(header, journal, order)

    monkeypatch.setattr(store, "asked", fail)
    for first in range(0, 160, 16):
        names = [f"q{first + i}" for i in range(16)]
        found = together([lambda name=name: ask(ledger, name, plan=name) for name in names])
        told |= {n for n, each in zip(names, found, strict=True) if not isinstance(each, Exception)}
        assert on_disk(path) == told
    assert told
    assert not any(name.endswith("7") for name in told)
    assert verify(path).ok


def test_reader_sees_nothing_that_is_not_on_the_disk(make, ask, path):
    ledger = make(100)
    stop, wrong = threading.Event(), []

    def look():
        while not stop.is_set():
            seen = {event.request for event in ledger.history()}
            if not seen <= on_disk(path):
                wrong.append(seen)

    looker = threading.Thread(target=look)
    looker.start()
    together([lambda i=i: ask(ledger, f"q{i}", plan=f"p{i}") for i in range(32)])
    stop.set()
    looker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_fork_among_threads_that_charge(make, ask, path):
    ledger, statuses = make(100), []

    def fork(name):
        child = os.fork()
        if not child:
            try:
                ask(ledger, name, plan=name)
            finally:
                os._exit(0 if name in on_disk(path) else 1)
        statuses.append(os.waitpid(child, 0)[1])

    charges = [lambda i=i: ask(ledger, f"q{i}", plan=f"p{i}") for i in range(12)]
    forks = [lambda i=i: fork(f"child {i}") for i in range(4)]
    found = together([*charges, *forks])
    assert [each for each in found if isinstance(each, Exception)] == []
    assert statuses == [0] * 4
    assert len(on_disk(path)) == 16
    assert verify(path).ok


@pytest.mark.parametrize("comes", [True, False])
def test_interrupt_while_another_process_writes_leaves_nothing_open(make, ask, path, comes):
    """As by a key pressed while BEGIN waits, whether the lock comes at that moment or not."""
    ledger = make(100)
    ask(ledger, "before")
    plain = ledger._file._begin

    def interrupted(connection, group):
        if comes:
            plain(connection, group)
        raise KeyboardInterrupt

    ledger._file._begin = interrupted
    with pytest.raises(KeyboardInterrupt):
        ask(ledger, "pressed", plan="pressed")
    del ledger._file._begin
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    assert ask(ledger, "after", plan="after").entry == 2
    assert on_disk(path) == {"before", "after"}
    assert verify(path).ok


def test_turnstile_lets_through_in_order():
    turn, came = Turnstile(), []
    assert turn.acquire()
    threads = []
    for i in range(8):

        def pass_through(number=i):
            assert turn.acquire()
            came.append(number)
            turn.release()

        threads.append(threading.Thread(target=pass_through))
        threads[-1].start()
        while len(turn._waiting) <= i:  # so that they come in order
            pass
    turn.release()
    for thread in threads:
        thread.join()
    assert came == [*range(8)]
    assert turn.acquire(timeout=0)


def test_turnstile_gives_up_in_time_and_loses_no_turn():
    turn = Turnstile()
    assert turn.acquire()
    assert not turn.acquire(timeout=0.01)
    assert not turn._waiting
    turn.release()
    assert turn.acquire(timeout=0)


def test_ledger_in_memory_is_shared_by_threads(ask):
    ledger = Ledger.create(None, sf.Budget(1), sf.Unit.row())
    found = together([lambda i=i: ask(ledger, f"q{i}", plan=f"p{i}") for i in range(20)])
    assert sum(not isinstance(each, Exception) for each in found) == 10
