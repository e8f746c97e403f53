"""Mistakes of the kind that people make, planted one at a time: the tests of sensitivity see each.

A mistake is a change of a few characters in one function. If its text is no longer there, the test
says so, and the mistake must be planted anew: a search that cannot fail proves nothing.
"""

import inspect
import sys
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

import pytest

from sfumato.backends import reader
from sfumato.core.errors import InternalError
from sfumato.relation import (
    Aggregate,
    PublicTable,
    Reach,
    Summary,
    aggregate,
    arithmetic,
    bound,
    copied,
    kept,
    kind,
    lower,
)

sys.path.insert(0, str(Path(__file__).parent))
import rides
from difference import SEARCHES, compare, search

sys.path.pop(0)

SOON = 400  # examples within which a mistake shows on every push
MOST = 6_000  # examples after which it counts as missed
ROWS, UNITS, TREES, ALONE, ORDER, RANGES = "rows", "units", "trees", "alone", "order", "ranges"
COPIES = "copies"
UNION, JOIN, PER_UNIT = "union, units", "join, rows", "per unit, units"
RARE = ""  # no search finds it in reasonable time: there must be a case made by hand


@dataclass(frozen=True)
class Bug:
    """One planted mistake: in a function, a text and what stands in its place.

    Attributes:
        name: what was forgotten or mistaken.
        search: in which search it shows.
        function: where it is planted.
        right: the text that it replaces.
        wrong: what stands there instead.
        hand: the case of `rides` that shows it at once, if one does.
        soon: whether a search of a few seconds finds it; every push has one unless a hand does.
        seed: where that search begins, so that it does not take longer; a full one begins at 0.
    """

    name: str
    search: str
    function: FunctionType
    right: str
    wrong: str
    hand: str = ""
    soon: bool = True
    seed: int = 0

    def __repr__(self):
        return self.name

    @contextmanager
    def planted(self):
        source = textwrap.dedent(inspect.getsource(self.function))
        assert source.count(self.right) == 1, f"{self.right!r} is gone: plant this bug anew"
        lines = [line for line in source.split("\n") if not line.startswith("@")]
        text = "\n".join(["from __future__ import annotations", *lines])
        space = dict(self.function.__globals__)
        exec(text.replace(self.right, self.wrong), space)  # noqa: S102 - our own text
        right = self.function.__code__
        self.function.__code__ = space[self.function.__name__].__code__  # wherever it is imported
        try:
            yield
        finally:
            self.function.__code__ = right


