"""Two noisy integers added with weights: the law of a·N1 + b·N2 for independent noises."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.core.number import exact, open_unit
from sfumato.release import law
from sfumato.release.error import NOISE_ONLY, Noise
from sfumato.release.format import approximate

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.release.law import Floats

# The share of 1 − confidence that is set aside: one half for cutting off the far tail of a noise,
# one half for a caller's own cut.
TRIMMED = 1e-3
_SUMMED = 16.0  # scale up to which the coarser noise is summed term by term
_HALVINGS = 32
_CELLS = 2**20  # entries of a table at a time
_SLACK = 1 + 1e-9  # rounding of floats


@dataclass(frozen=True, slots=True)
class Combination:
    """The error of a·X + b·Y, where X and Y carry independent integer noises; an `Error`.

    A sum about a center is S + (center/step)·C; a difference has weights 1 and −1. The half-width
    is `quantile`, rounded *down* to the grid on which a·X + b·Y moves, which loses nothing.

    Args:
        first: the noise of X.
        second: the noise of Y, independent of the first.
        a: the weight of X.
        b: the weight of Y.

    Example:
        >>> difference = Combination(Noise("laplace", 2), Noise("laplace", 2), b=-1)
        >>> difference.halfwidth(Fraction(95, 100))
        Fraction(8, 1)
        >>> difference.values([10, 4], [3, 8]).tolist()
        [Fraction(7, 1), Fraction(-4, 1)]
    """

    first: Noise
    second: Noise
    a: Fraction = Fraction(1)
    b: Fraction = Fraction(1)
    covers: str = NOISE_ONLY

    def __post_init__(self) -> None:
        """Hold the weights as rationals."""
        for weight in ("a", "b"):
            object.__setattr__(self, weight, exact(getattr(self, weight), weight))

    @property
    def std(self) -> float:
        """The standard deviation; for Gaussian noise below 1 step, an upper bound of it."""
        a, b = approximate(self.a), approximate(self.b)
        return sqrt(a * a * law.variance(self.first) + b * b * law.variance(self.second))

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return an h with P(|a·N1 + b·N2| > h) at most 1 − `confidence`."""
        grid = Fraction(
            gcd(self.a.numerator * self.b.denominator, self.b.numerator * self.a.denominator),
            self.a.denominator * self.b.denominator,
        )
        if not grid:
            return Fraction(0)
        a, b = np.array([approximate(self.a)]), np.array([approximate(self.b)])
        return Fraction(quantile(a, b, self.first, self.second, confidence)[0]) // grid * grid

    def values(self, first: Any, second: Any) -> np.ndarray[Any, Any]:
        """Return a·x + b·y exactly, pair by pair, for whole numbers x and y."""
        pairs = [np.asarray(given, np.object_).ravel().tolist() for given in (first, second)]
        if len(pairs[0]) != len(pairs[1]):
            raise InputError(
                f"values are combined pair by pair, and there are {len(pairs[0])} and "
                f"{len(pairs[1])}. Pass as many of the one as of the other."
            )
        out = np.empty(len(pairs[0]), np.object_)
        out[:] = [self.a * x + self.b * y for x, y in zip(*pairs, strict=True)]
        return out


