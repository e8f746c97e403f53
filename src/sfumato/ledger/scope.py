"""An envelope: budget that is set aside before it is known what it will be spent on."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.accounting.filter import charge
from sfumato.accounting.grid import UNIT, units_up
from sfumato.accounting.sums import Charge, Remaining
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError
from sfumato.core.loss import Pure
from sfumato.ledger.tally import Tally

if TYPE_CHECKING:
    from sfumato.accounting.sums import Sums
    from sfumato.core.unit import Neighbors


@dataclass(frozen=True, slots=True)
class Scope:
    """Budget that was set aside for what is asked inside; what is left of it is freed at the end.

    Attributes:
        id: the number of the ledger's entry that opened it.
        hash: the hash of that entry.
        analyst: for whom; empty if nobody is named.
        budget: the limit for what is asked inside.
        envelope: the limit as it was charged.
    """

    id: int
    hash: bytes = field(repr=False)
    analyst: str
    budget: Budget
    envelope: Charge

    def admits(self, inside: Sums) -> bool:
        """Say whether charges inside are within every figure that the envelope has."""
        bounds = self.envelope.epsilon, self.envelope.rho, self.envelope.delta
        return all(
            bound is None or (spent is not None and spent <= bound)
            for bound, spent in zip(bounds, (inside.epsilon, inside.rho, inside.delta), strict=True)
        )

    def held(self, inside: Tally) -> Tally:
        """Return what an account counts for the open scope, beside the charges inside."""
        bounds = self.envelope.epsilon, self.envelope.rho, self.envelope.delta
        epsilon, rho, delta = (
            0 if bound is None else max(bound - spent, 0)
            for bound, spent in zip(bounds, inside.figures, strict=True)
        )
        return Tally(epsilon, rho, delta, int(bounds[0] is None), int(bounds[1] is None))

    def remaining(self, inside: Tally) -> Remaining:
        """Return what may still be asked inside, in the one view that the budget limits."""
        epsilon, rho, delta = (Fraction(units, UNIT) for units in self.held(inside).figures)
        pure = self.envelope.epsilon is not None
        allowed = Fraction(self.envelope.delta, UNIT)
        return Remaining(epsilon if pure else None, None if pure else rho, delta, allowed)


def envelope(budget: Budget, neighbors: Neighbors) -> Charge:
    """Return the charge that covers everything within a budget, whatever it will be.

    A pure budget is charged as one pure release: ε·tanh(ε/2) grows faster than ε, so that it covers
    the ρ of all pure releases that fit. With a δ, no ρ is known.

    Theorem: docs/theory/filter.md

    Raises:
        CostError: not a budget.
    """
    if not isinstance(budget, Budget):
        raise CostError(
            f"{type(budget).__name__} is not a budget, so it sets nothing aside. Pass "
            f"Budget(epsilon=1), Budget(epsilon=1, delta='1e-6') or Budget(rho='0.5')."
        )
    if budget.epsilon is None:
        return Charge(None, units_up(budget.rho or Fraction(0)), 0, neighbors)
    if budget.delta:
        return Charge(units_up(budget.epsilon), None, units_up(budget.delta), neighbors)
    return charge(Pure(budget.epsilon, neighbors=neighbors))
