"""Sessions: what they open, what they remember, what they refuse."""

import gc
import os
import pickle
import signal
from os import PathLike, fsencode
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.core.errors import (
    AnalystError,
    BudgetError,
    BudgetExceeded,
    ContractError,
    InputError,
    LedgerError,
    SchemaError,
    SfumatoError,
    UnitError,
    UnknownName,
)
from sfumato.core.loss import Pure
from sfumato.ledger import Ledger, connection

FRAME = pa.table({"zone": ["A", "B", "A", "C"], "age": [30, 41, 22, 60]})
DECLARED = {
    "unit": sf.Unit.row(),
    "schema": sf.Schema(zone=sf.Category(["A", "B"]), age=sf.Integer(0, 99)),
    "budget": sf.Budget(epsilon=10**6),
}
CONTRACT = """
[budget]
epsilon = 10
ledger = "trips.ledger"
{analysts}
[tables.trips]
source = "trips.parquet"
version = "{version}"
unit = "row"
columns.zone = {{ type = "category", values = ["A", "B"] }}
columns.age = {{ type = "integer", low = 0, high = 99 }}
"""


def counted(session, epsilon=10**5):
    answer = session.table().group_by("zone").count().release(epsilon=epsilon)
    return list(answer.measure("n").values)


def written(folder, name):
    """Write the frame in one of the forms that a session opens."""
    file = folder / name
    if name.endswith(".csv"):
        FRAME.to_pandas().to_csv(file, index=False)
    elif name.endswith(".parquet"):
        pyarrow.parquet.write_table(FRAME, file)
    else:
        with duckdb.connect(str(file)) as db:
            db.register("frame", FRAME)
            db.execute("CREATE TABLE trips AS SELECT * FROM frame")
    return file


@pytest.mark.parametrize("name", ["trips.csv", "trips.parquet", "trips.duckdb"])
def test_session_opens_files(tmp_path, name):
    session = sf.Session(written(tmp_path, name), **DECLARED)
    assert session.tables == ("trips",)
    assert counted(session) == [2, 1]


def test_session_opens_a_table_of_a_database(tmp_path):
    file = written(tmp_path, "town.duckdb")
    session = sf.Session(f"duckdb:{file}#trips", **DECLARED)
    assert session.tables == ("trips",)
    assert counted(session) == [2, 1]


@pytest.mark.parametrize(
    "frame",
    [FRAME, FRAME.to_pandas(), pl.from_arrow(FRAME)],
    ids=["arrow", "pandas", "polars"],
)
def test_session_opens_frames(frame):
    assert counted(sf.Session(frame, **DECLARED)) == [2, 1]


def test_session_opens_a_connection():
    with duckdb.connect() as db:
        db.register("frame", FRAME)
        db.execute("CREATE TABLE trips AS SELECT * FROM frame")
        assert counted(sf.Session(db, name="trips", **DECLARED)) == [2, 1]


def test_session_reads_a_frame_as_it_was_when_opened():
    frame = FRAME.to_pandas()
    session = sf.Session(frame, **DECLARED)
    frame.loc[:, "zone"] = "B"
    assert counted(session) == [2, 1]


def test_answer_is_found_again_by_another_session(tmp_path):
    file, ledger = written(tmp_path, "trips.parquet"), tmp_path / "trips.ledger"
    with sf.Session(file, ledger=ledger, **DECLARED) as session:
        first = session.table().count().release(epsilon=1)
        assert first.durable
    with sf.Session(file, ledger=ledger, **DECLARED) as session:
        assert session.table().count().release(epsilon=1) == first
        assert session.remaining.epsilon == 10**6 - 1


def test_new_version_is_asked_anew(tmp_path):
    file, ledger = written(tmp_path, "trips.parquet"), tmp_path / "trips.ledger"
    left = []
    for version in ("2026-10", "2026-11", "2026-11"):
        with sf.Session(file, ledger=ledger, version=version, **DECLARED) as session:
            session.table().count().release(epsilon=1)
            left.append(session.remaining.epsilon)
    assert left == [10**6 - 1, 10**6 - 2, 10**6 - 2]


def test_refreshed_version_is_asked_anew(tmp_path):
    file, ledger = written(tmp_path, "trips.parquet"), tmp_path / "trips.ledger"
    with sf.Session(file, ledger=ledger, **DECLARED) as session:
        session.table().count().release(epsilon=1)
        session.ledger.refresh("trips", "after the storm")
    with sf.Session(file, ledger=ledger, **DECLARED) as session:
        session.table().count().release(epsilon=1)
        assert session.remaining.epsilon == 10**6 - 2


