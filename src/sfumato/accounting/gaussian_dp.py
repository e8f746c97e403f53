"""Gaussian differential privacy: μ of a composition, and its exact curve, rounded up.

μ-GDP says that a release is as private as one number with Gaussian noise at a shift of μ standard
deviations. Squares of μ add up, exactly, so a composition is one such number again, and its curve

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)

is not a bound but the truth. Φ comes from the Mills ratio, in intervals.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from sfumato.accounting.convert import zcdp_epsilon
from sfumato.accounting.grid import FINEST, dyadic, index_below, least_near, rational_up
from sfumato.accounting.pure import basic_epsilon, fold, own_delta
from sfumato.accounting.reference import gaussian_reference_epsilon
from sfumato.accounting.tail import mills, pi
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval
from sfumato.core.loss import GaussianTradeoff, Loss
from sfumato.core.number import Exactable, failure_probability, nonnegative, show

_DIGITS = 50
_PRECISION = 10**30
_STEEP = 2_000  # ε beyond which a simple bound does
_FLOATS, _FLAT = Fraction(1, 10**250), 500  # what is not below, nor above, is guessed in floats
_HUGE = 10**12  # μ² beyond which that is good enough
_FARTHEST = 10**6  # standard deviations: beyond, only that a probability is tiny is said


def mu(loss: Loss) -> Fraction:
    """Return the least μ for which `loss` is known to be μ-GDP, rounded up.

    Guarantee: every test that tells neighbors apart errs at least as often as the best test of two
        normal laws of variance 1 whose means lie μ apart.
    Theorem:   [DRS22]; docs/theory/tradeoff.md
    Exactness: rounded up, by at most 10^-30

    Args:
        loss: compositions of `GaussianTradeoff` and of losses that have an ε.

    Raises:
        LossError: a loss that is not Gaussian DP at any μ, or not known to be.

    Example:
        >>> mu(GaussianTradeoff("0.1") * 100)
        Fraction(1, 1)
    """
    square = mu_squared(loss, pure=True)
    if square is None:
        raise LossError(
            "no μ is known for this loss: Gaussian DP follows from a trade-off curve or from pure "
            "ε, and not from ρ, Rényi divergences, (ε, δ), nor from discrete noise with heavier "
            "steps. Ask for accounting.tradeoff(loss), which is a curve for any loss."
        )
    return _root_up(square)


def mu_squared(loss: Loss, *, pure: bool = False) -> Fraction | None:
    """Return μ² of a composition of Gaussian trade-offs; None where a part is something else.

    With `pure` set, parts that have an ε count too: exact for the former, a bound for these.
    """

    def leaf(part: Loss) -> Fraction | None:
        if type(part) is GaussianTradeoff:
            return part.mu**2
        cost = basic_epsilon(part) if pure and not own_delta(part) else None
        return None if cost is None else pure_mu(cost) ** 2

    return fold(loss, leaf)


def gaussian_dp_epsilon(loss: Loss, delta: Exactable) -> Fraction:
    """Return the ε of a composition of Gaussian trade-offs at `delta`, rounded up.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss.
    Theorem:   [BW18, Thm 8], [DRS22]
    Exactness: the least number of 41 significant bits, above the truth by at most 1 in 10^12

    Args:
        loss: compositions of `GaussianTradeoff`.
        delta: δ, above 0.

    Raises:
        LossError: another loss; or a δ of 0.

    Example:
        >>> round(float(gaussian_dp_epsilon(GaussianTradeoff(1), "1e-6")), 4)
        4.8866
    """
    square, target = _square(loss), failure_probability(delta)
    if not square:
        return Fraction(0)
    if target < FINEST:
        raise LossError(
            f"delta = {show(target)} has no ε: Gaussian noise bounds the loss with high "
            f"probability only. Pass delta=, such as delta='1e-6'."
        )
    return _epsilon(square, target)


def gaussian_dp_delta(loss: Loss, epsilon: Exactable) -> Fraction:
    """Return δ(ε) of a composition of Gaussian trade-offs, rounded up.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss.
    Theorem:   [BW18, Thm 8], [DRS22]
    Exactness: rounded up, by at most 1 in 10^20 of e^ε·Φ(−μ/2 − ε/μ)

    Args:
        loss: compositions of `GaussianTradeoff`.
        epsilon: ε, zero or above.

    Raises:
        LossError: another loss.
    """
    square = _square(loss)
    return _delta(square, nonnegative(epsilon, "epsilon")) if square else Fraction(0)


def below(z: Interval) -> Interval:
    """Enclose Φ(z), the probability that a standard normal number is below z."""
    if z.low > 0:
        return 1 - _above(z)
    if z.high < 0:
        return _above(-z)
    # Φ is ½ at 0 and grows by less than 0.4 for each 1.
    width = max(z.high, z.low.copy_negate())
    return Interval(width.copy_negate(), width, z.digits) + Fraction(1, 2)


def pure_mu(epsilon: Fraction) -> Fraction:
    """Return the least μ for which every ε-DP pair is μ-GDP, 2·Φ⁻¹(e^ε/(1 + e^ε)), rounded up.

    Theorem: docs/theory/tradeoff.md
    """
    if not epsilon:
        return Fraction(0)
    if epsilon > _STEEP:
        return 2 * _root_up(2 * epsilon)  # up: 1 − Φ(z) <= e^(−z²/2)/2 <= 1/(1 + e^ε)
    goal = 1 / (1 + Interval.of(epsilon, _DIGITS).exp())  # the error of either kind
    level = 1 / (1 + math.exp(min(float(epsilon), 700.0)))
    guess = index_below(Fraction(max(-NormalDist().inv_cdf(level), 1e-300)))
    # above: 1 − Φ(z) is at most the error, so that μ = 2·z is enough
    found = least_near(lambda i: _above(Interval.of(dyadic(i), _DIGITS)).high <= goal.low, guess)
    return 2 * dyadic(found)


def _above(z: Interval) -> Interval:
    """Enclose 1 − Φ(z) for z > 0."""
    if z.low > _FARTHEST:
        return Interval(Decimal(0), (-(z * z) / 2).exp().high, z.digits)
    return (-(z * z) / 2).exp() * mills(z) / (2 * pi(z.digits)).sqrt()


def _square(loss: Loss) -> Fraction:
    square = mu_squared(loss)
    if square is None:
        raise LossError(
            "this is the exact curve of Gaussian DP, and a part of the loss is something else. "
            "Ask for accounting.epsilon(loss, delta), which takes any loss."
        )
    return square


@lru_cache(maxsize=4096)
def _delta(square: Fraction, epsilon: Fraction) -> Fraction:
    root = Interval.of(square, _DIGITS).sqrt()
    far = epsilon / root
    kept = below(root / 2 - far)
    lost = Interval.of(epsilon, _DIGITS).exp() * below(-(root / 2) - far)
    high = kept.high if lost.low <= 0 else (kept - lost).high
    return rational_up(min(max(high, Decimal(0)), Decimal(1)))


@lru_cache(maxsize=1024)
def _epsilon(square: Fraction, delta: Fraction) -> Fraction:
    if _delta(square, Fraction(0)) <= delta:
        return Fraction(0)
    start = zcdp_epsilon(square / 2, delta)
    if square > _HUGE:
        return start  # up, by less than one part in a million
    if start < _FLAT and min(square, delta) > _FLOATS:
        start = Fraction(gaussian_reference_epsilon(square / 2, delta))
    guess = index_below(start or square)
    return dyadic(least_near(lambda i: _delta(square, dyadic(i)) <= delta, guess))


def _root_up(square: Fraction) -> Fraction:
    """Return a rational at or just above a square root; a square of a rational has its own."""
    p, q = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return Fraction(p, q)
    scaled = square * _PRECISION**2
    return Fraction(math.isqrt(scaled.numerator // scaled.denominator) + 1, _PRECISION)
