"""How a charge moves what is counted: by the total, by its analyst, and inside its scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.budget import Budget
from sfumato.core.codec import decode, encode
from sfumato.ledger.branch import Peaks
from sfumato.ledger.connection import corrupt
from sfumato.ledger.refusal import other_scope
from sfumato.ledger.scope import Scope
from sfumato.ledger.tally import Tally

if TYPE_CHECKING:
    from sfumato.accounting.sums import Charge
    from sfumato.ledger.branch import Branch
    from sfumato.ledger.event import Event
    from sfumato.ledger.journal import Journal


def moved(
    journal: Journal,
    analyst: str,
    charge: Charge,
    branch: Branch | None,
    scope: Scope | None,
    *,
    total: bool = True,
    back: bool = False,
) -> tuple[tuple[Tally, ...], dict[str, Any]]:
    """Return what is counted after a charge, and what else its entry keeps of that.

    The accounts are the total and the analyst's own. In a scope there are two more: the charges
    inside it, as they enter the one and the other.

    Args:
        journal: the entries.
        analyst: who is charged.
        charge: how much.
        branch: the part of the data, if it is one.
        scope: the scope in which it is charged.
        total: whether it enters the total; a stored answer that is given away does not.
        back: whether it is given back.

    Raises:
        RequestError: the scope is not open, or the part's family was charged with another width.
    """
    before: tuple[Tally, ...] = journal.tallies(analyst)
    places: list[dict[str, object]] = [{}, {"analyst": analyst}]
    if scope is not None:
        before += inside(journal, scope)
        places += [{"scope": scope.id}] * 2
    enters = (total, True) * 2
    after = list(before)
    peaks = []
    for i, place in enumerate(places):
        if branch is None:
            if enters[i]:
                after[i] = after[i].minus(charge) if back else after[i].plus(charge)
            continue
        if i < 3:  # the two accounts of a scope are in the same entries
            found = journal.peaks(branch, **place)
        old = new = found[i]
        if enters[i] and back:
            mine = old.part.minus(charge)
            others = [held[i].part for held in journal.parts(branch, **place)]
            new = Peaks.of(mine, [mine, *others], branch.width)
        elif enters[i]:
            new = old.plus(charge, branch.width)
        after[i] = after[i].moved(old.counted, new.counted)
        peaks.append(new)
    columns: dict[str, Any] = {}
    if scope is not None:
        for i in (0, 1):
            after[i] = after[i].moved(scope.held(before[i + 2]), scope.held(after[i + 2]))
        columns |= {"scope": scope.id}
    if branch is not None:
        columns |= {"part": encode(branch), "family": branch.family}
        columns |= {"peaks_bytes": encode(tuple(peaks))}
    return tuple(after), columns


def inside(journal: Journal, scope: Scope) -> tuple[Tally, ...]:
    """Return the sums of the charges inside an open scope, as they enter the total and the share.

    Raises:
        RequestError: it is not open, or of another ledger.
    """
    if (found := ever_inside(journal, scope)) is None:
        raise other_scope()
    return found


def ever_inside(journal: Journal, scope: Scope) -> tuple[Tally, ...] | None:
    """Return the sums of the charges inside a scope; None if it was closed.

    Raises:
        RequestError: it is of another ledger.
    """
    if opened(journal.entry(scope.id)) != scope:
        raise other_scope()
    last = journal.last(scope=scope.id)
    if last is None:
        return Tally(), Tally()
    return None if last.kind == "freed" else last.tallies[2:]


def opened(event: Event | None) -> Scope | None:
    """Return the scope that an entry opened; None if it did not.

    Raises:
        LedgerCorrupt: the entry does not say how large it is.
    """
    if event is None or event.kind != "opened":
        return None
    budget = decode(event.detail or b"")
    if event.charge is None or not isinstance(budget, Budget):
        raise corrupt()
    return Scope(event.seq, event.hash, event.analyst, budget, event.charge)
