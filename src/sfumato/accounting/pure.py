"""The basic view of a loss: ε adds up, and so does δ.

A loss is a tree of compositions over leaves; `fold` carries any additive cost up that tree.
The costs of pure and approximate differential privacy are here, the one of concentrated
differential privacy in `sfumato.accounting.zcdp`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

from sfumato.accounting.grid import bearable, shorten_up
from sfumato.core.errors import LossError
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

_ZERO = Fraction(0)
_HOPELESS = 10_000  # ε beyond which sampling changes nothing worth a computation
_DIGITS = 60


def fold(loss: Loss, leaf: Callable[[Loss], Fraction | None]) -> Fraction | None:
    """Carry an additive cost up the tree: compositions add, disjoint parts count the worst few.

    Args:
        loss: the tree.
        leaf: the cost of a leaf; None means that no finite cost bounds it.
    """
    if type(loss) is Composed:
        return _total([(fold(part, leaf), count) for part, count in loss.parts])
    if type(loss) is Worst:
        costs = [(fold(part, leaf), count) for part, count in loss.parts]
        return _total(_largest(costs, loss.touched))
    return leaf(loss)


def basic_epsilon(loss: Loss) -> Fraction | None:
    """Return Σε, or None where a part has no ε of its own (Gaussian or concentrated).

    With `own_delta` it bounds the whole: the loss is (Σε, Σδ)-DP.
    """
    return fold(loss, _leaf_epsilon)


def own_delta(loss: Loss) -> Fraction:
    """Return Σδ over the parts of which only (ε, δ)-DP is known."""
    return cast("Fraction", fold(loss, _leaf_delta))  # no leaf of it is None


def unknown(loss: object) -> LossError:
    """Return the error for a loss whose meaning the accountant does not know."""
    if hasattr(loss, "cost"):
        return LossError(
            f"{type(loss).__name__} is not a loss, it has one. Pass its cost: release.cost."
        )
    return LossError(
        f"{type(loss).__name__} is not a loss that this version can account for, and guessing "
        f"could understate it. Use a loss of sfumato.core.loss, or the version that wrote it."
    )


def amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return ln(1 + rate·(e^ε − 1)), rounded up: ε of an ε-DP mechanism on a Poisson sample.

    Theorem: [BBG18, Thm 8]; docs/theory/sampling.md
    """
    if rate in (0, 1) or not epsilon or epsilon > _HOPELESS:
        return epsilon if rate else _ZERO  # up: a sample never costs more than the whole
    grown = rate * (Interval.of(epsilon, _DIGITS).exp() - 1) + 1
    return min(epsilon, shorten_up(Fraction(grown.log().high)))


def unamplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return ln(1 + (e^ε − 1)/rate), rounded down: the ε that a sample brings down to this one."""
    if rate in (0, 1) or not epsilon or epsilon > _HOPELESS:
        return epsilon  # down: never below what a sample leaves
    grown = (Interval.of(epsilon, _DIGITS).exp() - 1) / rate + 1
    return max(epsilon, Fraction(grown.log().low))


def _leaf_epsilon(loss: Loss) -> Fraction | None:
    if type(loss) is Pure or type(loss) is BoundedRange or type(loss) is Approximate:
        return loss.epsilon
    if type(loss) is LaplaceTradeoff:
        return loss.epsilon
    if type(loss) is LaplaceShift:
        return loss.l1 / loss.scale
    if type(loss) is PoissonSampled:
        inner = basic_epsilon(loss.loss)
        return inner if inner is None and loss.rate else amplified(inner or _ZERO, loss.rate)
    if type(loss) is GaussianShift:
        return None if loss.l2_squared else _ZERO
    if type(loss) is GaussianTradeoff:
        return None if loss.mu else _ZERO
    if type(loss) is Concentrated:
        return None if loss.rho else _ZERO
    if type(loss) is Renyi:
        return None
    raise unknown(loss)


def _leaf_delta(loss: Loss) -> Fraction:
    if type(loss) is Approximate:
        return loss.delta
    if type(loss) is PoissonSampled:
        return loss.rate * own_delta(loss.loss)
    if type(loss) not in _EXACT:
        raise unknown(loss)
    return _ZERO


_EXACT = frozenset(
    {
        Pure,
        BoundedRange,
        LaplaceShift,
        LaplaceTradeoff,
        GaussianShift,
        GaussianTradeoff,
        Concentrated,
        Renyi,
    }
)


def _total(costs: list[tuple[Fraction | None, int]]) -> Fraction | None:
    total = _ZERO
    for cost, count in costs:
        if cost is None:
            return None
        total = bearable(total + cost * count)
    return total


def _largest(
    costs: list[tuple[Fraction | None, int]], wanted: int
) -> list[tuple[Fraction | None, int]]:
    """Keep the `wanted` largest costs; None counts as infinite."""
    kept: list[tuple[Fraction | None, int]] = []
    for cost, count in sorted(
        costs, key=lambda item: (item[0] is None, item[0] or _ZERO), reverse=True
    ):
        taken = min(count, wanted)
        if taken:
            kept.append((cost, taken))
            wanted -= taken
    return kept
