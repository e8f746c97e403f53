"""What an integer matrix does to neighboring cells is never more than its norms say."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import InputError
from sfumato.relation.linear import fits, limits, moved, weighted
from sfumato.relation.matrix import (
    Blocks,
    Boxes,
    Buckets,
    Centered,
    Explicit,
    Halves,
    Kronecker,
    Norms,
    Toeplitz,
    Waves,
)
from sfumato.session.histogram import Histogram


@st.composite
def matrices(draw, cells):
    """One matrix of every kind, with so many columns."""
    entry = st.integers(-9, 9)
    kind = draw(
        st.sampled_from(
            ["blocks", "buckets", "halves", "centered", "toeplitz", "explicit", "waves"]
        )
    )
    if kind == "blocks":
        return Blocks(cells, draw(st.integers(1, cells + 2)))
    if kind == "buckets":
        inner = draw(st.sets(st.integers(1, cells - 1))) if cells > 1 else set()
        return Buckets((0, *sorted(inner), cells))
    if kind == "halves":
        return Halves(cells, 2 * draw(st.integers(1, cells)))
    if kind == "centered" and cells > 1:
        return Centered(cells)
    if kind == "toeplitz":
        return Toeplitz(tuple(draw(st.lists(entry, min_size=cells, max_size=cells))))
    if kind == "waves":
        return Waves(cells, draw(st.integers(1, cells)), draw(st.integers(1, 50)))
    rows = draw(st.integers(1, 4))
    flat = draw(st.lists(entry, min_size=rows * cells, max_size=rows * cells))
    return Explicit.of(np.array(flat, np.int64).reshape(rows, cells))


@st.composite
def rectangles(draw):
    """Some rectangles of a small plane, which may overlap."""
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    ends = []
    for _ in range(draw(st.integers(1, 5))):
        (a, c), (b, d) = (
            sorted(draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True)))
            for n in shape
        )
        ends.append([a, b, c, d])
    return Boxes.of(shape, np.array(ends))


@st.composite
def questions(draw):
    if draw(st.integers(0, 3)) == 0:
        return draw(rectangles())
    if draw(st.booleans()):
        cells = draw(st.integers(1, 9))
        return draw(matrices(cells))
    first, second = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    return Kronecker((draw(matrices(first)), draw(matrices(second))))


def dense(matrix):
    return matrix.apply(np.eye(matrix.columns, dtype=np.int64))


@settings(max_examples=300, deadline=None)
@given(questions())
def test_norms_are_bounds_of_the_written_matrix(matrix):
    made = (
        dense(matrix).reshape(matrix.rows, matrix.columns)
        if not isinstance(matrix, Kronecker)
        else None
    )
    if made is None:
        made = np.stack(
            [matrix.apply(unit) for unit in np.eye(matrix.columns, dtype=np.int64)], axis=1
        )
    sizes, norms = np.abs(made), matrix.norms
    assert (made != 0).sum(axis=0).max() <= norms.count
    assert sizes.sum(axis=0).max() <= norms.total
    assert (made**2).sum(axis=0).max() <= norms.square
    assert sizes.max() <= norms.largest
    assert sizes.sum(axis=1).max() <= norms.row
    meeting = made.T @ made
    if matrix.columns > 1:
        apart = meeting[~np.eye(matrix.columns, dtype=bool)]
        assert apart.min() >= norms.meeting


@settings(max_examples=300, deadline=None)
@given(questions(), st.integers(1, 3), st.sampled_from(["add_remove", "replace"]), st.data())
def test_neighbors_move_no_further_than_stated(matrix, rows, relation, data):
    cell = st.integers(0, matrix.columns - 1)
    table = np.array(
        data.draw(st.lists(st.integers(0, 30), min_size=matrix.columns, max_size=matrix.columns))
    )
    old = data.draw(st.lists(cell, min_size=0, max_size=rows))
    new = (
        data.draw(st.lists(cell, min_size=len(old), max_size=len(old)))
        if relation == "replace"
        else []
    )
    base, other = table.copy(), table.copy()
    np.add.at(base, old, 1)
    np.add.at(other, new, 1)
    unit = sf.Unit.rows(rows, neighbors=relation)
    question = Histogram(("x",), (matrix.columns,)).weighted(matrix)
    stated = question.sensitivity(unit)
    change = (weighted(matrix, base) - weighted(matrix, other)).astype(object)
    assert stated.l0 is None or np.count_nonzero(change) <= stated.l0
    assert sum(abs(c) for c in change) <= stated.l1
    assert sum(c * c for c in change) <= stated.l2_squared
    assert max(abs(c) for c in change) <= stated.linf


@settings(max_examples=100, deadline=None)
@given(questions(), st.data())
def test_cutting_cells_moves_no_two_answers_apart(matrix, data):
    big = st.integers(0, 2**62 - 1)
    table = np.array(
        data.draw(st.lists(big, min_size=matrix.columns, max_size=matrix.columns)), np.int64
    )
    other = table.copy()
    other[data.draw(st.integers(0, matrix.columns - 1))] += 1
    norms = matrix.norms
    change = weighted(matrix, other).astype(object) - weighted(matrix, table).astype(object)
    assert sum(abs(c) for c in change) <= norms.total


def test_a_question_without_a_sign_gets_no_replace_bound():
    histogram = Histogram(("x",), (4,))
    base = histogram.sensitivity(sf.Unit.row(neighbors="replace"))
    with_side = moved(base, Halves(4, 4), Fraction(1))
    without = moved(base, Halves(4, 4), None)
    assert with_side.l2_squared <= without.l2_squared
    assert with_side.l2_squared == 4  # 1 and -1 of one block


LARGE = st.sampled_from([-(2**42), -(2**41), -3, 0, 1, 2**20, 2**31, 2**32 - 1, 2**41, 2**42])


@st.composite
def large(draw):
    """A written matrix whose entries are as large as they may be, and its entries as integers."""
    rows, cells = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    flat = draw(st.lists(LARGE, min_size=rows * cells, max_size=rows * cells))
    return [flat[i * cells : (i + 1) * cells] for i in range(rows)]


def stated(rows):
    """The norms of a matrix in Python's integers, which have no end."""
    columns = list(zip(*rows, strict=True))
    square = max(sum(x * x for x in column) for column in columns)
    return Norms(
        max(sum(map(bool, column)) for column in columns),
        max(sum(map(abs, column)) for column in columns),
        square,
        max(abs(x) for row in rows for x in row),
        max(sum(map(abs, row)) for row in rows),
        0 if min(min(row) for row in rows) >= 0 else -square,
    )


