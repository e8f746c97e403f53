"""The log beside a ledger: whoever loses it while the file is open loses no charge of anybody."""

import errno
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress

import pytest

from sfumato.core.errors import LedgerError
from sfumato.ledger import Ledger, connection, verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only there are locks dropped")

OPEN = "import sys; from sfumato.ledger import Ledger; ledger = Ledger.open(sys.argv[1]); "
LOOK = OPEN + "print(len(ledger.history()))"
CHARGE = """
import os, signal
from sfumato.core.loss import Pure
granted = ledger.reserve("other", None, "trips", "1", "elsewhere", Pure("0.7"))
ledger.touch(granted)
ledger.settle(granted, b"paid")
os.kill(os.getpid(), signal.SIGKILL)
"""
REMOVE = """
import fcntl, os, sys, time
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 510, 0x40000002)  # as SQLite does when it closes the last one
    print(flush=True)
    time.sleep(0.5)
    os.unlink(sys.argv[1] + "-wal")
"""


def elsewhere(program, path):
    """Open the ledger in another process, which closes it or is killed."""
    started = [sys.executable, "-c", program, path]
    return subprocess.run(started, capture_output=True, text=True, check=False).stdout.strip()


def charge_elsewhere(path):
    """Settle a charge in a process that is killed: it is in the log alone."""
    elsewhere(OPEN.replace("; ", "\n") + CHARGE, path)
    assert log_of(path).stat().st_size


def log_of(path):
    return path.with_name(f"{path.name}-wal")


@pytest.fixture
def copied(path, tmp_path):
    """Let a user copy the file, which drops its locks; then let a process open and close it."""

    def copy():
        shutil.copy(path, tmp_path / "copy")
        elsewhere(LOOK, path)
        assert not log_of(path).exists()  # the other took itself for the last one

    return copy


def test_ledger_that_was_copied_takes_its_lock_again(make, answer, path, tmp_path):
    ledger = make()
    answer(ledger)
    shutil.copy(path, tmp_path / "copy")
    answer(ledger, "q2", plan="b")
    assert elsewhere(LOOK, path) == "6"
    assert log_of(path).exists()
    answer(ledger, "q3", plan="c")
    assert elsewhere(LOOK, path) == "9"


def use(ledger, ask):
    with pytest.raises(LedgerError, match="Start the program again"):
        ask(ledger, "q2", "0.7", plan="b")
    before = descriptors()
    with pytest.raises(LedgerError, match="Start the program again"):
        Ledger.open(ledger._file.path)
    assert descriptors() == before  # refused, however often, without opening it


def fork(ledger, ask):
    if not os.fork():
        with suppress(LedgerError):
            ask(ledger, "q2", "0.7", plan="b")
        os._exit(0)
    os.wait()


WAYS = {"used": use, "closed": lambda ledger, ask: ledger.close(), "forked": fork, "gone": None}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_written_over_what_others_charge_after_a_copy(make, ask, path, copied, way):
    ledger = make()
    ledger.close()
    ledger = Ledger.open(path)
    ask(ledger)
    copied()
    charge_elsewhere(path)
    if WAYS[way] is not None:
        WAYS[way](ledger, ask)
    del ledger
    gc.collect()
    assert elsewhere(LOOK, path) == "4"


@pytest.mark.parametrize("way", ["used", "closed"])
def test_log_that_somebody_deletes_is_brought_into_the_file(make, ask, answer, path, way):
    ledger = make()
    answer(ledger)
    log_of(path).unlink()
    WAYS[way](ledger, ask)
    del ledger
    assert elsewhere(LOOK, path) == "3"


def test_ledger_behind_a_link_finds_its_log(make, ask, path, tmp_path, copied):
    make().close()
    (tmp_path / "linked").symlink_to(path)
    ledger = Ledger.open(tmp_path / "linked")
    ask(ledger)
    assert log_of(path).exists()
    copied()
    use(ledger, ask)


def test_charge_that_goes_to_a_log_without_a_name_is_refused(make, answer, path, copied):
    ledger = make()
    answer(ledger)
    with pytest.raises(LedgerError, match="was removed"), ledger._journal() as journal:
        copied()
        journal.append("fault", journal.tallies(""))
    charge_elsewhere(path)
    ledger.close()
    del journal, ledger
    gc.collect()
    assert elsewhere(LOOK, path) == "6"


