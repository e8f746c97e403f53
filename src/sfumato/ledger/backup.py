"""A copy of a ledger: whole, of one moment, on the disk, and replayed before it is relied on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.ledger.connection import corrupt, exists, remember, unwritable
from sfumato.ledger.verify import verify


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Make a file under another name, which gets its own when the block is left.

    So there is never half a copy under that name, and nothing is written over. That other name is
    used once: what a killed process left under it stands in nobody's way.

    Raises:
        LedgerError: there is a file already, or it cannot be written.
    """
    try:
        if path.exists():
            raise exists()
        file, name = tempfile.mkstemp(".part", f"{path.name}.", path.parent)  # for its owner alone
        os.close(file)
    except OSError:
        raise unwritable() from None
    part = Path(name)
    try:
        yield part
        os.link(part, path)  # not renamed: that would write over what came in the meantime
        remember(path)
    except FileExistsError:
        raise exists() from None
    except OSError:
        raise unwritable() from None
    finally:
        part.unlink(missing_ok=True)


def check(path: Path, head: str) -> None:
    """Replay a copy.

    Raises:
        LedgerCorrupt: it does not pass.
    """
    if not verify(path, head).ok:
        raise corrupt()
