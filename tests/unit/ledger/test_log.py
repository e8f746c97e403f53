"""The log beside a ledger: whoever loses it while the file is open loses no charge of anybody."""

import errno
import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext, suppress

import pytest

from sfumato.core.errors import LedgerError
from sfumato.ledger import Ledger, connection, handle, verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only there are locks dropped")

OPEN = "import sys; from sfumato.ledger import Ledger; ledger = Ledger.open(sys.argv[1]); "
LOOK = OPEN + "print(len(ledger.history()))"
CHARGE = """
import os, signal
from sfumato.core.loss import Pure
granted = ledger.reserve("other", None, "trips", "1", "elsewhere", Pure("0.7"))
ledger.touch(granted)
ledger.settle(granted, b"paid")
if "kill" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
print(len(ledger.history()))
"""
CHARGES = OPEN.replace("; ", "\n") + CHARGE
REQUESTS = OPEN + "print(*(each.request for each in ledger.history()))"
VERIFY = "import sys; from sfumato.ledger import verify; print(verify(sys.argv[1]).ok)"
READ = "import sys; print(open(sys.argv[1], 'rb').read().hex())"
REMOVE = """
import fcntl, os, sys, time
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 510, 0x40000002)  # as SQLite does when it closes the last one
    print(flush=True)
    time.sleep(0.5)
    os.unlink(sys.argv[1] + "-wal")
"""
ABOUT_TO_OPEN = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_SH, 1, 0x40000000)  # as SQLite does before it opens a file
    print(flush=True)
    time.sleep(float(sys.argv[2]))
"""


ABOUT_TO_LOG = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_SH, 510, 0x40000002)  # as SQLite does before it makes a log
    print(flush=True)
    time.sleep(0.4)
"""
KEEP_READING = (
    OPEN.replace("])", "], read_only=True)").replace("; ", "\n")
    + """
with ledger._file.transaction(write=False) as sqlite:
    sqlite.execute("PRAGMA schema_version").fetchone()
    print(flush=True)
    sys.stdin.read()
"""
)
GIVES_UP = (
    OPEN.replace("])", "], timeout=2)").replace("; ", "\n")
    + """
from sfumato.core.errors import LedgerError
from sfumato.ledger.handle import Handle
goes_on = Handle._others_went_on
Handle._others_went_on = lambda self: (print(flush=True), goes_on(self))[1]
ledger.history()
print(flush=True)
sys.stdin.readline()
try:
    ledger.history()
except LedgerError:
    sys.stdin.read()
"""
)


def refused_elsewhere(program, path, *words):
    """See that a process that hardly waits is refused the ledger, and in which words."""
    hasty = program.replace("sys.argv[1]", "sys.argv[1], timeout=0.1")
    started = [sys.executable, "-c", hasty, path]
    done = subprocess.run(started, capture_output=True, text=True, check=False)
    return not done.stdout and all(word in done.stderr for word in words)


@pytest.fixture
def reading(path):
    """Let another process read the ledger until it is told to end."""

    def begin():
        started = [sys.executable, "-c", KEEP_READING, path]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        begun.append(subprocess.Popen(started, **pipes))
        begun[-1].stdout.readline()
        return begun[-1]

    begun = []
    yield begin
    for each in begun:
        each.kill()
        each.wait()


def elsewhere(program, path, *more):
    """Open the ledger in another process, which closes it or is killed."""
    started = [sys.executable, "-c", program, path, *more]
    return subprocess.run(started, capture_output=True, text=True, check=False).stdout.strip()


def charge_elsewhere(path):
    """Settle a charge in a process that is killed: it is in the log alone."""
    elsewhere(CHARGES, path, "kill")
    assert log_of(path).stat().st_size


def handles(path):
    return [each for each in handle._handles if each._path == path]


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


@pytest.fixture
def sqlite_is(monkeypatch):
    """Let ledgers open their files by a class of our own."""
    connect = sqlite3.connect

    def be(factory):
        monkeypatch.setattr(
            connection.sqlite3, "connect", lambda *a, **k: connect(*a, factory=factory, **k)
        )

    return be


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


