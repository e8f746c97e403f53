"""The file: opened, locked, committed durably, and every failure of it given one constant message.

One connection serves a process, one thread at a time: SQLite admits one writer anyway. What costs
is the commit, which waits for the disk, so threads share it: whoever has written lines up behind
those who want to write, and commits for all of them. Each writes in a savepoint of its own, so that
one that is refused takes back nothing of the others, and none goes on before all is on the disk.

Before a fork the connection is closed, because SQLite's own record of file locks must not be copied
into a child; parent and child open their own when they next need one.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import sys
import threading
import weakref
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import LedgerBusy, LedgerCorrupt, LedgerError
from sfumato.core.number import nonnegative
from sfumato.core.path import path_of
from sfumato.ledger.event import APPLICATION
from sfumato.ledger.handle import Handle, LogGone, LogMissing, forsake, hold, let_go
from sfumato.ledger.interrupts import Interrupts
from sfumato.ledger.turnstile import Turnstile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit returns after fsync
    "PRAGMA fullfsync = ON",  # macOS: fsync alone does not reach the disk
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)


class Group:
    """What some threads do in one transaction.

    Attributes:
        writes: whether it is there to write.
        over: whether it was committed, or taken back.
        problem: why it was taken back.
    """

    __slots__ = ("over", "problem", "writes")

    def __init__(self, *, writes: bool) -> None:
        """Be open."""
        self.writes, self.over = writes, False
        self.problem: sqlite3.Error | UnicodeError | None = None


class Connection:
    """A way to one SQLite file, or to memory, for all threads of a process and its children."""

    def __init__(
        self, path: Path | None, *, timeout: float, read_only: bool = False, new: bool = False
    ) -> None:
        """Remember where the file is; it is opened when it is first needed."""
        self._handle: Handle | None = None
        self._memory: sqlite3.Connection | None = None
        self.path = None if path is None else Path(path).absolute()
        self._timeout, self._read_only = float(nonnegative(timeout, "timeout")), read_only
        self._new = new
        self._group: Group | None = None
        self._renew()
        self._identity: tuple[int, int] | None = None
        self._pid = os.getpid()
        with _guard:
            _live.add(self)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """Run a block in one transaction; it is durable when the block has been left.

        Raises:
            LedgerBusy: somebody else writes for longer than the timeout.
            LedgerCorrupt: the file is damaged, or is not the one that was opened.
            LedgerError: the file is missing, cannot be written, or the disk fails.
        """
        group, refused = None, True
        try:
            with self._next() if write else self._alone():
                connection = self._connected()
                begins = self._group is None
                # Whatever happens now, it is ended.
                group = self._group = self._group or Group(writes=write)
                try:
                    if begins:
                        self._begin(connection, group)
                    with self._step(connection, group):
                        yield connection
                finally:
                    if not write:
                        self._commit(group)
            refused = False
        finally:
            if group is not None:
                # Who was refused is told that; those who were not, what became of the group.
                with suppress(LedgerError) if refused else nullcontext():
                    self._finish(group)

    @contextmanager
    def _step(self, connection: sqlite3.Connection, group: Group) -> Iterator[None]:
        """Run what one thread does; refused, it alone is taken back; failed, the whole group."""
        try:
            connection.execute("SAVEPOINT step")
            end = "ROLLBACK TO step"
            try:
                yield
                end = "RELEASE step"
            finally:
                if connection.in_transaction:
                    connection.execute(end)
        except (sqlite3.Error, UnicodeError) as problem:
            self._give_up(group, problem)
            raise translated(problem) from None

    def _begin(self, connection: sqlite3.Connection, group: Group) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE" if group.writes else "BEGIN")
            if group.writes and self._handle is not None and self._handle.astray():
                raise LogGone  # while it waited: what it wrote would spoil the index of others
        except (sqlite3.Error, UnicodeError) as problem:
            self._give_up(group, problem)
            raise translated(problem) from None

    def _finish(self, group: Group) -> None:
        """Commit a group behind all who wait to join it, unless another thread has.

        Raises:
            LedgerError: nothing of the group was written.
        """
        ended = False
        try:
            self._end_of(group)
            ended = True
        finally:
            if not ended:  # interrupted: it may hold the file, and nobody else may come to end it
                self._end_of(group)
        if group.problem is not None:
            raise translated(group.problem) from None

    def _end_of(self, group: Group) -> None:
        with self._end:
            if not group.over:
                with self._next(-1):
                    self._commit(group)

    def _commit(self, group: Group) -> None:
        """Put what a group did on the disk, unless it is over. The caller's turn is now."""
        if group is not self._group:
            return  # what is open now, if anything, is another
        known = False
        try:
            if self._sqlite is None:
                raise sqlite3.OperationalError
            self._sqlite.execute("COMMIT")
            if group.writes and self._handle is not None and self._handle.astray():
                raise LogGone
            known = True
        except (sqlite3.Error, UnicodeError) as problem:
            known = True
            self._give_up(group, problem)
        finally:
            if not known:  # interrupted, perhaps before it was seen where the entries went
                group.problem = sqlite3.OperationalError()
            if self._handle is not None and self._handle.unlogged:
                self._disconnect()
            if self._sqlite is not None and self._sqlite.in_transaction:  # interrupted before
                self._give_up(group, sqlite3.OperationalError())
            group.over, self._group = True, None

    def _give_up(self, group: Group, problem: sqlite3.Error | UnicodeError) -> None:
        """Take back all that a group did."""
        group.problem = problem  # before it is over: members look at that first
        group.over, self._group = True, None
        if self._sqlite is not None and self._sqlite.in_transaction:
            with suppress(sqlite3.Error):
                self._sqlite.execute("ROLLBACK")
        if isinstance(problem, LogGone):
            self._leave()
        elif self.path is not None and not isinstance(translated(problem), LedgerBusy):
            self._disconnect()  # what it believes about the file may no longer be true

    @contextmanager
    def _next(self, timeout: float | None = None) -> Iterator[None]:
        """Wait for those who came before."""
        if not self._turn.acquire(self._timeout if timeout is None else timeout):
            raise busy()
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until there is no group, and keep others from opening one."""
        if not self._end.acquire(timeout=self._timeout):
            raise busy()
        try:
            with self._next():
                if self._group is not None:
                    self._commit(self._group)
                yield
        finally:
            self._end.release()

    def _renew(self) -> None:
        # Who needs both takes the end first: to commit is to wait until nobody writes.
        self._end, self._turn = threading.Lock(), Turnstile()

    def fold(self) -> None:
        """Bring all that is in the log into the file itself, on the disk.

        Raises:
            LedgerBusy: somebody else uses the file.
            LedgerError: it was not brought there.
        """
        with self._alone():
            try:
                result = self._connected().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except (sqlite3.Error, UnicodeError) as problem:
                raise translated(problem) from None
            if result[0]:
                raise busy()

    def close(self) -> None:
        """Close the file; a later use opens it again. A ledger in memory is gone."""
        with self._alone():
            self._disconnect()

    def __del__(self) -> None:
        """Close the file of a ledger that nobody holds any more."""
        if hasattr(self, "_memory") and not sys.is_finalizing():
            self._disconnect()  # not half a copy; when modules go, all have been closed

    def _connected(self) -> sqlite3.Connection:
        if self.path is None:
            return self._in_memory()
        try:
            status = self.path.stat()
        except OSError:
            raise missing() from None
        if self._identity not in (None, (status.st_dev, status.st_ino)):
            raise LedgerCorrupt(
                "another file has taken the ledger's place since it was opened, and may not know "
                "what was spent. Put the file back, or open the new one and verify it against a "
                "head that you kept."
            )
        if self._handle is not None and self._handle.astray():
            if self._group is not None:  # first taken back: no log is saved in a transaction
                self._give_up(self._group, LogGone())
            self._leave()
            raise translated(LogGone())
        if self._handle is None:
            self._identity = status.st_dev, status.st_ino
            self._handle = self._newly(self.path, self._identity)
        return self._handle.sqlite

    def _newly(self, path: Path, identity: tuple[int, int]) -> Handle:
        try:
            return Handle(
                path, identity, self._open, timeout=self._timeout, read_only=self._read_only
            )
        except OSError:  # no descriptor left
            raise unwritable() from None
        except (sqlite3.Error, UnicodeError) as problem:
            raise translated(problem) from None

    def _open(self, path: Path) -> sqlite3.Connection:
        mode = "ro" if self._read_only else "rw"
        connection, ready = self._connect(f"{path.as_uri()}?mode={mode}"), False
        try:
            if not self._read_only:
                (owner,) = connection.execute("PRAGMA application_id").fetchone()
                if owner != APPLICATION and not self._new:
                    raise corrupt()  # before anything is changed: it may be another program's
                (journal,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if journal != "wal":
                    raise unwritable()
            for pragma in _PRAGMAS:
                connection.execute(pragma)
            connection.execute("PRAGMA schema_version")  # reads, so that there is a log
            ready = True
        finally:
            if not ready:  # interrupted, too: a traceback would keep it open
                connection.close()
        return connection

    def _in_memory(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            raise LedgerError(
                "a ledger in memory was copied by a fork, and both copies would spend the same "
                "budget. Only the process that made it may use it; processes share a ledger in a "
                "file."
            )
        if self._memory is None:
            self._memory = self._connect("file::memory:")
        return self._memory

    def _connect(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )

    @property
    def _sqlite(self) -> sqlite3.Connection | None:
        return self._memory if self._handle is None else self._handle.sqlite

    def _leave(self) -> None:
        handle, self._handle = self._handle, None  # first: one that was left is not used
        if handle is not None:
            try:
                handle.leave()
            finally:
                handle.leave()  # again, for who was interrupted; nobody else would

    def _disconnect(self) -> None:
        handle, self._handle = self._handle, None  # first: one that is half closed is not used
        if handle is not None:
            try:
                handle.close()
            finally:
                handle.close()  # again, for who was interrupted; nobody else would
        if self._memory is not None:
            self._memory.close()
        self._memory = None

    def before_fork(self, taken: list[Callable[[], None]]) -> None:
        """Wait for the other threads, then close the file; say how to let them go on."""
        self._end.acquire()
        taken.append(self._end.release)
        self._turn.acquire()
        taken.append(self._turn.release)
        if self._group is not None:
            self._commit(self._group)
        if self.path is not None:
            self._disconnect()

    def begin_anew(self) -> None:
        """In a child there are no other threads, and nobody would let go of a lock."""
        self._renew()
        self._handle = self._group = None


def remember(path: Path) -> None:
    """Put the name of a file on the disk, where a folder can be."""
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def translated(problem: sqlite3.Error | UnicodeError) -> LedgerError:
    """Return what to tell people; the driver's own words stay here."""
    if isinstance(problem, LogGone):
        return LedgerError(
            "the log beside the ledger was removed while this process had it open, so that it can "
            "neither charge nor look any more, and releases nothing. Either somebody deleted it "
            "or renamed its folder, or this program opened and closed the ledger's file itself, to "
            "copy it for example, which drops its locks. Start the program again, and copy ledgers "
            "with backup only; what it was charging just now may be in the history or not."
        )
    if isinstance(problem, LogMissing):
        return LedgerBusy(
            "the log beside the ledger is missing, and another process has the ledger open: "
            "somebody deleted it. What that process has charged is there alone, until it next uses "
            "the ledger or comes to its end, and brings it into the file. Let it, then ask again; "
            "to kill it would lose that."
        )
    if isinstance(problem, UnicodeError):  # the driver could not even say what is damaged
        return corrupt()
    match getattr(problem, "sqlite_errorcode", 0) & 0xFF:  # the family of the code
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return busy()
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CONSTRAINT:
            return corrupt()
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return unwritable()
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return LedgerError(
                "the ledger could not be written to the end, because the disk is full or fails, "
                "so the step does not count and nothing is released. Free some space, then ask "
                "again with the same request id: nothing is charged twice."
            )
    return LedgerError(
        "the ledger's database failed in a way that is not foreseen, or was interrupted, so the "
        "step may be in the history or not, and nothing is released. Run verify on the file before "
        "you go on."
    )


