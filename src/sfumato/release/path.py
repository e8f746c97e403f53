"""Where answers are written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.core.errors import InputError
from sfumato.core.path import path_of

_DATABASE = b"SQLite format 3\0"  # how a ledger begins


def new_path(given: Any) -> Path:
    """Return the path of a file to write.

    Raises:
        InputError: it is not a path, or there is a ledger, which nothing may be written over.
    """
    path, begins = path_of(given), b""
    with suppress(OSError):
        if path.is_file():  # to read from a pipe would wait
            with path.open("rb") as file:
                begins = file.read(len(_DATABASE))
    if begins == _DATABASE:
        raise InputError(
            f"{path.name!r} is a ledger or another database, and writing there would destroy it. "
            f"Choose another file."
        )
    return path
