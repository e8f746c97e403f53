"""A power cut: what the disk was told to keep is there; the rest is gone whole, or found.

The disk is taken to be honest: what was synced stays. Everything that was written and not yet
synced may be kept, lost, cut anywhere or turned into noise.
"""

import sqlite3
from fractions import Fraction
from typing import NamedTuple

import pytest

import sfumato as sf
from sfumato.core.errors import LedgerCorrupt, LedgerError
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger, verify

PAGE, FRAME, START = 4096, 4096 + 24, 32  # bytes; SQLite's log is a start, then frames of a page
PRICE = Fraction(1, 10)


class Commit(NamedTuple):
    """What was true when a step had returned."""

    size: int  # of the log
    head: str
    entries: int
    spent: Fraction
    shown: tuple[str, ...]  # requests whose answers somebody may have seen


class Disk:
    """A ledger in use, and what its files contained after every step."""

    def __init__(self, path):
        self.path, self.log = path, path.with_name(f"{path.name}-wal")
        self.ledger = Ledger.create(path, sf.Budget(1), sf.Unit.row())
        self.commits, self.shown = [], ()
        self.note()

    def note(self):
        head = self.ledger.head  # opens the file, if nothing has: the log begins then, empty
        self.commits.append(
            Commit(
                self.log.stat().st_size,
                head,
                len(self.ledger.history()),
                1 - self.ledger.remaining().epsilon,
                self.shown,
            )
        )

    def release(self, request):
        granted = self.ledger.reserve(request, None, "t", "1", f"plan {request}", Pure(PRICE))
        self.note()
        self.ledger.touch(granted)
        self.note()
        self.ledger.settle(granted, f"answer of {request}".encode() * 400)  # more than a page
        self.shown += (request,)
        self.note()

    def contents(self):
        """Read both files. That drops SQLite's locks, which nobody else here waits for."""
        return self.path.read_bytes(), self.log.read_bytes()


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """Three releases, all of them in the log; returns the commits and both files."""
    disk = Disk(tmp_path_factory.mktemp("disk") / "ledger")
    for request in ("q1", "q2", "q3"):
        disk.release(request)
    yield disk.commits, *disk.contents()
    disk.ledger.close()


