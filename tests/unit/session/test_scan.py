"""From statements to exact inputs: which are shared, what is filled, and what nobody sees."""

import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import InputError, InternalError
from sfumato.mechanisms import DiscreteLaplace, PartitionSelection, Quantiles
from sfumato.mechanisms.bag import Bag
from sfumato.mechanisms.occurrence import Chosen, Groups
from sfumato.relation import Aggregate, Keys, Name, Occurrence, Rows, Source, Total, Values, bounded
from sfumato.relation.bought import keys_of
from sfumato.relation.lower import lowered, truncations
from sfumato.relation.node import Filter, scope
from sfumato.relation.source import HIDDEN
from sfumato.session.part import Part
from sfumato.session.reader import Reader
from sfumato.session.scan import _picked, scans, statements

TABLE = Source(
    "trips",
    sf.Schema(zone=sf.Text(), hour=sf.Integer(0, 23), late=sf.Boolean()),
    sf.Unit.by("rider", max_rows=2),
)
HOUR = Name("hour")


def keys(*columns, other=False):
    return keys_of(scope(TABLE), columns, sf.bought(other=other))


def parts(by, *queries):
    node = bounded(TABLE, by, (HOUR,))
    made = {
        "select": lambda: Part.of(Occurrence(node, by), PartitionSelection(1, "1e-6")),
        "rows": lambda: Part.of(Aggregate(node, by, Rows()), DiscreteLaplace(1)),
        "sum": lambda: Part.of(Aggregate(node, by, Total(HOUR)), DiscreteLaplace(1)),
        "values": lambda: Part.of(
            Values(node, by, HOUR), Quantiles(["1/2"], low=0, high=23, step=1, rate=1)
        ),
    }
    return [made[query]() for query in queries]


class Engine:
    """Answers statements by what they ask for, and writes down what it was given."""

    dialect = "duckdb"

    def __init__(self, *answers):
        self.answers, self.given = list(answers), []

    def run(self, sql, parameters, tables=None):
        if "row_turn" in sql:  # nothing to truncate
            names = ("c0", "c1", "c2", HIDDEN, "row_turn", "group_turn")
            return pa.table({name: pa.array([], pa.uint64()) for name in names})
        self.given.append((sql, dict(parameters)))
        return self.answers.pop(0)

    def stream(self, read, sql, *given):
        return read(self.run(sql, *given).to_reader())

    def reader(self):
        return Reader(self, "00")


def held(found, place):
    return found.exact(place)._held


def test_condition_of_listed_keys_is_not_built_for_a_statement(monkeypatch):
    """It has a constant for every key, and only bought ones are compared with it."""
    listed = Keys.of(scope(TABLE), ["hour"])
    query = Aggregate(Filter(TABLE, Name("late")), listed, Rows())
    built = []
    monkeypatch.setattr(Keys, "condition", lambda self: built.append(self.columns))
    assert "GROUP BY" in lowered([query], "duckdb")
    assert built == []


def test_one_statement_counts_all_and_selects_first():
    made = parts(keys("zone"), "sum", "rows", "select")
    [scan] = scans(made, "duckdb")
    assert scan.places == (2, 0, 1)
    assert not scan.is_bag
    [shown] = statements([part.query for part in made], "duckdb")
    assert "row_number()" in shown
    sql = scan.lowered("duckdb", truncations(scan.node))
    assert "row_number()" not in sql
    assert "sfumato_kept_0" in sql


def test_values_have_a_statement_of_their_own_after_the_selection():
    made = parts(keys("zone"), "values", "sum", "select")
    first, second = scans(made, "duckdb")
    assert (first.places, second.places) == ((2, 1), (0,))
    assert (first.is_bag, second.is_bag) == (False, True)


@pytest.mark.parametrize("asked", [("rows",), ("values",), ("select", "select"), ("sum", "values")])
def test_bought_groups_without_one_selection_are_refused(asked):
    with pytest.raises(InputError, match="selected once"):
        scans(parts(keys("zone"), *asked), "duckdb")


def test_groups_go_to_the_selection_and_those_chosen_to_the_rest():
    made = parts(keys("zone"), "select", "rows", "sum")
    [scan] = scans(made, "duckdb")
    table = pa.table({"k0": ["b", "a", "c"], "m0": [5, 7, 1], "m1": [6, 8, 1], "m2": [60, 80, 9]})
    engine = Engine(table)
    found = scan.read(engine.reader(), None)
    groups = held(found, 0)
    assert isinstance(groups, Groups)
    assert groups.counts.tolist() == [5, 7, 1]
    chosen = groups.chosen(np.array([0, 1]), None)
    assert [column.to_pylist() for column in chosen.columns] == [["a", "b"]]
    assert (chosen.size, chosen.counts) == (2, None)
    narrow = found.narrowed(chosen)
    assert narrow.cells == {"zone": ("a", "b")}
    assert held(narrow, 1).tolist() == [8, 6]
    assert held(narrow, 2).tolist() == [80, 60]


def test_group_that_the_table_lacks_is_zero():
    made = parts(keys("zone", "late"), "select", "sum")
    [scan] = scans(made, "duckdb")
    table = pa.table({"k0": ["b", "a"], "k1": [1, 0], "m0": [5, 7], "m1": [60, 80]})
    found = scan.read(Engine(table).reader(), None)
    narrow = found.narrowed(Chosen((["a", "a", "b"], [0, 1, 1])))
    assert held(narrow, 1).tolist() == [80, 0, 60]
    assert narrow.cells == {"zone": ("a", "a", "b"), "late": (False, True, True)}