@settings(max_examples=200, deadline=None)
@given(large())
def test_norms_of_large_entries_do_not_wrap(rows):
    assert Explicit.of(np.array(rows, np.int64)).norms == stated(rows)


def test_sums_of_very_many_large_entries_do_not_wrap():
    column = np.full((2**21 + 1, 1), 2**42, np.int64)  # 2^63 and more
    norms = Explicit.of(column).norms
    assert norms.total == (2**21 + 1) * 2**42
    assert norms.square == (2**21 + 1) * 2**84
    both = Kronecker((Explicit.of(column[:3]), Explicit.of(column[:5]))).norms
    assert (both.total, both.square, both.row) == (15 * 2**84, 15 * 2**168, 2**84)


@pytest.mark.parametrize("entry", [2**62, -(2**62), -(2**63), 2**63 - 1, 2**42 + 1, -(2**42) - 1])
def test_entries_that_could_wrap_are_refused(entry):
    rows = [[entry] * 4] * 4 + [[1] * 4]
    flat = np.array(rows, "<i8").tobytes()
    for make in (
        lambda: Explicit.of(np.array(rows, np.int64)),
        lambda: Explicit(4, flat),
        lambda: Toeplitz((entry, 1)),
    ):
        with pytest.raises(InputError, match=r"between -2\^42 and 2\^42"):
            make()


class Liar(Blocks):
    """A matrix that says less than it does."""

    def apply(self, cells):
        return 1000 * cells


