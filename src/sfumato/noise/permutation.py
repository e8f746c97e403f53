"""Random orders and random subsets, each of them equally likely; exact."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import RangeError
from sfumato.core.number import is_integer
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import integers

_MOST = 2**63


def permutation(n: int, rng: Rng) -> NDArray[np.int64]:
    """Return the numbers below `n` in a uniformly random order.

    Each number gets 64 random bits, and they are sorted by these. Numbers whose bits are equal
    (some pair of a million, once in 10^7 calls) are put into a random order among themselves, as
    more bits would do.

    Example:
        >>> from sfumato.noise import system
        >>> sorted(permutation(5, system()).tolist())
        [0, 1, 2, 3, 4]
    """
    size = _count(n, "n")
    keys = rng.words(size)
    order = np.argsort(keys).astype(np.int64, copy=False)
    ordered = keys[order]
    ties = np.flatnonzero(ordered[1:] == ordered[:-1])
    if ties.size:
        # A run of equal keys is a stretch of consecutive ties, and one place more.
        for run in np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1):
            part = slice(int(run[0]), int(run[-1]) + 2)
            tied = np.sort(order[part])  # whatever order the sort left them in
            order[part] = tied[permutation(tied.size, rng)]
    return order


def distinct(m: int, k: int, rng: Rng) -> NDArray[np.int64]:
    """Return `k` distinct numbers below `m`, every set of them equally likely, in rising order.

    Takes memory and expected time for `k` numbers, however large `m` is. For a random order, take
    ``drawn[permutation(k, rng)]``.

    Args:
        m: the numbers are below it; up to 2^63.
        k: how many; at most `m`.
        rng: the source of bits.

    Example:
        >>> from sfumato.noise import system
        >>> distinct(3, 3, system()).tolist()
        [0, 1, 2]
    """
    bound, size = _count(m, "m"), _count(k, "k")
    if size > bound:
        raise RangeError(f"there are no {size} distinct numbers below {bound}. Pass k <= m.")
    if 2 * size > bound:  # those left out are fewer, and repeats are rarer among them
        kept = np.ones(bound, np.bool_)
        kept[distinct(bound, bound - size, rng)] = False
        return np.flatnonzero(kept).astype(np.int64, copy=False)
    drawn = np.empty(0, np.int64)
    while drawn.size < size:
        more = integers(rng, bound, size - drawn.size).astype(np.int64)
        drawn = np.union1d(drawn, more)
    return drawn


def _count(number: int, name: str) -> int:
    if not is_integer(number) or not 0 <= index(number) <= _MOST:
        raise RangeError(f"{name} must be a whole number from 0 to 2^63. Pass an int.")
    return index(number)
