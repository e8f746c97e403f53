"""Adding noise without wrapping around: sums saturate at the ends of 64 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.batch import Integers

_LOW, _HIGH = -(2**63), 2**63 - 1


def add(exact: NDArray[np.int64], noise: Integers) -> NDArray[np.int64]:
    """Return exact + noise, each sum clamped to 64 bits.

    The clamp acts on the true sum, so it is post-processing of the noisy value and costs nothing.
    """
    noise = noise.reshape(exact.shape)
    if noise.dtype == np.object_:
        sums = [
            min(max(a + b, _LOW), _HIGH)
            for a, b in zip(exact.ravel().tolist(), noise.ravel(), strict=True)
        ]
        return np.array(sums, np.int64).reshape(exact.shape)
    with np.errstate(over="ignore"):
        total = exact + noise
    # Two's complement: the sum wrapped iff both terms have the sign that the sum has not.
    wrapped = ((exact ^ total) & (noise ^ total)) < 0
    total = np.asarray(total)
    if wrapped.any():
        total[wrapped] = np.where(noise[wrapped] > 0, _HIGH, _LOW)
    return total
