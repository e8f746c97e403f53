"""Poison: a row on which a careless engine would fail changes nothing but numbers under noise.

Each question is put to a table with the row and to the table without it. What can be seen must be
the same to the last byte: explanation, SQL, refusal or success, charge, shape, notes, output on
the console. With the same words for the noise the answers differ by no more than the sensitivity.
"""

import io
import logging
import struct
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.errors import InternalError, SfumatoError
from sfumato.relation.expr import Call
from sfumato.relation.function import FUNCTIONS
from sfumato.sql.expression import parse
from sfumato.testing import SeededRng

# ---- what can be seen of a question --------------------------------------------------------------


def seen(session, ask):
    """Return all that an analyst can see of a question, and its noisy numbers apart."""
    shown = {"ledger before": events(session)}
    try:
        question = ask(session.table())
        plan = question.explain(epsilon=8)
        shown |= {"plan": repr(plan), "facts": plan.to_dict(), "question": repr(question)}
        session._rng = SeededRng(7)
        measured = question.session.perform(plan.parts)
        release = plan.release()
    except SfumatoError as error:
        assert not isinstance(error, InternalError), error  # it would be a failure of the engine
        shown |= {"status": type(error).__name__, "message": str(error), "of": repr(vars(error))}
        return {**shown, "ledger": events(session)}, []
    shown |= {
        "status": "answered",
        "shape": [(m.name, len(m), m.mechanism, m.scale, m.covers) for m in release.measures],
        "columns": release.columns,
        "keys": release.keys,
        "facts of it": (release.notes, release.unit, release.confidence, release.durable),
        "cost": (repr(release.cost), repr(release.price), session.remaining),
        "ledger": events(session),
    }
    numbers = [
        (part.sensitivity, each.measures[0].values)
        for part, each in zip(plan.parts, measured, strict=True)
    ]
    return shown, numbers


def events(session):
    """Return what the ledger says but for hashes, ids and times."""
    return [(e.kind, e.plan, e.loss_bytes, e.charge_bytes) for e in session.ledger.history()]


@contextmanager
def heard(capfd):
    """Return what was logged, and what was written to the console by whatever means."""
    log, out = io.StringIO(), {}
    handler, root = logging.StreamHandler(log), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    capfd.readouterr()
    try:
        yield out
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        out["log"], out["console"] = log.getvalue(), tuple(capfd.readouterr())


def compare(with_it, without, questions, capfd):
    """Put questions to both, and see that nothing differs but noisy numbers, within bounds."""
    outcomes, sounds = [], []
    for session in (with_it, without):
        with heard(capfd) as sound:
            outcomes.append([seen(session, ask) for ask in questions])
        sounds.append(sound)
    assert sounds[0] == sounds[1] == {"log": "", "console": ("", "")}
    for (shown, numbers), (expected, others) in zip(*outcomes, strict=True):
        assert shown == expected
        for (moved, values), (_, rest) in zip(numbers, others, strict=True):
            apart = [abs(int(a) - int(b)) for a, b in zip(values, rest, strict=True)]
            assert max(apart, default=0) <= moved.linf, shown["question"]
            assert sum(apart) <= moved.l1, shown["question"]
    assert not with_it.ledger.closed
    return [shown["status"] for shown, _ in outcomes[0]]


# ---- poison in values ----------------------------------------------------------------------------