@pytest.mark.parametrize("columns", [("zone",), ("zone", "late")])
def test_table_without_any_row_has_zeros_and_no_rest(columns):
    made = parts(keys(*columns, other=True), "select", "sum")
    [scan] = scans(made, "duckdb")
    empty = {f"k{i}": pa.array([], pa.string() if not i else pa.int64()) for i in range(2)}
    numbers = {name: pa.array([], pa.int64()) for name in ("m0", "m1")}
    picked = {name: empty[name] for name in list(empty)[: len(columns)]}
    found = scan.read(Engine(pa.table({**picked, **numbers})).reader(), None)
    assert held(found, 0).counts.tolist() == []
    key = (["a"], [0])[: len(columns)]
    assert held(found.narrowed(Chosen(key)), 1).tolist() == [0, 0]
    assert held(found.narrowed(Chosen(([],) * len(columns))), 1).tolist() == [0]


def test_chosen_groups_are_given_to_the_statement_for_values():
    made = parts(keys("zone", "late"), "select", "values")
    _, scan = scans(made, "duckdb")
    engine = Engine(pa.table({"cell": [1, 0, 1], "v": pa.array([3, 4, 5], pa.int32())}))
    found = scan.read(engine.reader(), Chosen((["a", "it's"], [0, 1])))
    [(sql, given)] = engine.given
    assert (given["b0"], given["b1"]) == (["a", "it's"], [0, 1])
    assert "it's" not in sql
    bag = held(found, 1)
    assert isinstance(bag, Bag)
    assert (bag.values.tolist(), bag.cells.tolist(), bag.groups) == ([3, 4, 5], [1, 0, 1], 2)
    assert bag.values.dtype == np.int64


def test_values_of_listed_cells_leave_out_what_is_in_none():
    listed = Keys.of(scope(TABLE), ["zone"], ["b", "a"])
    [scan] = scans(parts(listed, "values"), "duckdb")
    table = pa.table({"k0": ["a", "x", None, "b"], "v": [1, 2, 3, 4]})
    bag = held(scan.read(Engine(table).reader(), None), 0)
    assert (bag.values.tolist(), bag.cells.tolist(), bag.groups) == ([1, 4], [1, 0], 2)


@pytest.mark.parametrize(
    ("counted", "rows", "expected"),
    [
        ([1, 2, 3], [0], [1, 5]),
        ([1, 2, 3], [2, -1, 0], [3, 0, 1, 2]),
        ([2**63 - 1, 2**63 - 1, 5], [2], [5, 2**63 - 1]),
        ([-(2**63) + 1, -(2**63) + 1], [], [-(2**63) + 1]),
        ([2**62, -(2**62), 2**62 + 1], [], [2**62 + 1]),
        ([], [-1], [0, 0]),
    ],
    ids=range(6),
)
def test_rest_is_summed_exactly_and_saturates(counted, rows, expected):
    both = _picked(np.array(counted, np.int64), np.array(rows, np.int64), other=True)
    assert both.tolist() == expected
    alone = _picked(np.array(counted, np.int64), np.array(rows, np.int64), other=False)
    assert alone.tolist() == expected[:-1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # numpy tries again in an older way
@pytest.mark.parametrize("column", ["m0", "m1"])
def test_number_that_is_missing_is_a_failure(column):
    made = parts(keys("zone"), "select", "rows")
    [scan] = scans(made, "duckdb")
    numbers = {name: pa.array([None if name == column else 1]) for name in ("m0", "m1")}
    found = scan.read(Engine(pa.table({"k0": ["a"], **numbers})).reader(), None)
    with pytest.raises(pa.ArrowException, match="null"):
        held(found.narrowed(Chosen((["a"],))), 0 if column == "m0" else 1)


def test_nothing_of_it_shows():
    made = parts(keys("zone"), "select", "rows")
    [scan] = scans(made, "duckdb")
    table = pa.table({"k0": ["a secret"], "m0": [12345], "m1": [54321]})
    found = scan.read(Engine(table).reader(), None)
    exact = found.exact(0)
    shown = f"{found!r}{found}{exact!r}{exact!s}{exact._held!r}{Bag(np.array([12345]), None, 1)!r}"
    assert not any(word in shown for word in ("secret", "12345", "54321"))
    for misuse in (copy.copy, pickle.dumps, hash, len, list, bool, np.asarray):
        with pytest.raises(InternalError):
            misuse(exact)


def test_order_of_chosen_groups_says_nothing_of_the_table():
    names, places = ["b", "c", "a"], np.array([0, 1, 2])
    one = Groups((pa.array(names),), np.array([1, 2, 3]))
    two = Groups((pa.array(names[::-1]),), np.array([3, 2, 1]))
    noisy = np.array([10, 20, 30])
    for chosen in (one.chosen(places, noisy), two.chosen(places, noisy[::-1])):
        assert [column.to_pylist() for column in chosen.columns] == [["a", "b", "c"]]
        assert chosen.counts.tolist() == [30, 10, 20]
