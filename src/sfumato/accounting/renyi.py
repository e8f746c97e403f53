"""The Rényi view of a loss: its divergence at an order, and the ε and δ that follow.

At a fixed order divergences add up, as ρ does, but each kind of noise keeps the shape of its own
curve: many Laplace releases cost less than their ρ tells. Works at every rational order above 1.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from sfumato.accounting import divergence
from sfumato.accounting.convert import penalty
from sfumato.accounting.grid import bearable, rational_up, shorten_up
from sfumato.accounting.pure import basic_epsilon, fold, own_delta, unknown
from sfumato.accounting.sampling import sampled_divergence
from sfumato.accounting.zcdp import rho_if_any
from sfumato.core.errors import LossError, RangeError
from sfumato.core.interval import DIGITS, Interval
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
from sfumato.core.number import Exactable, exact, failure_probability, nonnegative, show

_LOWEST, _HIGHEST = -7, 20  # orders from 1 + 2^-7 to 1 + 2^20
_FINE = 12  # bits after the point of log2(α − 1)
_STEPS = 16
_GOLDEN = 0.6180339887498949


def renyi(loss: Loss, order: Exactable) -> Fraction:
    """Return the least bound known of the Rényi divergence of this order, rounded up.

    Guarantee: D_α of the laws on neighbors, in both directions, is at most what is returned.
    Theorem:   [Mironov17], [MTZ19]; docs/theory/renyi.md
    Exactness: rounded up, by at most 1 in 10^20 of the closed forms

    Args:
        loss: what happened; a tree of compositions is added up.
        order: α, above 1.

    Raises:
        LossError: a part of which only (ε, δ)-DP is known; an order above those of a Rényi curve;
            an unknown loss.
        RangeError: an order that is not above 1.

    Example:
        >>> round(float(renyi(Pure(1), order=2)), 6)
        0.735326
    """
    failure = own_delta(loss)
    if failure:
        raise LossError(
            f"this loss may fail with probability δ = {show(failure)}, and then no Rényi "
            f"divergence is finite. Ask for epsilon(loss, delta=...) instead."
        )
    alpha = exact(order, "order")
    if alpha <= 1:
        raise RangeError(
            f"order = {show(alpha)} must be above 1; at 1 itself the divergence is that of "
            f"Kullback and Leibler. Pass order=2, or any larger number."
        )
    found = divergence_if_any(loss, alpha)
    if found is None:
        raise LossError(
            f"a part of this loss is known at smaller Rényi orders only, and nothing bounds order "
            f"{show(alpha)}. Ask for an order within its curve."
        )
    return found


def renyi_epsilon(loss: Loss, delta: Exactable) -> Fraction:
    """Return an ε such that `loss` is (ε, δ)-DP by its Rényi divergences, rounded up.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss.
    Theorem:   [CKS20]; docs/theory/zcdp.md
    Exactness: rounded up; every order proves a bound, and the best of some forty is taken

    Args:
        loss: what happened.
        delta: δ, above that of the approximate parts.

    Raises:
        LossError: no δ is left for the conversion; an unknown loss.

    Example:
        >>> round(float(renyi_epsilon(LaplaceTradeoff(1) * 30, delta="1e-6")), 2)
        28.24
    """
    own, target = own_delta(loss), failure_probability(delta)
    slack = target - own
    if slack <= 0:
        raise LossError(
            f"delta = {show(target)} leaves nothing beyond the δ = {show(own)} of the loss itself, "
            f"and Rényi divergences bound a loss with high probability only. Pass a larger delta."
        )

    def bound(a: Fraction) -> Fraction | None:
        found = divergence_if_any(loss, 1 + a)
        if found is None:
            return None
        return max(found + rational_up(penalty(a, slack).high), Fraction(0))

    return shorten_up(_least(bound))


def renyi_delta(loss: Loss, epsilon: Exactable) -> Fraction:
    """Return a δ such that `loss` is (ε, δ)-DP by its Rényi divergences, rounded up, at most 1.

    Guarantee: (ε, δ)-DP under the neighbor relation of the loss.
    Theorem:   [CKS20]; docs/theory/zcdp.md
    Exactness: rounded up; every order proves a bound, and the best of some forty is taken

    Args:
        loss: what happened.
        epsilon: ε, zero or above.
    """
    target, own = nonnegative(epsilon, "epsilon"), own_delta(loss)

    def bound(a: Fraction) -> Fraction | None:
        found = divergence_if_any(loss, 1 + a)
        if found is None:
            return None
        digits = DIGITS + max(a.numerator.bit_length() - a.denominator.bit_length(), 0) // 3
        ratio = Interval.of(a / (1 + a), digits).log()
        exponent = a * (found - target) + (1 + a) * ratio - Interval.of(a, digits).log()
        return rational_up(min(exponent.exp().high, Decimal(1)))

    return min(own + _least(bound), Fraction(1))


def divergence_if_any(loss: Loss, order: Fraction) -> Fraction | None:
    """Return the divergence outside the failures of approximate parts; None where unbounded."""
    found = fold(loss, lambda leaf: _leaf(leaf, order))
    return None if found is None else bearable(found)


@lru_cache(maxsize=8192)
def _leaf(loss: Loss, order: Fraction) -> Fraction | None:
    if type(loss) is Renyi:
        return _along(loss, order)
    if type(loss) is PoissonSampled:
        return sampled_divergence(loss, order, divergence_if_any)
    cost = rho_if_any(loss)
    line = None if cost is None else cost * order
    if type(loss) is Concentrated or type(loss) is GaussianShift or type(loss) is GaussianTradeoff:
        return line
    most = basic_epsilon(loss)
    if line is None or most is None:
        raise unknown(loss)
    # up: near order 1, and where nothing is left of 60 digits, the line is the better bound
    return min(line, most, _curved(loss, order))


def _curved(loss: Loss, order: Fraction) -> Fraction:
    if type(loss) is Pure or type(loss) is Approximate:
        return divergence.two_point(loss.epsilon, order)
    if type(loss) is BoundedRange:
        by_range = divergence.bounded_range(loss.epsilon, order)
        return min(by_range, divergence.two_point(loss.epsilon, order))
    if type(loss) is LaplaceTradeoff:
        return divergence.laplace(loss.epsilon, order)
    if type(loss) is LaplaceShift:
        together, largest = loss.l1.numerator, loss.linf.numerator
        if not together:
            return Fraction(0)
        # The divergence is convex in the shift: the worst is to shift few cells by the most.
        cells, rest = divmod(together, largest)
        moved = divergence.discrete_laplace(largest, loss.scale, order) if cells else Fraction(0)
        return cells * moved + divergence.discrete_laplace(rest, loss.scale, order)
    raise unknown(loss)


def _along(loss: Renyi, order: Fraction) -> Fraction | None:
    """Interpolate: (α − 1)·D_α is convex and nothing at 1, so it lies below every chord."""
    corners = _hull(loss.curve)
    for (a, low), (b, high) in pairwise(corners):
        if order <= b:
            share = (order - a) / (b - a)
            return (low + share * (high - low)) / (order - 1)
    return None


@lru_cache(maxsize=256)
def _hull(curve: tuple[tuple[Fraction, Fraction], ...]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the greatest convex function below the points (α, (α − 1)·D_α)."""
    # It starts at (1, 0), so that what bounds a later order bounds those before it.
    hull = [(Fraction(1), Fraction(0))]
    for point in ((order, (order - 1) * bound) for order, bound in curve):
        while len(hull) > 1 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _above(
    a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]
) -> bool:
    """Say whether `b` is on or above the chord from `a` to `c`."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def _least(bound: Callable[[Fraction], Fraction | None]) -> Fraction:
    """Return the least of a function of α − 1, sought on powers of two, then between them."""
    found: dict[int, Fraction] = {}

    def at(place: int) -> Fraction | None:
        if place not in found:
            value = bound(_order(place))
            if value is None:
                return None
            found[place] = value
        return found[place]

    known: list[tuple[Fraction, int]] = []
    for u in range(_LOWEST, _HIGHEST + 1):
        value = at(u << _FINE)
        # Past the valley no order is better, and large ones are slow for samples.
        rising = len(known) >= 3 and known[-2][0] < known[-1][0]
        if value is None or (rising and value > known[-1][0] and min(known) < known[-2]):
            break
        known.append((value, u))
    if not known:
        raise LossError(
            "a part of this loss is known at Rényi orders close to 1 only, which bound no tail. "
            "State its divergence at an order of 2 or more."
        )
    best = min(known)[1]
    low, high = (best - 1) << _FINE, (best + 1) << _FINE
    for _ in range(_STEPS):
        step = round((high - low) * (1 - _GOLDEN))
        left, right = low + step, high - step
        if left >= right:
            break
        first, second = at(left), at(right)
        if second is None or (first is not None and first <= second):
            high = right
        else:
            low = left
    return min(found.values())


@lru_cache(maxsize=4096)
def _order(place: int) -> Fraction:
    """Return α − 1, of a few bits, near 2 to the power place/2^12."""
    whole, part = divmod(place, 1 << _FINE)
    mantissa = Fraction(round(2.0 ** (part / (1 << _FINE)) * (1 << 16)), 1 << 16)
    return mantissa * Fraction(2) ** whole
