"""The kernel: nine steps, in order, whatever fails."""

import copy

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.core.codec import encode
from sfumato.core.errors import (
    BudgetExceeded,
    DataClosed,
    InputError,
    LedgerError,
    LossError,
    QueryError,
    ReleaseFailed,
    RequestError,
)
from sfumato.ledger import Ledger
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.relation import Aggregate, Keys, Name, Rows, Source, Total, bounded
from sfumato.relation.expr import FUNCTIONS, Call, Typed
from sfumato.relation.kind import Number
from sfumato.relation.node import scope
from sfumato.relation.partition import Partition, Slice
from sfumato.relation.source import HIDDEN
from sfumato.session.kernel import FAILED, UNWRITTEN, Access, measure
from sfumato.session.part import Part
from sfumato.testing import SeededRng

PRIVATE = "a secret of the data"
TABLE = Source(
    "trips",
    sf.Schema(zone=sf.Category(["A", "B", "C"]), hour=sf.Integer(0, 23)),
    sf.Unit.row(),
)
BY_ZONE = Keys.of(scope(TABLE), ["zone"])
AMPLE, TEN = sf.Budget(epsilon=10**6), sf.Budget(epsilon=10)


class Diary:
    """A backend and a ledger that write down what is done to them, in order."""

    dialect = "duckdb"

    def __init__(self, answer=None, budget=TEN, fails=None):
        self.steps, self.answer, self.fails = [], answer, fails
        self.ledger = Ledger.create(None, budget, TABLE.unit)
        for step in ("reserve", "touch", "settle", "abandon", "fault"):
            setattr(self.ledger, step, self._noted(step, getattr(self.ledger, step)))
        self.sql = []

    def _noted(self, step, method):
        def noted(*args, **kwargs):
            done = method(*args, **kwargs)
            self.steps.append(step)
            return done

        return noted

    def run(self, sql, parameters, tables=None):
        self.steps.append("read")
        self.sql.append((sql, dict(parameters)))
        if self.fails is not None:
            raise self.fails
        return self.answer(sql) if callable(self.answer) else self.answer

    def stream(self, read, sql, *given):
        return read(self.run(sql, *given).to_reader())

    def close(self):
        """Nothing to close."""

    def access(self, **options):
        return Access(self, self.ledger, {"trips": "1"}, rng=SeededRng(1), **options)


def zones(**columns):
    return pa.table({"k0": pa.array([2, 0]), **{n: pa.array(v) for n, v in columns.items()}})


def count(scale=1):
    return Part.of(Aggregate(TABLE, BY_ZONE, Rows()), DiscreteLaplace(scale))


def total(scale=23):
    return Part.of(Aggregate(TABLE, BY_ZONE, Total(Name("hour"))), DiscreteLaplace(scale))


def test_kernel_charges_before_it_reads_and_records_before_it_answers():
    diary = Diary(zones(m0=[5, 7]))
    measure([count()], diary.access(), request="q")
    assert diary.steps == ["reserve", "touch", "read", "settle"]


def test_kernel_fills_public_cells_that_have_no_rows():
    diary = Diary(zones(m0=[5000, 7000]), AMPLE)
    (release,) = measure([count("0.01")], diary.access(), request="q")
    assert release.to_pandas()["zone"].tolist() == ["A", "B", "C"]
    assert release.measures[0].values == (7000, 0, 5000)


def test_kernel_drops_rows_that_are_in_no_public_cell():
    found = pa.table({"k0": pa.array([9, None, 1]), "m0": pa.array([1000, 1000, 3])})
    (release,) = measure([count("0.01")], Diary(found, AMPLE).access(), request="q")
    assert release.measures[0].values == (0, 3, 0)


def test_kernel_shares_one_scan_and_one_charge():
    diary = Diary(zones(m0=[5, 7], m1=[50, 70]))
    releases = measure([count(), total()], diary.access(), request="q")
    assert diary.steps == ["reserve", "touch", "read", "settle"]
    assert len(diary.sql) == 1
    assert len(releases) == 2
    assert diary.ledger.remaining().epsilon == 8


def test_kernel_keeps_the_order_of_parts_about_different_cells():
    whole = Keys()
    all_of_it = Part.of(Aggregate(TABLE, whole, Rows()), DiscreteLaplace("0.01"))

    def answer(sql):
        if "GROUP BY" in sql:
            return zones(m0=[5, 7], m1=[50, 70])
        return pa.table({"m0": pa.array([12])})

    diary = Diary(answer, AMPLE)
    got = measure([count("0.01"), all_of_it, total("0.01")], diary.access(), request="q")
    # hours move by 23, so noise of scale 0.01 is still 0
    assert [r.measures[0].values for r in got] == [(7, 0, 5), (12,), (70, 0, 50)]
    assert len(diary.sql) == 2