SCHEMA = sf.Schema(
    n=sf.Integer(-10, 10),
    far=sf.Integer(-(2**58), 2**58),
    x=sf.Real(-1000, 1000, step="0.01"),
    word=sf.Text(),
    zone=sf.Category(["A", "B", "0"]),
    yes=sf.Boolean(),
    day=sf.Date("0001-01-01", "9999-12-31"),
    at=sf.Timestamp("1900-01-01T00:00:00", "2100-01-01T00:00:00", step=1),
)
TYPES = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int64()),
        ("far", pa.int64()),
        ("x", pa.float64()),
        ("word", pa.string()),
        ("zone", pa.string()),
        ("yes", pa.string()),
        ("day", pa.string()),
        ("at", pa.string()),
    ]
)
CALM = [
    ["p1", 1, 5, 1.5, "one", "A", "true", "2026-02-03", "2026-02-03T04:05:06"],
    ["p2", 2, -5, 2.5, "two", "B", "false", "2026-02-28", "2026-02-28T23:59:59"],
    ["p3", -3, 2**40, -7.25, "three", "A", "true", "2024-02-29", "1999-12-31T00:00:00"],
]
LOW, HIGH = -(2**63), 2**63 - 1
INF, NAN = float("inf"), float("nan")
POISON = {
    "zeros": [0, 0, 0.0, "", "0", "0", "1970-01-01", "1970-01-01T00:00:00"],
    "negative zero": [0, 0, -0.0, "0", "0", "f", "0001-01-01", "1900-01-01"],
    "least": [LOW, LOW, -INF, "\0", "", "no", "0001-01-01", "0001-01-01T00:00:00"],
    "most": [HIGH, HIGH, INF, "\U0010ffff", "Z", "yes", "9999-12-31", "9999-12-31T23:59:59"],
    "bounds below": [-10, -(2**58), -1000.0, "-", "A", "0", "0001-01-01", "1900-01-01"],
    "bounds above": [10, 2**58, 1000.0, "+", "B", "1", "9999-12-31", "2100-01-01T00:00:00"],
    "not a number": [7, HIGH, NAN, "nan", "nan", "nan", "nan", "nan"],
    "missing": [None] * 8,
    "subnormal": [-1, -1, 5e-324, "5e-324", "B", "t", "0001-01-01", "1969-12-31T23:59:59.999"],
    "largest double": [1, 1, 1.7976931348623157e308, "1e999", "B", "TRUE", "1582-10-10", "now"],
    "no date": [1, 1, 1.0, "(((", "it's", "2", "0000-00-00", "2026-02-30T25:61:61"],
    "year 0": [1, 1, 1.0, "[a-", "A' OR 1=1", "junk", "0000-01-01", "0000-01-01T00:00:00"],
    "infinite date": [1, 1, 1.0, "%_\\", "a", "", "infinity", "-infinity"],
    "before Christ": [1, 1, 1.0, "é", "A ", " true", "0044-03-15 (BC)", "10000-01-01"],
    "zone of time": [1, 1, 1.0, "x", "A\0", "T", "2026-01-01+14", "0001-01-01T00:00:00+14:00"],
    "leap second": [1, 1, 1.0, "\u202e", "a", "F", "2026-12-31", "2026-12-31T23:59:60Z"],
    "long": [1, 1, 0.005, "x" * 1_000_000, "A" * 50_000, "9" * 5_000, "9" * 400, "1" * 400],
    "text like SQL": [3, 3, 3.0, "'; DROP TABLE t; --", "NULL", "NULL", "NULL", "epoch"],
}

