"""Whatever expression a plan accepts, the engine computes it exactly, in range, row by row."""
# ruff: noqa: S608 - the SQL is what is tested

import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.backends.duckdb import _DISTRUSTED
from sfumato.relation.expr import Call, Constant, Name, literal, quoted, typed
from sfumato.relation.function import FUNCTIONS
from sfumato.relation.kind import Day, Instant, Label, Number, Truth, Words

sys.path.insert(0, str(Path(__file__).parent))

from evaluate import as_value_of, decoded, evaluate
from trees import CHOOSE, MAKES, expressions, rows, scopes

EXAMPLES = max(150, settings().max_examples)


@pytest.fixture(scope="module")
def engine():
    """An engine that believes no statistics, as that of a session."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(f"SET disabled_optimizers = '{','.join(_DISTRUSTED)}'")
        yield connection


def sql_type(kind):
    return {Truth: "BOOLEAN", Words: "VARCHAR"}.get(type(kind), "BIGINT")


def held(scope, row):
    """Write a row of codes as a backend would offer it."""
    return ", ".join(
        f"CAST({'NULL' if row[name] is None else literal(row[name])} AS {sql_type(kind)}) "
        f"AS {quoted(name)}"
        for name, kind in scope.items()
    )


def within(kind, code):
    match kind:
        case Number() | Day():
            return kind.low <= code <= kind.high
        case Label():
            return 0 <= code < len(kind.values)
        case Instant():
            return 0 <= code <= kind.high
        case Truth():
            return isinstance(code, bool)
    return isinstance(code, str)


def test_every_function_is_grown():
    assert {*CHOOSE, *(name for names in MAKES.values() for name in names)} == set(FUNCTIONS)


def check(engine, scope, table, exprs):
    """Hold what the engine computes for each row against what each expression means there."""
    found = [typed(expr, scope) for expr in exprs]
    lines = [f"SELECT {i} AS place, {held(scope, row)}" for i, row in enumerate(table)]
    engine.execute(f"CREATE OR REPLACE TEMP TABLE t AS {' UNION ALL '.join(lines)}")
    asked = ", ".join(f"{t.sql}, typeof({t.sql})" for t in found)
    answers = engine.execute(f"SELECT {asked} FROM t ORDER BY place").fetchall()
    for i, (row, answer) in enumerate(zip(table, answers, strict=True)):
        assert engine.execute(f"SELECT {asked} FROM t WHERE place = {i}").fetchall() == [answer]
        values = {name: decoded(kind, row[name]) for name, kind in scope.items()}
        for expr, t, code, of in zip(exprs, found, answer[::2], answer[1::2], strict=True):
            assert of == sql_type(t.kind)
            assert code is None or within(t.kind, code)
            assert decoded(t.kind, code) == as_value_of(t.kind, evaluate(expr, values, scope))


def test_column_of_which_all_is_missing_fails_no_expression(engine):
    """DuckDB 2.0 does not get over its statistics here: that it fails would tell of the data."""
    head = Call("split_part", (Name("note"), Constant("a"), Constant(1)))
    check(engine, {"note": Words()}, [{"note": None}], [Call("nullif", (Constant("A"), head))])


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_expression_is_exact_in_range_and_sees_one_row(engine, data):
    scope = data.draw(scopes())
    table = data.draw(rows(scope))
    check(engine, scope, table, data.draw(st.lists(expressions(scope), min_size=3, max_size=3)))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@settings(max_examples=max(5, EXAMPLES // 30))
@given(data=st.data())
def test_function_is_exact_in_range_and_sees_one_row(engine, name, data):
    scope = data.draw(scopes())
    table = data.draw(rows(scope))
    grown = expressions(scope, depth=1, name=name)
    check(engine, scope, table, data.draw(st.lists(grown, min_size=3, max_size=3)))


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_expression_of_constants_is_folded_to_the_same(engine, data):
    scope = data.draw(scopes())
    (row,) = data.draw(rows(scope, most=1))
    expr = data.draw(expressions(scope))
    found = typed(expr, scope)
    ((code,),) = engine.execute(f"SELECT {found.sql} FROM (SELECT {held(scope, row)})").fetchall()
    values = {name: decoded(kind, row[name]) for name, kind in scope.items()}
    assert decoded(found.kind, code) == as_value_of(found.kind, evaluate(expr, values, scope))
