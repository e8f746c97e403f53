"""The accounts of a ledger, counted anew from all charges that stand: the replay's arithmetic.

Nothing here is taken over from the side that writes: of a family of parts the largest are looked
for among all of them, and what scopes hold is added up over all that are open.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TypeAlias

from sfumato.accounting.sums import Charge
from sfumato.ledger.branch import Branch, Peaks
from sfumato.ledger.tally import Tally

Account: TypeAlias = Hashable  # an analyst; TOTAL; or (a scope's entry, whether its analyst's)
TOTAL = None
_VIEWS = range(3)  # ε, ρ, δ; behind them, how many charges have no ε, and no ρ
_NONE: tuple[tuple[int, ...], ...] = ((), (), ())


@dataclass(slots=True)
class _Held:
    """What an account holds. Plain charges are a family of one part."""

    sums: list[int] = field(default_factory=lambda: [0] * 5)
    parts: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # by family and key
    largest: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)  # by family


@dataclass(slots=True)
class Recount:
    """All charges that stand, by account; and the envelopes of open scopes."""

    held: dict[Account, _Held] = field(default_factory=dict)
    scopes: dict[int, tuple[str, Charge]] = field(default_factory=dict)  # analyst and envelope

    def add(self, account: Account, charge: Charge, branch: Branch | None, sign: int) -> None:
        """Add a charge to an account, or take it back."""
        family, key, width = (branch.family, branch.key, branch.width) if branch else ("", "", 1)
        held = self.held.setdefault(account, _Held())
        parts = held.parts.setdefault(family, {})
        part = parts.setdefault(key, [0] * 5)
        for i, price in enumerate((charge.epsilon, charge.rho, charge.delta)):
            part[i] += sign * (price or 0)
        for i, price in ((3, charge.epsilon), (4, charge.rho)):
            part[i] += sign * (price is None)
            held.sums[i] += sign * (price is None)
        old = held.largest.get(family, _NONE)
        held.largest[family] = tuple(
            tuple(nlargest(width, (part[i] for part in parts.values() if part[i]))) for i in _VIEWS
        )
        for i in _VIEWS:
            held.sums[i] += sum(held.largest[family][i]) - sum(old[i])

    def spent(self, account: Account) -> list[int]:
        """Return the sums of an account: plain charges, and of every family the largest parts."""
        return list(self.held.get(account, _Held()).sums)

    def tally(self, account: Account) -> Tally:
        """Return what an account counts, with what open scopes hold beside their charges."""
        sums = self.spent(account)
        for scope, (analyst, envelope) in self.scopes.items():
            if account in (TOTAL, analyst):
                inside = self.spent((scope, account is not TOTAL))
                limits = envelope.epsilon, envelope.rho, envelope.delta
                for i, limit in enumerate(limits):
                    sums[i] += max((limit or 0) - inside[i], 0)
                sums[3] += envelope.epsilon is None
                sums[4] += envelope.rho is None
        return Tally(*sums)

    def peaks(self, account: Account, branch: Branch) -> Peaks:
        """Return what an account holds of a part and its family."""
        held = self.held.get(account, _Held())
        part = held.parts.get(branch.family, {}).get(branch.key, [0] * 5)
        return Peaks(Tally(*part), held.largest.get(branch.family, _NONE))

    def fits(self, scope: int) -> bool:
        """Say whether the charges inside a scope are within its envelope."""
        sums, envelope = self.spent((scope, True)), self.scopes[scope][1]
        return (
            (envelope.epsilon is None or (sums[0] <= envelope.epsilon and not sums[3]))
            and (envelope.rho is None or (sums[1] <= envelope.rho and not sums[4]))
            and sums[2] <= envelope.delta
        )
