"""Scores of public candidates: what all mechanisms that choose one of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CandidateError, RangeError, ScoreError
from sfumato.core.interval import Interval
from sfumato.core.number import show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.mechanism import need, one_by_one, rational, refuse_labels
from sfumato.noise.choice import RATE_LIMIT, SCORE_LIMIT


class Scored:
    """A choice among public candidates by scores on a grid; mixed into the mechanisms.

    Attributes:
        candidates: the public options.
        step: the grid onto which scores are floored.
        monotone: whether adding a unit can never lower a score.
    """

    __slots__ = ()

    candidates: tuple[Any, ...]
    step: Fraction
    monotone: bool

    def spread(self, sensitivity: Sensitivity) -> Fraction:
        """Return how far the floored scores of two candidates can part between neighbors.

        Twice the change of one score, as one may rise while another falls. Where adding a unit
        lowers no score, all move the same way and it is the change itself; under replace one unit
        leaves and another comes, so scores move both ways whatever they are.
        """
        linf = need(sensitivity.linf, "linf", type(self).__name__)
        floored = -(-linf // self.step) * self.step  # up: flooring can add to the change
        one_way = self.monotone and sensitivity.neighbors is Neighbors.ADD_REMOVE
        return Fraction(floored if one_way else 2 * floored)

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return the distance of floored scores, in steps."""
        linf = need(sensitivity.linf, "linf", type(self).__name__)
        return {"linf": Fraction(-(-linf // self.step))}

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Floor the scores onto the grid, each by itself."""
        refuse_labels(values, "[score[candidate] for candidate in candidates]")
        scores = one_by_one(values)
        if scores.shape != (len(self.candidates),):
            raise ScoreError(
                f"there are {len(self.candidates)} candidates and scores of shape {scores.shape}. "
                f"Pass a list with one score for each candidate, in their order."
            )
        # Saturated where differences would not fit 64 bits: 1-Lipschitz, so it costs nothing.
        if scores.dtype.kind == "i" and self.step == 1:
            return np.clip(scores.astype(np.int64), -SCORE_LIMIT, SCORE_LIMIT)
        exact = [rational(v) for v in scores.tolist()]
        if None in exact:
            raise ScoreError(
                "a score is not a finite number. Scores must be total: say what a candidate is "
                "worth when there is no data for it."
            )
        steps = [
            min(max(s // self.step, -SCORE_LIMIT), SCORE_LIMIT) for s in exact if s is not None
        ]
        return np.array(steps, np.int64)

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one choice."""
        return ()

    def view(self, drawn: Any) -> Any:
        """Return the candidate as it was given."""
        return drawn

    def grid(self, drawn: Any) -> Any:
        """Return the candidate as it is where a release can hold it, else as text."""
        if isinstance(drawn, np.generic):
            drawn = drawn.item()
        return drawn if isinstance(drawn, str | int | Fraction) else repr(drawn)


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


def options(candidates: Any, example: str) -> tuple[Any, ...]:
    """Return public candidates as a tuple, or say what they must be.

    Args:
        candidates: what was passed.
        example: a call that works.
    """
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Sequence):
        raise CandidateError(f"candidates must be a list of public options. Pass {example}.")
    if not candidates:
        raise CandidateError(
            "there is nothing to choose from. Pass at least one candidate; the list must be "
            "public, that is, written down without looking at the data."
        )
    return tuple(candidates)


def flag(monotone: object) -> bool:
    """Return whether scores only grow: anything else that is truthy would halve the loss."""
    if not isinstance(monotone, bool | np.bool_):
        raise CandidateError(
            "monotone= says whether adding a unit can never lower any score: pass True or False."
        )
    return bool(monotone)


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


def pure_for(target: Budget) -> Fraction:
    """Return an ε of a mechanism of which only ε-DP is known that fits a target in ε or in ρ."""
    if target.epsilon is not None:
        return target.epsilon
    # ε·tanh(ε/2) <= ε²/2, so this ε fits; down
    return Fraction(Interval.of(2 * (target.rho or Fraction(0))).sqrt().low)