def test_kernel_asks_the_same_question_once():
    diary = Diary(zones(m0=[5, 7]))
    first = measure([count()], diary.access(), request="one")
    again = measure([count()], diary.access(), request="two")
    assert encode(first) == encode(again)
    assert diary.steps.count("read") == 1
    assert diary.ledger.remaining().epsilon == 9


@pytest.mark.parametrize(
    "other",
    [
        count(2),
        Part.of(Aggregate(TABLE, BY_ZONE, Rows()), DiscreteGaussian(1)),
        Part.of(
            Aggregate(TABLE, Keys.of(scope(TABLE), ["zone"], ["C", "A"]), Rows()),
            DiscreteLaplace(1),
        ),
    ],
    ids=["scale", "family", "cells"],
)
def test_kernel_takes_no_other_question_for_the_same(other):
    diary = Diary(zones(m0=[5, 7]), budget=sf.Budget(10, "1e-6"))
    measure([count()], diary.access(), request="one")
    measure([other], diary.access(), request="two")
    assert diary.steps.count("read") == 2


def test_kernel_reads_again_for_another_version():
    diary = Diary(zones(m0=[5, 7]))
    measure([count()], diary.access(), request="one")
    measure([count()], Access(diary, diary.ledger, {"trips": "2"}, rng=SeededRng(1)), request="two")
    assert diary.steps.count("read") == 2


def test_refused_request_reads_nothing_and_costs_nothing():
    diary = Diary(zones(m0=[5, 7]), budget=sf.Budget(epsilon="0.5"))
    with pytest.raises(BudgetExceeded):
        measure([count()], diary.access(), request="q")
    assert diary.steps == []
    assert diary.ledger.remaining().epsilon == sf.Budget("0.5").epsilon


@pytest.mark.parametrize(
    "problem",
    [ValueError(PRIVATE), MemoryError(PRIVATE), SystemExit(PRIVATE), LedgerError(PRIVATE)],
    ids=["value", "memory", "exit", "own"],
)
def test_failure_after_touching_is_constant_and_closes_the_data(problem):
    diary = Diary(fails=problem)
    with pytest.raises(ReleaseFailed) as caught:
        measure([count()], diary.access(), request="q")
    assert caught.value.message == FAILED
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert diary.steps == ["reserve", "touch", "read", "fault"]
    assert diary.ledger.remaining().epsilon == 9
    with pytest.raises(DataClosed):
        measure([count(3)], diary.access(), request="other")
    diary.ledger.acknowledge()
    diary.fails, diary.answer = None, zones(m0=[5, 7])
    with pytest.raises(RequestError):
        measure([count()], diary.access(), request="q")
    measure([count()], diary.access(), request="again")  # asking again pays again
    assert diary.ledger.remaining().epsilon == 8


@pytest.mark.parametrize(
    "answer",
    [
        pa.table({"k0": pa.array([0])}),
        pa.table({"k0": pa.array([0]), "m0": pa.array(["text"])}),
        pa.table({"k0": pa.array([0]), "m0": pa.array([None], pa.int64())}),
        None,
    ],
    ids=["column missing", "no number", "null", "nothing"],
)
def test_answer_of_another_shape_is_a_failure_and_never_a_release(answer):
    diary = Diary(answer)
    with pytest.raises(ReleaseFailed):
        measure([count()], diary.access(), request="q")
    assert diary.steps[-1] == "fault"


def test_answer_that_cannot_be_recorded_is_not_given():
    diary = Diary(zones(m0=[5, 7]))

    def full(*_):
        raise LedgerError("the disk is full.")

    diary.ledger.settle = full
    with pytest.raises(ReleaseFailed):
        measure([count()], diary.access(), request="q")


@pytest.mark.parametrize("step", ["fault", "abandon"])
def test_failure_that_cannot_be_written_says_so_and_stays_paid(step):
    diary = Diary(fails=ValueError(PRIVATE) if step == "fault" else KeyboardInterrupt())

    def full(*_):
        raise LedgerError(PRIVATE)

    setattr(diary.ledger, step, full)
    with pytest.raises(ReleaseFailed if step == "fault" else KeyboardInterrupt) as caught:
        measure([count()], diary.access(), request="q")
    assert PRIVATE not in str(caught.value)
    if step == "fault":
        assert caught.value.message == UNWRITTEN
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert diary.steps == ["reserve", "touch", "read"]
    assert diary.ledger.remaining().epsilon == 9
    with pytest.raises(RequestError):  # nobody knows what became of it
        measure([count()], diary.access(), request="q")