def test_frame_without_a_version_is_never_taken_for_another(tmp_path):
    ledger = tmp_path / "trips.ledger"
    left = []
    for _ in range(2):
        with sf.Session(FRAME, ledger=ledger, **DECLARED) as session:
            session.table().count().release(epsilon=1)
            left.append(session.remaining.epsilon)
    assert left == [10**6 - 1, 10**6 - 2]


def test_budget_that_moves_with_a_declaration_is_refused(tmp_path):
    ledger = tmp_path / "trips.ledger"
    sf.Session(FRAME, ledger=ledger, **DECLARED).close()
    with pytest.raises(BudgetError, match="raise"):
        sf.Session(FRAME, ledger=ledger, **{**DECLARED, "budget": sf.Budget(epsilon=10**7)})


def test_unit_that_moves_with_a_declaration_is_refused(tmp_path):
    ledger = tmp_path / "trips.ledger"
    sf.Session(FRAME, ledger=ledger, **DECLARED).close()
    with pytest.raises(UnitError):
        sf.Session(FRAME, ledger=ledger, **{**DECLARED, "unit": sf.Unit.rows(2)})


def test_budget_is_enforced_and_refusal_is_free():
    session = sf.Session(FRAME, **{**DECLARED, "budget": sf.Budget(epsilon=1)})
    session.table().count().release(epsilon="0.75")
    before = session.ledger.head
    with pytest.raises(BudgetExceeded):
        session.table().mean("age").release(epsilon="0.5")
    assert session.ledger.head == before


def test_request_id_repeats_its_answer_and_takes_no_other_question():
    session = sf.Session(FRAME, **DECLARED)
    asked = session.table().count()
    first = asked.release(epsilon=1, request="monday")
    assert asked.release(epsilon=1, request="monday") == first
    with pytest.raises(SfumatoError):
        session.table().sum("age").release(epsilon=1, request="monday")
    assert session.remaining.epsilon == 10**6 - 1


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"schema": sf.Schema(zones=sf.Text())}, SchemaError, "'zones'"),
        ({"schema": sf.Schema()}, SchemaError, "declares no column"),
        ({"schema": None}, SchemaError, "schema="),
        ({"unit": None}, UnitError, "unit="),
        ({"unit": sf.Unit.by("rider", max_rows=3)}, SchemaError, "'rider'"),
        ({"budget": None}, InputError, "budget="),
        ({"budget": 4}, InputError, "budget="),
        ({"rows": -1}, InputError, "rows"),
        ({"name": "a\0b"}, SchemaError, "name"),
    ],
    ids=lambda case: str(case)[:30],
)
def test_declaration_that_does_not_hold_is_refused(change, error, words):
    with pytest.raises(error) as caught:
        sf.Session(FRAME, **{**DECLARED, **change})
    assert words in str(caught.value)


@pytest.mark.parametrize("given", [np.array([1, 2]), np.array("a"), {1, 2}, 3], ids=repr)
@pytest.mark.parametrize("fact", ["ledger", "name", "version", "public", "links"])
def test_fact_of_another_kind_is_refused_in_our_words(fact, given):
    with pytest.raises(SfumatoError):
        sf.Session(FRAME, **DECLARED, **{fact: given})


@pytest.mark.parametrize("given", [np.array([1, 2]), ["method"], 3], ids=repr)
def test_choice_that_is_no_text_is_refused_in_our_words(given):
    session = sf.Session(FRAME, **DECLARED)
    points = session.table().with_columns(twice="age + age").points("age", "twice")
    with pytest.raises(InputError, match="method"):
        sf.ranges.release(sf.lab([3, 4]), method=given, epsilon=1)
    with pytest.raises(InputError, match="outside"):
        points.plane(outside=given)
    with pytest.raises(InputError, match="noise"):
        sf.mechanisms.StabilityHistogram(scale=1, threshold=3, noise=given)
    with pytest.raises(SfumatoError, match="kind of privacy"):
        sf.accounting.convert(Pure(1), to=given)
    with pytest.raises(UnknownName):
        session.table().count().release(epsilon=1).measure(given)


@pytest.mark.parametrize("source", ["missing.parquet", "https://example.org/a.csv", 7, None, {}])
def test_source_that_cannot_be_opened_is_refused(source):
    with pytest.raises(SfumatoError):
        sf.Session(source, **DECLARED)