NUMBERS = [
    *("n", "far", "x", "n + far", "far + far", "x - far", "-far", "-(-far)", "abs(far)", "abs(n)"),
    *("n * n", "x * x", "n * x", "x / 3", "x / (-7)", "far / 1000000", "x / 0.001"),
    *("divide(1, n, 1)", "divide(x, n, 0.01)", "divide(far, n, 1)", "divide(n, x, 1)"),
    *("divide(far, far, 1)", "divide(0, far, 1)", "n // 3", "far // 1000003", "x // 0.07", "n % 3"),
    *(
        "far % 10",
        "x % 0.7",
        "floor(x)",
        "floor(x, 100)",
        "floor(far, 1024)",
        "magnitude(far)",
        "magnitude(x, 0.01)",
        "ceil(x)",
        "ceil(n, 7)",
    ),
    *(
        "ceil(far, 4096)",
        "round(x)",
        "round(x, 1)",
        "round(x, -3)",
        "round(far, -17)",
        "integer(x)",
    ),
    *(
        "integer(yes)",
        "integer(far < 0)",
        "least(n, far)",
        "greatest(x, n, far)",
        "greatest(far, 0)",
    ),
    *(
        "clamp(far, -1, 1)",
        "clamp(x, 0, 0)",
        "clamp(n, 5, 100)",
        "coalesce(n, far)",
        "nullif(n, 0)",
    ),
    *(
        "coalesce(divide(1, n, 1), 0)",
        "nullif(far, far)",
        "CASE WHEN n > 0 THEN divide(1, n, 1) END",
    ),
    *(
        "CASE WHEN yes THEN far ELSE -far END",
        "CASE WHEN x > 0 THEN 1 WHEN n > 0 THEN 2 ELSE 3 END",
    ),
    *(
        "year(day)",
        "quarter(day)",
        "month(day)",
        "day(day)",
        "weekday(day)",
        "year(at)",
        "month(at)",
    ),
    *(
        "hour(at)",
        "minute(at)",
        "weekday(at)",
        "day(date(at))",
        "year(day) * 365 + month(day) * 30",
    ),
    *("(far // 2) + (far // 2)", "n * n * n * n * n * n", "x * x * x * x", "2147483647 + n"),
    *("sign(x)", "power(n, 10)", "root(x, 0.01)", "root(far, 1024)", "CAST(x AS DOUBLE)"),
    *("CAST(word AS TINYINT)", "CAST(word AS SMALLINT)", "CAST(word AS BIGINT)"),
    *("CAST(word AS DECIMAL(9, 2))", "length(word)", "strpos(word, '(')", "strpos('(((', word)"),
    *("length(substr(word, n, far))", "length(left(word, n))", "length(right(word, far))"),
    *("length(split_part(word, '(', 2))", "length(replace(word, '(', ')))'))"),
    *("length(concat(word, zone, word))", "length(word || word)", "length(CAST(n AS VARCHAR))"),
    *("week(day)", "dayofyear(day)", "dayofweek(day)", "week(at)", "second(at)"),
    *("date_diff('day', day, date(at))", "date_diff('month', at, at)", "day - date(at)"),
]
CONDITIONS = [
    *("n = 0", "x = 0", "x <> x", "x < 0", "x <= -1000", "x > 999.99", "x >= 1000", "far = far"),
    *("far < -9223372036854775", "not (x > 0)", "not yes", "yes and x > 0", "yes or n / 2 > 0"),
    *(
        "x in (0, 1.5, 1000)",
        "word in ('one', '(((', '')",
        "word = 'x'",
        "word <> ''",
        "zone = '0'",
    ),
    *(
        "zone <> 'A'",
        "zone in ('A', 'B')",
        "day < '1970-01-01'",
        "day = '9999-12-31'",
        "day is null",
    ),
    *(
        "at >= '2026-02-03'",
        "at = '2026-02-03T04:05:06'",
        "date(at) > '2000-01-01'",
        "word is null",
    ),
    *(
        "divide(1, n, 1) is null",
        "divide(1, n, 1) > 0 or n = 0",
        "x is not null and divide(n, x, 1) > 0",
    ),
    *("coalesce(x, 0) = 0", "abs(far) > 4", "n % 2 = 1", "hour(at) >= 23", "not (word is null)"),
    *("word LIKE '(%'", "word LIKE '%\\\\'", "word LIKE '%!%' ESCAPE '!'", "word ILIKE '%N_%'"),
    *("starts_with(word, '(')", "ends_with(word, zone)", "contains(word, word)", "zone < 'B'"),
    *("lower(word) = 'one'", "upper(word) = 'ONE'", "trim(word) = ''", "ltrim(word, '(') = ''"),
    *("rtrim(word) < 'x'", "CAST(word AS BOOLEAN)", "CAST(word AS TIMESTAMP) > '2026-01-01'"),
    *("CAST(word AS DATE) < '2026-01-01'", "date_trunc('year', at) = '2026-01-01'"),
    *("date_trunc('hour', at) > '2026-01-01'", "date(at) + INTERVAL 3 MONTH > '2026-01-01'"),
    *("at - INTERVAL 90 DAY < '2026-01-01'", "date(at) - 3 < '2026-01-01'"),
]
GROUPS = {
    "zone": None,
    "yes": None,
    "n": None,
    "word": ["", "one", "(((", "nan"],
    "day": ["0001-01-01", "9999-12-31", "2024-02-29"],
    "far": [-(2**58), 0, 2**58],
}
# A function that fails on some value is not on the list: it is refused, whatever the data is.
REFUSED = [
    *("1 / n", "x / n", "n % 0", "n / 0", "far % n", "ln(n) > 0", "log(x)", "log10(0)", "sqrt(n)"),
    *("exp(x)", "n ** 400", "pow(x, 1000)", "power(far, far)", "factorial(n)", "far * far * far"),
    *("CAST(word AS INTEGER)", "word::DATE", "CAST(x AS TINYINT)", "substring(word, 5, 99999)"),
    *("word[100]", "left(word, -9)", "repeat(word, 1000000)", "regexp_matches(word, '(((')"),
    *("word ~ '((('", "word SIMILAR TO '((('", "strptime(word, '%Y')", "chr(n)"),
    *(
        "make_date(n, 99, 99)",
        "day + far",
        "date_add(day, INTERVAL 9999 YEAR)",
        "at - INTERVAL '1' YEAR",
        "acos(x)",
    ),
    *("list_extract([1], n)", "json_extract(word, '$')", "error(word)", "n << 70", "bin(far)"),
    *("word + 1", "word > 3", "yes < zone", "day > 5", "x = 'nan'", "day < '0000-00-00'", "-word"),
]
ASKED = [
    *(lambda t, e=e: t.agg(n=sf.count(e), s=sf.sum(e)) for e in NUMBERS),
    *(lambda t, e=e: t.filter(e).agg(n=sf.count(), x=sf.sum("n")) for e in CONDITIONS),
    *(lambda t, c=c, k=k: t.group_by(c, keys=k).agg(m=sf.sum("x")) for c, k in GROUPS.items()),
    lambda t: t.with_columns(k="CASE WHEN x > 0 THEN 'up' ELSE 'down' END").group_by("k").count(),
    lambda t: t.with_columns(k="floor(n, 5)").group_by("k", "yes").mean("x"),
    lambda t: t.agg(mean=sf.mean("x"), share=sf.mean("yes"), far=sf.mean("far")),
    lambda t: t.agg(v=sf.variance("x"), s=sf.std("n")),
    lambda t: t.group_by("yes").histogram("x", [-1000, -0.01, 0, 0.01, 1000]),
    lambda t: t.histogram("far", 4),
    lambda t: t.histogram("day", ["0001-01-01", "1970-01-01", "9999-12-31"]),
    lambda t: t.select("n", "x").distinct().sum("x"),
    lambda t: t.union(t.filter("n = 0")).agg(n=sf.count(), s=sf.sum("x")),
    lambda t: t.join({"zone": ["A", "0"], "w": [3, 9]}, on="zone", how="left").sum("w"),
    lambda t: t.join({"n": [0, -10, 10], "w": [1, 2, 4]}, on="n").sum("w"),
    lambda t: t.partition("zone")["0"].sum("x"),
    lambda t: t.group_by_unit().agg(s=sf.sum("x"), m=sf.mean("n"), top=sf.max("day")).sum("s"),
    lambda t: t.group_by_unit("zone").agg(m=sf.mean("x"), low=sf.min("at")).mean("m"),
]
UNITS = {"row": sf.Unit.row(), "unit": sf.Unit.by("id", max_rows=2)}


