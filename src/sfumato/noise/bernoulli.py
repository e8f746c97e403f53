"""Coins with exact odds: rational, exp(-γ), and any threshold that can be enclosed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import RangeError
from sfumato.core.number import show
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, Threshold, below, integer, ratio, scaled_exp

Coins = NDArray[np.bool_]


def flip(rng: Rng, probability: Fraction) -> bool:
    """Return True with exactly this rational probability."""
    _check(probability)
    return integer(rng, probability.denominator) < probability.numerator


def flips(rng: Rng, probability: Fraction, size: int) -> Coins:
    """Return `size` independent coins, each True with exactly this rational probability."""
    _check(probability)
    return threshold_flips(rng, ratio(probability), size)


def exp_flip(rng: Rng, gamma: Fraction) -> bool:
    """Return True with probability exp(-gamma), from rational coins alone [CKS20, Alg. 1]."""
    _check_gamma(gamma)
    while gamma > 1:
        if not _exp_flip_small(rng, Fraction(1)):
            return False
        gamma -= 1
    return _exp_flip_small(rng, gamma)


def _exp_flip_small(rng: Rng, gamma: Fraction) -> bool:
    k = 1
    while flip(rng, gamma / k):
        k += 1
    return k % 2 == 1


def exp_flips(rng: Rng, gamma: Fraction, size: int) -> Coins:
    """Return `size` independent coins, each True with probability exp(-gamma)."""
    _check_gamma(gamma)
    return threshold_flips(rng, scaled_exp(Fraction(1), -gamma), size)


def threshold_flips(rng: Rng, threshold: Threshold, size: int) -> Coins:
    """Return `size` independent coins, each True with the probability that `threshold` encloses.

    A word decides unless it falls between the enclosure's ends, which are a unit or two apart;
    those few draw more bits.
    """
    low, high = threshold(WORD)
    words = rng.words(size)
    if high <= 0:
        return np.zeros(size, np.bool_)
    if low >= 2**WORD:
        return np.ones(size, np.bool_)
    out: Coins = words < np.uint64(low)
    for i in np.flatnonzero(~out & (words <= np.uint64(min(high, 2**WORD - 1)))):
        out[i] = below(int(words[i]), WORD, threshold, rng)
    return out


def _check(probability: Fraction) -> None:
    if not 0 <= probability <= 1:
        raise RangeError(
            f"probability = {show(probability)} must lie between 0 and 1. Pass p/q, 0 <= p <= q."
        )


def _check_gamma(gamma: Fraction) -> None:
    if gamma < 0:
        raise RangeError(
            f"gamma = {show(gamma)} must not be negative: exp(-gamma) would exceed 1. "
            f"Pass 0 or more."
        )
