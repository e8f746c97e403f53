"""What a ledger says: the half of it that changes nothing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.accounting.filter import remaining
from sfumato.core.errors import LedgerCorrupt
from sfumato.ledger.account import inside, opened
from sfumato.ledger.admission import share_of, shares, total_limits
from sfumato.ledger.connection import corrupt
from sfumato.ledger.journal import Journal
from sfumato.ledger.order import Reservation, checked_name
from sfumato.ledger.structure import sound
from sfumato.ledger.verify import Verification, replay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.accounting.sums import Charge, Remaining, Sums
    from sfumato.core.budget import Budget
    from sfumato.core.unit import Unit
    from sfumato.ledger.connection import Connection
    from sfumato.ledger.event import Event
    from sfumato.ledger.scope import Scope


class View:
    """What every holder of a ledger may ask it; `Ledger` adds what changes it.

    Each answer is that of one moment. None is given from a file that lacks an entry which this
    process has seen in it.
    """

    def __init__(self, connection: Connection) -> None:
        """Read the header. Use `Ledger.create` or `Ledger.open` instead."""
        self._file = connection
        with self._file.transaction(write=False) as sqlite:
            journal = Journal(sqlite)
            self._header, origin = journal.header()
            first, fits = journal.entry(1), sound(sqlite)
        if not fits or (first is not None and first.prev_hash != origin):  # damaged since
            raise corrupt()
        self._seen = (0, origin)
        self._believed: dict[Event, None] = {}

    def remaining(self, analyst: str | None = None) -> Remaining:
        """Return what is left: of one analyst's share, or of the total; less what scopes hold.

        Raises:
            AnalystError: there are shares, and the analyst has none.
        """
        name = "" if analyst is None else checked_name("analyst", analyst)
        with self._journal(write=False) as journal:
            share = share_of(self._header, journal, name) if name else None
            total, own = journal.tallies(name)
            limits = share or total_limits(self._header, journal)[1]
            return remaining((own if share else total).sums(self._header.neighbors), limits)

    def spent(self, analyst: str | None = None) -> Sums:
        """Return what counts as spent, of one analyst or of all: charges, and what scopes hold."""
        name = "" if analyst is None else checked_name("analyst", analyst)
        with self._journal(write=False) as journal:
            total, own = journal.tallies(name)
            return (own if name else total).sums(self._header.neighbors)

    def history(self) -> list[Event]:
        """Return every entry, the first one first. Answers are not part of it."""
        with self._journal(write=False) as journal:
            return journal.history()

    def answers(self) -> list[tuple[Event, bytes]]:
        """Return every stored answer with the entry that reserved it, the first one first."""
        with self._journal(write=False) as journal:
            events = journal.history()
            done = [event for event in events if event.kind == "settled"]
            return [(events[(event.ref or 0) - 1], journal.answer(event)) for event in done]

    def pending(self) -> list[Reservation]:
        """Return what is reserved or touched and not over: in use right now, or left by a crash.

        What was touched can be abandoned, what was not can be given back. Whoever still works on it
        will then fail, and release nothing.
        """
        with self._journal(write=False) as journal:
            found = []
            for event in journal.pending():
                first = event if event.ref is None else journal.entry(event.ref)
                if first is None or first.charge is None:
                    raise corrupt()
                found.append(self._reservation(first, first.charge))
            return found

    def version(self, dataset: str) -> str | None:
        """Return the version that a dataset was last refreshed to; None if it never was."""
        with self._journal(write=False) as journal:
            events = journal.about("refreshed", checked_name("dataset", dataset))
            return events[-1].version if events else None

    def declarations(self, dataset: str) -> list[Event]:
        """Return what was declared about a dataset, the first one first.

        Each has its `declaration`, and the `moment` at which it was written.
        """
        with self._journal(write=False) as journal:
            return journal.about("declared", checked_name("dataset", dataset))

    def scopes(self) -> dict[Scope, Sums]:
        """Return the open scopes, and what was charged inside each: in use, or left by a crash."""
        with self._journal(write=False) as journal:
            found = filter(None, map(opened, journal.open_scopes()))
            neighbors = self._header.neighbors
            return {scope: inside(journal, scope)[1].sums(neighbors) for scope in found}

    def scope_remaining(self, scope: Scope) -> Remaining:
        """Return what may still be asked inside an open scope.

        Raises:
            RequestError: it is closed, or of another ledger.
        """
        with self._journal(write=False) as journal:
            return scope.remaining(inside(journal, scope)[1])

    def verify(self, head: str | None = None) -> Verification:
        """Replay all entries and say what is wrong; see `sfumato.ledger.verify`."""
        with self._file.transaction(write=False) as sqlite:
            return replay(sqlite, head)

    def close(self) -> None:
        """Close the file. A later use opens it again; a ledger in memory is gone."""
        self._file.close()

    @property
    def head(self) -> str:
        """The last entry's number and hash. Kept elsewhere, it proves a later rollback."""
        with self._journal(write=False) as journal:
            return journal.head

    @property
    def budget(self) -> Budget:
        """The limit for all analysts together, as it is now."""
        with self._journal(write=False) as journal:
            return total_limits(self._header, journal)[0]

    @property
    def analysts(self) -> dict[str, Budget]:
        """The shares of analysts, by name, as they are now; empty if there are none."""
        with self._journal(write=False) as journal:
            return shares(self._header, journal)

    @property
    def closed(self) -> bool:
        """Whether a fault waits for the owner."""
        with self._journal(write=False) as journal:
            return journal.closed()

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._header.unit

    @property
    def truncation_key(self) -> bytes:
        """The secret that orders rows where a unit is truncated."""
        return self._header.key

    @property
    def durable(self) -> bool:
        """Whether it survives the process."""
        return self._file.path is not None

    def __repr__(self) -> str:
        """Show where the ledger is, and what it protects."""
        where = repr(self._file.path.name) if self._file.path else "in memory, not durable"
        return f"Ledger({where}, {self._header.budget!r}, {self.unit!r})"

    @contextmanager
    def _journal(self, *, write: bool = True) -> Iterator[Journal]:
        """Run one transaction on a file that still contains what was last seen of it."""
        with self._file.transaction(write=write) as sqlite:
            journal = Journal(sqlite, self._believed)
            seq, hashed = self._seen
            entry = journal.entry(seq) if seq else None
            if hashed != (entry.hash if entry else None if seq else journal.header()[1]):
                raise LedgerCorrupt(
                    "the ledger does not contain an entry that it once had: it was rolled back "
                    "or exchanged, and no longer knows what was spent. Put the newest copy back."
                )
            yield journal
            last = journal.last()
        if last is not None:  # and it is on the disk now
            self._seen = max(self._seen, (last.seq, last.hash))  # other threads may have seen more

    def _reservation(self, event: Event, price: Charge, answer: bytes | None = None) -> Reservation:
        return Reservation(
            event.request or "", event.analyst, event.seq, event.hash, price, self.durable, answer
        )
