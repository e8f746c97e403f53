"""A small town to ask about: tables with a column of every kind, and a session over them.

Tests of the SQL front end share it. Riders have few rows and values lie within their bounds, so
where caps are generous an answer without noise is what any engine says of the same tables.

>>> with town() as session:
...     session.tables
('trips', 'payments')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sfumato.core.budget import Budget
from sfumato.core.schema import (
    Boolean,
    Category,
    Date,
    Integer,
    Real,
    Schema,
    Text,
    Timestamp,
)
from sfumato.core.unit import Unit
from sfumato.session.session import Session
from sfumato.testing.rng import SeededRng

Below = Callable[[int], int]  # a whole number below its argument, as random.randrange
NAMES = ("Ann", "Bob", "ann x", "O'Neil", "", "7", "Zoë")
TRIPS = Schema(
    zone=Category(["A", "B", "C"], nullable=True),
    fare=Real(0, 200, step="0.01", nullable=True),
    tip=Real(-10, 40, step="0.5"),
    hour=Integer(0, 23, nullable=True),
    seats=Category([1, 2, 4]),
    name=Text(nullable=True),
    vip=Boolean(nullable=True),
    day=Date("2026-01-01", "2026-03-31", nullable=True),
    began=Timestamp("2026-01-01", "2026-03-31T23:45:00", step=900),
)
PAYMENTS = Schema(
    zone=Category(["A", "B", "C"]),
    fare=Real(0, 200, step="0.01"),
    hour=Integer(0, 23),
    method=Category(["card", "cash"]),
)
PUBLIC: dict[str, dict[str, list[Any]]] = {
    "zones": {"id": ["A", "B"], "region": ["north", "south"], "people": [10, 20]},
    "stops": {"zone": ["A", "A", "B", "C"], "stop": ["p", "q", "p", "r"], "depth": [1, 2, 3, 4]},
}
_DECIMAL = pa.decimal128(9, 2)


def tables(rows: int = 300, *, riders: int = 60, seed: int = 1) -> dict[str, pa.Table]:
    """Return the private tables of the town.

    Args:
        rows: how many trips there are; half as many payments.
        riders: how many people they are of.
        seed: the same tables for the same seed.
    """
    below = Dice(seed).below
    first = date(2026, 1, 1)

    def some(value: Any) -> Any:
        """Return a value, or NULL once in ten times."""
        return None if below(10) == 0 else value

    def cents() -> Decimal:
        return Decimal(below(20_001)) / 100

    trips = [
        {
            "rider": below(riders),
            "zone": some("ABC"[below(3)]),
            "fare": some(cents()),
            "tip": Decimal(below(101) - 20) / 2,
            "hour": some(below(24)),
            "seats": (1, 2, 4)[below(3)],
            "name": some(NAMES[below(len(NAMES))]),
            "vip": some(below(2) == 1),
            "day": some(first + timedelta(days=below(90))),
            "began": datetime(2026, 1, 1) + timedelta(minutes=15 * below(90 * 96)),
        }
        for _ in range(rows)
    ]
    payments = [
        {
            "rider": below(riders),
            "zone": "ABC"[below(3)],
            "fare": cents(),
            "hour": below(24),
            "method": ("card", "cash")[below(2)],
        }
        for _ in range(rows // 2)
    ]
    forms = {
        "rider": pa.int64(),
        "fare": _DECIMAL,
        "tip": _DECIMAL,
        "hour": pa.int64(),
        "seats": pa.int64(),
        "vip": pa.bool_(),
        "day": pa.date32(),
        "began": pa.timestamp("us"),
    }

    def table(listed: list[dict[str, Any]], names: list[str]) -> pa.Table:
        columns = [pa.array([r[n] for r in listed], forms.get(n, pa.string())) for n in names]
        return pa.table(dict(zip(names, columns, strict=True)))

    return {
        "trips": table(trips, ["rider", *TRIPS]),
        "payments": table(payments, ["rider", *PAYMENTS]),
    }


def town(
    data: Mapping[str, pa.Table] | None = None,
    *,
    max_rows: int = 100,
    budget: Budget | None = None,
) -> Session:
    """Open a session over the town.

    Args:
        data: its private tables; those of `tables()` unless passed.
        max_rows: how many rows of one rider count.
        budget: what may be spent; more than any test needs, unless passed.
    """
    return Session(
        dict(tables() if data is None else data),
        unit=Unit.by("rider", max_rows=max_rows),
        schema={"trips": TRIPS, "payments": PAYMENTS},
        budget=Budget(epsilon="1e12", delta="0.1") if budget is None else budget,
        public=PUBLIC,
    )


class Dice:
    """Whole numbers that are the same for the same seed.

    Example:
        >>> [Dice(1).below(6) == Dice(1).below(6) < 6, Dice(2).below(1)]
        [True, 0]
    """

    def __init__(self, seed: int) -> None:
        """Start at the beginning of the seed's stream."""
        self._rng, self._words = SeededRng(seed), list[int]()

    def below(self, end: int) -> int:
        """Return a number from 0 up to, and without, `end`."""
        if not self._words:
            self._words = [int(word) for word in self._rng.words(1024)]
        return self._words.pop() % end
