"""The interval of a quotient of two noisy sums that may share noise, by inverting a test.

For the true t, top − t·bottom is pure noise, whatever the two have in common. Directions stand for
slopes: with units for top and bottom, the angle of t is the arc tangent, so that all of them, the
infinite one too, lie on half a circle, and one table of quantiles serves every row of one law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import hypot, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.release import inversion
from sfumato.release.combination import TRIMMED, quantile
from sfumato.release.error import Noise
from sfumato.release.joint import Joint
from sfumato.release.law import Floats
from sfumato.release.linear import Linear
from sfumato.release.many import lines
from sfumato.release.signature import Signature, alike, halfwidths, parts

_PIECES, _FINE = 256, 512  # of the table: in general, and where there is a quick way
_LAWS = 48  # entries of all laws for which a table is made
_STEPS = 200
_RARE = 40  # deviations that noise reaches only if it is hardly ever anything but 0
_CLOSE = 1e-3  # of the threshold: an end is that near to where the test begins to accept


class Ends(NamedTuple):
    """Quotients and their intervals, which may be infinite."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Directions:
    """Quantiles of x·cos θ − y·sin θ, for noises x and y in units of their own, never too small.

    Turning by h moves that by at most h·|(x, y)|, so between nodes h apart the quantile is at most
    h·K/2 above its chord, but for a trimmed share of the failures in which |(x, y)| is above K.

    Attributes:
        top: the unit of x.
        bottom: the unit of y.
        values: the quantiles at angles from 0 to π.
        steepest: the largest change of the broken line by one unit of the angle.
    """

    top: float
    bottom: float
    values: Floats
    steepest: float

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, signature: Signature, top: float, bottom: float, alpha: float) -> Directions:
        """Compute the table of one law."""
        apart = _apart(signature)
        angles = np.linspace(0, pi, (_PIECES if apart is None else _FINE) + 1)
        a, b = np.cos(angles) / top, np.sin(angles) / bottom
        if apart is not None:
            (first, weight), (second, other) = apart
            found = quantile(weight * a, other * b, first, second, 1 - Fraction(alpha))
        else:
            least = alpha * (1 - TRIMMED)
            pairs = zip(a.tolist(), b.tolist(), strict=True)
            sums = [inversion.merged(parts(signature, x, -y)) for x, y in pairs]
            found = np.array([inversion.quantile(each, least) for each in sums])
        ends = (parts(signature, 1 / top, 0), parts(signature, 0, 1 / bottom))
        far = hypot(*(inversion.reach(each, alpha * TRIMMED / 4) for each in ends))
        width = float(angles[1])
        found = found + width / 2 * far
        return cls(top, bottom, found, float(np.abs(np.diff(found)).max()) / width)

    def __call__(self, angle: Floats) -> Floats:
        """Return the quantile at each angle."""
        pieces = self.values.size - 1
        place = np.mod(angle, pi) * (pieces / pi)
        node = np.minimum(place.astype(np.intp), pieces - 1)
        left = self.values[node]
        return np.asarray(left + (place - node) * (self.values[node + 1] - left))

    def ends(self, top: Floats, bottom: Floats, least: Floats, most: Floats) -> Ends:
        """Return quotients within [least, most], which may be infinite, and their intervals."""
        x, y = top / self.top, bottom / self.bottom
        length = np.hypot(x, y)
        middle = np.arctan2(np.where(y < 0, -x, x), np.abs(y))
        with np.errstate(over="ignore"):
            first, last = (np.arctan(t * (self.bottom / self.top)) for t in (least, most))
        low = self._first(length, middle, first, last, 1)
        high = self._first(length, middle, last, first, -1)
        within = np.clip(middle, first, last)
        low, high = np.minimum(low, within), np.maximum(high, within)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            unit = self.top / self.bottom
            # The tangent of ±π/2 is a large number in floats, and infinite in truth.
            lows, highs = (
                np.where(
                    np.abs(angle) >= pi / 2 - 1e-12, np.sign(angle) * np.inf, np.tan(angle) * unit
                )
                for angle in (low, high)
            )
            value = np.where(bottom == 0, 0.0, top / np.where(bottom == 0, 1, bottom))
        value = np.clip(value, least, most)
        lows = np.where(low <= first, least, np.maximum(lows, least))
        highs = np.where(high >= last, most, np.minimum(highs, most))
        return Ends(value, np.minimum(lows, value), np.maximum(highs, value))

    def _first(
        self, length: Floats, middle: Floats, start: Floats, stop: Floats, sign: int
    ) -> Floats:
        """Return for each row the first angle from `start` that the test accepts, or a bit before.

        While length·|sin(middle − angle)| exceeds the quantile by g, no angle within g/(length + K)
        is accepted, where K is the steepest slope of the table: that far one may go. What is
        accepted need not be connected for this to find the outermost end.
        """
        angle = np.array(np.broadcast_to(start, length.shape), np.float64)
        left = np.arange(length.size)
        for _ in range(_STEPS):
            at = angle[left]
            limit = self(at)
            excess = length[left] * np.abs(np.sin(middle[left] - at)) - limit
            on = (excess > _CLOSE * limit) & (sign * (stop[left] - at) > 0)
            left = left[on]
            if not left.size:
                break
            angle[left] = at[on] + sign * excess[on] / (length[left] + self.steepest)
        return angle