@pytest.mark.parametrize(
    ("code", "saved"),
    [(sqlite3.SQLITE_CORRUPT, ["q1"] * 3), (sqlite3.SQLITE_CANTOPEN, [])],
    ids=["half a file", "no descriptor"],
)
def test_log_that_somebody_deletes_is_brought_into_what_is_known(
    make, ask, answer, path, sqlite_is, code, saved
):
    """What is in the file alone may be half of it; where nobody can look, it may be of others."""

    class Half(sqlite3.Connection):
        def execute(self, sql, *given):
            if sql.startswith("SELECT seq, hash"):
                problem = sqlite3.DatabaseError()
                problem.sqlite_errorcode = code
                raise problem
            return super().execute(sql, *given)

    make().close()
    sqlite_is(Half)
    ledger = Ledger.open(path)
    answer(ledger)
    log_of(path).unlink()
    use(ledger, ask)
    assert elsewhere(REQUESTS, path).split() == saved


def test_group_that_loses_its_log_is_taken_back_before_the_log_is_saved(make, answer, ask, path):
    ledger = make()
    answer(ledger)
    refused = []

    def join():
        try:
            ask(ledger, "q3", plan="c")
        except LedgerError as error:
            refused.append(str(error))

    with pytest.raises(LedgerError, match="was removed"), ledger._journal() as journal:
        journal.append("fault", journal.tallies(""))
        log_of(path).unlink()
        ledger._file._turn.release()  # as if it had done its step, and others went on
        other = threading.Thread(target=join)
        other.start()
        other.join()
        ledger._file._turn.acquire()
    assert "was removed" in refused[0]
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3


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
    assert elsewhere(LOOK, path) == "4"  # it was refused, and is there
    ledger.close()
    del journal, ledger
    gc.collect()
    assert elsewhere(LOOK, path) == "4"


def test_charge_that_goes_to_a_log_without_a_name_is_not_written_over_others(
    make, answer, path, copied
):
    ledger = make()
    answer(ledger)
    with pytest.raises(LedgerError, match="was removed"), ledger._journal() as journal:
        copied()
        assert elsewhere(CHARGES, path) == "6"
        assert not log_of(path).exists()  # all of that is in the file alone
        journal.append("fault", journal.tallies(""))
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["other"] * 3


def test_log_that_somebody_deletes_during_a_charge_is_brought_into_the_file(make, answer, path):
    ledger = make()
    answer(ledger)
    with pytest.raises(LedgerError, match="was removed"), ledger._journal() as journal:
        log_of(path).unlink()
        journal.append("fault", journal.tallies(""))
    assert elsewhere(REQUESTS, path).split()[:3] == ["q1"] * 3


@pytest.fixture
def removing(path, tmp_path):
    """Let a user copy the file, and a process that believes to be the last remove its log."""
    started = []

    def begin():
        shutil.copy(path, tmp_path / "copy")
        started.append(subprocess.Popen([sys.executable, "-c", REMOVE, path], stdout=-1))
        started[0].stdout.readline()

    yield begin
    with started[0] as other:
        assert other.wait() == 0


def test_log_is_waited_for_that_is_removed_before_a_charge(make, ask, removing):
    """Between the last look into a log and its removal, a charge would be found there by nobody."""
    ledger = make()
    ask(ledger)
    removing()
    with pytest.raises(LedgerError, match="was removed"):
        ask(ledger, "q2", plan="b")


def test_log_is_waited_for_that_is_removed_during_a_charge(make, ask, removing):
    ledger = make()
    ask(ledger)
    with pytest.raises(LedgerError, match="was removed"), ledger._journal() as journal:
        removing()
        journal.append("fault", journal.tallies(""))


