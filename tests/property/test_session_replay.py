"""Record and play on sessions: what a question does must not depend on one unit's data."""

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit import replay
from sfumato.core.sensitivity import Sensitivity
from sfumato.relation import Aggregate
from sfumato.testing.tables import neighbors, tables

SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "C"]),
    age=sf.Integer(-10, 40),
    fare=sf.Real("-1.5", 20, step="0.25"),
    member=sf.Boolean(),
    day=sf.Date("2026-01-01", "2026-01-06"),
)
UNITS = [
    sf.Unit.row(),
    sf.Unit.rows(2),
    sf.Unit.row("replace"),
    sf.Unit.by("id", max_rows=2),
    sf.Unit.by("id", max_rows=3, max_groups=1),
    sf.Unit.by("id", max_groups=2, max_rows_per_group=1),
    sf.Unit.by("id", max_rows=2, neighbors="replace"),
]
STEPS = [
    lambda t: t.filter("age >= 3"),
    lambda t: t.filter("member or zone = 'A'"),
    lambda t: t.filter("fare IS NOT NULL"),
    lambda t: t.with_columns(fare="fare * 2 - age"),
    lambda t: t.with_columns(zone="CASE WHEN age > 20 THEN 'A' ELSE zone END"),
    lambda t: t.with_columns(age="coalesce(age, 7) % 5"),
]
GROUPS = [(), ("zone",), ("zone", "member"), ("day",), ("age",)]
OUTPUTS = {
    "n": sf.count(),
    "known": sf.count("fare"),
    "total": sf.sum("fare"),
    "mean": sf.mean("fare"),
    "share": sf.mean("member"),
    "sum": sf.sum("age"),
}


@st.composite
def programs(draw):
    """Draw a few questions, each as what an analyst would type."""
    asked = draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(range(len(STEPS))), max_size=2),
                st.sampled_from(GROUPS),
                st.lists(st.sampled_from(sorted(OUTPUTS)), min_size=1, max_size=3, unique=True),
                st.sampled_from(["1/2", "1", "3"]),
            ),
            min_size=1,
            max_size=2,
            unique_by=str,
        )
    )

    def program(session):
        out = []
        for steps, groups, names, epsilon in asked:
            table = session.table()
            for step in steps:
                table = STEPS[step](table)
            grouped = table.group_by(*groups) if groups else table
            question = grouped.agg(**{name: OUTPUTS[name] for name in names})
            out.append(question.release(epsilon=epsilon).to_arrow().to_pylist())
        return out

    note(f"asked: {asked}")
    return program


def pair(data, unit):
    """Draw neighbors, and open a session over each with one ledger: one key, one budget."""
    table = data.draw(tables(SCHEMA, unit))
    other = data.draw(neighbors(table, SCHEMA, unit))
    declared = {"unit": unit, "schema": SCHEMA, "budget": sf.Budget(epsilon=1000), "name": "t"}
    if unit.neighbors == "replace" and unit.column is None:
        declared["rows"] = table.num_rows
    first = sf.Session(table, **declared)
    second = sf.Session(other, ledger=first.ledger, **declared)
    return first, second


@settings(max_examples=settings.default.max_examples // 4)
@given(st.data(), st.sampled_from(UNITS), programs())
def test_question_does_the_same_on_neighbors(data, unit, program):
    first, second = pair(data, unit)
    had = first.remaining.epsilon
    found = replay(program, first, second)
    assert not found.flagged, found
    # Two runs paid for the noise calls that the tape saw, and for nothing else.
    calls = found.calls
    assert (had - first.remaining.epsilon > 0) == (calls > 0)


@settings(max_examples=settings.default.max_examples // 4)
@given(st.data(), st.sampled_from(UNITS), programs())
def test_charge_is_the_sum_of_the_noise_calls(data, unit, program):
    from sfumato.audit.tape import Tape, tapped_laboratory

    (session, _), tape = pair(data, unit), Tape()
    had = session.remaining.epsilon
    with tapped_laboratory(tape):
        program(session)
    spent = sum(
        (sf.accounting.epsilon(call.mechanism.loss(call.sensitivity)) for call in tape.calls),
        start=sf.accounting.epsilon(sf.mechanisms.DiscreteLaplace(1).loss(Sensitivity(l1=0))),
    )
    assert had - session.remaining.epsilon == spent


def broken(aggregate):
    """Return a sensitivity as a careless author would: of one row, whatever the caps say."""

    def sensitivity(self, unit):
        honest = aggregate(self, unit)
        return Sensitivity(l0=1, l1=1, linf=1, neighbors=honest.neighbors)

    return sensitivity


@pytest.mark.parametrize("name", ["total", "mean", "sum"])
def test_replay_finds_a_sensitivity_that_is_too_small(monkeypatch, name):
    monkeypatch.setattr(Aggregate, "sensitivity", broken(Aggregate.sensitivity))
    rows = {"zone": ["A"], "age": [40], "fare": [20.0], "member": [True], "day": ["2026-01-01"]}
    declared = {"unit": sf.Unit.row(), "schema": SCHEMA, "budget": sf.Budget(epsilon=1000)}
    first = sf.Session(pa.table(rows), **declared)
    second = sf.Session(pa.table(rows).slice(0, 0), **declared)

    def program(session):
        return session.table().agg(x=OUTPUTS[name]).release(epsilon=1).to_arrow().to_pylist()

    assert replay(program, first, second).flagged


def test_replay_finds_a_truncation_that_looks_at_others(monkeypatch):
    """Rows kept by the order of all rows depend on who else is there."""
    from sfumato.session import shortlist

    plain = shortlist.numbered
    monkeypatch.setattr(shortlist, "numbered", lambda unit: plain(unit) * 0)
    unit = sf.Unit.by("id", max_rows=1)
    rows = {"id": [1, 2, 3], "zone": ["A", "B", "C"], "age": [10, 20, 30]}
    filler = {"fare": [1.0] * 3, "member": [True] * 3, "day": ["2026-01-01"] * 3}
    table = pa.table({**rows, **filler})
    declared = {"unit": unit, "schema": SCHEMA, "budget": sf.Budget(epsilon=1000)}

    def program(session):
        question = session.table().group_by("zone").sum("age")
        return question.release(epsilon=1).to_arrow().to_pylist()

    flagged, ledger = [], sf.Session(table, **declared).ledger  # one key: one row survives
    for gone in range(3):
        kept = [i for i in range(3) if i != gone]
        first, second = (
            sf.Session(rows, ledger=ledger, **declared) for rows in (table, table.take(kept))
        )
        flagged.append(replay(program, first, second).flagged)
    assert flagged.count(True) == 1  # without the one who survived, another does
