"""Record and play on bought groups, quantiles and counts: nothing but noise tells neighbors apart.

Groups that appear in the recording are played back on a neighbor that may not have them. What is
asked of them must come out as 0 there, and nothing else may change.
"""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import note
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit import replay
from sfumato.audit.tape import Tape, tapped_laboratory
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.bag import Bag
from sfumato.mechanisms.occurrence import Chosen, Groups
from sfumato.relation import Aggregate, Occurrence, Values, kept, lower
from sfumato.session import scan, shortlist
from sfumato.testing.rng import SeededRng
from sfumato.testing.tables import neighbors, tables

sys.path.insert(0, str(Path(__file__).parent))
from difference import search

sys.path.pop(0)

SCHEMA = sf.Schema(
    name=sf.Text(nullable=True),
    zone=sf.Category(["A", "B", "C"]),
    age=sf.Integer(-10, 40),
    fare=sf.Real("-1.5", 20, step="0.25", nullable=True),
    day=sf.Date("2026-01-01", "2026-01-06"),
    ok=sf.Boolean(),
)
UNITS = [
    sf.Unit.row(),
    sf.Unit.rows(2),
    sf.Unit.row("replace"),
    sf.Unit.by("id", max_rows=2),
    sf.Unit.by("id", max_rows=4, max_groups=2),
    sf.Unit.by("id", max_groups=2, max_rows_per_group=2),
    sf.Unit.by("id", max_rows=2, neighbors="replace"),
]
STEPS = [
    lambda t: t.filter("age >= 3"),
    lambda t: t.with_columns(name="CASE WHEN ok THEN 'x' ELSE name END"),
    lambda t: t.with_columns(fare="fare * 2 - age"),
    lambda t: t.distinct(),
]
BOUGHT, OTHER = sf.bought(), sf.bought(other=True)
GROUPS = [
    (("name",), BOUGHT),
    (("name",), OTHER),
    (("name", "zone"), {"name": BOUGHT, "zone": ["A", "B"]}),
    (("age", "ok"), BOUGHT),
    (("day",), OTHER),
    (("zone",), None),
    ((), None),
]
OUTPUTS = {
    "n": sf.count(),
    "known": sf.count("fare"),
    "total": sf.sum("fare"),
    "mean": sf.mean("fare"),
    "spread": sf.variance("age"),
    "half": sf.median("fare"),
    "ends": sf.quantile("age", [0.1, 0.9]),
    "framed": sf.median("age", interval=True),
    "least": sf.min("day"),
    "most": sf.max("fare"),
    "kinds": sf.count_distinct("age"),
    "clamped": sf.sum("fare", per_unit=(0, 5)),
}
COSTS = [
    {"epsilon": 30, "delta": "0.04"},
    {"epsilon": 3, "delta": "1e-3"},
    {"epsilon": 2},
    {"rho": 1},
]


@st.composite
def programs(draw):
    """Draw a few questions, each as what an analyst would type; what is refused says so."""
    asked = draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(range(len(STEPS))), max_size=1),
                st.sampled_from(range(len(GROUPS))),
                st.lists(st.sampled_from(sorted(OUTPUTS)), min_size=1, max_size=3, unique=True),
                st.sampled_from([0, 0, 0, 1, 2, 3]),
            ),
            min_size=1,
            max_size=2,
            unique_by=str,
        )
    )

    def program(session):
        out = []
        for steps, groups, names, cost in asked:
            try:
                table = session.table()
                for step in steps:
                    table = STEPS[step](table)
                columns, keys = GROUPS[groups]
                grouped = table.group_by(*columns, keys=keys) if columns else table
                question = grouped.agg(**{name: OUTPUTS[name] for name in names})
                answer = question.release(**COSTS[cost])
            except sf.errors.QueryError as refusal:
                out.append(str(refusal))
            except sf.errors.CostError as refusal:
                out.append(str(refusal))
            else:
                out.append((answer.to_arrow().to_pylist(), answer.notes))
        return out

    note(f"asked: {asked}")
    return program


def pair(table, other, unit, **options):
    """Open a session over each with one ledger: one key, one budget."""
    budget = sf.Budget(10**5, "0.9")
    declared = {"unit": unit, "schema": SCHEMA, "budget": budget, "name": "t", **options}
    if unit.neighbors == "replace" and unit.column is None:
        declared["rows"] = table.num_rows
    first = sf.Session(table, **declared)
    return first, sf.Session(other, ledger=first.ledger, **declared)


@st.composite
def cases(draw):
    """Draw unit, neighbors and questions; the sessions are opened by the check."""
    unit = draw(st.sampled_from(UNITS))
    table = draw(tables(SCHEMA, unit))
    return unit, table, draw(neighbors(table, SCHEMA, unit)), draw(programs())


