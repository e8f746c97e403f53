"""Attacks that a hostile reader of the code would try first."""

import dataclasses
import traceback

import duckdb
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import AnalystError, InputError, SfumatoError
from sfumato.core.loss import Pure
from sfumato.mechanisms import DiscreteLaplace
from sfumato.relation.copied import Copy
from sfumato.relation.lower import Names, _select
from sfumato.session.exact import Exact


def exact(question):
    """Return the exact answers of a question, as only a test may."""
    return question.session._backend.run(question.sql, {"key": "ab"}).to_pylist()


@pytest.mark.parametrize("column", ["2000000000", "-2000000000", "2000000000 + 0"])
@pytest.mark.parametrize("computed", ["a + a", "a * a", "a - 0 - a - a - a", "-a - a - a"])
def test_constant_column_does_not_overflow(town, column, computed):
    table = town().table().with_columns(a=column).with_columns(b=computed)
    (row,) = exact(table.sum("b"))
    assert isinstance(row["m0"], int)


@pytest.mark.parametrize("copied", [False, True])
def test_every_number_in_a_plan_has_64_bits(town, copied):
    session = town()
    texts = [
        "1",
        "age",
        "age + 1",
        "CASE WHEN member THEN 1 ELSE 2 END",
        "coalesce(age, 3)",
        "5 % 3",
    ]
    table = session.table().with_columns(**{f"c{i}": text for i, text in enumerate(texts)})
    source = session.table()._node
    copy = Copy(source, "sfumato_kept_table_0", source.columns)
    names = Names((), {}, {source: copy} if copied else {})
    types = ", ".join(f"typeof(c{i}) AS t{i}" for i in range(len(texts)))
    sql = f"SELECT {types} FROM ({_select(table._node, names)}) LIMIT 1"  # noqa: S608
    tables = {copy.name: session._backend.run(copy.sql, {})}
    assert tables[copy.name].schema.field("age").type == pa.int16()
    found = session._backend.run(sql, {}, tables)
    assert set(found.to_pylist()[0].values()) == {"BIGINT"}


@pytest.fixture
def collated(tmp_path):
    """Open a database file whose texts do not tell case apart."""

    def open_file(rows, **declared):
        file = tmp_path / f"{len(rows)}.duckdb"
        with duckdb.connect(str(file)) as db:
            db.execute("CREATE TABLE t (name VARCHAR COLLATE NOCASE, u VARCHAR COLLATE NOCASE)")
            db.executemany("INSERT INTO t VALUES (?, ?)", rows)
        schema = sf.Schema(name=sf.Text())
        return sf.Session(file, name="t", schema=schema, budget=sf.Budget(1), **declared).table()

    return open_file


def test_collation_of_the_source_merges_no_groups(collated):
    rows = [("bob", "1")] * 5
    for more, expected in (([], {"bob": 5}), ([("BOB", "2")], {"bob": 5, "BOB": 1})):
        table = collated([*more, *rows], unit=sf.Unit.row())
        answer = exact(table.group_by("name", keys=["bob", "BOB"]).count())
        assert {row["k0"]: row["m0"] for row in answer} == expected


def test_collation_of_the_source_merges_no_units(collated):
    table = collated([("x", "bob"), ("y", "BOB")], unit=sf.Unit.by("u", max_rows=1))
    assert exact(table.count()) == [{"m0": 2}]


def test_question_of_another_session_is_refused(town):
    strict = town(unit=sf.Unit.by("rider", max_rows=1), name="trips")
    lax = town(name="trips")
    foreign = lax.table().sum("age").queries[0]
    with pytest.raises(InputError, match="another table"):
        strict.table().measure(foreign, DiscreteLaplace(1))
    assert strict.ledger.history() == []


def test_loss_is_computed_whatever_a_part_says(town):
    session = town(epsilon=10)
    (part,) = session.table().count().explain(epsilon=1).parts
    session.perform([dataclasses.replace(part, loss=Pure("0.0001"))])
    assert session.remaining.epsilon == 9