def opened_before(make, path, happens):
    """Return a ledger that is closed; when it is opened, something happens before it is used."""
    make().close()
    ledger = Ledger.open(path)
    ledger.close()
    opens = ledger._file._open

    def opened(place):
        connection = opens(place)
        happens()
        return connection

    ledger._file._open = opened
    return ledger


def test_log_is_waited_for_that_is_removed_while_it_is_opened(make, path, removing):
    ledger = opened_before(make, path, removing)
    with pytest.raises(LedgerError, match="was removed"):
        ledger.history()


def test_log_that_is_removed_for_too_long_is_not_waited_for(make, ask, path, removing):
    make().close()
    ledger = Ledger.open(path, timeout=0)
    ask(ledger)
    removing()
    with pytest.raises(LedgerError, match="was removed"):
        ask(ledger, "q2", plan="b")
    assert log_of(path).exists()  # as yet


def test_log_that_somebody_deletes_is_not_brought_into_the_file_of_another_history(
    make, answer, ask, path
):
    ledger = make()
    ledger.close()
    answer(ledger)
    for ending in "-wal", "-shm":
        path.with_name(path.name + ending).unlink()
    path.read_bytes()  # drops the lock that keeps others out
    charge_elsewhere(path)
    before = elsewhere(READ, path)
    use(ledger, ask)
    del ledger
    assert elsewhere(READ, path) == before
    assert elsewhere(REQUESTS, path).split() == ["other"] * 3


@pytest.mark.parametrize("endings", [["-wal"], ["-wal", "-shm"]])
@pytest.mark.parametrize("stranger", [LOOK, CHARGES, LOOK.replace("])", "], read_only=True)")])
def test_nobody_opens_a_file_whose_log_was_deleted_until_it_is_brought_there(
    make, answer, ask, path, endings, stranger
):
    """A new log, even an empty one, would take the place of the one that holds the charges."""
    ledger = make()
    ledger.close()
    answer(ledger)
    for ending in endings:
        path.with_name(path.name + ending).unlink()
    assert refused_elsewhere(stranger, path, "[E405]", "the log beside the ledger is missing")
    assert not log_of(path).exists()
    use(ledger, ask)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3
    assert elsewhere(VERIFY, path) == "True"


@pytest.mark.parametrize("first", ["opens", "verifies", "looks"])
def test_deleted_log_is_brought_into_the_file_whoever_of_a_program_notices(
    make, answer, path, first
):
    ledger = make()
    ledger.close()
    answer(ledger)
    looking = Ledger.open(path, read_only=True)
    looking.history()
    log_of(path).unlink()
    notice = {
        "opens": lambda: Ledger.open(path),
        "verifies": lambda: verify(path),
        "looks": looking.history,
    }
    with pytest.raises(LedgerError, match="Start the program again"):
        notice[first]()
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3
    assert elsewhere(CHARGES, path) == "6"


@pytest.mark.parametrize("write", [True, False])
def test_deleted_log_is_brought_into_the_file_by_who_was_at_work_when_another_noticed(
    make, answer, ask, path, write
):
    """In a transaction nothing can be saved; to forget who is in one would be to lose it all."""
    ledger = make()
    ledger.close()
    answer(ledger)
    looking = Ledger.open(path, read_only=True, timeout=0)
    looking.history()
    work = ledger._file.transaction(write=write)
    refused = pytest.raises(LedgerError, match="was removed") if write else nullcontext()
    with refused, work as at_work:
        at_work.execute("SELECT count(*) FROM events").fetchone()
        log_of(path).unlink()
        with pytest.raises(LedgerError, match="Start the program again"):
            looking.history()
        assert refused_elsewhere(LOOK, path, "[E405]", "the log beside the ledger is missing")
    use(ledger, ask)
    assert not handles(path)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3
    assert elsewhere(CHARGES, path) == "6"


def test_deleted_log_is_saved_by_another_where_one_cannot_see_the_file(
    make, answer, path, tmp_path
):
    """Who was opened by a link that is gone cannot tell whether others have gone on."""
    ledger = make()
    ledger.close()
    answer(ledger)
    (tmp_path / "linked").symlink_to(path)
    linked = Ledger.open(tmp_path / "linked")
    linked.history()
    log_of(path).unlink()
    (tmp_path / "linked").unlink()
    linked.close()
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3


