"""Functions of dates and timestamps: their parts, as whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sfumato.relation.expr import Rule, Typed
from sfumato.relation.kind import EPOCH, Day, Number
from sfumato.relation.moment import days, microseconds, part_of
from sfumato.relation.rule import Mismatch, rule

_PARTS = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),  # of ISO 8601: the first has the year's first Thursday
    "day": (1, 31),
    "dayofyear": (1, 366),
    "weekday": (1, 7),  # Monday is 1
    "dayofweek": (0, 6),  # Sunday is 0
}
_ASKED = {"weekday": "isodow", "dayofweek": "dow", "dayofyear": "doy"}  # what the engine calls it
# How many microseconds long, and how many make a cycle.
_CLOCK = {"hour": (3_600 * 10**6, 24), "minute": (60 * 10**6, 60), "second": (10**6, 60)}


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
        return Typed(Number(low, high), part_of(_ASKED.get(name, name), held.sql))

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
