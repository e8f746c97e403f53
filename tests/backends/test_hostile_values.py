"""For any value of any physical type a reading never fails, and is in range or missing."""
# ruff: noqa: S608 - the SQL is what is tested

import csv
import importlib.util
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import ColumnError
from sfumato.relation.link import Link
from sfumato.relation.source import Source, linked

_spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
hostile = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile)


def source_of(columns):
    return Source("t", sf.Schema(columns), sf.Unit.row())


def everything(opened, physical, columns, rows):
    """Read columns, each named for its declaration, and check them all."""
    answer = opened({source_of(columns): physical}).run('SELECT * FROM "t"', {})
    assert answer.column_names == list(columns)
    hostile.check(answer, rows)
    return answer


@pytest.mark.parametrize("holder", hostile.HOLDERS)
def test_readings_are_total_for_every_type_of_the_engine(holder, opened, database):
    held = hostile.HOLDERS[holder]
    columns = hostile.readable(held.type)
    path = database(held.type, *held.values, columns=columns or ["text"])
    if columns:
        everything(opened, path, columns, len(held.values))
    for refused in [name for name in hostile.DECLARED if name not in columns][:1]:
        declared = hostile.DECLARED[refused][0]
        path = database(held.type, columns=[refused])  # by type: an empty table is refused alike
        with pytest.raises(ColumnError, match="cannot be read as"):
            DuckDB.open({source_of({refused: declared}): path})


def test_readings_are_total_for_text_files(opened, tmp_path):
    columns = hostile.readable("VARCHAR")
    assert columns.keys() == hostile.DECLARED.keys()
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "y"])
        writer.writerows([*([text] * len(columns)), "."] for text in hostile.TEXTS)
    everything(opened, tmp_path / "t.csv", columns, len(hostile.TEXTS))


def test_readings_are_total_for_python_objects(opened):
    values = [*hostile.OBJECTS, pd.NA, pd.NaT, np.datetime64("NaT"), np.float32("inf"), np.int8(7)]
    series = pd.Series(values, dtype=object)
    columns = hostile.readable("VARCHAR")
    everything(opened, pd.DataFrame(dict.fromkeys(columns, series)), columns, len(values))


@pytest.mark.parametrize("values", ["texts", "floats"])
def test_readings_are_total_for_parquet(values, opened, tmp_path):
    held = {"texts": pa.array([*hostile.TEXTS, None]), "floats": pa.array(hostile.FLOATS)}[values]
    columns = hostile.readable({"texts": "VARCHAR", "floats": "DOUBLE"}[values])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(dict.fromkeys(columns, held)), path, row_group_size=3)
    everything(opened, path, columns, len(held))


FRAMES = {
    "pandas float": (
        "DOUBLE",
        lambda: pd.DataFrame({"x": pd.array(hostile.FLOATS[4:], "float64")}),
    ),
    "pandas float16": (
        "FLOAT",
        lambda: pd.DataFrame({"x": np.array([1, np.nan, np.inf], "float16")}),
    ),
    "pandas longdouble": (
        "DOUBLE",
        lambda: pd.DataFrame({"x": np.array([1, np.nan, 7], "longdouble")}),
    ),
    "pandas Int64": (
        "BIGINT",
        lambda: pd.DataFrame({"x": pd.array([1, None, 2**63 - 1], "Int64")}),
    ),
    "pandas uint64": ("UBIGINT", lambda: pd.DataFrame({"x": np.array([1, 2**64 - 1], "uint64")})),
    "pandas boolean": ("BOOLEAN", lambda: pd.DataFrame({"x": pd.array([True, None], "boolean")})),
    "pandas category": ("VARCHAR", lambda: pd.DataFrame({"x": pd.Categorical(["A", None, "7"])})),
    "pandas number category": ("BIGINT", lambda: pd.DataFrame({"x": pd.Categorical([7, None, 9])})),
    "pandas str": ("VARCHAR", lambda: pd.DataFrame({"x": pd.array(["A", None, "7"], "str")})),
    "pandas python str": (
        "VARCHAR",
        lambda: pd.DataFrame({"x": pd.array(["A", None, "7"], pd.StringDtype("python"))}),
    ),
    "pandas sparse": (
        "DOUBLE",
        lambda: pd.DataFrame({"x": pd.arrays.SparseArray([0.0, np.nan, 7.0])}),
    ),
    "pandas datetime": (
        "TIMESTAMP",
        lambda: pd.DataFrame({"x": pd.to_datetime(["1700-01-01", None])}),
    ),
    "pandas zoned": (
        "TIMESTAMP",
        lambda: pd.DataFrame({"x": pd.to_datetime(["2020-01-01"], utc=True)}),
    ),
    "polars text": ("VARCHAR", lambda: pl.DataFrame({"x": ["A", None, "7"]})),
    "polars enum": (
        "VARCHAR",
        lambda: pl.DataFrame({"x": pl.Series(["A", None], dtype=pl.Enum(["A"]))}),
    ),
    "polars float": ("DOUBLE", lambda: pl.DataFrame({"x": hostile.FLOATS})),
    "polars object": (
        "VARCHAR",
        lambda: pl.DataFrame({"x": pl.Series([object(), None, 7], dtype=pl.Object)}),
    ),
    "polars null": ('"NULL"', lambda: pl.DataFrame({"x": [None, None]})),
    "arrow null": ('"NULL"', lambda: pa.table({"x": pa.nulls(2)})),
    "arrow empty": (
        "TIMESTAMP_S",
        lambda: pa.table({"x": pa.chunked_array([], pa.timestamp("s", "UTC"))}),
    ),
    "arrow decimal256": (
        "VARCHAR",
        lambda: pa.table({"x": pa.array(["9" * 60, None]).cast(pa.decimal256(70, 2))}),
    ),
    "arrow date32": ("DATE", lambda: arrow([2**31 - 1, -(2**31), 0], pa.int32(), pa.date32())),
    "arrow date64": (
        "TIMESTAMP_MS",
        lambda: arrow([2**63 - 1, -(2**63), 0], pa.int64(), pa.date64()),
    ),
    **{
        f"arrow timestamp {unit} {zone}": (
            {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}[
                unit
            ],
            lambda unit=unit, zone=zone: arrow(
                [2**63 - 1, -(2**63), -(2**63) + 1, 2**62, -1, 0],
                pa.int64(),
                pa.timestamp(unit, zone),
            ),
        )
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Paris")
    },
    "arrow dictionary": (
        "VARCHAR",
        lambda: pa.table({"x": pa.array(["A", None]).dictionary_encode()}),
    ),
    "arrow view": ("VARCHAR", lambda: pa.table({"x": pa.array(["A", None], pa.string_view())})),
    "arrow half": ("FLOAT", lambda: pa.table({"x": pa.array([np.float16(1), None], pa.float16())})),
}


