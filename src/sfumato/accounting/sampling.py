"""Amplification: what a mechanism costs that ran on a secret sample of the units.

Who may not even be in the sample risks less. It holds only where whoever ran the mechanism also
threw the coins, one for each unit, and told nobody how they fell: batches of a shuffled list,
samples of a fixed size and samples drawn by somebody else are other laws.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb

from sfumato.accounting import divergence
from sfumato.accounting.grid import shorten_up
from sfumato.accounting.pure import amplified, basic_epsilon, own_delta
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval, directed
from sfumato.core.loss import (
    Composed,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
)
from sfumato.core.number import Exactable, nonnegative

_DIGITS = 50
_MOST = 512  # integer order up to which the sum is made
_ONE = Decimal(1)
Divergence = Callable[[Loss, Fraction], Fraction | None]


def amplify(loss: Loss, rate: Exactable) -> Loss:
    """Return the loss of a mechanism that ran on a Poisson sample: each unit in it by its own coin.

    A calculation for plans and lessons. A release of this library carries such a loss only where
    the library itself drew the sample.

    Guarantee: holds under add_remove, if each unit was kept with probability `rate`, independently
        of all others, and the sample stays secret.
    Theorem:   [BBG18, Thm 8]; docs/theory/sampling.md
    Exactness: nothing is computed

    Args:
        loss: that of the mechanism, for a unit that is in the sample.
        rate: the probability to be in the sample.

    Raises:
        NeighborsError: a loss under "replace".
        LossError: a rate that is no probability.

    Example:
        >>> from sfumato.accounting import epsilon
        >>> round(float(epsilon(amplify(Pure(1), rate="0.01"))), 5)
        0.01704
    """
    return PoissonSampled(loss, nonnegative(rate, "rate"))


def sampled_epsilon(epsilon: Exactable, rate: Exactable) -> Fraction:
    """Return ln(1 + γ·(e^ε − 1)), rounded up.

    It is ε of an ε-DP mechanism on a Poisson sample under add_remove; and, under replace, on a
    sample of fixed size without replacement, where γ is the size over the number of units. Which of
    the two was done must match how the loss was stated: the one formula never covers a fixed size
    under add_remove, nor coins under replace.

    Guarantee: pure DP of the whole; a δ of the mechanism becomes γ·δ.
    Theorem:   [BBG18, Thm 8], [BBG18, Thm 9]; docs/theory/sampling.md
    Exactness: rounded up, by at most 1 in 10^30

    Args:
        epsilon: ε of the mechanism on its sample.
        rate: γ, from 0 to 1.

    Example:
        >>> round(float(sampled_epsilon(1, "0.1")), 4)
        0.1586
    """
    share = nonnegative(rate, "rate")
    if share > 1:
        raise LossError("rate= is the probability to be in the sample. Pass 0 to 1.")
    return amplified(nonnegative(epsilon, "epsilon"), share)


def sampled_divergence(loss: PoissonSampled, order: Fraction, inner: Divergence) -> Fraction | None:
    """Bound the Rényi divergence of a mechanism on a Poisson sample, in both directions.

    Theorem: [MTZ19]; docs/theory/sampling.md
    """
    if not loss.rate:
        return Fraction(0)
    # up: a sample never costs more than the whole
    bounds = [inner(loss.loss, order)]
    most = basic_epsilon(loss)
    if most is not None:
        bounds.append(divergence.two_point(most, order))
        bounds.append(most)
    if loss.rate < 1 and order <= _MOST and not own_delta(loss.loss):
        bounds.append(_between_integers(loss, order, inner))
    return min((bound for bound in bounds if bound is not None), default=None)


def _between_integers(loss: PoissonSampled, order: Fraction, inner: Divergence) -> Fraction | None:
    """Use that (α − 1)·D_α is convex, and that D_α grows, between orders that are integers."""
    above = max(ceil(order), 2)
    high = _at_integer(loss, above, inner)
    if high is None or above in (order, 2):
        return high
    low = _at_integer(loss, above - 1, inner)
    if low is None:
        return high
    share = order - (above - 1)
    chord = (1 - share) * (above - 2) * low + share * (above - 1) * high
    return min(high, chord / (order - 1))


@lru_cache(maxsize=4096)
def _at_integer(loss: PoissonSampled, order: int, inner: Divergence) -> Fraction | None:
    """Bound the divergence at an integer order by the moments of the mechanism's own ratio."""
    _, up = directed(_DIGITS)
    mirrored, total = _mirrored(loss.loss), _ONE
    rate = loss.rate
    # Mirrored pairs: Σ C(n,k)·γ^k·(1−γ)^(n−k)·E[x^k]; others: Σ C(n,k)·γ^k·E|x − 1|^k.
    start = (order * Interval.of(1 - rate, _DIGITS).log()).exp() if mirrored else None
    odds = Interval.of(rate / (1 - rate) if mirrored else rate, _DIGITS).high
    square = Decimal(0)
    power = start.high if start is not None else _ONE
    for k in range(1, order + 1):
        power = up.multiply(power, odds)
        if k == 1:
            continue
        moment = _moment(loss.loss, k, inner)
        if moment is None:
            return None
        excess = up.subtract(moment, _ONE)
        if k == 2:
            square = excess
        # (x − 1)² has mean E[x²] − 1; beyond, |x − 1|^k is at most x^k or (x − 1)².
        term = excess if mirrored or k == 2 else up.add(moment, square)
        total = up.add(total, up.multiply(up.multiply(power, Decimal(comb(order, k))), term))
    logarithm = Interval(total, total, _DIGITS).log() / (order - 1)
    return shorten_up(Fraction(max(logarithm.high, Decimal(0))))


@lru_cache(maxsize=8192)
def _moment(loss: Loss, k: int, inner: Divergence) -> Decimal | None:
    """Bound E[x^k] = exp((k − 1)·D_k) for the likelihood ratio x of the mechanism itself."""
    found = inner(loss, Fraction(k))
    return None if found is None else Interval.of((k - 1) * found, _DIGITS).exp().high


def _mirrored(loss: Loss) -> bool:
    """Say whether some map of the outcomes exchanges the laws of each pair, or of a worse pair.

    Noise that is added has a law that is even, so the middle of two of them is a mirror. In a
    composition the second pair may be chosen in view of the first outcome, which breaks the mirror;
    there each part must have one worst pair, whatever was seen.
    """
    if type(loss) is Composed:
        return all(_one_worst_pair(part) for part, _ in loss.parts)
    return type(loss) in (LaplaceShift, GaussianShift) or _one_worst_pair(loss)


def _one_worst_pair(loss: Loss) -> bool:
    return (
        type(loss) in (Pure, LaplaceTradeoff, GaussianTradeoff)
        or (type(loss) is LaplaceShift and loss.linf <= 1)
        or (type(loss) is GaussianShift and loss.scalar)
    )
