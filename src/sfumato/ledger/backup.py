"""A copy of a ledger: whole, of one moment, on the disk, and replayed before it is relied on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sfumato.ledger.connection import (
    Connection,
    corrupt,
    exists,
    remember,
    translated,
    unwritable,
)
from sfumato.ledger.verify import verify


def copy(source: sqlite3.Connection, path: Path, head: str) -> None:
    """Write the ledger behind a connection to a new file, and verify it there.

    It is written under another name first, so that there is never half a copy under this one.

    Args:
        source: a connection in a transaction.
        path: where the copy will be.
        head: its head.

    Raises:
        LedgerError: there is a file already, or it cannot be written.
        LedgerCorrupt: what was written does not pass; nothing is left of it.
    """
    if path.exists():
        raise exists()
    part = path.with_name(f"{path.name}.part")
    Connection(part, timeout=0.0).make()
    try:
        with closing(sqlite3.connect(part)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, and no other beside it
        if not verify(part, head).ok:
            raise corrupt()
        part.rename(path)
        remember(path)
    except (sqlite3.Error, UnicodeError) as problem:
        raise translated(problem) from None
    except OSError:
        raise unwritable() from None
    finally:
        part.unlink(missing_ok=True)
