"""What comes out: whole numbers, or an error that says nothing about the data."""
# ruff: noqa: S608 - the SQL is what is tested

import gc
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.backends import Backend
from sfumato.core.errors import InputError, InternalError
from sfumato.relation.source import Source

CANARY = "canary-7719"
SOURCE = Source("trips", sf.Schema(x=sf.Integer(0, 9), name=sf.Text()), sf.Unit.row())


@pytest.fixture
def backend(opened) -> Backend:
    return opened({SOURCE: pa.table({"x": [1, 2, 30, None], "name": [CANARY, "b", "b", None]})})


def test_backend_names_its_dialect(backend):
    assert backend.dialect == "duckdb"


def test_parameters_go_in_by_name_and_others_are_left_out(backend):
    sql = 'SELECT count(*) AS n FROM "trips" WHERE x >= $low AND x <= $high'
    assert backend.run(sql, {"low": 2, "high": 9, "key": b"no"}).to_pydict() == {"n": [2]}
    with pytest.raises(InternalError):
        backend.run(sql, {"low": 2})


def test_statement_may_have_common_tables_of_its_own(backend):
    sql = 'WITH few AS (SELECT x FROM "trips" WHERE x < 5) SELECT count(*) AS n FROM few'
    assert backend.run(sql, {}).to_pydict() == {"n": [2]}
    assert backend.run("\n  with a AS (FROM trips) SELECT x FROM a WHERE x = 1", {}).num_rows == 1


def test_several_tables_are_read_together(opened, tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "b.parquet")
    tables = {
        Source("a", sf.Schema(x=sf.Integer(0, 9)), sf.Unit.row()): pa.table({"x": [2, 3, 3]}),
        Source("b", sf.Schema(x=sf.Integer(0, 9)), sf.Unit.row()): tmp_path / "b.parquet",
    }
    sql = 'SELECT count(*) AS n FROM "a" JOIN "b" ON a.x = b.x'
    assert opened(tables).run(sql, {}).to_pydict() == {"n": [1]}


@pytest.mark.parametrize(
    "measured",
    [
        "1.5",
        "x / 2",
        "CAST(x AS DOUBLE)",
        "sum(x)",
        "avg(x)",
        "list(x)",
        "NULL",
        "DATE '2020-01-01'",
    ],
)
def test_answer_that_is_not_whole_is_a_fault_of_ours(measured, backend):
    with pytest.raises(InternalError, match="only whole numbers"):
        backend.run(f'SELECT {measured} AS m FROM "trips" GROUP BY x', {})


@pytest.mark.parametrize("measured", ["count(*)", "x", "name", "x > 1", "CAST(sum(x) AS BIGINT)"])
def test_answer_of_whole_numbers_truths_and_texts_passes(measured, backend):
    answer = backend.run(f'SELECT {measured} AS m FROM "trips" GROUP BY x, name', {})
    assert answer.num_rows == 4


FAULTS = [
    'SELECT CAST(name AS BIGINT) AS m FROM "trips"',
    "SELECT CAST(error(name) AS BIGINT) AS m FROM \"trips\" WHERE name LIKE 'can%'",
    'SELECT no_such_column FROM "trips"',
    "SELECT 1 FROM nowhere",
    "SELEC",
]


def reachable(error):
    """Everything that hangs on an error: causes, contexts, notes, and what their frames hold."""
    seen, waiting = [], [error]
    while waiting:
        current = waiting.pop()
        if current is None or any(current is other for other in seen):
            continue
        seen.append(current)
        waiting += [current.__cause__, current.__context__]
    texts = [repr(item) + str(item) + repr(vars(item)) for item in seen]
    frame = error.__traceback__
    while frame is not None:
        if "sfumato" in frame.tb_frame.f_code.co_filename and "/src/" in (
            frame.tb_frame.f_code.co_filename
        ):
            texts += [repr(value) for value in frame.tb_frame.f_locals.values()]
        frame = frame.tb_next
    return seen, "\n".join(texts)


@pytest.mark.parametrize("sql", FAULTS)
def test_failure_says_nothing_about_the_data(sql, backend):
    with pytest.raises(InternalError) as caught:
        backend.run(sql, {})
    seen, texts = reachable(caught.value)
    assert seen == [caught.value]
    assert caught.value.__context__ is None
    assert CANARY not in texts
    assert not any(isinstance(item, duckdb.Error) for item in gc.get_referents(caught.value))