def ends(
    top: Linear, bottom: Linear, alpha: float, least: float = -np.inf, most: float = np.inf
) -> Ends:
    """Return top/bottom, row by row, with intervals that hold with probability 1 − `alpha`.

    Args:
        top: the numerators.
        bottom: the denominators, as many, or one for all.
        alpha: the probability with which an interval may fail.
        least: what the exact quotient cannot be below.
        most: what it cannot be above.
    """
    size = max(top.size, bottom.size)
    x, y = (
        np.broadcast_to(_floats(each), size) * unit
        for each, unit in ((top, 1 / top.over), (bottom, 1 / bottom.over))
    )
    if top.is_exact or bottom.is_exact:
        return _one_sided(top, bottom, x, y, alpha, least, most)
    joint = Joint.of(top.spread(size), bottom)
    found = alike(joint, most=_LAWS)
    if found is None or sum(map(len, found.laws)) > _LAWS:
        value, low, high = lines(joint, x * top.over, y * bottom.over, alpha)
        unit = bottom.over / top.over
        value, low, high = value * unit, low * unit, high * unit
        inside = np.clip(value, least, most)
        return Ends(
            inside, np.clip(low, least, inside), np.clip(np.maximum(high, inside), inside, most)
        )
    if np.isfinite(least) and np.isfinite(most):
        # A sum that noise carried out of bounds must not make the interval look narrow.
        x = np.where(y > 0, np.clip(x, least * y, most * y), x)
    out = Ends(*(np.empty(size) for _ in range(3)))
    for kind, signature in enumerate(found.laws):
        here = np.flatnonzero(found.kind == kind)
        sizes = [float(np.median(np.abs(each[here]))) or 1.0 for each in (x, y)]
        one, other = (
            _unit(parts(signature, *pair), over, size, alpha)
            for pair, over, size in zip(
                ((1, 0), (0, 1)), (top.over, bottom.over), sizes, strict=True
            )
        )
        table = Directions.of(signature, one * top.over, other * bottom.over, alpha)
        table = Directions(one, other, table.values, table.steepest)
        bounds = (np.full(here.size, end, np.float64) for end in (least, most))
        for column, part in zip(out, table.ends(x[here], y[here], *bounds), strict=True):
            column[here] = part
    return out


def _unit(noises: inversion.Sum, over: int, size: float, alpha: float) -> float:
    """Return a unit for one side, in which its noise is neither large nor small.

    Any will do. It is the deviation of the noise, but where whole numbers of noise are rare: then
    a single step is many deviations, and the unit is how far noise reaches; and the size of the
    side itself where it does not reach a step.
    """
    reach = inversion.reach(noises, alpha * TRIMMED / 4)
    if reach <= 0:
        return size
    deviation = inversion.deviation(noises)
    return (deviation if reach < _RARE * deviation else reach) / over


def _one_sided(
    top: Linear,
    bottom: Linear,
    x: Floats,
    y: Floats,
    alpha: float,
    least: float,
    most: float,
) -> Ends:
    """Return the quotients where only one of both is noisy: its interval, divided."""
    p, q = (
        np.broadcast_to(np.array(halfwidths(each, alpha), np.float64) / each.over, x.shape)
        for each in (top, bottom)
    )
    unknown = np.abs(y) <= q
    below = np.where(unknown, 1.0, y)
    corners = [
        (x + i * p) / (below + j * np.where(unknown, 0, q)) for i in (-1, 1) for j in (-1, 1)
    ]
    value = np.clip(np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y)), least, most)
    rounding = 1e-12 * np.abs(value) * ((p > 0) | (q > 0))
    low = np.where(unknown, -np.inf, np.min(corners, axis=0) - rounding)
    high = np.where(unknown, np.inf, np.max(corners, axis=0) + rounding)
    return Ends(
        value, np.minimum(np.maximum(low, least), value), np.maximum(np.minimum(high, most), value)
    )


def _apart(signature: Signature) -> tuple[tuple[Noise, int], tuple[Noise, int]] | None:
    """Return both noises and weights if there is one above and one below, and none in common."""
    above = [(noise, a) for noise, a, b, n in signature if a and not b and n == 1]
    below = [(noise, b) for noise, a, b, n in signature if b and not a and n == 1]
    if len(signature) == 2 and len(above) == len(below) == 1:
        return above[0], below[0]
    return None


def _floats(linear: Linear) -> NDArray[np.float64]:
    return np.array(linear.values, np.float64)
