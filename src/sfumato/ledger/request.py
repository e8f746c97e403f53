"""A request: from which state it may go where, and what it is answered when it is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.ledger.account import moved, opened
from sfumato.ledger.admission import admitted, share_of
from sfumato.ledger.connection import corrupt
from sfumato.ledger.event import BEFORE, STATES
from sfumato.ledger.refusal import abandoned, closed, other_body, under_way, wrong_state

if TYPE_CHECKING:
    from sfumato.accounting.sums import Limits
    from sfumato.ledger.event import Event, LedgerHeader
    from sfumato.ledger.journal import Journal
    from sfumato.ledger.order import Order, Reservation
    from sfumato.ledger.scope import Scope
    from sfumato.ledger.tally import Tally


def asked(header: LedgerHeader, journal: Journal, order: Order) -> tuple[Event, bytes | None]:
    """Charge for a request, or find it; return its entry, and its answer if there is one.

    Raises:
        BudgetExceeded: it does not fit the total, or the analyst's share.
        AnalystError: there are shares, and the analyst has none.
        RequestError: the id was used for another question, is under way, or was abandoned.
        DataClosed: a fault waits for the owner; analysts are given what they have all the same.
    """
    share = share_of(header, journal, order.analyst)
    known = journal.last(analyst=order.analyst, request=order.request)
    if known is not None and known.body != order.body:
        raise other_body()
    if known is not None and known.state != "returned":
        return _again(journal, known)
    own = journal.answered(order.body, order.analyst)
    if own is None and journal.closed():
        raise closed()
    if (earlier := own or journal.answered(order.body)) is not None:
        return _given(header, journal, order, earlier, share)
    tallies, held = admitted(header, journal, order, share, new=True)
    return journal.append("reserved", tallies, **_columns(order, "reserved") | held), None


def step(
    journal: Journal, reservation: Reservation, kind: str, answer: bytes | None = None
) -> None:
    """Take a request from one state to the next.

    Raises:
        RequestError: it is not in the state before, or the reservation is not the one it stands on.
    """
    known = journal.last(analyst=reservation.analyst, request=reservation.request_id)
    first = journal.entry(reservation.entry)
    if (
        known is None
        or first is None
        or first.hash != reservation.hash
        or known.state not in BEFORE[kind]
        or reservation.entry not in (known.seq, known.ref)
    ):
        raise wrong_state()
    back = first.charge if kind == "returned" else None
    tallies: tuple[Tally, ...] = journal.tallies(known.analyst)
    held: dict[str, Any] = {}
    if back is not None:
        scope = _still_open(journal, first)
        tallies, held = moved(journal, known.analyst, back, first.branch, scope, back=True)
    journal.append(
        kind,
        tallies,
        answer,
        state=STATES[kind],
        analyst=known.analyst,
        request=known.request,
        body=known.body,
        ref=first.seq,
        charge_bytes=first.charge_bytes if back is not None else None,
        **held,
    )


def _still_open(journal: Journal, first: Event) -> Scope | None:
    """Return the scope of a reservation, to which it is given back; None if there is none now."""
    last = None if first.scope is None else journal.last(scope=first.scope)
    if last is None or last.kind == "freed":
        return None
    return opened(journal.entry(first.scope or 0))


def _again(journal: Journal, known: Event) -> tuple[Event, bytes | None]:
    """Answer a request whose id is known."""
    if known.state == "abandoned":
        raise abandoned()
    if known.state == "touched":
        raise under_way()
    if known.state == "reserved":
        return known, None
    return known, journal.answer(_stored(journal, known))


def _stored(journal: Journal, known: Event) -> Event:
    """Return the entry that holds the answer of a settled one."""
    source = known if known.kind == "settled" else journal.entry(known.ref or 0)
    if source is None:
        raise corrupt()
    return source


def _given(
    header: LedgerHeader, journal: Journal, order: Order, earlier: Event, share: Limits | None
) -> tuple[Event, bytes]:
    """Give a stored answer away: free for who has it, else at the cost of their share.

    Of two that were asked for at the same time, everybody keeps their own: `earlier` is the
    analyst's first, if there is one.
    """
    stored = _stored(journal, earlier)
    columns = _columns(order, "given") | {"ref": stored.seq}
    if earlier.analyst == order.analyst:
        tallies: tuple[Tally, ...] = journal.tallies(order.analyst)
        columns["charge_bytes"] = None
    else:
        tallies, held = admitted(header, journal, order, share, new=False)
        columns |= held
    return journal.append("given", tallies, **columns), journal.answer(stored)


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
        "family": None if order.branch is None else order.branch.family,
        "body": order.body,
    }