def test_interrupt_while_a_file_is_left_leaves_no_lock(make, answer, ask, path, monkeypatch):
    ledger = make()
    answer(ledger)
    log_of(path).unlink()
    forgets, interrupts = handle.Handle._siblings, iter([None, KeyboardInterrupt])

    def siblings(self):
        for interrupt in interrupts:  # the first look is for who saves it, the next to forget it
            if interrupt is not None:
                raise interrupt
            break
        return forgets(self)

    monkeypatch.setattr(handle.Handle, "_siblings", siblings)
    with pytest.raises(KeyboardInterrupt):
        ask(ledger, "q2", "0.7", plan="b")
    assert not handles(path)
    assert elsewhere(CHARGES, path) == "6"


def test_one_that_is_collected_while_another_saves_leaves_in_peace(
    make, answer, ask, path, monkeypatch
):
    ledger = make()
    answer(ledger)
    others = [Ledger.open(path)]
    others[0].history()
    others.append(others)
    del others
    log_of(path).unlink()
    looks, collects = handle.Handle._others_went_on, iter([gc.collect])

    def look(self):
        for collect in collects:
            collect()
        return looks(self)

    monkeypatch.setattr(handle.Handle, "_others_went_on", look)
    use(ledger, ask)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3


def test_who_is_left_while_it_looks_at_its_log_sees_that(make, answer, path, monkeypatch):
    """Else a charge would pass for durable that nobody saves any more."""
    ledger = make()
    answer(ledger)
    locks = handle.Handle._locked

    def locked(self, timeout, *, alone=False):
        monkeypatch.undo()
        found = locks(self, timeout, alone=alone)
        log_of(path).unlink()
        self.leave(save=False)  # as another thread does while the lock is taken
        return found

    monkeypatch.setattr(handle.Handle, "_locked", locked)
    assert ledger._file._handle.astray()


def test_lock_of_a_file_that_another_thread_has_left_is_not_taken(make, answer, path):
    ledger = make()
    answer(ledger)
    one = ledger._file._handle
    one.leave()
    assert one.astray()
    assert not one._locked(60)


def test_deleted_log_is_saved_by_the_second_who_waits_longer(make, answer, ask, path, reading):
    """The first waits for a reader, and keeps others from opening the file; then it gives up."""
    ledger = make()
    ledger.close()
    answer(ledger)
    reader = reading()
    answer(ledger, "q2", plan="b")
    first = subprocess.Popen([sys.executable, "-c", GIVES_UP, path], stdin=-1, stdout=-1, text=True)
    first.stdout.readline()
    log_of(path).unlink()
    first.stdin.write("\n")
    first.stdin.flush()
    first.stdout.readline()
    end = threading.Timer(3, reader.communicate, ["end"])
    end.start()
    use(ledger, ask)
    end.join()
    first.communicate()
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["q2"] * 3


def test_one_slow_reader_is_waited_for_once(make, answer, ask, path, reading, monkeypatch):
    """Each of the others would wait for the same, and all of them whenever one is closed."""
    make().close()
    ledger = Ledger.open(path, timeout=0)
    others = [Ledger.open(path, timeout=0) for _ in range(3)]
    for other in others:
        other.history()
    answer(ledger)
    reader = reading()
    answer(ledger, "q2", plan="b")
    log_of(path).unlink()
    saves, waited = handle.Handle._save, []

    def save(self):
        waited.append(saves(self))
        return waited[-1]

    monkeypatch.setattr(handle.Handle, "_save", save)
    with pytest.raises(LedgerError, match="was removed"):
        ask(ledger, "q3", plan="c")
    assert waited == [False]
    reader.communicate("end")
    others[0].close()
    assert waited == [False, True]
    assert not handles(path)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["q2"] * 3


