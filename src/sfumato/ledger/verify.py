"""Replay a ledger from its first entry and say what is wrong with it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.ledger.chain import read_head, write_head
from sfumato.ledger.connection import Connection, existing
from sfumato.ledger.event import COLUMNS, Event
from sfumato.ledger.journal import SCHEMA, Journal
from sfumato.ledger.replay import Replay
from sfumato.ledger.structure import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 100  # problems that are worth listing
_READ = f"SELECT {', '.join(COLUMNS)}, answer FROM events ORDER BY seq"  # noqa: S608 (our names)


@dataclass(frozen=True, slots=True)
class Verification:
    """What a replay found.

    Attributes:
        entries: how many entries there are.
        head: the number and hash of the last one.
        problems: what is wrong, the first hundred; empty if nothing is.
    """

    entries: int
    head: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        """Say it in one line a problem."""
        if self.ok:
            return f"{self.entries} entries, all in order; head {self.head}"
        return "\n".join(self.problems)


def verify(path: str | Path, head: str | None = None) -> Verification:
    """Check every entry of a ledger; the file is only read.

    Finds entries that were changed, moved, removed or made up, running sums that do not add up,
    steps that do not follow, charges that the budget does not admit, and missing guards. Against a
    head that was kept elsewhere it also finds a ledger that was rolled back or replaced.

    Args:
        path: the file.
        head: what ``ledger.head`` said some time ago.

    Raises:
        LedgerError: there is no file, or a newer version wrote it.
        LedgerCorrupt: it is not a ledger, or too damaged to be read.
    """
    connection = Connection(existing(path), timeout=30.0, read_only=True)
    try:
        with connection.transaction(write=False) as sqlite:
            return replay(sqlite, head)
    finally:
        connection.close()


def replay(connection: sqlite3.Connection, head: str | None = None) -> Verification:
    """Check the ledger behind a connection that is in a transaction."""
    kept = None if head is None else read_head(head)
    header, origin = Journal(connection).header()
    problems = list(_structure(connection))
    state = Replay(header, origin)
    hashes = {0: origin}
    for event, answer in _read(connection, problems):
        problems += [f"entry {event.seq}: {what}." for what in state.step(event, answer)]
        if kept is not None and event.seq == kept[0]:
            hashes[event.seq] = event.hash
        if len(problems) > _MOST:
            break
    if kept is not None and hashes.get(kept[0]) != kept[1]:
        problems.append(
            f"entry {kept[0]} is not the one that was remembered, or is gone: the ledger was "
            f"rolled back or exchanged."
        )
    return Verification(state.seq, write_head(state.seq, state.last), tuple(problems[:_MOST]))


def _structure(connection: sqlite3.Connection) -> Iterator[str]:
    """Check the pages of the file, its tables and its guards."""
    if not whole(connection):
        yield "the pages of the file are damaged."
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(sql for (sql,) in found) != sorted(SCHEMA):
        yield "tables, or the guards that keep entries from being changed, are not as made."


def _read(
    connection: sqlite3.Connection, problems: list[str]
) -> Iterator[tuple[Event, bytes | None]]:
    """Read entries until the file cannot be read any more."""
    try:
        for *row, answer in connection.execute(_READ):
            yield Event(**dict(zip(COLUMNS, row, strict=True))), answer
    except sqlite3.DatabaseError:
        problems.append("the entries cannot be read to the end.")
