"""The concentrated view of a loss: the least ρ for which it is ρ-zCDP, rounded up.

Costs, with their proofs, are in ``docs/theory/zcdp.md``:

===================  =====================================================
pure ε               ε·tanh(ε/2), attained by randomized response
bounded range ε      ε²/8, or the pure one where that is less
discrete Laplace     its Kullback-Leibler divergence at the integer shift
discrete Gaussian    l2²/(2σ²)
continuous Laplace   ε − 1 + e^−ε
Gaussian DP          μ²/2
Poisson sample       that of its amplified ε, or of the mechanism itself
a few Rényi orders   none
approximate (ε, δ)   none; δ-approximately that of pure ε
===================  =====================================================

Everything is integer arithmetic around one function, A(z) = (z/2)·coth(z/2) >= 1, which has a
continued fraction with positive terms: no cancellation for small z, and bounds on either side.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.accounting.grid import bearable, shorten_up
from sfumato.accounting.pure import basic_epsilon, fold, own_delta, unknown
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
)
from sfumato.core.number import show

_BITS = 80
# Pairs of levels of the continued fraction that are good to 2^-80 for z up to a bound, and their
# odd constants, innermost first; beyond the last bound the exponential function is quicker.
_BOUNDS = ((1, 4, 3), (1, 1, 5), (4, 1, 7), (16, 1, 12))
_ODD = [
    (p, q, pairs, [((4 * i - 1) << _BITS, (4 * i - 3) << _BITS) for i in range(pairs, 0, -1)])
    for p, q, pairs in _BOUNDS
]
_STEEP = 200  # e^−ε is nothing beyond
_DIGITS = 60
_TINY = 10**10  # a shift below scale/10^10 costs shift²/(2·scale²) to ten digits


def rho(loss: Loss) -> Fraction:
    """Return the least ρ for which `loss` is known to be ρ-zCDP, rounded up.

    Guarantee: for neighbors the Rényi divergence of every order α > 1 is at most ρ·α.
    Theorem:   [BS16], [CKS20], [CR21], [HM26]; proofs in docs/theory/zcdp.md
    Exactness: rounded up, by at most 1 in 10^10 of the value

    Args:
        loss: what happened; a tree of compositions is added up.

    Raises:
        LossError: a part of which only (ε, δ)-DP is known has no such ρ; or an unknown loss.

    Example:
        >>> round(float(rho(Pure(1))), 6)
        0.462117
    """
    failure = own_delta(loss)
    if failure:
        raise LossError(
            f"this loss may fail with probability δ = {show(failure)}, and then nothing bounds it: "
            f"approximate DP has no zCDP cost, however large. Ask for epsilon(loss, delta=...), or "
            f"charge it to a budget with delta=."
        )
    return approximate_rho(loss)


def approximate_rho(loss: Loss) -> Fraction:
    """Return ρ of `loss` outside the failures of its approximate parts.

    The loss is δ-approximately ρ-zCDP with δ = ``own_delta(loss)``: an (ε, δ)-DP mechanism is, but
    for an event of probability δ, an ε-DP one.

    Theorem: [BS16]; docs/theory/zcdp.md
    """
    cost = rho_if_any(loss)
    if cost is None:
        raise LossError(
            "a part of this loss is known at a few Rényi orders only, and zCDP is a bound at every "
            "order: there is no ρ for it. Ask for epsilon(loss, delta=...)."
        )
    return cost


def rho_if_any(loss: Loss) -> Fraction | None:
    """Return what `approximate_rho` does, or None where a part has no ρ."""
    cost = fold(loss, _leaf_rho)
    return None if cost is None else bearable(cost)


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return ρ of any ε-DP mechanism, ε·tanh(ε/2), rounded up to 30 digits.

    Theorem: [BS16], tight by randomized response; docs/theory/zcdp.md
    """
    return shorten_up(Fraction(*pure_ratio(epsilon)))


def pure_ratio(epsilon: Fraction) -> tuple[int, int]:
    """Return ε·tanh(ε/2), rounded up, as numerator and denominator: quicker than a Fraction."""
    p, q = epsilon.numerator, epsilon.denominator
    # ε·tanh(ε/2) = ε²/(2·A(ε)); down in A: overstates loss
    return p * p << _BITS, 2 * q * q * _half_coth_down(p, q)


