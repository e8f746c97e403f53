"""Discrete Laplace noise, also known as the two-sided geometric mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.interval import Interval
from sfumato.core.loss import LaplaceShift, Loss, Pure
from sfumato.core.number import Exactable, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors
from sfumato.mechanisms import saturation
from sfumato.mechanisms.mechanism import (
    Laboratory,
    integers,
    least_noise,
    need,
    need_movable,
    whole,
)
from sfumato.noise import Laplace, Rng, draw
from sfumato.release.error import NOISE_ONLY, Noise


@dataclass(frozen=True, slots=True, repr=False)
class DiscreteLaplace(Laboratory):
    """Add integer noise with P(x) proportional to exp(-|x|/scale) to each whole number.

    The first choice for counts and histograms under pure ε. With many cells per unit, Gaussian
    noise is smaller.

    Guarantee: ε-DP with ε = l1/scale, and ρ-zCDP with the tight ρ of the discrete law at its
        integer shift (ε·tanh(ε/2) at shift 1), for the neighbor relation of the sensitivity.
    Theorem:   [GRS09], [HM26]
    Exactness: integer noise, exactly this law given uniform bits; ε rational, ρ rounded up.
    Error:     variance 2p/(1-p)² with p = exp(-1/scale); the interval is the exact quantile.

    Args:
        scale: the scale, from 2^-20 to 2^60; a count at ε needs 1/ε.

    Example:
        >>> laplace = DiscreteLaplace(scale=2)
        >>> laplace.loss(Sensitivity(l1=1)).l1
        Fraction(1, 1)
        >>> laplace([3, 1, 4]).shape
        (3,)
    """

    scale: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, scale: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check the scale."""
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        Laplace(self.scale)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> DiscreteLaplace:
        """Return the mechanism with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        l1 = whole(need(sensitivity.l1, "l1", cls.__name__))
        if target.epsilon is not None:
            return cls(l1 / target.epsilon)
        return cls(least_noise(lambda scale: cls(scale).loss(sensitivity), target))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the loss of the discrete law at the integer shift that one unit can cause."""
        l1 = whole(need(sensitivity.l1, "l1", type(self).__name__))
        linf = whole(need(sensitivity.linf, "linf", type(self).__name__))
        return laplace_loss(l1, linf, self.scale, sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> LaplaceError:  # noqa: ARG002 - noise is additive
        """Return the exact law of the error."""
        return LaplaceError(self.scale, Fraction(1))

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take whole numbers."""
        return integers(values)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Add noise to each value; sums saturate at 64 bits."""
        return saturation.add(exact, draw(Laplace(self.scale), exact.size, rng))

    @property
    def law(self) -> Noise:
        """The law of the noise."""
        return Noise("laplace", self.noise_scale)

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale


@dataclass(frozen=True, slots=True)
class LaplaceError:
    """The error of discrete Laplace noise of `scale` grid steps, on a grid of `step`."""

    scale: Fraction
    step: Fraction
    covers: str = NOISE_ONLY

    @property
    def std(self) -> float:
        """The standard deviation, in the unit of the answer."""
        ratio = float(Interval.of(-1 / self.scale).exp().high)
        spread = 1 - ratio if self.scale < 2**20 else float(1 / self.scale)
        return float(self.step) * sqrt(2 * ratio) / spread

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return the least h with P(|noise| > h) <= 1 - confidence: 2p^(h+1)/(1+p) is the tail."""
        ratio = Interval.of(-1 / self.scale).exp()
        steps = (2 / ((1 + ratio) * (1 - confidence))).log() * self.scale
        return self.step * max(0, -int(-Fraction(steps.high) // 1) - 1)  # up


def laplace_loss(l1: Fraction, linf: Fraction, scale: Fraction, neighbors: Neighbors) -> Loss:
    """Return the loss of discrete Laplace noise on integers that move by at most l1 and linf."""
    if not l1:
        return Pure(Fraction(0), neighbors=neighbors)
    return LaplaceShift(scale, l1, min(linf, l1), neighbors=neighbors)
