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
from sfumato.core.errors import CandidateError, RangeError, ScoreError
from sfumato.core.interval import Interval
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, exact, nonnegative, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.mechanism import (
    Laboratory,
    need,
    need_movable,
    one_by_one,
    rational,
)
from sfumato.noise import Rng
from sfumato.noise.choice import RATE_LIMIT, SCORE_LIMIT, Choice


@dataclass(frozen=True, slots=True, repr=False)
class Exponential(Laboratory):
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
        if isinstance(self.candidates, str | bytes) or not isinstance(self.candidates, Sequence):
            raise CandidateError(
                "candidates must be a list of public options. Pass Exponential(['A', 'B'], rate=1)."
            )
        object.__setattr__(self, "candidates", tuple(self.candidates))
        if not self.candidates:
            raise CandidateError(
                "there is nothing to choose from. Pass at least one candidate; the list must be "
                "public, that is, written down without looking at the data."
            )
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        object.__setattr__(self, "step", positive(self.step, "step"))
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
        per_rate = unit._range(sensitivity)
        return cls(
            unit.candidates, range_for(target) / per_rate, unit.prior, unit.step, unit.monotone
        )

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of the choice."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        return BoundedRange(self.rate * self._range(sensitivity), neighbors=sensitivity.neighbors)

    def _range(self, sensitivity: Sensitivity) -> Fraction:
        """Return how far the exponents of two candidates can part, per unit of rate."""
        linf = need(sensitivity.linf, "linf", type(self).__name__)
        floored = -(-linf // self.step) * self.step  # up: flooring can add to the change
        one_way = self.monotone and sensitivity.neighbors is Neighbors.ADD_REMOVE
        return Fraction(floored if one_way else 2 * floored)

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return the distance of floored scores, in steps."""
        linf = need(sensitivity.linf, "linf", type(self).__name__)
        return {"linf": Fraction(-(-linf // self.step))}

    def error(self, sensitivity: Sensitivity) -> ScoreError_:  # noqa: ARG002 - not of the data
        """Return how far below the best score the chosen one may lie."""
        weights = [w for w in self.prior or (Fraction(1),) * len(self.candidates) if w]
        return ScoreError_(sum(weights, Fraction(0)) / min(weights), self.rate, self.step)

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Floor the scores onto the grid."""
        scores = one_by_one(values)
        if scores.shape != (len(self.candidates),):
            raise ScoreError(
                f"there are {len(self.candidates)} candidates and scores of shape {scores.shape}. "
                f"Pass a list with one score for each candidate, in their order."
            )
        exact = [rational(v) for v in scores.tolist()]
        if None in exact:
            raise ScoreError(
                "a score is not a finite number. Scores must be total: say what a candidate is "
                "worth when there is no data for it."
            )
        # Saturated where differences would not fit 64 bits: 1-Lipschitz, so it costs nothing.
        steps = [
            min(max(s // self.step, -SCORE_LIMIT), SCORE_LIMIT) for s in exact if s is not None
        ]
        return np.array(steps, np.int64)

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one choice."""
        return ()

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> Any:
        """Choose a candidate by its floored scores, counted in steps."""
        choice = Choice(exact, self.rate * self.step, self._weights())
        return self.candidates[int(choice.draw(1, rng)[0])]

    def view(self, drawn: Any) -> Any:
        """Return the candidate as it was given."""
        return drawn

    def grid(self, drawn: Any) -> Any:
        """Return the candidate as it is where a release can hold it, else as text."""
        if isinstance(drawn, np.generic):
            drawn = drawn.item()
        return drawn if isinstance(drawn, str | int | Fraction) else repr(drawn)

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


@dataclass(frozen=True, slots=True)
class ScoreError_:  # noqa: N801 - ScoreError is the error class
    """How far below the best score the chosen one may lie."""

    options: Fraction  # total prior weight over the least
    rate: Fraction
    step: Fraction
    covers: str = "score, noise only"
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return c with P(score < best - c) <= 1 - confidence."""
        reach = Interval.of(self.options / (1 - confidence)).log() / self.rate
        return max(Fraction(0), Fraction(reach.high)) + self.step  # up


def check_rate(rate: Fraction) -> None:
    """Refuse a rate that cannot be drawn with, when the mechanism is made."""
    if rate > RATE_LIMIT:
        raise RangeError(
            f"rate = {show(rate)} a step is beyond 2^60: the best candidate would always win. "
            f"Pass a smaller rate."
        )


def range_for(target: Budget) -> Fraction:
    """Return the largest bounded range ε that fits a target in ε or in ρ."""
    if target.epsilon is not None:
        return target.epsilon
    # ε²/8 <= ρ; down
    return Fraction(Interval.of(8 * (target.rho or Fraction(0))).sqrt().low)
