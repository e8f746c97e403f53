"""Our own engine reaches the declared files and nothing else, and writes nothing anywhere."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import InternalError
from sfumato.relation.source import Source

SCHEMA = sf.Schema(x=sf.Integer(0, 9))


def source(name="t", unit=None):
    return Source(name, SCHEMA, unit or sf.Unit.row())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with declared files, one that is not declared, and one to write to."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x\n1\n")
    (tmp_path / "secret.csv").write_text("x\n2\n")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "p.parquet")
    for name in ("d", "other"):
        with duckdb.connect(tmp_path / f"{name}.duckdb") as connection:
            connection.execute("CREATE TABLE d AS SELECT 1 AS x")
    return tmp_path


@pytest.fixture
def inside(folder, opened):
    """Return the engine's own connection: what a statement could do that got past every check."""
    backend = opened(
        {
            source("t"): folder / "t.csv",
            source("p"): folder / "p.parquet",
            source("d"): folder / "d.duckdb",
            source("f"): pa.table({"x": [1]}),
        }
    )
    return backend._cursor()


FORBIDDEN = [
    "COPY (SELECT 1) TO 'out.csv'",
    "COPY (SELECT 1) TO 'out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE 'out'",
    "SELECT * FROM read_csv('secret.csv')",
    "SELECT * FROM 'secret.csv'",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_blob('secret.csv')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    "ATTACH 'other.duckdb'",
    "ATTACH 'other.duckdb' (READ_ONLY)",
    "ATTACH 'new.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "INSTALL h3 FROM community",
    "SET threads = 1",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET lock_configuration",
    "SET temp_directory = 'spill'",
    "SET allowed_directories = ['/']",
    "SET disabled_optimizers = ''",
    "SET TimeZone = 'Europe/Paris'",
    "SET python_enable_replacements = true",
    "SET autoload_known_extensions = true",
    "PRAGMA enable_profiling",
    "PRAGMA enable_progress_bar",
    "CALL enable_logging()",
    "SET log_query_path = 'queries.log'",
    "CREATE TABLE file_0.main.copy AS SELECT 1",
    "INSERT INTO file_0.main.d VALUES (2)",
    "DROP TABLE file_0.main.d",
    "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "SELECT * FROM variable_of_this_test",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_engine_refuses(statement, inside, folder):
    variable_of_this_test = pa.table({"x": [1]})
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(duckdb.Error):
        inside.execute(statement).fetchall()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert len(variable_of_this_test) == 1


def test_engine_is_configured_as_documented(inside):
    settings = dict(inside.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    expected = {
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
        "enable_logging": "0",
        "enable_profiling": None,
        "enable_progress_bar": "false",
        "lock_configuration": "true",
        "log_query_path": "",
        "max_temp_directory_size": "0 bytes",
        "python_enable_replacements": "false",
        "python_scan_all_frames": "false",
        "temp_directory": "",
        "TimeZone": "UTC",
    }
    assert {name: settings[name] for name in expected} == expected


NO_SELECT = [
    "COPY (SELECT 1) TO 't.csv' (USE_TMP_FILE false)",
    "CREATE TABLE x AS SELECT 1",
    "INSERT INTO memory.main.frame_0 VALUES (3)",
    "DELETE FROM memory.main.frame_0",
    "SELECT 1 AS x; SELECT 2 AS x",
    "SELECT 1 AS x; DROP TABLE memory.main.frame_0",
    "SET VARIABLE x = 1",
    "EXPLAIN SELECT 1",
    "PRAGMA version",
    "",
]


@pytest.mark.parametrize("statement", NO_SELECT)
def test_run_takes_one_select_and_nothing_else(statement, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x\n1\n")
    backend = opened({source("t"): tmp_path / "t.csv", source("f"): pa.table({"x": [1]})})
    with pytest.raises(InternalError):
        backend.run(statement, {})
    assert (tmp_path / "t.csv").read_text() == "x\n1\n"
    assert backend.run('SELECT count(*) AS n FROM "f"', {}).to_pydict() == {"n": [1]}


def test_rows_never_spill_to_a_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"x": pa.array(range(2_000_000)), "who": pa.array(range(2_000_000))})
    (tmp_path / "data").mkdir()
    pq.write_table(table, tmp_path / "data" / "t.parquet")
    watched = [tmp_path, tmp_path / "data"]
    before = [sorted(folder.iterdir()) for folder in watched]
    large = Source("t", sf.Schema(x=sf.Integer(0, 2**40)), sf.Unit.by("who", max_rows=1))
    backend = DuckDB.open({large: tmp_path / "data" / "t.parquet"}, memory="30MB", threads=1)
    question = (
        "SELECT count(*) AS n FROM (SELECT x, row_number() OVER "
        '(PARTITION BY sfumato_unit ORDER BY hash(x)) AS k FROM "t") WHERE k <= 1'
    )
    with pytest.raises(InternalError):
        backend.run(question, {})
    assert [sorted(folder.iterdir()) for folder in watched] == before
    assert backend.run('SELECT count(*) AS n FROM "t"', {}).to_pydict() == {"n": [2_000_000]}
    backend.close()
    assert [sorted(folder.iterdir()) for folder in watched] == before


def test_database_file_is_opened_for_reading_only(folder, opened):
    before = (folder / "d.duckdb").read_bytes()
    backend = opened({source("d"): folder / "d.duckdb"})
    assert backend.run('SELECT x FROM "d"', {}).to_pydict() == {"x": [1]}
    backend.close()
    assert (folder / "d.duckdb").read_bytes() == before
    assert not (folder / "d.duckdb.wal").exists()


def test_connection_of_the_user_keeps_its_settings():
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        question = "SELECT name, value FROM duckdb_settings() ORDER BY name"
        tables = "SELECT * FROM duckdb_tables()"
        before = [connection.execute(text).fetchall() for text in (question, tables)]
        backend = DuckDB.open({source("t"): connection})
        assert backend.run('SELECT x FROM "t"', {}).to_pydict() == {"x": [1]}
        assert [connection.execute(text).fetchall() for text in (question, tables)] == before
        backend.close()
        assert connection.execute("SELECT x FROM t").fetchall() == [(1,)]


def test_time_zone_of_the_user_moves_no_moment(codes):
    declared = sf.Timestamp("2020-01-01", "2020-01-02", step=3600)
    days = sf.Date("2019-12-30", "2020-01-02")
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        with duckdb.connect() as connection:
            connection.execute(f"SET TimeZone = '{zone}'")
            connection.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2020-01-01 02:00+00' AS x")
            connection.execute("CREATE TABLE u (x VARCHAR)")
            connection.execute("INSERT INTO u VALUES ('2020-01-01 02:00'), ('2020-01-01 02:00Z')")
            assert codes(declared, connection) == [2]
            assert codes(days, connection) == [18262]
            assert codes(declared, connection, name="u") == [2, 2]


@pytest.mark.parametrize(
    "setting",
    [
        "ieee_floating_point_ops = false",
        "default_collation = 'NOCASE'",
        "integer_division = true",
        "default_null_order = 'NULLS_FIRST'",
    ],
)
def test_settings_of_the_user_change_no_reading(setting, codes):
    cases = {
        "DOUBLE": (
            sf.Real(0, 210, step="0.7"),
            [1e308, -1e308, float("nan"), 0.7],
            [300, 0, None, 1],
        ),
        "VARCHAR": (sf.Category(["a", "B"]), ["A", "a", "b", "B"], [None, 0, None, 1]),
        "TIMESTAMP": (
            sf.Timestamp("2020-01-01", "2020-01-02", step=3600),
            ["2020-01-01 01:59:00", "infinity"],
            [1, 24],
        ),
    }
    for kind, (declared, values, expected) in cases.items():
        with duckdb.connect() as connection:
            connection.execute(f"SET {setting}")
            connection.execute(f"CREATE TABLE t (x {kind})")
            for value in values:
                connection.execute("INSERT INTO t VALUES ($v)", {"v": value})
            assert codes(declared, connection) == expected


def test_interrupted_query_is_an_interruption_and_no_failure(opened):
    backend = opened({source("t"): pa.table({"x": [1]})})

    def interrupted(_):
        raise RuntimeError("Query interrupted")  # so the engine says that it took the signal

    with pytest.raises(KeyboardInterrupt) as caught:
        backend._answer("SELECT 1 AS m0", {}, {}, interrupted)
    assert caught.value.__context__ is None
