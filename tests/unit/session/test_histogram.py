"""Histograms: public bins, their names, who is in which, what is refused."""

from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import (
    InputError,
    KeysError,
    NumberError,
    QueryError,
    UnitError,
    UnknownName,
)

EXACTLY = 10**4


def counted(question):
    answer = question.release(epsilon=EXACTLY).to_arrow().to_pydict()
    return {
        key: n
        for *keys, n in zip(*(answer[c] for c in (*question.keys.columns, "n")), strict=True)
        for key in [keys[0] if len(keys) == 1 else tuple(keys)]
    }


def test_bins_hold_their_lower_edge_and_the_last_both(town):
    data = pa.table({"age": [0, 9, 10, 19, 20, 30, 31, None]})
    table = town(data, schema=sf.Schema(age=sf.Integer(0, 99))).table()
    assert counted(table.histogram("age", [10, 20, 30])) == {"[10, 20)": 2, "[20, 30]": 2}
    assert counted(table.histogram("age", [0, 100])) == {"[0, 100]": 7}


def test_clamped_values_are_in_the_bins_of_the_bounds(town):
    """250 counts as 99 and -5 as 0, as everywhere."""
    question = town().table().histogram("age", [0, 1, 98.5, 99])
    assert counted(question) == {"[0, 1)": 1, "[1, 98.5)": 7, "[98.5, 99]": 1}


def test_number_of_bins_cuts_the_declared_bounds(town):
    table = town().table()
    assert counted(table.histogram("fare", 4)) == {
        "[0, 12.5)": 6,
        "[12.5, 25)": 0,
        "[25, 37.5)": 0,
        "[37.5, 50]": 1,
    }
    assert list(counted(table.histogram("age", 3))) == ["[0, 33)", "[33, 66)", "[66, 99]"]
    assert list(counted(table.histogram("fare", 1))) == ["[0, 50]"]


