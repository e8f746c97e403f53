"""How far a weighted sum of independent noises lies from 0, with what probability, at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from sfumato.marginals.basis import Floats
from sfumato.release import inversion
from sfumato.release.error import Noise

# A noise, the weights of its draws, and how often each of these weights comes.
Weighted: TypeAlias = tuple[Noise, Floats, int]

_SLACK = 1 + 1e-9  # rounding of floats
_DIGITS = 12  # to which weights are equal


def gaussian_reach(squares: Floats, sizes: Floats, alpha: float) -> Floats:
    """Return h with P(|Σ weight·noise| > h) at most `alpha`, for discrete Gaussian noises.

    Each noise N is replaced by a normal one of variance sigma² + 1/2, which is never closer to 0
    than N + U, with U uniform on (−1/2, 1/2) (`release.law.peaked`). Half of each weight is added
    for the U.

    Args:
        squares: for each sum Σ weight²·(sigma² + 1/2).
        sizes: for each sum Σ |weight|.
        alpha: the probability of more.

    Example:
        >>> gaussian_reach(np.array([100.5]), np.array([1.0]), 0.05).round(2)
        array([20.15])
    """
    from scipy.special import ndtri

    return np.asarray((-ndtri(alpha / 2) * np.sqrt(squares) + sizes / 2) * _SLACK)


def laplace_reach(noises: Iterable[Weighted], alpha: float) -> float:
    """Return q with P(|Σ weight·noise| > q) at most `alpha`, whatever the noises are.

    The law of the sum is inverted from its characteristic function (`release.inversion`). Weights
    are rounded to twelve digits first, so that those of one value are found together.

    Args:
        noises: the noises, with their weights.
        alpha: the probability of more.

    Example:
        >>> round(laplace_reach([(Noise("laplace", 10), np.ones(50), 2)], 0.05))
        278
    """
    parts: list[inversion.Weighted] = []
    for noise, weights, often in noises:
        sizes = np.abs(weights[weights != 0]).ravel()
        if sizes.size:
            unit = 10.0 ** (np.floor(np.log10(sizes)) + 1 - _DIGITS)
            values, counts = np.unique(np.round(sizes / unit) * unit, return_counts=True)
            pairs = zip(values.tolist(), counts.tolist(), strict=True)
            parts += [(noise, weight, count * often) for weight, count in pairs]
    return inversion.quantile(tuple(parts), alpha) * (1 + 10.0 ** (2 - _DIGITS))