def same(case):
    unit, table, other, program = case
    found = replay(program, *pair(table, other, unit))
    assert not found.flagged, found
    assert found.unjudged == 0


def test_question_does_the_same_on_neighbors():
    search(cases(), same, examples=20, shrink=False)


@pytest.mark.deep
def test_question_does_the_same_on_neighbors_in_depth():
    search(cases(), same, seeds=None)


# ---- what a replay of groups rests on ------------------------------------------------------------

RIDER = sf.Unit.by("id", max_rows=2)


def town(*people, columns=("id", "name", "age")):
    """Write rows as (id, name, age); all else is the same for all."""
    held = list(zip(*people, strict=True)) or [()] * len(columns)
    kinds = {"id": pa.int64(), "name": pa.string(), "age": pa.int64()}
    table = {n: pa.array(v, kinds[n]) for n, v in zip(columns, held, strict=True)}
    size = len(people)
    table |= {"zone": pa.array(["A"] * size, pa.string()), "ok": pa.array([True] * size)}
    table |= {"fare": pa.array([1.0] * size), "day": pa.array(["2026-01-02"] * size, pa.string())}
    return pa.table(table)


MANY = [(i, "many", i % 7) for i in range(60)]
ONE = [(100, "rare", 3), (100, "rare", 4)]


def asked(*names, keys=BOUGHT, **cost):
    cost = cost or {"epsilon": 50, "delta": "0.1"}

    def program(session):
        question = session.table().group_by("name", keys=keys).agg(**{n: OUTPUTS[n] for n in names})
        return question.release(**cost).to_arrow().to_pylist()

    return program