def test_who_waited_for_a_transaction_while_the_log_was_deleted_writes_nothing(
    make, answer, ask, path, monkeypatch
):
    """The others of this program have left, and newcomers have the same index as the waiting."""
    ledger = make()
    ledger.close()
    answer(ledger)
    sibling = Ledger.open(path)
    sibling.history()
    begin = connection.Connection._begin

    def late(self, sqlite, group):
        monkeypatch.undo()
        log_of(path).unlink()
        use(ledger, ask)
        begin(self, sqlite, group)

    monkeypatch.setattr(connection.Connection, "_begin", late)
    with pytest.raises(LedgerError, match="Start the program again"):
        ask(sibling, "q3", "0.1", plan="c")
    assert elsewhere(CHARGES, path) == "6"
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["other"] * 3


def test_who_only_holds_a_deleted_log_keeps_others_out_too(make, answer, ask, path, reading):
    """They share its index: what came into a new log would go behind frames that are not there."""
    ledger = make()
    answer(ledger)
    reader = reading()
    log_of(path).unlink()
    ledger._file._timeout = ledger._file._handle.timeout = 0  # the reader is not waited for
    ledger._file._sqlite.execute("PRAGMA busy_timeout = 0")
    use(ledger, ask)
    assert refused_elsewhere(CHARGES, path, "[E405]", "the log beside the ledger is missing")
    reader.communicate("end")
    assert elsewhere(CHARGES, path) == "6"
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["other"] * 3


def test_deleted_log_is_brought_into_the_file_when_nobody_reads_what_was_before(
    make, answer, ask, path, reading
):
    ledger = make()
    ledger.close()
    answer(ledger)
    reader = reading()
    answer(ledger, "q2", plan="b")
    log_of(path).unlink()
    threading.Timer(0.5, reader.communicate, ["end"]).start()
    use(ledger, ask)
    reader.wait()
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["q2"] * 3
    assert elsewhere(VERIFY, path) == "True"