def quantile(a: Floats, b: Floats, first: Noise, second: Noise, confidence: object) -> Floats:
    """Return q with P(|a·N1 + b·N2| > q) at most 1 − `confidence`, for each pair of weights.

    Let w be the larger weight in absolute value and v the smaller, and U uniform on (−1/2, 1/2).

    - A coarse noise of scale at most 16 is summed: |w·N + v·M| <= |w·N + v·(M + U)| + v/2, and
      P(w·N + v·(M + U) > q) is the sum over k of P(N = k)·P(M + U > (q − w·k)/v), exactly.
    - Otherwise both noises are replaced by continuous ones (`law.peaked`), and (w + v)/2 is added.
      With c >= d their scales times weights, the two-sided tail of two Laplace laws is
      (c²·exp(−q/c) − d²·exp(−q/d))/(c² − d²), or exp(−q/c)·(1 + q/(2c)) where they are equal.
      Two normal laws add to one; a Laplace and a normal law have a closed form with erfc.

    Both err upwards only: by half a step of the finer noise, or of both where a step is 1/16 of the
    scale or less. The search over q ends on its upper side. A sum takes up to 0.3 ms a pair, so ask
    for hundreds of pairs, not for one a group.

    Example:
        >>> quantile(np.ones(2), np.array([0.0, 1.0]), *[Noise("laplace", 10)] * 2, 0.95).round(1)
        array([30. , 41.6])
    """
    alpha = float(1 - open_unit(confidence, "confidence")) * (1 - TRIMMED)
    a, b = np.broadcast_arrays(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    out = np.zeros(a.shape)
    for coarse, fine, w, v, here in (
        (first, second, a, b, a >= b),
        (second, first, b, a, a < b),
    ):
        alone = here & (v == 0)
        out[alone] = w[alone] * law.reach(coarse, alpha)
        both = here & (v > 0)
        find = _by_sum if law.scale(coarse) <= _SUMMED else _by_density
        out[both] = find(w[both], v[both], coarse, fine, alpha)
    return out * _SLACK


def _by_sum(w: Floats, v: Floats, coarse: Noise, fine: Noise, alpha: float) -> Floats:
    most = law.reach(coarse, alpha * TRIMMED / 2)
    chances = law.weights(coarse, most)
    steps = np.arange(-most, most + 1)
    bound = np.sqrt((w * w * law.variance(coarse) + v * v * (law.variance(fine) + 1)) / alpha)
    out = np.empty(w.shape)
    size = max(1, _CELLS // steps.size)
    for start in range(0, w.size, size):
        part = slice(start, start + size)
        jump, unit = w[part, None] * steps, v[part, None]

        def tail(q: Floats, jump: Floats = jump, unit: Floats = unit) -> Floats:
            return 2 * (law.survival(fine, (q[:, None] - jump) / unit) @ chances)

        out[part] = _least(tail, bound[part], alpha)
    return out + v / 2


def _by_density(w: Floats, v: Floats, coarse: Noise, fine: Noise, alpha: float) -> Floats:
    c, d = w * law.peaked(coarse), v * law.peaked(fine)
    kinds = (coarse.kind, fine.kind)
    if kinds == ("gaussian", "gaussian"):
        from scipy.special import ndtri

        return np.asarray(-ndtri(alpha / 2) * np.hypot(c, d) + (w + v) / 2)
    tail: Callable[[Floats, Floats, Floats], Floats] = _mixed
    if kinds == ("laplace", "laplace"):
        tail = _laplaces
        c, d = np.maximum(c, d), np.minimum(c, d)
    elif kinds[0] == "gaussian":
        c, d = d, c
    bound = np.sqrt(2 * (c * c + d * d) / alpha)  # Chebyshev's
    return _least(lambda q: tail(q, c, d), bound, alpha) + (w + v) / 2


def _laplaces(q: Floats, c: Floats, d: Floats) -> Floats:
    """Return the two-sided tail at q of two Laplace laws of scales c >= d; c = d divided out."""
    gap = np.maximum(q * ((c - d) / c / d), 1e-300)
    return np.asarray(np.exp(-q / c) * (1 - q / c * (d / (c + d)) * np.expm1(-gap) / gap))


def _mixed(q: Floats, c: Floats, s: Floats) -> Floats:
    """Return the two-sided tail at q of a Laplace law of scale c plus a normal one of sigma s.

    P(> q) = F(−q/s) + exp(s²/(2c²))/2 · [exp(−q/c)·F(q/s − s/c) − exp(q/c)·F(−q/s − s/c)], where F
    is the normal distribution function. Exponentials that overflow are taken into erfcx.
    """
    from scipy.special import erfcx, ndtr

    near, far = s / c - q / s, s / c + q / s
    height = np.exp(-0.5 * (q / s) ** 2) / 2
    rising = np.where(
        near > 0,
        height * erfcx(np.maximum(near, 0) / sqrt(2)),
        np.exp(np.minimum(0.5 * (s / c) ** 2 - q / c, 0)) * ndtr(-near),
    )
    return np.asarray(2 * ndtr(-q / s) + rising - height * erfcx(far / sqrt(2)))


def _least(tail: Callable[[Floats], Floats], high: Floats, alpha: float) -> Floats:
    """Halve [0, high] until `tail` is at `alpha`; return the upper ends, where it is below."""
    low = np.zeros(high.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = tail(middle) > alpha
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high
