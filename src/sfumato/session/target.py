"""The price that a release is asked at, lowered to what can be charged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.accounting import Remaining
from sfumato.accounting.grid import UNIT, units_down
from sfumato.core.budget import Budget
from sfumato.core.number import Exactable


def target(
    epsilon: Exactable | None,
    delta: Exactable = 0,
    rho: Exactable | None = None,
    *,
    left: Callable[[], Remaining] | None = None,
) -> Budget:
    """Return a price on the grid of a ledger: down, so that noise is made for no more than asked.

    A ledger rounds charges up and limits down. What lies between two points of its grid, as 1/3,
    would cost more than a budget of as much has. A price below the first point stays as it is.

    Args:
        epsilon: ε.
        delta: the δ beside it.
        rho: ρ, instead.
        left: says what is left of the budget that pays, which keeps half of its δ; no more than the
            other half can be charged, and noise is made for that.

    Example:
        >>> target(Fraction(1, 3)).epsilon
        Fraction(333333333333333333, 1000000000000000000)
    """
    given = Budget(epsilon, delta, rho=rho)
    failure = given.delta
    if failure and left is not None:
        failure = left().chargeable(failure)
    return Budget(_down(given.epsilon), _down(failure) or 0, rho=_down(given.rho))


def _down(amount: Fraction | None) -> Fraction | None:
    if amount is None or not (points := units_down(amount)):
        return amount
    return Fraction(points, UNIT)
