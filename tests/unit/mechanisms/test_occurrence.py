"""Groups on their way to a selection."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.mechanisms.occurrence import Chosen, Groups

NAMES = pa.chunked_array([["b", "d"], ["a"], ["c", "e"]])


@pytest.fixture
def groups():
    return Groups((NAMES, pa.array([5, 4, 3, 2, 1])), np.array([50, 40, 30, 20, 10]))


def shown(chosen):
    return [column.to_pylist() for column in chosen.columns]


def test_chosen_are_in_the_order_of_their_keys(groups):
    chosen = groups.chosen(np.array([0, 2, 4]), np.array([51, 29, 12]))
    assert shown(chosen) == [["a", "b", "e"], [3, 5, 1]]
    assert chosen.counts.tolist() == [29, 51, 12]
    assert chosen.size == 3


def test_none_are_chosen(groups):
    chosen = groups.chosen(np.array([], np.intp), None)
    assert (shown(chosen), chosen.size, chosen.counts) == ([[], []], 0, None)


def test_chosen_hold_nothing_of_the_others(groups):
    """Neither values nor buffers: a slice would carry all names along."""
    chosen = groups.chosen(np.array([1, 3]), None)
    held = b"".join(bytes(b) for c in chosen.columns for b in c.buffers() if b is not None)
    assert not any(name in held for name in (b"a", b"b", b"e"))
    everything = groups.chosen(np.arange(5), None)
    assert shown(everything)[0] == list("abcde")


def test_groups_know_where_those_are_that_were_chosen_of_them(groups):
    chosen = groups.chosen(np.array([0, 2, 4]), None)
    assert groups.rows(chosen).tolist() == [2, 0, 4]
    assert groups.rows(Chosen(chosen.columns)) is None  # alike, and perhaps of another table
    other = Groups(groups.columns, groups.counts)
    assert other.rows(chosen) is None
    groups.chosen(np.array([1]), None)
    assert groups.rows(chosen) is None


def test_nothing_of_it_shows(groups):
    groups.chosen(np.array([0]), None)
    assert repr(groups) == "<groups that occur, not shown>"
