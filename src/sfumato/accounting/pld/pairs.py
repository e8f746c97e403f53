"""Which pairs of laws a loss stands for, if they are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt

from sfumato.accounting.pld.gaussian import DiscreteGaussian, Gaussian
from sfumato.accounting.pld.leaf import DiscreteLaplace, Laplace, Leaf, Response, Sampled
from sfumato.accounting.pure import basic_epsilon, own_delta, unknown
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

_LITTLE = Fraction(1, 10**6)  # ε in place of none at all
_LARGEST_SHIFT = 2**40  # whole numbers up to here, times their errors, stay exact in floats


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs that dominate a fixed composition, with the number of times of each.

    Attributes:
        parts: the pairs.
        tight: whether some release with that loss is as bad as they are.
    """

    parts: tuple[tuple[Leaf, int], ...]
    tight: bool


def pairs(loss: Loss) -> list[Pairs] | None:
    """Return the compositions of which the worst one counts; None where a part has no pair."""
    choices = list(_choices(loss))
    found = [_leaves(parts) for parts in choices]
    return None if any(pair is None for pair in found) else [pair for pair in found if pair]


def _choices(loss: Loss) -> Iterator[list[tuple[Loss, int]]]:
    """Yield the losses that can come together: one part of each worst case.

    A unit is in one part of a worst case, and the others then have the same law for both neighbors.
    Where the same worst case comes more than once, or counts several parts, it stays as it is.
    """
    parts = loss.parts if type(loss) is Composed else ((loss, 1),)
    open_parts = [
        [part for part, _ in part.parts]
        if type(part) is Worst and part.touched == 1 and count == 1
        else [part]
        for part, count in parts
    ]
    if sum(len(options) > 1 for options in open_parts) > 1:
        yield list(parts)  # too many to try: there is no pair for a worst case
        return
    for chosen in product(*open_parts):
        flat: list[tuple[Loss, int]] = []
        for part, (_, count) in zip(chosen, parts, strict=True):
            if type(part) is Composed:
                flat.extend((inner, many * count) for inner, many in part.parts)
            else:
                flat.append((part, count))
        yield flat


def _leaves(parts: list[tuple[Loss, int]]) -> Pairs | None:
    counts: Counter[Leaf] = Counter()
    square, tight = Fraction(0), True
    for part, count in parts:
        found = _leaf(part)
        if found is None:
            return None
        for leaf, many in found.parts:
            if type(leaf) is Gaussian:
                square += leaf.square * many * count  # Gaussian shifts add up as vectors
            else:
                counts[leaf] += many * count
        tight = tight and found.tight
    if square:
        counts[Gaussian(square)] += 1
    return Pairs(tuple(counts.items()), tight)


def _one(leaf: Leaf, *, tight: bool = True) -> Pairs:
    return Pairs(((leaf, 1),), tight)


def _leaf(loss: Loss) -> Pairs | None:
    nothing = Pairs((), tight=True)
    if type(loss) is Pure or type(loss) is BoundedRange:
        response = _one(Response(loss.epsilon), tight=type(loss) is Pure)
        return response if loss.epsilon else nothing
    if type(loss) is Approximate:
        if not loss.epsilon:  # a law of one loss has no width to lay a grid over: up, to a little
            return _one(Response(_LITTLE, loss.delta), tight=False) if loss.delta else nothing
        return _one(Response(loss.epsilon, loss.delta))
    if type(loss) is LaplaceTradeoff:
        return _one(Laplace(loss.epsilon)) if loss.epsilon else nothing
    if type(loss) is GaussianTradeoff:
        return _one(Gaussian(loss.mu**2)) if loss.mu else nothing
    if type(loss) is LaplaceShift:
        return _laplace(loss) if loss.l1 else nothing
    if type(loss) is GaussianShift:
        return _gaussian(loss)
    if type(loss) is PoissonSampled:
        return _sampled(loss)
    if type(loss) is Concentrated:
        return None if loss.rho else nothing
    if type(loss) is Renyi or type(loss) is Worst:
        return None
    raise unknown(loss)


def _laplace(loss: LaplaceShift) -> Pairs:
    """One cell at its shift; or as many cells as l1 that move by one; or only ε is used."""
    if loss.linf == 1:
        return Pairs(((Response(1 / loss.scale), int(loss.l1)),), tight=True)
    if loss.l1 <= loss.linf and loss.l1 <= _LARGEST_SHIFT:
        return _one(DiscreteLaplace(loss.scale, int(loss.l1)))
    return _one(Response(loss.l1 / loss.scale), tight=False)


def _gaussian(loss: GaussianShift) -> Pairs | None:
    """One cell at its whole shift; integers whose squares add up to less than 2 are one cell."""
    shift = isqrt(loss.l2_squared.numerator // loss.l2_squared.denominator)
    if not shift:
        return Pairs((), tight=True)
    if (loss.scalar or loss.l2_squared < 2) and shift <= _LARGEST_SHIFT:
        return _one(DiscreteGaussian(loss.sigma, shift))
    return None


def _sampled(loss: PoissonSampled) -> Pairs | None:
    if not loss.rate:
        return Pairs((), tight=True)
    inside = pairs(loss.loss)
    if inside is None or len(inside) != 1:
        return None
    found = inside[0]
    if loss.rate == 1 or not found.parts:
        return found
    if len(found.parts) == 1 and found.parts[0][1] == 1:
        return Pairs(((Sampled(found.parts[0][0], loss.rate), 1),), found.tight)
    epsilon = basic_epsilon(loss.loss)
    if epsilon is None:
        return None
    lost = own_delta(loss.loss)
    return _one(Sampled(Response(epsilon, lost), loss.rate), tight=False) if lost < 1 else None
