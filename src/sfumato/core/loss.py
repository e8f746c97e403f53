"""Privacy loss as data: what happened, not how it is bounded.

A class here never changes its meaning; a new meaning is a new class. Numbers (ε, δ, ρ) are computed
from a loss by `sfumato.accounting`, which refuses a class that it does not know. Every loss
names the neighbor relation under which it holds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING

from sfumato.core.codec import canonical
from sfumato.core.errors import LossError, NeighborsError, SensitivityError
from sfumato.core.number import failure_probability, is_integer, nonnegative, positive
from sfumato.core.unit import Neighbors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Loss:
    """What a release gave away about one unit. Use a subclass."""

    neighbors: Neighbors = field(default=Neighbors.ADD_REMOVE, kw_only=True)

    def __post_init__(self) -> None:
        """Normalize the relation's name."""
        object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))

    def __add__(self, other: Loss) -> Loss:
        """Compose: both happened."""
        return Composed.of([self, other])

    def __mul__(self, times: int) -> Loss:
        """Compose with itself."""
        return Composed.of([self], times=times)

    __rmul__ = __mul__


@canonical
@dataclass(frozen=True, slots=True)
class Pure(Loss):
    """A mechanism of which only ε-DP is known."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Check ε; zero means that nothing was given away."""
        Loss.__post_init__(self)
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, "epsilon"))


@canonical
@dataclass(frozen=True, slots=True)
class Approximate(Loss):
    """A mechanism of which only (ε, δ)-DP is known."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        """Check ε and δ."""
        Loss.__post_init__(self)
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", failure_probability(self.delta))


@canonical
@dataclass(frozen=True, slots=True)
class Concentrated(Loss):
    """A mechanism of which only ρ-zCDP is known."""

    rho: Fraction

    def __post_init__(self) -> None:
        """Check ρ."""
        Loss.__post_init__(self)
        object.__setattr__(self, "rho", nonnegative(self.rho, "rho"))


@canonical
@dataclass(frozen=True, slots=True)
class BoundedRange(Loss):
    """An ε-bounded-range mechanism: log-likelihood ratios span at most ε."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Check ε."""
        Loss.__post_init__(self)
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, "epsilon"))


@canonical
@dataclass(frozen=True, slots=True)
class LaplaceShift(Loss):
    """Independent discrete Laplace noise on integers that one unit can shift.

    Attributes:
        scale: the noise has P(x) proportional to exp(-abs(x)/scale).
        l1: most that one unit shifts all cells together.
        linf: most that one unit shifts one cell.
    """

    scale: Fraction
    l1: Fraction
    linf: Fraction

    def __post_init__(self) -> None:
        """Check the parameters."""
        Loss.__post_init__(self)
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "l1", nonnegative(self.l1, "l1"))
        object.__setattr__(self, "linf", nonnegative(self.linf, "linf"))
        if any(shift.denominator != 1 for shift in (self.l1, self.linf)):
            raise SensitivityError("integers move by whole numbers: l1 and linf must be integers.")
        if self.l1 and not self.linf:
            raise SensitivityError("with linf = 0 no cell moves, and yet l1 is not 0. State both.")


@canonical
@dataclass(frozen=True, slots=True)
class GaussianShift(Loss):
    """Independent discrete Gaussian noise on integers that one unit can shift.

    Attributes:
        sigma: the noise has P(x) proportional to exp(-x²/(2·sigma²)).
        l2_squared: square of the Euclidean length of the worst shift.
        scalar: whether one unit can shift one cell only, by at most sqrt(l2_squared).
    """

    sigma: Fraction
    l2_squared: Fraction
    scalar: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        Loss.__post_init__(self)
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        object.__setattr__(self, "l2_squared", nonnegative(self.l2_squared, "l2_squared"))
        if not isinstance(self.scalar, bool):  # anything truthy would lower the loss
            raise LossError("scalar= says whether one unit can shift one cell only: True or False.")


@canonical
@dataclass(frozen=True, slots=True)
class LaplaceTradeoff(Loss):
    """As private as continuous Laplace noise at a shift of ε scales, whatever was done.

    For mechanisms of others: those of this library draw integers, which is `LaplaceShift`.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Check ε."""
        Loss.__post_init__(self)
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, "epsilon"))


@canonical
@dataclass(frozen=True, slots=True)
class GaussianTradeoff(Loss):
    """μ-Gaussian DP: as private as continuous Gaussian noise at a shift of μ standard deviations.

    For mechanisms of others: those of this library draw integers, which is `GaussianShift`.
    """

    mu: Fraction

    def __post_init__(self) -> None:
        """Check μ."""
        Loss.__post_init__(self)
        object.__setattr__(self, "mu", nonnegative(self.mu, "mu"))


@canonical
@dataclass(frozen=True, slots=True)
class Renyi(Loss):
    """A mechanism of which only Rényi DP at a few orders is known.

    Attributes:
        curve: pairs of an order above 1 and the most that the divergence of that order can be, by
            increasing order.
    """

    curve: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        """Check the orders and their bounds."""
        Loss.__post_init__(self)
        pairs = []
        if isinstance(self.curve, tuple | list) and all(
            isinstance(pair, tuple | list) and len(pair) == 2 for pair in self.curve
        ):
            pairs = [(positive(o, "order"), nonnegative(e, "epsilon")) for o, e in self.curve]
        orders = [order for order, _ in pairs]
        if not pairs or orders[0] <= 1 or any(b <= a for a, b in pairwise(orders)):
            raise LossError(
                "a Rényi curve is pairs of an order above 1 and a divergence, by increasing order. "
                "Pass curve=((2, '0.1'), (4, '0.3'))."
            )
        object.__setattr__(self, "curve", tuple(pairs))


