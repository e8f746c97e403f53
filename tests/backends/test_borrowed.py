"""A connection of the user's, whatever is set on it: texts are texts, and nothing is changed."""

from contextlib import closing

import duckdb
import pytest

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import ColumnError, InputError
from sfumato.relation import Source

SCHEMA = sf.Schema(word=sf.Text(), card=sf.Boolean())
SURE = 10**4


@pytest.fixture
def connection():
    with closing(duckdb.connect()) as made:
        made.execute("CREATE TABLE rides (who VARCHAR, word VARCHAR, card BOOLEAN)")
        rows = [("Bob", "a", True), ("bob", "A", False), ("bob", "A", True), ("BOB", "A", True)]
        made.executemany("INSERT INTO rides VALUES (?, ?, ?)", rows)
        yield made


def session(connection):
    unit = sf.Unit.by("who", max_rows=1)
    return sf.Session(
        {"rides": connection}, unit=unit, schema={"rides": SCHEMA}, budget=sf.Budget(10**6)
    )


def counted(connection, column, keys):
    table = session(connection).table("rides").group_by(column, keys=keys)
    return dict(
        zip(keys, table.count().release(epsilon=SURE).to_arrow()["n"].to_pylist(), strict=True)
    )


def test_texts_and_units_are_compared_letter_by_letter(connection):
    connection.execute("SET default_collation = 'nocase'")
    assert counted(connection, "word", ["a", "A"]) == {"a": 1, "A": 2}
    assert connection.execute("SELECT 'a' = 'A'").fetchall() == [(True,)]  # as it was


def test_truth_values_are_such_however_they_would_be_handed_over(connection):
    connection.execute("SET arrow_lossless_conversion = true")
    assert sum(counted(connection, "card", [True, False]).values()) == 3
    assert connection.execute("SELECT current_setting('arrow_lossless_conversion')").fetchall() == [
        (True,)
    ]


def test_texts_are_such_however_they_would_be_handed_over(connection):
    connection.execute("SET produce_arrow_string_view = true")
    connection.execute("SET arrow_output_version = '1.4'")
    assert counted(connection, "word", ["a", "A"]) == {"a": 1, "A": 2}


def test_connection_that_is_locked_otherwise_is_refused(connection):
    connection.execute("SET default_collation = 'nocase'")
    connection.execute("SET lock_configuration = true")
    with pytest.raises(InputError, match="settings of this connection are locked"):
        session(connection)


def test_texts_may_be_longer_than_two_gibibytes_together(connection):
    source = Source("rides", SCHEMA, sf.Unit.row())
    for given in (connection, connection.sql("FROM rides").to_arrow_table()):
        with closing(DuckDB.open({source: given})) as engine:
            found = engine.run("SELECT word AS k0 FROM rides", {})
            assert str(found.schema.field("k0").type) == "large_string"


def test_table_is_not_named_as_those_of_a_plan():
    with pytest.raises(ColumnError, match="Rename it"):
        Source("SFUMATO_kept_0", SCHEMA, sf.Unit.row())