@pytest.mark.parametrize("bins", [2, 5, 7, 10, 24])
def test_bins_have_one_width_but_for_the_last(town, bins):
    data = pa.table({"hour": list(range(24))})
    table = town(data, schema=sf.Schema(hour=sf.Integer(0, 23))).table()
    *most, last = counted(table.histogram("hour", bins)).values()
    assert sum(most) + last == 24
    assert len(most) < bins
    assert set(most) <= {-(-24 // bins)}
    assert last <= -(-24 // bins)


def test_edges_may_be_any_exact_numbers(town):
    table = town().table()
    edges = [0, "0.5", Fraction(7, 3), 10.0, np.int64(50)]
    assert counted(table.histogram("fare", edges)) == {
        "[0, 0.5)": 0,
        "[0.5, 7/3)": 1,
        "[7/3, 10)": 4,
        "[10, 50]": 2,
    }
    assert counted(table.histogram("fare", np.array([0.0, 2.5, 7.0]))) == {
        "[0, 2.5)": 1,
        "[2.5, 7]": 4,
    }


def test_edges_that_differ_in_the_last_digit_are_different_bins(town):
    schema = sf.Schema(x=sf.Real(0, 10**9, "0.000001"))
    data = pa.table({"x": ["123456789.000001", "123456789.000002"]})
    edges = ["123456789", "123456789.000002", "123456789.000003"]
    assert list(counted(town(data, schema=schema).table().histogram("x", edges)).values()) == [1, 1]


def test_dates_and_moments_have_bins(town):
    table = town().table()
    found = counted(table.histogram("day", ["2026-01-01", date(2026, 2, 1), "2026-12-31"]))
    assert found == {"[2026-01-01, 2026-02-01)": 3, "[2026-02-01, 2026-12-31]": 4}
    year = counted(table.histogram("day", 4))
    assert next(iter(year)) == "[2026-01-01, 2026-04-02)"
    assert sum(year.values()) == 7
    data = pa.table({"at": ["2026-01-01T06:00:00", "2026-01-01T12:00:00", "2026-01-01T23:00:00"]})
    at = town(data, schema=sf.Schema(at=sf.Timestamp("2026-01-01", "2026-01-02"))).table()
    assert list(counted(at.histogram("at", 2)).values()) == [1, 2]
    edges = ["2026-01-01 07:00", datetime(2026, 1, 1, 12), "2026-01-01T20:00"]
    assert list(counted(at.histogram("at", edges)).values()) == [0, 1]


def test_groups_have_bins_each(town):
    table = town().table()
    found = counted(table.group_by("zone", keys=["east", "north"]).histogram("age", [0, 40, 99]))
    assert found == {
        ("east", "[0, 40)"): 0,
        ("east", "[40, 99]"): 2,
        ("north", "[0, 40)"): 4,
        ("north", "[40, 99]"): 0,
    }
    assert counted(table.filter("member").histogram("age", [0, 40, 99])) == {
        "[0, 40)": 4,
        "[40, 99]": 1,
    }


def test_one_unit_is_in_no_more_bins_than_it_has_rows(town):
    plan = town(unit=sf.Unit.by("rider", max_rows=2)).table().histogram("age", 50)
    assert plan.queries[0].sensitivity(sf.Unit.by("rider", max_rows=2)).l1 == 2
    assert plan.queries[0].sensitivity(sf.Unit.by("rider", max_rows=2)).l0 == 2


def test_notes_say_who_is_in_no_bin(town):
    table = town().table()
    inside = table.histogram("age", [10, 20]).explain(epsilon=1).notes
    assert (
        "age below 0 counts as 0, above 99 as 99, and a row where it is missing or below 10 or "
        "above 20 is in no bin"
    ) in inside
    everything = table.histogram("age", 5).release(epsilon=1).notes
    assert any(note.endswith("a row where it is missing is in no bin") for note in everything)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda t: t.histogram("ages", 3), UnknownName, "Did you mean 'age'"),
        (lambda t: t.histogram("age + 1", 3), UnknownName, "age + 1"),
        (lambda t: t.histogram("zone", 3), KeysError, "group_by('zone')"),
        (lambda t: t.histogram("member", 3), KeysError, "truth"),
        (lambda t: t.histogram("name", ["a", "b"]), KeysError, "a text"),
        (lambda t: t.histogram("rider", 3), UnitError, "names the unit"),
        (lambda t: t.histogram(["age"], 3), QueryError, "name of a column"),
        (lambda t: t.histogram("age", [1]), KeysError, "from 2"),
        (lambda t: t.histogram("age", []), KeysError, "from 2"),
        (lambda t: t.histogram("age", [3, 2]), KeysError, "Sort"),
        (lambda t: t.histogram("age", [2, 2]), KeysError, "once"),
        (lambda t: t.histogram("age", range(2000)), KeysError, "1,001"),
        (lambda t: t.histogram("age", iter(lambda: 1, 2)), KeysError, "1,001"),
        (lambda t: t.histogram("age", 0), KeysError, "another number"),
        (lambda t: t.histogram("age", -3), KeysError, "another number"),
        (lambda t: t.histogram("age", 101), KeysError, "another number"),
        (lambda t: t.histogram("fare", 10**30), KeysError, "another number"),
        (lambda t: t.histogram("age", True), KeysError, "list of edges"),
        (lambda t: t.histogram("age", "0, 10"), KeysError, "list of edges"),
        (lambda t: t.histogram("age", None), KeysError, "list of edges"),
        (lambda t: t.histogram("age", 2.5), KeysError, "list of edges"),
        (lambda t: t.histogram("age", [0, "x"]), NumberError, "edge"),
        (lambda t: t.histogram("age", [0, float("nan")]), NumberError, "edge"),
        (lambda t: t.histogram("day", [0, 5]), InputError, "2026-07-01"),
        (lambda t: t.histogram("day", ["2026-01-01", "soon"]), InputError, "a date"),
        (lambda t: t.group_by("age").histogram("age", 3), KeysError, "already"),
        (lambda t: t.group_by("fare", "age").histogram("day", 99), KeysError, "groups"),
    ],
)
def test_refusal_names_what_and_how_and_costs_nothing(town, ask, error, words):
    session = town(unit=sf.Unit.by("rider", max_rows=2))
    with pytest.raises(error) as caught:
        ask(session.table())
    assert words in str(caught.value)
    assert session.ledger.history() == []
