"""What a ledger adds to the certificate of a release: table, version, charge, and all together."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.accounting.grid import UNIT
from sfumato.core.errors import InputError
from sfumato.core.number import show
from sfumato.ledger.chain import write_head
from sfumato.release.record import Figures, Record

if TYPE_CHECKING:
    from sfumato.accounting.sums import Charge, Remaining, Sums
    from sfumato.core.budget import Budget
    from sfumato.ledger.event import Event
    from sfumato.ledger.view import View
    from sfumato.release.release import Release
    from sfumato.session.holdings import Holdings


def recorded(ledger: View, release: Release, holdings: Holdings) -> Record:
    """Return what a ledger says about a release that it paid for.

    Args:
        ledger: the ledger.
        release: the release, with its receipt.
        holdings: the answers of who looks; others' names and sums are left out for an analyst.

    Raises:
        InputError: the ledger did not pay for it.
    """
    holder, events = holdings.holder, holdings.events
    entry = next((e for e in events if write_head(e.seq, e.hash) == release.receipt), None)
    if entry is None or entry.charge is None:
        raise InputError(
            "this release was not paid from this ledger, which can say nothing about it: its "
            "receipt names another entry, or none. Use the session that made it, or release.card()."
        )
    theirs = holdings.charged.get(entry.seq, entry)
    given = theirs.kind == "given"
    return Record(
        table=table_name(entry.dataset),
        version=table_name(entry.version),
        analyst=theirs.analyst if holder in (None, theirs.analyst) else "",
        time=moment(theirs),
        charge=charged(theirs.charge or entry.charge),
        answers=max(len(holdings), 1) if holder is None else len(holdings),
        budget=limit(ledger.budget),
        spent=charged(ledger.spent(holder)),
        remaining=left(ledger.remaining(holder)),
        head=ledger.head,
        holder=holder or "",
        given=write_head(theirs.seq, theirs.hash) if given else "",
    )


def charged(held: Charge | Sums) -> Figures:
    """Return what was charged, as the ledger holds it."""
    return Figures(
        str(held) or "nothing that has a figure",
        None if held.epsilon is None else Fraction(held.epsilon, UNIT),
        None if held.rho is None else Fraction(held.rho, UNIT),
        Fraction(held.delta, UNIT),
    )


def left(amount: Remaining) -> Figures:
    """Return what is left, in both views."""
    return Figures(str(amount), amount.epsilon, amount.rho, amount.delta)


def limit(budget: Budget) -> Figures:
    """Return a limit as it was declared."""
    said = f"ρ = {show(budget.rho)}" if budget.rho is not None else ""
    if budget.epsilon is not None:
        said = f"ε = {show(budget.epsilon)}"
        said += f" with δ = {show(budget.delta)}" if budget.delta else ""
    return Figures(said, budget.epsilon, budget.rho, budget.delta)


def moment(entry: Event) -> str:
    """Write when an entry was made, to the second, UTC."""
    return f"{entry.moment:%Y-%m-%d %H:%M:%S} UTC"


def table_name(written: str | None) -> str:
    """Write what a ledger calls a table; several in one question are a list."""
    if written is None or not written.startswith("["):
        return written or ""
    try:
        names = json.loads(written)
    except ValueError:  # a name that begins with a bracket
        return written
    return " and ".join(map(str, names)) if isinstance(names, list) else written
