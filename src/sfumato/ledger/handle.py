"""A file that is open: its lock is kept, and its log minded.

The file of a ledger is never opened by other means in this process: closing any descriptor of it
would silently drop SQLite's locks. A user who copies it does just that. Then the next process to
close it takes itself for the last one, and removes the log; what is written here would go to a file
without a name. So before every transaction, and after one that writes, the lock is taken again, and
then it is seen whether the log still has its name. If not, this process is done with the ledger: to
close it would write an old log back, and remove a new one. Until it has seen that, and has brought
the log into the file, nobody else opens the ledger: a new log would take the place of the old one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The bytes of a file that SQLite locks: for whoever has it open, and before, for who opens it.
_SHARED, _PENDING = (510, 0x40000002), (1, 0x40000000)
_VERSION, _LOGGED = 18, b"\2"  # the byte that says whether there is a log, if anybody is there
_MOMENT = 1.0  # seconds, in which whoever opens a file is done with the second
_NONE, _GONE = (0, 0), (-1, -1)  # in place of the identity of a log
_PARTIAL = sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR  # that: no table

# Whatever is open is in here until it is closed, also if nobody refers to it any more: as long as
# one is open, no descriptor of its file may be closed.
_handles: set[Handle] = set()
_descriptors: dict[tuple[int, int], int] = {}  # through which locks are taken again
_lost: set[tuple[int, int]] = set()  # files whose log was removed behind this process
# Files are opened and closed one at a time: to close a descriptor would drop the locks of another
# thread that is just closing the same file. Who waits for it has whatever else it needs.
_files = threading.RLock()


class LogGone(sqlite3.OperationalError):
    """What was written went to a log without a name."""


class LogMissing(sqlite3.OperationalError):
    """Another process has the file open, and a log without a name."""


class Handle:
    """One of the connections that this process has to a file.

    Attributes:
        sqlite: the connection, until it is closed.
        timeout: how long to wait for somebody who closes the file, in seconds.
    """

    sqlite: sqlite3.Connection

    def __init__(
        self,
        path: Path,
        identity: tuple[int, int],
        connect: Callable[[Path], sqlite3.Connection],
        *,
        timeout: float,
        read_only: bool,
    ) -> None:
        """Open the file.

        Raises:
            LogGone: its log was removed behind this process, now or before.
            LogMissing: it was removed behind another, which did not notice so far.
            OSError: there is no descriptor left.
        """
        self._path, self._identity, self.timeout = path, identity, timeout
        self._log, self._log_path = _NONE, f"{os.path.realpath(path)}-wal"  # not beside a link
        self._open = False
        with _files:
            _handles.add(self)
            opened = False
            try:
                self._check_named()
                if os.name == "posix" and identity not in _descriptors:
                    _descriptors[identity] = _descriptor(path)
                    self._await_log(_descriptors[identity])
                self.sqlite, self._open = connect(path), True
                self._log = self._named_log()
                if read_only and self._log == _GONE:
                    self._log = _NONE  # to look at a copy, which has none, makes none
                if self.astray():
                    raise LogGone
                self._check_named()
                opened = True
            except LogGone:
                self.leave()
                raise
            finally:
                if not opened:  # interrupted, too
                    self.close()

    def _await_log(self, held: int) -> None:
        """Wait as long as others have the file open, and there is no log: it was deleted.

        Or somebody is about to make one, or to remove it with the last connection, which is over
        soon. That somebody has it open is seen by a lock that cannot be had alone.
        """
        import fcntl

        end = time.monotonic() + max(self.timeout, _MOMENT)
        while self._named_log() == _GONE and os.pread(held, 1, _VERSION) == _LOGGED:
            try:
                fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, *_SHARED)
            except (BlockingIOError, PermissionError):
                if time.monotonic() > end:
                    raise LogMissing from None
                time.sleep(0.001)
                continue
            except OSError:  # a file that may not be written to
                return
            fcntl.lockf(held, fcntl.LOCK_UN, *_SHARED)  # nobody here has it open
            return

    def _named_log(self) -> tuple[int, int]:
        """Return which file has the name of the log."""
        with suppress(OSError):
            status = os.stat(self._log_path)  # noqa: PTH116
            return status.st_dev, status.st_ino
        return _GONE

    def _unnamed(self) -> bool:
        """Return whether the log that is open has lost its name."""
        return self._log != _NONE and (self._log == _GONE or self._log != self._named_log())

    def _check_named(self) -> None:
        """Refuse a file of which some connection here has a log without a name.

        They share its index, by which the new log would be misread.
        """
        if self._identity in _lost or any(each._unnamed() for each in self._siblings()):
            raise LogGone

    def _siblings(self) -> list[Handle]:
        """Return all of this process that are to the same file, this one too."""
        # Of a copy: one that nobody refers to any more may be closed at any point of a loop.
        return [each for each in _handles.copy() if each._identity == self._identity]

    @property
    def unlogged(self) -> bool:
        """Whether there was no log: then nobody sees when another process begins one."""
        return self._log == _NONE

    def astray(self) -> bool:
        """Take the lock again that a copy may have dropped; return whether the log has no name.

        Whoever removes it keeps the others out until that is done: with the lock, what is seen
        stays so.
        """
        log = self._log  # once: another thread may leave this one meanwhile
        gone = log != _NONE and (not self._locked(self.timeout) or log != self._named_log())
        return gone or log == _GONE or not self._open  # read last: who leaves it sets that first

    def _locked(self, timeout: float, *, alone: bool = False) -> bool:
        """Take the lock of all who have the file open, unless somebody closes it for too long.

        Or alone that of those who open it, unless somebody does for too long.
        """
        if os.name != "posix":
            return True  # elsewhere a lock belongs to the one who took it, and not to the process
        import fcntl

        end, held = time.monotonic() + timeout, _descriptors.get(self._identity)
        kind, which = (fcntl.LOCK_EX, _PENDING) if alone else (fcntl.LOCK_SH, _SHARED)
        while held is not None and self._open:  # else another thread has left it
            with suppress(OSError):
                fcntl.lockf(held, kind | fcntl.LOCK_NB, *which)
                return True
            if time.monotonic() > end:
                break
            time.sleep(0.001)
        return False

    def leave(self, *, save: bool = True) -> None:
        """Never close the file, not even when the program ends, and never open it here again.

        Nor do the others of this process: they have the same log, and would keep everybody waiting.
        Unless nobody could save it, because one of them is at work in another thread, or somebody
        elsewhere reads: then all but this one stay, keep everybody else out, and save it when they
        next look.
        """
        import ctypes

        with _files:
            if self not in _handles:
                return  # it was left, and others that can save it look by themselves
            _lost.add(self._identity)
            every = sorted(self._siblings(), key=lambda each: each is not self)
            # By whoever can: one may never have been opened, or may only read.
            tried = (each._save() for each in every if each._open)
            if save and not next((saved for saved in tried if saved is not None), False):
                every = [self]
            for each in reversed(every):  # itself last: who is interrupted does it again
                if each._open:
                    ctypes.pythonapi.Py_IncRef(ctypes.py_object(each.sqlite))
                each._forget()

    def _save(self) -> bool | None:
        """Bring a log into the file that somebody deleted: else all is lost that is there alone.

        Unless others have gone on: then there are two histories, and the file has theirs. Who would
        open it in the meantime waits: what they charged would be written over.

        Returns:
            Whether nobody needs to try again: all of it is there, or must not be. False after it
            waited in vain, as others would now; None if this one cannot.
        """
        if self._named_log() != _GONE:
            return True
        with suppress(sqlite3.Error):
            try:
                if not self._locked(max(self.timeout, _MOMENT), alone=True):
                    return False
                if self._named_log() != _GONE or self._others_went_on():
                    return True
                # Waits for who reads, or pages that they may need stay out.
                return not self.sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                self._let_in()
        return None

    def _let_in(self) -> None:
        """Let others open the file again."""
        if os.name == "posix":
            import fcntl

            with suppress(OSError, KeyError):  # one that is collected here may leave them all
                fcntl.lockf(_descriptors[self._identity], fcntl.LOCK_UN, *_PENDING)

    def _others_went_on(self) -> bool:
        """Return whether the last entry in the file itself, without any log, is not known here.

        Raises:
            sqlite3.Error: that cannot be seen, by this one now.
        """
        try:
            status = os.stat(self._path)  # noqa: PTH116
            if (status.st_dev, status.st_ino) != self._identity:
                raise LogGone
            # To close it drops no lock: SQLite keeps its descriptor as long as it knows of one.
            with closing(sqlite3.connect(f"{self._path.as_uri()}?immutable=1", uri=True)) as alone:
                last = alone.execute("SELECT seq, hash FROM events ORDER BY seq DESC").fetchone()
        except OSError:
            raise LogGone from None
        except sqlite3.Error as problem:
            if getattr(problem, "sqlite_errorcode", 0) & 0xFF not in _PARTIAL:
                raise
            return False  # only a part of what is in the log has come there
        mine = "SELECT 1 FROM events WHERE seq = ? AND hash = ?"
        return last is not None and self.sqlite.execute(mine, last).fetchone() is None

    def close(self) -> None:
        """Close the file, once; leave it if its log has lost its name."""
        with _files:
            if self._open and self.astray() and self._file_named():
                self.leave()
            self._log = _NONE  # who is interrupted closes again, and misses nothing
            try:
                if self._open:
                    self.sqlite.close()
            except sqlite3.Error:
                pass
            finally:
                self._forget()  # an interrupt comes when it is closed

    def _file_named(self) -> bool:
        """Return whether the file itself has a name: without, what is closed can harm nobody."""
        held = _descriptors.get(self._identity)
        return held is None or os.fstat(held).st_nlink > 0

    def _forget(self) -> None:
        """Be closed; with the last one goes the descriptor: before, that would drop its locks."""
        self._open, self._log = False, _NONE
        if {*self._siblings()} <= {self} and self._identity in _descriptors:
            os.close(_descriptors.pop(self._identity))
        _handles.discard(self)  # last: who is interrupted before does it again


def _descriptor(path: Path) -> int:
    """Open a file as it may be opened: only one to write to can be locked alone."""
    with suppress(OSError):
        return os.open(path, os.O_RDWR)
    return os.open(path, os.O_RDONLY)


def hold() -> None:
    """Close all, and keep others from opening any: one may be on its way out in another thread."""
    _files.acquire()
    for handle in _handles.copy():
        handle.close()


def let_go() -> None:
    """Let others open files again."""
    _files.release()


def forsake() -> None:
    """Begin anew in a child: wait for no thread, and never use what is still open.

    Nothing is, unless preparing the fork failed. Then it is SQLite's record of a parent's locks.
    """
    global _files  # noqa: PLW0603 (nobody lets go of the old one)
    _files = threading.RLock()
    for handle in _handles.copy():
        handle.leave(save=False)
