"""Running sums from which an untouched charge can be taken back."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.accounting.sums import Charge, Sums
from sfumato.core.codec import canonical
from sfumato.core.errors import RangeError
from sfumato.core.unit import Neighbors


@canonical
@dataclass(frozen=True, slots=True)
class Tally:
    """What has been charged, in units of 10^-18.

    `Sums` forget a view for good once a charge without it was made. A ledger may have to give such
    a charge back, so it counts them instead.

    Attributes:
        epsilon: Σε over the charges that have one.
        rho: Σρ over the charges that have one.
        delta: Σδ.
        without_epsilon: how many charges have no ε.
        without_rho: how many charges have no ρ.

    Example:
        >>> before = Tally().plus(Charge(10**17, 5 * 10**15))
        >>> before.plus(Charge(None, 10**15)).sums(Neighbors.REPLACE).epsilon is None
        True
        >>> before.plus(Charge(None, 10**15)).minus(Charge(None, 10**15)) == before
        True
    """

    epsilon: int = 0
    rho: int = 0
    delta: int = 0
    without_epsilon: int = 0
    without_rho: int = 0

    def __post_init__(self) -> None:
        """Refuse sums that no charges have."""
        figures = (self.epsilon, self.rho, self.delta, self.without_epsilon, self.without_rho)
        if not all(type(figure) is int and figure >= 0 for figure in figures):
            raise RangeError("running sums are whole numbers from 0 up, and these are not.")

    def plus(self, charge: Charge) -> Tally:
        """Return the sums after a charge."""
        return self._moved(charge, 1)

    def minus(self, charge: Charge) -> Tally:
        """Return the sums after a charge was given back.

        Raises:
            RangeError: the charge is not in the sums.
        """
        return self._moved(charge, -1)

    def moved(self, old: Tally, new: Tally) -> Tally:
        """Return the sums after something that counted as `old` has come to count as `new`.

        Raises:
            RangeError: the old is not in the sums.
        """
        return Tally(
            self.epsilon - old.epsilon + new.epsilon,
            self.rho - old.rho + new.rho,
            self.delta - old.delta + new.delta,
            self.without_epsilon - old.without_epsilon + new.without_epsilon,
            self.without_rho - old.without_rho + new.without_rho,
        )

    @property
    def figures(self) -> tuple[int, int, int]:
        """Σε, Σρ and Σδ over the charges that have them."""
        return self.epsilon, self.rho, self.delta

    def sums(self, neighbors: Neighbors) -> Sums:
        """Return the sums as the filter reads them."""
        return Sums(
            None if self.without_epsilon else self.epsilon,
            None if self.without_rho else self.rho,
            self.delta,
            neighbors,
        )

    def _moved(self, charge: Charge, sign: int) -> Tally:
        return Tally(
            self.epsilon + sign * (charge.epsilon or 0),
            self.rho + sign * (charge.rho or 0),
            self.delta + sign * charge.delta,
            self.without_epsilon + sign * (charge.epsilon is None),
            self.without_rho + sign * (charge.rho is None),
        )
