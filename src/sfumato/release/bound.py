"""A bound on weighted sums of noise where there are too many different ones to look at each.

A continuous Laplace law is a normal law with an exponential variance. So a sum of noises is normal
given V, a weighted sum of exponentials with weights c (and of constants, for Gaussian noise), and

    P(V > E V + √(2x)·|c|₂ + x·max c) <= exp(−x)

(Laurent and Massart's bound for squares of normal numbers). Beside it stands Chernoff's bound; the
smaller counts. Both are proved; they are up to twice as wide as need be where one noise makes up
most of a sum, and a few hundredths where a hundred or more are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.release import law
from sfumato.release.law import Floats
from sfumato.release.linear import Linear

_SHARE = 1 / 20  # of alpha: for each of two events that are set aside
_SLOPES = (0.3, 0.5, 0.7, 0.85, 0.95)  # of the largest at which Chernoff's bound is finite
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Rows:
    """Noises row by row, and in each row all noises of another sum, less those listed.

    Attributes:
        starts: where each row begins among the entries.
        weight: of each entry.
        scale: the scale of a continuous law that is never closer to 0 (`law.peaked`).
        normal: whether that law is normal.
        others: Σ w²s² and Σ w²s² of the Laplace ones, Σ w⁴s⁴ of those, max ws of those, Σ w² and
            Σ |w| of what every row holds besides.
    """

    starts: NDArray[np.intp]
    weight: Floats
    scale: Floats
    normal: NDArray[np.bool_]
    others: tuple[Floats, Floats, Floats, Floats, Floats, Floats] | None = None

    def halfwidths(self, alpha: float) -> Floats:
        """Return for each row a q with P(|sum| > q) at most `alpha`."""
        w, s = np.abs(self.weight), self.scale
        laplace = np.where(self.normal, 0, (w * s) ** 2)
        sums = [
            self._add((w * s) ** 2),
            self._add(laplace),
            self._add(laplace**2),
            np.sqrt(np.maximum.reduceat(laplace, self.starts)),
            self._add(w * w),
            self._add(w),
        ]
        if self.others is not None:
            sums = [
                np.maximum(mine, other) if i == 3 else mine + other
                for i, (mine, other) in enumerate(zip(sums, self.others, strict=True))
            ]
        square, laplaces, fourths, largest, plain, steps = sums
        x = log(1 / (alpha * _SHARE))
        # The variance of a Laplace law is 2c², and so is the weight of its exponential.
        most = square + laplaces + 2 * np.sqrt(2 * x * fourths) + 2 * x * largest**2
        blur = np.minimum(np.sqrt(plain / 2 * log(2 / (alpha * _SHARE))), steps / 2)
        z = -NormalDist().inv_cdf(alpha * (1 - 2 * _SHARE) / 2)
        best = z * np.sqrt(most) + blur
        normal = square - laplaces
        limit = log(2 / alpha)
        for share in _SLOPES:
            free = np.sqrt(2 * limit / np.maximum(square + laplaces, _TINY))
            slope = np.minimum(share / np.maximum(largest, _TINY), free)
            # −log(1 − y)/y grows with y, so all y may have the factor of the largest.
            y = np.minimum((slope * largest) ** 2, 1 - 1e-12)
            factor = np.where(y > 1e-9, -np.log1p(-y) / np.maximum(y, 1e-12), 1.0)
            moment = slope**2 * (laplaces * factor + normal / 2)
            best = np.minimum(best, (moment + limit) / np.maximum(slope, _TINY) + steps / 2)
        return np.asarray(best * (1 + 1e-9))

    def _add(self, entries: Floats) -> Floats:
        return np.asarray(np.add.reduceat(entries, self.starts))


def of_rows(linear: Linear, alpha: float) -> Floats:
    """Return half-widths of the rows of a weighted sum, in units of 1/over."""
    bounds = linear.bounds
    some = np.flatnonzero(np.diff(bounds))
    out = np.zeros(linear.size)
    if some.size:
        scale, normal = laws(linear)
        rows = Rows(bounds[some], np.array(linear.weight, np.float64), scale, normal)
        out[some] = rows.halfwidths(alpha)
    return out


def laws(linear: Linear) -> tuple[Floats, NDArray[np.bool_]]:
    """Return scale and family of each entry's noise."""
    scales = np.array([law.peaked(part.noise) for part in linear.parts])
    normal = np.array([part.noise.kind == "gaussian" for part in linear.parts], np.bool_)
    return scales[linear.part], normal[linear.part]
