"""The figures of the filter: the price of a release, running sums, limits, and what is left.

All are integers in units of 10^-18: they add up exactly and in any order, and what a ledger stored
means the same for ever. Prices are rounded up, limits down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from sfumato.accounting.convert import rho_within
from sfumato.accounting.grid import UNIT, units_down
from sfumato.core.budget import Budget
from sfumato.core.codec import canonical
from sfumato.core.errors import CostError, LossError, NeighborsError, RangeError
from sfumato.core.number import show
from sfumato.core.unit import Neighbors


@canonical
@dataclass(frozen=True, slots=True)
class Charge:
    """The price of one release, in units of 10^-18, rounded up.

    Attributes:
        epsilon: ε, but for a failure of probability δ; None if the release has no ε.
        rho: ρ, but for a failure of probability δ; None if the release has no ρ.
        delta: δ, one figure for both.
        neighbors: the relation under which the charge holds.
    """

    epsilon: int | None
    rho: int | None
    delta: int = 0
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __str__(self) -> str:
        """Write the figures for people, rounded up."""
        return _figures(self)

    def __post_init__(self) -> None:
        """Check the figures."""
        _check(self.epsilon, self.rho, self.delta)
        if self.epsilon is None and self.rho is None:
            raise LossError(
                "a charge needs an ε or a ρ: with neither, nothing bounds the release. "
                "Make it with charge(loss)."
            )
        if type(self.neighbors) is not Neighbors:
            object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))


@canonical
@dataclass(frozen=True, slots=True)
class Sums:
    """What has been spent so far, in units of 10^-18; ``sums + charge`` is what it would be after.

    Attributes:
        epsilon: Σε; None once a charge without ε was made.
        rho: Σρ; None once a charge without ρ was made.
        delta: Σδ.
        neighbors: the relation of the charges; None before the first.

    Example:
        >>> (Sums() + Charge(10**17, 5 * 10**15) + Charge(2 * 10**17, None)).epsilon
        300000000000000000
    """

    epsilon: int | None = 0
    rho: int | None = 0
    delta: int = 0
    neighbors: Neighbors | None = None

    def __str__(self) -> str:
        """Write the figures for people, rounded up."""
        return _figures(self)

    def __post_init__(self) -> None:
        """Check the figures."""
        _check(self.epsilon, self.rho, self.delta)
        if self.neighbors is not None and type(self.neighbors) is not Neighbors:
            object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))

    def __add__(self, new: Charge) -> Sums:
        """Return the sums after a charge."""
        if self.neighbors is not new.neighbors and self.neighbors is not None:
            raise NeighborsError(
                f"what was spent so far holds under {str(self.neighbors)!r} neighbors, and a "
                f"charge under {str(new.neighbors)!r} neighbors does not add up with it. State "
                f"the sensitivity under the one relation of your unit."
            )
        a, b, c, d = self.epsilon, self.rho, new.epsilon, new.rho
        return Sums(
            None if a is None or c is None else a + c,
            None if b is None or d is None else b + d,
            self.delta + new.delta,
            new.neighbors,
        )


@canonical
@dataclass(frozen=True, slots=True)
class Limits:
    """A budget as the filter uses it, in units of 10^-18, rounded down; made once and recorded.

    Attributes:
        epsilon: bounds Σε; None for a ρ budget.
        rho: bounds Σρ; None for a pure budget.
        delta: bounds Σδ in either case: half of the budget's δ.
        conversion: the other half, which pays once for turning Σρ into the budget's ε.

    Example:
        >>> Limits.of(Budget(4, "1e-6")).delta
        500000000000
    """

    epsilon: int | None
    rho: int | None
    delta: int = 0
    conversion: int = 0

    def __post_init__(self) -> None:
        """Check the figures."""
        _check(self.epsilon, self.rho, self.delta)
        _check(None, None, self.conversion)

    @classmethod
    def of(cls, budget: Budget | Limits) -> Limits:
        """Split a budget's δ and work out its ρ; limits are returned as they are.

        Theorem: [CKS20, Cor 13]; docs/theory/filter.md

        Raises:
            CostError: not a budget.
        """
        if isinstance(budget, Limits):
            return budget
        if not isinstance(budget, Budget):
            raise CostError(
                f"{type(budget).__name__} is not a budget, so it limits nothing. "
                f"Pass Budget(epsilon=1), Budget(epsilon=1, delta='1e-6') or Budget(rho='0.5')."
            )
        return _limits(budget)

    def admit(self, total: Sums) -> bool:
        """Say whether sums are within one of the two limits, and within δ."""
        if total.delta > self.delta:
            return False
        a, b = total.epsilon, total.rho
        return (a is not None and self.epsilon is not None and a <= self.epsilon) or (
            b is not None and self.rho is not None and b <= self.rho
        )


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left, in both views: a release has to fit one of them, and δ.

    Attributes:
        epsilon: ε that may still be added; None if this view is closed.
        rho: ρ that may still be added; None if this view is closed.
        delta: δ that may still be added.
        allowed: δ that releases may be charged in all, whatever they were charged so far.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    allowed: Fraction = field(default=Fraction(0), compare=False)

    def chargeable(self, delta: Fraction) -> Fraction:
        """Return the δ that noise is made for where a release was asked for with `delta`.

        A budget keeps half of its δ for turning ρ into ε, so that no release can be charged more
        than the other half. It does not depend on what was spent: the same release has the same
        noise for ever. Where no δ is charged at all, as in a budget in ρ, it is `delta`.
        """
        return min(delta, self.allowed) if self.allowed else delta

    @property
    def largest(self) -> Fraction:
        """The largest ε that a release without δ may cost, or slightly less."""
        # ε·tanh(ε/2) <= ε²/2, so that ε = sqrt(2ρ) fits into ρ; down.
        root = Fraction(isqrt(2 * units_down(self.rho or Fraction(0)) * UNIT), UNIT)
        return max(self.epsilon or Fraction(0), root)

    def __str__(self) -> str:
        """Write both views for people, rounded down."""
        views = [
            f"{name} = {show_down(amount)}"
            for name, amount in (("ε", self.epsilon), ("ρ", self.rho))
            if amount is not None
        ]
        tail = f", with δ = {show_down(self.delta)}" if self.delta else ""
        return (" or ".join(views) or "nothing") + tail


def _figures(held: Charge | Sums) -> str:
    views = [
        f"{name} = {show_up(units)}"
        for name, units in (("ε", held.epsilon), ("ρ", held.rho), ("δ", held.delta or None))
        if units is not None
    ]
    return ", ".join(views)


def show_down(amount: Fraction) -> str:
    """Write an amount that is left, rounded down to four digits; what is only just less says so.

    Example:
        >>> show_down(Fraction(2)), show_down(Fraction(2, 3)), show_down(3 - Fraction(1, 10**12))
        ('2', '0.6666', '2.999999…')
    """
    units = units_down(amount)
    above = -(-units // (size := _size(units, 4))) * size
    if 0 < (above - units) * 1000 <= size:
        few = _size(units, 7)
        return f"{show(Fraction(units // few * few, UNIT), 7)}…"
    return _decimal(units, up=False)


def show_up(units: int) -> str:
    """Write an amount that is asked for, rounded up to four digits."""
    return _decimal(units, up=True)


def _size(units: int, digits: int) -> int:
    """Return the size of the last of so many digits."""
    return int(10 ** max(len(str(units)) - digits, 0))


def _decimal(units: int, *, up: bool) -> str:
    size = _size(units, 4)
    return show(Fraction((-(-units // size) if up else units // size) * size, UNIT))


def _check(epsilon: object, rho: object, delta: object) -> None:
    if not (
        (epsilon is None or (type(epsilon) is int and epsilon >= 0))
        and (rho is None or (type(rho) is int and rho >= 0))
        and (type(delta) is int and delta >= 0)
    ):
        raise RangeError(
            f"({epsilon!r}, {rho!r}, {delta!r}) are not figures in units of 10^-18: they must be "
            f"whole numbers from 0 up. Make them with charge(loss) or Limits.of(budget)."
        )


@lru_cache(maxsize=1024)
def _limits(budget: Budget) -> Limits:
    if budget.rho is not None:
        return Limits(None, units_down(budget.rho))
    limit = budget.epsilon or Fraction(0)
    half = units_down(budget.delta / 2)
    if not half:
        return Limits(units_down(limit), None)
    concentrated = rho_within(limit, Fraction(half, UNIT))
    return Limits(units_down(limit), units_down(concentrated), half, half)
