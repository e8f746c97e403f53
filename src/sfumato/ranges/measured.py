"""Noisy sums as they were drawn: what a release is computed from, and all that it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.mechanisms.gaussian import GaussianError
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.relation.linear import Strategy
from sfumato.release import law
from sfumato.release.error import Noise

_FEW = 16  # numbers by which measurements are told apart before they are compared
_LEAST = 1e-24  # what a float would take for no noise at all can still be divided by
_NARROW, _MOST = 2, 40  # sigma up to which values from -40 to 40 are summed


@canonical
@dataclass(frozen=True, slots=True)
class Measured:
    """An integer matrix, the noise on each row, and the noisy whole numbers.

    Attributes:
        matrix: what was measured of the cells.
        noise: family and scale.
        values: one for each row.
    """

    matrix: Strategy
    noise: Noise
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that they fit."""
        if len(self.values) != self.matrix.rows:
            raise InputError("a measurement has one number for each row of its matrix.")

    def __hash__(self) -> int:
        """Tell apart by the first numbers: noise makes them differ, and there may be millions."""
        return hash((self.noise, len(self.values), self.values[:_FEW]))

    @property
    def array(self) -> NDArray[np.float64]:
        """The numbers, for computing with."""
        return np.array(self.values, np.float64)

    @property
    def variance(self) -> float:
        """The variance of the noise on one number."""
        return variance(self.noise)


def variance(noise: Noise) -> float:
    """Return the variance of discrete noise."""
    if noise.kind == "gaussian":
        return max(GaussianError(noise.scale).std ** 2, _LEAST)
    return max(LaplaceError(noise.scale, Fraction(1)).std ** 2, _LEAST)


def fourth(noise: Noise) -> float:
    """Return the fourth cumulant of discrete noise.

    Laplace noise is the difference of two geometric variables. Gaussian noise is summed where it is
    narrow, and has next to none where it is not. Noise that is hardly ever there is 1 or -1 then,
    and all its even cumulants are its variance: where that is rounded up, this one is as well.
    """
    least = _LEAST if variance(noise) <= _LEAST else 0.0
    if noise.kind == "gaussian":
        if noise.scale > _NARROW:
            return 0.0
        values = np.arange(-_MOST, _MOST + 1.0)
        fourths = float((law.weights(noise, _MOST) * values**4).sum())
        return max(fourths - 3 * variance(noise) ** 2, least)
    ratio, rest = exp(-1 / float(noise.scale)), -expm1(-1 / float(noise.scale))
    return max(2 * ratio * (1 + 4 * ratio + ratio**2) / rest**4, least)
