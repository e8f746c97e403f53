"""How wide an interval is: quantiles of sums of noise, by their variance and fourth cumulant."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import RangeError
from sfumato.core.number import open_unit
from sfumato.release import law
from sfumato.release.error import Noise

Floats = NDArray[np.float64]

_TERMS = np.unique(np.append(np.geomspace(0.5, 5e5, 48), 1.0))  # of equal Laplace terms
_POINTS, _STEPS = 400, 50
_SUREST = 1 - Fraction(1, 10**12)  # as a float, what is left to 1 has four digits


def confident(confidence: Any) -> Fraction:
    """Return a confidence that intervals can be computed for.

    Raises:
        RangeError: not between 0 and 1, or too near to 1.
    """
    given = open_unit(confidence, "confidence")
    if given > _SUREST:
        raise RangeError(
            "intervals are computed for a confidence of up to 1 - 10^-12. Pass a lower one."
        )
    return given


def factor(confidence: float, kurtosis: Floats) -> Floats:
    """Return how many standard deviations hold with a confidence.

    A sum of m equal Laplace terms has excess kurtosis 3/m; other sums of Laplace terms are taken
    for the one with theirs. It is exact for one continuous Laplace term, for equal ones, and for
    none but Gaussian ones.

    Args:
        confidence: the probability.
        kurtosis: the excess kurtosis of each sum.
    """
    quantiles = _quantiles(confidence)
    heavy = np.maximum(kurtosis, 3 / _TERMS[-1])
    found = np.interp(np.log(3 / heavy), np.log(_TERMS), quantiles)
    return np.where(kurtosis < 3 / _TERMS[-1], _normal(confidence), found)


def widest(confidence: float) -> float:
    """Return a factor that holds for one Laplace term, for many, and for normal noise."""
    return max(_normal(confidence), log(1 / (1 - confidence)) / sqrt(2))


def median_reach(sums: Floats, times: int, noise: Noise, alpha: float) -> float:
    """Return how far the median of estimates may be off, each by what one of these sums may be.

    The median is above x only if half of the estimates are, so that a quantile of one estimate at
    a larger probability serves; that is read off the sums themselves, by rank. Where there are too
    few sums for that, they are taken for normal ones of unknown variance.

    Args:
        sums: sizes of sums of noise and of what falls together.
        times: of how many estimates the median is.
        noise: the noise on each, which they err by at least.
        alpha: the probability of more.
    """
    from scipy.special import betaincinv, stdtrit

    half = (times + 1) // 2
    each = min(2 * float(betaincinv(half, times - half + 1, alpha / 2)), 1.0)  # both sides
    least = float(law.reach(noise, each)) if each < 1 else 0.0
    rank = ceil((len(sums) + 1) * (1 - each))
    if 1 <= rank <= len(sums):
        return max(float(np.sort(sums)[rank - 1]), least)
    spread = sqrt(float((sums**2).mean())) * float(stdtrit(len(sums), 1 - each / 2))
    return max(spread, float(sums.max()), least)


def _normal(confidence: float) -> float:
    return -NormalDist().inv_cdf((1 - confidence) / 2)


@lru_cache(maxsize=64)
def _quantiles(confidence: float) -> Floats:
    """Return the quantiles of |sums| of so many terms: normal, of a gamma variable's variance.

    The chance of more is integrated by the trapezoidal rule over the log of the variance, where
    the density falls off on both sides, and bisected for the width.
    """
    from scipy.special import gammaln, ndtr

    alpha, terms = 1 - confidence, _TERMS[:, None]
    low = np.log(terms) - 12 / np.sqrt(terms) - 45 / terms
    high = np.log(terms + 12 * np.sqrt(terms) + 60 - 2 * log(alpha))
    step = (high - low) / (_POINTS - 1)
    logs = low + step * np.arange(_POINTS)
    weights = 2 * step * np.exp(terms * logs - np.exp(logs) - gammaln(terms))
    root = np.sqrt(np.exp(logs) / terms)
    below, above = np.zeros(len(_TERMS)), np.full(len(_TERMS), 4 * (2 - log(alpha)))
    for _ in range(_STEPS):
        middle = (below + above) / 2
        more = (weights * ndtr(-middle[:, None] / root)).sum(axis=1) > alpha
        below, above = np.where(more, middle, below), np.where(more, above, middle)
    above[_TERMS == 1] = -log(alpha) / sqrt(2)
    return above
