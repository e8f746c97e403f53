"""What was asked so far, and what became of it, as the ledger has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import CodecError

if TYPE_CHECKING:
    from sfumato.accounting import Remaining, Sums
    from sfumato.core.budget import Budget
    from sfumato.ledger import Event, Ledger

_OUTCOMES = {
    "settled": "answered",
    "abandoned": "given up; the charge stands",
    "fault": "failed; the charge stands",
    "returned": "given back, nothing was read",
}
_STORED = "stored answer"  # one that others asked for, charged to who is given it
_MEASURED = re.compile(r"\w+ is (?:the )?(?P<what>.+)", re.DOTALL)
_ASKED = "asked of "
_COLUMNS = re.compile(r"[\d,]+ (weighted )?sums? of |an edge of |how many coefficients ")
_PARTS = 2  # of one request that are named
_LONGEST = 160  # characters of a question


def past(ledger: Ledger, analyst: str | None) -> list[list[str]]:
    """List the requests of one analyst: entry, time, question, outcome and charge.

    Args:
        ledger: the ledger; nothing of what others asked is listed.
        analyst: who; None is everybody who has no name.
    """
    events = ledger.history()
    last = {event.ref: event.kind for event in events if event.ref is not None}
    asked = questions_of(ledger, events)
    rows = []
    for event in events:
        if event.analyst != (analyst or "") or event.kind not in ("reserved", "given"):
            continue
        what = _outcome(last.get(event.seq))
        if event.kind == "given":
            what = "given again" if event.charge is None else _STORED
        rows.append(
            [
                str(event.seq),
                f"{event.moment:%Y-%m-%d %H:%M}",
                asked.get(event.seq) or f"of {_tables(event)}",
                what,
                "" if last.get(event.seq) == "returned" else str(event.charge or ""),
            ]
        )
    return rows


def questions_of(ledger: Ledger, events: Sequence[Event]) -> dict[int, str]:
    """Return what was asked by each entry that reserved or was given an answer."""
    asked = {entry.seq: question(stored) for entry, stored in ledger.answers()}
    reserved = {event.seq: event.ref for event in events if event.kind == "settled"}
    given = {event.seq: reserved.get(event.ref or 0) for event in events if event.kind == "given"}
    return asked | {entry: asked.get(source or 0, "") for entry, source in given.items()}


def left(amount: Remaining, budget: Budget) -> str:
    """Say what is left of a budget, and why that is never all of its δ."""
    return f"{amount}{'; the other half of δ pays for turning ρ into ε' if budget.delta else ''}"


def spent(amount: Sums, budget: Budget) -> str:
    """Say what was spent of a budget; where ρ bounds it, also what that is in ε."""
    from fractions import Fraction

    from sfumato.accounting import Limits
    from sfumato.accounting.convert import zcdp_epsilon
    from sfumato.accounting.grid import UNIT
    from sfumato.core.number import show, show_above

    paid = Limits.of(budget).conversion
    if budget.epsilon is None or not paid or not amount.rho:
        return str(amount)
    least = zcdp_epsilon(Fraction(amount.rho, UNIT), Fraction(paid, UNIT))
    if amount.epsilon is not None and Fraction(amount.epsilon, UNIT) <= least:
        return str(amount)
    return f"{amount} (that ρ is ε = {show_above(least, 4)} of {show(budget.epsilon)})"


def question(stored: bytes) -> str:
    """Say what an answer that the ledger stores was asked for; no number of it is looked at."""
    from sfumato.core.codec import decode
    from sfumato.release import Release

    try:
        found = decode(stored)
    except CodecError:  # stored by a program of its own, for itself
        return ""
    parts: Sequence[Any] = found if isinstance(found, tuple) else ()
    measured, of, by = dict[str, None](), "", ""
    for part in parts:
        if not isinstance(part, Release):
            continue
        of = of or next((note for note in part.notes if note.startswith(_ASKED)), "")
        what = _MEASURED.fullmatch(part.notes[0]) if part.notes else None
        measured |= {what["what"]: None} if what is not None else {}
        if what is None or not _COLUMNS.match(what["what"]):  # those say of which columns
            by = by or ", ".join(name for name, _ in part.keys)
    more = [f"and {len(measured) - _PARTS} more"] if len(measured) > _PARTS + 1 else []
    said = ", ".join([*list(measured)[:_PARTS], *more] if more else measured) or "numbers"
    said += f" by {by}" if by else ""
    text = f"{said}, {of}" if of else said
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _outcome(kind: str | None) -> str:
    return _OUTCOMES.get(kind or "", "under way")


def _tables(event: Event) -> str:
    from sfumato.session.certificate import table_name

    return table_name(event.dataset)
