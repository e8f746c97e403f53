"""A copy of a ledger: whole, of one moment, on the disk, and replayed before it is relied on."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import LedgerError
from sfumato.ledger.connection import bereft, corrupt, exists, remember, unwritable
from sfumato.ledger.verify import verify

_WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
_BESIDE = ("-wal", "-journal", "-shm")  # what SQLite keeps beside a file


@contextmanager
def new_file(path: Path, *, copy: bool = False) -> Iterator[Path]:
    """Make a file under another name, which gets its own when the block is left.

    So there is never half a copy under that name, and nothing is written over. That other name is
    used once: what a killed process left under it stands in nobody's way.

    Args:
        path: its own name.
        copy: whether it is a copy of a ledger, of which refusals then speak.

    Raises:
        LedgerError: there is a file already, or it cannot be written.
    """
    taken, failed = (occupied, uncopied) if copy else (exists, unwritable)
    try:
        logs = [log for log in _beside(path)[:2] if log.exists() and log.stat().st_size]
        if path.exists():
            raise taken()
        if logs:  # SQLite would play it back into whatever takes that name
            raise bereft()
        file, name = tempfile.mkstemp(".part", f"{path.name}.", path.parent)  # for its owner alone
        os.close(file)
    except OSError:
        raise failed() from None
    part = Path(name)
    try:
        yield part
        _name(part, path)
        remember(path)
    except FileExistsError:
        raise taken() from None
    except OSError:
        raise failed() from None
    finally:
        for left in (part, *_beside(part)):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def occupied() -> LedgerError:
    """Return the error for a path that a copy cannot have."""
    return LedgerError(
        "there is already a file at this path, and a copy is never written over another file. "
        "Choose another path."
    )


def uncopied() -> LedgerError:
    """Return the error for a copy that cannot be written; the ledger is as it was."""
    return LedgerError(
        "the copy cannot be written there. Choose a path in a folder that exists and that this "
        "process may write to, on a disk with room."
    )


def _beside(path: Path) -> list[Path]:
    return [Path(f"{path}{end}") for end in _BESIDE]  # a folder such as "." has no name


def _name(part: Path, path: Path) -> None:
    """Give a file its name, unless there is another of that name."""
    try:
        os.link(part, path)  # not renamed: that would write over what came in the meantime
    except OSError as problem:
        if problem.errno not in _WITHOUT_LINKS:
            raise
        with _alone(path.parent):  # a disk that knows one name for each file
            if os.path.lexists(path):
                raise FileExistsError from None
            part.rename(path)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let others who name files in a folder wait."""
    if os.name != "posix":
        yield  # there, renaming writes over nothing
        return
    import fcntl

    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def check(path: Path, head: str) -> None:
    """Replay a copy.

    Raises:
        LedgerCorrupt: it does not pass.
    """
    if not verify(path, head).ok:
        raise corrupt()
