"""Record and play on the algebra: what a program does must not depend on one unit's data."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit import replay
from sfumato.relation import Union

sys.path.insert(0, str(Path(__file__).parent))
from test_session_replay import SCHEMA, UNITS, pair

sys.path.pop(0)

ZONES = {"zone": ["A", "A", "B"], "size": [2, None, 5], "name": ["x", "y", "x"]}
NAMED = [unit for unit in UNITS if unit.column is not None]


def asked(question, epsilon="1/2"):
    return question.release(epsilon=epsilon).to_arrow().to_pylist()


def distinct(session):
    table = session.table().select("zone", "member").distinct()
    return [asked(table.count()), asked(table.group_by("zone").count())]


def union(session):
    table = session.table()
    both = table.union(table.filter("age >= 3").with_columns(age="age + 5"))
    return [asked(both.count()), asked(both.group_by("zone").agg(sf.sum("age"), sf.count()))]


def inner_join(session):
    return [asked(session.table().join(ZONES, on="zone").group_by("name").sum("size"))]


def left_join(session):
    joined = session.table().join(ZONES, on="zone", how="left")
    return [asked(joined.count()), asked(joined.mean("size"))]


def histogram(session):
    return [asked(session.table().histogram("age", [-5, 0, 10, 30]))]


def spread(session):
    return [asked(session.table().group_by("zone").agg(v=sf.variance("age"), s=sf.std("fare")))]


def partition(session):
    parts = session.table().partition("zone")
    return [
        asked(part.agg(sf.count(), sf.mean("age")), "1" if key == "A" else "1/2")
        for key, part in parts.items()
    ]


def scope(session):
    with session.table().scope(sf.Budget(epsilon=1)) as inside:
        parts = inside.partition("member")
        return [asked(part.count(), "1/4") for part in parts.values()]


def own_distinct(session):
    table = session.table().select("zone", "member").distinct(within_unit=True)
    return [asked(table.group_by("zone").count())]


def per_unit(session):
    made = (
        session.table()
        .group_by_unit()
        .agg(n=sf.count(), spent=sf.sum("fare"), usual=sf.mean("age"), last=sf.max("day"))
    )
    return [asked(made.agg(n=sf.mean("n"), spent=sf.mean("spent"), usual=sf.sum("usual")))]


def per_unit_and_zone(session):
    made = session.table().group_by_unit("zone").agg(least=sf.min("age"), ok=sf.max("member"))
    return [asked(made.group_by("zone").agg(sf.count(), sf.sum("least"), sf.sum("ok")))]


FREE = [distinct, union, inner_join, left_join, histogram, spread, partition, scope]
OWN = [own_distinct, per_unit, per_unit_and_zone]


@pytest.mark.parametrize("program", [*FREE, *OWN], ids=lambda program: program.__name__)
@given(st.data())
@settings(max_examples=max(8, settings.default.max_examples // 12))
def test_program_does_the_same_on_neighbors(program, data):
    unit = data.draw(st.sampled_from(UNITS if program in FREE else NAMED))
    first, second = pair(data, unit)
    found = replay(program, first, second)
    assert found.calls
    assert not found.flagged, found
    assert first.ledger.verify().ok


def riders(rows):
    """Return a table of (id, zone, age)."""
    columns = {"id": [], "zone": [], "age": []}
    for row in rows:
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    return pa.table(columns)


def sessions(*tables, unit, budget=100):
    """Open a session over each table, all with one ledger."""
    schema, limit = sf.Schema(zone=SCHEMA["zone"], age=SCHEMA["age"]), sf.Budget(budget)
    ledger, opened = None, []
    for table in tables:
        opened.append(
            sf.Session(table, unit=unit, schema=schema, budget=limit, ledger=ledger, name="t")
        )
        ledger = opened[0].ledger
    return opened


def test_replay_finds_a_join_whose_repetitions_are_not_counted(monkeypatch):
    from sfumato.relation import PublicTable

    monkeypatch.setattr(PublicTable, "multiplicity", 1)
    both = sessions(riders([(1, "A", 3)]), riders([(1, "A", 3), (2, "A", 4)]), unit=sf.Unit.row())
    assert replay(lambda s: asked(s.table().join(ZONES, on="zone").count()), *both).flagged


def test_replay_finds_summaries_that_are_not_clamped(monkeypatch):
    from sfumato.relation import Summary

    plain = Summary.sql
    monkeypatch.setattr(
        Summary,
        "sql",
        lambda self, columns: plain(self, columns).replace("least(count(*), 1)", "count(*)"),
    )
    both = sessions(
        riders([(1, "A", 3)]),
        riders([(1, "A", 3), *[(2, "A", 4)] * 9]),
        unit=sf.Unit.by("id", max_rows=1),
    )
    program = lambda s: asked(s.table().group_by_unit().count().sum("n"))  # noqa: E731
    assert replay(program, *both).flagged


# ---- parts cost as their worst -------------------------------------------------------------------


def test_parts_that_one_unit_cannot_share_cost_as_the_worst():
    [session] = sessions(riders([(1, "A", 3), (2, "B", 4)]), unit=sf.Unit.row(), budget=1)
    parts = session.table().partition("zone")
    for key, epsilon in (("A", "0.7"), ("B", "0.4"), ("C", "1"), ("B", "0.6")):
        parts[key].sum("age").release(epsilon=epsilon)
    assert session.remaining.epsilon == 0
    with pytest.raises(sf.errors.BudgetExceeded):
        parts["B"].count().release(epsilon="0.01")
    parts["A"].count().release(epsilon="0.3")  # there is room below the worst part
    with pytest.raises(sf.errors.BudgetExceeded):
        session.table().count().release(epsilon="0.01")


@pytest.mark.parametrize(
    ("unit", "width"),
    [
        (sf.Unit.row("replace"), 2),
        (sf.Unit.rows(2), 2),
        (sf.Unit.by("id", max_rows=5, max_groups=2), 2),
        (sf.Unit.by("id", max_rows=9), 3),
        (sf.Unit.by("id", max_rows=1, neighbors="replace"), 2),
    ],
    ids=repr,
)
def test_as_many_parts_count_as_one_unit_can_be_in(unit, width):
    [session] = sessions(riders([(1, "A", 3), (2, "B", 4)]), unit=unit, budget=3)
    for part in session.table().partition("zone").values():
        part.count("age").release(epsilon=1)
    assert session.remaining.epsilon == 3 - width


def test_parts_of_another_split_or_of_a_union_add_up():
    [session] = sessions(riders([(1, "A", 3)]), unit=sf.Unit.row(), budget=100)
    table = session.table()
    for split in (table, table.filter("age > 1"), table.union(table)):
        before = session.remaining.epsilon
        for part in split.partition("zone", ["A", "B"]).values():
            part.count().release(epsilon=1)
        twice = isinstance(split._node, Union)  # a row of the table is two rows of the union
        assert before - session.remaining.epsilon == (2 if twice else 1)


def test_new_version_starts_new_parts():
    table = riders([(1, "A", 3)])
    declared = {"unit": sf.Unit.row(), "schema": sf.Schema(zone=SCHEMA["zone"]), "name": "t"}
    first = sf.Session(table, budget=sf.Budget(9), version="1", **declared)
    first.table().partition("zone")["A"].count().release(epsilon=1)
    second = sf.Session(table, budget=sf.Budget(9), version="2", ledger=first.ledger, **declared)
    second.table().partition("zone")["B"].count().release(epsilon=1)
    assert first.remaining.epsilon == 7


def test_part_pays_for_itself_alone():
    """Nothing but its own rows can be asked through the door of a part."""
    [session] = sessions(riders([(1, "A", 3)]), unit=sf.Unit.row())
    parts, whole = session.table().partition("zone"), session.table()
    laplace = sf.mechanisms.DiscreteLaplace(scale=1)
    for other in (whole, parts["B"], parts["A"].union(parts["A"])):
        query = other.count().queries[0]
        if other in (whole, parts["B"]):
            with pytest.raises(sf.errors.InputError, match="more than the part"):
                parts["A"].measure(query, laplace)
        else:
            parts["A"].measure(query, laplace)
    with pytest.raises(sf.errors.QueryError, match="same part"):
        parts["A"].union(parts["B"])
    with pytest.raises(sf.errors.QueryError, match="parts of parts"):
        parts["A"].partition("age", [1, 2])


def test_guard_of_parts_can_fail(monkeypatch):
    """Without the look at the tree a part would pay for the whole."""
    [session] = sessions(riders([(1, "A", 3)]), unit=sf.Unit.row())
    part, query = session.table().partition("zone")["A"], session.table().count().queries[0]
    monkeypatch.setattr("sfumato.relation.partition.Slice.holds", lambda *_: True)
    part.measure(query, sf.mechanisms.DiscreteLaplace(scale=1))