def busy() -> LedgerBusy:
    """Return the error for a file that others are writing."""
    return LedgerBusy(
        "another process has kept the ledger locked for longer than this one waits, so the step "
        "does not count. Ask again, or open the ledger with a longer timeout=."
    )


def corrupt() -> LedgerCorrupt:
    """Return the error for a file that is damaged."""
    return LedgerCorrupt(
        "the file is damaged or is not a ledger, so it cannot say what was spent, and nothing is "
        "released. Run verify on it, and go back to a copy that passes against a head you kept."
    )


def existing(given: str | Path) -> Path:
    """Return the path of a ledger that is there.

    Raises:
        InputError: it is no path.
        LedgerError: there is no file, or none that this process may look at.
    """
    path = path_of(given)
    if not os.path.isfile(path):  # noqa: PTH113 (one that is too long has none, and no error)
        raise missing()
    return path


def missing() -> LedgerError:
    """Return the error for a file that is not there."""
    return LedgerError(
        "there is no ledger at this path, and a new one would not know what was spent. Check the "
        "path; a first ledger is made with Ledger.create."
    )


def exists() -> LedgerError:
    """Return the error for a path that is taken."""
    return LedgerError(
        "there is already a file at this path, and a ledger is never written over: that would "
        "give a spent budget back. Use Ledger.open, or choose another path."
    )


