"""Which rows of a unit stay: as windows in the engine say, whatever the turns, parts and order."""

from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.backends import duckdb as engine_module
from sfumato.backends.duckdb import DuckDB
from sfumato.core.schema import Boolean, Category, Integer, Schema, Text
from sfumato.core.unit import Unit
from sfumato.relation import Source, lower
from sfumato.relation import kept as kept_module
from sfumato.relation.kept import kept, numbered, possible
from sfumato.relation.lower import Names, parameters, truncations
from sfumato.relation.node import Truncate
from sfumato.relation.source import HIDDEN
from sfumato.session import reader, shortlist

KEY = "00" * 32
SCHEMA = Schema(
    zone=Category(["A", "B", "C"], nullable=True),
    fare=Integer(0, 9, nullable=True),
    card=Boolean(nullable=True),
    word=Text(nullable=True),
)
SOURCE = Source("rides", SCHEMA, Unit.by("who", max_rows=9))
UNITS = {
    "numbers": (pa.int64(), st.integers(0, 4)),
    "small numbers": (pa.uint8(), st.sampled_from([0, 1, 255])),
    "small numbers with signs": (pa.int8(), st.sampled_from([-128, -1, 0, 127])),
    "far apart": (pa.int64(), st.sampled_from([-(2**63), 0, 7, 2**63 - 1])),
    "unsigned": (pa.uint64(), st.sampled_from([0, 2**63, 2**64 - 1])),
    "decimals": (pa.decimal128(38, 2), st.integers(-2, 2)),
    "texts": (pa.string(), st.sampled_from(["ann", "bob", "é", "ann "])),
    "bytes": (pa.binary(), st.sampled_from([b"\x00", b"\xff", b"a"])),
    "fractions": (pa.float64(), st.sampled_from([0.0, -0.0, 0.5, 1e300, float("inf")])),
    "truths": (pa.bool_(), st.booleans()),
    "moments": (pa.timestamp("us"), st.integers(0, 3)),
}
FETCHED = pa.schema(
    {
        "c0": pa.string(),
        "c1": pa.int64(),
        "c2": pa.bool_(),
        "c3": pa.string(),
        HIDDEN: pa.int64(),
        "row_turn": pa.uint32(),
        "group_turn": pa.uint32(),
    }
)
RNG = np.random.default_rng(8)
CAP = st.none() | st.integers(1, 4)
CAPS = st.tuples(CAP, CAP, CAP).filter(any)
GROUPS = st.sampled_from([(), ("zone",), ("word",), ("card", "zone"), ("word", "fare")])
ROWS = st.tuples(
    st.none() | st.sampled_from("ABC"),
    st.none() | st.integers(0, 2),
    st.none() | st.booleans(),
    st.none() | st.sampled_from(["x", "y", "z"]),
)


def rides(who, type_, rows):
    columns = {"who": pa.array(who, pa.int64() if type_ == pa.timestamp("us") else type_)}
    columns["who"] = columns["who"].cast(type_)
    held = (pa.string(), pa.int64(), pa.bool_(), pa.string())
    for i, (name, type_of) in enumerate(zip(SCHEMA, held, strict=True)):
        columns[name] = pa.array([row[i] for row in rows], type_of)
    return pa.table(columns)


def listed(table):
    """Return rows as a multiset; zero is one unit, whatever its sign."""
    times = (pa.types.is_temporal, pa.types.is_decimal)  # some are beyond what Python can hold
    columns = [table[name] for name in sorted(table.column_names)]
    columns = [c.cast(pa.string()) if any(is_(c.type) for is_ in times) else c for c in columns]
    columns = [column.to_pylist() for column in columns]
    columns = [[v + 0.0 if isinstance(v, float) else v for v in column] for column in columns]
    return sorted(zip(*columns, strict=True), key=repr)


def both_ways(node, table):
    """Return what stays by windows in the engine, and by the sort that a release uses."""
    with closing(DuckDB.open({SOURCE: table}, threads=1)) as engine:
        windows = engine.run(lower._truncated(node, Names.of(node)), parameters(node, KEY))
        name = truncations(node)[node]
        sorted_ = reader.Reader(engine, KEY).run(lambda *_: f'FROM "{name}"', node, {})
    return listed(windows), listed(sorted_)