@pytest.mark.parametrize("after", [True, False])
def test_log_that_is_about_to_be_removed_is_waited_for(make, ask, path, tmp_path, after):
    """Between the last look into a log and its removal, a charge would be found there by nobody."""
    ledger = make()
    ask(ledger)

    def begin():
        shutil.copy(path, tmp_path / "copy")
        other = subprocess.Popen([sys.executable, "-c", REMOVE, path], stdout=subprocess.PIPE)
        other.stdout.readline()
        return other

    if after:
        with pytest.raises(LedgerError, match="was removed"), ledger._journal() as journal:
            other = begin()
            journal.append("fault", journal.tallies(""))
    else:
        other = begin()
        with pytest.raises(LedgerError, match="was removed"):
            ask(ledger, "q2", plan="b")
    with other:
        assert other.wait() == 0


@pytest.mark.parametrize("read_only", [True, False])
def test_others_of_the_process_keep_the_old_index_of_a_log(make, ask, path, copied, read_only):
    first = make()
    ask(first)
    with closing(Ledger.open(path, read_only=read_only)) as second:
        assert len(second.history()) == 1
        first.close()
        copied()
        charge_elsewhere(path)
        use(first, ask)
        with pytest.raises(LedgerError, match="Start the program again"):
            second.history()
    assert elsewhere(LOOK, path) == "4"


def test_other_that_loses_its_log_while_one_is_opened_is_noticed(make, ask, path, copied):
    make().close()
    ledger = Ledger.open(path)
    with closing(Ledger.open(path)) as other:
        assert other.history() == []
        ledger.close()
        opens = ledger._file._open

        def opened(place):
            copied()
            return opens(place)

        ledger._file._open = opened
        use(ledger, ask)


def test_log_that_is_gone_before_it_was_seen_is_missed(make, ask, path, copied):
    make().close()
    ledger = Ledger.open(path)
    ledger.close()
    opens = ledger._file._open

    def opened(place):
        connection = opens(place)
        copied()
        return connection

    ledger._file._open = opened
    use(ledger, ask)


@pytest.mark.parametrize("read_only", [True, False])
def test_ledger_that_is_deleted_while_it_is_open_is_closed_in_peace(make, path, read_only):
    make().close()
    ledger = Ledger.open(path, read_only=read_only)
    for each in path.parent.iterdir():
        each.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.history()
    ledger.close()


@pytest.mark.parametrize("again", [True, False])
def test_file_that_is_being_closed_keeps_its_lock(make, ask, path, monkeypatch, again):
    """Until its log is removed: another process would write to it, and find it gone."""
    begun, go = threading.Event(), threading.Event()

    class Slow(sqlite3.Connection):
        def close(self):
            begun.set()
            go.wait()
            super().close()

    ledger = make()
    ask(ledger)
    ledger.close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        connection.sqlite3, "connect", lambda *a, **k: connect(*a, factory=Slow, **k)
    )
    first, second = Ledger.open(path), Ledger.open(path)
    identity = first._file._identity
    go.set()
    second.close()
    begun.clear()
    go.clear()
    held = first._file
    closing_it = threading.Thread(target=held._disconnect)
    closing_it.start()
    begun.wait()
    other = threading.Thread(target=held._disconnect if again else second.close)
    other.start()
    other.join(0.3)
    assert identity in connection._descriptors
    go.set()
    closing_it.join()
    other.join()
    assert identity not in connection._descriptors


def test_process_without_descriptors_is_refused_for_that_moment(make, ask, path, monkeypatch):
    make().close()

    def none(*_):
        raise OSError(errno.EMFILE, "/secret/path")

    with monkeypatch.context() as patch:
        patch.setattr(connection.os, "open", none)
        with pytest.raises(LedgerError, match="cannot be written"):
            Ledger.open(path)
    ask(Ledger.open(path))


def descriptors():
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_descriptors_go_with_the_last_connection(make, ask, path):
    before = descriptors()
    ledger = make()
    ask(ledger)
    with closing(Ledger.open(path)) as second:
        ledger.close()
        assert len(second.history()) == 1
    assert descriptors() == before
    assert verify(path).ok
