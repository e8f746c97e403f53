"""The ledger: charge before reading, never overspend, never answer the same request twice."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.accounting.filter import remaining
from sfumato.accounting.sums import Charge, Limits, Remaining
from sfumato.core.budget import Budget
from sfumato.core.codec import encode
from sfumato.core.errors import (
    BudgetExceeded,
    InputError,
    LedgerCorrupt,
    UnitError,
)
from sfumato.ledger.admission import admitted, share_of, total_limits
from sfumato.ledger.chain import read_head, write_head
from sfumato.ledger.connection import Connection, corrupt, missing
from sfumato.ledger.event import BEFORE, FORMAT, STATES, Event, LedgerHeader
from sfumato.ledger.journal import Journal
from sfumato.ledger.order import Order, Reservation, check_relation, checked_name
from sfumato.ledger.refusal import (
    abandoned,
    closed,
    other_body,
    under_way,
    used_version,
    wrong_state,
)
from sfumato.ledger.verify import Verification, replay
from sfumato.noise.rng import system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sfumato.core.loss import Loss
    from sfumato.core.unit import Unit

_TIMEOUT = 30.0
_KEY_WORDS = 4  # 256 bits


class Ledger:
    """The record of every charge against one population's budget.

    Make one with `create`, use one with `open`. All threads and processes of a machine may use one
    file at once. Every method that changes something is one transaction, and it is on the disk when
    the method returns; if it raises, nothing was changed.

    A request goes from *reserved* to *touched* to *settled* or *abandoned*. Only one that was never
    touched gives its charge back.

    Example:
        >>> from sfumato.core.loss import Pure
        >>> from sfumato.core.unit import Unit
        >>> ledger = Ledger.create(None, Budget(epsilon=1), Unit.row())
        >>> granted = ledger.reserve("q1", None, "trips", "2026-11", "plan", Pure("0.4"))
        >>> ledger.touch(granted)
        >>> ledger.settle(granted, b"a public release")
        >>> print(ledger.remaining())
        ε = 0.6
    """

    def __init__(self, connection: Connection) -> None:
        """Read the header. Use `create` or `open` instead."""
        self._file = connection
        with self._file.transaction(write=False) as sqlite:
            self._header, origin = Journal(sqlite).header()
        self._seen = (0, origin)

    @classmethod
    def create(
        cls,
        path: str | Path | None,
        budget: Budget,
        unit: Unit,
        *,
        analysts: Mapping[str, Budget] | None = None,
        timeout: float = _TIMEOUT,
    ) -> Ledger:
        """Make a new ledger.

        Args:
            path: where the file will be, on a disk of this machine; None keeps the ledger in
                memory, where it is not durable.
            budget: the limit for all analysts together.
            unit: who is protected, and what neighboring means; neither can be changed later.
            analysts: shares by name. With any share, only those who are listed may ask.
            timeout: how many seconds to wait while other processes write.

        Raises:
            LedgerError: there is a file already, or none can be written there.
        """
        header = LedgerHeader(
            FORMAT,
            budget,
            Limits.of(budget),
            unit,
            tuple(
                (checked_name("analyst", name), share, Limits.of(share))
                for name, share in sorted((analysts or {}).items())
            ),
            system().words(_KEY_WORDS).tobytes(),
            time.time_ns() // 1000,
        )
        connection = Connection(None if path is None else Path(path), timeout=timeout)
        connection.make()
        with connection.transaction(write=True) as sqlite:
            Journal(sqlite).found(header)
        return cls(connection)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        unit: Unit | None = None,
        head: str | None = None,
        timeout: float = _TIMEOUT,
        read_only: bool = False,
    ) -> Ledger:
        """Open a ledger.

        Args:
            path: the file.
            unit: the unit that the caller declares; refused if the ledger protects another.
            head: what `head` once said; refused if the file does not contain that entry.
            timeout: how many seconds to wait while other processes write.
            read_only: only look.

        Raises:
            LedgerError: there is no file, or a newer version wrote it.
            LedgerCorrupt: it is not a ledger, is damaged, or was rolled back.
            UnitError: it protects another unit.
        """
        if not Path(path).is_file():
            raise missing()
        ledger = cls(Connection(Path(path), timeout=timeout, read_only=read_only))
        if unit is not None and _meaning(unit) != _meaning(ledger.unit):
            raise UnitError(
                "this ledger protects another unit, or under another neighbor relation, and what "
                "it has spent would mean something else. Declare the unit as it was, or begin "
                "with new data, a new budget and a new ledger."
            )
        if head is not None:
            ledger._seen = read_head(head)
        with ledger._journal(write=False):
            return ledger

    def reserve(
        self,
        request_id: str,
        analyst: str | None,
        dataset: str,
        version: str,
        plan_digest: str,
        loss: Loss,
        charge: Charge | None = None,
        part: Any = None,
    ) -> Reservation:
        """Charge for a release, before anything is read; or find that it was paid for before.

        A question that was answered before, with the same dataset, version, plan and price, is not
        asked again: the reservation carries the stored answer. It costs the total nothing; to an
        analyst who did not have it yet it costs their share.

        Args:
            request_id: an id of the analyst's choice; the same id is the same request for ever.
            analyst: who asks; None if the ledger has no shares.
            dataset: the dataset that is asked.
            version: the public label of its version.
            plan_digest: a digest of everything that determines the law of the answer.
            loss: what the release will give away.
            charge: its price, if a δ was chosen for it; else it is computed.
            part: the part of the data, as a canonical value; recorded. Charges of parts add up.

        Raises:
            BudgetExceeded: it does not fit the total, or the analyst's share.
            AnalystError: there are shares, and the analyst has none.
            RequestError: the id was used for another question, is under way, or was abandoned.
            DataClosed: a fault waits for the owner.
            LedgerError: the ledger cannot be written; nothing was charged.
        """
        names = {"request": request_id, "analyst": analyst, "dataset": dataset}
        order = Order.of(names | {"version": version, "plan": plan_digest}, loss, charge, part)
        check_relation(order.price, self._header.neighbors)
        with self._journal() as journal:
            share = share_of(self._header, journal, order.analyst)
            known = journal.last_of_request(order.analyst, order.request)
            if known is not None and known.state != "returned":
                return self._again(journal, order, known)
            if known is not None and known.body != order.body:
                raise other_body()
            if journal.closed():
                raise closed()
            if (earlier := journal.answered(order.body)) is not None:
                return self._give(journal, order, earlier, share)
            total, own = admitted(self._header, journal, order, share, new=True)
            event = journal.append("reserved", total, own, **_columns(order, "reserved"))
        return self._reservation(event, order.price)

    def touch(self, reservation: Reservation) -> None:
        """Mark that data is about to be read. From here on the charge stands, whatever happens.

        Raises:
            RequestError: it is not reserved any more: somebody else is at it, or was.
            DataClosed: a fault waits for the owner.
        """
        with self._journal() as journal:
            if journal.closed():
                raise closed()
            self._step(journal, reservation, "touched")

    def settle(self, reservation: Reservation, answer: bytes) -> None:
        """Store the answer. Only then may anybody see it.

        Args:
            reservation: what was reserved and touched.
            answer: the bytes of a public release; every repetition returns them.

        Raises:
            RequestError: it is not touched, or was abandoned, or settled with another answer.
        """
        if not isinstance(answer, bytes):
            raise InputError(
                "an answer is stored as bytes, so that it can be repeated to the last bit. Pass "
                "what release.to_json() returns, encoded."
            )
        with self._journal() as journal:
            known = journal.last_of_request(reservation.analyst, reservation.request_id)
            if known is not None and known.kind == "settled" and known.ref == reservation.entry:
                if journal.answer(known) != answer:
                    raise wrong_state()
                return
            self._step(journal, reservation, "settled", answer)

    def abandon(self, reservation: Reservation) -> None:
        """Give a touched request up. Its charge stands, and its id fails from now on.

        Raises:
            RequestError: it is not touched.
        """
        with self._journal() as journal:
            self._step(journal, reservation, "abandoned")

    def release_untouched(self, reservation: Reservation) -> None:
        """Give back a reservation for which nothing was read.

        Raises:
            RequestError: it was touched, or is over.
        """
        with self._journal() as journal:
            self._step(journal, reservation, "returned", back=True)

    def fault(self, reservation: Reservation | None = None) -> None:
        """Record a failure after data was touched, and close the data to everybody.

        Args:
            reservation: the request that failed; it is abandoned and keeps its charge.

        Raises:
            RequestError: the request is not touched.
        """
        with self._journal() as journal:
            if reservation is not None:
                self._step(journal, reservation, "fault")
            else:
                journal.append("fault", *journal.tallies(""))

    def acknowledge(self) -> None:
        """Open the data again: the owner has seen what failed. Without a fault, nothing happens."""
        with self._journal() as journal:
            if journal.closed():
                journal.append("acknowledged", *journal.tallies(""))

    def refresh(self, dataset: str, version: str) -> None:
        """Record that a dataset has a new version. Nothing returns to the budget.

        Raises:
            RequestError: the label was used before; its stored answers are about other data.
        """
        dataset, version = checked_name("dataset", dataset), checked_name("version", version)
        with self._journal() as journal:
            if journal.has_version(dataset, version):
                raise used_version()
            tallies = journal.tallies("")
            journal.append("refreshed", *tallies, dataset=dataset, version=version)

    def raise_budget(self, budget: Budget, analyst: str | None = None) -> None:
        """Replace the budget, or one analyst's share; an analyst who has none is given one.

        Raises:
            BudgetExceeded: more than that has been spent.
        """
        limits = Limits.of(budget)
        name = "" if analyst is None else checked_name("analyst", analyst)
        with self._journal() as journal:
            total, own = journal.tallies(name)
            spent = (own if name else total).sums(self._header.neighbors)
            if not limits.admit(spent):
                raise BudgetExceeded(
                    "a budget cannot be set below what has been spent, because answers cannot be "
                    "taken back. Choose a larger one.",
                    limit=budget,
                )
            detail = encode((budget, limits))
            journal.append("raised", total, own, analyst=name, detail=detail)

    def remaining(self, analyst: str | None = None) -> Remaining:
        """Return what is left: of one analyst's share, or of the total.

        Raises:
            AnalystError: there are shares, and the analyst has none.
        """
        with self._journal(write=False) as journal:
            name = "" if analyst is None else checked_name("analyst", analyst)
            share = share_of(self._header, journal, name) if name else None
            total, own = journal.tallies(name)
            limits = share or total_limits(self._header, journal)[1]
            return remaining((own if share else total).sums(self._header.neighbors), limits)

    def history(self) -> list[Event]:
        """Return every entry, the first one first. Answers are not part of it."""
        with self._journal(write=False) as journal:
            return journal.history()

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
            event = journal.last_refresh(checked_name("dataset", dataset))
            return event.version if event else None

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
            last = journal.last()
            return write_head(*((last.seq, last.hash) if last else (0, journal.header()[1])))

    @property
    def budget(self) -> Budget:
        """The limit for all analysts together, as it is now."""
        with self._journal(write=False) as journal:
            return total_limits(self._header, journal)[0]

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
            journal = Journal(sqlite)
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
            self._seen = last.seq, last.hash

    def _again(self, journal: Journal, order: Order, known: Event) -> Reservation:
        """Answer a request whose id is known."""
        if known.body != order.body:
            raise other_body()
        if known.state == "abandoned":
            raise abandoned()
        if known.state == "touched":
            raise under_way()
        if known.state == "reserved":
            return self._reservation(known, order.price)
        source = known if known.kind == "settled" else journal.entry(known.ref or 0)
        if source is None:
            raise corrupt()
        return self._reservation(known, order.price, journal.answer(source))

    def _give(
        self, journal: Journal, order: Order, earlier: Event, share: Limits | None
    ) -> Reservation:
        """Give a stored answer away: free for who has it, else at the cost of their share."""
        columns = _columns(order, "given") | {"ref": earlier.seq}
        if journal.answered(order.body, order.analyst) is not None:
            total, own = journal.tallies(order.analyst)
            columns["charge_bytes"] = None
        else:
            total, own = admitted(self._header, journal, order, share, new=False)
        event = journal.append("given", total, own, **columns)
        return self._reservation(event, order.price, journal.answer(earlier))

    def _step(
        self,
        journal: Journal,
        reservation: Reservation,
        kind: str,
        answer: bytes | None = None,
        *,
        back: bool = False,
    ) -> None:
        """Take a request from one state to the next, if it is in the one before."""
        known = journal.last_of_request(reservation.analyst, reservation.request_id)
        first = journal.entry(reservation.entry)
        if (
            known is None
            or first is None
            or first.hash != reservation.hash
            or known.state not in BEFORE[kind]
            or reservation.entry not in (known.seq, known.ref)
        ):
            raise wrong_state()
        total, own = journal.tallies(known.analyst)
        if back:
            paid = first.charge
            if paid is None:
                raise corrupt()
            total, own = total.minus(paid), own.minus(paid)
        journal.append(
            kind,
            total,
            own,
            answer,
            state=STATES[kind],
            analyst=known.analyst,
            request=known.request,
            body=known.body,
            ref=first.seq,
            charge_bytes=first.charge_bytes if back else None,
        )

    def _reservation(self, event: Event, price: Charge, answer: bytes | None = None) -> Reservation:
        return Reservation(
            event.request or "", event.analyst, event.seq, event.hash, price, self.durable, answer
        )


def _columns(order: Order, kind: str) -> dict[str, Any]:
    return {
        "state": STATES[kind],
        "analyst": order.analyst,
        "request": order.request,
        "dataset": order.dataset,
        "version": order.version,
        "plan": order.plan,
        "loss_bytes": order.loss,
        "charge_bytes": order.charge,
        "part": order.part,
        "body": order.body,
    }


def _meaning(unit: Unit) -> tuple[object, ...]:
    """Return what must not change: caps may, as every release states its own sensitivity."""
    return unit.column, unit.neighbors, unit.max_rows if unit.column is None else None
