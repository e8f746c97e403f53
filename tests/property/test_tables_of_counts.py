"""Ranges and marginals through a real session: exact without noise, and as stable as they say."""

from collections import Counter
from contextlib import closing, contextmanager
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.session.table import Table
from sfumato.testing import strategies

AGES, ZONES, PEOPLE = 6, ["A", "B", "C"], 4
SCHEMA = sf.Schema(
    age=sf.Integer(0, AGES - 1, nullable=True),
    zone=sf.Category(ZONES, nullable=True),
    ok=sf.Boolean(),
)
COLUMNS = ("age", "zone", "ok")
AMPLE = sf.Budget(epsilon=10**6, delta="1e-3")
LINES = ["identity", "hierarchical", "wavelet", "square_root", "p_identity"]
RARELY = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

owned = st.tuples(
    st.integers(1, PEOPLE),
    st.none() | st.integers(0, AGES - 1),
    st.none() | st.sampled_from(ZONES),
    st.booleans(),
)
rows = st.lists(owned, max_size=14)
units = strategies.units(st.just("who"), most=3)


def frame(given):
    kinds = {"who": pa.int64(), "age": pa.int64(), "zone": pa.string(), "ok": pa.bool_()}
    columns = list(zip(*given, strict=True)) or [[]] * len(kinds)
    return pa.table(
        {name: pa.array(column, kinds[name]) for name, column in zip(kinds, columns, strict=True)}
    )


@pytest.fixture
def silent(monkeypatch):
    """Take the noise out, which nothing but a test can do; and note what is measured."""
    seen = []
    for mechanism in (DiscreteLaplace, DiscreteGaussian):
        monkeypatch.setattr(mechanism, "sample", lambda self, exact, rng: exact)
    plain = Table.measure

    def measure(self, query, mechanism=None, **options):
        answers = plain(self, query, mechanism, **options)
        batch = [(query, answers)] if mechanism is not None else zip(query, answers, strict=True)
        for asked, answer in batch:
            question = asked if mechanism is not None else asked[0]
            seen.append((question.sensitivity(self.unit), answer.measures[0].values))
        return answers

    monkeypatch.setattr(Table, "measure", measure)
    return seen


@contextmanager
def opened(unit, **tables):
    session = sf.Session(
        {name: frame(each) for name, each in tables.items()},
        unit=unit,
        schema=dict.fromkeys(tables, SCHEMA),
        budget=AMPLE,
    )
    with closing(session):
        yield session


def released(table, how, method):
    price = {"epsilon": 1, "delta": "1e-6"} if method in GAUSSIAN else {"epsilon": 1}
    if how == "ranges":
        return sf.ranges.release(table.values("age"), method=method, **price)
    wanted = sf.marginals.all(0, 1, 2, ranges=["age"])
    return sf.marginals.release(table, workload=wanted, columns=COLUMNS, method=method, **price)


GAUSSIAN = ("residuals", "square_root", "gaussian")
WAYS = [("marginals", "residuals"), ("marginals", "counts"), *(("ranges", line) for line in LINES)]


def engine_counts(given, *columns):
    """Count with DuckDB itself, apart from sfumato."""
    listed = ", ".join(columns)
    with duckdb.connect() as engine:
        engine.register("people", frame(given))
        text = f"SELECT {listed or 1}, count(*) FROM people GROUP BY ALL"  # noqa: S608
        return Counter({row[:-1]: row[-1] for row in engine.execute(text).fetchall()})


@given(given=rows, neighbors=st.sampled_from(["add_remove", "replace"]))
@RARELY
@pytest.mark.parametrize("method", ["residuals", "counts"])
def test_marginals_without_noise_are_those_of_the_engine(silent, method, given, neighbors):
    silent.clear()
    unit = sf.Unit.by("who", max_rows=14, neighbors=neighbors)
    with opened(unit, people=given) as session:
        answer = released(session.table(), "marginals", method)
    inside = [row for row in given if row[1] is not None and row[2] is not None]
    assert float(answer.table().value) == pytest.approx(len(inside), abs=1e-6)
    for several in [(name,) for name in COLUMNS] + list(combinations(COLUMNS, 2)):
        exact, found = engine_counts(inside, *several), answer.table(*several)
        for cell in np.ndindex(found.value.shape):
            key = tuple(values[i] for values, i in zip(found.values, cell, strict=True))
            assert found.value[cell] == pytest.approx(exact[key], abs=1e-6), key


@given(given=rows)
@RARELY
@pytest.mark.parametrize("method", LINES)
def test_ranges_without_noise_are_those_of_the_engine(silent, method, given):
    silent.clear()
    with opened(sf.Unit.by("who", max_rows=14), people=given) as session:
        answer = released(session.table(), "ranges", method)
    exact = engine_counts(given, "age")
    pairs = [(low, high) for low in range(AGES) for high in range(low, AGES)]
    found = answer.count([low for low, _ in pairs], [high for _, high in pairs])
    sums = [sum(exact[(age,)] for age in range(low, high + 1)) for low, high in pairs]
    assert found.value == pytest.approx(sums, abs=1e-6)


@st.composite
def neighboring(draw):
    """A table, and one that differs by one unit; and the unit."""
    unit, given = draw(units), draw(rows.filter(bool))
    if unit.column is None:
        gone = draw(st.integers(1, min(unit.max_rows or 1, len(given))))
        other = given[gone:]
        if str(unit.neighbors) == "replace":
            other = other + draw(st.lists(owned, min_size=gone, max_size=gone))
        return unit, given, other
    who = draw(st.sampled_from(sorted({row[0] for row in given})))
    other = [row for row in given if row[0] != who]
    if str(unit.neighbors) == "replace":
        other += [(who, *row[1:]) for row in draw(rows)]
    return unit, given, other


def far(before, after):
    by = [abs(int(b) - int(a)) for a, b in zip(before, after, strict=True)]
    squares = sum(each * each for each in by)
    return {"l0": sum(map(bool, by)), "l1": sum(by), "l2_squared": squares, "linf": max(by)}


@pytest.mark.parametrize(("how", "method"), WAYS)
@given(case=neighboring())
@RARELY
def test_no_unit_moves_what_is_measured_beyond_its_sensitivity(silent, how, method, case):
    unit, given, other = case
    silent.clear()
    # Two tables of one session: one key decides which rows of a unit count in both.
    with opened(unit, one=given, two=other) as session:
        for name in ("one", "two"):
            released(session.table(name), how, method)
    assert len(silent) % 2 == 0
    half = len(silent) // 2
    for (claimed, before), (again, after) in zip(silent[:half], silent[half:], strict=True):
        assert claimed == again
        found = far(before, after)
        note(f"{before} and {after} differ by {found}, claimed {claimed}")
        broken = [n for n, moved in found.items() if moved > (getattr(claimed, n) or 0)]
        assert not broken, f"the answer moved further than its {', '.join(broken)}"
