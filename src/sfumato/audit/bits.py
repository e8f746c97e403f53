"""Features of floats that should not exist: bits that tell where the noise was added.

A float sum is rounded to the grid of its own magnitude, and a textbook sampler reaches only some
floats. Both depend on the exact value under the noise [Mironov12].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

_ZERO, _STRANGE = -2000, 3000  # below and above every exponent
_UNIFORM = 2.0**53  # textbook samplers start from a multiple of 2^-53
_NEAR = 3  # the inverse is computed in floats too, so look a few steps to either side


def lowest_bit(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the exponent of the lowest set bit of each number.

    Example:
        >>> lowest_bit(np.array([1.0, 0.75, 12.0])).tolist()
        [0, -2, 2]
        >>> lowest_bit(np.array([12, 7])).tolist()
        [2, 0]
    """
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        fraction, exponent = np.frexp(np.where(finite, values, 0.0))
        whole = np.ldexp(np.abs(fraction), 53).astype(np.int64)
        shift = exponent.astype(np.int64) - 53
    else:
        finite, whole = np.ones(values.shape, np.bool_), values.astype(np.int64)
        shift = np.zeros(values.shape, np.int64)
    with np.errstate(over="ignore"):
        lowest = (whole & -whole).view(np.uint64).astype(np.float64)  # a power of two: exact
    place = np.frexp(lowest)[1].astype(np.int64) - 1 + shift
    return np.where(finite, np.where(whole == 0, _ZERO, place), _STRANGE)


def places(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return magnitude and lowest set bit together: which bits there are room for, and are used."""
    magnitude = np.frexp(np.where(np.isfinite(values), values, 0.0))[1].astype(np.int64)
    return magnitude * 8192 + lowest_bit(values)


def reachable(values: NDArray[np.float64], center: float, scale: float) -> NDArray[np.bool_]:
    """Say which numbers are `center` plus textbook Laplace noise, to the last bit.

    The textbook takes a uniform u, a multiple of 2^-53, and returns center + scale·ln(u + u) below
    the middle and center − scale·ln(2 − u − u) above it. In floats 2 − u − u is any multiple of
    2^-53, u + u only an even one.
    """
    with np.errstate(all="ignore"):
        ratio = np.exp(-np.abs(values - center) / scale)
        step = np.where(values < center, 2.0, 1.0)
        nearest = np.rint(ratio * _UNIFORM / step) * step
        sign = np.where(values < center, 1.0, -1.0)
        found = np.zeros(values.shape, np.bool_)
        for away in range(-_NEAR, _NEAR + 1):
            # That of the C library, as samplers take it: numpy's own has another last bit on some
            # processors.
            log = special.xlogy(1.0, (nearest + away * step) / _UNIFORM)
            found |= center + sign * (scale * log) == values
    return found
