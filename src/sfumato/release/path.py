"""Where answers are written."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from sfumato.core.errors import InputError
from sfumato.core.path import path_of

# How a ledger begins, and the log that SQLite keeps beside one that is open.
_DATABASES = (b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside it
_held: dict[tuple[int, int], int] = {}  # descriptors of databases that were looked at, by file
_needed: WeakKeyDictionary[Any, set[Path]] = WeakKeyDictionary()  # by who needs them


def keep(owner: Any, files: set[Path]) -> None:
    """Let nothing be written over resolved files as long as their owner is there and keeps them."""
    _needed[owner] = files


def new_path(given: Any) -> Path:
    """Return the path of a file to write.

    Raises:
        InputError: it is not a path, no file can be written there, or there is a ledger, or the
            data or contract of an open session, which nothing may be written over.
    """
    path = path_of(given)
    if not is_writable(path):
        raise InputError(
            f"{path.name or str(path)!r} cannot be written: it is a folder, or its folder is "
            f"missing, or this process may not write there. Choose a file in a folder that exists "
            f"and that you may write to."
        )
    if is_database(path):
        raise InputError(
            f"{path.name!r} is a ledger or another database, and writing there would destroy it. "
            f"Choose another file."
        )
    if any(is_among(path, files) for files in _all_needed()):
        raise InputError(
            f"{path.name!r} is data, a contract or a ledger, and writing there would destroy it. "
            f"Pass another file."
        )
    return path


def _all_needed() -> list[set[Path]]:
    # The references are listed in one step, in which no other thread can open a session.
    owners = [reference() for reference in _needed.keyrefs()]
    return [_needed.get(owner, set()) for owner in owners if owner is not None]


def is_among(path: Path, files: Collection[Path]) -> bool:
    """Return whether a path leads to one of some resolved files: as a hard link, too."""
    try:
        path = path.resolve()
    except (OSError, RuntimeError):  # links in a circle lead nowhere
        return False
    found = _identity(path)
    return path in files or (found is not None and found in map(_identity, files))


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def is_writable(path: Path) -> bool:
    """Return whether a file can be written: in a folder that exists, and not over a folder."""
    try:
        path = path.resolve()  # a link is written through
        place = path if path.exists() else path.parent
        return not path.is_dir() and path.parent.is_dir() and os.access(place, os.W_OK)
    except (OSError, RuntimeError):  # too long; not to be looked at; links in a circle
        return False


def is_database(path: Path) -> bool:
    """Return whether there is a ledger, what belongs to one, or another database of that kind."""
    with suppress(OSError, RuntimeError):
        path = path.resolve()
        whole = next(
            (path.name.removesuffix(end) for end in _BESIDE if path.name.endswith(end)), ""
        )
        if whole and is_database(path.with_name(whole)):  # not to be opened either
            return True
        return path.is_file() and _begins(path)  # to read from a pipe would wait
    return False


def _begins(path: Path) -> bool:
    """Return whether a file begins as a database.

    If it does, it is never closed: closing any descriptor of a file drops all locks that this
    process has on it. Another one would take a ledger that is open here for one that nobody uses,
    remove its log, and what is charged here would be written to a file that has no name.
    """
    status = path.stat()
    known = status.st_dev, status.st_ino
    file = _held[known] if known in _held else os.open(path, os.O_RDONLY)
    length = len(_DATABASES[0])
    if hasattr(os, "pread"):  # threads and forked processes share the place that lseek sets
        begin = os.pread(file, length, 0)
    else:
        os.lseek(file, 0, os.SEEK_SET)
        begin = os.read(file, length)
    found = begin.startswith(_DATABASES)
    if found and os.name == "posix":
        _held[known] = file
    elif known not in _held:
        os.close(file)
    return found
