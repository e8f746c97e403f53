"""The chain of hashes: each entry vouches for all before it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.core.codec import encode
from sfumato.core.errors import InputError
from sfumato.ledger.event import COLUMNS

if TYPE_CHECKING:
    from sfumato.ledger.event import Event

_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)


def start(header: bytes) -> bytes:
    """Return the hash from which a chain starts: that of the header's canonical bytes."""
    return hashlib.sha256(header).digest()


def link(event: Event) -> bytes:
    """Return the SHA-256 of an entry: of all its columns but the hash itself.

    The hash of the entry before is one of the columns, and the hash of the answer another.
    """
    content = {name: getattr(event, name) for name in COLUMNS if name != "hash"}
    return hashlib.sha256(encode(content)).digest()


def linked(event: Event) -> Event:
    """Return the entry with its hash."""
    return replace(event, hash=link(event))


def write_head(seq: int, hashed: bytes) -> str:
    """Write the number and the hash of an entry as one word, to be kept elsewhere.

    Example:
        >>> write_head(118, bytes(32))[:12]
        '118:00000000'
    """
    return f"{seq}:{hashed.hex()}"


def read_head(head: str) -> tuple[int, bytes]:
    """Read what `write_head` wrote.

    Raises:
        InputError: it is not such a word.
    """
    found = _HEAD.fullmatch(head) if isinstance(head, str) else None
    if found is None:
        raise InputError(
            "a head is written number:hash, with the 64 hexadecimal digits that ledger.head "
            "shows. Copy it whole."
        )
    return int(found[1]), bytes.fromhex(found[2])