def table_of(rows):
    """Return rows as an Arrow table of fixed types."""
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), TYPES, strict=True)
    ]
    return pa.table(columns, schema=TYPES)


def pair(name, unit):
    """Open the tables with and without a row of poison, under one key of truncation."""
    poison = ["poisoner", *POISON[name]]
    declared = {"unit": unit, "schema": SCHEMA, "budget": sf.Budget(10**6), "name": "t"}
    with_it = sf.Session(table_of([*CALM, poison]), **declared)
    without = sf.Session(table_of(CALM), **declared)
    key = with_it.ledger._header.key
    object.__setattr__(without.ledger._header, "key", key)
    return with_it, without


def some(poison, asked):
    """Return some questions, others for each kind of poison; together they are all."""
    return asked[list(POISON).index(poison) :: len(POISON)]


@pytest.mark.parametrize("poison", POISON)
def test_poison_changes_nothing_but_noisy_numbers(poison, capfd):
    with_it, without = pair(poison, UNITS["row"])
    statuses = compare(with_it, without, some(poison, ASKED), capfd)
    assert statuses.count("answered") > len(statuses) * 0.7


@pytest.mark.deep
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("poison", POISON)
def test_every_poison_in_every_question(poison, unit, capfd):
    compare(*pair(poison, UNITS[unit]), ASKED, capfd)


@pytest.mark.parametrize("poison", ["zeros", "least", "not a number", "missing", "long"])
def test_functions_that_could_fail_are_refused_alike(poison, capfd):
    asked = [
        *(lambda t, e=e: t.filter(e).count() for e in REFUSED),
        *(lambda t, e=e: t.sum(e) for e in REFUSED),
    ]
    statuses = compare(*pair(poison, UNITS["row"]), asked, capfd)
    assert "answered" not in statuses[: len(REFUSED)]
    assert len(set(zip(REFUSED, statuses, strict=False))) >= 40


