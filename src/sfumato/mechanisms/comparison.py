"""Noisy comparisons with a threshold, one question at a time: the answers, and their accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, expm1
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sfumato.core.errors import InputError, RangeError, RequestError
from sfumato.core.interval import Interval
from sfumato.core.number import is_integer
from sfumato.noise.rng import forks
from sfumato.release.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.release.error import Error

BEFORE_SELECTION = "noise only, before selection"
_BLOCKS = 200  # the threshold's noise is cut into so many, each taken at its worst end
_REST = 1000  # what lies beyond the blocks weighs less than this part of the allowed failure
_DIGITS = 30


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer to one question: whether it reached the threshold, as far as noise lets one see.

    Attributes:
        above: whether it did.
        value: the answer as a number, where it is above and numbers were asked for.

    Example:
        >>> "report" if Comparison(above=True) else "go on"
        'report'
    """

    above: bool
    value: Estimate | None = None

    def __bool__(self) -> bool:
        """Say whether it is above."""
        return self.above


class Comparisons:
    """A run of comparisons that has begun; a mechanism's `start` makes it.

    It holds the noise of its threshold, which is as secret as the data: it is not shown, and the
    run is neither copied nor stored. Copies would have more hits between them than were paid for.
    """

    __slots__ = ("_compare", "_covers", "_forks", "_left", "_lock", "_width")

    def __init__(
        self,
        compare: Callable[[int], tuple[bool, int | None]],
        hits: int,
        error: Error | None = None,
    ) -> None:
        """Take what compares one exact number, and after how many hits it ends.

        Args:
            compare: from an exact number to whether it is above, and its noisy value if one is
                released.
            hits: how many answers may be above.
            error: the error of the noisy values.
        """
        self._compare, self._left, self._lock, self._forks = compare, hits, Lock(), forks()
        self._width = 0 if error is None else ceil(error.halfwidth(Fraction(95, 100)))
        self._covers = "" if error is None else error.covers

    @property
    def left(self) -> int:
        """How many answers may still be above."""
        return self._left

    def push(self, value: Any) -> Comparison:
        """Compare the next exact answer with the threshold.

        Args:
            value: a whole number.

        Raises:
            RequestError: the run has had all its hits.
            InputError: the process was forked, so that this is a copy.
        """
        if not is_integer(value):
            raise InputError(
                "a run compares whole numbers, one at a time. Push an int, such as a count."
            )
        if forks() != self._forks:
            raise not_copied()
        with self._lock:  # two threads must not both take the last hit
            if not self._left:
                raise used_up()
            above, number = self._compare(int(value))
            self._left -= above
        if number is None:
            return Comparison(above)
        ends = number - self._width, number + self._width
        return Comparison(above, Estimate(number, *ends, covers=self._covers))

    def __repr__(self) -> str:
        """Show what is public: how many hits are left."""
        return f"<comparisons with a noisy threshold; hits left: {self._left}>"

    def __copy__(self) -> NoReturn:
        """Refuse."""
        raise not_copied()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse."""
        raise not_copied()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to be pickled."""
        raise not_copied()


def used_up() -> RequestError:
    """Return the refusal of a run that has ended."""
    return RequestError(
        "this interaction is used up: it has had as many answers above the threshold as it was "
        "charged for, and one more would cost more. Open a new one, which is charged again, or "
        "allow more hits= from the start."
    )


def not_copied() -> InputError:
    """Return the refusal to copy a run."""
    return InputError(
        "an open interaction is not copied or stored: its noise is secret, and a copy would answer "
        "with the same noise again for one charge. Open another one."
    )


@dataclass(frozen=True, slots=True)
class ComparisonError:
    """How far from the threshold an exact answer may lie and still be judged wrongly.

    It bounds the largest of |ν - ρ|, where ρ is the threshold's noise and ν that of a question.
    Given ρ they are independent, so that P(all within a) is the mean of P(|ν - ρ| <= a, given ρ)^k.
    It holds as well for questions that are chosen by the answers before.
    """

    threshold_scale: Fraction
    query_scale: Fraction
    queries: int = 1
    covers: str = "score, noise only, of one comparison"
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return a whole number a with P(some |ν - ρ| > a) <= 1 - confidence."""
        if not is_integer(self.queries) or int(self.queries) < 1:
            raise RangeError("queries= counts questions: pass a whole number from 1 on.")
        blocks = self._blocks(1 - confidence)
        found = _first(lambda a: self._missed(a, blocks) <= float(1 - confidence))
        while not self._holds(found, confidence, blocks):
            found += 1 + found // 10**9  # up, by what floats may have missed
        return Fraction(found)

    def _blocks(self, failure: Fraction) -> list[int]:
        """Return where blocks of |ρ| begin; the last entry is the end of all."""
        reach = Interval.of(_REST / failure, _DIGITS).log() * self.threshold_scale
        end = int(Fraction(reach.high)) + 2
        width = -(-end // _BLOCKS)
        return list(range(0, end + width, width))

    def _missed(self, a: int, blocks: list[int]) -> float:
        """Return what `_holds` proves, in floats: good enough to look for the place."""
        s, r = float(1 / self.threshold_scale), float(1 / self.query_scale)
        edges = np.array(blocks, np.float64)
        at_least = np.where(edges > 0, 2 * np.exp(-s * edges) / (1 + np.exp(-s)), 1.0)
        z = edges[1:] - 1
        beyond = np.exp(-r * np.abs(a - z + 1)) + np.exp(-r * (a + z + 1))
        inside = np.exp(-r * np.abs(z - a)) * -expm1(-r * (2 * a + 1))
        missed = np.where(z <= a, beyond, 1 + np.exp(-r) - inside) / (1 + np.exp(-r))
        some = -np.expm1(self.queries * np.log1p(-np.minimum(missed, 1 - 1e-16)))
        return float(((at_least[:-1] - at_least[1:]) * some).sum() + at_least[-1])

    def _holds(self, a: int, confidence: Fraction, blocks: list[int]) -> bool:
        """Prove in exact enclosures that all are within `a` at that confidence."""
        digits = _DIGITS + len(str(int(1 / (1 - confidence))))
        one_s = 1 + _power(self.threshold_scale, 1, digits)
        before, total = Interval.of(1, digits), Interval.of(0, digits)
        for start in blocks[1:]:
            at_least = 2 * _power(self.threshold_scale, start, digits) / one_s
            mass, before = before - at_least, at_least
            # P(|ν - z| <= a) falls with z: the last of a block stands for all.  # down
            within = self._within(a, start - 1, digits)
            if within.low <= 0 or mass.low <= 0:
                break
            total = total + mass * (within.log() * self.queries).exp()
        return Fraction(total.low) >= confidence

    def _within(self, a: int, z: int, digits: int) -> Interval:
        """Enclose P(|ν - z| <= a): P(ν >= x) is r^x/(1 + r) for x >= 0, with r = e^(-1/scale)."""

        def r(times: int) -> Interval:
            return _power(self.query_scale, times, digits)

        if z <= a:
            return 1 - (r(a - z + 1) + r(a + z + 1)) / (1 + r(1))
        return (r(z - a) - r(z + a + 1)) / (1 + r(1))


def _power(scale: Fraction, times: int, digits: int) -> Interval:
    """Enclose exp(-times/scale)."""
    return Interval.of(-times / scale, digits).exp()


def _first(holds: Callable[[int], bool]) -> int:
    """Return the least number from 0 on that `holds`, which does from some number on."""
    low, high = -1, 1
    while not holds(high):
        low, high = high, 2 * high
        if high > 2**80:
            raise RangeError("the noise is too large to say how far off an answer may be.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
