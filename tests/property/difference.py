"""How far answers lie apart on neighboring tables, against what the plan says one unit can do."""

from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

import pyarrow as pa
from hypothesis import (
    HealthCheck,
    Phase,
    currently_in_test_context,
    given,
    note,
    seed,
    settings,
)
from hypothesis import strategies as st

from sfumato.backends import duckdb
from sfumato.backends.duckdb import DuckDB
from sfumato.core.unit import Unit
from sfumato.relation import Aggregate, Expr, Node, Source, Values, copied
from sfumato.relation.expr import typed
from sfumato.relation.kind import Number
from sfumato.relation.lower import lowered, lowered_values, parameters
from sfumato.relation.node import children, scope, sources
from sfumato.session import shortlist
from sfumato.session.reader import Reader
from sfumato.testing import expressions, plans, strategies, tables

PIECE = 2  # rows that are handed over together; twice as many are looked at
KEY = "00" * 32
NAMED = strategies.units(st.sampled_from(tables.UNIT_NAMES), most=3)


@dataclass(frozen=True)
class Case:
    """Questions, and two tables between which one unit makes all the difference."""

    queries: list[Aggregate]
    table: pa.Table
    other: pa.Table

    def __repr__(self):
        return f"{len(self.queries)} questions on {self.table.num_rows} rows"  # the rest is noted

    @property
    def source(self):
        return sources(self.queries[0].node)[0]


@st.composite
def cases(draw, units=NAMED, by_hand=None, algebra=()):
    """Everything at random: unit, schema, plan, table and neighbor."""
    unit = draw(units)
    schema = draw(tables.schemas(unit))
    source = Source("people", schema, unit)
    queries = draw(plans.plans(source, by_hand=by_hand, algebra=algebra))
    table = draw(tables.tables(schema, unit))
    return Case(queries, table, draw(tables.neighbors(table, schema, unit)))