def laplace_rho(loss: LaplaceShift) -> tuple[int, int]:
    """Return ρ of discrete Laplace noise, as numerator and denominator, rounded up.

    The cost of a shift is convex and nothing for no shift, so the worst way to spread the total
    over cells is to shift as many as possible by the most, and one more by the rest.

    Theorem: [HM26]; docs/theory/zcdp.md
    """
    together, largest = loss.l1.numerator, loss.linf.numerator  # whole numbers, as Fractions
    if not together:
        return 0, 1
    a, b = loss.scale.numerator, loss.scale.denominator
    near = _half_coth_down(b, a)
    cells, rest = divmod(together, largest)
    if not rest:
        p, q = _shift(largest, a, b, near)
        return cells * p, q
    p, q = _shift(rest, a, b, near)
    if not cells:
        return p, q
    r, s = _shift(largest, a, b, near)
    return p * s + cells * r * q, q * s


def _leaf_rho(loss: Loss) -> Fraction | None:
    if type(loss) is Pure or type(loss) is Approximate:
        return pure_rho(loss.epsilon)
    if type(loss) is BoundedRange:
        return min(loss.epsilon**2 / 8, pure_rho(loss.epsilon))
    if type(loss) is LaplaceShift:
        return shorten_up(Fraction(*laplace_rho(loss)))
    if type(loss) is GaussianShift:
        return loss.l2_squared / (2 * loss.sigma**2)
    if type(loss) is Concentrated:
        return loss.rho
    if type(loss) is GaussianTradeoff:
        return loss.mu**2 / 2
    if type(loss) is LaplaceTradeoff:
        return _continuous_laplace(loss.epsilon)
    if type(loss) is PoissonSampled:
        return _sampled(loss)
    if type(loss) is Renyi:
        return None
    raise unknown(loss)


def _continuous_laplace(epsilon: Fraction) -> Fraction:
    """Return ε − 1 + e^−ε, rounded up: the limit of the discrete cost on ever finer grids."""
    fine = epsilon - 1 + (-Interval.of(min(epsilon, Fraction(_STEEP)), _DIGITS)).exp()
    return min(shorten_up(Fraction(fine.high)), pure_rho(epsilon))


def _sampled(loss: PoissonSampled) -> Fraction | None:
    """Return ρ of a mechanism on a sample: that of its amplified ε, and never above its own.

    The divergence is jointly quasi-convex, so that of a mixture with the neighbor's own law is at
    most that of the unmixed laws.
    """
    if not loss.rate:
        return Fraction(0)
    cost, whole = basic_epsilon(loss), rho_if_any(loss.loss)
    if cost is None:
        return whole
    return pure_rho(cost) if whole is None else min(whole, pure_rho(cost))


def _shift(k: int, p: int, q: int, near: int) -> tuple[int, int]:
    """Return the divergence of discrete Laplace laws of scale p/q that lie `k` apart, as a pair.

    With x = q/p and y = k·x it is y·(1 − (x/sinh x)·(1 − exp(−y))/y), where
    x/sinh x = A(x) − x²/(4·A(x)) and (1 − exp(−y))/y = 1/(A(y) + y/2). `near` is A(x) rounded down.
    """
    if k == 1:
        return q * q << _BITS, 2 * p * p * near
    if k * q * _TINY < p:
        return (k * q) ** 2, 2 * p * p  # up: y²/2 is above it, by less than y/3 of it
    # The result grows as `inner` falls and as `outer` grows.
    inner = near - (q * q << 2 * _BITS - 2) // (p * p * near) - 1  # down
    outer = _half_coth_up(k * q, p) + (k * q << _BITS - 1) // p + 1  # up
    return k * q * (outer - inner), p * outer


def _half_coth_down(p: int, q: int) -> int:
    """Return A(p/q) in units of 2^-80, rounded down."""
    for a, b, pairs, odd in _ODD:
        if p * b <= a * q:
            low = (p * p << 2 * _BITS - 2) // (q * q)
            high = low + 1
            tail = (4 * pairs + 1) << _BITS  # down: the rest of the fraction is positive
            for outer, inner in odd:
                tail = outer + high // tail + 1  # up
                tail = inner + low // tail  # down
            return tail
    return _half_coth(p, q).floor_fixed(_BITS)


def _half_coth_up(p: int, q: int) -> int:
    """Return A(p/q) in units of 2^-80, rounded up."""
    for a, b, pairs, odd in _ODD:
        if p * b <= a * q:
            low = (p * p << 2 * _BITS - 2) // (q * q)
            high = low + 1
            last = (4 * pairs + 3) << _BITS
            tail = last - (2 << _BITS) + high // last + 1  # up: one more level, and no rest
            for outer, inner in odd:
                tail = outer + low // tail  # down
                tail = inner + high // tail + 1  # up
            return tail
    return _half_coth(p, q).ceil_fixed(_BITS)


def _half_coth(p: int, q: int) -> Interval:
    """Enclose A(p/q) by the exponential function."""
    z = Interval.of(Fraction(p, q))
    decay = (-z).exp()
    return z * (1 + decay) / (2 * (1 - decay))