def arrow(values, raw, kind):
    return pa.table({"x": pa.array([*values, None], raw).view(kind)})


@pytest.mark.parametrize("frame", FRAMES)
def test_readings_are_total_for_frames(frame, opened):
    kind, make = FRAMES[frame]
    made = make()
    columns = hostile.readable(kind)
    repeated = dict.fromkeys(columns, made["x"])
    wide = pa.table(repeated) if isinstance(made, pa.Table) else type(made)(repeated)
    everything(opened, wide, columns, len(made))


@pytest.fixture(scope="module")
def readers():
    """Tables of a few types, to be filled again and again, and the backends that read them."""
    made = {}
    for kind in ("VARCHAR", "DOUBLE", "BIGINT", *MOMENTS.values()):
        connection = duckdb.connect()
        columns = hostile.readable(kind)
        connection.execute(f"CREATE TABLE held (x {kind})")
        picked = ", ".join(f'x AS "{name}"' for name in columns)
        connection.execute(f"CREATE VIEW t AS SELECT {picked} FROM held")
        made[kind] = connection, DuckDB.open({source_of(columns): connection})
    yield made
    for connection, backend in made.values():
        backend.close()
        connection.close()


MOMENTS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}


FEW = settings(max_examples=settings().max_examples // 4)  # each reads up to fifty values


def fill(readers, kind, array):
    connection, backend = readers[kind]
    connection.register("incoming", pa.table({"x": array}))
    connection.execute("DELETE FROM held")
    connection.execute("INSERT INTO held FROM incoming")
    hostile.check(backend.run('SELECT * FROM "t"', {}), len(array))


@FEW
@given(texts=st.lists(st.text(max_size=30), max_size=50))
def test_readings_of_any_text_are_in_range(readers, texts):
    fill(readers, "VARCHAR", pa.array([t.encode(errors="replace").decode() for t in texts], "str"))


@FEW
@given(texts=st.lists(st.from_regex(r"[+-]?[0-9.]{1,25}([eE][+-]?[0-9]{1,4})?", fullmatch=True)))
def test_readings_of_numbers_as_text_are_in_range(readers, texts):
    fill(readers, "VARCHAR", pa.array(texts, "str"))


ISO = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
    r" ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)


@FEW
@given(texts=st.lists(st.from_regex(ISO, fullmatch=True)))
def test_readings_of_moments_as_text_are_in_range(readers, texts):
    fill(readers, "VARCHAR", pa.array(texts, "str"))


@given(values=st.lists(st.floats()))
def test_readings_of_any_double_are_in_range(readers, values):
    fill(readers, "DOUBLE", pa.array(values, pa.float64()))


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_readings_of_any_integer_are_in_range(readers, values):
    fill(readers, "BIGINT", pa.array(values, pa.int64()))


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1)), unit=st.sampled_from(list(MOMENTS)))
def test_readings_of_any_moment_are_in_range(readers, values, unit):
    fill(readers, MOMENTS[unit], pa.array(values, pa.int64()).view(pa.timestamp(unit)))


def test_units_whose_names_are_damaged_are_not_taken_for_one(tmp_path):
    """They would share their caps, and what counts of one would depend on the other."""
    names = pa.array([b"\xff", b"\xfe", b"a\xff", b"ok", b"why?"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": names, "x": range(5)}), tmp_path / "t.parquet")
    unit = sf.Unit.by("id", max_rows=1)
    source = Source("t", sf.Schema(x=sf.Integer(0, 9)), unit)
    found = DuckDB.open({source: tmp_path / "t.parquet"}).run('SELECT x FROM "t"', {})
    assert found.column("x").to_pylist() == [3]


def test_damaged_keys_lead_to_nobody(tmp_path):
    """They would use up the caps of whoever has the key that they look like."""
    keys = pa.array([b"a\xff", b"a\xfe", b"ok"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"order": keys, "x": range(3)}), tmp_path / "lines.parquet")
    orders = pa.table({"id": ["a?", "ok"], "who": [1, 2], "y": [0, 0]})
    sources = linked(
        [
            Source("orders", sf.Schema(y=sf.Integer(0, 9)), sf.Unit.by("who", max_rows=1)),
            Source("lines", sf.Schema(x=sf.Integer(0, 9)), sf.Unit.by("order", max_rows=1)),
        ],
        {"lines": (Link("order", "orders", "id"),)},
    )
    opened = DuckDB.open(dict(zip(sources, (orders, tmp_path / "lines.parquet"), strict=True)))
    assert opened.run('SELECT x FROM "lines"', {}).column("x").to_pylist() == [2]