def test_mechanism_of_ones_own_measures_no_table(town, monkeypatch):
    known = sf.mechanisms.Laboratory.registry
    monkeypatch.setattr(sf.mechanisms.Laboratory, "registry", {**known})  # others count them

    class Cheap(DiscreteLaplace):
        def loss(self, sensitivity):
            return Pure("0.0001")

    session = town()
    others = (
        sf.mechanisms.Exponential(("a",), rate=1, monotone=True),
        sf.mechanisms.Quantile(q="0.5", low=0, high=9, step=1, rate=1),
        sf.mechanisms.GridLaplace(1, "0.5"),
    )
    for mechanism in (Cheap(1), object(), *others):
        with pytest.raises(InputError, match=r"cells of a table are measured with"):
            session.table().measure(session.table().count().queries[0], mechanism)
    with pytest.raises(InputError, match="Aggregate"):
        session.table().measure("count", DiscreteLaplace(1))
    assert session.ledger.history() == []


def test_interrupt_carries_no_exact_value(town, monkeypatch):
    session = town()
    drawn = Exact.drawn

    def interrupted(self, mechanism, rng):
        drawn(self, mechanism, rng)
        secret = self._held  # noqa: F841 - what a traceback with locals would show
        raise KeyboardInterrupt

    monkeypatch.setattr(Exact, "drawn", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        session.table().count().release(epsilon=1)
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.tb)]
    assert "interrupted" not in frames
    assert "_read" not in frames
    assert caught.value.__context__ is None


def test_nameless_analyst_sees_no_total(town, tmp_path):
    ledger = sf.Session.__init__.__globals__["Ledger"].create(
        tmp_path / "l", sf.Budget(4), sf.Unit.row(), analysts={"ana": sf.Budget(1)}
    )
    with pytest.raises(AnalystError):
        town(ledger=ledger, budget=sf.Budget(4))
    assert town(ledger=ledger, budget=sf.Budget(4), analyst="ana").remaining.epsilon == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.group_by("name", keys=["\ud800"]).count(),
        lambda t: t.with_columns(**{"\ud800": "age"}).count(),
        lambda t: t.filter("name = '\ud800'").count(),
        lambda t: t.agg(**{"": sf.count()}),
        lambda t: t.agg(**{"\ud800": sf.count()}),
    ],
    ids=["key", "column", "text", "empty output", "output"],
)
def test_text_that_no_engine_takes_is_refused_before_the_charge(town, ask):
    session = town()
    with pytest.raises(SfumatoError):
        ask(session.table()).release(epsilon=1)
    assert session.ledger.history() == []
    assert not session.ledger.closed


def test_file_of_the_same_name_is_other_data(tmp_path):
    declared = {
        "unit": sf.Unit.row(),
        "schema": sf.Schema(a=sf.Integer(0, 9)),
        "budget": sf.Budget(4),
    }
    left = []
    for month in ("january", "february", "february"):
        (tmp_path / month).mkdir(exist_ok=True)
        file = tmp_path / month / "trips.csv"
        file.write_text("a\n1\n2\n")
        with sf.Session(file, ledger=tmp_path / "ledger", **declared) as session:
            session.table().count().release(epsilon=1)
            left.append(session.remaining.epsilon)
    assert left == [3, 2, 2]


def test_frames_share_no_label_after_a_refresh(town):
    first = town(name="t")
    first.ledger.refresh("t", "2")
    second = town(
        pa.table(
            {
                "age": [1],
                "zone": ["east"],
                "fare": [1.0],
                "member": [True],
                "day": ["2026-01-01"],
                "name": ["x"],
            }
        ),
        name="t",
        ledger=first.ledger,
    )
    assert first._versions != second._versions


def test_closing_a_borrower_leaves_the_ledger_open(town):
    first = town()
    with town(ledger=first.ledger):
        pass
    first.table().count().release(epsilon=1)


def test_constants_are_not_moved_to_where_they_overflow():
    """An engine that puts constants together first would fail on a plan that fits."""
    opened = sf.Session(
        pa.table({"x": [1, 2]}),
        unit=sf.Unit.row(),
        schema=sf.Schema(x=sf.Integer(0, 3)),
        budget=sf.Budget(10),
    )
    text = "(zero - 4611686018427387904) + 4611686018427387904 + 4611686018427387904"
    table = opened.table().with_columns(zero="clamp(x, 0, 0)").with_columns(y=text)
    assert table.group_by("y", keys=[2**62]).count().release(epsilon=1)