def test_who_opens_a_file_waits_for_who_is_about_to_make_its_log(make, path):
    make().close()
    assert not log_of(path).exists()
    started = [sys.executable, "-c", ABOUT_TO_LOG, path]
    with subprocess.Popen(started, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        start = time.monotonic()
        assert Ledger.open(path, timeout=0).history() == []
        assert time.monotonic() - start > 0.2
        other.communicate()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_nobody_opens_a_file_into_which_a_deleted_log_is_brought(
    make, answer, ask, path, monkeypatch, moment
):
    """Who came between the look and the writing would be written over."""
    looks, came = handle.Handle._others_went_on, []
    hasty = CHARGES.replace("sys.argv[1]", "sys.argv[1], timeout=0.1")

    def look(self):
        others = looks(self) if moment == "after" else None
        came.append(elsewhere(hasty, path))
        return looks(self) if others is None else others

    ledger = make()
    answer(ledger)
    sibling = Ledger.open(path)
    for ending in "-wal", "-shm":
        path.with_name(path.name + ending).unlink()
    monkeypatch.setattr(handle.Handle, "_others_went_on", look)
    use(ledger, ask)
    assert came == [""]  # refused
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3
    assert elsewhere(CHARGES, path) == "6"  # and let in afterwards, though the file is open here
    use(sibling, ask)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3 + ["other"] * 3


@pytest.fixture
def opening(path):
    """Let another process be about to open the file, for some seconds."""

    def begin(seconds):
        started = [sys.executable, "-c", ABOUT_TO_OPEN, path, str(seconds)]
        begun.append(subprocess.Popen(started, stdout=subprocess.PIPE))
        begun[-1].stdout.readline()

    begun = []
    yield begin
    for each in begun:
        each.kill()
        each.communicate()


def test_deleted_log_is_not_brought_into_a_file_that_others_keep_opening(
    make, answer, ask, path, opening
):
    make().close()
    ledger = Ledger.open(path, timeout=0)
    answer(ledger)
    log_of(path).unlink()
    opening(60)
    use(ledger, ask)
    assert elsewhere(REQUESTS, path).split() == []


def test_deleted_log_is_not_brought_into_a_file_that_others_opened_just_before(
    make, answer, ask, path, monkeypatch
):
    locks, before = handle.Handle._locked, []

    def locked(self, timeout, *, alone=False):
        if alone:
            path.read_bytes()  # drops the lock that keeps others out
            charge_elsewhere(path)
            before.append(elsewhere(READ, path))
        return locks(self, timeout, alone=alone)

    ledger = make()
    ledger.close()
    answer(ledger)
    for ending in "-wal", "-shm":
        path.with_name(path.name + ending).unlink()
    monkeypatch.setattr(handle.Handle, "_locked", locked)
    use(ledger, ask)
    assert before == [elsewhere(READ, path)]
    assert elsewhere(REQUESTS, path).split() == ["other"] * 3


def test_deleted_log_waits_a_moment_for_who_opens_the_file(make, answer, ask, path, opening):
    make().close()
    ledger = Ledger.open(path, timeout=0)  # others are not waited for, but all that was charged is
    answer(ledger)
    log_of(path).unlink()
    opening(0.3)
    use(ledger, ask)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3


def test_log_that_has_a_name_is_not_saved(make, answer, ask, path, removing, monkeypatch):
    """Somebody else may write there, and keeps the file for longer than is waited for."""
    make().close()
    ledger = Ledger.open(path, timeout=0)
    answer(ledger)
    removing()
    locks = []
    monkeypatch.setattr(handle.Handle, "_let_in", locks.append)
    with pytest.raises(LedgerError, match="was removed"):
        ask(ledger, "q2", plan="b")
    assert not locks


def test_deleted_log_is_saved_by_what_was_opened_before(make, answer, ask, path, monkeypatch):
    """Who may no longer write to the file, or has no descriptor left, still loses nothing."""
    ledger = make()
    answer(ledger)
    log_of(path).unlink()

    def refused(*_):
        raise PermissionError(errno.EACCES, "/secret/path")

    monkeypatch.setattr(handle.os, "open", refused)
    with pytest.raises(LedgerError, match="Start the program again"):
        ask(ledger, "q2", "0.7", plan="b")
    monkeypatch.undo()
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3


def test_interrupt_while_a_deleted_log_is_saved_saves_it_all_the_same(
    make, answer, ask, path, monkeypatch
):
    ledger = make()
    answer(ledger)
    log_of(path).unlink()
    looks, interrupts = handle.Handle._others_went_on, iter([KeyboardInterrupt])

    def look(self):
        for interrupt in interrupts:
            raise interrupt
        return looks(self)

    monkeypatch.setattr(handle.Handle, "_others_went_on", look)
    with pytest.raises(KeyboardInterrupt):
        ask(ledger, "q2", "0.7", plan="b")
    assert not handles(path)
    assert elsewhere(REQUESTS, path).split() == ["q1"] * 3


def test_deleted_log_is_not_brought_into_a_file_that_others_use_under_a_new_name(
    make, answer, path, tmp_path
):
    ledger, moved = make(), tmp_path / "moved"
    ledger.close()
    answer(ledger)
    path.rename(moved)
    for ending in "-wal", "-shm":
        path.with_name(path.name + ending).unlink()
    shutil.copy(moved, path)  # what is looked at knows no more than what was here at first
    charge_elsewhere(moved)
    before = elsewhere(READ, moved)
    ledger.close()
    assert elsewhere(READ, moved) == before
    assert elsewhere(REQUESTS, moved).split() == ["other"] * 3


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
        assert ledger._file._identity in handle._lost


def test_log_that_is_gone_before_it_was_seen_is_missed(make, ask, path, copied):
    ledger = opened_before(make, path, copied)
    use(ledger, ask)


@pytest.mark.parametrize("read_only", [True, False])
def test_ledger_that_is_deleted_while_it_is_open_is_closed_in_peace(make, path, read_only):
    make().close()
    before = descriptors()
    ledger = Ledger.open(path, read_only=read_only)
    for each in path.parent.iterdir():
        each.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.history()
    ledger.close()
    assert descriptors() == before


@pytest.mark.parametrize("again", [True, False])
def test_file_that_is_being_closed_keeps_its_lock(make, ask, path, sqlite_is, again):
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
    sqlite_is(Slow)
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
    assert identity in handle._descriptors
    go.set()
    closing_it.join()
    other.join()
    assert identity not in handle._descriptors


def test_process_without_descriptors_is_refused_for_that_moment(make, ask, path, monkeypatch):
    make().close()

    def none(*_):
        raise OSError(errno.EMFILE, "/secret/path")

    with monkeypatch.context() as patch:
        patch.setattr(handle.os, "open", none)
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


def thrown_away_together(path):
    """Open a ledger twice, and let nobody refer to it: references go before the first is closed."""
    knot = [Ledger.open(path), Ledger.open(path)]
    knot.append(knot)


def test_ledgers_that_are_thrown_away_together_keep_their_lock_to_the_last(make, path, sqlite_is):
    locked = []

    class Watched(sqlite3.Connection):
        def close(self):
            locked.append(identity in handle._descriptors)
            super().close()

    ledger = make()
    ledger.close()
    identity = ledger._file._identity
    sqlite_is(Watched)
    thrown_away_together(path)
    gc.collect()
    assert locked == [True, True]
    assert not handles(path)


def test_fork_closes_what_nobody_refers_to(make, path, sqlite_is):
    """A child must not have SQLite's record of locks, also not of what is on its way out."""
    open_in_child = []

    class Forking(sqlite3.Connection):
        def close(self):
            super().close()
            if not open_in_child:
                open_in_child.append(None)
                open_in_child.append(len_in_child())

    def len_in_child():
        child = os.fork()
        if not child:
            os._exit(len(handle._handles))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    make().close()
    sqlite_is(Forking)
    thrown_away_together(path)
    gc.collect()
    assert open_in_child == [None, 0]


def test_interrupt_while_a_file_is_opened_leaves_nothing_open(make, path, sqlite_is):
    """What a traceback holds would be closed at any time later, without its lock."""

    class Interrupted(sqlite3.Connection):
        def execute(self, sql, *given):
            if sql == "PRAGMA schema_version":
                raise KeyboardInterrupt
            return super().execute(sql, *given)

    make().close()
    sqlite_is(Interrupted)
    before = descriptors()
    with pytest.raises(KeyboardInterrupt) as kept:
        Ledger.open(path)
    assert descriptors() == before
    assert kept.tb  # as yet


def test_interrupt_while_a_file_is_closed_leaves_it_usable(make, answer, path, sqlite_is):
    class Interrupted(sqlite3.Connection):
        def close(self):
            super().close()
            raise KeyboardInterrupt

    ledger = make()
    answer(ledger)
    ledger.close()
    sqlite_is(Interrupted)
    assert len(ledger.history()) == 3
    with pytest.raises(KeyboardInterrupt):
        ledger.close()
    assert not handles(path)
    assert len(ledger.history()) == 3
    with pytest.raises(KeyboardInterrupt):
        ledger.close()


@pytest.mark.parametrize("way", ["close", "leave"])
def test_interrupt_before_a_file_is_forgotten_leaves_nothing_half_done(
    make, answer, ask, path, monkeypatch, way
):
    ledger = make()
    answer(ledger)
    if way == "leave":
        log_of(path).unlink()
    forget, times = handle.Handle._forget, []

    def interrupted(self):
        times.append(self)
        if len(times) == 1:
            raise KeyboardInterrupt
        forget(self)

    monkeypatch.setattr(handle.Handle, "_forget", interrupted)
    with pytest.raises(KeyboardInterrupt):
        if way == "leave":
            ask(ledger, "q2", plan="b")
        else:
            ledger.close()
    if way == "leave":
        use(ledger, ask)
    else:
        ask(ledger, "q2", plan="b")


def test_interrupt_before_it_is_seen_where_entries_went_is_no_success(make, monkeypatch):
    """Of all who share the commit: the one that is interrupted knows, the others are told."""
    ledger = make()

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ledger._file.transaction(write=True):
        group = ledger._file._group
        monkeypatch.setattr(handle.Handle, "astray", interrupted)
    assert group.over
    assert group.problem is not None
    monkeypatch.undo()
    ledger.close()


def test_copy_without_a_log_is_closed_after_each_look(make, answer, tmp_path):
    """Another process may begin one at any time, and nobody would see it vanish."""
    ledger = make()
    answer(ledger)
    ledger.backup(tmp_path / "copy")
    ledger.close()
    with closing(Ledger.open(tmp_path / "copy", read_only=True)) as copy:
        assert len(copy.history()) == 3
        assert not handles(tmp_path / "copy")
        with closing(Ledger.open(tmp_path / "copy")) as other:
            assert len(other.history()) == len(copy.history()) == 3
            assert len(handles(tmp_path / "copy")) == 2  # as there is a log now, which is minded


@pytest.fixture
def _interruptible():
    """Hear Ctrl-C, which a shell lets its jobs in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("busy", [0, 0.2])
def test_interrupt_waits_until_a_process_has_forked(make, ask, path, monkeypatch, busy):
    """A fork goes on whatever its preparations raise, with what was open and locked."""
    let_go = connection._interrupts.let_go

    def slowly(*, child):  # as where other programs have the processor
        let_go(child=child)
        time.sleep(busy)

    monkeypatch.setattr(connection._interrupts, "let_go", slowly)
    ledger = make()
    written, go = threading.Event(), threading.Event()

    def write():
        with ledger._journal():
            written.set()
            go.wait()

    writing = threading.Thread(target=write)
    writing.start()
    written.wait()
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    threading.Timer(0.3, go.set).start()
    child = []
    with pytest.raises(KeyboardInterrupt):
        child.append(os.fork())
        if not child[0]:
            os._exit(len(handles(path)))
        threading.Event().wait(20)
    writing.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1]) == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ask(ledger)


def test_file_that_cannot_be_locked_is_refused_in_our_words(make, ask, path, monkeypatch):
    import fcntl

    def none(*_):
        raise OSError(errno.ENOLCK, "/secret/path")

    make().close()
    ledger = Ledger.open(path, timeout=0)
    monkeypatch.setattr(fcntl, "lockf", none)
    use(ledger, ask)


def test_program_ends_while_a_thread_is_at_work(make, path):
    """What the thread uses is not closed under it: the driver would crash."""
    make().close()
    program = (
        "import threading, time\n"
        "count = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT count(*) FROM n LIMIT 1'\n"
        "def work():\n"
        "    with ledger._file.transaction(write=False) as connection:\n"
        "        connection.execute(count)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    program = OPEN.replace("; ", "\n") + program
    started = [sys.executable, "-c", program, path]
    assert subprocess.run(started, capture_output=True, check=False, timeout=60).returncode == 0


HALF = """
import os, signal, threading
from sfumato.core.errors import LedgerError
written, go = threading.Event(), threading.Event()

def write():
    with ledger._journal():
        written.set()
        go.wait()

def late(*_):
    raise TimeoutError

writing = threading.Thread(target=write)
writing.start()
written.wait()
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.2)
child = os.fork()  # waits for the thread, until the signal comes
if not child:
    try:
        ledger.history()
    except LedgerError:
        os._exit(7)
    os._exit(0)
refused = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go.set()
writing.join()
print(refused, len(ledger.history()))
"""


def test_child_of_a_fork_that_did_not_wait_never_uses_the_file_of_its_parent(make, path):
    make().close()
    assert elsewhere(OPEN.replace("; ", "\n") + HALF, path) == "7 0"
