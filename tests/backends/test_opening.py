"""Opening refuses by public facts alone, and says what to do."""
# ruff: noqa: S608 - the SQL is what is tested

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import ColumnError, InputError, UnknownName
from sfumato.ledger import Ledger
from sfumato.relation.source import Source


def source(name="t", unit=None, **columns):
    return Source(name, sf.Schema(columns or {"x": sf.Integer(0, 9)}), unit or sf.Unit.row())


def refusal(tables, kind, **options):
    with pytest.raises(kind) as caught:
        DuckDB.open(tables, **options)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.csv", "there is no file"),
        ("nowhere/*.parquet", "no file matches"),
        ("t.xlsx", "what kind of file"),
        ("t", "what kind of file"),
        ("t\0", "what kind of file"),
        ("t" * 5000, "what kind of file"),
        ("t.parquet.gz", "what kind of file"),
        ("https://example.org/t.parquet", "Copy it here first"),
        ("s3://bucket/t.parquet", "Copy it here first"),
        ("file:///t.csv", "pass its path"),
        ("postgresql://host/db#t", "Copy it here first"),
        ("duckdb:nowhere.db#t", "there is no file"),
        (42, "no table"),
        (None, "no table"),
        ({"x": [1]}, "no table"),
        (b"t.csv", "no table"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_table_is_refused(given, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refusal({source(): given}, InputError)


@pytest.mark.parametrize(
    "given", ["ledger.db", "duckdb:ledger.db#events", "copy.csv", "*.db", "copy.ledger"]
)
def test_ledger_is_no_table_and_keeps_its_locks(given, tmp_path, monkeypatch):
    """To close its file, by whatever means, would drop them."""
    monkeypatch.chdir(tmp_path)
    unit, budget = sf.Unit.row(), sf.Budget(1)
    with closing(Ledger.create("ledger.db", budget, unit)) as ledger:
        head = ledger.head
        for copy in ("copy.csv", "copy.ledger"):
            Path(copy).hardlink_to("ledger.db")
        assert "an SQLite database, such as a ledger" in refusal({source(): given}, InputError)
        look = "from sfumato.ledger import Ledger; Ledger.open('ledger.db').close()"
        subprocess.run([sys.executable, "-c", look], check=True)
        assert Path("ledger.db-wal").exists()  # the other saw that it is not the last one
        assert ledger.head == head


def test_lazy_frame_is_refused_with_the_way_out():
    assert ".collect()" in refusal({source(): pl.LazyFrame({"x": [1]})}, InputError)


def test_relation_is_refused_with_the_way_out():
    with duckdb.connect() as connection:
        said = refusal({source(): connection.sql("SELECT 1 AS x")}, InputError)
    assert "Pass its connection" in said


def test_folder_and_pattern_in_a_name_are_refused(tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    assert "is a folder" in refusal({source(): tmp_path / "folder.parquet"}, InputError)
    (tmp_path / "a[1].csv").write_text("x\n1\n")
    assert "pattern" in refusal({source(): tmp_path / "a[1].csv"}, InputError)


@pytest.mark.parametrize("name", ["t.parquet", "t.duckdb", "t.db"])
def test_damaged_file_is_refused_without_its_content(name, tmp_path):
    (tmp_path / name).write_bytes(b"canary-7719 " * 1000)
    assert "canary" not in refusal({source(): tmp_path / name}, InputError)


FORMS = {
    "pandas": lambda folder: pd.DataFrame({"Age": [1], "zone": ["A"]}),
    "polars": lambda folder: pl.DataFrame({"Age": [1], "zone": ["A"]}),
    "arrow": lambda folder: pa.table({"Age": [1], "zone": ["A"]}),
    "parquet": lambda folder: written(folder / "t.parquet"),
    "csv": lambda folder: written(folder / "t.csv"),
    "duckdb": lambda folder: written(folder / "t.duckdb"),
}


def written(path):
    if path.suffix == ".csv":
        path.write_text("Age,zone\n1,A\n")
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"Age": [1], "zone": ["A"]}), path)
    else:
        with duckdb.connect(path) as connection:
            connection.execute("CREATE TABLE other AS SELECT 1 AS Age, 'A' AS zone")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_missing_column_is_named_with_those_that_exist(form, tmp_path, opened):
    held = FORMS[form](tmp_path)
    said = refusal({source(zones=sf.Text()): held}, UnknownName)
    assert "no column 'zones'" in said
    assert "'Age', 'zone'" in said
    assert "Did you mean 'zone'?" in said
    unit = sf.Unit.by("rider", max_rows=1)
    assert "no column 'rider'" in refusal({source(zone=sf.Text(), unit=unit): held}, UnknownName)
    backend = opened({source(age=sf.Integer(0, 9)): held})  # another case is no other column
    assert backend.run('SELECT age FROM "t"', {}).to_pydict() == {"age": [1]}


