"""What can go wrong with a file: each has a type, a constant message, and loses nothing."""

import errno
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import DataClosed, LedgerBusy, LedgerCorrupt, LedgerError, RangeError
from sfumato.ledger import Ledger, verify

UNIT = sf.Unit.row()


def test_missing_file_is_never_made_by_opening(path):
    for use in (Ledger.open, verify):
        with pytest.raises(LedgerError, match="no ledger at this path"):
            use(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"some notes of mine", b"SQLite format 3\0 but cut"])
def test_existing_file_is_never_written_over(path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="already a file"):
        Ledger.create(path, sf.Budget(1), UNIT)
    assert path.read_bytes() == content
    for use in (Ledger.open, verify):
        with pytest.raises(LedgerCorrupt, match="not a ledger"):
            use(path)


def test_existing_ledger_is_never_made_anew(make, ask, path):
    ask(make())
    with pytest.raises(LedgerError, match="already a file"):
        Ledger.create(path, sf.Budget(100), UNIT)
    assert len(Ledger.open(path).history()) == 1


@pytest.mark.parametrize("content", ["CREATE TABLE mine (x)", ""])
def test_file_of_another_program_is_left_alone(path, content):
    path.touch()
    with closing(sqlite3.connect(path)) as other:
        other.execute(content)
    before = path.read_bytes()
    with pytest.raises(LedgerCorrupt):
        Ledger.open(path)
    assert path.read_bytes() == before
    assert [*path.parent.iterdir()] == [path]
    with pytest.raises(LedgerError, match="already a file"):
        Ledger.create(path, sf.Budget(1), UNIT)
    with pytest.raises(LedgerCorrupt):
        verify(path)
    assert path.read_bytes() == before


def without_tables(path):
    """Turn a file into one of SQLite's with nothing in it."""
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
    assert path.read_bytes()[:6] == b"SQLite"


def with_journal(path):
    """Leave what a process leaves that is killed in the first write to an empty file."""
    without_tables(path)
    # The start of a rollback journal: no page was saved yet, and the file had been empty.
    start = struct.pack(">8s5I", bytes.fromhex("d9d505f920a163d7"), 0, 1, 0, 512, 4096)
    path.with_name(f"{path.name}-journal").write_bytes(start.ljust(512, b"\0"))


EMPTIED = {
    "0 bytes": lambda path: os.truncate(path, 0),
    "1 byte": lambda path: os.truncate(path, 1),
    "no tables": without_tables,
    "no tables, in a write": with_journal,
}


@pytest.mark.parametrize("emptied", EMPTIED)
def test_ledger_that_was_emptied_is_no_new_one_and_gives_nothing_back(path, tmp_path, emptied):
    (tmp_path / "trips.csv").write_text("x\n1\n2\n")
    (tmp_path / "trips.toml").write_text(CONTRACT)

    def session():
        table = pa.table({"x": [1, 2]})
        schema = sf.Schema(x=sf.Integer(0, 9))
        return sf.Session(table, unit=UNIT, schema=schema, budget=sf.Budget(1), ledger=path)

    def connect():
        return sf.connect(tmp_path / "trips.toml")

    with session() as first:
        first.table().count().release(epsilon=1)
    with connect() as second:
        assert second.remaining.epsilon == 0
    for use in (session, connect, lambda: Ledger.open(path)):
        EMPTIED[emptied](path)
        with pytest.raises(LedgerCorrupt, match="damaged or is not a ledger") as caught:
            use()
        assert caught.value.code == "E406"
        EMPTIED[emptied](path)
        with pytest.raises(LedgerError, match=r"damaged|cannot be written"):  # to take a write back
            verify(path)
        with pytest.raises(LedgerError, match="already a file"):
            Ledger.create(path, sf.Budget(1), UNIT)
    assert not list(tmp_path.glob("*.part*"))


