"""The algebra as an analyst meets it: exact in what it counts, clear in what it refuses."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.relation import Keys, Truncate
from sfumato.relation.node import scope
from sfumato.relation.partition import Partition, Slice
from sfumato.session.door import narrowed
from sfumato.session.public import read_public
from sfumato.session.table import Table

LARGE = 10**5  # with so large an ε noise is 0 but for a chance of e^-10000
TRIPS = pa.table(
    {
        "rider": [1, 1, 1, 2, 2, 3, None],
        "zone": ["A", "A", "B", "A", "C", None, "A"],
        "fare": [1.0, 2.5, 4.0, 2.5, None, 10.0, 99.0],
        "late": [True, False, True, False, False, None, True],
    }
)
SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "C"]), fare=sf.Real(0, 8, step="0.5"), late=sf.Boolean()
)
AMPLE = sf.Unit.by("rider", max_rows=9)  # nothing is left out
ZONES = {"zone": ["A", "B", "B"], "people": [100, 250, 50], "town": ["old", "new", "new"]}


def session(unit=None, **options):
    return sf.Session(
        TRIPS,
        name="trips",
        unit=unit or sf.Unit.by("rider", max_rows=3),
        schema=SCHEMA,
        budget=sf.Budget(10**9),
        **options,
    )


@pytest.fixture
def trips():
    return session().table()


def exact(question):
    """Return the values that are all but certainly exact, without intervals."""
    release = question.release(epsilon=LARGE)
    return [list(map(float, m.values)) for m in release.measures]


# ---- one row for each unit -----------------------------------------------------------------------


def test_units_are_rows_of_a_new_table(trips):
    made = trips.group_by_unit().agg(
        n=sf.count(),
        known=sf.count("fare"),
        spent=sf.sum("fare"),
        usual=sf.mean("fare"),
        least=sf.min("fare"),
        most=sf.max("fare"),
        ever=sf.max("late"),
    )
    assert made.columns == ("n", "known", "spent", "usual", "least", "most", "ever")
    # rider 1: 3 rides, 7.5 in all; rider 2: 2 rides, 1 known, 2.5; rider 3: 10 counts as 8
    asked = made.agg(riders=sf.count(), **{name: sf.sum(name) for name in made.columns})
    assert exact(asked) == [[3], [6], [5], [18], [13], [11.5], [14.5], [1]]


def test_unit_with_more_rows_than_its_cap_counts_as_the_cap():
    trips = session(sf.Unit.by("rider", max_rows=2)).table()
    made = trips.group_by_unit().agg(n=sf.count(), spent=sf.sum("fare"), usual=sf.mean("fare"))
    # 3, 2 and 1 rides count as 2, 2 and 1; no row is left out of a sum or a mean below its range
    assert exact(made.agg(sf.sum("n"), sf.sum("spent"), sf.sum("usual"))) == [[5], [18], [13]]
    assert made.schema["n"].high == 2
    assert made.schema["spent"].high == 16


def test_people_are_counted_by_group(trips):
    people = trips.group_by_unit("zone").count()
    assert people.columns == ("zone", "n")
    assert exact(people.group_by("zone").agg(sf.count(), rides=sf.sum("n"))) == [
        [2, 1, 1],
        [3, 1, 1],
    ]


def test_least_day_of_each_unit():
    days = [datetime.date(2026, 1, day) for day in (5, 9, 20)]
    opened = sf.Session(
        pa.table({"id": [1, 1, 2], "day": days}),
        unit=sf.Unit.by("id", max_rows=5),
        schema=sf.Schema(day=sf.Date("2026-01-01", "2026-01-31")),
        budget=sf.Budget(10**9),
    )
    first = opened.table().group_by_unit().min("day")
    assert exact(first.filter("day < '2026-01-10'").count()) == [[1]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.group_by_unit().agg(), "needs something to make of each unit"),
        (lambda t: t.group_by_unit().agg(x=sf.variance("fare")), "count, sum, mean, min, max"),
        (lambda t: t.group_by_unit().agg(x="fare"), "count, sum, mean, min, max"),
        (lambda t: t.group_by_unit().sum("zone"), "needs a number"),
        (lambda t: t.group_by_unit().min("zone"), "needs a number"),
        (lambda t: t.group_by_unit().sum("rider"), "names the unit"),
        (lambda t: t.group_by_unit("rider"), "names the unit"),
        (lambda t: t.group_by_unit("zon").count(), "no column 'zon'"),
        (lambda t: t.group_by_unit("zone").agg(zone=sf.count()), "cannot name a column"),
        (lambda t: t.group_by_unit().agg(rider=sf.count()), "names the unit"),
        (lambda t: t.distinct().group_by_unit().count(), "whose a row is"),
    ],
    ids=range(11),
)
def test_what_units_cannot_be_asked_is_refused(trips, ask, message):
    with pytest.raises(sf.errors.SfumatoError, match=message):
        ask(trips).count()


def test_row_units_have_no_rows_of_one_unit():
    table = session(sf.Unit.row()).table()
    for ask in (lambda: table.group_by_unit().count(), lambda: table.distinct(within_unit=True)):
        with pytest.raises(sf.errors.UnitError, match="a column names"):
            ask()


# ---- distinct ------------------------------------------------------------------------------------


def test_distinct_rows_are_those_of_all_units(trips):
    zones = trips.select("zone")
    assert exact(zones.distinct().group_by("zone").count()) == [[1, 1, 1]]
    assert exact(zones.distinct(within_unit=True).group_by("zone").count()) == [[2, 1, 1]]


def test_distinct_of_rows_that_are_units():
    """A row without a rider counts here: the rider is no unit, and not declared."""
    table = session(sf.Unit.row()).table().select("zone", "late")
    assert exact(table.distinct().count()) == [[5]]


def test_equal_rows_of_a_unit_use_up_no_cap():
    table = pa.table({"id": [1] * 9 + [2], "zone": ["A"] * 8 + ["B", "C"]})
    opened = sf.Session(
        table,
        unit=sf.Unit.by("id", max_rows=2),
        schema=sf.Schema(zone=sf.Category(["A", "B", "C"])),
        budget=sf.Budget(10**9),
    )
    assert exact(opened.table().distinct().count()) == [[3]]


# ---- union ---------------------------------------------------------------------------------------


def test_union_puts_rows_together():
    trips = session(AMPLE).table()
    both = trips.filter("zone = 'A'").union(trips.with_columns(fare="fare + 8"))
    assert both.schema["fare"].high == 16
    assert exact(both.agg(sf.count(), sf.sum("fare"))) == [[9], [6 + 8 * 5 + 18]]


def test_tables_of_one_session_are_united_and_their_caps_added():
    opened = sf.Session(
        {"one": TRIPS, "two": TRIPS.set_column(0, "rider", pa.array(list("1112234")))},
        unit={"one": sf.Unit.by("rider", max_rows=3), "two": sf.Unit.by("rider", max_rows=2)},
        schema={"one": SCHEMA, "two": SCHEMA},
        budget=sf.Budget(10**9),
    )
    both = opened.table("one").union(opened.table("two"))
    query = both.count().queries[0]
    assert query.sensitivity(opened.table("one").unit).l1 == 5
    # rider 1 has 6 rows in both, under numbers and under text: 5 of them count
    assert exact(both.count()) == [[5 + 4 + 2 + 1]]
    assert "'one' and 'two'" in repr(both)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.union("trips"), "same session"),
        (lambda t: t.union(session().table()), "same session"),
        (lambda t: t.union(t.select("zone")), "fare, late"),
        (lambda t: t.union(t.with_columns(fare="zone")), "does not mean the same"),
        (lambda t: t.union(t.with_columns(fare="fare * 0.1")), "does not mean the same"),
        (lambda t: t.union(t.distinct()), "whose a row is"),
    ],
    ids=range(6),
)
def test_union_that_makes_no_sense_is_refused(trips, ask, message):
    with pytest.raises(sf.errors.SfumatoError, match=message):
        ask(trips)


def test_tables_that_double_at_each_step_are_refused_in_time(trips):
    with pytest.raises(sf.errors.QueryError, match="more than 200 steps"):
        for _ in range(200):
            trips = trips.union(trips)


# ---- joins with public tables --------------------------------------------------------------------


def test_inner_join_repeats_and_drops(trips):
    joined = trips.join(ZONES, on="zone")
    assert joined.columns == ("zone", "fare", "late", "people", "town")
    wide = session(AMPLE).table().join(ZONES, on="zone")
    assert exact(wide.group_by("town").agg(sf.count(), sf.sum("people"))) == [[2, 3], [300, 300]]


def test_left_join_keeps_what_has_no_key():
    table = session(AMPLE).table().join(ZONES, on="zone", how="left")
    assert exact(table.agg(sf.count(), known=sf.count("people"))) == [[7], [5]]


def test_join_by_several_columns_and_other_names(trips):
    prices = pl.DataFrame({"z": ["A", "A"], "night": [True, False], "price": [1.5, 2]})
    joined = trips.join(prices, on={"zone": "z", "late": "night"})
    assert exact(joined.sum("price")) == [[1.5 + 2 + 2]]


@pytest.mark.parametrize(
    "zones",
    [
        pd.DataFrame(ZONES),
        pl.DataFrame(ZONES),
        pa.table(ZONES),
        [dict(zip(ZONES, row, strict=True)) for row in zip(*ZONES.values(), strict=True)],
        {name: np.array(values) for name, values in ZONES.items()},
    ],
    ids=["pandas", "polars", "arrow", "records", "numpy"],
)
def test_public_table_comes_in_many_forms(zones):
    joined = session(AMPLE).table().join(zones, on="zone")
    assert exact(joined.group_by("town").count()) == [[2, 3]]


def test_public_table_is_declared_by_the_owner(tmp_path):
    (tmp_path / "zones.csv").write_text("zone,people,since\nA,100,2001-02-03\nB,,1999-01-01\n")
    opened = session(public={"zones": tmp_path / "zones.csv"})
    joined = opened.table().join("zones", on="zone")
    assert joined.schema["since"].low == "1999-01-01"
    assert exact(joined.sum("people")) == [[300]]
    (tmp_path / "zones.csv").unlink()  # read once
    assert exact(opened.table().join("zones", on="zone").count()) == [[4]]
    with pytest.raises(
        sf.errors.UnknownName, match="no public table 'towns' here; there are: zones"
    ):
        opened.table().join("towns", on="zone")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("007\n8\n", ["007", "8"]),
        ("7\n-8\n", [7, -8]),
        ("1.50\n2\n", [1.5, 2]),
        ("true\nFALSE\n", [True, False]),
        ("2026-02-30\n2026-02-01\n", ["2026-02-30", "2026-02-01"]),
        ("9999999999999999999\n1\n", ["9999999999999999999", "1"]),
        ("a\n''\n", ["a", "''"]),
    ],
    ids=range(7),
)
def test_text_is_read_as_what_all_of_it_is(tmp_path, text, values):
    (tmp_path / "t.csv").write_text(f"x\n{text}")
    assert read_public(tmp_path / "t.csv", "t") == {"x": values}


@pytest.mark.parametrize(
    ("public", "on", "message"),
    [
        ({"zone": ["Z"]}, "zone", "no row of the public table"),
        ({"id": ["A"]}, "zone", "has no column 'zone'"),
        ({"zone": ["A"]}, "town", "no column 'town'"),
        ({"zone": ["A"], "fare": [1]}, "zone", "cannot name a column"),
        ({"zone": ["A"], "rider": [1]}, "zone", "names the unit"),
        ({"rider": [1], "x": [1]}, "rider", "names the unit"),
        ({"zone": ["A"], "x": [[1]]}, "zone", "no place in a plan"),
        ({"zone": ["A"], "x": [None]}, "zone", "has no values"),
        ({"zone": ["A", "B"], "x": [1]}, "zone", "cannot be read"),
        ({"zone": ["A"] * 100_001}, "zone", "100,001 rows"),
        ({}, "zone", "has no column"),
        (7, "zone", "Pass a path"),
        ({"zone": ["A"], "x": [1.0]}, [], "column that both tables have"),
        ({"zone": ["A"], "x": [10**30]}, "zone", r"2\^62"),
    ],
    ids=range(14),
)
def test_join_that_makes_no_sense_is_refused(trips, public, on, message):
    with pytest.raises(sf.errors.SfumatoError, match=message):
        trips.join(public, on=on)


def test_right_join_would_show_who_is_not_there(trips):
    with pytest.raises(sf.errors.ExpressionError, match="nobody has"):
        trips.join(ZONES, on="zone", how="outer")


def test_missing_and_infinite_numbers_of_a_public_table_are_null(trips):
    joined = trips.join({"zone": ["A", "B"], "x": [float("nan"), 2.5]}, on="zone")
    assert exact(joined.agg(sf.count(), known=sf.count("x"))) == [[4], [1]]


def test_declared_keys_that_a_public_table_does_not_have_are_named(trips):
    notes = (
        trips.join({"zone": ["A", "Bee"], "x": [1, 2]}, on="zone").count().explain(epsilon=1).notes
    )
    assert any("which are B, C, are left out" in note for note in notes)


def test_report_is_not_written_over_data_or_ledger(tmp_path):
    import pyarrow.parquet as pq

    data, ledger = tmp_path / "t.parquet", tmp_path / "t.ledger"
    pq.write_table(TRIPS, data)
    opened = sf.Session(data, unit=sf.Unit.row(), schema=SCHEMA, budget=sf.Budget(1), ledger=ledger)
    for kept in (data, ledger):
        with pytest.raises(sf.errors.InputError, match="destroy"):
            opened.report(kept)
    opened.report(tmp_path / "report.html")
    assert pq.read_table(data).equals(TRIPS)


def test_schema_of_a_table_is_as_declared(trips):
    facts = sf.Schema(x=sf.Integer(0, 9, nullable=True))
    opened = sf.Session(pa.table({"x": [1]}), unit=sf.Unit.row(), schema=facts, budget=sf.Budget(1))
    assert opened.table().schema == facts
    assert opened.table().with_columns(x="x + 1").schema["x"].high == 10


# ---- parts and scopes ----------------------------------------------------------------------------


def test_parts_hold_their_own_rows(trips):
    parts = trips.partition("zone", ["A", "C"])
    assert [exact(part.count()) for part in parts.values()] == [[[3]], [[1]]]
    with pytest.raises(sf.errors.KeysError):
        trips.partition("fare", ["x"])
    with pytest.raises(sf.errors.UnitError, match="names the unit"):
        trips.partition("rider")


def test_scope_holds_its_budget_and_returns_the_rest():
    opened = sf.Session(
        TRIPS, unit=sf.Unit.row(), schema=SCHEMA, budget=sf.Budget(3, "1e-6"), name="trips"
    )
    with opened.table().scope(sf.Budget(epsilon=2)) as inside:
        assert opened.remaining.epsilon == 1
        with pytest.raises(sf.errors.BudgetExceeded):
            opened.table().count().release(epsilon="1.5")
        inside.filter("fare > 1").count().release(epsilon="0.5")
        assert inside.remaining.epsilon == 1.5
        with pytest.raises(sf.errors.BudgetExceeded, match="scope"):
            inside.sum("fare").release(epsilon=2)
        with (
            pytest.raises(sf.errors.QueryError, match="already inside a scope"),
            inside.scope(sf.Budget(epsilon=1)),
        ):
            pass
    assert opened.remaining.epsilon == 2.5
    with pytest.raises(sf.errors.SfumatoError):
        inside.count().release(epsilon="0.1")  # it is closed
    with pytest.raises(sf.errors.BudgetExceeded), opened.table().scope(sf.Budget(epsilon=9)):
        pass


def test_scope_closes_when_something_fails_inside():
    opened = session(sf.Unit.row())
    before = opened.remaining.epsilon
    with pytest.raises(ZeroDivisionError), opened.table().scope(sf.Budget(epsilon=2)):
        1 / 0  # noqa: B018
    assert opened.remaining.epsilon == before


# ---- several tables ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": SCHEMA}, "a schema each"),
        ({"schema": {"a": SCHEMA}}, "a schema each"),
        ({"unit": {"a": sf.Unit.row(), "b": sf.Unit.by("rider", max_rows=1)}}, "one unit"),
        ({"unit": {"a": sf.Unit.row(), "b": sf.Unit.rows(2)}}, "one unit"),
        ({"unit": {"a": sf.Unit.row()}}, "needs a unit"),
    ],
    ids=range(5),
)
def test_tables_that_do_not_belong_together_are_refused(options, message):
    declared = {
        "unit": sf.Unit.row(),
        "schema": {"a": SCHEMA, "b": SCHEMA},
        "budget": sf.Budget(1),
    }
    with pytest.raises(sf.errors.SfumatoError, match=message):
        sf.Session({"a": TRIPS, "b": TRIPS}, **(declared | options))


def test_question_about_two_tables_is_stored_under_both_versions():
    def opened(ledger, version):
        return sf.Session(
            {"a": TRIPS, "b": TRIPS},
            unit=sf.Unit.row(),
            schema={"a": SCHEMA, "b": SCHEMA},
            budget=sf.Budget(9),
            version={"a": "1", "b": version},
            ledger=ledger,
        )

    def ask(s):
        return s.table("a").union(s.table("b")).count().release(epsilon=1).to_json()

    first = opened(None, "1")
    same, other = opened(first.ledger, "1"), opened(first.ledger, "2")
    answers = [ask(s) for s in (first, same, other)]
    assert answers[0] == answers[1] != answers[2]
    assert first.remaining.epsilon == 7


def test_edit_of_a_declaration_is_an_event_of_the_ledger(tmp_path):
    file = tmp_path / "trips.ledger"
    for unit in (
        sf.Unit.by("rider", max_rows=3),
        sf.Unit.by("rider", max_rows=3),
        sf.Unit.by("rider", max_rows=5),
    ):
        with session(unit, ledger=file) as opened:
            events = opened.ledger.declarations("trips")
    assert [event.kind for event in events] == ["declared", "declared"]
    with pytest.raises(sf.errors.UnitError):
        session(sf.Unit.row(), ledger=file)


# ---- what a hostile analyst, or a mistake, would try ---------------------------------------------


def test_one_row_does_not_decide_whether_there_is_memory(trips):
    """A key that is listed very often would make the engine fail if, and only if, a row has it."""
    often = {"zone": ["A"] * 1000, "copy": range(1000)}
    joined = trips.join(often, on="zone")
    with pytest.raises(sf.errors.QueryError, match="2,000 times"):
        joined.union(joined)
    with pytest.raises(sf.errors.QueryError, match="2,000 times"):
        joined.join({"copy": [1, 1], "x": [1, 2]}, on="copy")
    with pytest.raises(sf.errors.QueryError, match="1,001 times"):
        trips.join({"zone": ["A"] * 1001}, on="zone")
    counted = joined.group_by_unit().count()  # one row again
    assert counted.union(counted).columns == ("n",)


def test_label_of_a_version_is_used_up_by_a_question_about_two_tables(tmp_path):
    declared = {
        "unit": sf.Unit.row(),
        "schema": {"a": SCHEMA, "b": SCHEMA},
        "budget": sf.Budget(9),
        "ledger": tmp_path / "l",
    }
    with sf.Session({"a": TRIPS, "b": TRIPS}, version={"a": "1", "b": "2"}, **declared) as opened:
        opened.table("a").union(opened.table("b")).count().release(epsilon=1)
        for table, version in (("a", "1"), ("b", "2")):
            with pytest.raises(sf.errors.RequestError, match="used before"):
                opened.ledger.refresh(table, version)
        opened.ledger.refresh("a", "2")
        assert opened.ledger.verify().ok


def test_part_is_one_however_its_key_is_written():
    opened = sf.Session(
        pa.table({"day": [datetime.date(2026, 1, 5)]}),
        unit=sf.Unit.row(),
        schema=sf.Schema(day=sf.Date("2026-01-01", "2026-01-31")),
        budget=sf.Budget(1),
        name="t",
    )
    split = opened.table().partition("day")["2026-01-05"]._session.slice.partition
    for i, spelled in enumerate(("2026-01-05", "20260105", "2026-W02-1")):
        part = Table(narrowed(opened, slice=Slice(split, spelled)), split.part(spelled))
        if i == 0:
            part.count().release(epsilon=1)
            continue
        with pytest.raises(sf.errors.BudgetExceeded):
            part.count().release(epsilon="0.5")
    with pytest.raises(sf.errors.InputError, match="none of the parts"):
        split.code("2027-01-05")


def test_partition_leaves_no_row_outside_its_parts(trips):
    keys = Keys.of(scope(trips._node), ["zone"], ["A"])
    for node in (trips._node, Truncate(trips._node, ("zone",), None, None, 3)):
        with pytest.raises(sf.errors.InputError, match=r"Partition\.of"):
            Partition(node, keys)


@pytest.mark.parametrize("cap", [0, -1, 1.5, True])
def test_cap_is_a_number_of_rows(trips, cap):
    with pytest.raises(sf.errors.UnitError, match="from 1 up"):
        Truncate(trips._node, (), None, None, cap)


def test_all_caps_together_bound_what_one_unit_has():
    unit = sf.Unit.by("rider", max_rows=10, max_groups=2, max_rows_per_group=1)
    made = session(unit).table().group_by_unit().sum("fare")
    assert made.schema["fare"].high == 16


@pytest.mark.parametrize("name", ["\ud800", "a\0b"], ids=["surrogate", "NUL"])
def test_key_that_no_engine_can_be_sent_is_refused_before_paying(name):
    opened = sf.Session(
        pa.table({"name": ["a"]}),
        unit=sf.Unit.row(),
        schema=sf.Schema(name=sf.Text()),
        budget=sf.Budget(1),
    )
    with pytest.raises(sf.errors.SfumatoError):
        opened.table().join({"name": [name, "a"]}, on="name")
    assert opened.remaining.epsilon == 1