def bereft() -> LedgerError:
    """Return the error for a log without its ledger."""
    return LedgerError(
        "there is no ledger at this path, but the log of one, in a file beside it whose name ends "
        "in -wal or -journal: a ledger was lost, and what it had spent is not forgotten. Put the "
        "ledger back, or choose another path."
    )


def unwritable() -> LedgerError:
    """Return the error for a file or folder that cannot be written."""
    return LedgerError(
        "the ledger cannot be written, so nothing can be charged and nothing is released. Its "
        "folder may be missing: then make it. Let this process write the file and its folder, on a "
        "disk of this machine."
    )


_live: weakref.WeakSet[Connection] = weakref.WeakSet()
_guard = threading.RLock()
_taken: list[Callable[[], None]] = []  # before a fork, with the last one last
_interrupts = Interrupts()


@atexit.register
def _close() -> None:
    """Close all before the modules go: whether a log has its name is seen with their help."""
    live = list(_live)
    for connection in live:  # all before one is closed: that may wait for the others
        connection._timeout = min(connection._timeout, 0.1)  # a thread that goes with the program
        if connection._handle is not None:
            connection._handle.timeout = connection._timeout
    for connection in live:
        with suppress(LedgerError):
            connection.close()


def _before_fork() -> None:
    _interrupts.hold()  # what is raised here is ignored, and no fork refused
    _guard.acquire()
    _taken.append(_guard.release)
    for connection in list(_live):
        connection.before_fork(_taken)
    hold()
    _taken.append(let_go)


def _after_fork() -> None:
    while _taken:  # all, or what was taken before another signal came between
        _taken.pop()()
    _interrupts.let_go(child=False)


def _after_fork_in_child() -> None:
    global _guard  # noqa: PLW0603 (nobody lets go of the old one)
    _guard = threading.RLock()
    _taken.clear()
    forsake()
    for connection in list(_live):
        connection.begin_anew()
    _interrupts.let_go(child=True)


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )
