"""Whether a charge fits: the analyst's share and the total, by the filter, on the running sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.accounting.filter import spend
from sfumato.accounting.sums import Limits
from sfumato.core.budget import Budget
from sfumato.core.codec import decode
from sfumato.core.errors import BudgetError, BudgetExceeded
from sfumato.ledger.account import inside, moved
from sfumato.ledger.connection import corrupt
from sfumato.ledger.refusal import hidden, not_listed, other_scope, outside_scope

if TYPE_CHECKING:
    from sfumato.accounting.sums import Charge, Sums
    from sfumato.ledger.event import Event, LedgerHeader
    from sfumato.ledger.journal import Journal
    from sfumato.ledger.order import Order
    from sfumato.ledger.tally import Tally


def total_limits(header: LedgerHeader, journal: Journal) -> tuple[Budget, Limits]:
    """Return the total budget as it is now."""
    event = journal.last(kind="raised", analyst="")
    return _raised(event) if event else (header.budget, header.limits)


def share_of(header: LedgerHeader, journal: Journal, analyst: str) -> Limits | None:
    """Return an analyst's limits; None where there are no shares at all.

    Raises:
        AnalystError: there are shares, and the analyst has none.
    """
    first = {name: limits for name, _, limits in header.analysts}
    event = journal.last(kind="raised", analyst=analyst) if analyst else None
    if event is not None:
        return _raised(event)[1]
    if analyst in first:
        return first[analyst]
    if first or journal.raised_shares():
        raise not_listed(analyst)
    return None


def shares(header: LedgerHeader, journal: Journal) -> dict[str, Budget]:
    """Return every analyst's share as it is now, by name."""
    first = {name: budget for name, budget, _ in header.analysts}
    return first | {event.analyst: _raised(event)[0] for event in journal.raised_shares()}


def admitted(
    header: LedgerHeader, journal: Journal, order: Order, share: Limits | None, *, new: bool
) -> tuple[tuple[Tally, ...], dict[str, Any]]:
    """Return what is counted after a charge, with what its entry keeps of that, or refuse it.

    Args:
        header: the ledger's header.
        journal: its entries.
        order: what is asked, and its price.
        share: the analyst's limits, if there are shares.
        new: whether it enters the total; a stored answer that is given away does not.

    Raises:
        BudgetExceeded: it does not fit. An analyst is not told what others have left.
        RequestError: the scope is not open, or the part's family was charged with another width.
    """
    scope = order.scope
    if scope is not None and scope.analyst != order.analyst:
        raise other_scope()
    after, columns = moved(journal, order.analyst, order.price, order.branch, scope, total=new)
    if scope is not None and not scope.admits(after[3].sums(header.neighbors)):
        left = scope.remaining(inside(journal, scope)[1])
        raise outside_scope(order.price, left, scope, entry(journal))
    check(header, journal, order.analyst, order.price, after, share, new=new)
    return after, columns


def check(
    header: LedgerHeader,
    journal: Journal,
    analyst: str,
    price: Charge,
    after: tuple[Tally, ...],
    share: Limits | None,
    *,
    new: bool = True,
    what: str = "release",
) -> None:
    """Refuse a price after which the analyst's share, or the total, would count too much.

    Raises:
        BudgetExceeded: it does not fit. An analyst is not told what others have left.
    """
    total = total_limits(header, journal)[1] if new else None
    for i, limits in ((1, share), (0, total)):
        if limits is None or limits.admit(after[i].sums(header.neighbors)):
            continue
        if i == 0 and share is not None:
            raise hidden(price, entry(journal), what)
        spent = journal.tallies(analyst)[i].sums(header.neighbors)
        raise _refusal(spent, price, limits, entry(journal), what, ("the budget", "your share")[i])


def entry(journal: Journal) -> int:
    """Return the number of the last entry."""
    last = journal.last()
    return last.seq if last else 0


def _refusal(
    spent: Sums, price: Charge, limits: Limits, last: int, what: str, whose: str
) -> BudgetError:
    try:
        spend(spent, price, limits)  # a price counts for no more than itself: refused here too
    except BudgetExceeded as problem:
        said = problem.message.replace("this release", f"this {what}", 1)
        return BudgetExceeded(
            f"{said.replace('the budget', whose)} Nothing was charged (after ledger entry {last}).",
            asked=problem.asked,
            left=problem.left,
            limit=problem.limit,
        )
    return corrupt()


def _raised(event: Event) -> tuple[Budget, Limits]:
    budget, limits = decode(event.detail or b"")
    if not (isinstance(budget, Budget) and isinstance(limits, Limits)):
        raise corrupt()
    return budget, limits