def staying(node, unit, columns, row_turn, group_turn):
    """Return the places of rows that stay, as a release finds them."""
    owner = numbered(unit)
    near = possible(node, owner, row_turn, group_turn)
    if near is None:
        return kept(node, owner, columns, row_turn, group_turn).tolist()
    picked = [
        None if c is None else c.take(pa.array(near)) for c in (*columns, row_turn, group_turn)
    ]
    return near[kept(node, owner[near], picked[:-2], *picked[-2:])].tolist()


def weak(columns, bits):
    """Write turns of few bits, at the end or at the beginning, so that many are equal."""
    turn = f"hash($key, {HIDDEN}, {', '.join(map(lower.quoted, columns))})"
    return {
        "strong": f"CAST(hash({turn}) >> 32 AS UINTEGER)",
        "last bit": f"CAST(hash({turn}) % 2 AS UINTEGER)",
        "first bit": f"CAST((hash({turn}) % 2) * 2147483648 AS UINTEGER)",
        "none": "CAST(7 AS UINTEGER)",
    }[bits]


@pytest.mark.parametrize("bits", ["strong", "last bit", "first bit", "none"])
@pytest.mark.parametrize("unit", UNITS)
@given(st.data(), st.lists(ROWS, max_size=40), CAPS, GROUPS, st.sampled_from([3, 7, 2**24]))
@settings(
    max_examples=max(3, settings.default.max_examples // 25),
    suppress_health_check=list(HealthCheck),
)
def test_sort_keeps_what_windows_keep(unit, bits, data, rows, caps, by, part):
    type_, names = UNITS[unit]
    who = data.draw(st.lists(names, min_size=len(rows), max_size=len(rows)))
    table = rides(who, type_, rows)
    node = Truncate(SOURCE, by, *caps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower, "_turn", lambda columns: weak([*columns], bits))
        patch.setattr(reader, "_PART", part)
        patch.setattr(shortlist, "_PIECE", data.draw(st.sampled_from([1, 4, 2**24])))
        patch.setattr(shortlist, "_LIST", data.draw(st.sampled_from([0, 6, 2**25])))
        # Pieces, shares, what comes soon and what is left out for it, of few rows as of many.
        patch.setattr(engine_module, "_BATCH", data.draw(st.sampled_from([1, 5, 2**20])))
        patch.setattr(kept_module, "_WORTH", data.draw(st.sampled_from([0.0, 0.75, 1.1])))
        patch.setattr(kept_module, "_SHARE", data.draw(st.sampled_from([0, 2, 18])))
        patch.setattr(
            kept_module, "_SOON", np.uint32(data.draw(st.sampled_from([1, 2**28, 2**31])))
        )
        windows, sorted_ = both_ways(node, table)
        assert sorted_ == windows
        order = data.draw(st.permutations(range(len(rows))))
        assert both_ways(node, table.take(pa.array(order, pa.int64())))[1] == sorted_


def test_comparing_whole_is_what_decides_between_equal_turns(monkeypatch):
    """Without it, rows and groups with equal turns would stay as they are stored."""
    rows = [("A", 0, None, "x"), ("A", 1, None, "x"), ("B", 0, None, "x"), ("C", 2, True, "y")]
    node, backwards = Truncate(SOURCE, ("zone",), 1, 1, None), [3, 2, 1, 0]
    monkeypatch.setattr(lower, "_turn", lambda columns: weak([*columns], "none"))
    table = rides([1] * 4, pa.int64(), rows)
    assert both_ways(node, table)[1] == both_ways(node, table.take(backwards))[1]
    monkeypatch.setattr(kept_module, "_settle", lambda *_: None)
    assert both_ways(node, table)[1] != both_ways(node, table.take(backwards))[1]


@given(
    st.integers(0, 2**32 - 1),
    st.tuples(CAP, CAP, CAP).filter(any),
    st.sampled_from([(), ("word",), ("zone", "word")]),
    st.sampled_from([2, 2**32]),
)
@settings(max_examples=max(40, settings.default.max_examples))
def test_it_does_not_matter_where_a_piece_ends(seed, caps, by, turns):
    rng, count = np.random.default_rng(seed), 20
    who, zone, word, fare = (rng.integers(0, n, count) for n in (2, 2, 6, 4))
    turn_of_row, turn_of_group = (
        rng.integers(0, turns, shape, np.uint32) for shape in ((2, 2, 6, 4), (2, 2, 6))
    )
    place = zone if "zone" in by else 0 * zone  # what tells groups apart
    table = pa.table(
        [
            pa.array("ABC"[i] for i in zone),
            pa.array(fare),
            pa.nulls(count, pa.bool_()),
            pa.array("uvwxyz"[i] for i in word),
            pa.array(who),
            pa.array(turn_of_row[who, zone, word, fare]),
            pa.array(turn_of_group[who, place, word]),
        ],
        schema=FETCHED,
    )

    def stays(batch, piece, most):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shortlist, "_PIECE", piece)
            patch.setattr(shortlist, "_LIST", most)
            rows = shortlist.Shortlist(Truncate(SOURCE, by, *caps), FETCHED)
            for each in table.to_batches(batch):
                rows.add(each)
            return listed(rows.kept())

    whole = stays(count, count, count)
    assert stays(1, 3, 8) == stays(5, 4, 100) == whole


