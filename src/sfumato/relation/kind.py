"""What a value is inside a plan: a whole number of steps, a truth, a position in a list, a text.

A declared column has many spellings in the world and one in a plan. A backend reads every value
into it, or reads NULL; from there on arithmetic is on integers within bounds known beforehand, so
it can neither round nor overflow. Every value may be NULL: what the owner declared as not nullable
is a promise about data, and no guarantee rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from sfumato.core import schema
from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError

LIMIT = 2**62  # the largest whole number that a plan lets arise, in absolute value
EPOCH = date(1970, 1, 1)


@canonical
@dataclass(frozen=True, slots=True)
class Number:
    """``k * step`` for whole ``k`` from `low` to `high`."""

    low: int
    high: int
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse a range in which arithmetic could overflow."""
        if max(abs(self.low), abs(self.high)) > LIMIT:
            raise ExpressionError(
                "a number in this expression can grow beyond 2^62 steps, the largest that is "
                "computed exactly. Declare tighter bounds or a coarser step, or clamp an operand."
            )

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The least and the largest value, in the unit of the column."""
        return self.low * self.step, self.high * self.step


@canonical
@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""


@canonical
@dataclass(frozen=True, slots=True)
class Label:
    """A position in the declared list of values."""

    values: tuple[str | int, ...]


@canonical
@dataclass(frozen=True, slots=True)
class Words:
    """Any text."""


@canonical
@dataclass(frozen=True, slots=True)
class Day:
    """Days since 1970-01-01, from `low` to `high`."""

    low: int
    high: int


@canonical
@dataclass(frozen=True, slots=True)
class Instant:
    """Steps of `step` seconds since `origin`, from 0 to `high`."""

    origin: str
    high: int
    step: Fraction


Kind: TypeAlias = Number | Truth | Label | Words | Day | Instant
Code: TypeAlias = int | bool | str
Value: TypeAlias = int | bool | str | Fraction

NAMES: dict[type, str] = {
    Number: "a number",
    Truth: "a truth value",
    Label: "a category",
    Words: "a text",
    Day: "a date",
    Instant: "a timestamp",
}


def kind_of(column: schema.Column) -> Kind:
    """Return how a declared column is held in a plan."""
    match column:
        case schema.Integer():
            return Number(*column.bounds)
        case schema.Real():
            low, high = (int(bound / column.step) for bound in column.bounds)
            return Number(low, high, column.step)
        case schema.Category():
            return Label(column.values)
        case schema.Boolean():
            return Truth()
        case schema.Date():
            return Day(day_number(column.low), day_number(column.high))
        case schema.Timestamp():
            span = datetime.fromisoformat(column.high) - datetime.fromisoformat(column.low)
            return Instant(column.low, int(_seconds(span) / column.step), column.step)
        case _:
            return Words()


def code(kind: Kind, value: object) -> Code | None:
    """Return how a plan holds a public value, or None if the column cannot have it."""
    match kind:
        case Number():
            if isinstance(value, bool) or not isinstance(value, int | Fraction):
                return None
            steps = Fraction(value) / kind.step
            inside = steps.denominator == 1 and kind.low <= steps <= kind.high
            return int(steps) if inside else None
        case Truth():
            return value if isinstance(value, bool) else None
        case Label():
            return _positions(kind).get((type(value), value)) if _is_value(value) else None
        case Day():
            days = _days(value)
            return days if days is not None and kind.low <= days <= kind.high else None
        case Instant():
            moment = _moment(value)
            if moment is None:
                return None
            steps = (moment - _seconds_of(kind.origin)) / kind.step
            return int(steps) if steps.denominator == 1 and 0 <= steps <= kind.high else None
        case Words():
            return value if isinstance(value, str) else None


@lru_cache(maxsize=64)
def _positions(kind: Label) -> dict[tuple[type, object], int]:
    """Return where each value is in a list, which may be long."""
    return {(type(each), each): place for place, each in enumerate(kind.values)}


def _is_value(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def value(kind: Kind, held: Code) -> Value:
    """Return the public value that a code stands for; dates and moments as ISO text."""
    match kind:
        case Number():
            p, q = kind.step.numerator, kind.step.denominator
            return int(held) * p if q == 1 else Fraction(int(held) * p, q)
        case Truth():
            return bool(held)
        case Label():
            return kind.values[int(held)]
        case Day():
            return (EPOCH + timedelta(days=int(held))).isoformat()
        case Instant():
            micros = int(held) * kind.step * 10**6
            moment = datetime.fromisoformat(kind.origin) + timedelta(microseconds=int(micros))
            return moment.isoformat()
        case _:
            return held


def hull(a: Kind, b: Kind) -> Kind | None:
    """Return the kind of what may be of either; None if they do not mean the same."""
    if isinstance(a, Instant) and isinstance(b, Instant):
        wider = replace(a, high=max(a.high, b.high))
        return wider if replace(b, high=wider.high) == wider else None
    if (isinstance(a, Number) and isinstance(b, Number) and a.step == b.step) or (
        isinstance(a, Day) and isinstance(b, Day)
    ):
        return replace(a, low=min(a.low, b.low), high=max(a.high, b.high))
    return a if a == b else None


def domain(kind: Kind) -> range | None:
    """Return all codes of a kind where they can be listed; None for text."""
    match kind:
        case Number() | Day():
            return range(kind.low, kind.high + 1)
        case Label():
            return range(len(kind.values))
        case Instant():
            return range(kind.high + 1)
        case Truth():
            return range(2)
        case Words():
            return None


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """Return the largest step of which both are whole multiples."""
    return Fraction(
        gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
    )


def rescaled(kind: Number, step: Fraction) -> tuple[Number, int]:
    """Return the kind on a finer step, and the whole factor that takes its numbers there."""
    factor = int(kind.step / step)
    return replace(kind, low=kind.low * factor, high=kind.high * factor, step=step), factor


def day_number(text: str) -> int:
    """Return the days since 1970-01-01 of an ISO date."""
    return (date.fromisoformat(text) - EPOCH).days


def _days(given: object) -> int | None:
    """Read a date or its ISO text."""
    if isinstance(given, datetime) or not isinstance(given, date | str):
        return None
    try:
        return day_number(str(given))
    except ValueError:  # not ISO
        return None


def _moment(given: object) -> Fraction | None:
    """Read a datetime or its ISO text, without a zone."""
    if not isinstance(given, datetime | str):
        return None
    try:
        return _seconds_of(given if isinstance(given, str) else given.isoformat())
    except (ValueError, TypeError):  # not ISO, or with a zone
        return None


def _seconds_of(text: str) -> Fraction:
    return _seconds(datetime.fromisoformat(text) - datetime(1970, 1, 1))  # both without a zone


def _seconds(span: timedelta) -> Fraction:
    return Fraction(span // timedelta(microseconds=1), 10**6)


def column_of(kind: Kind) -> schema.Column:
    """Return a declaration for a kind, as wide or one step wider."""
    match kind:
        case Number():
            high = kind.high if kind.high > kind.low else kind.low + 1
            if kind.step == 1:
                return schema.Integer(kind.low, high)
            return schema.Real(kind.low * kind.step, high * kind.step, kind.step)
        case Truth():
            return schema.Boolean()
        case Label():
            return schema.Category(kind.values)
        case Day():
            first, last = kind.low, max(kind.high, kind.low + 1)
            return schema.Date(EPOCH + timedelta(days=first), EPOCH + timedelta(days=last))
        case Instant():
            return schema.Timestamp(kind.origin, str(value(kind, kind.high)), kind.step)
        case Words():
            return schema.Text()


def narrow(kind: Kind) -> str | None:
    """Return the type that holds numbers of a range in the fewest bytes; None for that it has."""
    if isinstance(kind, Number | Label):
        low, high = (kind.low, kind.high) if isinstance(kind, Number) else (0, len(kind.values))
        for bits, held in ((15, "SMALLINT"), (31, "INTEGER")):
            if -(2**bits) <= low and high < 2**bits:
                return held
    return None
