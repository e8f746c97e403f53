"""Many ranks by bisection: in which order they are sought, relative to what, with what error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from sfumato.core.errors import RangeError
from sfumato.core.interval import Interval
from sfumato.core.number import Exactable, exact, open_unit, show
from sfumato.release.error import RANK

# A share q of the rows and an offset: the wanted number of rows below is q·n + offset.
Target: TypeAlias = tuple[Fraction, Fraction]
Wanted: TypeAlias = Exactable | tuple[Exactable, Exactable]

_BOTTOM: Target = (Fraction(0), Fraction(0))
_TOP: Target = (Fraction(1), Fraction(0))
_FINEST = 10**6  # denominators: finer than any rank


@dataclass(frozen=True, slots=True)
class Step:
    """One target, sought between two that were found before.

    Attributes:
        place: of the target, among all.
        low: the step that found the lower end; None for the bottom of the grid.
        high: the step that found the upper end; None for the top.
        share: which share of the weight between the ends is wanted below.
        offset: how many rows more.
        last: whether nothing is sought relative to this one.
        plain: whether neither this target nor its ends have an offset.
    """

    place: int
    low: int | None
    high: int | None
    share: Fraction
    offset: Fraction
    last: bool
    plain: bool

    @property
    def most(self) -> Fraction:
        """How far one row moves the wanted rank from that of any cut."""
        return max(self.share, 1 - self.share)


def listed(given: Any) -> tuple[Target, ...]:
    """Return targets from outside as pairs of exact numbers."""
    every = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    if not every:
        raise RangeError(
            "targets= lists the ranks that are wanted, at least one: ['1/4', '1/2'], or pairs with "
            "an offset in rows, [('1/2', -10), ('1/2', 10)]."
        )
    found = []
    for one in every:
        pair = one if isinstance(one, tuple) and len(one) == 2 else (one, 0)
        q, offset = exact(pair[0], "q"), exact(pair[1], "offset")
        if not 0 <= q <= 1:
            raise RangeError(
                f"q = {show(q)} must lie between 0 and 1: it is the share of the values below. "
                f"Write 0.95 for 95 %."
            )
        if max(q.denominator, offset.denominator) > _FINEST:
            raise RangeError("q or offset has more than six digits, finer than any rank. Round it.")
        found.append((q, offset))
    return tuple(found)


@lru_cache(maxsize=64)
def bisected(targets: tuple[Target, ...]) -> tuple[Step, ...]:
    """Return the steps, each behind those that it needs; the middle target first."""
    order = sorted(range(len(targets)), key=lambda place: targets[place])
    steps: list[Step] = []

    def seek(first: int, behind: int, low: int | None, high: int | None) -> None:
        if first == behind:
            return
        middle = (first + behind) // 2
        place = order[middle]
        below = _BOTTOM if low is None else targets[steps[low].place]
        above = _TOP if high is None else targets[steps[high].place]
        share, offset = _between(targets[place], below, above)
        plain = not any(rows for _, rows in (targets[place], below, above))
        last = behind - first == 1
        steps.append(Step(place, low, high, share, offset, last, plain))
        own = len(steps) - 1
        seek(first, middle, low, own)
        seek(middle + 1, behind, own, high)

    seek(0, len(order), None, None)
    return tuple(steps)


def _between(target: Target, low: Target, high: Target) -> Target:
    """Return a target relative to its ends.

    The rows between the ends number (q2 - q1)·n + o2 - o1; that share of them, plus that offset, is
    q·n + o - (q1·n + o1), whatever n is. Between ends of one q every share would do: the half is
    what one row moves least.
    """
    (q, o), (q1, o1), (q2, o2) = target, low, high
    share = (q - q1) / (q2 - q1) if q2 > q1 else Fraction(1, 2)
    return share, o - o1 - share * (o2 - o1)


def needed(steps: Sequence[Step], last: int) -> tuple[int, ...]:
    """Return the steps on whose errors that of one step depends, itself at the end."""
    step, found = steps[last], {last}
    if step.low is not None and not (step.plain and step.share == 1):
        found |= set(needed(steps, step.low))
    if step.high is not None and not (step.plain and step.share == 0):
        found |= set(needed(steps, step.high))
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class SoughtError:
    """How far the rank of a value that was found may lie from the wanted one.

    Attributes:
        steps: all steps of the search.
        place: the place of the value among them.
        points: how many values there are to choose from.
        shares: how many places a cell has, where a step may cut it.
        rate: the bounded range of a step, for each row.
    """

    steps: tuple[Step, ...]
    place: int
    points: int
    shares: int
    rate: Fraction
    covers: str = RANK
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return r with P(rank error > r) <= 1 - confidence."""
        path = needed(self.steps, self.place)
        miss = (1 - open_unit(confidence, "confidence")) / len(path)
        cut: dict[int | None, Fraction] = {None: Fraction(0)}
        found = Fraction(0)
        for place in path:
            step = self.steps[place]
            candidates = self.points * (1 if step.last else self.shares)
            own = Interval.of(candidates / miss).log() * (2 * step.most / self.rate)
            low, high = cut.get(step.low, Fraction(0)), cut.get(step.high, Fraction(0))
            # Kept within its part, a target is off by no more than the worse end.
            mixed = (1 - step.share) * low + step.share * high if step.plain else max(low, high)
            found = Fraction(own.high) + mixed  # up
            cut[place] = found + 1  # equal rows are cut at whole shares
        return Fraction(-(-found // 1))


@dataclass(frozen=True, slots=True)
class WorstError:
    """The largest of several errors: each of the values is within it."""

    errors: tuple[SoughtError, ...]
    covers: str = RANK
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return r with P(rank error > r) <= 1 - confidence, for each of them."""
        return max(error.halfwidth(confidence) for error in self.errors)
