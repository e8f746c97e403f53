"""What each declared type makes of a value, the same from every form of a table."""
# ruff: noqa: S311 - a seed that repeats is what is wanted

import csv
import random
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.relation.source import Source

NAN, INF = float("nan"), float("inf")
FAR = 2**53 - 1  # where a number without declared bounds ends


def floats(*values):
    return pa.table({"x": pa.array(values, pa.float64())})


def texts(*values):
    return pa.table({"x": pa.array(values, pa.string())})


CASES = {
    "integer double": (
        sf.Integer(-3, 10),
        floats(2.4, 2.5, -2.5, 9.5, 1e308, -INF, INF, NAN, None, -0.0),
        [2, 3, -3, 10, 10, -3, 10, None, None, 0],
    ),
    "integer text": (
        sf.Integer(-3, 10),
        texts("2.4", " 2.5 ", "-2.5", "1e1", "1e400", "-inf", "nan", "", "x", "0x10", "1_0", "5."),
        [2, 3, -3, 10, 10, -3, None, None, None, None, None, 5],
    ),
    "wide integer text": (
        sf.Integer(0, 2**60),
        texts("9007199254740993", "1" + "0" * 30, "-1", "2.5", "0x10", "abc", "1_0", "inf"),
        [9007199254740993, 2**60, 0, 3, None, None, None, 2**60],
    ),
    "unbounded integer text": (
        sf.Integer(),
        texts("9007199254740990", "9007199254740993", "-1e400", "inf", "nan", "2.5", "x", None),
        [FAR - 1, FAR, -FAR, FAR, None, 3, None, None],
    ),
    "unbounded integer bigint": (
        sf.Integer(),
        pa.table({"x": pa.array([-(2**63), -FAR, FAR - 1, FAR + 1, 2**63 - 1, None])}),
        [-FAR, -FAR, FAR - 1, FAR, FAR, None],
    ),
    "unbounded integer double": (
        sf.Integer(),
        floats(2.0**53, float(FAR), -(2.0**60), 1e308, -INF, INF, NAN, None, -2.5),
        [FAR, FAR, -FAR, FAR, -FAR, FAR, None, None, -3],
    ),
    "unbounded real double": (
        sf.Real(step="0.01"),
        floats(12.345, -0.004, 9e13, 1e14, -1e300, -INF, INF, NAN, None),
        [1235, 0, 9 * 10**15, FAR, -FAR, -FAR, FAR, None, None],
    ),
    "unbounded real text": (
        sf.Real(step="0.01"),
        texts("1e13", "-1e400", "1_0", "abc", "nan", "0.015"),
        [10**15, -FAR, None, None, None, 2],
    ),
    "integer bigint": (
        sf.Integer(-3, 10),
        pa.table({"x": pa.array([-(2**63), -3, 0, 11, 2**63 - 1, None])}),
        [-3, -3, 0, 10, 10, None],
    ),
    "integer boolean": (sf.Integer(0, 5), pa.table({"x": [True, False, None]}), [1, 0, None]),
    "integer decimal": (
        sf.Integer(-3, 10),
        pa.table({"x": pa.array([Decimal("2.5"), Decimal("-2.5"), Decimal("2.4"), None])}),
        [3, -3, 2, None],
    ),
    "integer wide decimal": (
        sf.Integer(-3, 10),
        pa.table(
            {
                "x": pa.array(
                    [
                        Decimal("0.49999999999999999999999999"),
                        Decimal(10) ** 11,
                        -(Decimal(10) ** 11),
                    ],
                    pa.decimal128(38, 26),
                )
            }
        ),
        [0, 10, -3],
    ),
    "real double": (
        sf.Real(0, 200, step="0.01"),
        floats(0.005, 1.25, 1.2549, 199.999, 200.1, -1.0, NAN, INF, -INF, -0.0, None, 5e-324),
        [1, 125, 125, 20_000, 20_000, 0, None, 20_000, 0, 0, None, 0],
    ),
    "real text": (
        sf.Real(0, 200, step="0.01"),
        texts("0.005", "1.25", "1e400", "-1", "NaN", "", "1.005"),
        [1, 125, 20_000, 0, None, None, 100],  # the double nearest to 1.005 lies below it
    ),
    "real bigint": (
        sf.Real(-200, 200, step="0.5"),
        pa.table({"x": pa.array([-(2**63), 3, 2**63 - 1])}),
        [-400, 6, 400],
    ),
    "real decimal": (
        sf.Real(0, 2, step="0.001"),
        pa.table({"x": pa.array([Decimal("1.0005"), Decimal("9")], pa.decimal128(30, 4))}),
        [1000 if 1.0005 * 1000 < 1000.5 else 1001, 2000],
    ),
    "category text": (
        sf.Category(["A", "B", "it's"]),
        texts("A", "a", " A", "it's", "", None, "C", "B"),
        [0, None, None, 2, None, None, None, 1],
    ),
    "category empty": (sf.Category(["A", ""]), texts("", None, "A"), [1, None, 0]),
    "category of numbers in text": (
        sf.Category([8, 7, -1]),
        texts("7", "7.0", " 7", "07", "7.5", "-1", "x", None, "1e999", "8_"),
        [1, 1, 1, 1, None, 2, None, None, None, None],
    ),
    "category of numbers in doubles": (
        sf.Category([8, 7, 0]),
        floats(7.0, 7.5, -0.0, NAN, INF, None, 8.0),
        [1, None, 2, None, None, None, 0],
    ),
    "category in a row of numbers": (
        sf.Category([-1, 0, 1, 2]),
        pa.table({"x": pa.array([-2, -1, 2, 3, -(2**63), 2**63 - 1, None])}),
        [None, 0, 3, None, None, None, None],
    ),
    "category of texts that look like numbers": (
        sf.Category(["1", "2"]),
        floats(1.0, 2.0, 1.5, None),
        [0, 1, None, None],
    ),
    "mixed category in text": (
        sf.Category([7, "7", "x"]),
        texts("7", "7.0", "x"),
        [1, 0, 2],
    ),
    "mixed category in numbers": (
        sf.Category(["7", 7, "x"]),
        pa.table({"x": pa.array([7, 8])}),
        [1, None],
    ),
    "boolean text": (
        sf.Boolean(),
        texts("TRUE", "t", "Yes", "1", "false", "F", "nO", "0", "", "on", " true", "2", None),
        [True] * 4 + [False] * 4 + [None] * 5,
    ),
    "boolean double": (
        sf.Boolean(),
        floats(0.0, -0.0, 1.0, 0.5, NAN, INF, None),
        [False, False, True, None, None, None, None],
    ),
    "date text": (
        sf.Date("2020-01-01", "2020-12-31"),
        texts("2020-01-01", "2020-03-01T23:59:59", "2021-01-01", "0001-01-01", "2020/01/01", "x"),
        [18262, 18322, 18627, 18262, None, None],
    ),
    "date text with an offset": (
        sf.Date("2020-01-01", "2020-12-31"),
        texts("2020-03-01T01:00:00+02:00", "2020-03-01 23:00:00-0200", "2020-03-01T00:00:00Z"),
        [18321, 18323, 18322],
    ),
    "date of days": (
        sf.Date("1969-12-30", "2020-12-31"),
        pa.table({"x": pa.array([date(1969, 12, 31), date(1, 1, 1), date.max, None])}),
        [-1, -2, 18627, None],
    ),
    "date of moments": (
        sf.Date("1969-12-30", "2020-12-31"),
        pa.table(
            {"x": pa.array([datetime(1969, 12, 31, 23), datetime(2020, 12, 31, 12), datetime.max])}
        ),
        [-1, 18627, 18627],
    ),
    "date of nanoseconds": (
        sf.Date("1969-12-30", "2020-12-31"),
        pa.table({"x": pa.array([-1, 0, 2**63 - 1, None], pa.int64()).view(pa.timestamp("ns"))}),
        [-1, 0, 18627, None],
    ),
    "timestamp of moments": (
        sf.Timestamp("2020-01-01T00:00:30", "2020-01-01T01:00:30", step=60),
        pa.table(
            {
                "x": pa.array(
                    [
                        datetime(2020, 1, 1),
                        datetime(2020, 1, 1, 0, 1, 29, 999_999),
                        datetime(2020, 1, 1, 0, 1, 30),
                        datetime(2020, 1, 2),
                        None,
                    ]
                )
            }
        ),
        [0, 0, 1, 60, None],
    ),
    "timestamp of seconds": (
        sf.Timestamp("1970-01-01T00:00:00.500000", "1970-01-01T00:01:00.500000", step=1),
        pa.table({"x": pa.array([0, 1, 2, 61, 2**62], pa.int64()).view(pa.timestamp("s"))}),
        [0, 0, 1, 60, 60],
    ),
    "timestamp of days": (
        sf.Timestamp("2020-01-01T12:00:00", "2020-01-03T12:00:00", step=3600),
        pa.table({"x": pa.array([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 4)])}),
        [0, 12, 48],
    ),
    "timestamp in a zone": (
        sf.Timestamp("2020-01-01", "2020-01-02", step=3600),
        pa.table({"x": pa.array([1577836800 + 7200], pa.timestamp("s", "Europe/Paris"))}),
        [2],
    ),
    "timestamp text": (
        sf.Timestamp("2020-01-01", "2020-01-02", step=3600),
        texts("2020-01-01", "2020-01-01 02:30", "2020-01-01T02:30:00+01:00", "2020-01-01T02", ""),
        [0, 2, 1, None, None],
    ),
    "timestamp with a step below the clock": (
        sf.Timestamp("2020-01-01", "2020-01-02", step="1e-7"),
        pa.table({"x": pa.array([1577836800 * 10**9 + 250], pa.timestamp("ns"))}),
        [2],
    ),
    "timestamp with a step of a third": (
        sf.Timestamp("2020-01-01", "2020-01-02", step=Fraction(1, 3)),
        pa.table({"x": pa.array([1577836800 * 10**6 + 999_999], pa.timestamp("us"))}),
        [2],
    ),
    "text of text": (sf.Text(), texts("", " a ", None, "é"), ["", " a ", None, "é"]),
    "text of doubles": (
        sf.Text(),
        floats(7.0, -0.0, 0.1, NAN, None, 1e300, INF),
        ["7", "0", "0.1", None, None, "1e+300", "inf"],
    ),
    "text of integers": (sf.Text(), pa.table({"x": pa.array([7, None])}), ["7", None]),
    "text of decimals": (
        sf.Text(),
        pa.table({"x": pa.array([Decimal("7.00"), Decimal("7.10")])}),
        ["7", "7.10"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_reading_gives_a_value_its_one_meaning(case, codes):
    declared, table, expected = CASES[case]
    assert codes(declared, table) == expected


def test_reading_of_the_engines_infinities_is_the_bound(codes, database):
    for kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMP_S", "TIMESTAMP_MS"):
        path = database(kind, "'infinity'", "'-infinity'", "NULL")
        assert codes(sf.Date("1600-01-01", "2500-01-01"), path) == [193579, -135140, None], kind


@given(
    value=st.floats(-300, 300, allow_subnormal=False),
    step=st.sampled_from(["0.01", "0.25", "0.7", "3", "1e-6"]),
)
def test_real_is_the_nearest_step_of_the_double(reals, value, step):
    declared, backend, fill = reals[step]
    fill(value)
    (code,) = backend.run('SELECT x FROM "t"', {}).column("x").to_pylist()
    exact = min(max(Fraction(value), declared.low), declared.high) / declared.step
    assert abs(code - exact) <= Fraction(1, 2) + Fraction(1, 10**6)


@pytest.fixture(scope="module")
def reals():
    made = {}
    for step in ["0.01", "0.25", "0.7", "3", "1e-6"]:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t (x DOUBLE)")
        declared = sf.Real(-210, 210, step=step)
        backend = DuckDB.open({Source("t", sf.Schema(x=declared), sf.Unit.row()): connection})

        def fill(value, connection=connection):
            connection.execute("DELETE FROM t")
            connection.execute("INSERT INTO t VALUES ($v)", {"v": value})

        made[step] = declared, backend, fill
    yield made
    for _, backend, _ in made.values():
        backend.close()


def test_category_of_thousands_finds_each(codes):
    values = [f"value {i}" for i in range(5000)]
    shuffled = random.Random(1).sample(range(5000), 5000)
    table = texts(*(values[i] for i in shuffled), "value 5000")
    assert codes(sf.Category(values), table) == [*shuffled, None]


def test_category_ignores_the_order_in_which_a_frame_lists_its_own(codes):
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", None], categories=["c", "b", "a"])})
    assert codes(sf.Category(["a", "b"]), frame) == [1, 0, None]
    frame = pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=pl.Enum(["c", "b", "a"]))})
    assert codes(sf.Category(["a", "b"]), frame) == [1, 0, None]