def search(strategy, check, examples=None, *, seeds=0, shrink=True):
    """Check examples in batches of ten, each from its own seed; from none if `seeds` is None.

    As many as the profile asks for, if nothing is said.

    After ten examples hypothesis tries five variations of each new one. That is good for tests that
    take no time; here it would leave a sixth of the plans.
    """
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    limits = settings(
        max_examples=10,
        deadline=None,
        database=None,
        derandomize=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    for batch in range((examples or settings.default.max_examples) // 10):

        @limits
        @given(strategy)
        def each(case):
            check(case)

        (each if seeds is None else seed(seeds + batch)(each))()


def compare(case):
    """Fail if neighbors lie further apart than a question says, in any norm."""
    describe(case)
    both = answers(case.queries, case.table, case.other)
    for query, before, after in zip(case.queries, *both, strict=True):
        claimed, found = query.sensitivity(case.source.unit), norms(before, after)
        say(f"{query.quantity}: {before} and {after} differ by {found}, claimed {claimed}")
        broken = [name for name, moved in found.items() if moved > getattr(claimed, name)]
        assert not broken, f"the answer moved further than its {', '.join(broken)}"


def add_up(case):
    """Fail if what counts of one unit depends on the others, or on where their rows stand."""
    owners = case.table.column(case.source.unit.column).to_pylist()
    names = dict.fromkeys(who for who in owners if who is not None and who == who)  # noqa: PLR0124
    places = [[i for i, who in enumerate(owners) if who == name][::-1] for name in names]
    describe(case)
    parts = [taken(case.table, place) for place in places] or [taken(case.table, [])]
    whole, *alone = answers(case.queries, case.table, *parts)
    say(f"together {whole}, alone {alone}")
    for i, together in enumerate(whole):
        assert together == [sum(cell) for cell in zip(*(part[i] for part in alone), strict=True)]


def reorder(case):
    """Fail if an answer depends on the order in which rows are stored."""
    describe(case)
    backwards = taken(case.table, range(case.table.num_rows - 1, -1, -1))
    one, two = answers(case.queries, case.table, backwards)
    assert one == two


def use_windows(case):
    """Fail if windows in the engine would leave other rows out than a release does."""
    describe(case)
    with closing(DuckDB.open({case.source: case.table}, threads=1)) as engine:
        found = read(engine, case.queries)
        values = parameters(case.queries[0].node, KEY)
        other = engine.run(lowered(case.queries, "duckdb"), values)
    assert dense(case.queries, found) == dense(case.queries, other)


def use_copies(case):
    """Fail if a copy of a table is read otherwise than the table."""
    describe(case)
    with closing(DuckDB.open({case.source: case.table}, threads=1)) as engine:
        found, other = read_copied(engine, case.queries), read(engine, case.queries)
    assert dense(case.queries, found) == dense(case.queries, other)


@dataclass(frozen=True)
class Ranged:
    """Expressions, and a table that they are computed on."""

    source: Source
    table: pa.Table
    exprs: list[Expr]


@st.composite
def ranged(draw):
    """Numbers computed from random columns."""
    schema = draw(tables.schemas())
    source = Source("t", schema, Unit.row())
    made = expressions.expressions(scope(source), Number, depth=3)
    drawn = draw(st.lists(made, min_size=4, max_size=4))
    return Ranged(source, draw(tables.tables(schema, Unit.row())), drawn)


def stay_within(case):
    """Fail if an expression leaves the range on which the sensitivity of its sum rests."""
    found = [typed(expr, scope(case.source)) for expr in case.exprs]
    ends = [f"min({t.sql}) AS low{i}, max({t.sql}) AS high{i}" for i, t in enumerate(found)]
    say(rows(case.table))
    with closing(DuckDB.open({case.source: case.table}, threads=1)) as engine:
        [ends] = engine.run(f"SELECT {', '.join(ends)} FROM t", {}).to_pylist()  # noqa: S608
    for i, each in enumerate(found):
        low, high = ends[f"low{i}"], ends[f"high{i}"]
        say(f"{each.kind}: {each.sql} is from {low} to {high}")
        assert low is None or each.kind.low <= low <= high <= each.kind.high


BY_COLUMN = NAMED.filter(lambda unit: unit.column is not None)
BY_ROWS = NAMED.filter(lambda unit: unit.column is None)
FREE = ("distinct", "union", "join")  # of the algebra, what does not need to know the unit
ADDITIVE = tuple(step for step in plans.ALGEBRA if step != "distinct")  # unit by unit
# What is drawn and what is asserted; a search in a narrower place finds more in the same time.
SEARCHES = {
    "anywhere": (cases(), compare),
    "rows": (cases(units=BY_ROWS), compare),
    "units": (cases(units=BY_COLUMN, by_hand=False), compare),
    "trees": (cases(units=BY_COLUMN, by_hand=True), compare),
    "alone": (cases(units=BY_COLUMN), add_up),
    "order": (cases(units=BY_COLUMN, by_hand=False), reorder),
    "windows": (cases(units=BY_COLUMN), use_windows),
    "copies": (cases(), use_copies),
    "algebra copies": (cases(algebra=plans.ALGEBRA), use_copies),
    "ranges": (ranged(), stay_within),
    **{f"{step}, rows": (cases(units=BY_ROWS, algebra=[step]), compare) for step in FREE},
    **{
        f"{step}, units": (cases(units=BY_COLUMN, algebra=[step]), compare)
        for step in plans.ALGEBRA
    },
    "algebra": (cases(algebra=plans.ALGEBRA), compare),
    "algebra alone": (cases(units=BY_COLUMN, algebra=ADDITIVE), add_up),
    "algebra windows": (cases(units=BY_COLUMN, algebra=plans.ALGEBRA), use_windows),
    "algebra, order": (cases(units=BY_COLUMN, by_hand=False, algebra=plans.ALGEBRA), reorder),
}


def answers(queries, *given, key=KEY, threads=1):
    """Return the exact answers on each table: for each question one whole number a cell."""
    [source] = sources(queries[0].node)
    renamed = [replace(source, name=f"table {i}") for i in range(len(given))]
    with closing(DuckDB.open(dict(zip(renamed, given, strict=True)), threads=threads)) as engine:
        return [dense(queries, read(engine, moved(queries, source), key)) for source in renamed]


def read(engine, queries, key=KEY, given=None):
    """Return what a release would read."""
    return _run(Reader(engine, key), queries, given)


def read_copied(engine, queries, key=KEY, given=None):
    """Return what a release would read of a table that is worth a copy."""
    with patch.object(copied, "_OFTEN", 1):
        return _run(Reader(engine, key, queries), queries, given)


def _run(reader, queries, given):
    """Read few rows as if they were many: where a piece ends depends on the rows of others."""
    [node] = {query.node for query in queries}
    values = isinstance(queries[0], Values)
    statement = partial(lowered_values, queries[0]) if values else partial(lowered, queries)
    pieces = patch.multiple(shortlist, _PIECE=PIECE, _LIST=3 * PIECE)
    with pieces, patch.object(duckdb, "_BATCH", PIECE):
        return reader.run(statement, node, given or {})


def moved(queries, source):
    """Ask the same of another table."""
    return [replace(query, node=_rebased(query.node, source)) for query in queries]


def _rebased(node: Node, source: Source) -> Node:
    if isinstance(node, Source):
        return source
    names = ("first", "second") if len(children(node)) == 2 else ("child",)
    return replace(node, **{name: _rebased(getattr(node, name), source) for name in names})


def dense(queries, found):
    """Put the cells that the engine found among all that there are; the others are zero."""
    keys = queries[0].keys
    columns = [found.column(f"k{i}").combine_chunks() for i in range(len(keys.columns))]
    places = keys.index(columns).tolist()
    inside = [place for place in places if place >= 0]
    assert len(set(inside)) == len(inside), "two groups of the engine are one cell"
    filled = []
    for i in range(len(queries)):
        cells = [0] * len(keys)
        for place, number in zip(places, found.column(f"m{i}").to_pylist(), strict=True):
            assert type(number) is int, "only whole numbers are measured"
            if place >= 0:
                cells[place] = number
        filled.append(cells)
    return filled


def norms(before, after):
    """Return the exact norms of a difference."""
    by = [abs(b - a) for a, b in zip(before, after, strict=True)]
    return {
        "l0": sum(map(bool, by)),
        "l1": sum(by),
        "l2_squared": sum(each * each for each in by),
        "linf": max(by),
    }


def describe(case):
    """Note what a person needs who looks for the mistake."""
    say(f"{case.source.unit!r} of {case.source.schema!r}")
    say(lowered(case.queries, "duckdb"))
    say(f"table {rows(case.table)}")
    say(f"other {rows(case.other)}")


def say(text):
    """Note it, if hypothesis is there to print it."""
    if currently_in_test_context():
        note(text)


def rows(table):
    """Write a table."""
    head = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
    return "\n  ".join([f"({head})", *(str(tuple(row.values())) for row in table.to_pylist())])


def taken(table, places):
    """Return those rows, in that order."""
    return table.take(pa.array(list(places), pa.int64()))
