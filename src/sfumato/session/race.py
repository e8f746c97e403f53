"""A race to the top: counts and sums of which nobody knows how much one unit adds.

The answer is the largest of several: what one unit adds is clamped at 4, at 16, and so on up to a
public end, each of these totals is measured, and lowered by so much that noise alone hardly lifts
any of them above its exact number. As clamping lowers a total, the largest is hardly above the
exact number of all rows either; and it is not far below the first in which no unit was clamped. All
this is made of released numbers, and free: see docs/theory/race.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import ExpressionError, InternalError, KeysError
from sfumato.core.number import show, show_above
from sfumato.relation import (
    Aggregate,
    AnyKeys,
    BoughtKeys,
    Call,
    Constant,
    Expr,
    Filter,
    Name,
    Node,
    PerUnit,
    Summary,
    Total,
    Truncate,
)
from sfumato.relation.bound import caps, reach
from sfumato.relation.kind import Number
from sfumato.relation.node import need_unit, unit_columns
from sfumato.relation.source import unused
from sfumato.release.form import Form
from sfumato.release.format import approximate, percent
from sfumato.release.measure import Measure
from sfumato.release.multiple import scaled
from sfumato.release.saturation import FARTHEST, LARGEST
from sfumato.session.part import Part
from sfumato.session.proof import plural
from sfumato.session.wanted import Wanted

ROWS = 2**20  # of one unit that are considered, where no cap is declared
RATIO = 4  # of a level to the one below
STEPS = 2**40  # that one unit may add to a sum, if nobody says more: noise for it can be drawn
_SHOWN = 4  # levels for which it is said how far the answer may be below
COVERS = "noise and what is clamped, open at the far end"


def levels(most: int, least: int = 1) -> tuple[int, ...]:
    """Return where totals are clamped: at the most, and at each a quarter of the one above.

    With halves there would be twice as many totals to pay for, and the answer would be no nearer at
    worst: see docs/theory/race.md. The lowest is at most four times the least that a unit adds.

    Example:
        >>> levels(64), levels(20), levels(1), levels(1000, least=10)
        ((4, 16, 64), (2, 5, 20), (1,), (16, 63, 250, 1000))
    """
    found, divisor = [most], RATIO
    while most > least * divisor:
        found.append(-(-most // divisor))  # up: at most four times below the one above
        divisor *= RATIO
    return tuple(reversed(found))


def race(
    wanted: Wanted, node: Node, keys: AnyKeys, groups: int | None = None
) -> tuple[Aggregate, ...]:
    """Return the question of each level: totals of one relation, with one row for each unit.

    No row of a unit is left out; in how many groups it counts is capped as ever.

    Args:
        wanted: the count or the sum.
        node: the relation.
        keys: its groups.
        groups: in how many of them one unit may count.

    Raises:
        KeysError: groups that are bought.
        ExpressionError: an end of the race that is none.
    """
    if isinstance(keys, BoughtKeys):
        raise KeysError(
            "how much of one unit counts is found in groups that are listed. Pass the groups with "
            "keys=[...], or leave out per_unit='auto'."
        )
    need_unit(node, "clamped")
    condition = keys.condition()
    inside = node if condition is None else Filter(node, condition)
    if wanted.expr is not None:
        inside = Filter(inside, Call("not", (Call("is_null", (wanted.expr,)),)))
    kind = _kind(wanted)
    most = _most(wanted, kind, _rows(node, grouped=bool(keys.columns)))
    what = "rows" if wanted.function == "count" else wanted.output.text
    name = unused(f"{what} of one unit", [*keys.columns, *unit_columns(node)])
    made = Summary("count", None, most)
    if wanted.function == "sum":  # so many rows reach the end, where rows can reach it at all
        made = Summary("sum", wanted.summed, ceil(Fraction(most, max(kind.high, 1))))
    relation: Node = PerUnit(inside, keys.columns, ((name, made),))
    if keys.columns:
        relation = Truncate(relation, keys.columns, 1, groups, None)
    ends = levels(most, max(kind.low, 1))
    return tuple(
        Aggregate(relation, keys, Total(_clamped(name, level * kind.step))) for level in ends
    )


def _clamped(name: str, level: Fraction) -> Expr:
    return Call("clamp", (Name(name), Constant(Fraction(0)), Constant(level)))


def _kind(wanted: Wanted) -> Number:
    """Return what one row adds."""
    if wanted.function == "count":
        return Number(1, 1)
    if not isinstance(wanted.kind, Number):
        raise ExpressionError(f"{wanted.output!r} needs a number. Count it, or group by it.")
    return wanted.kind


def _rows(node: Node, *, grouped: bool) -> int:
    """Return how many rows of one unit the owner lets count; 2^20 where that is to be bought."""
    rows, groups, each = caps(node, {"max_rows": ROWS, "max_groups": ROWS})
    if not grouped and groups is not None and each is not None:
        each *= groups
    found = (cap for cap in (rows, each, reach(node).rows) if cap is not None)
    return min(found, default=ROWS)


def _most(wanted: Wanted, kind: Number, rows: int) -> int:
    """Return the last level, in steps."""
    if wanted.output.most is None:
        return rows if wanted.function == "count" else max(1, min(rows * kind.high, STEPS))
    steps = wanted.output.most / kind.step
    if steps.denominator != 1:
        what = "rows" if wanted.function == "count" else f"steps of {wanted.output.text!r}"
        raise ExpressionError(
            f"most= is where the race ends, and it is not a whole number of {what}. Round it."
        )
    return int(steps)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a race, in the unit of the answer.

    Attributes:
        end: at what it clamps.
        noun: what that is, in words.
        shift: by how much its noisy total is lowered.
        below: how far the answer lies below the exact number, at most, if no unit adds more than
            its end; with the confidence of the answer.
        mechanism: its noise.
    """

    end: Fraction
    noun: str
    shift: Fraction
    below: Fraction
    mechanism: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "end": approximate(self.end),
            "shift": approximate(self.shift),
            "below": approximate(self.below),
            "mechanism": self.mechanism,
        }

    def __str__(self) -> str:
        """Write it for people."""
        return f"{show(self.end)}{self.noun}: {self.mechanism}, lowered by {show(self.shift)}"