def test_a_missing_number_changes_no_other_value(codes):
    """A frame holds whole numbers as doubles as soon as one is missing: nothing else may change."""
    whole, mixed = pd.DataFrame({"x": [1, 2, 3]}), pd.DataFrame({"x": [1, 2, 3, None]})
    declarations = (sf.Integer(0, 9), sf.Text(), sf.Category(["1", "2"]), sf.Category([3, 1]))
    for declared in (*declarations, sf.Real(0, 9, step="0.5"), sf.Boolean()):
        assert codes(declared, mixed) == [*codes(declared, whole), None]


def test_unit_keeps_its_value_and_rows_without_one_are_dropped(opened):
    unit = sf.Unit.by("who", max_rows=1)
    source = Source("t", sf.Schema(x=sf.Integer(0, 9), who=sf.Text()), unit)
    forms = {
        "floats": ([1.0, NAN, None, 2.0], [(1, "1.0"), (4, "2.0")]),
        "texts": (["a", "", None, "B"], [(1, "a"), (4, "B")]),
        "integers": ([5, 6, None, 5], [(1, "5"), (2, "6"), (4, "5")]),
        "bytes": ([b"a", b"", None, b"\xff"], [(1, "a"), (2, ""), (4, r"\xFF")]),
    }
    for values, expected in forms.values():
        backend = opened({source: pa.table({"x": [1, 2, 3, 4], "who": pa.array(values)})})
        answer = backend.run(
            'SELECT x, CAST(sfumato_unit AS VARCHAR) AS who FROM "t" ORDER BY x', {}
        )
        assert [tuple(row.values()) for row in answer.to_pylist()] == expected
        assert backend.run('SELECT * EXCLUDE (sfumato_unit) FROM "t"', {}).column_names == ["x"]


