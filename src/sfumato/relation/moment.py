"""Dates and timestamps as whole numbers: constants among them, common origins, whole days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import TypeVar

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Typed, literal
from sfumato.relation.kind import EPOCH, Day, Instant, Number, common_step
from sfumato.relation.rule import Mismatch

_Moment = TypeVar("_Moment", date, datetime)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400 * 10**6  # microseconds


def dated(t: Typed) -> Typed:
    """Return a constant text as the date it names, be it beyond the bounds of any column."""
    days = (_read(t, date) - EPOCH).days
    return Typed(Day(days, days), literal(days), t.constant)


def timed(t: Typed) -> Typed:
    """Return a constant text as the moment it names."""
    found = _read(t, datetime)
    return Typed(Instant(found.isoformat(), 0, Fraction(1)), literal(0), t.constant)


def aligned(given: Sequence[Typed]) -> list[Typed]:
    """Bring timestamps, and texts that name one, to one origin and one step."""
    places = [_place(t) for t in given if t.kind is not None]
    origin = min(start for start, _ in places)
    # A constant has no step of its own: it only has to lie on the common one.
    apart = [Fraction((start - origin) // _MICROSECOND, 10**6) for start, _ in places]
    step = reduce(common_step, [*(each for _, each in places), *apart])
    out = []
    for t in given:
        if t.kind is None:
            out.append(t)
            continue
        start, own = _place(t)
        offset = int(Fraction((start - origin) // _MICROSECOND, 10**6) / step)
        factor = int(own / step)
        reach = t.kind.high * factor if isinstance(t.kind, Instant) else 0
        Number(0, max(offset + reach, factor))  # refuses what could overflow
        sql = t.sql if factor == 1 else f"({t.sql} * {factor})"
        sql = sql if offset == 0 else f"({sql} + {offset})"
        kind = Instant(origin.isoformat(), offset + reach, step)
        out.append(Typed(kind, sql if t.constant is None else literal(offset), t.constant))
    return out


def days(t: Typed) -> Typed:
    """Return a date, or the date of a timestamp."""
    if isinstance(t.kind, Day):
        return t
    sql, kind = microseconds(t)
    start = datetime.fromisoformat(kind.origin)
    end = start + timedelta(microseconds=int(kind.high * kind.step * 10**6))
    first, last = ((moment.date() - EPOCH).days for moment in (start, end))
    return Typed(Day(first, last), f"({sql} // {_DAY} + ({first}))")


def part_of(name: str, sql: str) -> str:
    """Write the SQL of a part of a day that is counted since 1970."""
    return f"CAST(date_part('{name}', DATE '1970-01-01' + CAST({sql} AS INTEGER)) AS BIGINT)"


def microseconds(t: Typed) -> tuple[str, Instant]:
    """Return the SQL of microseconds since midnight before the origin of a timestamp."""
    kind = t.kind
    if not isinstance(kind, Instant):
        raise Mismatch
    start = datetime.fromisoformat(kind.origin)
    each = kind.step * 10**6
    since = (start - datetime.combine(start.date(), datetime.min.time())) // _MICROSECOND
    Number(0, max(kind.high, 1) * each.numerator + since)  # refuses what could overflow
    sql = f"{t.sql} * {each.numerator}"
    sql = sql if each.denominator == 1 else f"{sql} // {each.denominator}"
    return f"({sql} + {since})", kind


def _place(t: Typed) -> tuple[datetime, Fraction]:
    """Return origin and step; those of a constant are the moment itself and none."""
    if isinstance(t.kind, Instant):
        return datetime.fromisoformat(t.kind.origin), t.kind.step
    return _read(t, datetime), Fraction(0)


def _read(t: Typed, kind: type[_Moment]) -> _Moment:
    """Read a constant that stands beside dates or timestamps."""
    name, example = ("date", "2026-01-31") if kind is date else ("timestamp", "2026-01-31 12:00:00")
    if not isinstance(t.constant, str):
        raise Mismatch
    try:
        found = kind.fromisoformat(t.constant)
    except ValueError:
        found = None
    if found is None or getattr(found, "tzinfo", None) is not None:
        raise ExpressionError(
            f"{t.constant!r} stands beside a {name}, and is not one"
            f"{'' if found is None else ': it has a time zone'}. Write ISO text: '{example}'."
        )
    return found
