"""The exponential mechanism over a finite, public set of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CandidateError
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, exact, nonnegative, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.mechanism import Laboratory, need_movable
from sfumato.mechanisms.scores import Scored, ScoreError_, check_rate, flag, options, range_for
from sfumato.noise import Rng
from sfumato.noise.choice import Choice

__all__ = ["Exponential", "check_rate", "range_for"]


@dataclass(frozen=True, slots=True, repr=False)
class Exponential(Scored, Laboratory):
    """Choose a candidate with probability proportional to prior·exp(rate·score).

    For answers that are not numbers, or for which nearby is not good enough: the best price, the
    most common diagnosis. Scores are floored to multiples of `step`, and the slack is charged.

    Guarantee: ε-bounded range, hence ε-DP and ε²/8-zCDP, with ε = 2·rate·d, where d is the linf
        sensitivity of the scores rounded up to whole steps; ε = rate·d for monotone scores under
        add_remove; for the neighbor relation of the sensitivity.
    Theorem:   [MT07, Thm 6], [DDR20], [CR21]
    Exactness: floored scores are integers and the choice has exactly the stated law.
    Error:     with probability 1 - b the score is within ln(total prior / least prior / b)/rate of
        the best, one step of flooring included.

    Args:
        candidates: the public options; at least one.
        rate: factor of the score in the exponent.
        prior: weights of the candidates before any data, whole numbers or fractions; equal if
            absent.
        step: grid onto which scores are floored.
        monotone: whether adding a unit can never lower any score (counts are so); halves the loss
            under add_remove.

    Example:
        >>> pick = Exponential(["apple", "kale"], rate=1)
        >>> pick([0, 100])
        'kale'
    """

    candidates: tuple[Any, ...]
    rate: Fraction
    prior: tuple[Fraction, ...] | None = None
    step: Fraction = Fraction(1)
    monotone: bool = False

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            candidates: Sequence[Any],
            rate: Exactable,
            prior: Sequence[Exactable] | None = None,
            step: Exactable = 1,
            monotone: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the candidates and their weights."""
        given = options(self.candidates, "Exponential(['A', 'B'], rate=1)")
        object.__setattr__(self, "candidates", given)
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        object.__setattr__(self, "step", positive(self.step, "step"))
        object.__setattr__(self, "monotone", flag(self.monotone))
        check_rate(self.rate * self.step)
        if self.prior is not None:
            prior = tuple(nonnegative(w, "prior") for w in self.prior)
            if len(prior) != len(self.candidates) or not any(prior):
                raise CandidateError(
                    f"prior needs one weight for each of the {len(self.candidates)} candidates, "
                    f"and not all of them zero."
                )
            object.__setattr__(self, "prior", prior)
            self._weights()

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        candidates: Sequence[Any],
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        prior: Sequence[Any] | None = None,
        step: Exactable = 1,
        monotone: bool = False,
    ) -> Exponential:
        """Return the mechanism with the sharpest choice whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        weights = None if prior is None else tuple(prior)
        unit = cls(candidates, Fraction(1), weights, exact(step, "step"), monotone)
        per_rate = unit.spread(sensitivity)
        return cls(
            unit.candidates, range_for(target) / per_rate, unit.prior, unit.step, unit.monotone
        )

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of the choice."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        return BoundedRange(self.rate * self.spread(sensitivity), neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> ScoreError_:  # noqa: ARG002 - not of the data
        """Return how far below the best score the chosen one may lie."""
        weights = [w for w in self.prior or (Fraction(1),) * len(self.candidates) if w]
        return ScoreError_(sum(weights, Fraction(0)) / min(weights), self.rate, self.step)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> Any:
        """Choose a candidate by its floored scores, counted in steps."""
        choice = Choice(exact, self.rate * self.step, self._weights())
        return self.candidates[int(choice.draw(1, rng)[0])]

    def _weights(self) -> NDArray[np.int64] | None:
        if self.prior is None:
            return None
        whole = lcm(*(w.denominator for w in self.prior))
        weights = [int(w * whole) for w in self.prior]
        if max(weights) >= 2**62:
            raise CandidateError(
                "prior weights must be whole-number ratios below 2^62. Round them."
            )
        return np.array(weights, np.int64)
