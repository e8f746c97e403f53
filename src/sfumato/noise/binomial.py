"""How many of n coins come up heads, without throwing them one by one; exact.

Each coin is a uniform real U, and heads means U < p. The first bits of all n reals are thrown
together: how many begin with a one is Binomial(m, 1/2). Those whose bit differs from p's are
decided, the others go on to the next bit, and there are half as many of them each time. So p may be
any number whose bits can be computed, and nothing is rounded.

Binomial(m, 1/2) itself is a count of random bits where m is small, and beyond that a discrete
Gaussian draw, kept with a probability that is nearly one. See ``docs/theory/exact-noise.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import isqrt
from operator import index
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import RangeError
from sfumato.core.number import exact, is_integer, show
from sfumato.noise.factorial import log_decline
from sfumato.noise.paper import gaussian
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, Threshold, below, bits, integer

Counts = TypeVar("Counts", int, NDArray[np.int64])

MOST = 2**63 - 1
_FEW = 2**14  # so many coins are thrown one by one: 256 words cost less than a Gaussian draw
_AT_ONCE = 2**18  # words for coins that are drawn at a time, 2 MiB


def binomial(n: int, probability: Fraction | Threshold, rng: Rng) -> int:
    """Return how many of `n` coins come up heads.

    Args:
        n: how many coins, up to 2^63 - 1; the expected time grows with its logarithm.
        probability: of heads, a rational or an enclosure that can be refined.
        rng: the source of bits.

    Raises:
        RangeError: `n` or the probability is out of range.

    Example:
        >>> from sfumato.noise import system
        >>> binomial(10**18, Fraction(1, 3), system()) > 3 * 10**17
        True
    """
    if not is_integer(n) or not 0 <= index(n) <= MOST:
        raise RangeError(
            "n counts coins: it must be a whole number from 0 to 2^63 - 1. Pass an int."
        )
    return _thrown(index(n), probability, rng, lambda m: _half(m, rng), _split)


def binomials(
    counts: NDArray[np.int64], probability: Fraction | Threshold, rng: Rng
) -> NDArray[np.int64]:
    """Return, for each of `counts` coins, how many come up heads; all independent.

    Fast up to some 16,000 coins a cell (they are thrown 64 at a time); more go one by one.
    """
    array = np.asarray(counts)
    if array.dtype.kind not in "iu" or bool((array < 0).any()) or bool((array > MOST).any()):
        raise RangeError(
            "counts of coins must be whole numbers from 0 to 2^63 - 1. Pass an array of integers."
        )
    flat = array.astype(np.int64).ravel()
    heads = _thrown(flat, probability, rng, lambda m: _halves(m, rng), _splits)
    return heads.reshape(array.shape)


def _thrown(
    coins: Counts,
    probability: Fraction | Threshold,
    rng: Rng,
    half: Callable[[Counts], Counts],
    split: Callable[[Counts, Threshold, Rng], Counts],
) -> Counts:
    """Compare the bits of all coins with those of the probability, one place after the other."""
    if not callable(probability):
        rational = _checked(probability)
        if rational == 1:
            return coins
        heads, _ = _decided(coins, _expansion(rational), half)
        return heads
    length = WORD + int(np.max(coins, initial=1)).bit_length()
    low, high = _enclosed(probability, length)
    if low >= 1 << length or not high:
        return coins if low else coins - coins
    # Leading bits that both ends share are bits of the probability.
    known = max(0, length - (low ^ high).bit_length())
    prefix = low >> (length - known)
    heads, left = _decided(coins, ((prefix >> i) & 1 for i in reversed(range(known))), half)
    if low == high or _none(left):  # a real that agrees with all bits is not below
        return heads
    return heads + split(left, _rest(probability, prefix, known), rng)


def _decided(
    coins: Counts, digits: Iterable[int], half: Callable[[Counts], Counts]
) -> tuple[Counts, Counts]:
    """Return how many coins fall below these binary digits, and how many agree with all."""
    heads = coins - coins
    for digit in digits:
        if _none(coins):
            break
        ones = half(coins)
        if digit:  # a zero where p has a one: below
            heads = heads + (coins - ones)
            coins = ones
        else:  # a one where p has a zero: above
            coins = coins - ones
    return heads, coins


def _none(coins: int | NDArray[np.int64]) -> bool:
    return not (coins if isinstance(coins, int) else coins.any())


def _expansion(probability: Fraction) -> Iterator[int]:
    """Yield the binary digits of a rational, as long as there are any that are not zero."""
    rest, whole = probability.numerator, probability.denominator
    while rest:
        rest *= 2
        yield (digit := int(rest >= whole))
        rest -= digit * whole


def _enclosed(probability: Threshold, length: int) -> tuple[int, int]:
    low, high = probability(length)
    return max(0, low), min(max(0, high), 1 << length)


def _rest(probability: Threshold, prefix: int, known: int) -> Threshold:
    """Return the probability of heads for a coin whose first bits agree with its own."""

    def enclose(length: int) -> tuple[int, int]:
        low, high = probability(length + known)
        return low - (prefix << length), high - (prefix << length)

    return enclose


def _split(coins: int, probability: Threshold, rng: Rng) -> int:
    """Throw coins where the bits of the probability cannot be told: near a binary fraction.

    Coins below the enclosure are heads, those above are not; the few within it (about one in
    2^64/n) are refined one by one.
    """
    length = WORD + coins.bit_length()
    low, high = _enclosed(probability, length)
    heads = binomial(coins, Fraction(low, 1 << length), rng)
    above = max(1, (1 << length) - low)  # with nothing above, all are heads
    within = binomial(coins - heads, Fraction(high - low, above), rng)
    for _ in range(within):
        heads += below(low + integer(rng, high - low), length, probability, rng)
    return heads


def _splits(coins: NDArray[np.int64], probability: Threshold, rng: Rng) -> NDArray[np.int64]:
    heads = np.zeros_like(coins)
    for i in np.flatnonzero(coins):
        heads[i] = _split(int(coins[i]), probability, rng)
    return heads


def _half(n: int, rng: Rng) -> int:
    """Return how many of `n` fair coins come up heads."""
    if n <= _FEW:
        return bits(rng, n).bit_count() if n else 0
    odd = n & 1  # the law below is that of an even number
    return _middle(n // 2, rng) + (bits(rng, 1) if odd else 0)


def _middle(half: int, rng: Rng) -> int:
    """Draw Binomial(2·half, 1/2) by rejection from a discrete Gaussian around its middle."""
    sigma = _envelope(half)
    while True:
        offset = gaussian(Fraction(sigma), rng)
        if abs(offset) <= half and _kept(half, offset, sigma, rng):
            return half + offset


def _envelope(half: int) -> int:
    """Return a whole sigma with 4·sigma² >= 2·half + 1, under which the law lies."""
    return (isqrt(2 * half + 1) + 2) // 2


def _kept(half: int, offset: int, sigma: int, rng: Rng) -> bool:
    """Flip the coin C(2h, h+i)/C(2h, h)·exp(i²/(2·sigma²)), nearly always by a look at a bound."""
    test = int(rng.words(1)[0])
    if 2 * abs(offset) <= half:
        excess, scale = _excess(half, offset, sigma)
        if (test + 1) * scale <= (scale - excess) << WORD:
            return True
    return below(test, WORD, _coin(half, offset, sigma), rng)


def _excess(half: int, offset: int, sigma: int) -> tuple[int, int]:
    """Return c as a quotient, where 1 - c lies below the coin, for offsets up to half/2.

    c = i²·(2/w - 1/(2·sigma²)) + 16·i⁴/(9·w³), with w = 2·half + 1.
    """
    square, whole, variance = offset**2, 2 * half + 1, sigma**2
    excess = square * (36 * variance * whole**2 - 9 * whole**3) + 32 * variance * square**2
    return excess, 18 * variance * whole**3


def _coin(half: int, offset: int, sigma: int) -> Threshold:
    def enclose(length: int) -> tuple[int, int]:
        exponent = log_decline(half, offset, length * 31 // 100 + 20)
        coin = (exponent + Fraction(offset**2, 2 * sigma**2)).exp()
        return coin.floor_fixed(length), coin.ceil_fixed(length)

    return enclose


def _halves(coins: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
    """Return how many of each number of fair coins come up heads."""
    heads = np.zeros_like(coins)
    for i in np.flatnonzero(coins > _FEW):
        heads[i] = _half(int(coins[i]), rng)
    few = np.flatnonzero((coins > 0) & (coins <= _FEW))
    words = -(-coins[few] // WORD)
    ends = np.cumsum(words)
    start = 0
    while start < few.size:  # as many cells at a time as fit the memory set aside
        past = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, past + _AT_ONCE, "right")))
        part = few[start:stop]
        last = ends[start:stop] - past - 1
        drawn = rng.words(int(last[-1]) + 1)
        # The last word of a cell keeps as many of its bits as there are coins for it.
        drawn[last] >>= (-coins[part] % WORD).astype(np.uint64)
        first = last - words[start:stop] + 1
        heads[part] = np.add.reduceat(np.bitwise_count(drawn).astype(np.int64), first)
        start = stop
    return heads


def _checked(probability: Any) -> Fraction:
    number = exact(probability, "probability")
    if not 0 <= number <= 1:
        raise RangeError(
            f"probability = {show(number)} must lie between 0 and 1. Pass p/q, 0 <= p <= q."
        )
    return number
