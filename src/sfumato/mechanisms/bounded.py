"""Noise scaled to a private upper bound of the local sensitivity, which is published with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, DataError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import Approximate, Loss, Pure
from sfumato.core.number import Exactable, exact, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.mechanisms import saturation
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import (
    Laboratory,
    check_unit,
    integers,
    need,
    need_movable,
    whole,
)
from sfumato.mechanisms.propose import tail
from sfumato.noise import Laplace, Rng, draw, system
from sfumato.release.key import check_cells
from sfumato.release.release import Release

_HALF = Fraction(1, 2)
_LARGEST = 2**62


class PublishedScale:
    """What mechanisms have in common whose draw is a pair: the noisy value, and its bound."""

    __slots__ = ()

    if TYPE_CHECKING:
        spread: Fraction

        def loss(self, sensitivity: Sensitivity) -> Loss:
            """Of the mechanism."""

        def exact(self, values: Any) -> Any:
            """Of the mechanism."""

        def sample(self, exact: Any, rng: Rng) -> NDArray[np.int64]:
            """Of the mechanism."""

    def cells(self, exact: Any) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one answer."""
        return ()

    def view(self, drawn: NDArray[np.int64]) -> tuple[int, int]:
        """Return the noisy value and the bound that its noise was scaled to."""
        return int(drawn[0]), int(drawn[1])

    def grid(self, drawn: NDArray[np.int64]) -> int:
        """Return the noisy value."""
        return int(drawn[0])

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "value",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Draw once and return the value with the interval that its published scale gives it."""
        cost, read = self.loss(sensitivity), self.exact(values)
        open_unit(confidence, "confidence")
        check_cells(name, keys, ())
        check_unit(unit, cost)
        value, bound = self.view(self.sample(read, system()))
        return Release.of(
            values=value,
            error=LaplaceError(self.spread * bound, Fraction(1)),
            cost=cost,
            mechanism=repr(self),
            scale=self.spread * bound,
            name=name,
            keys=keys,
            confidence=confidence,
            unit=unit,
            price=price(cost),
        )


@dataclass(frozen=True, slots=True, repr=False)
class BoundedLocal(PublishedScale, Laboratory):
    """Publish a noisy upper bound of the local sensitivity, and the value with noise to match.

    For whole numbers that most data hardly move and some could move far, where the local
    sensitivity itself moves little from neighbor to neighbor. The bound is too low with probability
    δ at most, and it is public, so the answer has an interval. You state the local sensitivity: no
    neighbor's value may lie further away.

    Guarantee: (ε, δ)-DP with ε = l1·(change/scale + 1/spread) and δ = P(N > margin - c), where N is
        discrete Laplace noise of this scale and c = ceil(change·(l1 - 1)/2), for units that make
        l1 steps from neighbor to neighbor; for the relation under which both were stated.
    Theorem:   [KRSY11]; docs/theory/instance-noise.md
    Exactness: integer noise; ε rational, δ rounded up.
    Error:     discrete Laplace noise of scale spread·bound, the bound being part of the answer;
        before reading, at most that of spread·most.

    Args:
        most: the largest local sensitivity of all data; public.
        scale: the scale of the noise on the local sensitivity.
        margin: what is added to the local sensitivity, a whole number.
        spread: the scale of the noise on the value, over the bound.
        change: how far one step moves the local sensitivity at most, a whole number.

    Example:
        >>> step = Sensitivity(l1=1)
        >>> count = BoundedLocal.calibrate(step, most=1000, epsilon=1, delta="1e-6")
        >>> value, bound = count([12_345, 40])
        >>> 1 <= bound <= 1000
        True
    """

    takes_cells: ClassVar[bool] = False

    most: int
    scale: Fraction
    margin: int
    spread: Fraction
    change: int = 1

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            most: Exactable,
            scale: Exactable,
            margin: Exactable,
            spread: Exactable,
            change: Exactable = 1,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the bounds and the noise."""
        for name, least in (("most", 1), ("margin", 0), ("change", 1)):
            number = exact(getattr(self, name), name)
            if number.denominator != 1 or not least <= number < _LARGEST:
                raise RangeError(
                    f"{name} = {show(number)} must be a whole number from {least} to 2^62: it is "
                    f"counted in units of the value."
                )
            object.__setattr__(self, name, int(number))
        for name in ("scale", "spread"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        for noise in (self.scale, self.spread, self.spread * self.most):
            Laplace(noise)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        most: Exactable,
        change: Exactable = 1,
        share: Exactable = _HALF,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> BoundedLocal:
        """Return the mechanism with the least margin that fits ε and δ.

        Args:
            sensitivity: how many steps from neighbor to neighbor a unit makes.
            most: the largest local sensitivity of all data.
            change: how far one step moves the local sensitivity at most.
            share: how much of ε goes into the bound.
            epsilon: the target ε.
            delta: the target δ; without it no bound holds.
            rho: refused.
        """
        need_movable(sensitivity)
        steps = whole(need(sensitivity.l1, "l1", cls.__name__))
        target = Budget(epsilon, delta, rho=rho)
        return cls(most, *fitted(steps, positive(change, "change"), share, target), change)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε of bound and value, and δ: that the bound is too low."""
        steps = whole(need(sensitivity.l1, "l1", type(self).__name__))
        return self.loss_of(steps, sensitivity.neighbors)

    def loss_of(self, steps: Fraction, neighbors: Neighbors) -> Loss:
        """Return the loss for a unit that makes so many steps from neighbor to neighbor."""
        if not steps:
            return Pure(Fraction(0), neighbors=neighbors)
        epsilon = steps * (self.change / self.scale + 1 / self.spread)
        ahead = -(-self.change * (steps - 1) // 2)
        delta = tail(self.scale, int(self.margin - ahead))
        return Approximate(epsilon, delta, neighbors=neighbors)

    def error(self, sensitivity: Sensitivity) -> LaplaceError:  # noqa: ARG002 - not of the data
        """Return the law of the error at the largest bound of all."""
        return LaplaceError(self.spread * self.most, Fraction(1))

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take a whole number and its local sensitivity."""
        pair = integers(values)
        if pair.shape != (2,):
            raise DataError(
                "this takes two whole numbers: the value, and how far any neighbor's value lies "
                "from it at most. Pass [value, local]."
            )
        # A local sensitivity beyond its public range is read as the nearest one: 1-Lipschitz.
        return np.array([pair[0], min(max(int(pair[1]), 0), self.most)], np.int64)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Draw the bound, then the value."""
        noise = int(draw(Laplace(self.scale), 1, rng)[0])
        bound = min(max(int(exact[1]) + noise + self.margin, 1), self.most)
        value = saturation.add(exact[:1], draw(Laplace(self.spread * bound), 1, rng))
        return np.array([value[0], bound], np.int64)


def fitted(
    steps: Fraction, change: Fraction, share: Exactable, target: Budget
) -> tuple[Fraction, int, Fraction]:
    """Return scale, margin and spread that fit the target."""
    if target.epsilon is None or not target.delta:
        raise CostError(
            "a noisy bound can be too low by chance, so noise scaled to it has a guarantee in "
            "epsilon and delta only. Pass both, delta well below one over the number of people."
        )
    bound = open_unit(share, "share") * target.epsilon
    scale = steps * change / bound
    ratio = Interval.of(-1 / scale).exp()
    least = (1 / ((1 + ratio) * target.delta)).log() * scale - 1  # p^(t + 1)/(1 + p) <= δ
    margin = max(0, -int(-Fraction(least.high) // 1)) + -int(-change * (steps - 1) // 2)  # up
    return scale, margin, steps / (target.epsilon - bound)
