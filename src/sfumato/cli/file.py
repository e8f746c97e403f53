"""Writing a file whole or not at all, and never over what somebody still needs."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.session.contract import Contract


def save(path: Path, content: bytes, *, force: bool = False, spare: Iterable[Path] = ()) -> None:
    """Write a file.

    Args:
        path: where.
        content: all of it.
        force: replace a file that exists.
        spare: files that are never replaced: data, ledgers, contracts.

    Raises:
        InputError: there is a file, or none can be written there.
    """
    check(path, spare)
    if path.is_dir() or (path.exists() and not force):
        what = "is a folder" if path.is_dir() else "exists already, and somebody may need it"
        mend = "Pass --out with another file" + ("" if path.is_dir() else ", or --force")
        raise InputError(f"{path.name!r} {what}. {mend}.")
    replace(path, content)


def check(path: Path, spare: Iterable[Path], option: str = "--out") -> None:
    """Refuse to write over a file that is needed, or over a ledger, whosever it is.

    Args:
        path: where one would write.
        spare: files that are never replaced.
        option: what named the file.

    Raises:
        InputError: it is one of those.
    """
    from sfumato.release.path import is_among, is_database

    if is_database(path) or is_among(path, {Path(os.path.realpath(other)) for other in spare}):
        raise InputError(
            f"{path.name!r} is data, a contract or a ledger, and writing there would destroy it. "
            f"Pass {option} with another file."
        )


def precious(contract: Contract, path: Path) -> list[Path]:
    """Return what no command may write over: the contract, its data and its ledger."""
    from sfumato.session.opening import kept_files

    sources = [table.location for table in contract.tables.values()]
    return [path, *kept_files([*sources, *contract.public.values(), contract.ledger])]


def replace(path: Path, content: bytes) -> None:
    """Put a file in place of another in one step, with the rights that it had.

    Raises:
        InputError: it cannot be written.
    """
    path = path.resolve()  # a link stays one
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
        try:
            with os.fdopen(number, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(path.stat().st_mode if path.exists() else 0o666 & ~_mask())
            Path(name).replace(path)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError:
        raise InputError(
            f"cannot write {path.name!r}. Choose a folder that exists and that you may write to."
        ) from None


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
