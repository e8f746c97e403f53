"""The law of a sum of many noisy integers with weights, from its characteristic function.

The noises are symmetric and independent, so the characteristic function is a product of real
numbers in (0, 1], each of which has a closed form. Inverting it takes one Fourier transform. What
that leaves out (a far tail that wraps around, frequencies above the last) is bounded and counted
against the interval; see docs/theory/algebra.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, log, pi, sinh, sqrt
from typing import Any, TypeAlias

import numpy as np

from sfumato.core.errors import RangeError
from sfumato.core.number import open_unit
from sfumato.release import law
from sfumato.release.error import Noise
from sfumato.release.law import Floats

# Noise, weight and how many such there are.
Weighted: TypeAlias = tuple[Noise, float, int]
Sum: TypeAlias = tuple[Weighted, ...]

MANY, FEW = 2**14, 2**12  # frequencies
_SPARED = 1e-4  # of alpha: the chance that the sum wraps around
_FAINT = 1e-3  # alpha below which few frequencies do not do
_FAINTEST = 1e-12  # alpha below which a bound is used: floats have no more digits
_NEGLIGIBLE = -60.0  # log of a characteristic function that is 0
_SUMMED = 1.0  # sigma up to which the characteristic function is summed over values
SLOPES = np.geomspace(1e-3, 0.97, 60)  # in units of the least decay rate
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


@lru_cache(maxsize=4096)
def quantile(parts: Sum, alpha: float, nodes: int = MANY) -> float:
    """Return q with P(|Σ weight·noise| > q) at most `alpha`, and little more than the least such.

    The sum S is blurred by a V of known law, |V| <= h, so that P(|S| > q) <= P(|S + V| > q − h).
    The blur h is a thousandth of a distance that S exceeds with a chance of alpha/10,000, which is
    less than 1 % of q for the usual alpha.

    Args:
        parts: noises, weights and multiplicities.
        alpha: the probability of more, above 0 and below 1.
        nodes: of how many frequencies; `FEW` with a wider blur are four times as fast, and the
            result is about 1 % larger.

    Example:
        >>> round(quantile(((Noise("laplace", 10), 1.0, 100),), 0.05))
        278
    """
    parts = merged(parts)
    if not parts:
        return 0.0
    if len(parts) == 1 and parts[0][2] == 1:
        return parts[0][1] * law.reach(parts[0][0], alpha)
    if alpha < _FAINTEST:
        return reach(parts, alpha)
    few = nodes < MANY and alpha >= _FAINT and len(parts) > 1
    x, tail, blur, left_out = _table(parts, alpha, nodes if few else MANY)
    above = np.flatnonzero(2 * tail > alpha * (1 - 2 * _SPARED) - left_out)
    return float(x[min(above[-1] + 1, x.size - 1)] + blur) if above.size else blur


def exceeds(parts: Sum, at: Floats) -> Floats:
    """Return P(Σ weight·noise > x) for each x; where S has steps, ask between them.

    Blurred by a thousandth of the range, and off by 10^-6 at most besides.
    """
    parts = merged(parts)
    if not parts:
        return np.where(at < 0, 1.0, 0.0)
    x, tail, _, _ = _table(parts, 1e-5, MANY)
    upper = np.interp(np.abs(at), x, tail, right=0)
    return np.asarray(np.clip(np.where(at < 0, 1 - upper, upper), 0, 1))


def merged(parts: Sum) -> Sum:
    """Put equal parts together and leave out those of weight 0."""
    counted: dict[tuple[Noise, float], int] = {}
    for noise, w, n in parts:
        if w and n:
            counted[noise, abs(w)] = counted.get((noise, abs(w)), 0) + n
    return tuple((noise, w, n) for (noise, w), n in counted.items())


def reach(parts: Sum, alpha: float) -> float:
    """Return q with P(|Σ weight·noise| > q) at most `alpha`, by Chernoff's bound: wide, but quick.

    Example:
        >>> round(reach(((Noise("laplace", 10), 1.0, 100),), 0.05))
        387
    """
    parts = merged(parts)
    if not parts:
        return 0.0
    steepest = min(1 / (w * law.scale(noise)) for noise, w, _ in parts)
    spread = sqrt(sum(n * w * w * law.variance(noise) for noise, w, n in parts))
    slopes = SLOPES * steepest
    if spread:  # else it is below all floats
        slopes = np.append(slopes, sqrt(2 * log(2 / alpha)) / spread)
    slopes = slopes[slopes < steepest] if any(n.kind == "laplace" for n, _, _ in parts) else slopes
    total = np.full(slopes.shape, log(2 / alpha))
    for noise, w, n in parts:
        total += n * log_moment(noise, w * slopes)
    return float((total / slopes).min()) * (1 + 1e-9)


def deviation(parts: Sum) -> float:
    """Return the standard deviation, or for Gaussian noise below a step an upper bound of it."""
    return sqrt(sum(n * w * w * law.variance(noise) for noise, w, n in parts))


@lru_cache(maxsize=64)
def _table(parts: Sum, alpha: float, count: int) -> tuple[Floats, Floats, float, float]:
    """Return points from 0 on, P(S + V > x) there, the blur, and what the tails leave out.

    What is left out above the last frequency stays below 10^-6 where there are few of them.
    """
    most = reach(parts, alpha * _SPARED)
    smooth, share = (12, 1000 if count == MANY else 400) if alpha > 1e-6 else (16, 300)
    blur = most / share
    period = 2 * (most + blur)
    nodes = np.arange(count) + 0.5
    t: Floats = np.asarray(nodes * (2 * pi / period), np.float64)
    # V is the sum of uniform laws; sinc(x) of numpy is sin(πx)/(πx).
    height = np.abs(np.sinc(t * blur / (smooth * pi))) ** smooth
    height *= np.exp(_log_characteristic(parts, t))
    summed = np.fft.ifft(height / nodes)[: count // 2] * count
    k = np.arange(count // 2)
    tail = 0.5 - np.imag(np.exp(1j * pi * k / count) * summed) / pi
    tail[0] = 0.5
    left_out = 2 / pi * (smooth / (blur * float(t[-1]))) ** smooth / smooth
    return np.asarray(k * (period / count), np.float64), tail, blur, left_out


def _log_characteristic(parts: Sum, t: Floats) -> Floats:
    """Return the log of E exp(itS), or anything below −60 where it is below −60."""
    total = np.zeros(t.shape)
    left = np.arange(t.size)
    # The widest first: what is negligible after them only gets smaller, and is left alone.
    for noise, w, n in sorted(parts, key=lambda p: -p[2] * p[1] ** 2 * law.variance(p[0])):
        total[left] += n * _log_one(noise, w * t[left])
        left = left[total[left] > _NEGLIGIBLE]
    return total


def _log_one(noise: Noise, u: Floats) -> Floats:
    """Return the log of E exp(iuN). Laplace: 1/(1 + sin²(u/2)/sinh²(1/(2·scale)))."""
    scale = law.scale(noise)
    if noise.kind == "laplace":
        return np.asarray(-np.log1p((np.sin(u / 2) / sinh(min(0.5 / scale, 350))) ** 2))
    if scale <= _SUMMED:
        most = ceil(12 * scale) + 1
        chances = law.weights(noise, most)[most:]
        k = np.arange(1, most + 1)
        return np.asarray(np.log(chances[0] + 2 * np.cos(u[:, None] * k) @ chances[1:]))
    # Poisson's summation: a sum of bells around the multiples of 2π, of which two matter.
    u = np.abs(u - 2 * pi * np.rint(u / (2 * pi)))
    beside = np.log1p(np.exp(-0.5 * scale**2 * ((2 * pi - u) ** 2 - u**2)))
    return np.asarray(-0.5 * (scale * u) ** 2 + beside - 2 * exp(-0.5 * (2 * pi * scale) ** 2))


def log_moment(noise: Noise, slope: Floats) -> Floats:
    """Return the log of E exp(slope·N), or more. Gaussian: at most that of a normal law."""
    scale = law.scale(noise)
    if noise.kind == "gaussian":
        return np.asarray((slope * scale) ** 2 / 2)
    ratio = np.sinh(np.minimum(slope / 2, 350)) / sinh(min(0.5 / scale, 350))
    return np.asarray(-np.log1p(-(np.minimum(ratio, 1 - 1e-12) ** 2)))
