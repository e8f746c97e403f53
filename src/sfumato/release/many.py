"""Quotients of sums of too many different laws: the same test, with a proved bound as quantile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.release import law
from sfumato.release.bound import Rows
from sfumato.release.joint import Joint
from sfumato.release.law import Floats

_ROUNDS = 12


class Lines(NamedTuple):
    """Quotients and the ends of their intervals, which may be infinite."""

    value: Floats
    low: Floats
    high: Floats


def lines(joint: Joint, x: Floats, y: Floats, alpha: float) -> Lines:
    """Return x/y and for each row the ends of {t: |x − t·y| <= q(t)}, with the bound q of `bound`.

    Where y exceeds the bound of its own noise, all such t are within (|x| + q₁)/(|y| − q₂), with q₁
    and q₂ for half of `alpha` each. From there inwards, t = x/y ± q(t)/|y| brings either end closer
    and never passes the outermost solution, as long as q does not fall outwards; what it gives is
    taken for the larger of q at both ends.
    """
    width = _Width.of(joint, alpha)
    ones, zero = np.ones(x.shape), np.zeros(x.shape)
    half = _Width.of(joint, alpha / 2)
    above, below = half(ones, zero), half(zero, ones)
    sure = np.abs(y) > below * (1 + 1e-6)
    room = np.where(sure, np.abs(y), 1.0)
    value = np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))
    farthest = (np.abs(x) + above) / np.where(sure, np.abs(y) - below, 1.0)
    low, high = -farthest, farthest
    for _ in range(_ROUNDS):
        q = np.maximum(width(ones, low), width(ones, high))
        low, high = np.maximum(low, value - q / room), np.minimum(high, value + q / room)
    low, high = np.where(sure, low, -np.inf), np.where(sure, high, np.inf)
    return Lines(value, np.minimum(low, value), np.maximum(high, value))


@dataclass(frozen=True, slots=True, eq=False)
class _Width:
    """The bound of a·top − t·bottom, for numbers a and t of each row."""

    joint: Joint
    alpha: float
    scale: Floats
    common: tuple[float, float, float, float, float, float]
    listed: tuple[Floats, Floats, Floats, Floats, Floats]

    @classmethod
    def of(cls, joint: Joint, alpha: float) -> _Width:
        scale = np.array([law.peaked(noise) for noise in joint.laws])[joint.law]
        kinds = [
            (abs(float(weight)), law.peaked(noise), noise.kind == "laplace", times)
            for (noise, weight), times in joint.common.items()
        ]
        common = (
            sum(n * (w * s) ** 2 for w, s, _, n in kinds),
            sum(n * (w * s) ** 2 for w, s, laplace, n in kinds if laplace),
            sum(n * (w * s) ** 4 for w, s, laplace, n in kinds if laplace),
            max((w * s for w, s, laplace, _ in kinds if laplace), default=0.0),
            sum(n * w * w for w, _, _, n in kinds),
            sum(n * w for w, _, _, n in kinds),
        )
        b = np.abs(np.array(joint.below, np.float64)) * bool(joint.common)
        laplace = np.where(cls._normal(joint), 0, (b * scale) ** 2)
        columns = ((b * scale) ** 2, laplace, laplace**2, b * b, b)
        listed = tuple(np.bincount(joint.row, each, joint.size) for each in columns)
        return cls(joint, alpha, scale, common, listed)  # type: ignore[arg-type]

    @staticmethod
    def _normal(joint: Joint) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        kinds = np.array([noise.kind == "gaussian" for noise in joint.laws], np.bool_)
        return np.asarray(kinds[joint.law])

    def __call__(self, a: Floats, t: Floats) -> Floats:
        joint = self.joint
        above, below = (np.array(each, np.float64) for each in (joint.above, joint.below))
        w = a[joint.row] * above - t[joint.row] * below
        size = np.abs(t)
        square, laplace, fourth, largest, plain, steps = self.common
        one, two, four, flat, line = self.listed
        # What the common denominator holds, less what a row lists, times t; rounding aside.
        others = (
            size**2 * np.maximum(square - one, 0),
            size**2 * np.maximum(laplace - two, 0),
            size**4 * np.maximum(fourth - four, 0),
            size * largest,
            size**2 * np.maximum(plain - flat, 0),
            size * np.maximum(steps - line, 0),
        )
        bounds = joint.bounds
        some = np.flatnonzero(np.diff(bounds))
        out = np.zeros(joint.size)
        if some.size:
            rest = tuple(each[some] for each in others)
            rows = Rows(bounds[some], w, self.scale, self._normal(joint), rest)  # type: ignore[arg-type]
            out[some] = rows.halfwidths(self.alpha)
        return out
