"""Cells partition the values, in order where there is one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.audit.cut import Cut

# All floats of 16 bits, NaN and infinity among them, and none that has to be drawn again.
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64).tolist()
FLOATS = arrays(np.float64, st.integers(1, 60), elements=st.sampled_from(HALVES))
INTS = arrays(np.int64, st.integers(1, 60), elements=st.integers(-20, 20))


@given(FLOATS, FLOATS)
def test_every_value_has_one_cell(known, fresh):
    cut = Cut.learn(known, ordered=True)
    cells = cut.cells(fresh)
    assert ((cells >= 0) & (cells < cut.size)).all()
    assert cut.counts(fresh).sum() == fresh.size


@given(FLOATS, FLOATS)
def test_cells_follow_the_order_and_nan_has_the_last(known, fresh):
    cut = Cut.learn(known, ordered=True, most=8)
    ordered = np.sort(fresh)  # NaN last
    assert (np.diff(cut.cells(ordered)) >= 0).all()
    assert (cut.cells(fresh[np.isnan(fresh)]) == cut.size - 1).all()
    assert (cut.cells(fresh[~np.isnan(fresh)]) < cut.size - 1).all()


EDGY = st.integers(-20, 20) | st.sampled_from([-(2**63), 2**63 - 1, 2**62, 2**14, -(2**14)])
WIDE = arrays(np.int64, st.integers(1, 60), elements=EDGY)


@given(INTS | WIDE, WIDE)
def test_integers_are_looked_up_in_the_same_cells_as_searched(known, fresh):
    cut = Cut.learn(known, ordered=True)
    assert cut.cells(fresh).tolist() == np.searchsorted(cut.edges, fresh, "left").tolist()


@given(INTS)
def test_few_values_have_a_cell_each(known):
    cut = Cut.learn(known, ordered=True)
    assert np.unique(cut.cells(known)).size == np.unique(known).size


def test_many_values_share_cells_evenly_and_finely_at_the_ends():
    known = np.arange(100_000)
    cut = Cut.learn(known, ordered=True, most=512)
    counts = cut.counts(known)
    assert cut.size <= 514
    assert counts.max() <= 100_000 / 200
    assert (counts[:12] == 1).all()
    assert (counts[-11:-1] == 1).all()
    assert counts[:60].sum() < 1000


@given(INTS, INTS)
def test_values_without_order_are_told_apart_exactly(known, fresh):
    cut = Cut.learn(known.astype(np.uint64), ordered=False)
    values, many = np.unique(known.astype(np.uint64), return_counts=True)
    common = set(values[many > 1].tolist())
    cells = cut.cells(fresh.astype(np.uint64))
    for value, cell in zip(fresh.astype(np.uint64).tolist(), cells.tolist(), strict=True):
        assert (cell < cut.size - 1) == (value in common)
        if value in common:
            assert cut.edges[cell] == value


def test_values_without_order_keep_the_most_frequent():
    known = np.repeat(np.arange(10, dtype=np.uint64), np.arange(2, 12))
    assert Cut.learn(known, ordered=False, most=3).edges.tolist() == [7, 8, 9]


@pytest.mark.parametrize("ordered", [True, False])
def test_nothing_to_learn_from_leaves_one_cell_for_all(ordered):
    cut = Cut.learn(np.full(5, np.nan), ordered=ordered)
    assert cut.counts(np.array([np.nan, 1.0])).sum() == 2