@canonical
@dataclass(frozen=True, slots=True)
class PoissonSampled(Loss):
    """A mechanism run on a secret sample, into which each unit came by a coin of its own.

    Holds where whoever ran the mechanism also threw the coins, and told nobody how they fell.

    Attributes:
        loss: that of the mechanism, for a unit that is in the sample.
        rate: the probability with which a unit is in the sample.
    """

    loss: Loss
    rate: Fraction

    def __post_init__(self) -> None:
        """Check that the theorem applies: add_remove, and a probability."""
        Loss.__post_init__(self)
        object.__setattr__(self, "rate", nonnegative(self.rate, "rate"))
        if self.rate > 1:
            raise LossError("rate= is the probability to be in the sample. Pass 0 to 1.")
        if _relation([self.loss]) is not self.neighbors or (
            self.neighbors is not Neighbors.ADD_REMOVE
        ):
            raise NeighborsError(
                "coins for each unit amplify privacy under add_remove, by the theorem that is used "
                "here; under replace the sample changes in two ways. State the sensitivity under "
                "add_remove."
            )


@canonical
@dataclass(frozen=True, slots=True)
class Composed(Loss):
    """Several losses together, each with the number of times it happened.

    Build it with `of`, which flattens, merges equal parts and checks the neighbor relation.
    """

    parts: tuple[tuple[Loss, int], ...]

    def __post_init__(self) -> None:
        """Refuse parts in any form but the one that `of` gives them."""
        Loss.__post_init__(self)
        if (
            not _in_one_form(self.parts)
            or any(isinstance(part, Composed) for part, _ in self.parts)
            or [count for _, count in self.parts] == [1]
        ):
            raise LossError(
                "the parts of a composition are not in their one form. Use Composed.of."
            )
        _check_relation(self)

    @classmethod
    def of(cls, losses: Iterable[Loss], *, times: int = 1) -> Loss:
        """Compose `losses`, the whole `times` over; the order makes no difference."""
        if not _is_count(times, least=0):
            raise LossError(
                "a loss happens a whole number of times: pass an int from 0 to 2^63 - 1."
            )
        kept = [losses] if isinstance(losses, Loss) else list(losses)
        neighbors = _relation(kept)
        counts: dict[Loss, int] = {}
        for loss in kept if times else ():
            for part, count in loss.parts if isinstance(loss, Composed) else ((loss, 1),):
                counts[part] = counts.get(part, 0) + count * index(times)
        if list(counts.values()) == [1]:
            return next(iter(counts))
        return cls(_ordered(counts), neighbors=neighbors)


@canonical
@dataclass(frozen=True, slots=True)
class Worst(Loss):
    """Losses of disjoint parts of the data, of which one unit can be in a few only.

    Build it with `of`, which merges equal parts and checks the neighbor relation.

    Attributes:
        parts: the loss of each part, with the number of parts that have this loss.
        touched: how many parts differ between neighbors at most.
    """

    parts: tuple[tuple[Loss, int], ...]
    touched: int

    def __post_init__(self) -> None:
        """Refuse parts in any form but the one that `of` gives them."""
        Loss.__post_init__(self)
        if (
            not _in_one_form(self.parts)
            or not _is_count(self.touched, least=1)
            or self.touched >= sum(count for _, count in self.parts)
        ):
            raise LossError("the parts of a worst case are not in their one form. Use Worst.of.")
        _check_relation(self)

    @classmethod
    def of(cls, losses: Iterable[Loss], *, touched: int) -> Loss:
        """Return the worst `touched` of `losses`; all of them, composed, if they are no more."""
        if not _is_count(touched, least=1):
            raise LossError("a unit is in 1 part or more: pass touched= as an int from 1 on.")
        kept = list(losses)
        neighbors = _relation(kept)
        if touched >= len(kept):
            return Composed.of(kept)
        return cls(_ordered(Counter(kept)), index(touched), neighbors=neighbors)


def _is_count(value: object, *, least: int) -> bool:
    return is_integer(value) and least <= index(value) < 2**63


def _ordered(counts: Mapping[Loss, int]) -> tuple[tuple[Loss, int], ...]:
    """Put parts into an order of their own, so that equal compositions are equal values."""
    return tuple(sorted(counts.items(), key=lambda item: repr(item[0])))


def _in_one_form(parts: object) -> bool:
    """Say whether these are pairs of a loss and a count, merged and in order."""
    return (
        isinstance(parts, tuple)
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in parts)
        and all(isinstance(part, Loss) for part, _ in parts)
        and all(type(count) is int and count >= 1 for _, count in parts)
        and parts == _ordered(dict(parts))
    )


def _relation(losses: Iterable[Loss]) -> Neighbors:
    """Return the one relation under which all of these hold; nothing holds under either."""
    relations: set[Neighbors] = set()
    of_nothing: set[Neighbors] = set()
    for loss in losses:
        if not isinstance(loss, Loss):
            raise LossError(
                f"{type(loss).__name__} is not a loss, so it cannot be composed. "
                f"Pass what mechanism.loss(sensitivity) returns."
            )
        empty = isinstance(loss, Composed) and not loss.parts
        (of_nothing if empty else relations).add(loss.neighbors)
    found = relations or of_nothing or {Neighbors.ADD_REMOVE}
    if len(found) > 1:
        raise NeighborsError(
            "these losses hold under different neighbor relations (add_remove and replace) and "
            "do not add up. State every sensitivity under the one relation of your unit."
        )
    return found.pop()


def _check_relation(whole: Composed | Worst) -> None:
    if whole.parts and _relation(part for part, _ in whole.parts) is not whole.neighbors:
        raise NeighborsError("a composition holds under the neighbor relation of its parts only.")