def called(expr):
    """Yield the functions of an expression."""
    if isinstance(expr, Call):
        yield expr.function
        for argument in expr.arguments:
            yield from called(argument)


def test_every_function_is_poisoned():
    table, used, answered = pair("zeros", UNITS["row"])[0].table(), set(), 0
    for text, ask in zip((*NUMBERS, *CONDITIONS), ASKED, strict=False):
        try:
            ask(table).explain(epsilon=8)
        except SfumatoError:  # a sum too large for any noise
            continue
        used.update(called(parse(text)))
        answered += 1
    assert used == set(FUNCTIONS)
    assert answered >= 80


# ---- poison in what holds the values -------------------------------------------------------------

WHOLE, FINE, WORD = sf.Integer(0, 100), sf.Real(0, 100, step="0.01"), sf.Text()
DAY, MOMENT = sf.Date("2020-01-01", "2029-12-31"), sf.Timestamp("2020-01-01", "2030-01-01", step=60)
ZONE = sf.Category(["A", "7"])


def lines(*poison):
    """Return CSV files with and without some last lines."""

    def make(folder):
        for name, more in (("with", poison), ("without", ())):
            (folder / name).mkdir()
            content = b"x,y\n1,2\n3,4\n" + b"".join(line + b"\n" for line in more)
            (folder / name / "t.csv").write_bytes(content)
        return folder / "with" / "t.csv", folder / "without" / "t.csv"

    return make


def stored(kind, calm, *poison):
    """Return DuckDB files with a column of a type, with and without some values."""

    def make(folder):
        for name, values in (("with", [calm, *poison]), ("without", [calm])):
            with duckdb.connect(str(folder / f"{name}.duckdb")) as db:
                db.execute(f"CREATE TABLE t (x {kind})")
                for value in values:
                    db.execute(f"INSERT INTO t SELECT {value}")
        return folder / "with.duckdb", folder / "without.duckdb"

    return make


def framed(whole):
    """Return a frame, and the same frame without its last row: types stay as they are."""

    def make(_):
        frame = whole()
        if isinstance(frame, pd.DataFrame):
            return frame, frame.iloc[:-1]
        return frame, frame.slice(0, len(frame) - 1)

    return make


def parquet(whole, **options):
    """Return Parquet files of an Arrow table, with and without its last row."""

    def make(folder):
        table = whole()
        pq.write_table(table, folder / "with.parquet", **options)
        pq.write_table(table.slice(0, len(table) - 1), folder / "without.parquet", **options)
        return folder / "with.parquet", folder / "without.parquet"

    return make


def raw(values, held, kind):
    """Return a column of raw numbers seen as another type."""
    return pa.table({"x": pa.array(values, held).view(kind)})


def not_utf8():
    """Return texts of which the last is no UTF-8."""
    ends = pa.py_buffer(struct.pack("<3i", 0, 1, 4))
    column = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"A\xff\xfe\xc3")])
    return pa.table({"x": column})


def objects(*values):
    return lambda: pd.DataFrame({"x": pd.Series([1, *values], dtype=object)})


