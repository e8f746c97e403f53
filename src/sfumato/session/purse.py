"""What handles on one dataset have spent together, in memory: for the laboratory and for tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import BudgetExceeded
from sfumato.core.loss import Loss
from sfumato.core.unit import Neighbors
from sfumato.ledger.scope import envelope

Paid = TypeVar("Paid")


@dataclass
class Purse:
    """A limit and what was spent of it, within another purse if there is one around it.

    Attributes:
        limits: what may be spent.
        around: the purse that it was lent from.
        spent: what has been spent.
    """

    limits: accounting.Limits
    around: Purse | None = None
    spent: accounting.Sums = field(default_factory=accounting.Sums)

    def pay(self, price: accounting.Charge) -> None:
        """Pay from this purse and from those around it, or from none.

        Raises:
            BudgetExceeded: one of them holds less.
        """
        after = accounting.spend(self.spent, price, self.limits)
        if self.around is not None:
            self.around.pay(price)
        self.spent = after

    def pay_for(self, loss: Loss, delta: Fraction) -> None:
        """Pay for parts that were fixed beforehand, with a δ where that fits.

        Raises:
            BudgetExceeded: it costs more than is left.
        """
        in_either_view(
            delta, lambda slack: self.pay(accounting.charge(loss, slack, fixed=bool(slack)))
        )

    def lent(self, budget: Budget, neighbors: Neighbors) -> Purse:
        """Return a purse of part of this one, for what is asked inside a scope.

        Raises:
            BudgetExceeded: so much is not left, here or around; nothing was asked yet.
        """
        price = envelope(budget, neighbors)
        around: Purse | None = self
        while around is not None:
            accounting.spend(around.spent, price, around.limits)
            around = around.around
        return Purse(accounting.Limits.of(budget), around=self)

    def pay_interaction(self, loss: Loss) -> None:
        """Pay for an open interaction.

        Under a budget with δ interleaved interactions are proved for the zCDP sum alone, so the
        charge has no ε there.
        """
        price = accounting.charge(loss)
        self.pay(price if self.limits.rho is None else replace(price, epsilon=None))

    @property
    def remaining(self) -> accounting.Remaining:
        """What is left, in both views."""
        return accounting.remaining(self.spent, self.limits)


def in_either_view(delta: Fraction, pay: Callable[[Fraction], Paid]) -> Paid:
    """Pay with a δ, which gives Gaussian noise an ε; where that does not fit, in ρ alone.

    Both are valid charges of the same release. The first keeps the sum of ε known, for releases
    that have no small ρ; the second needs no δ. The order is fixed, and nothing but the budget
    decides, so that a release that is asked for again is found where it was paid for.

    Raises:
        BudgetExceeded: neither fits; the one that says more.
    """
    if not delta:
        return pay(delta)
    try:
        return pay(delta)
    except BudgetExceeded as refused:
        first = refused
    try:
        return pay(Fraction(0))
    except BudgetExceeded as second:
        raise (second if _lacks_delta(first) else first) from None


def _lacks_delta(refused: BudgetExceeded) -> bool:
    asked, left = refused.asked, refused.left
    if not isinstance(asked, accounting.Charge) or not isinstance(left, accounting.Remaining):
        return True
    return Fraction(asked.delta, accounting.grid.UNIT) > left.delta