def test_session_of_several_tables_wants_a_name(tmp_path):
    written(tmp_path, "trips.parquet")
    more = CONTRACT + CONTRACT[CONTRACT.index("[tables") :].replace("tables.trips", "tables.again")
    (tmp_path / "town.toml").write_text(more.format(analysts="", version="1"))
    session = sf.connect(tmp_path / "town.toml")
    assert session.tables == ("trips", "again")
    with pytest.raises(InputError, match="trips, again"):
        session.table()
    with pytest.raises(UnknownName, match="trips, again"):
        session.table("people")
    assert session.table("again").columns == ("zone", "age")


def test_contract_opens_the_same_session(tmp_path):
    written(tmp_path, "trips.parquet")
    file = tmp_path / "trips.toml"
    file.write_text(CONTRACT.format(analysts="", version="2026-11"))
    with sf.connect(file) as session:
        answer = session.table("trips").count().release(epsilon=1)
        assert (tmp_path / "trips.ledger").exists()
    with sf.connect(file) as session:
        assert session.table().count().release(epsilon=1) == answer
    with pytest.raises(ContractError):
        sf.connect(tmp_path / "other.toml")


def test_contract_is_found_by_a_path_of_bytes(tmp_path):
    written(tmp_path, "trips.parquet")
    file = tmp_path / "trips.toml"
    file.write_text(CONTRACT.format(analysts="", version="1"))
    sf.connect(Given(fsencode(file))).close()
    for wrong in (Given(b"other.toml"), Given(3)):
        with pytest.raises(ContractError):
            sf.connect(wrong)


def test_shares_that_the_ledger_does_not_record_are_refused(tmp_path):
    written(tmp_path, "trips.parquet")
    file = tmp_path / "trips.toml"
    file.write_text(CONTRACT.format(analysts="", version="1"))
    sf.connect(file).close()
    file.write_text(CONTRACT.format(analysts="[analysts.ana]\nepsilon = 1", version="1"))
    with pytest.raises(BudgetError, match="shares"):
        sf.connect(file, analyst="ana")


def test_declared_version_wins_over_an_earlier_refresh(tmp_path):
    written(tmp_path, "trips.parquet")
    file, left = tmp_path / "trips.toml", []
    for version in ("1", "2", "3"):
        file.write_text(CONTRACT.format(analysts="", version=version))
        with sf.connect(file) as session:
            session.table().count().release(epsilon=1)
            left.append(session.remaining.epsilon)
            if version == "1":
                session.ledger.refresh("trips", "between")
    assert left == [9, 8, 7]


def test_analyst_spends_a_share_and_an_unlisted_one_nothing(tmp_path):
    written(tmp_path, "trips.parquet")
    file = tmp_path / "trips.toml"
    shares = "[analysts.ana]\nepsilon = 1\n[analysts.bob]\nepsilon = 2"
    file.write_text(CONTRACT.format(analysts=shares, version="1"))
    with sf.connect(file, analyst="ana") as ana:
        first = ana.table().count().release(epsilon="0.75")
        assert ana.remaining.epsilon == sf.Budget("0.25").epsilon
        with pytest.raises(BudgetExceeded):
            ana.table().count().release(epsilon="0.5")
    with sf.connect(file, analyst="bob") as bob:
        assert list(bob.table().count().release(epsilon="0.75")["n"].covers) == list("noise only")
        assert bob.table().count().release(epsilon="0.75")["n"].value == first["n"].value
        assert bob.ledger.remaining().epsilon == sf.Budget("9.25").epsilon
    for stranger in ("eve", None):
        with pytest.raises(AnalystError):
            session = sf.connect(file, analyst=stranger)
            session.table().count().release(epsilon="0.1")


def test_session_shows_public_facts_only():
    session = sf.Session(FRAME, **DECLARED)
    for shown in (session, session.table(), session.table().group_by("zone")):
        text = repr(shown)
        assert "30" not in text
        assert "41" not in text
    assert "not durable" in repr(session)


def test_session_is_not_pickled():
    session = sf.Session(FRAME, **DECLARED)
    with pytest.raises((TypeError, SfumatoError)):
        pickle.dumps(session)
    with pytest.raises((TypeError, SfumatoError)):
        pickle.dumps(session.table())


