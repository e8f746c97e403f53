# ruff: noqa: S608 - nothing that is written here is run, which is what is tested
"""Texts that try to reach past the question: refused, or harmless for a reason that is shown.

The engine is spied upon: whatever is asked, what reaches it names no table and no function but
those of the plan, and the text of an analyst reaches it as a literal or not at all.
"""

import json
import re
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from sqlglot import exp, parse_one

from sfumato.core.errors import SfumatoError
from sfumato.testing.town import tables, town

sys.path.insert(0, str(Path(__file__).parents[2] / "property"))
from test_sql_fuzz import check_lowered

sys.path.pop(0)

COUNT = "SELECT COUNT(*) FROM trips"
PRICES = count(1)  # no question is asked twice, or its stored answer would be given
FILE = "/etc/passwd"

COMMANDS = [
    "COPY trips TO '/tmp/x.csv'",
    f"COPY trips FROM '{FILE}'",
    "COPY (SELECT * FROM trips) TO '/tmp/x.parquet' (FORMAT parquet)",
    "ATTACH '/tmp/x.db' AS y",
    "DETACH memory",
    "USE memory",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET memory_limit",
    "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'",
    "CREATE TABLE x AS SELECT * FROM trips",
    "CREATE MACRO f(x) AS x",
    "CREATE FILE s (TYPE s3)",
    "INSERT INTO trips VALUES (1)",
    "DELETE FROM trips",
    "UPDATE trips SET fare = 0",
    "DROP TABLE trips",
    "ALTER TABLE trips ADD COLUMN x INT",
    "TRUNCATE trips",
    "CALL duckdb_settings()",
    "EXECUTE q",
    "PREPARE q AS SELECT 1",
    "BEGIN",
    "CHECKPOINT",
    "VACUUM",
    "SUMMARIZE trips",
    "SHOW ALL TABLES",
    "FROM trips",
    "TABLE trips",
    "VALUES (1)",
    "EXPLAIN ANALYZE SELECT * FROM trips",
]
SOURCES = [
    *(f"{name}('{FILE}')" for name in ("read_csv", "read_csv_auto", "read_text", "read_blob")),
    *(f"{name}('{FILE}')" for name in ("read_parquet", "read_json", "glob", "sniff_csv")),
    *("duckdb_tables()", "duckdb_secrets()", "duckdb_settings()", "pragma_table_info('trips')"),
    *("range(1000000000)", "generate_series(1, 9)", "unnest([1, 2])", "query('SELECT 1')"),
    *("query_table('trips')", "sqlite_scan('x', 'y')", "postgres_scan('x', 'y', 'z')"),
    *(f"'{FILE}'", f'"{FILE}"', "'https://example.org/x.csv'", "'trips'' UNION SELECT 1'"),
    *("information_schema.tables", "information_schema.columns", "pg_catalog.pg_tables"),
    *("main.trips", "memory.main.trips", "temp.trips", "sqlite_master", "duckdb_columns"),
    *("sfumato_unit", "sfumato_kept_0", "sfumato_kept", '"sfumato_kept_0"', "private", "public"),
    *('"trips; DROP TABLE trips"', '"trips"" UNION SELECT 1"', "trips; DROP TABLE trips"),
]
CONDITIONS = [
    *("getenv('HOME') = ''", "current_setting('threads') = '1'", "version() = 'x'"),
    *("current_user = 'x'", "current_schema() = 'x'", "txid_current() = 1", "random() < 1"),
    *("now() > TIMESTAMP '2026-01-01'", "nextval('s') = 1", "error('x') = 1", "sleep(9)"),
    *("system('id')", "write_log('x')", "hash(rider) = 1", "md5(name) = 'x'", "rowid = 1"),
    *("sfumato_unit = 7", '"sfumato_unit" = 7', "trips.sfumato_unit = 7", "$key = 'x'"),
    *("1 = 1; DROP TABLE trips", "1 = 1 -- x", "1 = 1 /* x */", "1 = 1 # x", "/*! x */ 1 = 1"),
    *(
        "name = E'a'",
        "name = $$a$$",
        "name = $t$a$t$",
        "name = U&'a'",
        "name = x'41'",
        "name = b'1'",
    ),
    *("name = 'a' OR EXISTS (SELECT 1 FROM trips)", "name = 'a\\'' OR 1 = 1"),
    *("fare > (SELECT MAX(fare) FROM trips)", "rider IN (SELECT rider FROM trips)"),
    *(
        "CAST(fare / 0 AS INTEGER) = 1",
        "CAST(name AS INET) = 'x'",
        "regexp_matches(name, '(a+)+$')",
    ),
    *("list_reduce([1], x -> x) = 1", "name COLLATE nocase = 'a'", "getvariable('x') = 1"),
]
LOOKALIKES = [
    "SELECT COUNT(*) FROM trips\uff1b DROP TABLE trips",  # fullwidth semicolon
    "SELECT COUNT(*) FROM trips\u037e DROP TABLE trips",  # Greek question mark
    "SELECT COUNT(*) FROM tr\u0456ps",  # Cyrillic i
    "SELECT COUNT(*) FROM trips WHERE \u0433ider = 7",
    "SELECT COUNT(*) FROM trips WHERE r\u200bider = 7",  # zero width
    "SELECT COUNT(*) FROM trips WHERE \u202erider = 7",  # right to left
    "SELECT COUNT(*) FROM trips WHERE \uff52\uff49\uff44\uff45\uff52 = 7",  # fullwidth letters
    "SELECT COUNT(*) FROM trips WHERE RIDER = 7",
    "SELECT COUNT(*) FROM trips WHERE \u212aider = 7",
    "\ufeffSELECT * FROM trips",
    "SELECT\u00a0*\u00a0FROM\u00a0trips",
    "SELECT COUNT(*) FROM trips WHERE r\u0131der = 7",
    "SELECT COUNT(*) FROM trips\x00; DROP TABLE trips",
    "SELECT COUNT(*) FROM trips WHERE name = '\ud800'",
]
# Rows that the parser nests as deep as they are long, and digits that Python would not read.
LONG = [
    f"{COUNT} WHERE {' AND '.join(['hour = 1'] * 4000)}",
    f"{COUNT} WHERE {' AND '.join(['(hour < 9 OR vip)'] * 900)}",
    f"SELECT zone, COUNT(*) FROM trips WHERE {' AND '.join(['vip'] * 400)} GROUP BY ROLLUP (zone)",
    f"{COUNT} JOIN zones ON {' OR '.join(['zone = id'] * 2000)}",
    f"SELECT COUNT(*){' + 1' * 500} FROM trips",
    f"SELECT SUM(fare{' || 1' * 900}) FROM trips",
    f"SELECT zone, COUNT(*) FROM trips GROUP BY zone HAVING {' OR '.join(['COUNT(*) > 1'] * 1500)}",
    f"{COUNT} LIMIT {'9' * 5000}",
    f"{COUNT} LIMIT 1 OFFSET {'9' * 5000}",
    f"{COUNT} FETCH FIRST {'9' * 5000} ROWS ONLY",
    f"{COUNT} GROUP BY {'9' * 5000}",
    f"SELECT ROUND(COUNT(*), {'9' * 5000}) FROM trips",
    f"SELECT SUM(n) FROM (SELECT rider, COUNT(*) AS n FROM trips GROUP BY {'9' * 5000})",
]
# Each is a question like any other: what is odd in it is a value, or a name of the answer's own.
HARMLESS = {
    "SELECT COUNT(*) FROM trips WHERE name = '''; DROP TABLE trips; --'": "a quote is doubled",
    "SELECT COUNT(*) FROM trips WHERE name = '\\'": "a backslash is a character",
    "SELECT COUNT(*) FROM trips WHERE name = 'a\\' OR 1 = 1": "nor does it hold a quote back",
    "SELECT COUNT(*) FROM trips WHERE name = 'a' 'b'": "two texts in a row are one, as in SQL",
    "SELECT COUNT(*) FROM trips WHERE name = '$key'": "no parameter inside of a text",
    "SELECT COUNT(*) FROM trips WHERE name = '/* x */ -- y'": "no comment inside of a text",
    "SELECT COUNT(*) FROM trips WHERE name LIKE '%''%'": "a pattern is a literal",
    "SELECT COUNT(*) FROM trips WHERE name LIKE '.*\\E\\Q_'": "signs of regular expressions too",
    "SELECT COUNT(*) FROM trips WHERE name = '\uff1b\u202e\u0430\u200b'": "any letters in a text",
    "SELECT COUNT(*) FROM trips;;": "nothing behind a semicolon",
    'SELECT COUNT(*) AS "n; DROP TABLE trips" FROM trips': "a name of the answer",
    'SELECT zone AS "a"";--", COUNT(*) AS n FROM trips GROUP BY 1': "a name in double quotes",
    'SELECT SUM("x\'; --") FROM (SELECT fare AS "x\'; --" FROM trips)': "a name of a column",
    "WITH \"read_csv('x')\" AS (SELECT * FROM trips) SELECT COUNT(*) FROM \"read_csv('x')\"": (
        "a query that the question names so"
    ),
    "WITH sfumato_kept_0 AS (SELECT * FROM trips) SELECT COUNT(*) FROM sfumato_kept_0": (
        "the names of WITH never reach the engine"
    ),
}
VALUES = [
    "'; DROP TABLE trips; --",
    "' OR '1' = '1",
    "x' UNION SELECT * FROM trips --",
    "$key",
    "\\'",
    "read_csv('/etc/passwd')",
    "\u2019 OR 1=1",
    "a\nb -- c",
    "/*",
]
REFUSED = [
    *COMMANDS,
    *(f"{COUNT}; {command}" for command in COMMANDS),
    *(f"SELECT COUNT(*) FROM {source}" for source in SOURCES),
    *(f"SELECT COUNT(*) FROM trips, {source} AS x" for source in SOURCES),
    *(f"WITH x AS (SELECT * FROM {source}) SELECT COUNT(*) FROM x" for source in SOURCES),
    *(f"{COUNT} WHERE {condition}" for condition in CONDITIONS),
    *(f"SELECT COUNT(*) FILTER (WHERE {condition}) FROM trips" for condition in CONDITIONS),
    *(f"SELECT SUM(CASE WHEN {condition} THEN 1 END) FROM trips" for condition in CONDITIONS),
    *(f"SELECT zone, COUNT(*) FROM trips GROUP BY zone HAVING {each}" for each in CONDITIONS),
    *LOOKALIKES,
]


