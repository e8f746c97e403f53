"""How wide an interval is: quantiles of sums of noise, by their variance and fourth cumulant."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.ranges.measured import variance
from sfumato.release import law
from sfumato.release.error import Noise
from sfumato.release.inversion import SLOPES, log_moment

Floats = NDArray[np.float64]

_TERMS = np.unique(np.append(np.geomspace(0.5, 5e5, 48), 1.0))  # of equal Laplace terms
_POINTS, _STEPS = 400, 50
_AT_ONCE = 2**13  # sums that Chernoff's bound is computed for at once, each at 61 slopes
BROAD = 1.0  # variance from which noise is nearly that of a continuous law
_UP = 1 + 1e-9  # what floats may have rounded down


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


def unweighted(noises: Sequence[Noise], spread: Floats, confidence: float) -> Floats:
    """Return how far sums may be off of which the variance is known, and no weight.

    Where noise is broad, as many standard deviations as one noisy number needs, or normal noise,
    and half a step of the largest weight that there can be; otherwise by Chernoff's bound.

    Args:
        noises: the noise of each level.
        spread: the variances of the sums.
        confidence: of the intervals.
    """
    variances = np.array([variance(noise) for noise in noises])
    least = float(variances.min())
    if least >= BROAD:
        smooth = max(_normal(confidence), log(1 / (1 - confidence)) / sqrt(2)) + 0.5 / sqrt(least)
        alone = np.array([law.reach(noise, 1 - confidence) for noise in noises])
        deviations = max(smooth, *(alone / np.sqrt(variances) * _UP))
        return np.asarray(deviations * np.sqrt(spread))
    # Nothing is wider than one number of one level.
    squares = 1 / variances[:, None]
    bound = chernoff(noises, squares, np.sqrt(squares), 1 - confidence, gather=np.maximum)
    return np.asarray(bound[0] * np.sqrt(spread))


def chernoff(
    noises: Sequence[Noise],
    squares: Floats,
    largest: Floats,
    alpha: float,
    *,
    gather: np.ufunc = np.add,
) -> Floats:
    """Return for sums of noise what they exceed with a chance of `alpha` at most, in size.

    Of a discrete Laplace variable log E exp(sN)/s² grows with s, since its cumulants are not
    negative, and of a discrete Gaussian one it is at most sigma²/2. So a level adds no more to the
    log of the moment than so many of its largest weight as have the same squares.

    Args:
        noises: the noise of each level.
        squares: of the weights, with a row for each level and a column for each sum.
        largest: the largest weight, likewise.
        alpha: the probability of more.
        gather: `np.add` over the levels, or `np.maximum` where only one of them is there.

    Theorem: docs/theory/strategies.md, theorem 5
    """
    found = np.zeros(squares.shape[1])
    for start in range(0, len(found), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        # Many sums weigh noise alike, such as all single cells. As bytes they are told apart fast.
        norms = np.ascontiguousarray(np.vstack([squares[:, here], largest[:, here]]).T)
        alike = norms.view(np.dtype((np.void, norms.shape[1] * norms.itemsize))).ravel()
        _, first, which = np.unique(alike, return_index=True, return_inverse=True)
        apart, levels = norms[first].T, len(noises)
        bounds = _chernoff(noises, apart[:levels], apart[levels:], alpha, gather)
        found[here] = bounds[which]
    return found


def _chernoff(
    noises: Sequence[Noise], squares: Floats, largest: Floats, alpha: float, gather: np.ufunc
) -> Floats:
    """Return Chernoff's bound for so few sums that a number for each slope is at hand."""
    used = largest > 0
    weight = np.where(used, largest, 1.0)
    count = np.where(used, squares / weight**2, 0.0)
    scales = np.array([law.scale(n) if n.kind == "laplace" else 0.0 for n in noises])[:, None]
    with np.errstate(divide="ignore"):
        steepest = np.where(used, 1 / (weight * scales), np.inf).min(axis=0)
        spread = gather.reduce(squares * np.array([[law.variance(n)] for n in noises]), axis=0)
        normal = np.sqrt(2 * log(2 / alpha) / spread)  # the best slope without Laplace terms
    some = np.isfinite(normal)
    steepest, normal = steepest[some], normal[some]
    first = np.where(np.isfinite(steepest), steepest, normal)
    slopes = np.vstack([SLOPES[:, None] * first, np.minimum(normal, SLOPES[-1] * steepest)])
    logs = np.zeros(slopes.shape)
    for noise, many, each in zip(noises, count, weight, strict=True):
        gather(logs, many[some] * log_moment(noise, slopes * each[some]), out=logs)
    found = np.zeros(squares.shape[1])
    found[some] = ((log(2 / alpha) + logs) / slopes).min(axis=0) * _UP
    return found


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
