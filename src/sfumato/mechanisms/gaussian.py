"""Discrete Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CostError
from sfumato.core.loss import GaussianShift, Loss, Pure
from sfumato.core.number import Exactable, exact, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import saturation
from sfumato.mechanisms.mechanism import (
    Laboratory,
    integers,
    least_noise,
    need,
    need_movable,
    whole,
)
from sfumato.noise import Gaussian, Rng, draw
from sfumato.release.error import NOISE_ONLY, Noise

_FLOAT_SLACK = 1 + 1e-9  # the inverse of the normal distribution is good to 1e-15 or so


@dataclass(frozen=True, slots=True, repr=False)
class DiscreteGaussian(Laboratory):
    """Add integer noise with P(x) proportional to exp(-x²/(2·sigma²)) to each whole number.

    The choice when one unit touches many cells: noise grows with the square root of their number.
    There is no pure ε: a guarantee in ε needs a δ.

    Guarantee: ρ-zCDP with ρ = l2²/(2·sigma²); where one unit can move one cell only, (ε, δ)-DP with
        the exact δ(ε) of the discrete law; for the neighbor relation of the sensitivity.
    Theorem:   [CKS20, Thm 4], [CKS20, Thm 7]
    Exactness: integer noise, exactly this law given uniform bits; ρ rational, ε and δ rounded up.
    Error:     standard deviation at most sigma; the interval is at most one unit wider than exact.

    Args:
        sigma: the scale, from 2^-20 to 2^60.

    Example:
        >>> count = Sensitivity(l0=1, linf=1)
        >>> gaussian = DiscreteGaussian.calibrate(count, epsilon=1, delta="1e-6")
        >>> round(float(gaussian.sigma), 1)
        4.2
    """

    sigma: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, sigma: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check sigma."""
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        Gaussian(self.sigma)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> DiscreteGaussian:
        """Return the mechanism with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        if target.rho is None and not target.delta:
            raise CostError(
                "Gaussian noise gives no guarantee in epsilon alone. Pass delta= as well, well "
                "below one over the number of people, or use DiscreteLaplace."
            )
        return cls(least_noise(lambda sigma: cls(sigma).loss(sensitivity), target))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the loss of the discrete law at the shift that one unit can cause."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        square = need(sensitivity.l2_squared, "l2", type(self).__name__)
        # Whole numbers whose squares add up to less than 2 are one cell that moves by one.
        scalar = sensitivity.l0 == 1 or square < 2
        if sensitivity.l0 == 1:  # one integer cell: it moves by a whole number
            square = whole(need(sensitivity.linf, "linf", type(self).__name__)) ** 2
        return GaussianShift(self.sigma, square, scalar, neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> GaussianError:  # noqa: ARG002 - noise is additive
        """Return the law of the error."""
        return GaussianError(self.sigma)

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take whole numbers."""
        return integers(values)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Add noise to each value; sums saturate at 64 bits."""
        return saturation.add(exact, draw(Gaussian(self.sigma), exact.size, rng))

    @property
    def law(self) -> Noise:
        """The law of the noise."""
        return Noise("gaussian", self.noise_scale)

    @property
    def noise_scale(self) -> Fraction:
        """Sigma."""
        return self.sigma


@dataclass(frozen=True, slots=True)
class GaussianError:
    """The error of discrete Gaussian noise."""

    sigma: Fraction
    covers: str = NOISE_ONLY

    @property
    def std(self) -> float:
        """The standard deviation: sigma from 2 on to 12 digits; below, summed."""
        if self.sigma >= 2:
            return float(self.sigma)
        sigma = float(self.sigma)
        weights = [np.exp(-x * x / (2 * sigma * sigma)) for x in range(40)]
        total = 2 * sum(weights) - 1
        return float((2 * sum(x * x * w for x, w in enumerate(weights)) / total) ** 0.5)

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return an h with P(|noise| > h) <= 1 - confidence.

        The density's sum over x > h is at most its integral from h, or from h + 1/2 where it is
        convex, beyond one sigma. The normalizer is at least that of the continuous law.
        """
        tail = -NormalDist().inv_cdf(float((1 - confidence) / 2))
        reach = exact(tail * _FLOAT_SLACK) * self.sigma  # up
        if reach - Fraction(1, 2) >= self.sigma:
            reach -= Fraction(1, 2)
        return Fraction(max(0, -(-reach // 1)))
