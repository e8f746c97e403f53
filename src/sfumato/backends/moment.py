"""Reading days and moments: SQL that no value can make fail.

The engine's own functions on moments are partial: a cast of the largest or the least 64-bit value
raises, and a cast from seconds to microseconds can overflow. So every moment is first compared with
moments of its own type, which is total, and only what lies between the bounds is converted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from sfumato.backends.physical import Class, PhysicalColumn, literal
from sfumato.core.errors import ColumnError
from sfumato.core.schema import Date, Timestamp
from sfumato.relation.kind import day_number

_DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST, _LARGEST = -(2**63) + 2, 2**63 - 2  # the largest and the least but one mean infinity
_END = 253_402_300_799_999_999  # the last microsecond of the year 9999
# How a bound is written for a type, and how many microseconds its clock counts at once.
_CLOCKS = {
    "TIMESTAMP": ("TIMESTAMP", "", 1),
    "TIMESTAMP_S": ("TIMESTAMP_S", "", 10**6),
    "TIMESTAMP_MS": ("TIMESTAMP_MS", "", 10**3),
    "TIMESTAMP WITH TIME ZONE": ("TIMESTAMPTZ", "+00", 1),
}
_TIME = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_PLAIN = rf"\d{{4}}-\d{{2}}-\d{{2}}({_TIME})?"
_ZONED = rf"\d{{4}}-\d{{2}}-\d{{2}}{_TIME} ?(Z|[+-]\d{{2}}(:?\d{{2}})?)"


@dataclass(frozen=True, slots=True)
class Axis:
    """Steps of time: `step` seconds each, the first at `low`, numbered from `first`.

    Attributes:
        low: microseconds since 1970 at which the first step begins.
        end: microseconds since 1970 at which the last step begins.
        step: seconds.
        first: the number of the first step.
        last: the number of the last step.
    """

    low: int
    end: int
    step: Fraction
    first: int
    last: int

    @classmethod
    def of(cls, declared: Date | Timestamp) -> Axis:
        """Return the steps of a declaration."""
        if isinstance(declared, Date):
            first, last = day_number(declared.low), day_number(declared.high)
            return cls(first * _DAY * 10**6, last * _DAY * 10**6, Fraction(_DAY), first, last)
        low, end = (_micros(datetime.fromisoformat(text)) for text in (declared.low, declared.high))
        steps = Fraction(end - low, 10**6) / declared.step
        return cls(low, end, declared.step, 0, int(steps))


def text_moment(text: str) -> str:
    """Read ISO text as a moment in UTC; with an offset it is moved there.

    Only a full ISO date, alone or with a time, is read. The engine would also take other spellings,
    and would drop an offset silently.
    """
    zoned = f"make_timestamp(epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)))"
    return (
        f"CASE WHEN regexp_full_match({text}, {literal(_PLAIN)}) THEN TRY_CAST({text} AS TIMESTAMP)"
        f" WHEN regexp_full_match({text}, {literal(_ZONED)}) THEN {zoned} END"
    )


def step_of(column: PhysicalColumn, value: str, axis: Axis) -> str:
    """Write the number of the step in which a moment or a day lies, cut off at both ends.

    Args:
        column: whose physical type decides; text has become a TIMESTAMP before.
        value: the SQL of the value.
        axis: the steps.
    """
    if column.kind is Class.DATE:
        below, above, ticks, rate = _of_date(value, axis)
    elif column.type == "TIMESTAMP_NS":
        below, above, ticks, rate = _of_nanoseconds(value, axis)
    else:
        below, above, ticks, rate = _of_moment(column, value, axis)
    return (
        f"CASE WHEN {value} < {below} THEN {axis.first} WHEN {value} > {above} THEN {axis.last} "
        f"WHEN {value} IS NOT NULL THEN {_steps(ticks, rate, axis)} END"
    )


def _of_date(value: str, axis: Axis) -> tuple[str, str, str, int]:
    below, above = (_moment(us).date() for us in _whole(axis.low, axis.end, _DAY * 10**6))
    ticks = f"({value} - DATE '1970-01-01') * {_DAY * 10**6}"
    return f"DATE '{_iso(below)}'", f"DATE '{_iso(above)}'", ticks, 10**6


def _of_nanoseconds(value: str, axis: Axis) -> tuple[str, str, str, int]:
    # Where a bound is beyond what this clock can say, only its two infinities are.
    ticks = [min(max(us * 1000, _LEAST), _LARGEST) for us in (axis.low, axis.end)]
    bounds = [f"make_timestamp_ns({tick})" for tick in ticks]
    return bounds[0], bounds[1], f"epoch_ns({value})", 10**9


def _of_moment(column: PhysicalColumn, value: str, axis: Axis) -> tuple[str, str, str, int]:
    kind, zone, clock = _CLOCKS[column.type]
    bounds = [f"{kind} '{_iso(_moment(us))}{zone}'" for us in _whole(axis.low, axis.end, clock)]
    ticks = f"epoch_us({value})" if clock == 1 else f"epoch_us(CAST({value} AS TIMESTAMP))"
    return bounds[0], bounds[1], ticks, 10**6


def _steps(ticks: str, rate: int, axis: Axis) -> str:
    """Count the steps from the first, rounding down; `ticks` lies within the axis."""
    length, low = axis.step * rate, axis.low * (rate // 10**6)
    span = (axis.end - axis.low) * (rate // 10**6) * length.denominator
    largest = max(span, length.numerator, abs(low) + 2**62 if rate > 10**6 else 0)
    if largest >= 2**126:
        raise ColumnError(
            "a Timestamp column has a step with too many digits to be counted exactly. "
            "Declare a rounder step."
        )
    wide = largest >= 2**62
    since = f"{f'CAST({ticks} AS HUGEINT)' if wide else ticks} - ({low})"
    times = f"({since}) * {length.denominator}" if length.denominator > 1 else f"({since})"
    # Both are positive, so the engine's division, which drops the rest, rounds down.
    count = f"{times} // {length.numerator} + ({axis.first})"
    return f"TRY_CAST({count} AS BIGINT)" if wide else count


def _whole(below: int, above: int, clock: int) -> tuple[int, int]:
    """Return the bounds on a coarser clock: what lies between stays between."""
    return min(-(-below // clock), _END // clock) * clock, above // clock * clock


def _micros(moment: datetime) -> int:
    return (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _iso(day: date | datetime) -> str:
    return day.replace(tzinfo=None).isoformat(" ") if isinstance(day, datetime) else day.isoformat()
