"""Replay a ledger from its first entry and say what is wrong with it.

The replay shares no arithmetic with the writing side but the filter's: states, sums, limits and
stored answers are worked out anew from the entries alone.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.accounting.sums import Charge, Limits
from sfumato.core.codec import decode, encode
from sfumato.core.errors import SfumatoError
from sfumato.ledger.chain import link, read_head, write_head
from sfumato.ledger.connection import Connection, missing
from sfumato.ledger.event import BEFORE, COLUMNS, OWNERS, STATES, Event
from sfumato.ledger.journal import SCHEMA, Journal
from sfumato.ledger.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.ledger.event import LedgerHeader

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
    if not Path(path).is_file():
        raise missing()
    connection = Connection(Path(path), timeout=30.0, read_only=True)
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
    state = _Replay(header, origin)
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
    if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
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


@dataclass(slots=True)
class _Request:
    """Where a request stands."""

    state: str | None = None
    body: bytes | None = None
    reserved: int | None = None
    charge: Charge | None = None


@dataclass(slots=True)
class _Replay:
    """Everything that the entries so far imply."""

    header: LedgerHeader
    last: bytes
    seq: int = 0
    total: Tally = field(default_factory=Tally)
    own: dict[str, Tally] = field(default_factory=dict)
    requests: dict[tuple[str, str], _Request] = field(default_factory=dict)
    answers: dict[int, bytes] = field(default_factory=dict)  # entry of an answer -> its question
    known_to: set[tuple[str, bytes]] = field(default_factory=set)
    versions: set[tuple[str, str]] = field(default_factory=set)
    limits: Limits | None = None
    shares: dict[str, Limits] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        self.limits = self.header.limits
        self.shares = {name: limits for name, _, limits in self.header.analysts}

    def step(self, event: Event, answer: bytes | None) -> Iterator[str]:
        """Take one entry in, and yield what is wrong with it."""
        if not (isinstance(event.seq, int) and isinstance(event.hash, bytes)):
            yield "it cannot be read"
            return
        if event.seq != self.seq + 1:
            yield f"entries are missing after {self.seq}"
        if event.prev_hash != self.last:
            yield "it does not follow the entry before it"
        self.seq, self.last = event.seq, event.hash
        try:
            if link(event) != event.hash:
                yield "it was changed after it was written"
            if (event.answer_hash is None) != (answer is None) or (
                answer is not None and hashlib.sha256(answer).digest() != event.answer_hash
            ):
                yield "its answer was changed after it was written"
            if (event.answer_hash is not None) != (event.kind == "settled"):
                yield "an answer belongs to a settled request"
            yield from self._content(event)
            if event.tallies != (self.total, self.own.get(event.analyst, Tally())):
                yield "its running sums do not add up"
        except (SfumatoError, TypeError, ValueError, AttributeError):
            yield "it cannot be read"

    def _content(self, event: Event) -> Iterator[str]:
        if event.kind in BEFORE and event.request is not None:
            yield from self._request(event)
        elif event.kind not in (*OWNERS, "fault"):
            yield "nothing like it can happen"
        if event.kind == "raised":
            yield from self._raise(event)
        if event.kind == "refreshed" and (event.dataset, event.version) in self.versions:
            yield "its version label was used before"
        if event.dataset is not None and event.version is not None:
            self.versions.add((event.dataset, event.version))
        if event.kind in ("fault", "acknowledged"):
            self.closed = event.kind == "fault"

    def _raise(self, event: Event) -> Iterator[str]:
        _, limits = decode(event.detail or b"")
        spent = self.own.get(event.analyst, Tally()) if event.analyst else self.total
        if not limits.admit(spent.sums(self.header.neighbors)):
            yield "its budget is below what had been spent"
        if event.analyst:
            self.shares[event.analyst] = limits
        else:
            self.limits = limits

    def _request(self, event: Event) -> Iterator[str]:
        request = self.requests.setdefault((event.analyst, event.request or ""), _Request())
        if request.state not in BEFORE[event.kind] or event.state != STATES[event.kind]:
            yield "this step does not follow from where its request stood"
        if request.body not in (None, event.body):
            yield "its request is about something else"
        if self.closed and event.kind in ("reserved", "given", "touched"):
            yield "the data was closed"
        if event.kind in ("reserved", "given"):
            yield from self._ask(event, request)
        elif event.ref != request.reserved:
            yield "it refers to another reservation"
        if event.kind == "returned":
            if event.charge is None or event.charge != request.charge:
                yield "it gives back another charge than was made"
            else:
                self.total = self.total.minus(event.charge)
                own = self.own.get(event.analyst, Tally())
                self.own[event.analyst] = own.minus(event.charge)
        if event.kind == "settled" and event.body is not None:
            self.answers[event.seq] = event.body
            self.known_to.add((event.analyst, event.body))
        request.state, request.body = event.state, event.body

    def _ask(self, event: Event, request: _Request) -> Iterator[str]:
        """Check what is charged for, and that it was admitted."""
        given = event.kind == "given"
        if event.body != _body(event):
            yield "its question is not the one that it is filed under"
        free = given and (event.analyst, event.body) in self.known_to
        if given and self.answers.get(event.ref or 0) != event.body:
            yield "it gives the answer to another question"
        if (event.charge_bytes is None) != free:
            yield "its charge is missing, or was not due"
        request.reserved, request.charge = event.seq, event.charge
        if event.loss is None:
            yield "it does not say what is given away"
        elif event.charge is not None:
            if {event.charge.neighbors, event.loss.neighbors} != {self.header.neighbors}:
                yield "its charge holds under another neighbor relation"
            if not given:
                self.total = self.total.plus(event.charge)
            self.own[event.analyst] = self.own.get(event.analyst, Tally()).plus(event.charge)
        if event.body is not None and given:
            self.known_to.add((event.analyst, event.body))
        yield from self._admission(event.analyst, total=not given)

    def _admission(self, analyst: str, *, total: bool) -> Iterator[str]:
        """Check the sums against the limits of that time."""
        neighbors = self.header.neighbors
        if total and (self.limits is None or not self.limits.admit(self.total.sums(neighbors))):
            yield "the budget does not admit it"
        if self.shares and analyst not in self.shares:
            yield "its analyst has no share"
        own = self.own.get(analyst, Tally())
        if analyst in self.shares and not self.shares[analyst].admit(own.sums(neighbors)):
            yield "its analyst's share does not admit it"


def _body(event: Event) -> bytes | None:
    """Return the hash of what a request asks for; a free gift keeps no charge to check it by."""
    if event.charge_bytes is None:
        return event.body
    asked = (
        event.dataset,
        event.version,
        event.plan,
        event.loss_bytes,
        event.charge_bytes,
        event.part,
    )
    return hashlib.sha256(encode(asked)).digest()