def test_request_that_its_owner_gives_up_meanwhile_is_told_so():
    """It is not the disk alone that keeps a failure out of the ledger."""
    diary = Diary()

    def freed(_):
        diary.ledger.abandon(*diary.ledger.pending())  # as `sfumato ledger free` does
        return zones(m0=[5, 7])

    diary.answer = freed
    with pytest.raises(ReleaseFailed, match="its disk fails, or the owner gave the request up"):
        measure([count()], diary.access(), request="q")
    assert diary.steps == ["reserve", "touch", "read", "abandon"]
    assert not diary.ledger.closed


def test_interrupted_request_is_abandoned_and_paid():
    diary = Diary(fails=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        measure([count()], diary.access(), request="q")
    assert diary.steps == ["reserve", "touch", "read", "abandon"]
    assert diary.ledger.remaining().epsilon == 9
    assert not diary.ledger.closed


@pytest.mark.parametrize("fixed", [False, True])
def test_only_what_is_said_to_be_fixed_is_charged_by_the_law_of_all_losses(fixed):
    parts = [Part.of(Aggregate(TABLE, BY_ZONE, Rows()), DiscreteGaussian(40))] * 9
    cost = accounting.compose([part.loss for part in parts])
    prices = [accounting.charge(cost, "1e-6", fixed=law) for law in (False, True)]
    assert prices[1].epsilon < prices[0].epsilon
    diary = Diary(zones(**{f"m{i}": [5, 7] for i in range(9)}), sf.Budget(epsilon=9, delta="1e-5"))
    said = {"fixed": True} if fixed else {}
    measure(parts, diary.access(), request="q", delta="1e-6", **said)
    assert diary.ledger.spent().epsilon == prices[fixed].epsilon


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_question_beyond_the_part_that_pays_is_one_too_many(place):
    split = Partition.of(TABLE, BY_ZONE)
    parts = [Part.of(Aggregate(split.part("A"), Keys(), Rows()), DiscreteLaplace(1))] * 2
    diary = Diary(pa.table({"m0": [5]}))
    access = diary.access(slice=Slice(split, "A"))
    for node in (TABLE, split.part("B")):
        outside = Part.of(Aggregate(node, Keys(), Rows()), DiscreteLaplace(1))
        with pytest.raises(InputError, match="more than the part of the table"):
            measure([*parts[:place], outside, *parts[place:]], access, request="q")
    assert diary.steps == []
    assert len(measure(parts[:1], access, request="q")) == 1


def test_truncation_key_goes_to_the_engine_and_not_into_the_text():
    source = Source("trips", TABLE.schema, sf.Unit.by("rider", max_rows=2))
    query = Aggregate(bounded(source, BY_ZONE, ()), BY_ZONE, Rows())
    none = pa.array([], pa.uint64())
    turns = pa.table(dict.fromkeys(("c0", HIDDEN, "row_turn", "group_turn"), none))
    said = [turns, zones(m0=[5, 7])]
    diary = Diary(lambda _: said.pop(0))
    measure([Part.of(query, DiscreteLaplace(1))], diary.access(), request="q")
    key = diary.ledger.truncation_key.hex()
    assert [parameters["key"] for _, parameters in diary.sql] == [key] * 2
    assert [key in sql for sql, _ in diary.sql] == [False] * 2
    assert ["$key" in sql for sql, _ in diary.sql] == [True, False]


def test_part_that_no_unit_can_move_is_not_measured():
    source = Source("trips", TABLE.schema, sf.Unit.row(neighbors="replace"), rows=10)
    with pytest.raises(LossError):
        Part.of(Aggregate(source, Keys(), Rows()), DiscreteLaplace(1))


def test_release_names_its_receipt_and_is_public():
    diary = Diary(zones(m0=[5, 7]))
    (release,) = measure([count()], diary.access(), request="q")
    assert release.receipt.startswith("1:")
    assert not release.durable
    assert copy.deepcopy(release) == release


def test_what_the_engine_does_not_take_is_refused_before_it_is_paid_for(monkeypatch):
    """A function that lets too much through is a fault; it must not close the data to everybody."""
    broken = Typed(Number(0, 23), "left(3, 4)")
    monkeypatch.setitem(FUNCTIONS, "broken", lambda _: broken)
    expr = Call("broken", (Name("hour"),))
    part = Part.of(Aggregate(TABLE, BY_ZONE, Total(expr)), DiscreteLaplace(23))
    diary = Diary(zones(m0=[5, 7]))
    with pytest.raises(QueryError, match="does not take what this question becomes"):
        measure([part], diary.access(), request="q")
    assert diary.steps == []
