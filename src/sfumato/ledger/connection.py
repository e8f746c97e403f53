"""The file: opened, locked, committed durably, and every failure of it given one constant message.

One connection serves a process, under a lock: SQLite admits one writer anyway. Before a fork it is
closed, because SQLite's own record of file locks must not be copied into a child; parent and child
open their own when they next need one. The file is never opened by other means in this process:
closing any descriptor of it would silently drop SQLite's locks.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import LedgerBusy, LedgerCorrupt, LedgerError
from sfumato.core.number import nonnegative

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit returns after fsync
    "PRAGMA fullfsync = ON",  # macOS: fsync alone does not reach the disk
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)


class Connection:
    """A way to one SQLite file, or to memory, for all threads of a process and its children."""

    def __init__(self, path: Path | None, *, timeout: float, read_only: bool = False) -> None:
        """Remember where the file is; it is opened when it is first needed."""
        self._sqlite: sqlite3.Connection | None = None
        self.path = None if path is None else Path(path).absolute()
        self._timeout, self._read_only = float(nonnegative(timeout, "timeout")), read_only
        self._lock = threading.RLock()
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
        if not self._lock.acquire(timeout=self._timeout):
            raise busy()
        try:
            connection = self._connected()
            try:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except (sqlite3.Error, UnicodeError) as problem:
            error = translated(problem)
            if self.path is not None and not isinstance(error, LedgerBusy):
                self._disconnect()  # what it believes about the file may no longer be true
            raise error from None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the file; a later use opens it again. A ledger in memory is gone."""
        with self._lock:
            self._disconnect()

    def __del__(self) -> None:
        """Close the file of a ledger that nobody holds any more."""
        self._disconnect()

    def make(self) -> None:
        """Create the file, empty, and put its name on the disk.

        Raises:
            LedgerError: there is something already, or nothing can be written there.
        """
        if self.path is None:
            return
        try:
            if self.path.exists() and not self._is_blank(self.path):
                raise exists()
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            if os.name == "posix":
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError:
            raise unwritable() from None

    def _is_blank(self, path: Path) -> bool:
        """Say whether a file has no tables: a crash may leave one, to which nothing was charged."""
        try:
            # Not for reading only: what a crash left half done is first taken back.
            connection = self._connect(f"{path.as_uri()}?mode=rw")
            try:
                found = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            finally:
                connection.close()
        except (sqlite3.Error, UnicodeError):
            return False
        return bool(found == (0,))

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
        if self._sqlite is None:
            self._sqlite = self._open(self.path)
            self._identity = status.st_dev, status.st_ino
        return self._sqlite

    def _open(self, path: Path) -> sqlite3.Connection:
        mode = "ro" if self._read_only else "rw"
        connection = self._connect(f"{path.as_uri()}?mode={mode}")
        try:
            if not self._read_only:
                (journal,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if journal != "wal":
                    raise unwritable()
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except (sqlite3.Error, UnicodeError, LedgerError):
            connection.close()
            raise
        return connection

    def _in_memory(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            raise LedgerError(
                "a ledger in memory was copied by a fork, and both copies would spend the same "
                "budget. Only the process that made it may use it; processes share a ledger in a "
                "file."
            )
        if self._sqlite is None:
            self._sqlite = self._connect("file::memory:")
        return self._sqlite

    def _connect(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )

    def _disconnect(self) -> None:
        connection, self._sqlite = getattr(self, "_sqlite", None), None  # None in half a copy
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def before_fork(self) -> None:
        """Wait for the other threads, then close the file."""
        self._lock.acquire()
        if self.path is not None:
            self._disconnect()

    def after_fork(self) -> None:
        """Let the threads go on."""
        self._lock.release()


def translated(problem: sqlite3.Error | UnicodeError) -> LedgerError:
    """Return what to tell people; the driver's own words stay here."""
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
        "the ledger's database failed in a way that is not foreseen, so the step was not done and "
        "nothing is released. Run verify on the file before you go on."
    )


def busy() -> LedgerBusy:
    """Return the error for a file that others are writing."""
    return LedgerBusy(
        "another process has kept the ledger locked for longer than this one waits. Nothing was "
        "charged. Ask again, or open the ledger with a longer timeout=."
    )


def corrupt() -> LedgerCorrupt:
    """Return the error for a file that is damaged."""
    return LedgerCorrupt(
        "the file is damaged or is not a ledger, so it cannot say what was spent, and nothing is "
        "released. Run verify on it, and go back to a copy that passes against a head you kept."
    )


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


def unwritable() -> LedgerError:
    """Return the error for a file or folder that cannot be written."""
    return LedgerError(
        "the ledger cannot be written, so nothing can be charged and nothing is released. Let "
        "this process write the file and its folder, on a disk of this machine."
    )


_live: weakref.WeakSet[Connection] = weakref.WeakSet()
_guard = threading.RLock()
_waiting: list[Connection] = []


def _before_fork() -> None:
    _guard.acquire()
    for connection in list(_live):
        connection.before_fork()
        _waiting.append(connection)


def _after_fork() -> None:
    while _waiting:
        _waiting.pop().after_fork()
    _guard.release()


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