def test_exact_case_comes_first_and_two_others_are_refused(tmp_path, opened):
    table = pa.table({"X": [1], "x": [2]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("X,x\n1,2\n")
    for held in (table, table.to_pandas(), tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert opened({source(): held}).run('SELECT x FROM "t"', {}).to_pydict() == {"x": [2]}
    many = pa.table({"Ab": [1], "AB": [2]})
    pq.write_table(many, tmp_path / "m.parquet")
    for held in (many, tmp_path / "m.parquet"):
        said = refusal({source(ab=sf.Integer(0, 9)): held}, UnknownName)
        assert "2 columns" in said


def test_column_named_twice_in_a_frame_is_refused():
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    assert "2 columns" in refusal({source(): frame}, UnknownName)


def test_parquet_files_that_differ_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "2.parquet")
    assert "same columns and types" in refusal({source(): f"{tmp_path}/*.parquet"}, InputError)


def test_folder_named_like_a_partition_adds_no_column(tmp_path):
    (tmp_path / "x=3").mkdir()
    pq.write_table(pa.table({"y": [1]}), tmp_path / "x=3" / "t.parquet")
    assert "no column 'x'" in refusal({source(): f"{tmp_path}/*/t.parquet"}, UnknownName)


@pytest.fixture
def library(tmp_path):
    with duckdb.connect(tmp_path / "many.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        connection.execute("CREATE TABLE u AS SELECT 2 AS x")
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.v AS SELECT 3 AS x")
        connection.execute("CREATE VIEW w AS SELECT 4 AS x")
    return tmp_path / "many.db"


def test_table_of_a_database_is_chosen_by_its_name(library, opened):
    def value(held):
        return opened({source(): held}).run('SELECT x FROM "t"', {}).to_pydict()["x"]

    assert value(library) == [1]
    assert value(f"duckdb:{library}") == [1]
    assert value(f"duckdb:{library}#u") == [2]
    assert value(f"duckdb:{library}#s.v") == [3]
    assert value(f"duckdb:{library}#v") == [3]
    said = refusal({source(): f"duckdb:{library}#w"}, InputError)
    assert "main.t, main.u, s.v" in said
    assert "which table" in refusal({source("other"): library}, InputError)


def test_two_tables_of_one_database_are_opened_together(library, opened):
    backend = opened({source("t"): library, source("u"): library})
    assert backend.run('SELECT t.x + u.x AS x FROM "t", "u"', {}).to_pydict() == {"x": [3]}


def test_connection_without_the_table_is_refused():
    with duckdb.connect() as connection:
        t = pa.table({"x": [1]})  # a variable of the table's name is not the table
        connection.register("t", t)
        assert "no table 't'" in refusal({source(): connection}, InputError)
        assert "no table 'secret.csv'" in refusal({source("secret.csv"): connection}, InputError)


def test_connections_do_not_mix_with_others():
    with duckdb.connect() as one, duckdb.connect() as two:
        one.execute("CREATE TABLE t AS SELECT 1 AS x")
        two.execute("CREATE TABLE u AS SELECT 1 AS x")
        mixed = {source("t"): one, source("u"): pa.table({"x": [1]})}
        assert "one engine" in refusal(mixed, InputError)
        assert "one engine" in refusal({source("t"): one, source("u"): two}, InputError)


def test_names_that_differ_in_case_only_are_refused():
    frame = pa.table({"x": [1]})
    assert "same name" in refusal({source("t"): frame, source("T"): frame}, InputError)


def test_no_table_and_wrong_settings_are_refused():
    assert "no table to open" in refusal({}, InputError)
    assert "does not start" in refusal({source(): pa.table({"x": [1]})}, InputError, memory="much")


@pytest.mark.parametrize(
    "declared",
    [sf.Category(["a\0b"]), sf.Category(["\ud800"]), sf.Real("1e-300", "1e-290", step="1e-300")],
    ids=["character 0", "no Unicode", "no double"],
)
def test_declaration_that_no_engine_can_hold_is_refused(declared):
    refusal({source(x=declared): pa.table({"x": [1.0]})}, ColumnError)


def test_names_with_quotes_are_names(opened, tmp_path):
    name, column = "a\"b'c; DROP", 'x"; --'
    held = pa.table({column: [1], "u'": ["me"]})
    pq.write_table(held, tmp_path / "it's.parquet")
    kind = Source(name, sf.Schema({column: sf.Integer(0, 9)}), sf.Unit.by("u'", max_rows=1))
    for form in (held, tmp_path / "it's.parquet"):
        quoted = name.replace('"', '""')
        answer = opened({kind: form}).run(f'SELECT * EXCLUDE (sfumato_unit) FROM "{quoted}"', {})
        assert answer.to_pydict() == {column: [1]}


def test_column_of_a_frame_that_has_no_reading_is_refused():
    frame = pd.DataFrame({"x": pd.to_timedelta([1], unit="s")})
    assert "cannot be read as Integer()" in refusal({source(): frame}, ColumnError)
    frame = pd.DataFrame({"x": [1 + 2j]})
    assert "cannot be held" in refusal({source(): frame}, InputError)
    assert opened_without(frame)


def opened_without(frame):
    """A column that is not declared is not looked at."""
    backend = DuckDB.open({source(y=sf.Integer(0, 9)): frame.assign(y=1)})
    answer = backend.run('SELECT y FROM "t"', {})
    backend.close()
    return answer.to_pydict() == {"y": [1]}
