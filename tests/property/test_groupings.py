"""Groupings of the same rows: exact totals add up, and no unit moves one beyond its bound."""

import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Category, Integer, Schema
from sfumato.core.unit import Unit
from sfumato.relation import Aggregate

sys.path.insert(0, str(Path(__file__).parent))
from difference import answers, norms

sys.path.pop(0)

SCHEMA = Schema(zone=Category(["A", "B", "C"]), hour=Integer(0, 1), fare=Integer(-3, 4))
ROWS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from("ABCD"),  # D is in no group
        st.sampled_from([0, 1, None]),
        st.integers(-4, 5),
    ),
    max_size=12,
)
CAPS = st.sampled_from(
    [
        {"max_rows": 2},
        {"max_rows": 3, "max_groups": 1},
        {"max_rows": 4, "max_rows_per_group": 1},
        {"max_groups": 2, "max_rows_per_group": 2},
        {"max_rows": 3, "max_groups": 2, "max_rows_per_group": 2},
    ]
)
SETS = st.sampled_from(
    [
        (("zone", "hour"), ("zone",), ("hour",), ()),
        (("zone", "hour"), ("hour",), ()),
        (("zone",), ("hour",)),
    ]
)
KINDS = st.sampled_from(["add_remove", "replace"])


def table(rows):
    names = ("id", "zone", "hour", "fare")
    types = (pa.int64(), pa.string(), pa.int64(), pa.int64())
    columns = zip(names, types, range(4), strict=True)
    return pa.table({n: pa.array([row[i] for row in rows], t) for n, t, i in columns})


@cache
def measured(unit, sets):
    """Return what is measured of each grouping."""
    session = sf.Session(
        {"rides": table([(1, "A", 0, 1)])},
        unit=unit,
        schema={"rides": SCHEMA},
        budget=sf.Budget(epsilon=1),
    )
    grouped = ", ".join(f"({', '.join(one)})" for one in sets)
    text = f"SELECT COUNT(*) n, SUM(fare) s FROM rides GROUP BY GROUPING SETS ({grouped})"  # noqa: S608
    plan = session.explain(text, rho=1)
    return [[q for q in each.question.queries if isinstance(q, Aggregate)] for each in plan.plans]


def check(neighbors, caps, rows, other, sets):
    unit = Unit.by("id", **caps, neighbors=neighbors)
    rest = [row for row in rows if row[0] != 1]
    mine = [(1, *row[1:]) for row in other]
    changed = rest if neighbors == "add_remove" else [*rest, *mine]
    exact = {}
    for one, queries in zip(sets, measured(unit, sets), strict=True):
        before, after = answers(queries, table(rows), table(changed))
        for query, x, y in zip(queries, before, after, strict=True):
            claimed = query.sensitivity(unit)
            moved = norms(x, y)
            assert all(found <= getattr(claimed, name) for name, found in moved.items())
            exact[one, query.quantity] = (query, x)
    check_adds_up(exact)


def check_adds_up(exact):
    """Fail if two groupings of the same rows differ in a total that both have."""
    for (one, first), (two, second) in combinations(exact, 2):
        if first != second:
            continue
        both = [name for name in one if name in two]
        totals = []
        for query, numbers in (exact[one, first], exact[two, second]):
            columns = query.keys.table()
            found = {}
            for place, number in enumerate(numbers):
                key = tuple(columns[name][place] for name in both)
                found[key] = found.get(key, 0) + number
            totals.append(found)
        assert totals[0] == totals[1]


GIVEN = given(neighbors=KINDS, caps=CAPS, rows=ROWS, other=ROWS, sets=SETS)


def test_no_unit_moves_a_grouping_beyond_its_sensitivity():
    settings(max_examples=20, deadline=None)(GIVEN(check))()


@pytest.mark.deep
def test_no_unit_moves_a_grouping_beyond_its_sensitivity_among_hundreds():
    settings(max_examples=600, deadline=None)(GIVEN(check))()
