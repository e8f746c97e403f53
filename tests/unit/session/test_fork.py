"""Sessions and forks: what a child inherits it neither uses nor ends, and it may open its own."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.core.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
FACTS = {
    "unit": sf.Unit.row(),
    "schema": sf.Schema(n=sf.Integer(0, 999)),
    "budget": sf.Budget(epsilon=99),
}
PROGRAM = """
import gc, multiprocessing, os, signal, sys
import duckdb
import sfumato as sf

def opened():
    made = sf.Session(
        "rows.parquet",
        unit=sf.Unit.row(),
        schema=sf.Schema(n=sf.Integer(0, 999)),
        budget=sf.Budget(epsilon=99),
        ledger="rows.ledger",
    )
    made.table().count().release(epsilon=1)
    return made

def start():
    global session
    session = opened()

def work(epsilon):
    return session.table().count().release(epsilon=epsilon).to_pandas()["n"][0] > 0

def child():
    global session
    signal.alarm(30)
    if how == "deletes":
        del session
        gc.collect()
    elif how == "closes":
        session.close()
    elif how == "opens another":
        session = opened()
    elif how == "forks":
        if not (grandchild := os.fork()):
            session = None
            sys.exit()
        sys.exit(os.waitpid(grandchild, 0)[1])
    sys.exit()

how = sys.argv[1]
start()
if how == "has a connection":
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS n")
    facts = {"unit": sf.Unit.row(), "schema": sf.Schema(n=sf.Integer(0, 9)), "name": "t"}
    session = sf.Session(connection, **facts, budget=sf.Budget(1))
if how == "is of a pool":
    with multiprocessing.get_context("fork").Pool(2, initializer=start) as pool:
        assert all(pool.map_async(work, [2, 3]).get(60))
        pool.close()
        pool.join()
else:
    if not (forked := os.fork()):
        child()
    assert os.waitpid(forked, 0)[1] == 0
    assert how == "has a connection" or work(4)  # where it was opened it goes on
session.close()
"""


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"n": list(range(1000))}), path)
    return path


@pytest.mark.parametrize(
    "how",
    ["ends", "deletes", "closes", "opens another", "forks", "has a connection", "is of a pool"],
)
def test_child_leaves_the_engine_of_its_parent_alone(rows, how):
    """To end one waits for threads that a fork does not bring along, or breaks the process."""
    command = [sys.executable, "-c", PROGRAM, how]
    done = subprocess.run(
        command, cwd=rows.parent, timeout=120, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


class Left(BaseException):
    """Brings a child out of what its parent is in."""


def refused_in_a_child(ask):
    """Fork, and return whether a question is refused there as one of another process."""
    child = os.fork()
    if not child:  # pragma: no cover - another process
        code = 1
        try:
            ask()
        except InputError as refused:
            code = 0 if "another process" in str(refused) else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def entered(table):
    with table.scope(sf.Budget(epsilon=1)):
        pass


def test_scope_is_refused_in_a_child_before_anything_is_written(rows):
    with sf.Session(rows, **FACTS, ledger=rows.with_suffix(".ledger")) as session:
        table = session.table()
        part = table.partition("n", [1, 2])[1]
        before = len(session.ledger.history())
        assert refused_in_a_child(lambda: entered(table))
        assert refused_in_a_child(lambda: entered(part))
        assert len(session.ledger.history()) == before
        entered(table)


def test_scope_of_a_closed_session_is_refused_before_anything_is_written(rows):
    session = sf.Session(rows, **FACTS, ledger=rows.with_suffix(".ledger"))
    table = session.table()
    before = len(session.ledger.history())
    session.close()
    with pytest.raises(InputError, match="closed"):
        entered(table)
    assert len(session.ledger.history()) == before
    session.ledger.close()


def test_child_that_leaves_a_scope_does_not_close_it(rows):
    with sf.Session(rows, **FACTS, ledger=rows.with_suffix(".ledger")) as session:
        try:
            with session.table().scope(sf.Budget(epsilon=1)) as inside:
                child = os.fork()
                if not child:  # pragma: no cover - another process
                    raise Left
                os.waitpid(child, 0)
                assert len(inside.count().release(epsilon="0.5")) == 1
        except Left:  # pragma: no cover - another process
            os._exit(0)
        assert session.ledger.scopes() == {}
