"""Noise whose cost says nothing about it: for answering whoever holds a stopwatch.

The law is that of `batch` and `paper`, exactly. The number of random words and the sequence of
array operations depend on the law and the number of draws alone, except on an event of probability
below 2^-60 a draw, in which more bits are needed to stay exact. It is several times slower.

A `FixedWork` source asks for it: whatever draws its noise through `sfumato.noise.draw` from such a
source takes these kernels, and no mechanism has to know.

Theorem:   docs/theory/exact-noise.md
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.core.errors import InternalError
from sfumato.noise.batch import Integers
from sfumato.noise.blocks import Blocks
from sfumato.noise.digits import Digits
from sfumato.noise.law import Gaussian, Laplace, Law
from sfumato.noise.rng import Rng, Words

_CHUNK = 2**13  # draws at a time; how a request is cut depends on its size alone


class FixedWork:
    """A source of words for draws of fixed work.

    Example:
        >>> from fractions import Fraction
        >>> from sfumato.noise import draw, system
        >>> draw(Laplace(Fraction(2)), 3, FixedWork(system())).dtype
        dtype('int64')
    """

    __slots__ = ("_source",)

    def __init__(self, source: Rng) -> None:
        """Take the words of another source."""
        self._source = source

    def words(self, count: int) -> Words:
        """Return `count` fresh words."""
        return self._source.words(count)


def draw(law: Law, size: int, rng: Rng) -> Integers:
    """Draw `size` independent integers from `law`, in the same steps whatever they are.

    Returns:
        int64, or Python integers in an object array where the scale is so large that int64 could
        be too small.
    """
    kernel = _kernel(law)
    sizes = [_CHUNK] * (size // _CHUNK) + [size % _CHUNK]
    parts: list[Any] = [kernel.draw(part, rng) for part in sizes if part]
    drawn: Integers = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return drawn


@lru_cache(maxsize=64)
def _kernel(law: Law) -> Digits | Blocks:
    if isinstance(law, Laplace):
        return Digits(law)
    if isinstance(law, Gaussian):
        return Blocks(law)
    raise InternalError("there is no kernel of fixed work for this law.")
