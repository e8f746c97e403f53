"""The strategies for tables and plans reach what they should: else what they test is not tested."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.core.codec import decode, encode
from sfumato.core.schema import Boolean, Category, Date, Integer, Schema, Text, Timestamp
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation import Call, Filter, Name, Project, Source, Truncate
from sfumato.relation.expr import FUNCTIONS
from sfumato.relation.kind import Number, kind_of
from sfumato.relation.node import walk
from sfumato.testing import expressions, plans, strategies, tables

MIXED = Schema(
    a=Integer(0, 9),
    t=Text(),
    b=Boolean(),
    c=Category(["A", "B"]),
    d=Date("2024-01-01", "2024-12-31"),
    m=Timestamp("2024-01-01", "2024-01-02"),
)
STALE = {"two truncations", "filter above", "other groups", "redefined key"}


def drawn(strategy, count):
    """Return examples of a strategy."""
    found = []

    @given(strategy)
    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    def collect(example):
        found.append(example)

    collect()
    return found


def functions(expr):
    if isinstance(expr, Call):
        yield expr.function
        for argument in expr.arguments:
            yield from functions(argument)


def test_every_function_of_the_whitelist_is_drawn():
    scope = {name: kind_of(column) for name, column in MIXED.items()}
    seen = set()
    for kind in map(type, scope.values()):  # most functions make numbers
        made = expressions.expressions(scope, kind)
        seen |= {n for e in drawn(made, 1500 if kind is Number else 200) for n in functions(e)}
    assert seen == set(FUNCTIONS)


def hidden(queries):
    """Say in which ways a bound could be stale in a tree."""
    nodes = list(walk(queries[0].node))[::-1]
    truncated = [i for i, node in enumerate(nodes) if isinstance(node, Truncate)]
    by, above = nodes[truncated[0]].keys, nodes[truncated[0] + 1 :]
    if len(truncated) > 1:
        yield "two truncations"
    if any(isinstance(node, Filter) for node in above):
        yield "filter above"
    if set(by) - set(queries[0].keys.columns):
        yield "other groups"
    redefined = [(n, e) for node in above if isinstance(node, Project) for n, e in node.columns]
    if any(name in by and expr != Name(name) for name, expr in redefined):
        yield "redefined key"


def test_plans_reach_the_trees_in_which_stale_bounds_hide():
    source = Source("t", MIXED, Unit.by("id", max_rows=2))
    trees = drawn(plans.plans(source, by_hand=True), 300)
    assert {way for queries in trees for way in hidden(queries)} == STALE


@given(strategies.units(st.just("id")).flatmap(lambda u: plans.plans(Source("t", MIXED, u))))
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
def test_plans_survive_the_codec(queries):
    assert [decode(encode(query)) for query in queries] == queries


def caps(unit):
    named = ("max_rows", "max_groups", "max_rows_per_group")
    return tuple(name for name in named if getattr(unit, name) is not None)


def test_every_choice_of_caps_is_drawn_under_both_relations():
    seen = {(u.neighbors, u.column is None, caps(u)) for u in drawn(strategies.units(), 400)}
    assert len(seen) == 2 * (1 + 5)


@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("column", ["id", None])
def test_neighbors_differ_by_one_unit(relation, column):
    """By no more, or a failure would prove nothing; and by no less, or nothing would be tested."""
    unit = Unit(column, 2, neighbors=relation)
    schema = Schema(a=Integer(0, 3))
    pairs = tables.tables(schema, unit).flatmap(
        lambda table: st.tuples(st.just(table), tables.neighbors(table, schema, unit))
    )
    moves = [difference(table, other, unit) for table, other in drawn(pairs, 150)]
    allowed = {
        ("id", Neighbors.ADD_REMOVE): {(0, 0), (1, 0), (0, 1)},
        ("id", Neighbors.REPLACE): {(0, 0), (1, 0), (0, 1), (1, 1)},
        (None, Neighbors.ADD_REMOVE): {(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)},
        (None, Neighbors.REPLACE): {(0, 0), (1, 1), (2, 2)},
    }
    assert set(moves) <= allowed[column, relation]
    assert max(moves) > (0, 0)
    assert len(set(moves)) > 2


def difference(table, other, unit):
    """Return how many units, or rows, one table has and the other has not, or not so."""
    before, after = (Counter(map(str, each.to_pylist())) for each in (table, other))
    if unit.column is None:
        return (before - after).total(), (after - before).total()
    owners = [
        {str(row[unit.column]) for row in each.to_pylist() if str(row) in moved}
        for each, moved in ((table, before - after), (other, after - before))
    ]
    return len(owners[0] - {"-0.0"}), len(owners[1] - {"-0.0"})