SENSITIVITY, EXTENT = Aggregate.sensitivity, Aggregate.extent.fget
APPEARING = Aggregate.appearing
SQUARES, REACH, CUT, KEPT = aggregate.squares, bound.reach, bound._truncated, kept._Caps.kept
MULTIPLICITY = PublicTable.multiplicity.fget
SAME_KEYS = "set(self.keys) == set(keys)"
BUGS = [
    # what one unit does to the cells
    Bug(
        "rows of one cell for all",
        UNITS,
        APPEARING,
        "l1=rows *",
        "l1=each *",
        "count by groups",
        False,
    ),
    Bug("groups forgotten", UNITS, APPEARING, "l0=groups,", "l0=1,", "other groups", False),
    Bug("one row for a cell", UNITS, APPEARING, "linf=each * most", "linf=most", "fewer groups"),
    Bug("rows spread evenly", UNITS, SQUARES, "full * each**2 + left**2", "rows", "no groups"),
    Bug("rest forgotten", UNITS, SQUARES, " + left**2", "", "count by all caps", False),
    Bug(
        "sign forgotten",
        ROWS,
        APPEARING,
        "max(map(abs, self.extent))",
        "abs(self.extent[1])",
        "negative sum",
        False,
    ),
    Bug("replaced as added", UNITS, SENSITIVITY, "2 * rows * most", "rows * most", "replaced row"),
    Bug(
        "groups not doubled",
        UNITS,
        SENSITIVITY,
        "min(2 * groups",
        "min(groups",
        "replaced row",
        False,
    ),
    Bug("squares not doubled", UNITS, SENSITIVITY, "2 * squares(", "squares(", "replaced row, sum"),
    Bug("one cell for all", ROWS, SENSITIVITY, "if cells == 1", "if cells <= 9", "replaced rows"),
    Bug(
        "NULL forgotten",
        ROWS,
        SENSITIVITY,
        "max(high, 0) - min(low, 0)",
        "high - low",
        "replaced row",
    ),
    Bug(
        *("meeting rows forgotten", ROWS, SENSITIVITY, "l1=each * span", "l1=each * most"),
        *("replaced row, sum", False),
    ),
    Bug(
        *("center ignored", ROWS, EXTENT, "kind.high - self.quantity.center", "kind.high"),
        *("replaced row, positive sum", False),
    ),
    Bug("center added", ROWS, EXTENT, "kind.low - self", "kind.low + self", "negative sum", False),
    Bug(
        *("only the upper end squared", ROWS, EXTENT, "max(-low, high) ** 2", "high**2"),
        *("sum of squares", False),
    ),
    Bug(
        *("steps for squared steps", ROWS, EXTENT, "max(-low, high) ** 2", "max(-low, high)"),
        *("replaced row, sum of squares", False),
    ),
    # how much of one unit reaches a node
    Bug("count fixed though filtered", ROWS, REACH, ", fixed=False)", ")", "filtered row", False),
    Bug("row for a unit of several", ROWS, REACH, "rows if isinst", "1 if isinst", "count of rows"),
    Bug("stale keys", TREES, REACH, "set(below.keys) <= kept", "True", "keys exchanged", False),
    Bug("keys by name", TREES, REACH, " if expr == Name(name)}", "}", "key redefined", False),
    Bug("caps of other groups", TREES, Reach.by, SAME_KEYS, "True", "other groups", False),
    Bug(
        *("caps of wider groups", TREES, Reach.by, SAME_KEYS, "set(self.keys) >= set(keys)"),
        *("fewer groups", False),
    ),
    Bug(
        "groups not multiplied", UNITS, CUT, "groups * each", "each", "truncated by nothing", False
    ),
    Bug(
        *("caps of an earlier truncation", RARE, CUT, "groups, each)\n"),
        *("_least(below.groups, groups), each)\n", "truncated again", False),
    ),
    Bug(
        *("number of a unit's rows fixed", UNITS, CUT, "groups, each)\n"),
        "groups, each, fixed=next(iter(counted(node))).unit.neighbors == 'replace')\n",
        seed=3,
    ),
    # which rows of a unit stay
    Bug(
        *("rows per group not truncated", UNITS, KEPT, "if each is not None:", "if False:"),
        "count by groups",
    ),
    Bug(
        *("groups not truncated", UNITS, KEPT, "(rows, self.node.max_groups)", "(rows, None)"),
        *("count by groups", False),
    ),
    Bug(
        "rows not truncated",
        UNITS,
        KEPT,
        "rows if most is None",
        "rows if True",
        "count by max_rows",
    ),
    Bug(
        *("rows truncated in each group", UNITS, KEPT, "(self.owner[rows], rows, most)"),
        "(self.owner[rows] * 9 + (self.group_turn[rows] % np.uint32(9) if self.keys else 0), "
        "rows, most)",
        "count by max_rows",
    ),
    Bug(
        *("caps shared by all units", ALONE, KEPT, "(self.owner[rows], rows, most)"),
        "(self.owner[rows] * 0, rows, most)",
    ),
    Bug(
        *("rows as they are stored", ORDER, kept._Caps._first, "self.row_turn, self.columns"),
        "np.arange(self.row_turn.size, dtype=np.uint32) << np.uint32(20), self.columns",
    ),
    Bug(
        *("cap without groups forgotten", UNITS, kept._most),
        *("None if node.keys else node.max_rows_per_group", "None"),
    ),
    Bug(
        *("second truncation forgotten", TREES, KEPT, "_most(self.node)\n"),
        "None if isinstance(self.node.child, Truncate) else _most(self.node)\n",
        seed=7,
    ),
    Bug(
        *("unit lost in a projection", TREES, lower._select, "picked += [*_hidden(node), "),
        *("picked += [f'1 AS {HIDDEN}', ", "another rider", False),
    ),
    # the algebra
    Bug("united rows", UNION, bound._united, "a.rows + b.rows", "a.rows", "united", False),
    Bug(
        *("united groups", RARE, bound._united, "a.groups + b.groups", "a.groups"),
        *("united groups", False),
    ),
    Bug(
        *("united in a group", UNION, bound._united, "a.rows_per_group + b.rows_per_group"),
        *("a.rows_per_group", "united in one group", False),
    ),
    Bug(
        *(
            "range of the first table",
            RARE,
            kind.hull,
            "high=max(a.high, b.high))\n    return a if",
        ),
        *("high=a.high)\n    return a if", "united ranges", False),
    ),
    Bug(
        "join repeats no row",
        JOIN,
        bound._joined,
        "below.rows * times",
        "below.rows",
        "joined",
        False,
    ),
    Bug(
        *("join repeats no row of a group", RARE, bound._joined, "below.rows_per_group * times"),
        *("below.rows_per_group", "joined in one group", False),
    ),
    Bug(
        *("join drops no row", JOIN, bound._joined, 'node.how == "left" and times', "times"),
        *("joined, replaced", False),
    ),
    Bug("keys listed once", JOIN, MULTIPLICITY, "max(counted", "min(counted", "joined", False),
    Bug(
        *("one row for all groups", PER_UNIT, REACH, "Reach(None if node.keys else 1,"),
        *("Reach(1,", "summarized by tip", False),
    ),
    Bug(
        *("sum of a unit not clamped", PER_UNIT, Summary.sql, "{kind.high}), {kind.low})"),
        *("999999999), -999999999)", "sum of a rider", False),
    ),
    Bug(
        *("count of a unit not clamped", PER_UNIT, Summary.sql, "count(*), {self.cap}"),
        *("count(*), 999999999", "count of a rider", False),
    ),
    Bug(
        *("known rows not clamped", PER_UNIT, Summary.sql, "count({x}), {self.cap}"),
        *("count({x}), 999999999", "known rides of a rider", False),
    ),
    Bug(
        *("mean of a unit off its range", PER_UNIT, Summary.sql, "{near} + ({kind.low})"),
        *("{near}", "mean of a rider", False),
    ),
    # what is copied
    Bug(
        *("filter on a column that is not copied", COPIES, copied._needed, "wanted | set", "set"),
        seed=5,
    ),
    Bug("numbers cut to two bytes", COPIES, kind.narrow, "high < 2**bits", "high", seed=10),
    # what one row adds
    Bug("range of a product", RANGES, arithmetic._multiply, "max(ends)", "ends[-1]"),
    Bug("range of a difference", RANGES, arithmetic._subtract, "x.low - y.high", "x.low - y.low"),
    Bug("values not clamped", RANGES, reader._clamped, "if bounds is None", "if True"),
]