def test_rows_are_not_capped_before_all_groups_are_there(monkeypatch):
    """A group that comes late may take the place of one whose rows came first."""
    rows = [("A", fare, None, word) for word in "stuvwxyz" for fare in range(2)]
    node, table = Truncate(SOURCE, ("word",), None, 2, 2), rides([1] * 16, pa.int64(), rows)
    orders = [RNG.permutation(16) for _ in range(40)]
    monkeypatch.setattr(shortlist, "_PIECE", 4)
    monkeypatch.setattr(engine_module, "_BATCH", 1)

    def stays():
        return {repr(both_ways(node, table.take(pa.array(order)))[1]) for order in orders}

    assert stays() == {repr(both_ways(node, table)[0])}
    monkeypatch.setattr(shortlist, "at_any_time", lambda node: node)
    assert len(stays()) > 1


def looked_at(monkeypatch):
    """Return a list of how many rows were looked at together, which grows."""
    seen, first = [], shortlist._first

    def noted(node, held):
        seen.append(sum(table.num_rows for table in held))
        return first(node, held)

    monkeypatch.setattr(shortlist, "_first", noted)
    return seen


@pytest.mark.parametrize("by", [("zone",), ("word",), ()])
@pytest.mark.parametrize(
    "caps",
    [
        *[(1, 3, None), (2, None, 4), (1, None, 4), (None, 1, 5), (1, 2, 50), (None, None, 5)],
        *[(None, 3, 4), (2, 3, 4)],  # more rows of all groups than of the unit
    ],
)
def test_a_unit_is_held_up_to_its_caps_however_many_rows_it_has(monkeypatch, caps, by):
    monkeypatch.setattr(shortlist, "_PIECE", 100)
    monkeypatch.setattr(shortlist, "_LIST", 50)
    seen = looked_at(monkeypatch)
    rows = [("ABC"[i % 3], i % 10, None, f"{i}") for i in range(3_000)]
    listed = shortlist.Shortlist(Truncate(SOURCE, by, *caps), FETCHED)
    for at in range(0, len(rows), 50):
        columns = [*zip(*rows[at : at + 50], strict=True)]
        row_turns = RNG.integers(0, 2**32, 50, np.uint32)
        group_turns = [ord(zone) for zone in columns[0]] if by == ("zone",) else row_turns
        held = [*columns, [7] * 50, row_turns, group_turns]
        listed.add(pa.record_batch(held, schema=FETCHED))
    assert listed._listed
    for table in listed._listed:  # no piece is held of which nothing is left
        assert all(len(piece) for piece in table.column(0).chunks)
    assert 0 < listed.kept().num_rows <= (caps[2] or 5)
    assert not listed.long
    assert max(seen) <= 150  # a piece and the batch that filled it


def test_long_texts_fill_a_piece_sooner(monkeypatch):
    monkeypatch.setattr(shortlist, "_PIECE", 100)
    seen = looked_at(monkeypatch)
    rows = shortlist.Shortlist(Truncate(SOURCE, (), None, None, 1), FETCHED)
    for i in range(9):  # each as heavy as 30
        columns = [["A"], [i], [True], ["x" * 30 * 64], [1], [7], [7]]
        rows.add(pa.record_batch(columns, schema=FETCHED))
    assert seen == [4, 4]
    assert rows.kept().num_rows == 1