class Spy:
    """Stands before an engine and keeps what is run."""

    def __init__(self, engine):
        self.engine, self.run_texts = engine, []

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def run(self, sql, *rest, **named):
        self.run_texts.append(sql)
        return self.engine.run(sql, *rest, **named)

    def stream(self, read, sql, *rest, **named):
        self.run_texts.append(sql)
        return self.engine.stream(read, sql, *rest, **named)


@pytest.fixture(scope="module")
def session():
    with town(tables(40)) as made:
        made._backend = Spy(made._backend)
        yield made


@pytest.fixture
def spied(session):
    """A session, and what it lets the engine run from now on."""
    session._backend.run_texts.clear()
    return session, session._backend.run_texts


def literals(sql):
    return {each.this for each in parse_one(sql, read="duckdb").find_all(exp.Literal)}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: json.dumps(text)[1:80])
def test_what_reaches_past_the_question_is_refused(text, session):
    head, run = session.ledger.head, len(session._backend.run_texts)
    with pytest.raises(SfumatoError) as caught:
        session.sql(text, epsilon=1, delta="1e-6")
    assert session.ledger.head == head  # nothing spent
    assert len(session._backend.run_texts) == run  # and nothing run
    assert "root:" not in str(caught.value)


@pytest.mark.parametrize("text", LONG, ids=lambda text: json.dumps(text)[1:80])
def test_long_row_is_planned_or_refused_in_words(text, session):
    head = session.ledger.head
    with suppress(SfumatoError):
        session.explain(text, epsilon=1, delta="1e-6", keys=None)
    assert session.ledger.head == head