@pytest.fixture
def restart(tmp_path):
    """Put two files on a disk as a power cut left them, and return their path."""

    def write(database, log):
        path = tmp_path / "left"
        for name in ("left", "left-wal", "left-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        path.write_bytes(database)
        path.with_name("left-wal").write_bytes(log)
        return path

    return write


def check(path, commits, kept):
    """Find exactly the commits up to one, all of them paid for, and the rollback of the others."""
    commit = commits[kept]
    found = verify(path, commit.head)
    assert found.ok, str(found)
    assert found.entries == commit.entries
    for later in commits[kept + 1 : kept + 2]:
        assert not verify(path, later.head).ok
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            Ledger.open(path, head=later.head)
    ledger = Ledger.open(path, head=commit.head)
    assert 1 - ledger.remaining().epsilon == commit.spent >= PRICE * len(commit.shown)
    for request in commit.shown:
        answer = ledger.reserve(request, None, "t", "1", f"plan {request}", Pure(PRICE)).answer
        assert answer == f"answer of {request}".encode() * 400
    ledger.close()


def kept(commits, size):
    """Return the last commit that fits; what was true at first is in the database itself."""
    return max(i for i, commit in enumerate(commits) if commit.size <= size)


def cuts(log, places=(-1, 0, 2000)):
    """Name bytes of every frame: those where it begins, those before, and some in the middle."""
    return [frame + place for frame in range(START, len(log) + 1, FRAME) for place in places]


def alike(one, other):
    """Return how many bytes are the same, from the start."""
    differ = (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differ, min(len(one), len(other)))


TAILS = {
    "nothing": lambda rest: b"",
    "zeros": lambda rest: bytes(len(rest)),
    "noise": lambda rest: bytes(byte ^ 0xA5 for byte in rest[:100]) + rest[100:],
}


@pytest.mark.parametrize("tail", TAILS)
def test_log_that_was_cut_anywhere_gives_a_prefix_of_history(disk, restart, tail):
    commits, database, log = disk
    seen = set()
    for cut in cuts(log) if tail == "nothing" else cuts(log, (2000,)):
        left = log[:cut] + TAILS[tail](log[cut:])
        last = kept(commits, alike(log, left))  # some zeros are as written
        check(restart(database, left), commits, last)
        seen.add(last)
    assert seen == {*range(len(commits))}


@pytest.mark.deep
def test_log_that_was_cut_at_many_more_bytes_gives_a_prefix_of_history(disk, restart):
    commits, database, log = disk
    for cut in range(commits[0].size, len(log), 211):
        check(restart(database, log[:cut]), commits, kept(commits, cut))


def test_ledger_without_its_log_or_without_itself_is_never_made_again(disk, restart):
    """It is whole from the first moment, so that what is less is what was lost."""
    commits, database, log = disk
    assert commits[0].size == commits[0].entries == 0
    for left, says in ((database, "already a file"), (b"", "already a file"), (None, "was lost")):
        path = restart(left or b"", log)
        if left is None:
            path.unlink()
        with pytest.raises(LedgerError, match=says):
            Ledger.create(path, sf.Budget(1), sf.Unit.row())
    check(restart(database, b""), commits, 0)


def test_write_that_was_lost_in_the_middle_gives_a_prefix_of_history(disk, restart):
    commits, database, log = disk
    for frame in range(START, len(log), FRAME):
        lost = log[:frame] + bytes(FRAME) + log[frame + FRAME :]
        check(restart(database, lost), commits, kept(commits, frame))


@pytest.fixture
def checkpointed(tmp_path):
    """A ledger whose log was copied into the database and begun anew; returns it at each stage."""
    disk = Disk(tmp_path / "ledger")
    disk.release("q1")
    before = disk.contents()
    sqlite: sqlite3.Connection = disk.ledger._file._sqlite
    assert sqlite.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[0] == 0
    copied = len(disk.commits) - 1
    after = disk.contents()
    disk.commits, older = [], disk.commits[copied]
    disk.release("q2")  # writes over the log from its start
    yield older, disk.commits, before, after, disk.contents()
    disk.ledger.close()


def test_copying_of_the_log_that_was_cut_anywhere_loses_nothing(checkpointed, restart):
    commit, _, (old, log), (new, _), _ = checkpointed
    old = old.ljust(len(new), b"\0")
    pages = range(0, len(new), PAGE)
    for torn in pages:
        for middle in (torn, torn + 1, torn + 2048, torn + PAGE - 1):
            check(restart(new[:middle] + old[middle:], log), [commit], 0)  # in order
            check(restart(old[:torn] + new[torn:middle] + old[middle:], log), [commit], 0)


def test_log_that_was_begun_anew_gives_a_prefix_of_history(checkpointed, restart):
    older, commits, (_, old), (database, _), (_, log) = checkpointed
    assert log[:START] != old[:START]
    # Sizes of the file say nothing here: the end of a commit is marked in the head of its frame.
    ends = [
        frame + FRAME
        for frame in range(START, len(log), FRAME)
        if log[frame + 4 : frame + 8] != bytes(4) and log[frame + 8 : frame + 16] == log[16:24]
    ]
    assert len(ends) == len(commits) == 3
    commits = [older, *(c._replace(size=end) for c, end in zip(commits, ends, strict=True))]
    for cut in cuts(log[: ends[-1]]):
        left = log[:cut] + old[cut:]
        same = alike(log, left)  # some bytes are as they were before
        last = max(i for i, end in enumerate([0, *ends]) if end <= same)
        check(restart(database, left), commits, last)


def test_log_that_was_put_back_from_an_older_copy_is_found(checkpointed, restart):
    _, commits, _, (database, _), _ = checkpointed
    path = restart(database, b"")
    assert not verify(path, commits[-1].head).ok
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        Ledger.open(path, head=commits[-1].head)


def test_database_that_was_put_back_from_an_older_copy_gives_no_charge_back(checkpointed, restart):
    """The log has the pages that count by chance: they were all written again."""
    _, commits, (older, _), _, (_, log) = checkpointed
    path = restart(older, log)
    assert not verify(path, commits[-1].head).ok
    ledger = Ledger.open(path, head=commits[-1].head)
    assert 1 - ledger.remaining().epsilon == commits[-1].spent
    with pytest.raises(LedgerCorrupt):  # its answer was in the database alone
        ledger.reserve("q1", None, "t", "1", "plan q1", Pure(PRICE))
    ledger.close()


def test_database_that_was_put_back_from_an_older_copy_is_found(tmp_path, restart):
    disk = Disk(tmp_path / "ledger")
    older, _ = disk.contents()
    for request in range(8):
        disk.release(f"q{request}")
    disk.ledger._file._sqlite.execute("PRAGMA wal_checkpoint(PASSIVE)")
    disk.release("last")
    path = restart(older, disk.contents()[1][: 16 * FRAME])  # of the new log, and no old frames
    head = disk.ledger.head
    disk.ledger.close()
    for use in (verify, Ledger.open):
        with pytest.raises(LedgerCorrupt):
            use(path, head=head)