CONTRACT = """
[budget]
epsilon = 1
ledger = "trips.ledger"
[unit]
neighbors = "add_remove"
[tables.trips]
source = "trips.csv"
version = "1"
unit = "row"
[tables.trips.columns]
x = { type = "integer", low = 0, high = 9 }
"""


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_log_of_a_ledger_that_is_gone_is_not_played_into_a_new_one(make, ask, path, tmp_path, end):
    ledger = make()
    ask(ledger)
    kept = path.with_name(f"{path.name}-wal").read_bytes()  # drops locks that nobody waits for
    head = ledger.backup(tmp_path / "copy")
    ledger.close()
    path.unlink()
    log = path.with_name(f"{path.name}{end}")
    log.write_bytes(kept)
    with pytest.raises(LedgerError, match="a ledger was lost"):
        make(9)
    with pytest.raises(LedgerError, match="a ledger was lost"):
        Ledger.open(tmp_path / "copy").backup(path)
    assert log.read_bytes() == kept
    assert not path.exists()
    assert not list(tmp_path.glob("*.part*"))
    log.write_bytes(b"")  # somebody who only looked may leave one
    Ledger.open(tmp_path / "copy").backup(path)
    assert verify(path, head).ok


def test_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="Its folder may be missing"):
        Ledger.create(tmp_path / "none" / "trips.ledger", sf.Budget(1), UNIT)


def test_newer_format_is_refused_and_left_alone(make, path):
    make().close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 3")
    other.close()
    for use in (Ledger.open, verify):
        with pytest.raises(LedgerError, match="newer version") as caught:
            use(path)
        assert type(caught.value) is LedgerError


def test_format_from_before_parts_were_counted_is_refused_and_not_misread(make, path):
    make().close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 1")
    other.close()
    for use in (Ledger.open, verify):
        with pytest.raises(LedgerError, match="before charges of parts") as caught:
            use(path)
        assert type(caught.value) is LedgerError


def test_read_only_ledger_can_be_read_and_not_charged(make, ask, path):
    ask(make())
    looking = Ledger.open(path, read_only=True)
    assert len(looking.history()) == 1
    with pytest.raises(LedgerError, match="cannot be written"):
        ask(looking, "q2", plan="b")
    looking.close()


@pytest.mark.parametrize("word", ["BEGIN", "INSERT", "COMMIT"])
@pytest.mark.parametrize(
    "failure",
    [
        (sqlite3.SQLITE_FULL, LedgerError, "disk is full"),
        (sqlite3.SQLITE_IOERR | (4 << 8), LedgerError, "disk is full or fails"),
        (sqlite3.SQLITE_READONLY, LedgerError, "cannot be written"),
        (sqlite3.SQLITE_BUSY, LedgerBusy, "locked"),
        (sqlite3.SQLITE_CORRUPT, LedgerCorrupt, "damaged"),
        (sqlite3.SQLITE_MISUSE, LedgerError, "not foreseen"),
    ],
)
def test_failure_has_a_constant_message_and_changes_nothing(
    break_at, make, ask, answer, path, word, failure
):
    code, kind, says = failure
    ledger = make()
    answer(ledger)
    granted = ask(ledger, "q2", plan="b")
    before = ledger.head
    break_at(word, code)
    for step in (lambda: ask(ledger, "q3", plan="c"), lambda: ledger.touch(granted)):
        with pytest.raises(kind, match=says) as caught:
            step()
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    break_at(None)
    assert ledger.head == before
    assert verify(path, before).ok
    ledger.touch(granted)
    ledger.settle(granted, b"after all")
    assert ask(ledger).answer == b"public"


def test_full_disk_refuses_and_goes_on_when_there_is_space(make, ask, path):
    ledger = make(1000)
    sqlite = ledger._file._sqlite
    (pages,) = sqlite.execute("PRAGMA page_count").fetchone()
    sqlite.execute(f"PRAGMA max_page_count = {pages + 2}")
    granted = 0
    with pytest.raises(LedgerError, match="disk is full"):
        for i in range(1000):
            ask(ledger, f"q{i}", 1, plan=f"plan {i}")
            granted += 1
    assert 0 < granted < 1000
    assert len(ledger.history()) == granted  # a new connection has no limit any more
    assert ask(ledger, f"q{granted}", 1, plan=f"plan {granted}").entry == granted + 1
    assert verify(path).ok


