"""Exact integer noise from cryptographic bits.

One function, `draw`, serves every mechanism: small requests take the paper's samplers, large
ones the batch kernels, and those of a `FixedWork` source the kernels of fixed work. All have the
same law.
"""

from __future__ import annotations

import numpy as np

from sfumato.noise import batch, fixed, paper
from sfumato.noise.fixed import FixedWork
from sfumato.noise.law import Gaussian, Laplace, Law
from sfumato.noise.rng import Rng, SystemRng, system

_FEW = 32  # below this a table costs more than it saves; the choice depends on the size alone


def draw(law: Law, size: int, rng: Rng) -> batch.Integers:
    """Draw `size` independent integers from `law`.

    Returns:
        int64, or Python integers in an object array where int64 could be too small.

    Example:
        >>> from fractions import Fraction
        >>> draw(Laplace(Fraction(2)), 1000, system()).dtype
        dtype('int64')
    """
    if isinstance(rng, FixedWork):
        return fixed.draw(law, size, rng)
    if size >= _FEW:
        return batch.draw(law, size, rng)
    values = [paper.sample(law, rng) for _ in range(size)]
    if any(abs(value) > 2**62 for value in values):
        return np.array(values, np.object_)
    return np.array(values, np.int64)


__all__ = ["FixedWork", "Gaussian", "Laplace", "Law", "Rng", "SystemRng", "draw", "system"]
