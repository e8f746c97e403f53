"""Whether a charge fits: the analyst's share and the total, by the filter, on the running sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.accounting.filter import spend
from sfumato.accounting.sums import Limits
from sfumato.core.budget import Budget
from sfumato.core.codec import decode
from sfumato.core.errors import BudgetExceeded
from sfumato.ledger.connection import corrupt
from sfumato.ledger.refusal import hidden, not_listed

if TYPE_CHECKING:
    from sfumato.accounting.sums import Charge, Sums
    from sfumato.ledger.event import Event, LedgerHeader
    from sfumato.ledger.journal import Journal
    from sfumato.ledger.order import Order
    from sfumato.ledger.tally import Tally


def total_limits(header: LedgerHeader, journal: Journal) -> tuple[Budget, Limits]:
    """Return the total budget as it is now."""
    event = journal.last_of_kind("raised", "")
    return _raised(event) if event else (header.budget, header.limits)


def share_of(header: LedgerHeader, journal: Journal, analyst: str) -> Limits | None:
    """Return an analyst's limits; None where there are no shares at all.

    Raises:
        AnalystError: there are shares, and the analyst has none.
    """
    first = {name: limits for name, _, limits in header.analysts}
    event = journal.last_of_kind("raised", analyst) if analyst else None
    if event is not None:
        return _raised(event)[1]
    if analyst in first:
        return first[analyst]
    if first or journal.raised_shares():
        raise not_listed()
    return None


def shares(header: LedgerHeader, journal: Journal) -> dict[str, Budget]:
    """Return every analyst's share as it is now, by name."""
    first = {name: budget for name, budget, _ in header.analysts}
    return first | {event.analyst: _raised(event)[0] for event in journal.raised_shares()}


def admitted(
    header: LedgerHeader, journal: Journal, order: Order, share: Limits | None, *, new: bool
) -> tuple[Tally, Tally]:
    """Return the sums after a charge, of all and of the analyst, or refuse it.

    Args:
        header: the ledger's header.
        journal: its entries.
        order: what is asked, and its price.
        share: the analyst's limits, if there are shares.
        new: whether it enters the total; a stored answer that is given away does not.

    Raises:
        BudgetExceeded: it does not fit. An analyst is not told what others have left.
    """
    total, own = journal.tallies(order.analyst)
    last = journal.last()
    entry = last.seq if last else 0
    if share is not None:
        _spend(own.sums(header.neighbors), order.price, share, entry)
    if new:
        limits = total_limits(header, journal)[1]
        try:
            _spend(total.sums(header.neighbors), order.price, limits, entry)
        except BudgetExceeded as problem:
            raise (problem if share is None else hidden(order.price, entry)) from None
        total = total.plus(order.price)
    return total, own.plus(order.price)


def _spend(spent: Sums, price: Charge, limits: Limits, entry: int) -> None:
    try:
        spend(spent, price, limits)
    except BudgetExceeded as problem:
        raise BudgetExceeded(
            f"{problem.message} Nothing was charged (after ledger entry {entry}).",
            asked=problem.asked,
            left=problem.left,
            limit=problem.limit,
        ) from None


def _raised(event: Event) -> tuple[Budget, Limits]:
    budget, limits = decode(event.detail or b"")
    if not (isinstance(budget, Budget) and isinstance(limits, Limits)):
        raise corrupt()
    return budget, limits
