"""Group privacy: what a release gives away about several units together.

A family answers alike, so a loss stated for one person says too little about them. The group's
loss follows by changing its members one after the other.
"""

from __future__ import annotations

from fractions import Fraction
from operator import index

from sfumato.accounting.grid import shorten_up
from sfumato.accounting.pure import unknown
from sfumato.core.errors import LossError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
    Worst,
)
from sfumato.core.number import is_integer

_DIGITS = 60
_TINY = Fraction(1, 10**20)
_HOPELESS = 5_000  # e to this power times any δ that can be stated is above 1
_REFUSED = {
    Renyi: (
        "a Rényi curve for one unit bounds a group at smaller orders only, and by much",
        "Convert it first: convert(loss, to='approximate', delta='1e-6').",
    ),
    PoissonSampled: (
        "a group is in the sample more often than one unit, and in part",
        "Take the group of what it comes to: convert(loss, to='pure') or convert(loss, to='zcdp').",
    ),
    Worst: (
        "the members of a group may be in different parts of the data",
        "Take the group of what it comes to: convert(loss, to='pure') or convert(loss, to='zcdp').",
    ),
}


def group(loss: Loss, size: int) -> Loss:
    """Return the loss for `size` units that change together.

    Guarantee: bounds the laws on tables that differ in up to `size` units, each by the neighbor
        relation of the loss.
    Theorem:   [DR14, Thm 2.2], [BS16], [DRS22]; docs/theory/tradeoff.md
    Exactness: rational; the δ of approximate parts is rounded up

    Args:
        loss: what happened, for one unit.
        size: how many units there are in the group.

    Raises:
        LossError: a loss for which nothing useful follows; a δ that would reach 1.
        RangeError: a size that is no whole number from 1 up.

    Example:
        >>> group(Pure("0.1"), size=4)
        Pure(neighbors=<Neighbors.ADD_REMOVE: 'add_remove'>, epsilon=Fraction(2, 5))
    """
    if not is_integer(size) or index(size) < 1:
        raise RangeError(
            f"size = {size!r} must be a whole number from 1 up: it is how many units change "
            f"together. Pass size=4 for a family of four."
        )
    return loss if index(size) == 1 else _group(loss, index(size))


def _group(loss: Loss, size: int) -> Loss:
    relation = loss.neighbors
    if type(loss) is Composed:
        whole = [Composed.of([_group(part, size)], times=times) for part, times in loss.parts]
        return Composed.of(whole) if whole else loss
    if type(loss) is Approximate:
        return _approximate(loss, size)
    # Log-likelihood ratios add up along the way, and so do their ranges.
    if type(loss) is Pure or type(loss) is BoundedRange or type(loss) is LaplaceTradeoff:
        return type(loss)(size * loss.epsilon, neighbors=relation)
    if type(loss) is GaussianTradeoff:
        return GaussianTradeoff(size * loss.mu, neighbors=relation)
    if type(loss) is Concentrated:
        return Concentrated(size**2 * loss.rho, neighbors=relation)
    if type(loss) is LaplaceShift:
        return LaplaceShift(loss.scale, size * loss.l1, size * loss.linf, neighbors=relation)
    if type(loss) is GaussianShift:
        # Not scalar any more: each member may shift a cell of their own.
        return GaussianShift(loss.sigma, size**2 * loss.l2_squared, neighbors=relation)
    if type(loss) in _REFUSED:
        why, instead = _REFUSED[type(loss)]
        raise LossError(f"there is no loss of a group for this: {why}. {instead}")
    raise unknown(loss)


def _approximate(loss: Approximate, size: int) -> Approximate:
    """Return (k·ε, δ·(e^(kε) − 1)/(e^ε − 1)): δ·(1 + e^ε + … + e^((k−1)ε))."""
    delta = loss.delta
    if delta:
        delta = _grown(loss.epsilon, size) * delta
        if delta >= 1:
            raise LossError(
                f"the δ of {size} units together would reach 1, which says nothing. Ask about a "
                f"smaller group, or release with a smaller delta."
            )
    return Approximate(size * loss.epsilon, shorten_up(delta), neighbors=loss.neighbors)


def _grown(epsilon: Fraction, size: int) -> Fraction:
    """Return 1 + e^ε + … + e^((k−1)ε), rounded up; k·e^((k−1)ε) where ε is too small to divide."""
    if (size - 1) * epsilon > _HOPELESS:
        return Fraction(10**_HOPELESS)  # up, or not: any δ reaches 1
    whole = Interval.of(epsilon, _DIGITS)
    if epsilon < _TINY:
        return size * Fraction(((size - 1) * whole).exp().high)
    return Fraction((((size * whole).exp() - 1) / (whole.exp() - 1)).high)