@pytest.mark.parametrize(
    "make",
    [
        lambda: Buckets((0, 2.0, 4)),
        lambda: Buckets((0, 2, 4.0)),
        lambda: Buckets([0, 2, 4]),
        lambda: Buckets((False, True)),
        lambda: Toeplitz((1.9, 0, 0, 0.0)),
        lambda: Toeplitz((Fraction(1, 2), 0)),
        lambda: Toeplitz(("1",)),
        lambda: Toeplitz(()),
        lambda: Centered(4.0),
        lambda: Blocks(4.0, 2),
        lambda: Halves(4, 2.0),
        lambda: Waves(4, 4, 2**66),
        lambda: Waves(4, 2.0, 8),
        lambda: Explicit.of(np.full((1, 4), 1.5)),
        lambda: Explicit.of(np.array([1, 2, 3, 4])),
        lambda: Explicit.of(np.ones((2, 4, 2), np.int64)),
        lambda: Explicit.of(np.full((1, 4), 2**63, np.uint64)),
        lambda: Explicit.of(np.array([[2**70]])),
        lambda: Explicit.of(np.zeros((0, 4), np.int64)),
        lambda: Explicit(4, bytearray(32)),
        lambda: Kronecker((Kronecker((Blocks(4, 1),)),)),
        lambda: Kronecker([Blocks(4, 1)]),
        lambda: Kronecker((Liar(4, 1),)),
        lambda: Kronecker(()),
        lambda: Histogram(("x",), (4,)).weighted(Liar(4, 1)),
    ],
)
def test_what_is_no_matrix_of_whole_numbers_is_refused_when_it_is_made(make):
    with pytest.raises(InputError):
        make()


@st.composite
def heavy(draw):
    """A matrix of which a row adds up to much: written down, or a product."""
    if draw(st.booleans()):
        entry = st.integers(-(2**38), 2**38)
        rows = draw(st.lists(st.lists(entry, min_size=4, max_size=4), min_size=1, max_size=3))
        return Explicit.of(np.array(rows, np.int64))
    return Kronecker((Toeplitz((1000, -999)), Toeplitz((-(2**12), 3))))


def written(matrix):
    unit = np.eye(matrix.columns, dtype=np.int64)
    return np.stack([matrix.apply(each) for each in unit], axis=1).astype(object)


@settings(max_examples=200, deadline=None)
@given(heavy(), st.data())
def test_answers_are_exact_up_to_the_largest_and_cut_beyond(matrix, data):
    fits(matrix)
    cell = st.one_of(st.integers(-(2**40), 2**40), st.integers(-9, 9))
    cells = data.draw(st.lists(cell, min_size=matrix.columns, max_size=matrix.columns))
    exact = written(matrix) @ np.array(cells, object)
    wanted = [min(max(int(x), -(2**62)), 2**62) for x in exact]
    assert weighted(matrix, np.array(cells, np.int64)).tolist() == wanted


@settings(max_examples=200, deadline=None)
@given(heavy(), st.data())
def test_cutting_answers_moves_no_two_apart(matrix, data):
    cell = st.integers(-(2**62), 2**62)
    cells = data.draw(st.lists(cell, min_size=matrix.columns, max_size=matrix.columns))
    table = np.array(cells, np.int64)
    other = table.copy()
    other[data.draw(st.integers(0, matrix.columns - 1))] += 1
    change = weighted(matrix, other).astype(object) - weighted(matrix, table).astype(object)
    assert sum(abs(c) for c in change) <= matrix.norms.total
    assert sum(c * c for c in change) <= matrix.norms.square


def test_only_a_matrix_of_large_entries_says_where_it_ends():
    assert limits(Kronecker((Toeplitz((300, -200)),) * 3)) == ()
    [note] = limits(Explicit.of(np.array([[2**40, 1]])))
    assert note == "weighted sums are cut at 2^62, which no table of up to 4,194,304 rows reaches"
    assert limits(Blocks(4), 2**40) == (note,)


def test_a_matrix_of_zeros_has_no_limit():
    nothing = Explicit.of([[0, 0], [0, 0]])
    assert limits(nothing) == limits(nothing, 0) == ()
    assert weighted(nothing, np.array([2**62, -5])).tolist() == [0, 0]
