"""The tables: how entries are found and appended, inside a transaction that somebody else holds."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from sfumato.core.codec import decode, encode
from sfumato.core.errors import CodecError, LedgerCorrupt, LedgerError
from sfumato.ledger.branch import Branch, Peaks
from sfumato.ledger.chain import link, linked, start, write_head
from sfumato.ledger.connection import corrupt, exists
from sfumato.ledger.event import APPLICATION, COLUMNS, FORMAT, Event, LedgerHeader
from sfumato.ledger.label import pairs
from sfumato.ledger.refusal import other_width
from sfumato.ledger.tally import Tally

_REMEMBERED = 64  # entries
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
    " version TEXT, plan TEXT, loss_bytes BLOB, charge_bytes BLOB, part BLOB, family TEXT,"
    " scope INTEGER, body BLOB, ref INTEGER, detail BLOB, sums BLOB NOT NULL, peaks_bytes BLOB,"
    " answer_hash BLOB, time INTEGER NOT NULL, answer BLOB)",
    "CREATE INDEX events_of_analyst ON events (analyst)",
    "CREATE INDEX events_of_request ON events (analyst, request)",
    "CREATE INDEX events_of_kind ON events (kind, analyst)",
    "CREATE INDEX events_of_dataset ON events (dataset, version) WHERE dataset IS NOT NULL",
    "CREATE INDEX events_with_answer ON events (body, analyst) WHERE state = 'settled'",
    "CREATE INDEX events_of_scope ON events (scope) WHERE scope IS NOT NULL",
    *(
        f"CREATE INDEX peaks_of_{'_'.join(columns)} ON events ({', '.join(columns)})"
        " WHERE peaks_bytes IS NOT NULL"
        for part in ("family", "part")
        for columns in ((part,), (part, "analyst"), (part, "scope"))
    ),
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

    def __init__(
        self, connection: sqlite3.Connection, believed: dict[Event, None] | None = None
    ) -> None:
        """Work on a connection that is in a transaction.

        Args:
            connection: the connection.
            believed: entries whose hash was seen to fit, and that need not be checked again as long
                as they read the same: the last few are read by every request.
        """
        self._connection = connection
        self._believed = {} if believed is None else believed
        self._end: Event | None = None  # the last entry, once it was read

    def found(self, header: LedgerHeader) -> None:
        """Make the tables and write the header.

        Raises:
            LedgerError: there are tables already.
        """
        if self._one("SELECT count(*) FROM sqlite_master") != (0,):
            raise exists()
        for statement in (
            *SCHEMA,
            f"PRAGMA application_id = {APPLICATION}",
            f"PRAGMA user_version = {FORMAT}",
        ):
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO header VALUES (1, ?)", (encode(header),))

    def header(self) -> tuple[LedgerHeader, bytes]:
        """Return the header, and the hash from which the chain starts.

        Raises:
            LedgerError: the file is of a newer format, or of one from before the first release.
            LedgerCorrupt: the file is not a ledger.
        """
        if self._one("PRAGMA application_id") != (APPLICATION,):
            raise corrupt()
        (written,) = self._one("PRAGMA user_version") or (0,)
        if written > FORMAT:
            raise LedgerError(
                "this ledger was written by a newer version of sfumato, whose entries this one "
                "would misread. Install that version or a later one; the file is unchanged."
            )
        if 0 < written < FORMAT:
            raise LedgerError(
                "this ledger was written before charges of parts and scopes were counted, in a "
                "format that this version does not read. Use the version that wrote it, or begin "
                "a new ledger with a budget reduced by what this one has spent."
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

    def last(self, **columns: object) -> Event | None:
        """Return the last entry, or the last that has these values."""
        if not columns:
            self._end = self._end or self._event("ORDER BY seq DESC LIMIT 1")
            return self._end
        where = "".join(f" AND {name} = ?" for name in columns)
        return self._event(f"WHERE 1{where} ORDER BY seq DESC LIMIT 1", *columns.values())

    @property
    def head(self) -> str:
        """The last entry's number and hash, as one word."""
        last = self.last()
        return write_head(*((last.seq, last.hash) if last else (0, self.header()[1])))

    def peaks(self, branch: Branch, **columns: object) -> tuple[Peaks, ...]:
        """Return what accounts hold of a part and its family, by the last entries with values.

        The largest of the family are those of its last entry, the part's sums those of its own.

        Raises:
            RequestError: the family was charged with another width.
        """
        where = "".join(f" AND {name} = ?" for name in columns)
        found = []
        for name, value in (("family", branch.family), ("part", encode(branch))):
            tail = f"WHERE peaks_bytes IS NOT NULL AND {name} = ?{where} ORDER BY seq DESC LIMIT 1"
            event = self._event(tail, value, *columns.values())
            if event and event.branch and event.branch.width != branch.width:
                raise other_width()
            found.append(event.peaks if event else (Peaks(),) * 4)
        return tuple(
            Peaks(mine.part, family.largest)
            for family, mine in zip(found[0], found[1], strict=False)
        )

    def parts(self, branch: Branch, **columns: object) -> list[tuple[Peaks, ...]]:
        """Return what accounts hold of every other part of a family."""
        where = "".join(f" AND {name} = ?" for name in columns)
        newest = (
            "SELECT max(seq) FROM events WHERE peaks_bytes IS NOT NULL AND family = ?"  # noqa: S608
            f" AND part != ?{where} GROUP BY part"
        )
        values = (branch.family, encode(branch), *columns.values())
        return [event.peaks for event in self._events(f"WHERE seq IN ({newest})", *values)]

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
        seen = self.last(kind="acknowledged", analyst="")
        return fault is not None and (seen is None or seen.seq < fault)

    def raised_shares(self) -> list[Event]:
        """Return what analysts were given after the ledger was made, the first one first."""
        return self._events("WHERE kind = 'raised' AND analyst > '' ORDER BY seq")

    def has_version(self, dataset: str, version: str) -> bool:
        """Say whether a label was used before."""
        if self._event("WHERE dataset = ? AND version = ? LIMIT 1", dataset, version) is not None:
            return True
        # Of questions about several datasets their lists are recorded: '[' and what follows it.
        lists = "SELECT DISTINCT dataset, version FROM events WHERE dataset BETWEEN '[' AND '\\'"
        together = self._connection.execute(lists).fetchall()
        return any((dataset, version) in pairs(*each) for each in together)

    def about(self, kind: str, dataset: str) -> list[Event]:
        """Return the entries of a kind about a dataset: refreshed or declared."""
        # The plus keeps SQLite from walking through everything that was asked of the dataset.
        return self._events("WHERE kind = ? AND +dataset = ? ORDER BY seq", kind, dataset)

    def open_scopes(self) -> list[Event]:
        """Return the entries that opened a scope which is still open."""
        return self._events(
            "WHERE kind = 'opened' AND NOT EXISTS (SELECT 1 FROM events AS other"
            " WHERE other.scope = events.seq AND other.kind = 'freed') ORDER BY seq"
        )

    def tallies(self, analyst: str) -> tuple[Tally, Tally]:
        """Return the running sums of all and of one analyst.

        Raises:
            LedgerCorrupt: they cannot be read.
        """
        last, own = self.last(), self.last(analyst=analyst)
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

    def copy(self, path: Path) -> str:
        """Write all of it to an empty file, and return its head."""
        with closing(sqlite3.connect(path)) as target:
            self._connection.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, and no other beside it
        return self.head

    def append(
        self,
        kind: str,
        tallies: tuple[Tally, ...],
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
                sums=encode(tallies),
                answer_hash=None if answer is None else hashlib.sha256(answer).digest(),
                time=time.time_ns() // 1000,
                **columns,
            )
        )
        row = [getattr(event, name) for name in COLUMNS]
        self._connection.execute(_INSERT, [*row, answer])
        self._believe(event)
        self._end = event
        return event

    def _believe(self, event: Event) -> None:
        self._believed.pop(event, None)  # so that what is read often stays
        self._believed[event] = None
        while len(self._believed) > _REMEMBERED:
            del self._believed[next(iter(self._believed))]

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
        for event in events[:1]:
            self._believe(event)
        return events


def holds(event: Event) -> bool:
    """Say whether an entry is what it was when it was written, and can be read."""
    try:
        if link(event) != event.hash or len(event.tallies) not in (2, 4):
            return False
        return event.peaks_bytes is None or len(event.peaks) == len(event.tallies)
    except (CodecError, TypeError, ValueError, AttributeError):
        return False
