"""Privacy loss distributions: ε and δ of a fixed composition, enclosed from both sides.

The other methods of `sfumato.accounting` add up one number for each release. Here the whole law of
the privacy loss is composed, which is exact up to the grid that it lies on: `bounds` and
`delta_bounds` say between which numbers ε or δ is. They hold for plans fixed in advance, and never
admit a query to a ledger. Proofs, and an allowance for every float: ``docs/theory/pld.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.accounting.pld.interop import to_dp_accounting
from sfumato.accounting.pld.pairs import Pairs, pairs
from sfumato.accounting.pld.search import Search
from sfumato.accounting.pld.solve import LEAST, delta_of, epsilon_of
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, failure_probability, nonnegative

__all__ = ["Bounds", "bounds", "delta_bounds", "to_dp_accounting"]

_LEAST = Fraction(1, 10**200)  # δ below which floats are not asked
_NEARLY = 1 - Fraction(1, 2**40)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number that is at least `low` and at most `high`.

    Attributes:
        low: what some release with this loss costs at least; 0 where that is not known.
        high: what every release with this loss costs at most.
    """

    low: Fraction
    high: Fraction


def bounds(loss: Loss, delta: Exactable) -> Bounds | None:
    """Enclose the least ε for which `loss` is (ε, δ)-DP.

    Guarantee: (high, δ)-DP under the neighbor relation of the loss, for losses fixed in advance;
        and for no ε below `low` can it be proved from the loss alone. High falls as δ grows, and
        grows with each part, up to the width of the enclosure.
    Theorem:   [DGKKM22], [ZDW22]; docs/theory/pld.md
    Exactness: the width is about 4 in 10^4 of ε, or 10^-7; more where ε is above 100, or for
        more than 10^6 parts. `high` errs by about a tenth of the width.

    Args:
        loss: what happened.
        delta: δ.

    Returns:
        The bounds; None where a part has no known distribution (concentrated or Rényi losses,
        vectors of Gaussian noise), or where floats cannot prove any.

    Raises:
        LossError: an unknown loss.

    Example:
        >>> from sfumato.core.loss import LaplaceTradeoff
        >>> found = bounds(LaplaceTradeoff("0.1") * 100, "1e-6")
        >>> round(float(found.low), 2), round(float(found.high), 3)
        (4.69, 4.693)
    """
    return _bounds(loss, failure_probability(delta))


def delta_bounds(loss: Loss, epsilon: Exactable) -> Bounds | None:
    """Enclose the least δ for which `loss` is (ε, δ)-DP.

    Guarantee: (ε, high)-DP under the neighbor relation of the loss, for losses fixed in advance;
        and for no δ below `low` can it be proved from the loss alone.
    Theorem:   [DGKKM22], [ZDW22]; docs/theory/pld.md
    Exactness: the width is about 4 in 10^3 of δ where δ is above 10^-30; more as for `bounds`.

    Args:
        loss: what happened.
        epsilon: ε, zero or above.

    Returns:
        The bounds; None where a part has no known distribution.

    Raises:
        LossError: an unknown loss.

    Example:
        >>> from sfumato.core.loss import GaussianTradeoff
        >>> found = delta_bounds(GaussianTradeoff(1) * 4, 5)
        >>> round(float(found.low), 3), round(float(found.high), 3)
        (0.032, 0.032)
    """
    return _delta_bounds(loss, nonnegative(epsilon, "epsilon"))


@lru_cache(maxsize=1024)
def _bounds(loss: Loss, delta: Fraction) -> Bounds | None:
    choices = pairs(loss)
    if choices is None:
        return None
    added = basic_epsilon(loss) if own_delta(loss) <= delta else None
    if delta < _LEAST:
        if added is None:
            return None
        certain = not delta and all(choice.tight for choice in choices)
        return Bounds(added * _NEARLY if certain else Fraction(0), added)
    low, high = Fraction(0), Fraction(0)
    for choice in choices:
        found = _epsilon(choice, delta)
        if found is None:
            return None if added is None else Bounds(min(low, added), added)
        low = max(low, found[0]) if choice.tight else low
        high = max(high, found[1])
    high = high if added is None else min(high, added)
    return Bounds(min(low, high), high)


@lru_cache(maxsize=1024)
def _delta_bounds(loss: Loss, epsilon: Fraction) -> Bounds | None:
    choices = pairs(loss)
    if choices is None:
        return None
    added = basic_epsilon(loss)
    within = own_delta(loss) if added is not None and added <= epsilon else Fraction(1)
    low, high = Fraction(0), Fraction(0)
    for choice in choices:
        found = _delta(choice, epsilon)
        low = max(low, found[0]) if choice.tight else low
        high = max(high, found[1])
    high = min(high, within)
    return Bounds(min(low, high), high)


def _directions(choice: Pairs) -> tuple[bool, ...]:
    """Return the directions that differ: a unit comes or goes, in all parts alike."""
    return (False,) if all(leaf.symmetric for leaf, _ in choice.parts) else (False, True)


def _epsilon(choice: Pairs, delta: Fraction) -> tuple[Fraction, Fraction] | None:
    low, high = Fraction(0), Fraction(0)
    if not choice.parts:
        return low, high
    if Search.hopeless(choice.parts, float(delta)):
        return None
    for back in _directions(choice):
        least, most = epsilon_of(choice.parts, delta, back=back, enough=float(high) if back else -1)
        if most is None:
            return None
        low, high = max(low, Fraction(least)), max(high, Fraction(most))
    return low, high


def _delta(choice: Pairs, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    low, high = Fraction(0), Fraction(0)
    if not choice.parts:
        return low, high
    if Search.hopeless(choice.parts, LEAST) or epsilon > 10**6:
        return low, Fraction(1)
    for back in _directions(choice):
        least, most = delta_of(choice.parts, epsilon, back=back)
        low, high = max(low, Fraction(least)), max(high, Fraction(most))
    return low, high
