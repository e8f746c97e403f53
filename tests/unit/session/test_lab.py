"""The laboratory keeps the contract of a curator, with real noise and no ledger."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import (
    BudgetExceeded,
    DataError,
    InputError,
    RangeError,
    UnitError,
    UnknownName,
)
from sfumato.mechanisms import DiscreteLaplace

CUBE = np.arange(24).reshape(2, 3, 4)
TINY = DiscreteLaplace("0.0001")


def measured(lab, *columns):
    query = lab.histogram(*columns)
    return np.array(lab.measure(query, TINY).measures[0].values).reshape(query.sizes)


@pytest.fixture
def lab():
    return sf.lab(CUBE, budget=sf.Budget(epsilon=10**9))


def test_lab_answers_its_histogram(lab):
    assert np.array_equal(measured(lab), CUBE)


def test_lab_answers_marginals_in_the_order_asked(lab):
    assert np.array_equal(measured(lab, "x1"), CUBE.sum(axis=(0, 2)))
    assert np.array_equal(measured(lab, "x2", "x0"), CUBE.sum(axis=1).T)


def test_lab_charges_and_refuses():
    lab = sf.lab([5, 6], budget=sf.Budget(epsilon=1))
    lab.measure(lab.histogram(), DiscreteLaplace(2))
    assert lab.remaining.epsilon == sf.Budget("0.5").epsilon
    with pytest.raises(BudgetExceeded):
        lab.measure([(lab.histogram(), DiscreteLaplace(4)), (lab.histogram(), DiscreteLaplace(2))])
    assert lab.remaining.epsilon == sf.Budget("0.5").epsilon


def test_lab_batch_is_one_charge(lab):
    had = lab.remaining.epsilon
    answers = lab.measure(
        [(lab.histogram("x0"), DiscreteLaplace(1)), (lab.histogram(), DiscreteLaplace(2))]
    )
    assert [len(a) for a in answers] == [2, 24]
    assert had - lab.remaining.epsilon == sf.Budget("1.5").epsilon


def test_lab_scope_limits_and_counts_outside(lab):
    had = lab.remaining.epsilon
    with lab.scope(sf.Budget(epsilon=1)) as inner:
        inner.measure(inner.histogram(), DiscreteLaplace(1))
        with pytest.raises(BudgetExceeded):
            inner.measure(inner.histogram(), DiscreteLaplace(1))
    assert had - lab.remaining.epsilon == 1


def test_lab_partition_holds_the_part(lab):
    parts = lab.partition("x1", [0, 2])
    assert np.array_equal(measured(parts[2], "x1"), [0, 0, CUBE[:, 2].sum()])


def test_lab_sensitivity_is_that_of_its_unit():
    replaced = sf.lab([3, 4], unit=sf.Unit.rows(2, neighbors="replace"))
    moved = replaced.histogram().sensitivity(replaced.unit)
    assert (moved.l0, moved.l1, moved.l2_squared, moved.linf) == (2, 4, 8, 2)
    added = sf.lab([3, 4, 5], unit=sf.Unit.rows(2))
    moved = added.histogram().sensitivity(added.unit)
    assert (moved.l0, moved.l1, moved.linf) == (2, 2, 2)
    with pytest.raises(UnitError):
        added.histogram().sensitivity(sf.Unit.by("id", max_rows=2))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_lab_neighbors_differ_by_no_more(seed, relation):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 4))
    unit = sf.Unit.rows(rows, neighbors=relation)
    here, there = (rng.integers(0, 6, rows) for _ in range(2))
    rest = rng.integers(0, 6, 10)
    kept = there if relation == "replace" else there[:0]
    first, second = (
        sf.lab.table(
            {"a": np.concatenate([rest, own]) % 3, "b": np.concatenate([rest, own]) // 3},
            {"a": 3, "b": 2},
            unit=unit,
        )
        for own in (here, kept)
    )
    for columns in ((), ("a",), ("b", "a")):
        query = first.histogram(*columns)
        change = (first._answer(query) - second._answer(query)).ravel()
        moved = query.sensitivity(unit)
        assert np.count_nonzero(change) <= moved.l0
        assert np.abs(change).sum() <= moved.l1
        assert (change**2).sum() <= moved.l2_squared
        assert np.abs(change).max() <= moved.linf


def test_lab_takes_coded_frames_and_points():
    frame = pd.DataFrame({"age": [0, 1, 1, 2], "sex": [0, 1, 1, 0]})
    lab = sf.lab.table(frame, {"age": 3, "sex": 2}, budget=sf.Budget(10**9))
    assert measured(lab).tolist() == [[1, 0], [0, 2], [1, 0]]
    xy = [[0.0, 0.0], [0.99, 0.5], [1.0, 0.2], [0.5, -0.1], [float("nan"), 0.5]]
    points = sf.lab.points(xy, (0, 0, 1, 1), bins=2, budget=sf.Budget(10**9))
    assert measured(points).tolist() == [[1, 0], [0, 1]]  # boxes are half-open


def test_lab_refuses_a_box_that_is_turned_around():
    with pytest.raises(RangeError, match="turned around"):
        sf.lab.points([[1, 2]], (1, 0, 0, 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.lab([]),
        lambda: sf.lab(3),
        lambda: sf.lab([-1, 2]),
        lambda: sf.lab([0.5]),
        lambda: sf.lab.table({"a": [0, 3]}, {"a": 3}),
        lambda: sf.lab.table({"a": [-1]}, {"a": 3}),
        lambda: sf.lab.table({"a": [0.5]}, {"a": 3}),
        lambda: sf.lab.table({"a": [1]}, {"a": 10**9}).histogram(),
        lambda: sf.lab.points([[1, 2, 3]], (0, 0, 1, 1)),
    ],
)
def test_lab_refuses_what_is_no_histogram(make):
    with pytest.raises((DataError, RangeError)):
        make()


def test_lab_refuses_questions_of_others(lab):
    with pytest.raises(UnknownName):
        lab.histogram("y")
    with pytest.raises(InputError):
        lab.histogram("x0", "x0")
    had = lab.remaining.epsilon
    with pytest.raises(InputError):
        lab.measure(sf.lab([1, 2, 3]).histogram(), TINY)
    with pytest.raises(InputError):
        lab.measure([])
    with pytest.raises(InputError):
        lab.histogram().lower("duckdb")
    assert lab.remaining.epsilon == had


def test_lab_shows_its_columns_and_no_count(lab):
    assert repr(lab) == "<lab: x0 (2), x1 (3), x2 (4); Unit.row()>"
    assert "sf.lab" in repr(sf.lab)


@pytest.mark.parametrize(
    ("frame", "domain", "said"),
    [
        ({"a": [0, 1], "b": [0]}, {"a": 2, "b": 2}, "'a' has 2, 'b' has 1"),
        ({"a": [[0, 1], [1, 0]]}, {"a": 2}, "one dimension"),
        ({"a": [[0, 1], [1]]}, {"a": 2}, "whole numbers from 0"),
        ({"a": [0, 0]}, {"a": True}, "how many values"),
        ({"a": [0, 0]}, {"a": 0}, "how many values"),
        ({"a": [0, 0]}, {"a": "2"}, "how many values"),
        ({"a": [0.5]}, {"a": 2}, "whole numbers from 0"),
        ({"a": [0, 2]}, {"a": 2}, "whole numbers from 0"),
        ({"a": [0]}, {"b": 2}, "no column 'b'"),
        (pl.DataFrame({"a": [0]}), {"b": 2}, "no column 'b'"),
        (pa.table({"a": [0]}), {"b": 2}, "no column 'b'"),
        (None, {"b": 2}, "no column 'b'"),
        ({"a": [0]}, ["a"], "needs a column"),
    ],
)
def test_table_that_is_none_is_refused_in_words(frame, domain, said):
    with pytest.raises(sf.errors.DataError, match=said):
        sf.lab.table(frame, domain)


def test_counts_that_are_no_array_are_refused_in_words():
    with pytest.raises(sf.errors.DataError, match="takes a histogram"):
        sf.lab([[1], [1, 2]])


@pytest.mark.parametrize("none", [[], (), np.empty(0, np.int64)])
def test_table_of_nobody_is_a_table(none):
    empty = sf.lab.table({"a": none}, {"a": np.int64(2)})
    found = empty.measure(empty.histogram("a"), sf.mechanisms.DiscreteLaplace(1))
    assert len(found.measures[0].values) == 2
