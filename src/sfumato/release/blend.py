"""A few noisy integers added with weights: quantiles of |a·N1 + b·N2 + …|, for many weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release import law

if TYPE_CHECKING:
    from sfumato.release.error import Noise
    from sfumato.release.law import Floats

_APART = 1e-3  # relative distance of scales from which partial fractions keep ten digits
_HALVINGS = 30
_TRIMMED = 1e-3  # of alpha
_SLACK = 1 + 1e-9  # rounding of floats


def quantile(noises: Sequence[Noise], weights: Sequence[Floats], alpha: float) -> Floats:
    """Return q with P(|Σ weight·noise| > q) at most `alpha`, for each set of weights.

    Each noise N is replaced by a continuous one of its family that is never closer to 0 than N + U,
    with U uniform on (−1/2, 1/2) (`law.peaked`), and half of each weight is added for the U. Normal
    laws add to one. For Laplace laws of different scales c the two-sided tail of the sum is

        Σᵢ aᵢ·exp(−q/cᵢ),   aᵢ = Π_{j≠i} cᵢ²/(cᵢ² − cⱼ²),

    by partial fractions of Π 1/(1 + c²t²). Scales within a thousandth of each other are moved apart
    by enlarging the larger, which only lets the quantile grow. All of it errs upwards.

    Args:
        noises: independent, all of one family.
        weights: for each noise as many numbers.
        alpha: the probability of more, above 0 and below 1.

    Example:
        >>> from sfumato.release.error import Noise
        >>> one = np.ones(1)
        >>> quantile([Noise("laplace", 100)] * 2, [one, one], 0.05).round()
        array([413.])
    """
    families = {noise.kind for noise in noises}
    if len(families) > 1:
        raise InputError(
            "the error of a variance is known if the noises of its parts are of one family, all "
            "Laplace or all Gaussian. Measure the parts with the same kind of mechanism."
        )
    # A noise that is almost surely 0 counts as 0; what that leaves out is taken from `alpha`.
    shares = [float(law.reach(noise, alpha * _TRIMMED) > 0) for noise in noises]
    alpha *= 1 - _TRIMMED * shares.count(0)
    sizes = [
        np.abs(np.asarray(weight, np.float64)) * share
        for weight, share in zip(weights, shares, strict=True)
    ]
    scales = np.array([w * law.peaked(noise) for w, noise in zip(sizes, noises, strict=True)])
    rounding = sum(sizes, np.zeros(1)) / 2
    if families == {"gaussian"}:
        from scipy.special import ndtri

        return np.asarray((-ndtri(alpha / 2) * np.sqrt((scales**2).sum(0)) + rounding) * _SLACK)
    return np.asarray((_laplace(scales, alpha) + rounding) * _SLACK)


def _laplace(scales: Floats, alpha: float) -> Floats:
    """Return the quantile of sums of Laplace laws, one sum a column."""
    c = np.sort(scales, axis=0)
    # What is a thousandth of the largest or less may as well be a thousandth of it.
    c[0] = np.maximum(c[0], _APART * c[-1] + np.finfo(np.float64).tiny)
    for i in range(1, len(c)):
        c[i] = np.maximum(c[i], c[i - 1] * (1 + _APART))
    shares = [
        np.prod([1 / (1 - (c[j] / c[i]) ** 2) for j in range(len(c)) if j != i], axis=0)
        for i in range(len(c))
    ]
    # One noise alone is never farther out than all together, nor they than all at their worst.
    low, high = c[-1] * -np.log(alpha), c.sum(0) * np.log(len(c) / alpha)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tail = sum(share * np.exp(-middle / scale) for share, scale in zip(shares, c, strict=True))
        above = tail > alpha
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high)
