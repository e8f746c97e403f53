"""A small town, as an owner would declare it."""

import pyarrow as pa
import pytest

import sfumato as sf

SCHEMA = sf.Schema(
    zone=sf.Category(["north", "south", "east"]),
    age=sf.Integer(0, 99),
    fare=sf.Real(0, 50, step="0.01", nullable=True),
    member=sf.Boolean(),
    day=sf.Date("2026-01-01", "2026-12-31"),
    name=sf.Text(),
)
ROWS = {
    "rider": [1, 1, 1, 2, 2, 3, 4, 5, None],
    "zone": ["north", "north", "south", "south", "east", "east", "north", "west", "north"],
    "age": [30, 30, 30, 41, 41, 250, -5, 60, 20],
    "fare": [1.25, 2.5, None, 10.0, float("nan"), float("inf"), 7.0, 3.0, 4.0],
    "member": [True, True, False, False, None, True, True, False, True],
    "day": ["2026-01-05", "2026-01-06", "2026-02-01", "x", None, "2025-01-01", *["2026-07-01"] * 3],
    "name": ["Ana", "Ana", "Ana", "Bob", "Bob", "Cid", "Dora", "Eve", "Fay"],
}
ROW = sf.Unit.row()
RIDER = sf.Unit.by("rider", max_rows=2)


@pytest.fixture
def town():
    """Make a session over the town; what is not said is ample."""

    def open_town(data=None, *, unit=ROW, schema=SCHEMA, epsilon=10**6, delta=0, **options):
        data = pa.table(ROWS) if data is None else data
        budget = options.pop("budget", sf.Budget(epsilon, delta))
        return sf.Session(data, unit=unit, schema=schema, budget=budget, **options)

    return open_town
