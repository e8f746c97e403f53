"""A unit that is in two tables moves what is asked of both together by no more than computed."""

import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import ColumnError
from sfumato.core.schema import Category, Integer, Schema
from sfumato.core.unit import Unit
from sfumato.relation import (
    Aggregate,
    Call,
    Constant,
    Distinct,
    Filter,
    Keys,
    Name,
    PerUnit,
    Rows,
    Source,
    Summary,
    Total,
    Union,
    bound,
    bounded,
)
from sfumato.relation.node import scope, unit_of

sys.path.insert(0, str(Path(__file__).parent))
from difference import dense, norms, read

sys.path.pop(0)

SCHEMA = Schema(zone=Category(["A", "B", "C"]), fare=Integer(-3, 3))
ROWS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from("ABCD"), st.integers(-4, 4)), max_size=8
)
CAPS = st.sampled_from(
    [
        {"max_rows": 2},
        {"max_rows": 3, "max_groups": 1},
        {"max_groups": 2, "max_rows_per_group": 1},
        {"max_rows": 2, "max_rows_per_group": 1},
    ]
)
SHAPES = {
    "plain": Union,
    "filtered": lambda a, b: Union(Filter(a, Call(">", (Name("fare"), Constant(0)))), b),
    "twice": lambda a, b: Union(Union(a, b), a),
    "distinct within unit": lambda a, b: Distinct(Union(a, b), within_unit=True),
    "distinct": lambda a, b: Distinct(bound.truncated(Union(a, b), ()), within_unit=False),
    "one row for each unit": lambda a, b: PerUnit(
        Union(a, b),
        (),
        (("fare", Summary("sum", Name("fare"), 2)), ("zone", Summary("count", None, 3))),
    ),
}


def table(rows, *, text):
    """Return rows; in one of the tables the unit is held as a number, in the other as text."""
    who = [str(r[0]) if text else r[0] for r in rows]
    columns = {"id": pa.array(who, pa.string() if text else pa.int64())}
    columns["zone"] = pa.array([r[1] for r in rows], pa.string())
    columns["fare"] = pa.array([r[2] for r in rows], pa.int64())
    return pa.table(columns)


def answers(queries, sources, data):
    """Return the exact answers on two tables together."""
    held = {
        s: table(rows, text=i > 0) for i, (s, rows) in enumerate(zip(sources, data, strict=True))
    }
    with closing(DuckDB.open(held, threads=1)) as engine:
        return dense(queries, read(engine, queries))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@given(st.data(), ROWS, ROWS, CAPS, CAPS, st.booleans())
@settings(max_examples=max(6, settings.default.max_examples // 10))
def test_unit_of_two_tables(shape, relation, data, first, second, caps, others, grouped):
    units = [Unit.by("id", **each, neighbors=relation) for each in (caps, others)]
    sources = [Source(name, SCHEMA, unit) for name, unit in zip("ab", units, strict=True)]
    node = SHAPES[shape](*sources)
    keys = Keys.of(scope(node), ["zone"] if grouped else [])
    node = bounded(node, keys, (Name("fare"),))
    queries = [Aggregate(node, keys, Rows()), Aggregate(node, keys, Total(Name("fare"), 1))]
    neighbors = []
    for rows in (first, second):
        kept = [row for row in rows if row[0] != 1]
        came = data.draw(ROWS) if relation == "replace" else []
        neighbors.append([*kept, *((1, *row[1:]) for row in came)])
    one, two = answers(queries, sources, (first, second)), answers(queries, sources, neighbors)
    for query, before, after in zip(queries, one, two, strict=True):
        claimed = query.sensitivity(unit_of(node))
        found = norms(before, after)
        assert all(moved <= getattr(claimed, norm) for norm, moved in found.items()), (
            found,
            claimed,
        )


BIG = 10**17
SAME = {
    "int64, text": (pa.array([7]), pa.array(["7"])),
    "int64, double": (pa.array([7]), pa.array([7.0])),
    "large, double": (pa.array([BIG]), pa.array([float(BIG)])),
    "int8, uint64": (pa.array([7], pa.int8()), pa.array([7], pa.uint64())),
    "float, text": (pa.array([7], pa.float32()), pa.array(["7"])),
    "minus zero": (pa.array([0.0]), pa.array([-0.0])),
    "minus zero, integer": (pa.array([0]), pa.array([-0.0])),
    "text, category": (pa.array(["ann"]), pa.array(["ann"]).dictionary_encode()),
    "moments": (pa.array([7], pa.timestamp("us")), pa.array([7], pa.timestamp("us"))),
}


@pytest.mark.parametrize("name", SAME)
def test_unit_that_is_held_in_two_types_is_one(name):
    held = [
        pa.table({"id": pa.concat_arrays([each] * 5), "zone": ["A"] * 5, "fare": [1] * 5})
        for each in SAME[name]
    ]
    sources = [Source(each, SCHEMA, Unit.by("id", max_rows=1)) for each in "ab"]
    query = Aggregate(bounded(Union(*sources), Keys(), ()), Keys(), Rows())
    with closing(DuckDB.open(dict(zip(sources, held, strict=True)))) as engine:
        assert dense([query], read(engine, [query])) == [[2]]


@pytest.mark.parametrize(
    "other",
    [
        pa.array([Decimal("7.00")]),
        pa.array([True]),
        pa.array([7], pa.date32()),
        pa.array([7], pa.timestamp("us")),
        pa.array([b"7"]),
    ],
    ids=lambda array: str(array.type),
)
def test_units_that_cannot_be_compared_are_refused(other):
    sources = [Source(each, SCHEMA, Unit.by("id", max_rows=1)) for each in "ab"]
    rest = {"zone": ["A"], "fare": [1]}
    held = [pa.table({"id": ids, **rest}) for ids in (pa.array([7]), other)]
    with pytest.raises(ColumnError, match="who is who"):
        DuckDB.open(dict(zip(sources, held, strict=True)))