def examples_until_found(bug, most, seed=0):
    """Return after how many examples the planted mistake shows; None if it does not."""
    strategy, check = SEARCHES[bug.search]
    tried = 0

    def count(case):
        nonlocal tried
        tried += 1
        check(case)

    with bug.planted():
        try:
            search(strategy, count, most, seeds=seed, shrink=False)
        except (AssertionError, InternalError):  # the engine refuses what is out of its range
            return tried
    return None


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.hand], ids=repr)
def test_planted_bug_shows_in_a_case_made_by_hand(bug):
    cases = [rides.stale(bug.hand)] if bug.hand in rides.STALE else rides.tight(bug.hand)
    for case in cases:
        compare(case)  # right, as long as nothing is planted
    with bug.planted(), pytest.raises(AssertionError, match="moved further"):
        for case in cases:
            compare(case)


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.soon and not bug.hand], ids=repr)
def test_planted_bug_is_soon_found(bug):
    assert examples_until_found(bug, SOON, bug.seed) is not None


@pytest.mark.deep
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.search != RARE], ids=repr)
def test_planted_bug_is_found(bug):
    assert examples_until_found(bug, MOST) is not None


def test_every_bug_is_looked_for_on_every_push():
    assert [bug for bug in BUGS if not (bug.hand or bug.soon)] == []
