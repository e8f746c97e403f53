"""One answer that is paid for: what it will cost, what it did cost, what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sfumato.core.errors import SfumatoError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from sfumato.accounting.sums import Charge
    from sfumato.ledger import Ledger
    from sfumato.release import Release
    from sfumato.session import Plan, Session
    from sfumato.session.sql import SqlPlan
    from sfumato.session.staged import StagedPlan

    AnyPlan: TypeAlias = Plan | StagedPlan | SqlPlan


class Purchase:
    """A plan on its way to an answer.

    Args:
        session: who pays.
        plan: what for.
        request: the id of the request; one that nobody has used, if there is none.
    """

    def __init__(self, session: Session, plan: AnyPlan, request: str | None = None) -> None:
        """Remember what the ledger says before."""
        from sfumato.session.opening import nonce

        self.session, self.plan = session, plan
        self.request = nonce() if request is None else request
        self._before, self._left = _entry(session.ledger.head), session.remaining

    def release(self) -> Release:
        """Pay, and return the answer.

        Raises:
            NothingFound: an answer like any other, but there is no table in it.
        """
        return self.plan.release(request=self.request)

    def paid(self, release: Release | None) -> str:
        """Say what was paid, and what is left; None stands for an answer without a table."""
        left = self.session.remaining
        if release is None:
            again = left == self._left
            paid = "nothing more: answered before" if again else str(charge_of(self.plan))
        elif release.receipt is None:
            paid = "nothing: the answer is declared"
        elif (entry := self._charged(release.receipt)) <= self._before:
            paid = f"nothing more: answered before, in ledger entry {entry}"
        else:
            paid = f"{charge_of(self.plan)}, ledger entry {entry}"
            if entry > (stored := _entry(release.receipt)):
                paid += f", for the answer that entry {stored} paid for"
        return f"paid {paid}; left: {left}"

    def _charged(self, receipt: str) -> int:
        """Return the entry that charged who asks; of an answer that others paid for, their own."""
        from sfumato.session.holdings import Holdings

        entry, ledger = _entry(receipt), self.session.ledger
        if entry > self._before or not ledger.analysts:  # without shares it is paid for once
            return entry
        held = Holdings.of(ledger.history(), self.session.analyst).charged
        return held[entry].seq if entry in held else entry

    def interrupted(self) -> str:
        """Say what became of a request that somebody stopped half-way."""
        try:
            return _fate(self.session.ledger, self.request)
        except SfumatoError:
            return "interrupted; the ledger cannot be read to say what became of the charge"


def charge_of(plan: AnyPlan) -> Charge:
    """Return what a plan will charge."""
    from sfumato import accounting
    from sfumato.session.batch import BatchPlan
    from sfumato.session.sql import SqlPlan

    inner = plan.plan if isinstance(plan, SqlPlan) else plan
    if isinstance(inner, BatchPlan):
        return inner.charge
    return accounting.charge(inner.cost, inner.charge_delta)


def remarks(release: Release, plan: AnyPlan) -> Iterator[str]:
    """Say what the intervals cover, and what the answer leaves out."""
    from sfumato.release.format import percent, printable

    if not len(release):
        yield "note: no group has enough units in it to appear"
    covers = "; ".join(dict.fromkeys(m.covers for m in release.measures if m.has_interval))
    if covers:
        yield f"intervals: {percent(_confidence(plan))} each, {covers}"
    yield from (f"note: {printable(note)}" for note in release.notes)


def missing_key(plan: AnyPlan) -> str:
    """Return what to write for a key that is NULL: the rest, or all groups together."""
    from sfumato.session.sql import SqlPlan

    return "(all)" if isinstance(plan, SqlPlan) and len(plan.plans) > 1 else "(other)"


def _confidence(plan: AnyPlan) -> Fraction:
    from sfumato.session.sql import SqlPlan

    return plan.plans[0].confidence if isinstance(plan, SqlPlan) else plan.confidence


def _entry(receipt: str) -> int:
    return int(receipt.partition(":")[0])


def _fate(ledger: Ledger, request: str) -> str:
    events = ledger.history()
    first = next((e for e in events if e.request == request and e.kind == "reserved"), None)
    if first is None:
        return "interrupted before anything was charged"
    kinds = {event.kind for event in events if event.ref == first.seq}
    stands = f"interrupted; the charge stands, {first.charge}, in ledger entry {first.seq}"
    if "settled" in kinds:
        return f"{stands}. The answer is in the ledger: to ask the same again is free"
    if kinds:
        return f"{stands}: the data may have been read"
    return f"{stands}. Nothing was read, and the owner can give it back"