TEXT_NUMBERS = [
    b"1e999",
    b"-1e999",
    b"0x10",
    b"1_000",
    b"--1",
    b"\xd9\xa3",
    b"9" * 400,
    b"nan",
    b"1;2",
]
HELD = {
    "CSV: not UTF-8": (lines(b"\xff\xfe,1"), [WHOLE, WORD]),
    "CSV: half a letter": (lines(b"\xc3,1"), [WORD, ZONE]),
    "CSV: a character 0": (lines(b"\0,1"), [WHOLE, WORD]),
    "CSV: no field": (lines(b""), [WHOLE, WORD]),
    "CSV: too many fields": (lines(b"1,2,3,4,5,6"), [WHOLE, FINE]),
    "CSV: a long line": (lines(b"x" * 2_500_000 + b",1"), [WHOLE, WORD]),
    "CSV: an open quote": (lines(b'"1,2'), [WHOLE, WORD]),
    "CSV: a stray quote": (lines(b'1"2"3,4'), [WHOLE, WORD]),
    "CSV: no numbers": (lines(*(text + b",1" for text in TEXT_NUMBERS)), [WHOLE, FINE, WORD]),
    "CSV: no dates": (lines(b"0000-00-00,1", b"infinity,1", b"9999-99-99,1"), [DAY, MOMENT]),
    "HUGEINT": (stored("HUGEINT", "1", f"{-(2**127)}", f"{2**127 - 1}"), [WHOLE, FINE, WORD, ZONE]),
    "UHUGEINT": (stored("UHUGEINT", "1", f"{2**128 - 1}"), [WHOLE, FINE, WORD]),
    "UBIGINT": (stored("UBIGINT", "1", f"{2**64 - 1}"), [WHOLE, FINE, WORD, ZONE]),
    "TINYINT": (stored("TINYINT", "1", "-128"), [WHOLE, FINE, WORD]),
    "DECIMAL": (
        stored("DECIMAL(38,10)", "1", "'-" + "9" * 28 + "." + "9" * 10 + "'"),
        [WHOLE, FINE],
    ),
    "whole DECIMAL": (stored("DECIMAL(38,0)", "1", "'" + "9" * 38 + "'"), [WHOLE, FINE, WORD]),
    "DOUBLE": (stored("DOUBLE", "1", "'nan'", "'-inf'", "1e308", "5e-324"), [WHOLE, FINE, WORD]),
    "FLOAT": (stored("FLOAT", "1", "'nan'", "'inf'", "3e38"), [WHOLE, FINE, WORD, ZONE]),
    "DATE": (
        stored("DATE", "'2026-01-01'", "'infinity'", "'-infinity'", "'5877642-06-25 (BC)'"),
        [DAY, MOMENT, WORD],
    ),
    "TIMESTAMP": (
        stored("TIMESTAMP", "'2026-01-01'", "'infinity'", "'290309-12-22 (BC) 00:00:00'"),
        [DAY, MOMENT],
    ),
    "TIMESTAMPTZ": (
        stored("TIMESTAMPTZ", "'2026-01-01'", "'-infinity'", "'294247-01-10 04:00:54+00'"),
        [DAY, MOMENT],
    ),
    "TIMESTAMP_NS": (stored("TIMESTAMP_NS", "'2026-01-01'", "'1677-09-22'"), [DAY, MOMENT]),
    "LIST": (stored("INTEGER[]", "[1]", "[NULL]", "[]"), [WHOLE, WORD]),
    "STRUCT": (stored("STRUCT(a INTEGER)", "{'a': 1}", "NULL"), [WHOLE, WORD]),
    "BLOB": (stored("BLOB", "'a'::BLOB", "'\\xFF'::BLOB"), [WHOLE, WORD]),
    "pandas: objects": (
        framed(objects(2, "7", [1], {}, object(), 10**5000, Decimal("sNaN"), "\ud800", b"\xff")),
        [WHOLE, FINE, WORD, ZONE],
    ),
    "pandas: dates": (framed(objects(date.min, date.max, datetime.max, pd.NaT)), [DAY, MOMENT]),
    "pandas: complex": (framed(objects(1 + 2j, np.array([1]), ..., len)), [WHOLE, WORD]),
    "polars: zoned": (
        framed(
            lambda: pl.DataFrame(
                {"x": [datetime(2026, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]}
            )
        ),
        [DAY, MOMENT],
    ),
    "polars: lists": (framed(lambda: pl.DataFrame({"x": [[1], []]})), [WHOLE, WORD]),
    "arrow: decimal256": (
        framed(lambda: pa.table({"x": pa.array(["1", "9" * 60]).cast(pa.decimal256(70, 2))})),
        [WHOLE, FINE, WORD],
    ),
    "arrow: date64": (framed(lambda: raw([0, 2**63 - 1], pa.int64(), pa.date64())), [DAY, MOMENT]),
    "parquet: not UTF-8": (parquet(not_utf8), [WORD, ZONE, WHOLE, DAY]),
    "parquet: days": (
        parquet(lambda: raw([0, 2**31 - 1], pa.int32(), pa.date32())),
        [DAY, MOMENT, WORD],
    ),
    "parquet: microseconds": (
        parquet(lambda: raw([0, -(2**63)], pa.int64(), pa.timestamp("us"))),
        [DAY, MOMENT],
    ),
    "parquet: nanoseconds": (
        parquet(lambda: raw([0, -(2**63) + 1], pa.int64(), pa.timestamp("ns"))),
        [DAY, MOMENT],
    ),
    "parquet: not a number": (parquet(lambda: pa.table({"x": [1.0, NAN]})), [WHOLE, FINE, WORD]),
    "parquet: infinite": (parquet(lambda: pa.table({"x": [1.0, INF]})), [WHOLE, FINE, WORD]),
    "parquet: unsigned": (
        parquet(lambda: pa.table({"x": np.array([1, 2**64 - 1], "uint64")})),
        [WHOLE],
    ),
}
MILLISECONDS = parquet(lambda: raw([0, 2**62], pa.int64(), pa.timestamp("ms")))


def asked_of(column):
    """Return questions for a column of a declared type."""
    whole = isinstance(column, sf.Integer | sf.Real)
    keys = {sf.Text: ["1", "A", ""], sf.Date: ["2026-01-01"], sf.Timestamp: ["2026-01-01T00:00:00"]}
    questions = [
        lambda t: t.count("x"),
        lambda t: t.filter("x IS NULL").count(),
        lambda t: t.group_by("x", keys=keys.get(type(column), [1] if whole else None)).count(),
    ]
    if whole:
        questions += [lambda t: t.agg(s=sf.sum("x"), m=sf.mean("x")), lambda t: t.sum("x * x")]
    return questions


def both_opened(make, column, folder):
    """Open the data with and without the poison, or say how that was refused."""
    opened = []
    for given in make(folder):
        try:
            declared = {"unit": sf.Unit.rows(9), "schema": sf.Schema(x=column), "name": "t"}
            opened.append(sf.Session(given, budget=sf.Budget(10**6), **declared))
        except SfumatoError as error:
            opened.append(str(error))
    return opened


@pytest.mark.parametrize("held", HELD)
def test_poison_of_any_type_changes_nothing_but_noisy_numbers(held, tmp_path, capfd):
    make, columns = HELD[held]
    for at, column in enumerate(columns):
        (tmp_path / str(at)).mkdir()
        first, second = both_opened(make, column, tmp_path / str(at))
        if isinstance(first, str) or isinstance(second, str):
            assert first == second  # by type, so that no row has a say in it
            continue
        statuses = compare(first, second, asked_of(column), capfd)
        assert set(statuses) == {"answered"}


@pytest.mark.xfail(reason="the engine fails on milliseconds that no microsecond can hold")
def test_milliseconds_of_a_far_future_change_nothing(tmp_path, capfd):
    first, second = both_opened(MILLISECONDS, MOMENT, tmp_path)
    compare(first, second, asked_of(MOMENT), capfd)


# ---- the comparison itself -----------------------------------------------------------------------


def plain_division(monkeypatch):
    from sfumato.relation import expr

    def careless(given):
        return expr.Typed(given[0].kind, f"error(CASE WHEN {given[1].sql} = 0 THEN 'zero' END)")

    monkeypatch.setitem(FUNCTIONS, "divide", careless)


def test_careless_function_is_found(monkeypatch, capfd):
    plain_division(monkeypatch)
    with_it, without = pair("zeros", UNITS["row"])
    with pytest.raises((AssertionError, SfumatoError)):
        compare(with_it, without, [lambda t: t.filter("divide(1, n, 1) > 0").count()], capfd)


def test_note_about_the_data_is_found(monkeypatch, capfd):
    from sfumato.session import plan

    with_it, without = pair("zeros", UNITS["row"])

    def telling(self):
        (row,) = self.question.session._backend.run(
            'SELECT count(*) AS m0 FROM "t"', {}
        ).to_pylist()
        return (f"{row['m0']} rows",)

    monkeypatch.setattr(plan.Plan, "notes", property(telling))
    with pytest.raises(AssertionError):
        compare(with_it, without, [lambda t: t.count()], capfd)


def test_value_beyond_its_bounds_is_found(monkeypatch, capfd):
    from sfumato.backends import reader

    monkeypatch.setattr(reader, "_clamped", lambda value, bounds: value)
    with_it, without = pair("most", UNITS["row"])
    with pytest.raises(AssertionError):
        compare(with_it, without, [lambda t: t.sum("n")], capfd)


def test_word_on_the_console_is_found(monkeypatch, capfd):
    import sys

    from sfumato.backends.duckdb import DuckDB

    run = DuckDB.run

    def chatting(self, sql, parameters):
        sys.stderr.write("reading\n")
        return run(self, sql, parameters)

    monkeypatch.setattr(DuckDB, "run", chatting)
    with pytest.raises(AssertionError):
        compare(*pair("zeros", UNITS["row"]), [lambda t: t.count()], capfd)
