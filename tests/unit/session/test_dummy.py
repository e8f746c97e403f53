"""Look-alike rows: within the declaration, and from nothing else."""

from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import RangeError, UnknownName
from sfumato.noise.rng import system
from sfumato.relation.source import Source
from sfumato.session.dummy import dummy

SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "C"]),
    floor=sf.Category([3, 4]),
    mixed=sf.Category(["x", 7]),
    age=sf.Integer(-3, 3),
    huge=sf.Integer(-(2**62), 2**62),
    fare=sf.Real("0.5", 2, step="0.25", nullable=True),
    third=sf.Real(0, 1, step="1/3"),
    free=sf.Integer(),
    cents=sf.Real(step="0.01"),
    paid=sf.Boolean(nullable=True),
    day=sf.Date("2026-01-30", "2026-02-02"),
    at=sf.Timestamp("1969-12-31T23:59:58", "1970-01-01T00:00:02", step="0.5"),
    name=sf.Text(nullable=True),
)
RIDER = sf.Unit.by("rider", max_rows=4)


def made(rows=2000, unit=RIDER, schema=SCHEMA):
    return dummy(Source("trips", schema, unit), rows, system())


@pytest.fixture(scope="module")
def rows():
    return made().to_pydict()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zone", {"A", "B", "C"}),
        ("floor", {3, 4}),
        ("mixed", {"x", "7"}),
        ("age", set(range(-3, 4))),
        ("fare", {None, *(k / 4 for k in range(2, 9))}),
        ("third", {0.0, 1 / 3, 2 / 3, 1.0}),
        ("paid", {True, False, None}),
        ("day", {date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 2)}),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_values_are_all_that_is_declared_and_no_other(rows, name, values):
    assert set(rows[name]) == values


def test_moments_lie_on_the_grid(rows):
    start = datetime(1969, 12, 31, 23, 59, 58)
    steps = {(moment - start).total_seconds() / 0.5 for moment in rows["at"]}
    assert steps == set(range(9))


def test_large_numbers_stay_within_their_bounds(rows):
    assert all(abs(value) <= 2**62 for value in rows["huge"])
    assert len(set(rows["huge"])) > 1900


def test_numbers_without_bounds_are_modest(rows):
    assert all(0 <= value <= 1000 for value in rows["free"])
    assert all(0 <= value <= 10 for value in rows["cents"])
    assert len(set(rows["cents"])) > 100


def test_only_nullable_columns_have_missing_values(rows):
    missing = {name for name, values in rows.items() if None in values}
    assert missing == {"fare", "paid", "name"}
    assert rows["name"].count(None) < 300


def test_words_are_made_up_and_some_come_twice(rows):
    words = [word for word in rows["name"] if word]
    assert all(word.isalpha() and len(word) == 6 for word in words)
    assert 100 < len(set(words)) < len(words)


@pytest.mark.parametrize(
    ("unit", "most"),
    [
        (RIDER, 4),
        (sf.Unit.by("rider", max_groups=2, max_rows_per_group=3), 6),
        (sf.Unit.by("rider", max_rows=1), 1),
        (sf.Unit.by("rider", max_rows="auto"), 5),
    ],
    ids=repr,
)
def test_unit_owns_up_to_as_many_rows_as_its_caps_say(unit, most):
    counts = Counter(made(unit=unit)["rider"].to_pylist())
    assert max(counts.values()) == most
    assert len(counts) >= 20


def test_large_cap_leaves_several_units():
    counts = Counter(made(unit=sf.Unit.by("rider", max_rows=10**6))["rider"].to_pylist())
    assert len(counts) >= 20
    assert 50 < max(counts.values()) <= 100


def test_unit_of_rows_has_no_column():
    assert made(unit=sf.Unit.row()).column_names == list(SCHEMA)


def test_unit_that_is_declared_as_text_is_text():
    table = made(3, schema=sf.Schema(rider=sf.Text(), age=sf.Integer(0, 9)))
    assert table.column_names == ["rider", "age"]
    assert table["rider"].type == pa.string()


@given(st.integers(0, 300))
def test_there_are_as_many_rows_as_asked(count):
    assert made(count).num_rows == count


@pytest.mark.parametrize("count", [-1, 1.5, True, "10", 10**8], ids=repr)
def test_number_of_rows_is_checked(count):
    with pytest.raises(RangeError, match="rows"):
        made(count)


def session(data=None, **change):
    said = {"unit": RIDER, "schema": SCHEMA, "budget": sf.Budget(epsilon=10), **change}
    empty = pa.table({name: pa.array([], pa.string()) for name in ("rider", *SCHEMA)})
    return sf.Session(empty if data is None else data, **said)


def test_session_makes_up_rows_without_reading_any_and_for_free():
    opened = session(name="trips")
    with patch.object(DuckDB, "run", side_effect=AssertionError("data was read")):
        assert opened.dummy().num_rows == 1000
        assert opened.dummy("trips", rows=7).num_rows == 7
    assert opened.remaining.epsilon == Fraction(10)
    assert opened.ledger.history() == []
    with pytest.raises(UnknownName, match="people"):
        opened.dummy("people")


def test_dummy_can_be_asked_like_the_table_it_looks_like():
    opened = session(session().dummy(rows=400))
    table = opened.table()
    assert table.group_by("zone").count().release(epsilon=1).columns[0] == "zone"
    one = table.agg(n=sf.count(), fare=sf.mean("fare"), third=sf.sum("third"))
    assert len(one.release(epsilon=1).columns) == 9


def test_dummy_is_different_every_time():
    assert made(100) != made(100)
