"""Report noisy max: discrete Laplace noise on every score, and the name of the largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, need_movable
from sfumato.mechanisms.scores import Scored, flag, options, pure_for
from sfumato.noise import Laplace, Rng, draw
from sfumato.noise.uniform import integer


@dataclass(frozen=True, slots=True, repr=False)
class NoisyMax(Scored, Laboratory):
    """Add discrete Laplace noise to every score and name a candidate with the largest sum.

    The selection of the textbooks, for comparison and for those who have noisy scores in mind;
    `PermuteAndFlip` is as private and never further from the best. The noisy score itself stays
    secret: it is not covered by this loss.

    Guarantee: ε-DP with ε = 2·d/scale, where d is the linf sensitivity of the scores rounded up to
        whole steps; ε = d/scale for monotone scores under add_remove; for the neighbor relation of
        the sensitivity. In ρ only what every ε-DP mechanism costs.
    Theorem:   [DR14, Claim 3.9] for continuous noise; with ties docs/theory/thresholds.md
    Exactness: floored scores and noise are integers; among equal sums the choice is uniform.
    Error:     with probability 1 - b the score is within 2·h of the best, where h bounds the noise
        of one candidate with probability 1 - b/candidates, one step of flooring included.

    Args:
        candidates: the public options; at least one.
        scale: scale of the noise, in the unit of the scores; from 2^-20 to 2^60 steps.
        step: grid onto which scores are floored.
        monotone: whether adding a unit can never lower any score (counts are so); halves the loss
            under add_remove.

    Example:
        >>> pick = NoisyMax(["apple", "kale"], scale=2)
        >>> pick([0, 200])
        'kale'
    """

    candidates: tuple[Any, ...]
    scale: Fraction
    step: Fraction = Fraction(1)
    monotone: bool = False

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            candidates: Sequence[Any],
            scale: Exactable,
            step: Exactable = 1,
            monotone: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the candidates and the noise."""
        given = options(self.candidates, "NoisyMax(['A', 'B'], scale=2)")
        object.__setattr__(self, "candidates", given)
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "step", positive(self.step, "step"))
        object.__setattr__(self, "monotone", flag(self.monotone))
        Laplace(self.scale / self.step)

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
    ) -> NoisyMax:
        """Return the mechanism with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(candidates, positive(step, "step"), step, monotone)
        scale = unit.spread(sensitivity) / pure_for(target)
        return cls(unit.candidates, scale, unit.step, unit.monotone)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the ε of the choice."""
        return Pure(self.spread(sensitivity) / self.scale, neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> NoisyScoreError:  # noqa: ARG002 - not of the data
        """Return how far below the best score the chosen one may lie."""
        return NoisyScoreError(len(self.candidates), self.scale / self.step, self.step)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> Any:
        """Choose a candidate by its floored scores, counted in steps."""
        noise = draw(Laplace(self.scale / self.step), exact.size, rng)
        # Scores stay below 2^61 and noise in 64 bits below 2^62; wider noise comes as Python's.
        noisy = exact + noise
        tied = np.flatnonzero(noisy == noisy.max())
        return self.candidates[int(tied[integer(rng, tied.size)])]


@dataclass(frozen=True, slots=True)
class NoisyScoreError:
    """How far below the best score the one with the largest noisy score may lie."""

    options: int
    scale: Fraction  # in steps
    step: Fraction
    covers: str = "score, noise only"
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return c with P(score < best - c) <= 1 - confidence."""
        each = LaplaceError(self.scale, self.step).halfwidth(1 - (1 - confidence) / self.options)
        return 2 * each + self.step  # the best may lose as much as another gains
