"""Permute-and-flip: one of a public set of candidates, never worse than the exponential choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import InternalError
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.mechanism import Laboratory, need_movable
from sfumato.mechanisms.scores import Scored, ScoreError_, check_rate, flag, options, pure_for
from sfumato.noise import Rng
from sfumato.noise.bernoulli import exp_flip
from sfumato.noise.uniform import integer


@dataclass(frozen=True, slots=True, repr=False)
class PermuteAndFlip(Scored, Laboratory):
    """Take candidates in random order; keep one with probability exp(rate·(score - best)).

    For one choice under pure ε: at the same ε its expected score is never below that of
    `Exponential`, and up to twice as close to the best. For many choices from one budget in ρ
    `Exponential` is cheaper: this one has no bounded range.

    Guarantee: ε-DP with ε = 2·rate·d, where d is the linf sensitivity of the scores rounded up to
        whole steps; ε = rate·d for monotone scores under add_remove; for the neighbor relation of
        the sensitivity. In ρ only what every ε-DP mechanism costs.
    Theorem:   [MS20], [DKSSWXZ21]; docs/theory/thresholds.md
    Exactness: floored scores are integers and the coins have exactly these odds.
    Error:     with probability 1 - b the score is within ln(candidates/b)/rate of the best, one
        step of flooring included.

    Args:
        candidates: the public options; at least one.
        rate: factor of the score in the exponent.
        step: grid onto which scores are floored.
        monotone: whether adding a unit can never lower any score (counts are so); halves the loss
            under add_remove.

    Example:
        >>> pick = PermuteAndFlip(["apple", "kale"], rate=1)
        >>> pick([0, 100])
        'kale'
    """

    candidates: tuple[Any, ...]
    rate: Fraction
    step: Fraction = Fraction(1)
    monotone: bool = False

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            candidates: Sequence[Any],
            rate: Exactable,
            step: Exactable = 1,
            monotone: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the candidates and the rate."""
        given = options(self.candidates, "PermuteAndFlip(['A', 'B'], rate=1)")
        object.__setattr__(self, "candidates", given)
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
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        step: Exactable = 1,
        monotone: bool = False,
    ) -> PermuteAndFlip:
        """Return the mechanism with the sharpest choice whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(candidates, Fraction(1), step, monotone)
        rate = pure_for(target) / unit.spread(sensitivity)
        return cls(unit.candidates, rate, unit.step, unit.monotone)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the ε of the choice."""
        return Pure(self.rate * self.spread(sensitivity), neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> ScoreError_:  # noqa: ARG002 - not of the data
        """Return how far below the best score the chosen one may lie."""
        return ScoreError_(Fraction(len(self.candidates)), self.rate, self.step)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> Any:
        """Choose a candidate by its floored scores, counted in steps."""
        best, rate = int(exact.max()), self.rate * self.step
        order = np.arange(exact.size)
        for last in range(exact.size - 1, -1, -1):  # Fisher and Yates, as far as it is looked at
            place = integer(rng, last + 1)
            candidate = int(order[place])
            order[place] = order[last]
            if exp_flip(rng, rate * (best - int(exact[candidate]))):
                return self.candidates[candidate]
        raise InternalError("the best candidate was not taken; this is a defect, please report it.")
