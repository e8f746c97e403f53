"""The computed sensitivity holds: no unit moves any answer further, whatever schema, plan and data.

Answers are exact, from DuckDB, on raw tables; differences are compared in whole numbers.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Integer, Schema, Text
from sfumato.core.unit import Unit
from sfumato.relation import (
    Aggregate,
    Call,
    Constant,
    Keys,
    Name,
    Project,
    Rows,
    Source,
    Total,
    Truncate,
    bounded,
)
from sfumato.relation.node import scope, unit_of
from sfumato.testing import strategies

sys.path.insert(0, str(Path(__file__).parent))
import difference
import rides
from difference import KEY, SEARCHES, answers, cases, compare, norms, search, taken
from rides import FARE, TIP, owned, planned, table_of

sys.path.pop(0)

# ---- the bound holds -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anywhere", "rows", "units", "trees"])
def test_no_unit_moves_an_answer_beyond_its_sensitivity(name):
    search(*SEARCHES[name], examples=30)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["anywhere", "rows", "units", "trees"])
def test_no_unit_moves_an_answer_beyond_its_sensitivity_in_depth(name):
    search(*SEARCHES[name], seeds=None)


@pytest.mark.parametrize("name", ["windows", "algebra windows"])
def test_release_keeps_the_rows_that_its_sql_says(name):
    search(*SEARCHES[name], examples=30)


@pytest.mark.parametrize("name", ["copies", "algebra copies"])
def test_copy_is_read_as_the_table_is(name):
    search(*SEARCHES[name], examples=30)


ALGEBRA = [name for name in SEARCHES if "," in name or name == "algebra"]


@pytest.mark.parametrize("name", [name for name in ALGEBRA if "order" not in name])
def test_no_unit_moves_an_answer_of_the_algebra_beyond_its_sensitivity(name):
    search(*SEARCHES[name], examples=20)


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in ALGEBRA if "order" not in name])
def test_no_unit_moves_an_answer_of_the_algebra_in_depth(name):
    search(*SEARCHES[name], seeds=None)


@pytest.mark.parametrize("name", ["algebra alone", "algebra, order"])
def test_algebra_works_unit_by_unit_and_in_any_order(name):
    search(*SEARCHES[name], examples=20)


def test_expressions_stay_within_the_range_that_is_summed():
    search(*SEARCHES["ranges"], examples=40)


@pytest.mark.deep
def test_expressions_stay_within_the_range_that_is_summed_in_depth():
    search(*SEARCHES["ranges"], seeds=None)


# ---- the bound is met ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", rides.TIGHT)
def test_tightness(name):
    """Some pair of neighbors attains the bound in each norm: no noise is wasted."""
    cases = rides.tight(name)
    most = dict.fromkeys(("l0", "l1", "l2_squared", "linf"), 0)
    for case in cases:
        (one,), (two,) = answers(case.queries, case.table, case.other)
        most = {norm: max(most[norm], found) for norm, found in norms(one, two).items()}
    claimed = cases[0].queries[0].sensitivity(cases[0].source.unit)
    assert most == {norm: getattr(claimed, norm) for norm in most}


@pytest.mark.parametrize("name", rides.STALE)
def test_bound_is_not_stale(name):
    """One rider does what a bound that was kept too long would not allow."""
    compare(rides.stale(name))


def test_count_of_replaced_rows_needs_no_noise():
    query = planned(Unit.rows(3, "replace"), [], Rows())
    (one,), (two,) = answers([query], table_of(*owned("AAB")), table_of(*owned("CDD", tip=None)))
    assert one == two
    assert query.sensitivity(Unit.rows(3, "replace")).is_zero


# ---- what an answer does not depend on -----------------------------------------------------------


def test_answers_add_up_over_units():
    search(*SEARCHES["alone"], examples=30)


def test_answers_do_not_depend_on_the_order_of_rows():
    search(*SEARCHES["order"], examples=30)


@given(cases())
@settings(max_examples=10)
def test_answers_do_not_depend_on_threads(case):
    one, two, four = (answers(case.queries, case.table, threads=n) for n in (1, 2, 4))
    assert one == two == four


def test_answers_of_a_long_table_do_not_depend_on_order_or_threads(monkeypatch):
    """Long enough that the engine shares the work among threads, and that every cap is active."""
    count = 300_000
    monkeypatch.setattr(difference, "PIECE", 40_000)
    people = {
        "id": [i % 2_000 if i % 3 else 7 for i in range(count)],
        "zone": ["ABCDE"[i * i % 5] for i in range(count)],
        "fare": [i * 31 % 9 - 4 for i in range(count)],
        "tip": [i * 17 % 7 for i in range(count)],
        "ok": [i % 2 == 0 for i in range(count)],
    }
    table = pa.table(people)
    backwards = taken(table, range(count - 1, -1, -1))
    unit = Unit.by("id", max_rows=5, max_groups=2, max_rows_per_group=3)
    queries = [planned(unit, ["zone"], quantity) for quantity in (Total(FARE), Total(FARE, 1))]
    found = [
        answers(queries, each, threads=threads)
        for threads, each in ((1, table), (2, backwards), (4, table))
    ]
    assert found[0] == found[1] == found[2]
    assert any(cell for cell in found[0][0][0])


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.integers(-3, 3)), max_size=6),
    st.lists(st.tuples(st.sampled_from("AB"), st.integers(-3, 3)), min_size=1, max_size=6),
    strategies.units(st.just("id"), most=2),
)
@settings(max_examples=25)
def test_rows_outside_the_cells_change_nothing(extra, inside, unit):
    """They use up no cap: what counts is chosen among the rows that are in a cell."""
    queries = [planned(unit, ["zone"], Total(FARE), given=["A", "B"])]
    kept = [(1, zone, fare, 0) for zone, fare in inside]
    more = [(i % 2, "D" if i % 2 else None, fare, 0) for i, (_, fare) in enumerate(extra)]
    one, two = answers(queries, table_of(*kept), table_of(*more, *kept))
    assert one == two


@pytest.mark.parametrize("key", [KEY, "ff" * 32, "0123456789abcdef" * 4])
def test_equal_rows_are_interchangeable(key):
    unit = Unit.by("id", max_groups=2, max_rows_per_group=2)
    queries = [planned(unit, ["zone"], Total(TIP))]
    people = table_of(*owned("AAAAA", tip=4), *owned("AAA", tip=4, who=2))
    assert answers(queries, people, key=key) == [[[4 * 4, 0, 0, 0]]]


def test_key_decides_which_rows_and_groups_survive():
    unit = Unit.by("id", max_rows=2)
    weights = table_of(*((1, "A", fare, 0) for fare in (-3, -1, 0, 3)))
    keys = [f"{i:064x}" for i in range(12)]
    sums = {answers([planned(unit, [], Total(FARE))], weights, key=k)[0][0][0] for k in keys}
    assert len(sums) > 2
    grouped = planned(Unit.by("id", max_groups=1, max_rows_per_group=1), ["zone"], Rows())
    chosen = {tuple(answers([grouped], table_of(*owned("ABCD")), key=k)[0][0]) for k in keys}
    assert len(chosen) > 2
    assert all(sum(cells) == 1 for cells in chosen)


def test_rows_without_a_unit_do_not_count():
    unit = Unit.by("id", max_rows=2)
    table = table_of((None, "A", 1, 1), (1, "A", 1, 1), (None, "B", 1, 1))
    assert answers([planned(unit, ["zone"], Rows())], table) == [[[1, 0, 0, 0]]]


# ---- names ---------------------------------------------------------------------------------------


def test_a_line_break_in_a_name_or_a_text_stays_what_it_is():
    source = Source("two\nlines", Schema({"a\nb": Text()}), Unit.by("id", max_rows=2))
    keys = Keys.of(scope(source), ["a\nb"], ["x\ny", "z"])
    query = Aggregate(bounded(source, keys, ()), keys, Rows())
    assert answers([query], pa.table({"a\nb": ["x\ny", "z"], "id": [1, 2]})) == [[[1, 1]]]


def refused_or_bounded(make, table, other):
    """Pass if a tree is refused when it is made, or else keeps its bound."""
    try:
        query = make()
    except (sf.errors.QueryError, sf.errors.SchemaError):
        return
    (one,), (two,) = answers([query], table, other)
    claimed = query.sensitivity(unit_of(query.node))
    assert all(found <= getattr(claimed, norm) for norm, found in norms(one, two).items())


@pytest.mark.parametrize("name", ["sfumato_unit", "SFUMATO_UNIT", "Sfumato_Unit"])
def test_no_column_takes_the_place_of_the_unit(name):
    """Engines do not tell case apart, so neither may the check of names."""

    def make():
        source = Source("t", Schema(a=Integer(0, 9)), Unit.by("id", max_rows=1))
        node = Project(source, ((name, Name("a")), ("a", Name("a"))))
        return Aggregate(Truncate(node, (), None, None, 1), Keys(), Rows())

    table = pa.table({"a": list(range(8)), "id": [1] * 8})
    refused_or_bounded(make, table, table.slice(0, 0))


@pytest.mark.parametrize("first", ["x", "X"])
def test_no_column_takes_the_place_of_another(first):
    def make():
        source = Source("t", Schema(a=Integer(0, 9)), Unit.row())
        small = Call("clamp", (Name("a"), Constant(0), Constant(1)))
        node = Project(source, ((first, Name("a")), (first.swapcase(), small)))
        return Aggregate(node, Keys(), Total(Name(first.swapcase())))

    table = pa.table({"a": [9]})
    refused_or_bounded(make, table, table.slice(0, 0))


@pytest.mark.parametrize("first", ["x", "X"])
def test_no_declared_column_takes_the_place_of_another(first):
    def make():
        declared = {first: Integer(0, 9), first.swapcase(): Integer(0, 1)}
        source = Source("t", Schema(declared), Unit.row())
        return Aggregate(source, Keys(), Total(Name(first.swapcase())))

    table = pa.table([[9], [1]], names=[first, first.swapcase()])
    refused_or_bounded(make, table, table.slice(0, 0))