def test_parser_says_nothing_on_the_console(session, caplog):
    with pytest.raises(SfumatoError), caplog.at_level(0, "sqlglot"):
        session.explain("WITH a AS (SHOW rider FROM trips) SELECT COUNT(*) FROM trips", epsilon=1)
    assert caplog.records == []


@pytest.mark.parametrize("text", HARMLESS, ids=lambda text: json.dumps(text)[1:80])
def test_what_only_looks_like_an_attack_is_answered(text, spied):
    session, run = spied
    session.sql(text, epsilon=next(PRICES))
    assert run
    for sql in run:
        check_sent(sql)


@pytest.mark.parametrize("value", VALUES)
def test_value_of_a_parameter_reaches_the_engine_as_a_literal(value, spied):
    session, run = spied
    session.sql(f"{COUNT} WHERE name = ?", parameters=[value], epsilon=next(PRICES))
    for sql in run:
        check_sent(sql)
    assert any(value in literals(sql) for sql in run)


@pytest.mark.parametrize("place", ["FROM ?", "FROM trips GROUP BY ?", "FROM trips ORDER BY ?"])
def test_value_of_a_parameter_is_no_name(place, spied):
    session, run = spied
    with pytest.raises(SfumatoError):
        session.sql(f"SELECT COUNT(*) {place}", parameters=["trips"], epsilon=1)
    assert run == []


def test_keys_reach_the_engine_as_literals(spied):
    session, run = spied
    text = "SELECT name, COUNT(*) FROM trips GROUP BY name"
    session.sql(text, keys=VALUES, epsilon=next(PRICES))
    assert run
    for sql in run:
        check_sent(sql)


def check_sent(sql):
    """What runs is made of the same parts as what `explain` shows, and of kept tables."""
    found = {each.name for each in parse_one(sql, read="duckdb").find_all(exp.Table)}
    check_lowered(sql, kept={name for name in found if re.fullmatch(r"sfumato_kept_\d+", name)})