def test_unit_of_rows_has_no_hidden_column(opened):
    source = Source("t", sf.Schema(x=sf.Integer(0, 9)), sf.Unit.row())
    backend = opened({source: pa.table({"x": [1, None], "y": [1, 2]})})
    assert backend.run('SELECT * FROM "t"', {}).to_pydict() == {"x": [1, None]}


ROWS = 3000


def _columns():
    rng = random.Random(7)
    return {
        "zone": [rng.choice(["A", "B", "it's", "zürich", "?", None]) for _ in range(ROWS)],
        "fare": [rng.choice([None, rng.uniform(-10, 250), rng.gauss(0, 1e9)]) for _ in range(ROWS)],
        "hour": [rng.choice([None, rng.randint(-5, 30)]) for _ in range(ROWS)],
        "late": [rng.choice([None, True, False]) for _ in range(ROWS)],
        "day": [date(2020, 1, 1 + rng.randrange(31)) for _ in range(ROWS)],
        "seen": [datetime(2020, 1, 1, rng.randrange(24), rng.randrange(60)) for _ in range(ROWS)],
        "rider": [rng.choice([None, rng.randrange(50)]) for _ in range(ROWS)],
    }


SCHEMA = sf.Schema(
    zone=sf.Category(["A", "B", "it's", "zürich"]),
    fare=sf.Real(0, 200, step="0.01"),
    hour=sf.Integer(0, 23),
    late=sf.Boolean(),
    day=sf.Date("2020-01-05", "2020-01-31"),
    seen=sf.Timestamp("2020-01-01T06:00:00", "2020-01-02", step=600),
)


