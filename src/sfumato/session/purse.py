"""What handles on one dataset have spent together, in memory: for the laboratory and for tests."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sfumato import accounting
from sfumato.core.loss import Loss


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
