"""Bins of magnitude: what is in which, by integers alone, in Python and in the engine."""

from itertools import pairwise

import duckdb
import pytest

from sfumato.relation.expr import typed
from sfumato.relation.kind import LIMIT, Number
from sfumato.relation.magnitude import edges, magnitude
from sfumato.sql.expression import parse

SMALL = range(-5000, 5001)
# Around every power of two and every quarter of an octave, as far as a plan lets numbers grow.
NEAR = sorted(
    {
        sign * (quarter * 2**power // 4 + off)
        for power in range(63)
        for quarter in (4, 5, 6, 7)
        for off in range(-3, 4)
        for sign in (-1, 1)
        if quarter * 2**power // 4 + abs(off) <= LIMIT
    }
    | {LIMIT, -LIMIT, LIMIT - 1, 1 - LIMIT}
)
LAST = magnitude(LIMIT)


def by_definition(code):
    """Return the bin from its definition: the octave, and the quarter of it."""
    size = abs(code)
    if size < 4:
        return code
    octave = next(e for e in range(63) if 2**e <= size < 2 ** (e + 1))
    quarter = next(q for q in range(4) if 4 * size < (5 + q) * 2**octave)
    found = 4 * (octave - 1) + quarter
    return found if code >= 0 else -found


@pytest.mark.parametrize("codes", [SMALL, NEAR], ids=["small", "near powers of two"])
def test_bin_is_that_of_its_definition(codes):
    assert [magnitude(code) for code in codes] == [by_definition(code) for code in codes]


def test_edges_invert_and_leave_no_gap():
    ends = [edges(held) for held in range(-LAST, LAST + 1)]
    for held, (least, largest) in zip(range(-LAST, LAST + 1), ends, strict=True):
        assert magnitude(least) == magnitude(largest) == held
    assert all(a[1] + 1 == b[0] for a, b in pairwise(ends))
    assert all(edges(magnitude(code))[0] <= code <= edges(magnitude(code))[1] for code in NEAR)


def test_octave_has_four_bins_of_one_width():
    for octave in range(2, 62):
        widths = {b - a + 1 for a, b in (edges(4 * (octave - 1) + q) for q in range(4))}
        assert widths == {2 ** (octave - 2)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        (Number(-LIMIT, LIMIT), 1),
        (Number(0, LIMIT), 1),
        (Number(-LIMIT, 0), 1),
        (Number(-(2**53) + 1, 2**53 - 1), 1),
        (Number(-(10**9), 10**9), 1),
        (Number(-LIMIT, LIMIT), 10),
    ],
    ids=str,
)
def test_engine_agrees(kind, unit, threads):
    found = typed(parse("magnitude(x)" if unit == 1 else f"magnitude(x, {unit})"), {"x": kind})
    codes = [code for code in {*SMALL, *NEAR} if kind.low <= code <= kind.high]
    with duckdb.connect() as engine:
        engine.execute(f"SET threads = {threads}")
        engine.execute("CREATE TABLE t (x BIGINT)")
        engine.execute("INSERT INTO t SELECT unnest(CAST(? AS BIGINT[]))", [[*codes, None]])
        rows = engine.execute(f"SELECT x, {found.sql} FROM t").fetchall()  # noqa: S608
    assert len(rows) == len(codes) + 1
    for code, held in rows:
        cut = None if code is None else (abs(code) // unit) * (1 if code >= 0 else -1)
        assert held == (None if cut is None else by_definition(cut)), code
        assert held is None or found.kind.low <= held <= found.kind.high


def test_kind_is_from_the_lowest_bin_to_the_highest():
    scope = {"x": Number(-10, 1000)}
    assert typed(parse("magnitude(x)"), scope).kind == Number(-9, 35)
    assert typed(parse("magnitude(x, 10)"), scope).kind == Number(-1, magnitude(100))
