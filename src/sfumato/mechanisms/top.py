"""The best few of a public set of candidates: the exponential mechanism, peeled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import RangeError
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, is_integer, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.mechanism import Laboratory, least_noise, need_movable
from sfumato.mechanisms.scores import Scored, ScoreError_, check_rate, flag, options, range_for
from sfumato.noise import Rng
from sfumato.noise.choice import Choice


@dataclass(frozen=True, slots=True, repr=False)
class TopK(Scored, Laboratory):
    """Choose k candidates in turn, each with probability proportional to exp(rate·score).

    For the most frequent items, words or products: one person may touch any number of candidates,
    as long as no score moves far. The law is the one-shot form with Gumbel noise: add it once to
    every score and take the k largest, in order.

    Guarantee: k times ε₀-bounded range, hence k·ε₀-DP and k·ε₀²/8-zCDP, with ε₀ = 2·rate·d, where d
        is the linf sensitivity of the scores rounded up to whole steps; ε₀ = rate·d for monotone
        scores under add_remove; for the neighbor relation of the sensitivity.
    Theorem:   [DR19], [DDR20], [CR21]; docs/theory/thresholds.md
    Exactness: floored scores are integers and the choices have exactly the stated law.
    Error:     with probability 1 - b every choice is within ln(candidates·k/b)/rate of the best
        that was left, one step of flooring included.

    Args:
        candidates: the public options; at least k.
        k: how many are chosen.
        rate: factor of the score in the exponent.
        step: grid onto which scores are floored.
        monotone: whether adding a unit can never lower any score (counts are so); halves the loss
            under add_remove.

    Example:
        >>> best = TopK(["apple", "kale", "leek"], k=2, rate=1)
        >>> best([0, 200, 100])
        ('kale', 'leek')
    """

    candidates: tuple[Any, ...]
    k: int
    rate: Fraction
    step: Fraction = Fraction(1)
    monotone: bool = False

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            candidates: Sequence[Any],
            k: int,
            rate: Exactable,
            step: Exactable = 1,
            monotone: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the candidates, their number and the rate."""
        given = options(self.candidates, "TopK(['A', 'B', 'C'], k=2, rate=1)")
        object.__setattr__(self, "candidates", given)
        if not is_integer(self.k) or not 1 <= int(self.k) <= len(given):
            raise RangeError(
                f"k says how many are chosen: a whole number from 1 to the {len(given)} candidates "
                f"that there are. Pass k=1 for one."
            )
        object.__setattr__(self, "k", int(self.k))
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        object.__setattr__(self, "step", positive(self.step, "step"))
        object.__setattr__(self, "monotone", flag(self.monotone))
        check_rate(self.rate * self.step)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        candidates: Sequence[Any],
        k: int,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        step: Exactable = 1,
        monotone: bool = False,
    ) -> TopK:
        """Return the mechanism with the sharpest choices whose loss fits the target.

        With a δ the choices are priced together, by the best bound that accounting knows, which
        allows far more than ε/k each where k is large.
        """
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(candidates, k, Fraction(1), step, monotone)
        spread, times = unit.spread(sensitivity), unit._paid()
        if target.epsilon is None:
            rate = range_for(Budget(rho=(target.rho or Fraction(0)) / times)) / spread
        else:
            rate = target.epsilon / (times * spread)
            if target.delta and times > 1:

                def loss_of(noise: Fraction) -> Loss:
                    return BoundedRange(spread / noise, neighbors=sensitivity.neighbors) * times

                rate = max(rate, 1 / least_noise(loss_of, target))
        return cls(unit.candidates, unit.k, rate, unit.step, unit.monotone)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of one choice, as often as there are choices."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        one = BoundedRange(self.rate * self.spread(sensitivity), neighbors=sensitivity.neighbors)
        return one * self._paid()

    def _paid(self) -> int:
        """Return how many choices there are with more than one candidate left, one at the least."""
        return max(1, min(self.k, len(self.candidates) - 1))

    def error(self, sensitivity: Sensitivity) -> ScoreError_:  # noqa: ARG002 - not of the data
        """Return how far below the best score that was left any of the chosen ones may lie."""
        return ScoreError_(Fraction(len(self.candidates) * self.k), self.rate, self.step)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> tuple[Any, ...]:
        """Choose k candidates by their floored scores, counted in steps."""
        chosen = Choice(exact, self.rate * self.step).distinct(self.k, rng)
        return tuple(self.candidates[i] for i in chosen.tolist())

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of k choices."""
        return (self.k,)

    def grid(self, drawn: tuple[Any, ...]) -> NDArray[np.object_]:
        """Return the candidates, each as a release can hold it; as text where they are mixed."""
        kinds = {type(Scored.grid(self, one)) for one in self.candidates}
        held = [Scored.grid(self, one) for one in drawn]
        out = np.empty(len(held), np.object_)
        out[:] = held if len(kinds) == 1 else [str(one) for one in held]
        return out