def test_all_failures_have_the_same_text(backend):
    texts = set()
    for sql in FAULTS:
        with pytest.raises(InternalError) as caught:
            backend.run(sql, {})
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_failure_leaves_the_backend_usable(backend):
    with pytest.raises(InternalError):
        backend.run(FAULTS[0], {})
    assert backend.run('SELECT count(*) AS n FROM "trips"', {}).to_pydict() == {"n": [4]}


def test_closed_backend_is_refused(backend):
    backend.close()
    backend.close()
    with pytest.raises(InputError, match="closed"):
        backend.run("SELECT 1 AS n", {})


def test_threads_may_ask_at_once(backend):
    def ask(low):
        sql = 'SELECT count(*) AS n FROM "trips" WHERE x >= $low'
        return backend.run(sql, {"low": low}).to_pydict()["n"][0]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, [0, 1, 2, 3, 9, 10] * 20))
    assert answers == [3, 3, 2, 1, 1, 0] * 20


def test_frame_is_copied_when_it_is_opened(opened):
    import pandas as pd

    frame = pd.DataFrame({"x": [1, 2], "name": ["a", "b"]})
    backend = opened({SOURCE: frame})
    frame.loc[0, "x"] = 9
    assert backend.run('SELECT x FROM "trips" ORDER BY x', {}).to_pydict() == {"x": [1, 2]}


def lying(path, table, true, false):
    """Write a Parquet file, then change a value in its footer, where the statistics are."""
    pq.write_table(table, path, use_dictionary=False, compression="none")
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:]
    assert true in footer
    path.write_bytes(content[:start] + footer.replace(true, false))


QUESTIONS = [
    ('SELECT CAST(sum(x) AS BIGINT) AS m FROM "t"', [9000]),
    ('SELECT max(x) AS m FROM "t"', [90]),
    ('SELECT min(x) AS m FROM "t"', [90]),
    ('SELECT count(*) AS m FROM "t" WHERE x > 50', [100]),
    ('SELECT count(*) AS m FROM "t" WHERE x = 90', [100]),
    ('SELECT count(*) AS m FROM "t" GROUP BY x', [100]),
    ('SELECT count(DISTINCT x) AS m FROM "t"', [1]),
    ('SELECT count(*) AS m FROM "t" JOIN (VALUES (90)) v(y) ON x = y', [100]),
    ('SELECT x AS m FROM "t" ORDER BY x DESC LIMIT 1', [90]),
]


@pytest.mark.parametrize("sql", [sql for sql, _ in QUESTIONS])
def test_statistics_of_a_file_change_no_answer(sql, opened, tmp_path):
    """They say that every value is 5; the values are far above the bound, which is 90."""
    true, false = 123_456_789_012, 5
    path = tmp_path / "t.parquet"
    column = pa.table({"x": pa.array([true] * 100)})
    lying(path, column, true.to_bytes(8, "little"), false.to_bytes(8, "little"))
    source = Source("t", sf.Schema(x=sf.Integer(0, 90)), sf.Unit.row())
    answer = opened({source: path}).run(sql, {})
    assert answer.column("m").to_pylist() == dict(QUESTIONS)[sql]


def test_statistics_of_texts_hide_no_row(opened, tmp_path):
    path = tmp_path / "t.parquet"
    lying(path, pa.table({"x": ["QQQQQQQQ"] * 9}), b"QQQQQQQQ", b"AAAAAAAA")
    source = Source("t", sf.Schema(x=sf.Text()), sf.Unit.by("x", max_rows=1))
    other = Source("u", sf.Schema(x=sf.Text()), sf.Unit.row())
    backend = opened({source: path, other: path})
    for sql in (
        "SELECT count(*) AS n FROM \"u\" WHERE x = 'QQQQQQQQ'",
        "SELECT count(*) AS n FROM \"u\" WHERE x IN ('QQQQQQQQ', 'z')",
        "SELECT count(*) AS n FROM \"u\" JOIN (VALUES ('QQQQQQQQ')) v(y) ON x = y",
        "SELECT count(*) AS n FROM \"t\" WHERE sfumato_unit = 'QQQQQQQQ'",
    ):
        assert backend.run(sql, {}).to_pydict() == {"n": [9]}
