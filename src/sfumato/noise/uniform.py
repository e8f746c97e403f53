"""Uniform integers, and uniform reals known bit by bit.

A uniform real U in [0, 1) is held as the first bits of its binary expansion. Whether U lies below a
threshold is decided from as many bits as it takes: almost always the first 64, and never wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import RangeError
from sfumato.core.interval import Interval
from sfumato.noise.rng import Rng

# A real in [0, 1] as a function of bits: (low, high) with low <= real * 2^bits <= high.
Threshold = Callable[[int], tuple[int, int]]

WORD = 64


def bits(rng: Rng, count: int) -> int:
    """Return `count` uniform bits as an integer."""
    words = -(-count // WORD)
    value = int.from_bytes(rng.words(words).astype(">u8").tobytes(), "big")
    return value >> (words * WORD - count)


def integer(rng: Rng, bound: int) -> int:
    """Return a uniform integer in [0, bound), by rejection from the next power of two."""
    check_bound(bound)
    length = (bound - 1).bit_length()
    while True:
        candidate = bits(rng, length) if length else 0
        if candidate < bound:
            return candidate


def integers(rng: Rng, bound: int, size: int) -> NDArray[np.uint64]:
    """Return `size` uniform integers in [0, bound), for bound up to 2^64."""
    check_bound(bound)
    if bound > 2**WORD:
        raise RangeError(
            f"bound = 2^{bound.bit_length() - 1} or more is beyond 64 bits. Draw one at a time."
        )
    length = (bound - 1).bit_length()
    if length == 0:
        return np.zeros(size, np.uint64)
    out = rng.words(size) >> np.uint64(WORD - length)
    top = np.uint64(bound - 1)
    while (bad := np.flatnonzero(out > top)).size:
        out[bad] = rng.words(bad.size) >> np.uint64(WORD - length)
    return out


def each(rng: Rng, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one uniform integer in [0, bound) for every one of the bounds, all 1 or above."""
    # The exponent of a float is at least the number of bits, rounding included; never 64 or more.
    shift = np.minimum(WORD - np.frexp((bounds - 1).astype(np.float64))[1], WORD - 1)
    shift = shift.astype(np.uint64)
    out: NDArray[np.int64] = (rng.words(bounds.size) >> shift).astype(np.int64)
    while (bad := np.flatnonzero(out >= bounds)).size:
        out[bad] = (rng.words(bad.size) >> shift[bad]).astype(np.int64)
    return out


def check_bound(bound: int) -> None:
    """Refuse a range that holds no integer."""
    if bound < 1:
        raise RangeError(f"bound = {bound} leaves no integer to draw. Pass 1 or more.")


def below(prefix: int, length: int, threshold: Threshold, rng: Rng) -> bool:
    """Decide whether the uniform real that starts with these `length` bits lies below a threshold.

    Exact: draws a further word only while the bits so far leave both answers possible.
    """
    while True:
        low, high = threshold(length)
        if prefix + 1 <= low:
            return True
        if prefix >= high:
            return False
        prefix = (prefix << WORD) | int(rng.words(1)[0])
        length += WORD


def ratio(probability: Fraction) -> Threshold:
    """Return a rational probability as a threshold."""
    p, q = probability.numerator, probability.denominator

    def enclose(length: int) -> tuple[int, int]:
        whole, rest = divmod(p << length, q)
        return whole, whole + (rest > 0)

    return enclose


def scaled_exp(factor: Fraction, exponent: Fraction) -> Threshold:
    """Return ``factor * exp(exponent)``, for a positive factor, as a threshold."""

    @lru_cache(maxsize=4)
    def enclose(length: int) -> tuple[int, int]:
        return fixed_exp(exponent, length, factor)

    return enclose


def fixed_exp(exponent: Fraction, length: int, factor: Fraction = Fraction(1)) -> tuple[int, int]:
    """Enclose ``factor * exp(exponent) * 2^length`` between integers, a few units apart at most."""
    # e^x < 2^(1.44 x) for x < 0: far below the last bit nothing needs to be computed, and a huge
    # exponent would otherwise make a huge decimal.
    if exponent < 0 and -exponent * 144 // 100 > length + _log2_up(factor):
        return 0, 1
    digits = (length + _log2_up(factor)) * 31 // 100 + 20 + len(str(int(abs(exponent))))
    value = Interval.of(exponent, digits).exp() * factor
    return value.floor_fixed(length), value.ceil_fixed(length)


def _log2_up(number: Fraction) -> int:
    return max(0, number.numerator.bit_length() - number.denominator.bit_length() + 1)
