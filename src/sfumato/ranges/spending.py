"""What a release may cost, and the noise that follows from it for each thing that is measured."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

from sfumato import accounting
from sfumato.accounting.grid import UNIT, units_down
from sfumato.core.budget import Budget
from sfumato.core.errors import InputError
from sfumato.core.number import Exactable
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.mechanisms.mechanism import need_movable
from sfumato.ranges.weights import PARTS
from sfumato.session.cells import Measuring, need_caps

_FINE = 2**20


@dataclass(frozen=True, slots=True)
class Spending:
    """A price in ε or in ρ, to be shared out.

    Attributes:
        budget: what was asked for.
        epsilon: ε for discrete Laplace noise; None where noise is Gaussian.
        rho: ρ for discrete Gaussian noise.
        delta: δ to be charged, so that noise that is Gaussian has an ε; 0 where there is none.
    """

    budget: Budget
    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction = Fraction(0)

    @classmethod
    def of(
        cls,
        epsilon: Exactable | None,
        delta: Exactable,
        rho: Exactable | None,
        *,
        pure: bool,
        left: accounting.Remaining,
    ) -> Spending:
        """Read a price.

        Args:
            epsilon: ε; with δ it is turned into the ρ that is worth as much.
            delta: δ; 0 where noise is in ε alone.
            rho: ρ, instead.
            pure: whether noise is to be discrete Laplace, where that is possible.
            left: of the budget that pays, which says how much of δ it can be charged.
        """
        budget = Budget(epsilon, delta, rho=rho)
        if pure and budget.epsilon is not None:
            return cls(budget, budget.epsilon, None)
        if budget.rho is not None:
            return cls(budget, None, budget.rho)
        slack = left.chargeable(budget.delta)
        return cls(budget, None, accounting.rho_within(budget.epsilon or 0, slack), slack)

    @property
    def pure(self) -> bool:
        """Whether noise is measured in ε."""
        return self.epsilon is not None

    @property
    def envelope(self) -> Budget:
        """The budget as additive sums, for a scope."""
        return Budget(self.epsilon) if self.epsilon is not None else Budget(rho=self.rho)

    def share(self, part: Fraction) -> Spending:
        """Return a part of it, on the grid of a ledger: parts that add up to 1 fit the envelope.

        A ledger rounds each charge up to its grid, and an envelope down; so what is paid for one
        by one is a whole number of grid points, rounded down.

        Raises:
            InputError: the part is below the least that is charged.
        """
        return Spending(
            self.budget,
            None if self.epsilon is None else _on_grid(self.epsilon * part),
            None if self.rho is None else _on_grid(self.rho * part),
            self.delta,
        )

    def mechanism(self, column: Measuring, query: Any, part: int = PARTS) -> Any:
        """Return the noise that costs so many parts of `PARTS`, for answers of a question.

        Args:
            column: whose unit counts.
            query: the question; it knows how far one unit can move its answer.
            part: the share.

        Raises:
            SensitivityError: no unit can move the answer, so that it is public.
            UnitError: how much of one unit counts is to be bought.
        """
        need_caps(query)
        moved = query.sensitivity(column.unit)
        need_movable(moved)
        share = Fraction(part, PARTS)
        if self.epsilon is not None:
            return DiscreteLaplace.calibrate(moved, epsilon=self.epsilon * share)
        square = max(moved.l2_squared or Fraction(0), Fraction(0))
        if moved.l0 == 1:
            square = max(square, Fraction(-(-moved.linf // 1)) ** 2)
        # σ² = l2²/2ρ; up: a larger σ costs less.
        target = square / (2 * (self.rho or Fraction(0)) * share)
        sigma = Fraction(isqrt(target * _FINE**2 // 1) + 1, _FINE)
        return DiscreteGaussian(max(sigma, Fraction(1, _FINE)))


def _on_grid(price: Fraction) -> Fraction:
    points = units_down(price)  # down: parts of an envelope never exceed it
    if points < 1:
        raise InputError(
            "a part of this price is below 10^-18, the least that is charged. Raise epsilon or rho."
        )
    return Fraction(points, UNIT)
