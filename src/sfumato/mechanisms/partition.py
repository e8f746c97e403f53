"""Which groups occur: optimal partition selection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.grid import least_near, rational_up
from sfumato.core.errors import InternalError, RangeError, SensitivityError
from sfumato.core.interval import DIGITS, Interval
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, is_integer, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms.group import (
    Chosen,
    Move,
    Unlisted,
    counted,
    joint,
    moved,
    single,
    with_failures,
    within,
)
from sfumato.mechanisms.mechanism import Laboratory, need_movable
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, Threshold, below
from sfumato.release.release import Release

_SMALLEST = Fraction(1, 10**60)
_LARGEST = 2**10  # beyond this ε nothing is protected, and exponentials grow long
_MOST = 2**62
_ONE = Interval(Decimal(1), Decimal(1))
_TOP = 2**WORD - 1
_MARKS = 256  # sizes whose odds are enclosed for all others to be compared with


@dataclass(frozen=True, slots=True, repr=False)
class PartitionSelection(Unlisted, Laboratory):
    """Release the name of each group with the highest probability that its size allows.

    For the keys of a table that nobody can list beforehand, where their counts are not wanted or
    are measured afterwards. For units in one group no other (ε, δ)-DP rule shows a group of any
    size more often; a noisy count above a threshold, as by `StabilityHistogram`, shows it less
    often. For units in many groups Gaussian noise above a threshold may show more:
    `mechanisms.selection` compares.

    Guarantee: for one group that one unit can be in, (ε, δ)-DP. For a unit in l0 groups, counted
        linf times at most in each and l1 times in all, (l1·ε, δ*)-DP and, outside failures of
        probability δ*, ρ-zCDP with ρ of l0 losses linf·ε (of one loss l1·ε where l1 < l0·linf);
        δ* = 1 - (1 - δ')^(l1/linf) with δ' = δ·(e^(linf·ε) - 1)/(e^ε - 1); for the neighbor
        relation of the sensitivity.
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

    epsilon: Fraction
    delta: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, epsilon: Exactable, delta: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check ε and δ."""
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", open_unit(self.delta, "delta"))
        if self.epsilon < _SMALLEST:
            raise RangeError(
                "epsilon is below 10^-60, where nothing is computed any more. Pass a larger one."
            )
        if self.epsilon > _LARGEST:
            raise RangeError(
                f"epsilon = {show(self.epsilon)} is beyond 2^10: every group would appear. "
                f"Pass an epsilon that protects, such as 1."
            )
        _reaching(self, Fraction(1))  # refuses what could never be certain, before any draw

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> PartitionSelection:
        """Return the selection that shows most and whose loss fits the target.

        The target is ε with a δ, or ρ with a δ, which is that of the failures alone.
        """
        target, allowed = with_failures(epsilon, delta, rho)
        need_movable(sensitivity)
        move = moved(sensitivity)
        one = within(target, move)
        failure = single(allowed, move.times)
        if move.most > 1:
            failure = Fraction((failure / _steps(one, move.most)).low)
        made = cls(one, failure)
        while made._failure(move) > allowed:  # by the last digit, if at all
            failure -= failure / 10**20
            made = cls(one, failure)
        return made

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε of the groups that one unit can be in, and the δ of all of them."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        move = moved(sensitivity)
        failure = self._failure(move)
        if failure >= 1:
            raise SensitivityError(
                "one unit alone could bring a group to light, and then nothing is protected. Count "
                "each unit once in a group, or pass a smaller delta."
            )
        return counted(self.epsilon, move, failure, sensitivity.neighbors)

    def _failure(self, move: Move) -> Fraction:
        one = self.delta
        if move.most > 1:
            one = rational_up((self.delta * _steps(self.epsilon, move.most)).high)  # up
        return joint(min(one, Fraction(1)), move.times)

    def chance(self, units: int, digits: int = 0) -> Interval:
        """Enclose the probability that a group of so many units is released.

        It is the largest that starts at 0 and obeys, for every n, both inequalities of (ε, δ)-DP:
        first it grows by the one for appearing, then by the one for staying away.
        """
        digits += self._spare()
        if units <= 0:
            return Interval(Decimal(0), Decimal(0), digits)
        slope, turn = _slope(self, digits), _turn(self.epsilon, self.delta)
        if units <= turn:
            odds = slope * (Interval.of(units * self.epsilon, digits).exp() - 1)
        else:
            rest = Interval.of((turn - units) * self.epsilon, digits).exp()
            odds = 1 + slope - rest * _missing(self, digits)
        return _ONE if odds.low >= 1 else odds

    def probability(self, units: int) -> Fraction:
        """Return the probability that a group of so many units is released, rounded down."""
        if not is_integer(units):
            raise RangeError("a group has a whole number of units. Pass an int.")
        return min(Fraction(1), Fraction(self.chance(int(units)).low))

    def enough(self, confidence: Exactable = Fraction(95, 100)) -> int:
        """Return how many units a group needs to be released with this probability."""
        return _reaching(self, open_unit(confidence, "confidence"))

    @property
    def certain(self) -> int:
        """The number of units from which a group is released for certain."""
        return _reaching(self, Fraction(1))

    def error(self, sensitivity: Sensitivity) -> AbsenceError:  # noqa: ARG002 - not of the data
        """Return how large a group may be that does not appear."""
        return AbsenceError(self)

    def choose(self, counts: NDArray[np.int64], rng: Rng) -> Chosen:
        """Flip the coin of each group; return the positions of those with heads, ascending.

        Args:
            counts: the number of units of each group; from 0 down a group does not exist.
            rng: the randomness.
        """
        kept = counts >= self.certain
        unsure = np.flatnonzero(~kept & (counts > 0))
        if unsure.size:
            kept[unsure] = self._coins(counts[unsure], rng)
        return np.flatnonzero(kept), None

    def _coins(self, sizes: NDArray[np.int64], rng: Rng) -> NDArray[np.bool_]:
        """Return heads with the odds of each size, exactly.

        Odds grow with the size: what a word says for the nearest marks below and above holds for
        all sizes between them, and only where the two disagree are its own odds enclosed.
        """
        distinct, rank = np.unique(sizes, return_inverse=True)
        step = -(-distinct.size // _MARKS)
        marks = [*distinct[::step].tolist(), int(distinct[-1])]
        ends = np.array([_words(self, size) for size in marks], np.uint64)
        words = rng.words(sizes.size)
        heads: NDArray[np.bool_] = words < ends[rank // step, 0]
        unclear = np.flatnonzero(~heads & (words <= ends[-(-rank // step), 1]))
        for i in unclear.tolist():
            heads[i] = below(int(words[i]), WORD, self._threshold(int(sizes[i])), rng)
        return heads

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
        column: str | None = None,
    ) -> Release:
        """Draw once and return the groups that appear, without any figure.

        Args:
            values: a mapping from groups to numbers of units.
            sensitivity: how many groups one unit can be in.
            name: what the groups are called.
            keys: none: which groups there are is what is released.
            confidence: not used: a name has no interval.
            unit: who is protected, for the card; the laboratory takes your word for it.
            column: what the groups are called, as for `StabilityHistogram`; before `name`.
        """
        return self._released(
            values,
            sensitivity,
            name=name if column is None else column,
            column=None,
            keys=keys,
            confidence=confidence,
            unit=unit,
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


@lru_cache(maxsize=256)
def _slope(selection: PartitionSelection, digits: int) -> Interval:
    """Enclose δ/(e^ε - 1)."""
    return selection.delta / (Interval.of(selection.epsilon, digits).exp() - 1)


@lru_cache(maxsize=256)
def _missing(selection: PartitionSelection, digits: int) -> Interval:
    """Enclose 1 + δ/(e^ε - 1) less the odds at the turn."""
    slope, turn = _slope(selection, digits), _turn(selection.epsilon, selection.delta)
    grown = Interval.of(turn * selection.epsilon, digits).exp()
    return 1 + slope - slope * (grown - 1)


def _enclosed(selection: PartitionSelection, units: int, length: int) -> tuple[int, int]:
    odds = selection.chance(units, length * 31 // 100)
    return max(odds.floor_fixed(length), 0), min(odds.ceil_fixed(length), 1 << length)


@lru_cache(maxsize=4096)
def _words(selection: PartitionSelection, units: int) -> tuple[int, int]:
    """Return a word below which it is heads, and one above which it is tails."""
    low, high = _enclosed(selection, units, WORD)
    return min(low, _TOP), min(high, _TOP)


@lru_cache(maxsize=1024)
def _reaching(selection: PartitionSelection, odds: Fraction) -> int:
    """Return the least size that is released with these odds, of which 1 means for certain."""
    digits, epsilon = selection._spare(), selection.epsilon
    slope, turn = _slope(selection, digits), _turn(epsilon, selection.delta)
    if Fraction(selection.chance(turn).low) >= odds:
        guess = int(((1 + odds / slope).log() / epsilon).low)
    else:
        beyond = (_missing(selection, digits) / (1 + slope - odds)).log() / epsilon
        guess = turn + int(beyond.low)
    if guess >= _MOST:
        raise RangeError(
            "no group of up to 2^62 units would be released for certain. Pass a larger epsilon "
            "or delta."
        )
    return least_near(lambda units: Fraction(selection.chance(units).low) >= odds, guess)


def _steps(epsilon: Fraction, most: int) -> Interval:
    """Enclose (e^(most·ε) - 1)/(e^ε - 1): how δ grows with so many steps."""
    digits = DIGITS + epsilon.denominator.bit_length() * 31 // 100
    grown, one = (Interval.of(times * epsilon, digits).exp() for times in (most, 1))
    return (grown - 1) / (one - 1)