def test_locked_file_says_so_after_the_timeout(make, ask, path):
    ledger = make(timeout=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy, match="the step does not count"):
        ask(ledger)
    other.execute("ROLLBACK")
    other.close()
    assert ask(ledger).entry == 1


def test_step_that_fails_after_the_charge_names_the_id_under_which_it_stands(make, ask, path):
    ledger = make(timeout=0.05)
    granted = ask(ledger, "nobody's choice")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match="It was charged before that") as caught:
            ledger.touch(granted)
        other.execute("ROLLBACK")
    assert repr("nobody's choice") in str(caught.value)
    assert str(caught.value).endswith("[E405]")
    again = ask(ledger, "nobody's choice")
    assert again.entry == granted.entry
    ledger.touch(again)


def test_data_that_is_closed_after_the_charge_names_its_id_too(make, ask):
    ledger = make()
    granted = ask(ledger, "late")
    ledger.fault()
    with pytest.raises(DataClosed, match="under the request id 'late'"):
        ledger.touch(granted)
    ledger.acknowledge()
    ledger.touch(granted)


def test_thread_that_keeps_the_ledger_is_not_waited_for_for_ever(make, ask):
    ledger = make(timeout=0.05)
    held, done = threading.Event(), threading.Event()

    def hold():
        with ledger._file.transaction(write=False):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        with pytest.raises(LedgerBusy):
            ask(ledger)
    finally:
        done.set()
        thread.join()
    assert ask(ledger).entry == 1


def test_header_that_cannot_be_read_is_damage(make, path):
    make().close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DROP TRIGGER header_no_update")
    for content in (b"{", b"1"):
        other.execute("UPDATE header SET content = ?", (content,))
        for use in (Ledger.open, verify):
            with pytest.raises(LedgerCorrupt):
                use(path)
    other.close()


def no_links(*_):
    raise OSError(errno.EPERM, "/secret/path")


@pytest.mark.parametrize("links", [True, False])
def test_two_that_make_the_same_ledger_at_once_end_up_with_one(path, ask, monkeypatch, links):
    """The other comes after it was seen that there is none, and before the new one has its name."""
    link, head = os.link, []

    def overtaken(*paths):
        monkeypatch.setattr("os.link", link)
        other = Ledger.create(path, sf.Budget(1), UNIT)
        ask(other)
        head.append(other.head)
        (link if links else no_links)(*paths)

    monkeypatch.setattr("os.link", overtaken)
    with pytest.raises(LedgerError, match="already a file"):
        Ledger.create(path, sf.Budget(9), UNIT)
    assert verify(path, *head).ok
    assert Ledger.open(path).budget == sf.Budget(1)
    assert not list(path.parent.glob("*.part*"))


def test_disk_without_links_makes_a_ledger_and_writes_over_none(path, make, ask, monkeypatch):
    monkeypatch.setattr("os.link", no_links)
    ledger = make()
    ask(ledger)
    head = ledger.head
    with pytest.raises(LedgerError, match="already a file"):
        make(9)
    assert Ledger.open(path, head=head).budget == sf.Budget(1)
    assert verify(path, head).ok
    assert not list(path.parent.glob("*.part*"))
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    ledger.backup(path.with_name("copy"))
    assert verify(path.with_name("copy"), head).ok


def test_threads_that_make_a_ledger_on_a_disk_without_links_end_up_with_one(path, monkeypatch):
    """Renaming writes over what is there, so nobody may come between looking and renaming."""
    begin, made, refused = threading.Barrier(4), [], []
    lexists = os.path.lexists

    def slow(*paths):
        found = lexists(*paths)
        time.sleep(0.05)
        return found

    def late(*_):
        begin.wait()
        no_links()

    def work(epsilon):
        try:
            made.append(Ledger.create(path, sf.Budget(epsilon), UNIT))
        except LedgerError as problem:
            refused.append(str(problem))

    monkeypatch.setattr("os.link", late)
    monkeypatch.setattr("os.path.lexists", slow)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 3)
    assert all("already a file" in each for each in refused)
    assert verify(path).ok


