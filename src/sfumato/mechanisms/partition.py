"""Which groups occur: optimal partition selection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.accounting.grid import least, rational_up
from sfumato.accounting.price import price
from sfumato.core.budget import Budget
from sfumato.core.errors import InternalError, RangeError, SensitivityError
from sfumato.core.interval import DIGITS, Interval
from sfumato.core.loss import Approximate, Loss, Pure
from sfumato.core.number import Exactable, is_integer, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms.group import (
    Cells,
    Key,
    joint,
    moved,
    no_keys,
    occupied,
    shown,
    with_delta,
)
from sfumato.mechanisms.mechanism import Laboratory, check_unit, need_movable
from sfumato.noise.bernoulli import threshold_flips
from sfumato.noise.rng import Rng, system
from sfumato.noise.uniform import Threshold
from sfumato.release.key import check_cells
from sfumato.release.release import Release

_LARGEST = 2**10  # beyond this ε nothing is protected, and exponentials grow long
_MOST = 2**62
_ONE = Interval(Decimal(1), Decimal(1))


@dataclass(frozen=True, slots=True, repr=False)
class PartitionSelection(Laboratory):
    """Release the name of each group with the highest probability that its size allows.

    For the keys of a table that nobody can list beforehand, where their counts are not wanted or
    are measured afterwards. No other (ε, δ)-DP rule shows a group of any size more often; a noisy
    count above a threshold, as by `StabilityHistogram`, shows it less often.

    Guarantee: for one group that one unit can be in, (ε, δ)-DP. For a unit in l0 groups, counted
        linf times at most in each and l1 times in all, (l1·ε, 1 - (1 - δ')^l0)-DP with
        δ' = δ·(e^(linf·ε) - 1)/(e^ε - 1); for the neighbor relation of the sensitivity.
    Theorem:   [DVGM22]; docs/theory/thresholds.md
    Exactness: the coins have exactly the optimal odds; δ of several groups is rounded up.
    Error:     a group of `enough(c)` units or more appears with probability c.

    Args:
        epsilon: ε for one unit in one group.
        delta: δ for one unit in one group: the probability that a group of one appears.

    Example:
        >>> select = PartitionSelection(epsilon=1, delta="1e-6")
        >>> select.enough()
        16
        >>> select({"anna": 1000, "zoltan": 1})
        ('anna',)
    """

    takes_cells: ClassVar[bool] = False

    epsilon: Fraction
    delta: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, epsilon: Exactable, delta: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check ε and δ."""
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", open_unit(self.delta, "delta"))
        if self.epsilon > _LARGEST:
            raise RangeError(
                f"epsilon = {show(self.epsilon)} is beyond 2^10: every group would appear. "
                f"Pass an epsilon that protects, such as 1."
            )
        _certain(self)  # refuses what could never be certain, before anything is drawn

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> PartitionSelection:
        """Return the selection that shows most and whose loss fits the target."""
        target = with_delta(Budget(epsilon, delta, rho=rho))
        need_movable(sensitivity)
        groups, most, l1 = moved(sensitivity)
        one = (target.epsilon or Fraction(0)) / l1
        failure = target.delta
        if groups > 1:
            digits = DIGITS + failure.denominator.bit_length() * 31 // 100
            failure = 1 - Fraction(((1 - Interval.of(failure, digits)).log() / groups).exp().high)
        if most > 1:
            failure = Fraction((failure / _steps(one, most)).low)
        made = cls(one, failure)
        while made._delta(groups, most) > target.delta:  # by the last digit, if at all
            failure -= failure / 10**20
            made = cls(one, failure)
        return made

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε and δ for the groups that one unit can be in."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        groups, most, l1 = moved(sensitivity)
        failure = self._delta(groups, most)
        if failure >= 1:
            raise SensitivityError(
                "one unit alone could bring a group to light, and then nothing is protected. Count "
                "each unit once in a group, or pass a smaller delta."
            )
        return Approximate(l1 * self.epsilon, failure, neighbors=sensitivity.neighbors)

    def _delta(self, groups: int, most: int) -> Fraction:
        one = self.delta
        if most > 1:
            one = rational_up((self.delta * _steps(self.epsilon, most)).high)  # up
        return joint(min(one, Fraction(1)), groups)

    def chance(self, units: int, digits: int = 0) -> Interval:
        """Enclose the probability that a group of so many units is released.

        It is the largest that starts at 0 and obeys, for every n, both inequalities of (ε, δ)-DP:
        first it grows by the one for appearing, then by the one for staying away.
        """
        digits += self._spare()
        if units <= 0:
            return Interval(Decimal(0), Decimal(0), digits)
        grown = Interval.of(self.epsilon, digits).exp()
        slope, turn = self.delta / (grown - 1), _turn(self.epsilon, self.delta)
        early = min(units, turn)
        odds = slope * (Interval.of(early * self.epsilon, digits).exp() - 1)
        if units > turn:
            rest = Interval.of((turn - units) * self.epsilon, digits).exp()
            odds = 1 + slope - rest * (1 + slope - odds)
        return _ONE if odds.low >= 1 else odds

    def probability(self, units: int) -> Fraction:
        """Return the probability that a group of so many units is released, rounded down."""
        if not is_integer(units):
            raise RangeError("a group has a whole number of units. Pass an int.")
        return min(Fraction(1), Fraction(self.chance(int(units)).low))

    def enough(self, confidence: Exactable = Fraction(95, 100)) -> int:
        """Return how many units a group needs to be released with this probability."""
        sure = open_unit(confidence, "confidence")
        return least(lambda units: self.probability(units) >= sure, 0, self.certain)

    @property
    def certain(self) -> int:
        """The number of units from which a group is released for certain."""
        return _certain(self)

    @property
    def said(self) -> str:
        """What a reader should know before paying; static."""
        return f"a group needs about {self.enough()} people to appear in 95 of 100 releases"

    def error(self, sensitivity: Sensitivity) -> AbsenceError:  # noqa: ARG002 - not of the data
        """Return how large a group may be that does not appear."""
        return AbsenceError(self)

    def exact(self, values: Any) -> Cells:
        """Take a mapping from groups to numbers of units."""
        return occupied(values)

    def sample(self, exact: Cells, rng: Rng) -> tuple[Key, ...]:
        """Return the groups whose coin came up heads, in the order of their keys."""
        units = np.array([count for _, count in exact], np.int64)
        kept = units >= self.certain
        for size in np.unique(units[~kept]).tolist():
            here = np.flatnonzero(units == size)
            kept[here] = threshold_flips(rng, self._threshold(size), here.size)
        return tuple(key for (key, _), keep in zip(exact, kept.tolist(), strict=True) if keep)

    def _threshold(self, units: int) -> Threshold:
        return lambda length: _enclosed(self, units, length)

    def _spare(self) -> int:
        """Return digits for what small ε and δ lose to cancellation, and forty more."""
        lost = self.delta.denominator.bit_length() + self.epsilon.denominator.bit_length()
        return DIGITS + lost * 31 // 100 + int(self.epsilon * 44 // 100)

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "key",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Draw once and return the groups that appear, without any figure.

        Args:
            values: a mapping from groups to numbers of units.
            sensitivity: how many groups one unit can be in.
            name: what the groups are called.
            keys: none: which groups there are is what is released.
            confidence: not used: a name has no interval.
            unit: who is protected, for the card; the laboratory takes your word for it.
        """
        no_keys(keys)
        cost, exact = self.loss(sensitivity), self.exact(values)
        sure = open_unit(confidence, "confidence")
        check_cells(name, None, (0,))
        check_unit(unit, cost)
        drawn = np.array(shown(self.sample(exact, system())), np.object_)
        return Release.of(
            values=drawn,
            error=None,
            cost=cost,
            mechanism=repr(self),
            name=name,
            confidence=sure,
            notes=(f"{self.said}.",),
            unit=unit,
            price=price(cost),
        )


@dataclass(frozen=True, slots=True)
class AbsenceError:
    """How many units a group may have that does not appear."""

    selection: PartitionSelection
    covers: str = "units of a group that is left out"
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return n such that a group of n units or more is left out with 1 - confidence at most."""
        return Fraction(self.selection.enough(confidence))


@lru_cache(maxsize=256)
def _turn(epsilon: Fraction, delta: Fraction) -> int:
    """Return the size up to which the inequality for appearing is the one that binds.

    The logarithm is never a whole multiple of ε (e^ε is transcendental), so enough digits decide.
    """
    for digits in (DIGITS, 4 * DIGITS, 16 * DIGITS, 64 * DIGITS):
        grown = Interval.of(epsilon, digits).exp()
        steps = ((grown + 2 * delta - 1) / ((grown + 1) * delta)).log() / epsilon
        low, high = int(steps.low // 1), int(steps.high // 1)
        if low == high:
            return 1 + low
    raise InternalError("a turning point did not settle; this is a defect, please report it.")


def _enclosed(selection: PartitionSelection, units: int, length: int) -> tuple[int, int]:
    odds = selection.chance(units, length * 31 // 100)
    return max(odds.floor_fixed(length), 0), min(odds.ceil_fixed(length), 1 << length)


@lru_cache(maxsize=256)
def _certain(selection: PartitionSelection) -> int:
    low, high = 0, 1
    while selection.chance(high).low < 1:
        low, high = high, 2 * high
        if high > _MOST:
            raise RangeError(
                "no group of up to 2^62 units would be released for certain. Pass a larger epsilon "
                "or delta."
            )
    return least(lambda units: selection.chance(units).low >= 1, low, high)


def _steps(epsilon: Fraction, most: int) -> Interval:
    """Enclose (e^(most·ε) - 1)/(e^ε - 1): how δ grows with so many steps."""
    return (Interval.of(most * epsilon).exp() - 1) / (Interval.of(epsilon).exp() - 1)
