"""Losses put together: one after the other, or on parts of the data that share few units."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from operator import index

from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.zcdp import rho_if_any
from sfumato.core.errors import NeighborsError, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Loss,
    Pure,
    Worst,
)
from sfumato.core.number import is_integer
from sfumato.core.unit import Neighbors


def compose(losses: Iterable[Loss]) -> Loss:
    """Return the loss of everything that happened, in whatever order.

    Guarantee: bounds the joint release, also where later steps were chosen in view of earlier ones,
        as long as the losses were fixed in advance.
    Theorem:   [DKMMN06], [BS16]
    Exactness: nothing is computed

    Args:
        losses: under one neighbor relation.

    Raises:
        NeighborsError: losses under different relations.
        LossError: something that is not a loss.

    Example:
        >>> compose([Pure("0.5"), Pure("0.5")]) == Pure("0.5") * 2
        True
    """
    return Composed.of(losses)


def parallel(losses: Iterable[Loss], *, shared: int = 1, presence: bool = False) -> Loss:
    """Return the loss of releases on parts of the data of which one unit is in `shared` at most.

    With neighbors "add_remove" it is the loss of the `shared` worst parts; with "replace" a unit
    can leave as many parts as it enters, so it is that of the 2·shared worst. Losses are not always
    comparable; where no order of the parts holds for every accountant, all of them are kept.

    Under "replace" a unit can move from one part to another. A loss that only covers a change of
    its data inside a part says nothing about that, so these are refused unless `presence` is set.

    Guarantee: bounds the joint release; under "replace", if each loss also covers a unit that
        enters or leaves its part.
    Theorem:   [McSherry09, Thm 4]; docs/theory/zcdp.md
    Exactness: nothing is computed, apart from comparisons rounded to the safe side

    Args:
        losses: one for each part, under one neighbor relation.
        shared: how many parts one unit can be in.
        presence: says that each loss, though stated under "replace", also covers a unit that enters
            or leaves its part: as for counts, and not for sums of values far from zero.

    Raises:
        NeighborsError: losses under different relations; or under "replace" without `presence`.
        LossError: something that is not a loss, or not known.
        RangeError: `shared` is not a whole number from 1 up.

    Example:
        >>> parallel([Pure("0.1"), Pure("0.3"), Pure("0.2")]) == Pure("0.3")
        True
    """
    if not is_integer(shared) or index(shared) < 1:
        raise RangeError(
            f"shared = {shared!r} must be a whole number from 1 up: it is in how many parts one "
            f"unit can be. Pass shared=1 for parts that are disjoint in units."
        )
    kept = list(losses)
    relation = Composed.of(kept).neighbors
    if relation is Neighbors.REPLACE and len(kept) > 1 and not presence:
        raise NeighborsError(
            "under 'replace' a unit can leave one part and enter another, and these losses may "
            "only cover a change inside a part. State the sensitivities for a unit that comes or "
            "goes, and pass presence=True."
        )
    touched = index(shared) * (1 if relation is Neighbors.ADD_REMOVE else 2)
    if touched < len(kept):
        size = {loss: _size(loss) for loss in set(kept)}
        kept.sort(key=lambda loss: size[loss], reverse=True)
        if all(_covers(worse, better) for worse, better in pairwise(kept)):
            return Composed.of(kept[:touched])
    return Worst.of(kept, touched=touched)


def _size(loss: Loss) -> tuple[object, ...]:
    """Return what a loss that covers another one has more of, or as much; the order is total."""
    cost = basic_epsilon(loss)
    curve = rho_if_any(loss)
    figures = (
        *(cost is None, cost or Fraction(0)),
        *(curve is None, curve or Fraction(0), own_delta(loss)),
    )
    general = type(loss) in (Pure, Approximate, Concentrated)
    return *figures, general, not getattr(loss, "scalar", False), repr(loss)


def _covers(a: Loss, b: Loss) -> bool:
    """Say whether whatever holds for every mechanism of loss `a` holds for those of loss `b`."""
    if a == b:
        return True
    if type(a) is Pure:
        return _is_pure(b, a)
    if type(a) is Concentrated:
        return not own_delta(b) and (cost := rho_if_any(b)) is not None and cost <= a.rho
    if type(a) is Approximate:
        cost = basic_epsilon(b)
        return cost is not None and cost <= a.epsilon and own_delta(b) <= a.delta
    if type(a) is BoundedRange:
        return type(b) is BoundedRange and b.epsilon <= a.epsilon
    if type(a) is LaplaceShift and type(b) is LaplaceShift:
        return a.scale == b.scale and a.l1 >= b.l1 and a.linf >= b.linf
    if type(a) is GaussianShift and type(b) is GaussianShift:
        return a.sigma == b.sigma and a.l2_squared >= b.l2_squared and a.scalar <= b.scalar
    return False


def _is_pure(loss: Loss, limit: Pure) -> bool:
    cost = basic_epsilon(loss)
    return cost is not None and cost <= limit.epsilon and not own_delta(loss)