def _forms(folder):
    """Yield the same rows in many forms."""
    data = _columns()
    table = pa.table(data)
    order = random.Random(3).sample(range(ROWS), ROWS)
    for name, size in (("a", 7), ("b", 100_000)):
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=size)
        yield folder / f"{name}.parquet"
    pq.write_table(table.take(order), folder / "c.parquet", row_group_size=500, compression="zstd")
    yield folder / "c.parquet"
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 1000, 1000), folder / "parts" / f"{i}.parquet")
    yield str(folder / "parts" / "*.parquet")
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*data.values(), strict=True))
    yield folder / "t.csv"
    yield table.take(order)
    yield table.to_pandas()
    yield pd.DataFrame(data, dtype=object)
    yield pl.DataFrame(data)
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("incoming", table)
        connection.execute("CREATE TABLE trips AS FROM incoming")
    yield f"duckdb:{folder / 't.duckdb'}#trips"


def test_answers_are_the_same_bits_from_every_form_and_any_number_of_threads(tmp_path, opened):
    source = Source("trips", SCHEMA, sf.Unit.by("rider", max_rows=5))
    question = (
        "SELECT zone, late, count(*) AS n, count(fare) AS m, CAST(sum(fare) AS BIGINT) AS fare, "
        "CAST(sum(hour) AS BIGINT) AS hours, CAST(sum(day) AS BIGINT) AS days, "
        'CAST(sum(seen) AS BIGINT) AS seen FROM "trips" GROUP BY zone, late ORDER BY zone, late'
    )
    answers = [
        opened({source: form}, threads=threads).run(question, {}).to_pylist()
        for i, form in enumerate(_forms(tmp_path))
        for threads in ((1, 2, 4) if i in (0, 4, 5) else (2,))
    ]
    assert len(answers) == 16
    assert len(answers[0]) == 15
    assert sum(row["n"] for row in answers[0]) == ROWS - _columns()["rider"].count(None)
    assert all(answer == answers[0] for answer in answers)


def test_numpy_doubles_keep_their_bits(codes):
    values = np.nextafter(np.array([0.005, 0.015, 1.115]), 2)
    expected = [int(np.floor(v * 100 + 0.5)) for v in values]
    assert codes(sf.Real(0, 2, step="0.01"), pd.DataFrame({"x": values})) == expected
