"""The tables: how entries are found and appended, inside a transaction that somebody else holds."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from typing import Any

from sfumato.core.codec import decode, encode
from sfumato.core.errors import CodecError, LedgerCorrupt, LedgerError
from sfumato.ledger.chain import link, linked, start
from sfumato.ledger.connection import corrupt, exists
from sfumato.ledger.event import COLUMNS, FORMAT, Event, LedgerHeader
from sfumato.ledger.tally import Tally

_APPLICATION = 0x5346554D  # "SFUM", which `file` shows
_NAMES = ", ".join(COLUMNS)
_SELECT = f"SELECT {_NAMES} FROM events"  # noqa: S608 (names of ours)
_INSERT = (
    f"INSERT INTO events ({_NAMES}, answer) "  # noqa: S608
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 1))})"
)
SCHEMA = (
    "CREATE TABLE header (id INTEGER PRIMARY KEY CHECK (id = 1), content BLOB NOT NULL)",
    # The answer comes last, so that its pages are not read when it is not asked for.
    "CREATE TABLE events (seq INTEGER PRIMARY KEY, prev_hash BLOB NOT NULL, hash BLOB NOT NULL,"
    " kind TEXT NOT NULL, state TEXT, analyst TEXT NOT NULL, request TEXT, dataset TEXT,"
    " version TEXT, plan TEXT, loss_bytes BLOB, charge_bytes BLOB, part BLOB, body BLOB,"
    " ref INTEGER, detail BLOB, sums BLOB NOT NULL, answer_hash BLOB, time INTEGER NOT NULL,"
    " answer BLOB)",
    "CREATE INDEX events_of_analyst ON events (analyst)",
    "CREATE INDEX events_of_request ON events (analyst, request)",
    "CREATE INDEX events_of_kind ON events (kind, analyst)",
    "CREATE INDEX events_of_dataset ON events (dataset, version) WHERE dataset IS NOT NULL",
    "CREATE INDEX events_with_answer ON events (body, analyst) WHERE state = 'settled'",
    "CREATE TRIGGER header_no_insert BEFORE INSERT ON header WHEN (SELECT count(*) FROM header) > 0"
    " BEGIN SELECT RAISE(ABORT, 'written once'); END",
    "CREATE TRIGGER header_no_update BEFORE UPDATE ON header"
    " BEGIN SELECT RAISE(ABORT, 'written once'); END",
    "CREATE TRIGGER header_no_delete BEFORE DELETE ON header"
    " BEGIN SELECT RAISE(ABORT, 'written once'); END",
    # Also refuses INSERT OR REPLACE, which would delete without asking the trigger below.
    "CREATE TRIGGER events_in_order BEFORE INSERT ON events"
    " WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)"
    " BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER events_no_update BEFORE UPDATE ON events"
    " BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER events_no_delete BEFORE DELETE ON events"
    " BEGIN SELECT RAISE(ABORT, 'append only'); END",
)


class Journal:
    """The entries of a ledger, as one transaction sees them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Work on a connection that is in a transaction."""
        self._connection = connection
        self._believed: set[Event] = set()  # the same few entries are read more than once

    def found(self, header: LedgerHeader) -> None:
        """Make the tables and write the header.

        Raises:
            LedgerError: there are tables already.
        """
        if self._one("SELECT count(*) FROM sqlite_master") != (0,):
            raise exists()
        for statement in (
            *SCHEMA,
            f"PRAGMA application_id = {_APPLICATION}",
            f"PRAGMA user_version = {FORMAT}",
        ):
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO header VALUES (1, ?)", (encode(header),))

    def header(self) -> tuple[LedgerHeader, bytes]:
        """Return the header, and the hash from which the chain starts.

        Raises:
            LedgerError: the file is of a newer format.
            LedgerCorrupt: the file is not a ledger.
        """
        if self._one("PRAGMA application_id") != (_APPLICATION,):
            raise corrupt()
        (written,) = self._one("PRAGMA user_version") or (0,)
        if written > FORMAT:
            raise LedgerError(
                "this ledger was written by a newer version of sfumato, whose entries this one "
                "would misread. Install that version or a later one; the file is unchanged."
            )
        row = self._one("SELECT content FROM header")
        try:
            header = decode(row[0] if row else b"")
        except (CodecError, TypeError):
            raise corrupt() from None
        if row is None or not isinstance(header, LedgerHeader) or header.format != written:
            raise corrupt()
        return header, start(row[0])

    def entry(self, seq: int) -> Event | None:
        """Return an entry by its number."""
        return self._event("WHERE seq = ?", seq)

    def last(self) -> Event | None:
        """Return the last entry."""
        return self._event("ORDER BY seq DESC LIMIT 1")

    def last_of_request(self, analyst: str, request: str) -> Event | None:
        """Return where a request stands."""
        tail = "WHERE analyst = ? AND request = ? ORDER BY seq DESC LIMIT 1"
        return self._event(tail, analyst, request)

    def last_of_kind(self, kind: str, analyst: str) -> Event | None:
        """Return the last entry of a kind."""
        tail = "WHERE kind = ? AND analyst = ? ORDER BY seq DESC LIMIT 1"
        return self._event(tail, kind, analyst)

    def answered(self, body: bytes, analyst: str | None = None) -> Event | None:
        """Return the first entry that answered this question, or that did so for one analyst."""
        tail = "WHERE state = 'settled' AND body = ?"
        if analyst is None:
            return self._event(f"{tail} AND kind = 'settled' ORDER BY seq LIMIT 1", body)
        return self._event(f"{tail} AND analyst = ? ORDER BY seq LIMIT 1", body, analyst)

    def answer(self, event: Event) -> bytes:
        """Return the bytes of a settled entry.

        Raises:
            LedgerCorrupt: they are not those that were stored.
        """
        row = self._one("SELECT answer FROM events WHERE seq = ?", event.seq)
        if (
            row is None
            or not isinstance(row[0], bytes)
            or hashlib.sha256(row[0]).digest() != event.answer_hash
        ):
            raise corrupt()
        return row[0]

    def closed(self) -> bool:
        """Say whether a fault waits for the owner."""
        row = self._one("SELECT max(seq) FROM events WHERE kind = 'fault'")
        fault = row[0] if row else None
        seen = self.last_of_kind("acknowledged", "")
        return fault is not None and (seen is None or seen.seq < fault)

    def raised_shares(self) -> list[Event]:
        """Return what analysts were given after the ledger was made, the first one first."""
        return self._events("WHERE kind = 'raised' AND analyst > '' ORDER BY seq")

    def has_version(self, dataset: str, version: str) -> bool:
        """Say whether a label was used before."""
        return (
            self._event("WHERE dataset = ? AND version = ? LIMIT 1", dataset, version) is not None
        )

    def last_refresh(self, dataset: str) -> Event | None:
        """Return the last entry that gave a dataset a new version."""
        # The plus keeps SQLite from walking through everything that was asked of the dataset.
        tail = "WHERE kind = 'refreshed' AND +dataset = ? ORDER BY seq DESC LIMIT 1"
        return self._event(tail, dataset)

    def tallies(self, analyst: str) -> tuple[Tally, Tally]:
        """Return the running sums of all and of one analyst.

        Raises:
            LedgerCorrupt: they cannot be read.
        """
        last = self.last()
        own = self._event("WHERE analyst = ? ORDER BY seq DESC LIMIT 1", analyst)
        return (last.tallies[0] if last else Tally(), own.tallies[1] if own else Tally())

    def pending(self) -> list[Event]:
        """Return the last entries of all requests that are reserved or touched."""
        return self._events(
            "WHERE state IN ('reserved', 'touched') AND seq = (SELECT max(other.seq) FROM events"
            " AS other WHERE other.analyst = events.analyst AND other.request = events.request)"
            " ORDER BY seq"
        )

    def history(self) -> list[Event]:
        """Return all entries."""
        return self._events("ORDER BY seq")

    def append(
        self,
        kind: str,
        total: Tally,
        own: Tally,
        answer: bytes | None = None,
        **columns: Any,
    ) -> Event:
        """Write the next entry and return it."""
        last = self.last()
        event = linked(
            Event(
                seq=last.seq + 1 if last else 1,
                prev_hash=last.hash if last else self.header()[1],
                hash=b"",
                kind=kind,
                sums=encode((total, own)),
                answer_hash=None if answer is None else hashlib.sha256(answer).digest(),
                time=time.time_ns() // 1000,
                **columns,
            )
        )
        row = [getattr(event, name) for name in COLUMNS]
        self._connection.execute(_INSERT, [*row, answer])
        self._believed.add(event)
        return event

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return row

    def _event(self, tail: str, *values: object) -> Event | None:
        found = self._events(tail, *values)
        return found[0] if found else None

    def _events(self, tail: str, *values: object) -> list[Event]:
        """Read entries, none of which is believed unless its hash fits its content."""
        rows = self._connection.execute(f"{_SELECT} {tail}", values).fetchall()
        events = [Event(**dict(zip(COLUMNS, row, strict=True))) for row in rows]
        if not all(event in self._believed or holds(event) for event in events):
            raise LedgerCorrupt(
                "an entry of the ledger was changed after it was written, so the sums cannot be "
                "trusted and nothing is released. Run verify to see which, and go back to a copy "
                "that passes."
            )
        self._believed.update(events[:1])
        return events


def holds(event: Event) -> bool:
    """Say whether an entry is what it was when it was written, and can be read."""
    try:
        return link(event) == event.hash and len(event.tallies) == 2
    except (CodecError, TypeError, ValueError, AttributeError):
        return False