@pytest.mark.parametrize("word", ["BEGIN", "CREATE", "INSERT", "COMMIT", "PRAGMA wal_checkpoint"])
def test_ledger_that_cannot_be_made_to_the_end_leaves_nothing(break_at, make, ask, path, word):
    break_at(word, sqlite3.SQLITE_FULL)
    with pytest.raises(LedgerError, match="disk is full") as caught:
        make()
    assert "secret" not in str(caught.value)
    break_at(None)
    assert list(path.parent.iterdir()) == []
    assert ask(make()).entry == 1


def test_ledger_is_whole_in_one_file_before_it_has_its_name(path, monkeypatch):
    link = os.link

    def look(part, name):
        assert [each.name for each in path.parent.iterdir()] == [part.name]
        found = verify(part)
        assert (found.ok, found.entries) == (True, 0)
        link(part, name)

    monkeypatch.setattr("os.link", look)
    Ledger.create(path, sf.Budget(1), UNIT)
    assert verify(path).ok


def test_timeout_must_be_a_time(path):
    with pytest.raises(RangeError):
        Ledger.create(path, sf.Budget(1), UNIT, timeout=-1)
    assert not path.exists()


def test_file_that_was_exchanged_while_open_is_noticed(make, ask, path, tmp_path):
    ledger = make()
    ask(ledger)
    other = Ledger.create(tmp_path / "other", sf.Budget(1), UNIT)
    other.close()
    (tmp_path / "other").replace(path)
    with pytest.raises(LedgerCorrupt, match="another file"):
        ask(ledger, "q2", plan="b")
    path.unlink()
    with pytest.raises(LedgerError, match="no ledger"):
        ask(ledger, "q2", plan="b")


def test_rollback_behind_an_open_ledger_is_noticed(make, ask, path, tmp_path):
    ledger = make()
    ledger.close()
    shutil.copy(path, tmp_path / "backup")
    ask(ledger)
    ledger.close()
    path.write_bytes((tmp_path / "backup").read_bytes())  # the same file, an older content
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        ask(ledger, "q2", plan="b")


def test_rollback_is_noticed_against_a_head_when_opening(make, ask, path, tmp_path):
    ledger = make()
    ask(ledger)
    ledger.close()
    shutil.copy(path, tmp_path / "backup")
    ask(ledger, "q2", plan="b")
    head = ledger.head
    ledger.close()
    Ledger.open(path, head=head).close()
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        Ledger.open(tmp_path / "backup", head=head)


def test_closed_ledger_opens_again(make, ask):
    ledger = make()
    ledger.close()
    assert ask(ledger).entry == 1
    ledger.close()
    ledger.close()


def test_commits_are_durable_by_setting(make):
    ledger = make()
    sqlite = ledger._file._sqlite
    assert sqlite.execute("PRAGMA synchronous").fetchone() == (2,)
    assert sqlite.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_file_belongs_to_its_owner_alone(make, path):
    make()
    assert path.stat().st_mode & 0o777 == 0o600


def test_threads_share_one_ledger_and_never_overspend(make, ask):
    ledger = make(20)
    granted = []

    def spend(name):
        for i in range(10):
            try:
                granted.append(ask(ledger, f"{name}{i}", 1, plan=f"{name}{i}").entry)
            except sf.errors.BudgetExceeded:
                return

    threads = [threading.Thread(target=spend, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, 21))
    assert ledger.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_reopens_a_file_and_disowns_a_copy_in_memory(path):
    script = f"""
import os, sys
import sfumato as sf
from sfumato.core.errors import LedgerError
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger
shared = Ledger.create({str(path)!r}, sf.Budget(10), sf.Unit.row())
alone = Ledger.create(None, sf.Budget(10), sf.Unit.row())
def ask(ledger, name):
    return ledger.reserve(name, None, "t", "1", name, Pure(1))
ask(shared, "a"), ask(alone, "a")
child = os.fork()
if child == 0:
    ask(shared, "child")
    try:
        ask(alone, "child")
    except LedgerError:
        os._exit(0)
    os._exit(1)
_, status = os.waitpid(child, 0)
ask(shared, "b"), ask(alone, "b")
print(os.waitstatus_to_exitcode(status), len(shared.history()), len(alone.history()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "3", "2"], done.stderr
    assert verify(path).ok
