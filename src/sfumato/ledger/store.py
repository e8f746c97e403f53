"""The ledger: charge before reading, never overspend, never answer the same request twice."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.accounting.sums import Charge, Limits
from sfumato.core.budget import Budget
from sfumato.core.codec import encode
from sfumato.core.errors import DataClosed, InputError, LedgerError, UnitError
from sfumato.core.path import path_of
from sfumato.ledger.account import ever_inside
from sfumato.ledger.admission import check, share_of
from sfumato.ledger.backup import new_file
from sfumato.ledger.chain import read_head
from sfumato.ledger.connection import Connection, existing
from sfumato.ledger.event import FORMAT, LedgerHeader
from sfumato.ledger.journal import Journal
from sfumato.ledger.order import Order, Reservation, check_relation, checked_name
from sfumato.ledger.refusal import closed, standing, wrong_state
from sfumato.ledger.request import asked, step
from sfumato.ledger.scope import Scope, envelope
from sfumato.ledger.steward import Steward
from sfumato.ledger.tally import Tally
from sfumato.noise.rng import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.core.loss import Loss
    from sfumato.core.unit import Unit
    from sfumato.ledger.branch import Branch

_TIMEOUT = 30.0
_KEY_WORDS = 4  # 256 bits


class Ledger(Steward):
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
        if path is None:
            connection = Connection(None, timeout=timeout)
            _found(connection, header)
            return cls(connection)
        # Under its name there is a whole ledger or nothing: one that was emptied is not a new one.
        path = path_of(path)
        with (
            new_file(path) as part,
            closing(Connection(part, timeout=timeout, new=True)) as connection,
        ):
            _found(connection, header)
            connection.fold()  # closing would try that too, and not say that it failed
        return cls(Connection(path, timeout=timeout))

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
        ledger = cls(Connection(existing(path), timeout=timeout, read_only=read_only))
        if unit is not None:
            ledger.check_unit(unit)
        if head is not None:
            ledger._seen = read_head(head)
        with ledger._journal(write=False):
            return ledger

    def check_unit(self, unit: Unit) -> None:
        """Refuse a unit other than the one that the ledger protects; its caps may differ.

        Raises:
            UnitError: it is another one.
        """
        if _meaning(unit) != _meaning(self.unit):
            raise UnitError(
                "this ledger protects another unit, or under another neighbor relation, and what "
                "it has spent would mean something else. Declare the unit as it was, or begin "
                "with new data, a new budget and a new ledger."
            )

    def reserve(  # noqa: PLR0913 (what an entry is made of)
        self,
        request_id: str,
        analyst: str | None,
        dataset: str,
        version: str,
        plan_digest: str,
        loss: Loss,
        charge: Charge | None = None,
        part: Branch | None = None,
        *,
        scope: Scope | None = None,
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
            part: the part of the data, if the question is about one of a family of parts: of those
                only the largest few charges count.
            scope: the open scope whose envelope pays for it.

        Raises:
            BudgetExceeded: it does not fit the scope, the analyst's share, or the total.
            AnalystError: there are shares, and the analyst has none.
            RequestError: the id was used for another question, is under way, or was abandoned; the
                scope is not open; or the part's family was charged with another width.
            DataClosed: a fault waits for the owner.
            LedgerError: the ledger cannot be written; nothing was charged.
        """
        names = {"request": request_id, "analyst": analyst, "dataset": dataset}
        names |= {"version": version, "plan": plan_digest}
        order = Order.of(names, loss, charge, part, scope)
        check_relation(order.price, self._header.neighbors)
        with self._journal() as journal:
            event, answer = asked(self._header, journal, order)
        return self._reservation(event, order.price, answer)

    def touch(self, reservation: Reservation) -> None:
        """Mark that data is about to be read. From here on the charge stands, whatever happens.

        Raises:
            RequestError: it is not reserved any more: somebody else is at it, or was.
            DataClosed: a fault waits for the owner.
        """
        try:
            with self._journal() as journal:
                if journal.closed():
                    raise closed()
                step(journal, reservation, "touched")
        except (LedgerError, DataClosed) as problem:
            problem.message += standing(reservation.request_id)
            raise

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
            known = journal.last(analyst=reservation.analyst, request=reservation.request_id)
            if known is not None and known.kind == "settled" and known.ref == reservation.entry:
                if journal.answer(known) != answer:
                    raise wrong_state()
                return
            step(journal, reservation, "settled", answer)

    def abandon(self, reservation: Reservation) -> None:
        """Give a touched request up. Its charge stands, and its id fails from now on.

        Raises:
            RequestError: it is not touched.
        """
        with self._journal() as journal:
            step(journal, reservation, "abandoned")

    def release_untouched(self, reservation: Reservation) -> None:
        """Give back a reservation for which nothing was read.

        Raises:
            RequestError: it was touched, or is over.
        """
        with self._journal() as journal:
            step(journal, reservation, "returned")

    def open_scope(self, budget: Budget, analyst: str | None = None) -> Scope:
        """Set budget aside for what will be asked inside, before it is known what that is.

        The envelope is charged like a release. Charges inside enter the sums as themselves, and as
        much less is held for the scope, so that they are paid for already. A scope that is never
        closed, because its process died, stays reserved. Scopes do not nest.

        Args:
            budget: the limit for what is asked inside. With a `delta` it counts Σε alone, and is
                admitted by Σε alone; a pure one and one in `rho` count as such releases do.
            analyst: who will ask; None if the ledger has no shares.

        Raises:
            BudgetExceeded: the envelope does not fit the total, or the analyst's share.
            AnalystError: there are shares, and the analyst has none.
            DataClosed: a fault waits for the owner.
        """
        price = envelope(budget, self._header.neighbors)
        name = "" if analyst is None else checked_name("analyst", analyst)
        with self._journal() as journal:
            share = share_of(self._header, journal, name)
            if journal.closed():
                raise closed()
            total, own = (tally.plus(price) for tally in journal.tallies(name))
            check(self._header, journal, name, price, (total, own), share, what="scope")
            columns = {"detail": encode(budget), "charge_bytes": encode(price)}
            event = journal.append("opened", (total, own), analyst=name, **columns)
        return Scope(event.seq, event.hash, name, budget, price)

    def close_scope(self, scope: Scope) -> None:
        """Free what is left of a scope's envelope; to close it twice is harmless.

        Raises:
            RequestError: it is of another ledger.
        """
        with self._journal() as journal:
            spent = ever_inside(journal, scope)
            if spent is None:
                return
            tallies = tuple(
                tally.moved(scope.held(charged), Tally())
                for tally, charged in zip(journal.tallies(scope.analyst), spent, strict=True)
            )
            journal.append("freed", tallies + spent, analyst=scope.analyst, scope=scope.id)

    def fault(self, reservation: Reservation | None = None) -> None:
        """Record a failure after data was touched, and close the data to everybody.

        Args:
            reservation: the request that failed; it is abandoned and keeps its charge.

        Raises:
            RequestError: the request is not touched.
        """
        with self._journal() as journal:
            if reservation is not None:
                step(journal, reservation, "fault")
            else:
                journal.append("fault", journal.tallies(""))


def _meaning(unit: Unit) -> tuple[object, ...]:
    """Return what must not change: caps may, as every release states its own sensitivity."""
    return unit.column, unit.neighbors, unit.max_rows if unit.column is None else None


def _found(connection: Connection, header: LedgerHeader) -> None:
    with connection.transaction(write=True) as sqlite:
        Journal(sqlite).found(header)