KINDS = {
    "counts": asked("n"),
    "sums": asked("n", "total", "mean"),
    "quantiles": asked("half", "ends"),
    "framed": asked("framed", "most"),
    "rest": asked("n", "mean", keys=OTHER),
    "listed and bought": lambda session: (
        session.table()
        .group_by("name", "zone", keys={"name": BOUGHT, "zone": ["A", "C"]})
        .agg(n=sf.count(), half=sf.median("age"))
        .release(epsilon=50, delta="0.1")
        .to_arrow()
        .to_pylist()
    ),
    "units": lambda session: (
        session.table().count_distinct("id").release(epsilon=1).to_arrow().to_pylist()
    ),
    "values": lambda session: (
        session.table().count_distinct("age").release(epsilon=1).to_arrow().to_pylist()
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("there", [True, False])
def test_group_of_one_unit_may_be_missing_on_a_neighbor(kind, there):
    with_, without = town(*MANY, *ONE), town(*MANY)
    both = pair(*(with_, without) if there else (without, with_), RIDER)
    found = replay(KINDS[kind], *both)
    assert not found.flagged, found
    assert found.calls > 0
    assert found.unjudged == 0


BOTH = Chosen((["many", "rare"],))


@pytest.mark.parametrize("there", [True, False])
def test_group_that_a_neighbor_lacks_is_played_back(there):
    """What is asked of it is 0 there; the tape holds groups by key and values by group."""
    tape = Tape([BOTH])
    session, _ = pair(town(*MANY, *(ONE if there else ())), town(), RIDER)
    with tapped_laboratory(tape):
        answer = asked("n", "half")(session)
    assert [row["name"] for row in answer] == ["many", "rare"]
    selection, counted, search = tape.calls
    assert selection.exact == {("many",): 60, **({("rare",): 1} if there else {})}
    assert counted.exact.tolist() == [60, 2 * there]
    assert (selection.form, search.form) == (("groups",), ("values", 2))
    rare = [place for group, place in search.exact.rows.tolist() if group == 1]
    assert rare == ([10, 10] if there else [])  # fares of 1, in quarters from -1.5 up


# ---- mistakes that a replay finds ----------------------------------------------------------------


def flagged(program, unit=RIDER, gone=ONE):
    found = replay(program, *pair(town(*MANY, *gone), town(*MANY), unit))
    return found.flagged


def smaller(kind):
    honest = kind.sensitivity

    def sensitivity(self, unit):
        return Sensitivity(l0=1, l1=1, linf=1, neighbors=honest(self, unit).neighbors)

    return sensitivity


def test_replay_finds_values_that_count_for_less(monkeypatch):
    assert not flagged(KINDS["quantiles"])
    monkeypatch.setattr(Values, "sensitivity", smaller(Values))
    # both rides of the rider are in the bag of a group that is listed
    program = lambda s: s.table().median("age").release(epsilon=1).to_arrow().to_pylist()  # noqa: E731
    assert flagged(program)


def test_replay_counts_both_sides_of_a_replaced_unit(monkeypatch):
    unit = sf.Unit.by("id", max_rows=2, neighbors="replace")
    before, after = ([(100, "m", age) for age in ages] for ages in ((1, 2), (30, 31)))
    both = town(*MANY, *before), town(*MANY, *after)
    program = lambda s: s.table().median("age").release(epsilon=1).to_arrow().to_pylist()  # noqa: E731
    assert not replay(program, *pair(*both, unit)).flagged
    one_side = Sensitivity(l0=1, l1=2, linf=2, neighbors="replace")
    monkeypatch.setattr(Values, "sensitivity", lambda *_: one_side)
    assert replay(program, *pair(*both, unit)).flagged


def test_replay_finds_groups_that_are_not_truncated(monkeypatch):
    unit = sf.Unit.by("id", max_groups=1, max_rows_per_group=1)
    gone = [(100, f"rare {i}", 3) for i in range(5)]
    assert not flagged(KINDS["counts"], unit, gone)
    monkeypatch.setattr(kept, "_early", lambda owners, _: np.ones(owners.size, np.bool_))
    monkeypatch.setattr(shortlist, "possible", lambda *_: None)
    assert flagged(KINDS["counts"], unit, gone)


def test_replay_finds_units_that_are_counted_as_rows(monkeypatch):
    gone = [(100, "many", age) for age in (1, 2)]
    assert not flagged(KINDS["counts"], gone=gone)
    monkeypatch.setattr(lower, "reach", lambda _: _One())
    assert flagged(KINDS["counts"], gone=gone)


class _One:
    """A reach by which every unit has one row in a group."""

    def by(self, _):
        return 1, 1, 1


def test_replay_finds_a_selection_by_true_counts(monkeypatch):
    """Groups that appeared are dropped where the exact table has few units in them."""
    plain = scan.Found.narrowed

    def careful(self, chosen):
        held = self.exact(self._first())._held
        assert isinstance(held, Groups)
        true = dict(zip(held.columns[0].to_pylist(), held.counts.tolist(), strict=True))
        names = chosen.columns[0].to_pylist()
        kept = [i for i, name in enumerate(names) if true.get(name, 0) > 0]
        counts = None if chosen.counts is None else chosen.counts[kept]
        return plain(self, Chosen(([names[i] for i in kept],), counts))

    monkeypatch.setattr(scan.Found, "_first", lambda self: next(iter(self._places)), raising=False)
    monkeypatch.setattr(scan.Found, "narrowed", careful)
    program = asked("mean", "half", epsilon=500, delta="0.4")
    assert flagged(program)


def test_replay_finds_the_rest_that_forgets_a_group(monkeypatch):
    """The rest is that of the groups that occur in one table, and counted with them."""
    plain = scan._picked

    def careless(counted, rows, *, other):
        return plain(counted, rows, other=other) + (counted.size > 1)

    monkeypatch.setattr(scan, "_picked", careless)
    gone = [(100, "rare", 3)]
    unit = sf.Unit.by("id", max_rows=1)
    assert flagged(asked("n", keys=OTHER, epsilon=1, delta="1e-9"), unit, gone)


def test_replay_finds_a_price_that_depends_on_the_groups(monkeypatch):
    plain = Occurrence.sensitivity

    def sensitivity(self, unit):
        return plain(self, unit)

    monkeypatch.setattr(Occurrence, "sensitivity", sensitivity)
    assert not flagged(KINDS["counts"])

    def program(session):
        groups = session.table().group_by("name", keys=BOUGHT).count()
        found = groups.release(epsilon=50, delta="0.1").to_arrow().num_rows
        rows = session._backend.run("SELECT count(*) AS n FROM t", {})["n"][0].as_py()
        return session.table().count().release(epsilon=Fraction(rows, 100)).cost, found

    assert flagged(program)


def test_replay_of_a_table_sees_what_an_algorithm_measures():
    """Mechanisms of the library reach a table as they are, and through the tape all the same."""
    first, second = pair(town(*MANY, *ONE), town(*MANY), RIDER)
    count = sf.mechanisms.DiscreteLaplace(2)

    def program(table):
        return table.measure(table.count().queries[0], count).to_arrow().to_pylist()

    found = replay(program, first.table(), second.table())
    assert not found.flagged, found
    assert found.calls == 1


def test_bags_that_are_noted_are_copies():
    tape = Tape()
    bag = Bag(pa.array([3, 1, 2]).to_numpy().copy(), None, 1)
    search = sf.mechanisms.Quantiles(["1/2"], low=0, high=9, step=1, rate=1)
    ranked = search.exact(bag)
    with tapped_laboratory(tape):
        search.sample(ranked, SeededRng(1))
    assert tape.calls[0].exact.rows.tolist() == [[0, 1], [0, 2], [0, 3]]


def test_aggregate_of_bought_groups_is_judged_by_its_own_norms(monkeypatch):
    monkeypatch.setattr(Aggregate, "sensitivity", smaller(Aggregate))
    gone = [(100, "many", 40), (100, "many", 39)]
    assert flagged(asked("n", "spread"), gone=gone)