def too_low(levels: Sequence[Level]) -> str:
    """Say how far an answer may be below, for a few levels."""
    last = len(levels) - 1
    few = dict.fromkeys(last * place // (_SHOWN - 1) for place in range(_SHOWN))
    first, *more = (levels[place] for place in few)
    text = (
        f"at most {show_above(first.below)} too low if no unit has more than {show(first.end)}"
        f"{first.noun}"
    )
    return ", ".join(
        [text, *(f"{show_above(each.below)} if none more than {show(each.end)}" for each in more)]
    )


@dataclass(frozen=True, slots=True)
class Raced:
    """How an output is made of the noisy totals of all levels.

    Attributes:
        wanted: the output.
        parts: what was measured, one part for each level, the lowest first.
    """

    wanted: Wanted
    parts: tuple[Part, ...]

    @property
    def _step(self) -> Fraction:
        return _kind(self.wanted).step

    @property
    def _noun(self) -> str:
        return " rows" if self.wanted.function == "count" else ""

    @property
    def mechanism(self) -> str:
        """The noise of the lowest level and of the highest."""
        ends = dict.fromkeys(repr(part.mechanism) for part in (self.parts[0], self.parts[-1]))
        return f"{plural(len(self.parts), 'level')}, {' to '.join(ends)}"

    @property
    def used(self) -> list[Part]:
        """The parts that it is made of."""
        return list(self.parts)

    @property
    def ends(self) -> tuple[Fraction, ...]:
        """At what each level clamps, in the unit of the answer."""
        return tuple(self._step * _end(part) for part in self.parts)

    def levels(self, confidence: Fraction) -> tuple[Level, ...]:
        """Return what is known of each level before anything is read."""
        # One level is enough to be near, so that it may fail with all of 1 - confidence.
        sure = _one_sided(1 - confidence)
        shifts = self._shifts(confidence)
        return tuple(
            Level(
                self._step * _end(part),
                self._noun,
                self._step * shift,
                self._step * (shift + part.error.halfwidth(sure)),
                repr(part.mechanism),
            )
            for part, shift in zip(self.parts, shifts, strict=True)
        )

    def measure(self, noisy: Sequence[Sequence[int]], confidence: Fraction) -> Measure:
        """Make the output of the noisy totals of the levels; its interval has no upper end."""
        values: Any = self._lowered(noisy, confidence).max(axis=0)
        steps = Measure(
            self.wanted.name,
            values,
            values,
            (FARTHEST,) * len(values),
            covers=COVERS,
            mechanism=self.mechanism,
            kind="integer",
        )
        return scaled(steps, self._step)

    def won(self, noisy: Sequence[Sequence[int]], confidence: Fraction) -> list[Fraction | None]:
        """Return the level that won in each group; None where none is above 0."""
        lowered = self._lowered(noisy, confidence)
        return [
            self.ends[place] if best > 0 else None
            for place, best in zip(lowered.argmax(axis=0), lowered.max(axis=0), strict=True)
        ]

    def said(self, confidence: Fraction) -> str:
        """Say what a reader should know before paying."""
        first, last = show(self.ends[0]), show(self.ends[-1])
        some = last if first == last else f"{first} to {last}"
        return (
            f"{self.wanted.name} is not above the exact number at {percent(confidence)}: of "
            f"{plural(len(self.parts), 'total')}, which count at most {some}{self._noun} of one "
            f"unit, each lowered by what its noise rarely exceeds, it is the largest; what units "
            f"have beyond is missing"
        )

    def told(self, noisy: Sequence[Sequence[int]], confidence: Fraction) -> str:
        """Say which level won: it is made of released numbers, and so it is public."""
        won = self.won(noisy, confidence)
        ends = sorted(level for level in won if level is not None)
        where = f" in {len(ends):,} of {len(won):,} groups" if len(won) > 1 else ""
        if not ends:
            return f"no total of {self.wanted.name} is above what noise may reach, and it shows 0"
        some = " to ".join(dict.fromkeys(show(end) for end in (ends[0], ends[-1])))
        return f"{self.wanted.name} counts at most {some}{self._noun} of one unit{where}"

    def form(self, draws: Mapping[Part, str]) -> Form | None:  # noqa: ARG002 - as the others
        """The largest of several is no weighted sum: one cannot compute with it."""
        return None

    def _lowered(self, noisy: Sequence[Sequence[int]], confidence: Fraction) -> NDArray[np.int64]:
        """Return the totals lowered by their shifts, and 0 where that is negative."""
        found = []
        for values, shift in zip(noisy, self._shifts(confidence), strict=True):
            by = min(shift, LARGEST)  # no noisy total is larger
            found.append(np.maximum(np.asarray(values, np.int64).ravel(), by) - by)
        return np.array(found, np.int64)

    def _shifts(self, confidence: Fraction) -> list[int]:
        """Return by how many steps each level is lowered.

        All of them fail with 1 - confidence at most, the lowest with half of that, and each with
        half of the one below: a level that fails takes the answer as far off as it is high.
        """
        last = len(self.parts) - 1
        halves = [min(place + 1, last) for place in range(len(self.parts))]  # the last two alike
        fails = [(1 - confidence) / 2**half for half in halves]
        return [
            ceil(part.error.halfwidth(_one_sided(each)))
            for part, each in zip(self.parts, fails, strict=True)
        ]


def _one_sided(fails: Fraction) -> Fraction:
    """Return the confidence of a symmetric interval that either side leaves so rarely."""
    return max(1 - 2 * fails, Fraction(0))


def _end(part: Part) -> int:
    if not isinstance(part.query, Aggregate):
        raise InternalError("a level is a total.")
    return part.query.extent[1]