def test_curator_protocol_measures_with_a_mechanism_of_ones_own():
    session = sf.Session(FRAME, **DECLARED)
    table = session.table()
    query = table.group_by("zone").count().queries[0]
    answer = table.measure(query, sf.mechanisms.DiscreteLaplace("0.0001"))
    assert answer.measures[0].values == (2, 1)
    one, two = table.measure([(query, sf.mechanisms.DiscreteLaplace(s)) for s in (1, 2)])
    assert (one.measures[0].scale, two.measures[0].scale) == (1, 2)
    assert table.unit == DECLARED["unit"]
    assert list(table.schema) == ["zone", "age"]
    with pytest.raises(InputError):
        table.measure([])


def test_derived_schema_is_that_of_the_derived_table():
    table = (
        sf.Session(FRAME, **DECLARED)
        .table()
        .with_columns(half="age / 2", old="age > 60", next="age + 1")
    )
    assert table.schema["half"] == sf.Real(0, "49.5", "0.5")
    assert table.schema["old"] == sf.Boolean()
    assert table.schema["next"] == sf.Integer(1, 100)


def test_frames_of_pandas_keep_their_own_values():
    frame = pd.DataFrame({"zone": pd.Categorical(["A", "B", "A", None]), "age": [1, 2, 3, 4]})
    assert counted(sf.Session(frame, **DECLARED)) == [2, 1]


def test_path_may_be_a_path_or_text(tmp_path):
    file = written(tmp_path, "trips.parquet")
    assert counted(sf.Session(str(file), **DECLARED)) == counted(sf.Session(Path(file), **DECLARED))


class Given(PathLike):
    """A path by what it says of itself."""

    def __init__(self, text):
        self.text = text

    def __fspath__(self):
        return self.text


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"version": 3}, InputError),
        ({"version": ""}, InputError),
        ({"version": {"trips": "1", "town": "2"}}, InputError),
        ({"analyst": ""}, SfumatoError),
        ({"budget": 3}, InputError),
        ({"public": {"zones": "\0"}}, InputError),
        ({"public": {"zones": "\ud800"}}, InputError),
        ({"public": {"zones": Given(3)}}, InputError),
        ({"source": Given(3), "name": None}, InputError),
    ],
)
def test_refused_session_leaves_no_ledger(tmp_path, more, error):
    before = len(connection._live)
    path = tmp_path / "trips.ledger"
    given = {"source": FRAME, **DECLARED, "ledger": path, "name": "trips", **more}
    with pytest.raises(error):
        sf.Session(**given)
    assert not list(tmp_path.iterdir())
    gc.collect()
    assert len(connection._live) <= before


def test_refused_session_closes_the_ledger_that_it_opened(tmp_path, monkeypatch):
    path, closed = tmp_path / "trips.ledger", []
    sf.Session(FRAME, **DECLARED, ledger=path).close()
    close = Ledger.close
    monkeypatch.setattr(Ledger, "close", lambda self: (closed.append(self), close(self)))
    with pytest.raises(BudgetError):
        sf.Session(FRAME, **{**DECLARED, "budget": sf.Budget(1)}, ledger=path)
    assert closed


def test_ledger_is_no_folder_and_has_a_name(tmp_path):
    for path in ("", "a\0b", "x" * 300, 3):
        with pytest.raises(InputError):
            sf.Session(FRAME, **DECLARED, ledger=path)
    for path in (tmp_path, ".", "/", ".."):
        with pytest.raises(LedgerError, match="names a folder"):
            sf.Session(FRAME, **DECLARED, ledger=path)
    with pytest.raises(LedgerError, match="cannot be written"):
        sf.Session(FRAME, **DECLARED, ledger="a/" * 3000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_session_is_not_used_in_a_forked_process(tmp_path):
    """Its engine has no threads there: over a file, a question was charged and never answered."""
    pyarrow.parquet.write_table(pa.table({"n": list(range(1000))}), tmp_path / "rows.parquet")
    schema, ledger = sf.Schema(n=sf.Integer(0, 999)), tmp_path / "ledger"
    budget, unit = sf.Budget(epsilon=9), sf.Unit.row()
    with sf.Session(
        tmp_path / "rows.parquet", unit=unit, schema=schema, budget=budget, ledger=ledger
    ) as session:
        table = session.table()
        child = os.fork()
        if not child:  # pragma: no cover - another process
            signal.alarm(20)
            try:
                table.count().release(epsilon=1)
            except sf.errors.InputError as refused:
                session.close()
                os._exit(0 if "another process" in str(refused) else 2)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert [event.kind for event in session.ledger.history() if event.charge] == []
        table.count().release(epsilon=1)
