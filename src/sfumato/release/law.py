"""The law of one integer noise in floats: weights, tails, and continuous laws that are safe for it.

Everything here works on public numbers (a family and a scale), so floats may be used; where they
round, an interval gets wider.
"""

from __future__ import annotations

from math import ceil, exp, expm1, hypot, log, sqrt, tanh
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.release.error import Noise
from sfumato.release.format import approximate

Floats: TypeAlias = NDArray[np.float64]

_LEAST_SCALE = 1e-3  # below, noise is zero but for a probability of 10^-400; up: overstates it
_SUMMED = 64.0  # sigma up to which a discrete Gaussian is summed term by term
_SLACK = 1 + 1e-9  # what a quantile of the standard library may be off


def scale(noise: Noise) -> float:
    """Return the scale as a float."""
    return max(approximate(noise.scale), _LEAST_SCALE)


def variance(noise: Noise) -> float:
    """Return an upper bound of the variance: the exact one for Laplace, sigma² for Gaussian."""
    spread = scale(noise)
    if noise.kind == "gaussian":
        return spread * spread
    return 2 * exp(-1 / spread) / expm1(-1 / spread) ** 2


def weights(noise: Noise, most: int) -> Floats:
    """Return P(N = k) for k = −most, …, most.

    Example:
        >>> weights(Noise("laplace", 1), 1).round(3).tolist()
        [0.17, 0.462, 0.17]
    """
    k = np.arange(-most, most + 1, dtype=np.float64)
    if noise.kind == "laplace":
        return np.asarray(tanh(0.5 / scale(noise)) * np.exp(-np.abs(k) / scale(noise)))
    mass = _mass(noise)
    return np.asarray(np.interp(np.abs(k), np.arange(mass.size), mass, right=0))


def reach(noise: Noise, alpha: float) -> int:
    """Return a k with P(|N| > k) at most `alpha`; the least one unless sigma is above 64.

    Laplace: the tail is 2p^(k+1)/(1+p) with p = exp(−1/scale). Gaussian: summed up to sigma = 64;
    beyond, the sum over x > k is at most the integral from k.

    Example:
        >>> reach(Noise("laplace", 2), 0.05), reach(Noise("gaussian", 2), 0.05)
        (6, 4)
    """
    spread = scale(noise)
    if noise.kind == "laplace":
        steps = spread * log(2 / ((1 + exp(-1 / spread)) * alpha)) * _SLACK  # up
        return max(0, ceil(steps) - 1)
    if spread <= _SUMMED:
        return int(np.count_nonzero(2 * _tails(noise) * _SLACK > alpha))
    return ceil(-NormalDist().inv_cdf(alpha / 2) * spread * _SLACK)  # up


def survival(noise: Noise, t: Floats) -> Floats:
    """Return P(N + U > t) with U uniform on (−1/2, 1/2): a continuous law, linear between halves.

    Laplace, exactly: for t >= 0, k the nearest integer and h = t − k, it is
    exp(−k/scale)·(1/2 − h·tanh(1/(2·scale))). Gaussian: summed up to sigma = 64; beyond, N + U is
    normal of variance sigma² + 1/12 to a relative 10^-4.

    Example:
        >>> survival(Noise("laplace", 1), np.array([0.0, 0.5, 1.5])).round(3).tolist()
        [0.5, 0.269, 0.099]
    """
    size = np.abs(t)
    if noise.kind == "laplace":
        k = np.rint(size)
        upper = np.exp(-k / scale(noise)) * (0.5 - (size - k) * tanh(0.5 / scale(noise)))
    elif scale(noise) <= _SUMMED:
        tails = _tails(noise)
        at = np.concatenate([[0.0], np.arange(tails.size) + 0.5])
        upper = np.interp(size, at, np.concatenate([[0.5], tails]), right=0)
    else:
        from scipy.special import ndtr

        upper = ndtr(-size / sqrt(scale(noise) ** 2 + 1 / 12))
    return np.where(t < 0, 1 - upper, upper)


def peaked(noise: Noise) -> float:
    """Return the scale of a continuous law, of the same family, that is never closer to 0 than N+U.

    "Closer" for every distance: P(|N + U| > t) <= P(|X| > t). Laplace: 1/(2·tanh(1/(2·scale))); the
    tail of N + U is a line through p^k with that slope relative to its height, and a convex tail
    lies above its tangent. Gaussian: √(sigma² + 1/2); the tail is the chord of a normal tail at
    worst, and a chord of length 1 exceeds it by less than this widening.

    Both laws are symmetric and unimodal, and so sums a·(N1 + U1) + b·(N2 + U2) are no farther from
    0 than the same sums of the continuous laws (Birnbaum's theorem on peakedness).
    """
    if noise.kind == "laplace":
        return 0.5 / tanh(0.5 / scale(noise))
    return hypot(scale(noise), sqrt(0.5))


def _mass(noise: Noise) -> Floats:
    """Return P(N = k) for k = 0, 1, …, as far as floats go, of a Gaussian."""
    k = np.arange(ceil(38 * scale(noise)) + 2, dtype=np.float64)
    mass = np.exp(-0.5 * (k / scale(noise)) ** 2)
    return np.asarray(mass / (2 * mass[:0:-1].sum() + 1))


def _tails(noise: Noise) -> Floats:
    """Return P(N > k) for k = 0, 1, … of a Gaussian; summed from the far end, it keeps digits."""
    return np.asarray(np.cumsum(_mass(noise)[:0:-1])[::-1])
