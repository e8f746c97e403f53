"""Functions of dates and timestamps: their parts, as whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sfumato.relation.expr import Rule, Typed
from sfumato.relation.kind import EPOCH, Day, Instant, Number
from sfumato.relation.moment import days, microseconds
from sfumato.relation.rule import Mismatch, rule

_PARTS = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "weekday": (1, 7)}  # Monday is 1
_CLOCK = {"hour": (3_600 * 10**6, 24), "minute": (60 * 10**6, 60)}  # microseconds, in a cycle


def _dated(name: str) -> Rule:
    def part(given: Sequence[Typed]) -> Typed:
        """Return a part of a date; of a timestamp, that of its date."""
        held = days(given[0])
        if not isinstance(held.kind, Day):
            raise Mismatch
        if name == "year":
            low, high = ((EPOCH + timedelta(days=d)).year for d in (held.kind.low, held.kind.high))
        else:
            low, high = _PARTS[name]
        asked = "isodow" if name == "weekday" else name
        moment = f"DATE '1970-01-01' + CAST({held.sql} AS INTEGER)"
        return Typed(Number(low, high), f"CAST(date_part('{asked}', {moment}) AS BIGINT)")

    return part


def _clocked(size: int, cycle: int) -> Rule:
    def part(given: Sequence[Typed]) -> Typed:
        """Return a part of the time of day."""
        sql, _ = microseconds(given[0])
        return Typed(Number(0, cycle - 1), f"({sql} // {size} % {cycle})")

    return part


for _name in ("year", *_PARTS):
    rule(_name, takes=1, hint="It takes a date or a timestamp.")(_dated(_name))
for _name, _cycle in _CLOCK.items():
    rule(_name, takes=1, hint="It takes a timestamp.")(_clocked(*_cycle))


@rule("date", takes=1, hint="It takes a timestamp; a constant is written DATE '2026-01-31'.")
def _date(given: Sequence[Typed]) -> Typed:
    """Return the day of a timestamp."""
    if not isinstance(given[0].kind, Instant):
        raise Mismatch
    return days(given[0])
