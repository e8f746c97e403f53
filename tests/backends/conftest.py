"""Tables in every form that a backend takes."""
# ruff: noqa: S608 - the SQL is what is tested

import duckdb
import pytest

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.relation.source import Source


@pytest.fixture
def opened():
    """Open tables; they are closed at the end."""
    made = []

    def build(tables, **options):
        made.append(DuckDB.open(tables, **options))
        return made[-1]

    yield build
    for backend in made:
        backend.close()


@pytest.fixture
def codes(opened):
    """Return what a column of one physical table is read as, sorted by nothing."""

    def read(declared, physical, *, name="t", unit=None, column="x", **options):
        source = Source(name, sf.Schema({column: declared}), unit or sf.Unit.row())
        backend = opened({source: physical}, **options)
        answer = backend.run(f'SELECT "{column}" AS code FROM "{name}"', {})
        return answer.column("code").to_pylist()

    return read


@pytest.fixture
def database(tmp_path):
    """Write a DuckDB file with one table, in which every column holds the same values."""

    def write(kind, *values, table="t", columns=("x",)):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TEMP TABLE held (x {kind})")
            if values:
                rows = ", ".join(f"({value})" for value in values)
                connection.execute(f"INSERT INTO held VALUES {rows}")
            picked = ", ".join(f'x AS "{name}"' for name in columns)
            connection.execute(f'CREATE TABLE "{table}" AS SELECT {picked} FROM held')
        return path

    return write