def test_list_is_long_where_many_rows_are_left_of_all_pieces(monkeypatch):
    monkeypatch.setattr(shortlist, "_PIECE", 10)
    monkeypatch.setattr(shortlist, "_LIST", 40)
    node, turns = Truncate(SOURCE, ("zone",), 1, 1, 1), np.zeros(12, np.uint32)
    for step, long in ((0, False), (12, True)):  # of the same twelve units, or of others
        listed = shortlist.Shortlist(node, FETCHED)
        for at in range(5):
            who = np.arange(12) + at * step
            columns = [["A"] * 12, [0] * 12, [True] * 12, ["x"] * 12, who, turns, turns]
            listed.add(pa.record_batch(columns, schema=FETCHED))
        assert listed.long == (48 if long else 0)  # when the list was last looked through
        assert listed.kept().num_rows == (60 if long else 12)


@pytest.mark.parametrize(
    ("word", "each", "weight"),
    [("x", 1200, 0), ("x", 2, 600), ("x", 12, 0), ("x" * 64 * 9, 12, 1000)],
    ids=["one unit", "units of two rows", "units of twelve", "units of twelve, long texts"],
)
def test_table_of_which_much_may_stay_is_read_in_parts(monkeypatch, word, each, weight):
    """In about as many as what may stay weighs, which is less than its rows or more."""
    for name, size in (("_PIECE", 50), ("_LIST", 100)):
        monkeypatch.setattr(shortlist, name, size)
    monkeypatch.setattr(reader, "_PART", 100)
    monkeypatch.setattr(engine_module, "_BATCH", 10)
    read, stream = [], DuckDB.stream

    def noted(self, found, sql, given, *more):
        read.append(given.get("part"))
        return stream(self, found, sql, given, *more)

    monkeypatch.setattr(DuckDB, "stream", noted)
    table = rides([i // each for i in range(1200)], pa.int64(), [("A", 0, None, word)] * 1200)
    windows, sorted_ = both_ways(Truncate(SOURCE, (), None, None, 1), table)
    assert sorted_ == windows
    assert read[0] is None
    assert read[1:] == [*range(len(read) - 1)]
    assert 0.7 * weight / 100 <= len(read) - 1 <= 1.6 * weight / 100


def test_empty_table():
    node = Truncate(SOURCE, ("zone",), 1, 1, 1)
    assert both_ways(node, rides([], pa.int64(), [])) == ([], [])


@pytest.mark.parametrize("type_", ["HUGEINT", "UHUGEINT", "UUID", "BLOB", "TIMESTAMPTZ", "DATE"])
def test_units_of_types_that_only_engines_have(type_):
    far = {"UHUGEINT": (2**128 - 1, 2**127), "HUGEINT": (2**127 - 1, -(2**127))}
    texts = {
        "UUID": ("00000000-0000-0000-0000-000000000001", "f0000000-0000-0000-0000-000000000000"),
        "BLOB": ("\\xFF", "\\x00"),
        "TIMESTAMPTZ": ("infinity", "2020-01-01 00:00:00+01"),
        "DATE": ("infinity", "0044-03-15 (BC)"),
    }
    one, two = far.get(type_) or texts[type_]
    with closing(duckdb.connect()) as connection:
        connection.execute(f"CREATE TABLE rides (who {type_}, zone VARCHAR, fare INT)")
        connection.execute("ALTER TABLE rides ADD COLUMN card BOOLEAN")
        connection.execute("ALTER TABLE rides ADD COLUMN word VARCHAR")
        for who, rows in ((one, 5), (two, 1)):
            for fare in range(rows):
                row = [str(who), "A", fare, None, None]
                connection.execute("INSERT INTO rides VALUES (?, ?, ?, ?, ?)", row)
        windows, sorted_ = both_ways(Truncate(SOURCE, (), None, None, 3), connection)
    assert sorted_ == windows
    assert len(sorted_) == 4


@pytest.mark.parametrize("type_", [pa.int8(), pa.int16(), pa.int32(), pa.uint16()])
def test_units_from_end_to_end_of_a_type_are_told_apart(type_):
    bits = np.iinfo(type_.to_pandas_dtype())
    low, high = max(bits.min, -20_000), min(bits.max, 20_000)
    who = np.repeat(np.arange(low, high + 1), 2)
    node = Truncate(SOURCE, ("zone",), 1, 1, None)
    zone = pa.chunked_array([pa.array(np.tile([0, 1], who.size // 2))])
    unit = pa.chunked_array([pa.array(who, type_)])
    turns = pa.chunked_array([pa.array(np.arange(who.size, dtype=np.uint32) * 7919)])
    found = staying(node, unit, [zone] * 4, turns, turns)
    assert np.array_equal(np.unique(who[found]), np.arange(low, high + 1))
    assert len(found) == high - low + 1


def test_units_are_never_mixed_up_when_their_turns_are_equal():
    """All turns are equal: only the columns, and at last the unit itself, tell rows apart."""
    node = Truncate(SOURCE, ("zone",), 1, 1, None)
    who = pa.chunked_array([[5, 6, 5, 6, 7]])
    columns = [
        pa.chunked_array([column]) for column in (["B", "A", "A", "A", "B"], [1, 2, 3, 4, 5])
    ]
    columns += [pa.chunked_array([[None] * 5], pa.bool_()), pa.chunked_array([["x"] * 5])]
    turns = pa.chunked_array([[9] * 5], pa.uint32())
    assert staying(node, who, columns, turns, turns) == [1, 2, 4]


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_cap_as_large_as_the_table_keeps_all(rows):
    node = Truncate(SOURCE, ("zone",), rows, rows, rows)
    zone = pa.chunked_array([pa.array(np.arange(rows) % 3)])
    same = pa.chunked_array([pa.array(np.zeros(rows, np.int64))])
    turns = pa.chunked_array([pa.array(np.arange(rows, dtype=np.uint32))])
    assert staying(node, same, [zone, same, same, same], turns, turns) == [*range(rows)]


@pytest.mark.parametrize(("caps", "stay"), [((None, 2, None), [0, 1, 2]), ((1, 2, None), [0, 2])])
def test_rows_of_one_group_count_as_one_group_where_enough_come_soon(caps, stay):
    """Two rows of a group whose turn comes soon are not two groups."""
    zone = pa.chunked_array([pa.array([0, 0, 1, 2])])
    same = pa.chunked_array([pa.array([0, 0, 0, 0])])
    turns = pa.chunked_array([pa.array([5, 5, 2**31, 2**32 - 1], pa.uint32())])
    node = Truncate(SOURCE, ("zone",), *caps)
    assert staying(node, same, [zone, same, same, same], turns, turns) == stay


def test_first_rows_stay_where_many_come_soon():
    turns = pa.chunked_array([pa.array([2**32 - 1, 9, 2**31, 7, 8], pa.uint32())])
    same, rank = (pa.chunked_array([pa.array(column)]) for column in ([0] * 5, [*range(5)]))
    node = Truncate(SOURCE, (), None, None, 2)
    assert staying(node, same, [rank, same, same, same], turns, None) == [3, 4]
    node = Truncate(SOURCE, (), None, None, 4)
    assert staying(node, same, [rank, same, same, same], turns, None) == [1, 2, 3, 4]


@pytest.mark.parametrize("lengths", [(0, 2, 1), (2, 0, 1), (2, 1, 0), (3,), (0, 3)])
def test_pieces_without_rows_are_passed_over(lengths):
    def cut(values, type_):
        rest = list(values)
        return pa.chunked_array([[rest.pop(0) for _ in range(n)] for n in lengths], type_)

    unit, turns = cut([1, 1, 2], pa.int64()), cut([6, 5, 7], pa.uint32())
    node, rank = Truncate(SOURCE, (), None, None, 1), cut([0, 1, 2], pa.int64())
    assert staying(node, unit, [rank] * 4, turns, None) == [1, 2]


def test_no_rows_in_one_piece():
    none = pa.chunked_array([[]], pa.int64())
    node = Truncate(SOURCE, ("zone",), 1, 1, 1)
    assert staying(node, none, [none] * 4, none.cast(pa.uint32()), none.cast(pa.uint32())) == []
