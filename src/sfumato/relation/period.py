"""Periods of the calendar: which one a day lies in, how many lie between two, and a step of some.

Periods of one unit are numbered without gaps, those of a clock from the start of 1970 as those of
a calendar from the year 0. A week begins on Monday.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from sfumato.core.errors import ExpressionError
from sfumato.relation.category import check_size
from sfumato.relation.expr import Typed, constant
from sfumato.relation.kind import EPOCH, Day, Instant, Label, Number
from sfumato.relation.moment import dated, days, microseconds, part_of, timed
from sfumato.relation.operand import whole
from sfumato.relation.rule import Mismatch, rule

_CLOCK = {"hour": 3_600, "minute": 60, "second": 1}  # seconds
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "week": 7}
_MONDAY = 3  # days from a Monday to 1970-01-01
_UNITS = ", ".join((*_CLOCK, *_DAYS, *_MONTHS))
_ADD = (
    "It takes a date, or a timestamp and no months: d + INTERVAL 3 MONTH. A timestamp becomes a "
    "date with CAST(t AS DATE)."
)
_HINT = f"It takes a unit and dates or timestamps: {_UNITS}; hours and less of timestamps only."


@dataclass(frozen=True, slots=True)
class _Calendar:
    """A unit of days: the number of the period of a day, in Python and in SQL, and its first day.

    A month has the number year * 12 + month - 1, and a quarter and a year a third and a twelfth.
    """

    number: Callable[[date], int]
    sql: Callable[[str], str]
    first: Callable[[int], date]


def _of_days(size: int) -> _Calendar:
    shift = _MONDAY if size > 1 else 0
    # Days are counted from before the year 1, so that the engine, which cuts, rounds down.
    far = 7 * 10**6
    return _Calendar(
        lambda d: ((d - EPOCH).days + shift) // size,
        lambda sql: sql if size == 1 else f"(({sql} + {far + shift}) // {size} - {far // size})",
        lambda at: EPOCH + timedelta(days=at * size - shift),
    )


def _of_months(size: int) -> _Calendar:
    def sql(day: str) -> str:
        months = f"({part_of('year', day)} * 12 + {part_of('month', day)} - 1)"
        return part_of("year", day) if size == 12 else f"({months} // {size})"

    return _Calendar(
        lambda d: (d.year * 12 + d.month - 1) // size,
        sql,
        lambda at: date(at * size // 12, at * size % 12 + 1, 1),
    )


_CALENDAR = {
    **{name: _of_days(size) for name, size in _DAYS.items()},
    **{name: _of_months(size) for name, size in _MONTHS.items()},
}


@rule("date_trunc", takes=2, hint=_HINT)
def _truncated(given: Sequence[Typed]) -> Typed:
    """Return the beginning of the period: a category of first days, a day, or a timestamp."""
    unit, t = given[0].constant, given[1]
    if t.constant is not None:
        raise Mismatch
    if isinstance(unit, str) and unit in _CLOCK:
        return _clocked(t, _CLOCK[unit])
    if not isinstance(unit, str) or unit not in _CALENDAR:
        raise Mismatch
    held = days(t)
    if unit == "day":
        return held
    low, high = _numbers(held, unit)
    check_size(high - low + 1, f"date_trunc to the {unit}")
    listed = (_CALENDAR[unit].first(at).isoformat() for at in range(low, high + 1))
    return Typed(Label(tuple(listed)), f"({_CALENDAR[unit].sql(held.sql)} - ({low}))")


@rule("date_diff", takes=3, hint=_HINT)
def _difference(given: Sequence[Typed]) -> Typed:
    """Return how often a period begins between two days or moments; negative if they go back."""
    unit = given[0].constant
    if not isinstance(unit, str) or unit not in (*_CALENDAR, *_CLOCK):
        raise Mismatch
    return apart(given[1], given[2], unit)


def apart(start: Typed, end: Typed, unit: str) -> Typed:
    """Return the number of the period of `end` less that of `start`."""
    if all(t.constant is not None for t in (start, end)):
        raise Mismatch
    (a, x), (b, y) = (_numbered(t, unit) for t in (start, end))
    return Typed(Number(y.low - x.high, y.high - x.low), f"({b} - {a})")


def _numbered(t: Typed, unit: str) -> tuple[str, Number]:
    """Return the number of the period in which a day or a moment lies."""
    if unit in _CALENDAR:
        if isinstance(t.constant, str):
            t = dated(constant(t.constant[:10])) if len(t.constant) > 10 else dated(t)
        held = days(t)
        return _CALENDAR[unit].sql(held.sql), Number(*_numbers(held, unit))
    found = _clocked(timed(t) if isinstance(t.constant, str) else t, _CLOCK[unit])
    if not isinstance(found.kind, Instant):
        raise Mismatch
    since = datetime.fromisoformat(found.kind.origin) - datetime(1970, 1, 1)
    first = since // timedelta(seconds=_CLOCK[unit])
    return f"({found.sql} + ({first}))", Number(first, first + found.kind.high)


def _numbers(held: Typed, unit: str) -> tuple[int, int]:
    if not isinstance(held.kind, Day):
        raise Mismatch
    low, high = (EPOCH + timedelta(days=end) for end in (held.kind.low, held.kind.high))
    return _CALENDAR[unit].number(low), _CALENDAR[unit].number(high)


def _clocked(t: Typed, size: int) -> Typed:
    """Return a moment rounded down to whole units of the clock, as a timestamp."""
    sql, kind = microseconds(t)
    start = datetime.fromisoformat(kind.origin)
    midnight = datetime.combine(start.date(), datetime.min.time())
    since = (start - midnight) // timedelta(microseconds=1)
    first, last = (
        int(end // (size * 10**6)) for end in (since, since + kind.high * kind.step * 10**6)
    )
    origin = midnight + timedelta(seconds=first * size)
    made = Instant(origin.isoformat(), last - first, Fraction(size))
    return Typed(made, f"({sql} // {size * 10**6} - {first})")


@rule("date_add", takes=3, hint=_ADD)
def _moved(given: Sequence[Typed]) -> Typed:
    """Return a day or a moment so many units later."""
    unit = given[2].constant
    if not isinstance(unit, str):
        raise Mismatch
    return shifted(given[0], whole(given[1]), unit)


def shifted(t: Typed, count: int, unit: str) -> Typed:
    """Return a day or a moment `count` units later; the 31st of a shorter month is its last."""
    try:
        return _shifted(t, count, unit)
    except ExpressionError:
        raise
    except (OverflowError, ValueError):  # what Python's calendar says of such a date
        raise ExpressionError(
            "this date lies before the year 1 or after the year 9999 for some row. Add less, or "
            "declare tighter bounds."
        ) from None


def _shifted(t: Typed, count: int, unit: str) -> Typed:
    if isinstance(t.constant, str):
        held = dated(t).kind if len(t.constant) == len("2026-01-31") else None
        if isinstance(held, Day) and unit not in _CLOCK:
            return constant(_later(EPOCH + timedelta(days=held.low), count, unit).isoformat())
        found = timed(t).kind
        if not isinstance(found, Instant):
            raise Mismatch
        return constant(_later(datetime.fromisoformat(found.origin), count, unit).isoformat())
    if isinstance(t.kind, Instant) and unit in (*_CLOCK, *_DAYS):
        origin = _later(datetime.fromisoformat(t.kind.origin), count, unit)
        made = replace(t.kind, origin=origin.isoformat())
        days(Typed(made, t.sql))  # refuses an end beyond the calendar
        return Typed(made, t.sql)
    if not isinstance(t.kind, Day) or unit not in (*_DAYS, *_MONTHS):
        raise Mismatch
    low, high = (
        (_later(EPOCH + timedelta(days=end), count, unit) - EPOCH).days
        for end in (t.kind.low, t.kind.high)
    )
    if unit in _DAYS:
        return Typed(Day(low, high), f"({t.sql} + ({count * _DAYS[unit]}))")
    moved = (
        f"DATE '1970-01-01' + CAST({t.sql} AS INTEGER) + INTERVAL ({count * _MONTHS[unit]}) MONTH"
    )
    return Typed(Day(low, high), f"(CAST({moved} AS DATE) - DATE '1970-01-01')")


def _later(moment: date, count: int, unit: str) -> date:
    """Return a date or a datetime so many units later.

    Raises:
        OverflowError, ValueError: beyond the calendar.
        Mismatch: no such unit.
    """
    if unit in _CLOCK:
        return moment + timedelta(seconds=count * _CLOCK[unit])
    if unit in _DAYS:
        return moment + timedelta(days=count * _DAYS[unit])
    if unit not in _MONTHS:
        raise Mismatch
    months = moment.year * 12 + moment.month - 1 + count * _MONTHS[unit]
    first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
    return first.replace(day=min(moment.day, monthrange(first.year, first.month)[1]))
