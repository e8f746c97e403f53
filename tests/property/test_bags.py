"""Values, groups that occur and numbers of units keep within their sensitivity, whatever the data.

Answers are exact, from DuckDB, on raw tables. A bag differs by the values that vanish and those
that appear, cell by cell; groups by their numbers, 0 where they do not occur.
"""

import sys
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import sfumato as sf
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import ExpressionError, SensitivityError, UnitError
from sfumato.core.unit import Unit
from sfumato.relation import (
    Aggregate,
    BoughtKeys,
    Distinct,
    Keys,
    Name,
    Occurrence,
    PerUnit,
    Rows,
    Source,
    Summary,
    Total,
    Truncate,
    Units,
    Values,
    bounded,
    kept,
    lower,
)
from sfumato.relation.bought import keys_of
from sfumato.relation.bound import truncated
from sfumato.relation.kind import Number
from sfumato.relation.node import carries, scope, sources, unit_of
from sfumato.session.planner import questions
from sfumato.session.wanted import Wanted
from sfumato.testing import plans, tables

sys.path.insert(0, str(Path(__file__).parent))
from difference import (
    BY_COLUMN,
    BY_ROWS,
    FREE,
    KEY,
    NAMED,
    moved,
    norms,
    read,
    rows,
    say,
    search,
)
from rides import FARE, NOBODY, ZONES, owned, table_of
from test_sensitivity_bugs import Bug

sys.path.pop(0)

NORMS = ("l0", "l1", "l2_squared", "linf")

# ---- exact answers -------------------------------------------------------------------------------


@contextmanager
def opened(node, tables_):
    """Open tables in one engine, and yield what asks each of them: all that cases take is that."""
    [source] = sources(node)
    renamed = [replace(source, name=f"table {i}") for i in range(len(tables_))]
    with closing(DuckDB.open(dict(zip(renamed, tables_, strict=True)), threads=1)) as engine:

        def ask(query, chosen=None):
            queries = list(query) if isinstance(query, list) else [query]
            given = {}
            for i in range(0 if chosen is None else len(queries[0].keys.columns)):
                given[f"b{i}"] = [key[i] for key in chosen]
            return [read(engine, moved(queries, each), KEY, given) for each in renamed]

        yield ask


def run(query, tables_, chosen=None):
    """Return what the engine says on each table, as Arrow."""
    first = query[0] if isinstance(query, list) else query
    with opened(first.node, tables_) as ask:
        return ask(query, chosen)


def bag_of(query, found):
    """Count the values of each cell; those outside of all cells do not belong to any."""
    values = found.column("v").to_pylist()
    assert all(type(v) is int for v in values), "only whole numbers are measured"
    low, high = query.extent
    assert all(low <= v <= high for v in values), "a value lies outside of its public range"
    if isinstance(query.keys, BoughtKeys):
        return Counter(zip(found.column("cell").to_pylist(), values, strict=True))
    codes = [found.column(f"k{i}").combine_chunks() for i in range(len(query.keys.columns))]
    places = query.keys.index(codes).tolist() if codes else [0] * len(values)
    return Counter((place, v) for place, v in zip(places, values, strict=True) if place >= 0)


def groups_of(query, found, column="m0"):
    """Return a number for each group that occurs."""
    codes = [found.column(f"k{i}").to_pylist() for i in range(len(query.keys.columns))]
    keys = list(zip(*codes, strict=True))
    assert len(set(keys)) == len(keys), "two groups of the engine are one"
    return dict(zip(keys, found.column(column).to_pylist(), strict=True))


def apart(one, two):
    """Return in every norm how far two bags lie apart: what vanishes and what appears, by cell."""
    moves = Counter()
    for (cell, _), count in ((one - two) + (two - one)).items():
        moves[cell] += count
    return _norms(moves.values())


def _norms(moves):
    moves = [move for move in moves if move] or [0]
    return norms([0] * len(moves), moves)


def hold(claimed, found, what):
    say(f"{what} differ by {found}, claimed {claimed}")
    broken = [name for name in NORMS if found[name] > getattr(claimed, name)]
    assert not broken, f"the answer moved further than its {', '.join(broken)}"


# ---- random cases --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What is asked, two neighboring tables, and groups that were chosen."""

    asked: object
    table: pa.Table
    other: pa.Table
    picks: tuple = ()

    def __repr__(self):
        return f"{type(self.asked).__name__} on {self.table.num_rows} rows"

    @property
    def unit(self):
        first = self.asked[0] if isinstance(self.asked, list) else self.asked
        return unit_of(first.node)


@st.composite
def cases(draw, made, units=NAMED, **options):
    """Everything at random: unit, schema, question, table, neighbor; which groups are chosen."""
    unit = draw(units)
    schema = draw(tables.schemas(unit))
    asked = draw(made(Source("people", schema, unit), **options))
    table = draw(tables.tables(schema, unit))
    other = draw(tables.neighbors(table, schema, unit))
    return Case(asked, table, other, tuple(draw(st.lists(st.booleans(), max_size=24))))


@st.composite
def counted(draw, source, **options):
    """Numbers of units, of rows and of different values in listed cells."""
    [first, *_] = draw(plans.plans(source, **options))
    made = [first]
    if carries(first.node):
        made.append(Aggregate(first.node, first.keys, Units()))
    node = draw(plans.nodes(source))
    groups = draw(plans.keys(scope(node)))
    name = draw(st.sampled_from(list(scope(node))))
    with suppress(ExpressionError, SensitivityError, UnitError):  # a name that is taken
        made.append(distinct(Name(name), node, groups))
    numbers = {n: kind for n, kind in scope(node).items() if isinstance(kind, Number)}
    if carries(node) and numbers:
        name, kind = draw(st.sampled_from(list(numbers.items())))
        ends = sorted(draw(st.lists(st.integers(-9, 9), min_size=2, max_size=2, unique=True)))
        with suppress(ExpressionError, SensitivityError, UnitError):
            made.append(clamped(name, [end * kind.step for end in ends], node, groups))
    return made


def distinct(expr, node, keys):
    """Return the question how many different values there are, as it is planned."""
    return asked_alone(sf.count_distinct("x"), expr, None, node, keys)


def clamped(name, ends, node, keys):
    """Return the question for a sum that is clamped unit by unit, as it is planned."""
    kind = scope(node)[name]
    return asked_alone(sf.sum("x", per_unit=tuple(ends)), Name(name), kind, node, keys)


def asked_alone(output, expr, kind, node, keys):
    [query] = questions([Wanted("x", output, expr, kind)], node, keys).queries
    query.sensitivity(unit_of(node))  # refuses what could grow beyond integers
    return query


def describe(case, *queries):
    say(f"{case.unit!r}")
    for query in queries:
        say(query.lower("duckdb"))
    say(f"table {rows(case.table)}")
    say(f"other {rows(case.other)}")


def compare_bags(case):
    """Fail if more values vanish or appear than a bag says."""
    query = case.asked
    describe(case, query)
    with opened(query.node, [case.table, case.other]) as ask:
        chosen = None
        if isinstance(query.keys, BoughtKeys):
            chosen = _chosen(Occurrence(query.node, query.keys), ask, case.picks)
        one, two = (bag_of(query, each) for each in ask(query, chosen))
    hold(query.sensitivity(case.unit), apart(one, two), f"{one} and {two}")


def _chosen(query, ask, picks):
    """Return some of the groups that occur in either table: a selection is free to take any."""
    return some_of([groups_of(query, each) for each in ask(query)], picks)


def some_of(found, picks):
    every = sorted({key for each in found for key in each if None not in key})
    return [key for key, kept in zip(every, [*picks, *[True] * 99], strict=False) if kept]


def compare_groups(case):
    """Fail if groups, and what is asked of those that are chosen, move further than they say."""
    first, *others = case.asked
    describe(case, first, *others)
    both = run(case.asked, [case.table, case.other])
    one, two = (groups_of(first, each) for each in both)
    assert all(n > 0 for n in (*one.values(), *two.values())), "a group that occurs has units in it"
    moves = [abs(one.get(key, 0) - two.get(key, 0)) for key in {**one, **two}]
    hold(first.sensitivity(case.unit), _norms(moves), f"{one} and {two}")
    chosen = some_of([one, two], case.picks)
    for i, query in enumerate(others, start=1):
        before, after = (_picked(query, each, i, chosen) for each in both)
        claimed = query.sensitivity(case.unit)
        by = [abs(a - b) for a, b in zip(before, after, strict=True)]
        hold(claimed, _norms(by), f"{query.quantity} of {chosen}: {before} and {after}")


def _picked(query, found, i, chosen):
    """Return the numbers of the groups that were chosen, and of the rest if it is one more."""
    every = groups_of(query, found, f"m{i}")
    rest = [sum(n for key, n in every.items() if key not in chosen)] if query.keys.other else []
    return [every.get(key, 0) for key in chosen] + rest


def compare_counts(case):
    """Fail if numbers of units or of different values move further than they say."""
    describe(case, *case.asked)
    with opened(case.asked[0].node, [case.table, case.other]) as ask:
        answers = [ask(query) for query in case.asked]
    for query, found in zip(case.asked, answers, strict=True):
        before, after = (_dense(query, each) for each in found)
        hold(query.sensitivity(case.unit), norms(before, after), f"{query.quantity}")


def _dense(query, found):
    cells = [0] * len(query.keys)
    codes = [found.column(f"k{i}").combine_chunks() for i in range(len(query.keys.columns))]
    places = query.keys.index(codes).tolist()
    for place, n in zip(places, found.column("m0").to_pylist(), strict=True):
        if place >= 0:
            cells[place] = n
    return cells


def count_units(case):
    """Fail if a number of units is not that of those who have a row in the cell."""
    [first, *more] = case.asked
    units = [q for q in more if isinstance(q.quantity, Units)]
    describe(case, first, *units)
    for query in units:
        [found] = run(query, [case.table])
        people = _one_by_one(case.table, case.unit) or [case.table]
        alone = [[min(n, 1) for n in _dense(first, each)] for each in run(first, people)]
        expected = [sum(cell) for cell in zip(*alone, strict=True)]
        assert _dense(query, found) == expected


def _one_by_one(table, unit):
    owners = table.column(unit.column).to_pylist()
    names = dict.fromkeys(who for who in owners if who is not None and who == who)  # noqa: PLR0124
    places = [[i for i, who in enumerate(owners) if who == name] for name in names]
    return [table.take(pa.array(place, pa.int64())) for place in places]


SEARCHES = {
    "values": (cases(plans.values), compare_bags),
    "values, rows": (cases(plans.values, BY_ROWS), compare_bags),
    "values, units": (cases(plans.values, BY_COLUMN, by_hand=False), compare_bags),
    "values, trees": (cases(plans.values, BY_COLUMN, by_hand=True), compare_bags),
    **{
        f"values, {step}": (cases(plans.values, BY_COLUMN, algebra=[step]), compare_bags)
        for step in plans.ALGEBRA
    },
    **{
        f"values, {step}, rows": (cases(plans.values, BY_ROWS, algebra=[step]), compare_bags)
        for step in FREE
    },
    "groups": (cases(plans.selections), compare_groups),
    "groups, rows": (cases(plans.selections, BY_ROWS), compare_groups),
    "groups, units": (cases(plans.selections, BY_COLUMN, by_hand=False), compare_groups),
    "groups, trees": (cases(plans.selections, BY_COLUMN, by_hand=True), compare_groups),
    "groups, algebra": (cases(plans.selections, algebra=plans.ALGEBRA), compare_groups),
    "counts": (cases(counted), compare_counts),
    "counts, units": (cases(counted, BY_COLUMN), compare_counts),
    "counts, algebra": (cases(counted, algebra=plans.ALGEBRA), compare_counts),
    "who is counted": (cases(counted, BY_COLUMN), count_units),
}


PUSHED = (  # the others are parts of these, for searches that go deep
    *("values", "values, rows", "values, units", "values, per unit", "values, join"),
    *("groups", "groups, units", "groups, algebra", "counts, units", "who is counted"),
)


@pytest.mark.parametrize("name", PUSHED)
def test_no_unit_moves_more_than_is_said(name):
    search(*SEARCHES[name], examples=20 if name in ("values", "groups") else 10)


@pytest.mark.deep
@pytest.mark.parametrize("name", SEARCHES)
def test_no_unit_moves_more_than_is_said_in_depth(name):
    search(*SEARCHES[name], seeds=None)


# ---- the bound is met ----------------------------------------------------------------------------

TEN = "ABCD"


def source_of(unit):
    return Source("rides", ZONES, unit)


def bag(unit, by, *, bought=False):
    source = source_of(unit)
    keys = keys_of(scope(source), by, sf.bought() if bought else None)
    return Values(bounded(source, keys, (FARE,)), keys, FARE)


def groups(unit, quantity=None, *, other=False, by=("zone",)):
    source = source_of(unit)
    keys = keys_of(scope(source), list(by), sf.bought(other=other))
    used = () if quantity is None or isinstance(quantity, Rows | Units) else (quantity.expr,)
    node = bounded(source, keys, used)
    return Occurrence(node, keys) if quantity is None else Aggregate(node, keys, quantity)


def rides(zones, fares=(3,), who=1):
    """Rides of one rider, of different fares, so that none of them is another."""
    return [(who, zone, fare, 0) for zone in zones for fare in fares]


BAGS = {
    "a row": (Unit.row(), ["zone"], [(NOBODY, rides("A"))]),
    "rows": (Unit.rows(3), ["zone"], [(NOBODY, rides("AAA")), (NOBODY, rides("ABC"))]),
    "a row replaced": (
        *(Unit.row("replace"), ["zone"]),
        [(rides("A"), rides("B")), (rides("A"), rides("A", (1,)))],
    ),
    "a row replaced, in total": (Unit.row("replace"), [], [(rides("A"), rides("A", (1,)))]),
    "max_rows": (
        *(Unit.by("id", max_rows=3), ["zone"]),
        [(NOBODY, rides("A", range(-3, 4))), (NOBODY, rides("ABC"))],
    ),
    "groups": (
        *(Unit.by("id", max_groups=2, max_rows_per_group=3), ["zone"]),
        [(NOBODY, rides("ABCD", range(-3, 4)))],
    ),
    "a unit replaced": (
        *(Unit.by("id", max_groups=1, max_rows_per_group=2, neighbors="replace"), ["zone"]),
        [
            (rides("A", (1, 2)), rides("B", (1, 2))),
            (rides("A", (1, 2)), rides("A", (-1, -2))),
        ],
    ),
    "in total": (Unit.by("id", max_rows=4), [], [(NOBODY, rides("ABCD", (1, 2)))]),
}


@pytest.mark.parametrize("name", BAGS)
def test_bag_moves_as_far_as_is_said(name):
    unit, by, pairs = BAGS[name]
    query = bag(unit, by)
    most = dict.fromkeys(NORMS, 0)
    for before, after in pairs:
        one, two = (bag_of(query, f) for f in run(query, [table_of(*before), table_of(*after)]))
        found = apart(one, two)
        most = {norm: max(most[norm], found[norm]) for norm in most}
    claimed = query.sensitivity(unit)
    # Squares are bounded as if what vanishes and what appears met in as many cells as there are.
    exact = [norm for norm in NORMS if norm != "l2_squared" or "replaced" not in name]
    assert {n: most[n] for n in exact} == {n: getattr(claimed, n) for n in exact}


GROUPS = {
    "units in groups": (
        *(Unit.by("id", max_groups=2, max_rows_per_group=3), None, False),
        [(NOBODY, owned("AAABBB"))],
    ),
    "rows are units": (Unit.rows(2), None, False, [(NOBODY, owned("AA")), (NOBODY, owned("AB"))]),
    "units of a replaced one": (
        *(Unit.by("id", max_rows=1, neighbors="replace"), None, False),
        [(owned("A"), owned("B"))],
    ),
    "number of units": (
        *(Unit.by("id", max_groups=3, max_rows_per_group=4), Units(), False),
        [(NOBODY, owned("AAAABBBBCCCC"))],
    ),
    "rows, and the rest": (
        *(Unit.by("id", max_groups=2, max_rows_per_group=2), Rows(), True),
        [(NOBODY, owned("AABB"))],
    ),
    "units, and the rest": (
        *(Unit.by("id", max_groups=2, max_rows_per_group=2), Units(), True),
        [(NOBODY, owned("AABB"))],
    ),
    "sum, and the rest": (Unit.by("id", max_rows=2), Total(FARE), True, [(NOBODY, owned("AB"))]),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_move_as_far_as_is_said(name):
    """Some choice of groups, shown or left to the rest, attains the bound in each norm."""
    unit, quantity, other, pairs = GROUPS[name]
    query = groups(unit, quantity, other=other)
    most = dict.fromkeys(NORMS, 0)
    for before, after in pairs:
        found = run(query, [table_of(*before), table_of(*after)])
        one, two = (groups_of(query, each) for each in found)
        every = list({**one, **two})
        for chosen in ([], every[:1], every) if other else (every,):
            x, y = (_picked(query, each, 0, chosen) for each in found)
            moves = norms(x, y) if x else _norms([])
            most = {norm: max(most[norm], moves[norm]) for norm in most}
    claimed = query.sensitivity(unit)
    assert most == {norm: getattr(claimed, norm) for norm in NORMS}


def test_a_unit_counts_once_however_many_rows_it_has():
    unit = Unit.by("id", max_rows=5)
    table = table_of(*owned("AAA"), *owned("AB", who=2), *owned("C", who=3))
    assert groups_of(groups(unit), run(groups(unit), [table])[0]) == {(0,): 2, (1,): 1, (2,): 1}
    total = Aggregate(bounded(source_of(unit), Keys(), ()), Keys(), Units())
    assert _dense(total, run(total, [table])[0]) == [3]


def test_missing_values_and_missing_keys_are_in_no_bag():
    unit = Unit.by("id", max_rows=5)
    table = table_of((1, "A", None, 0), (1, None, 3, 0), (1, "B", 2, 0), (None, "B", 1, 0))
    query = bag(unit, ["zone"])
    assert bag_of(query, run(query, [table])[0]) == {(1, 2): 1}
    query = bag(unit, ["zone"], bought=True)
    [found] = run(query, [table], chosen=[(0,), (1,)])
    assert bag_of(query, found) == {(1, 2): 1}


def test_rows_outside_of_the_listed_values_use_up_no_cap_of_bought_groups():
    unit = Unit.by("id", max_rows=1)
    source = source_of(unit)
    keys = keys_of(scope(source), ["zone", "tip"], {"zone": ["A"], "tip": sf.bought()})
    query = Occurrence(bounded(source, keys, ()), keys)
    [found] = run(query, [table_of(*owned("BCDBCDBCDA"))])
    assert groups_of(query, found) == {(0, 5): 1}


def test_units_are_not_counted_where_nobody_knows_them():
    source = source_of(Unit.row())
    with pytest.raises(UnitError):
        Aggregate(source, Keys(), Units())
    known = source_of(Unit.by("id", max_rows=2))
    hidden = Distinct(truncated(known, ()), within_unit=False)
    with pytest.raises(UnitError):
        Aggregate(hidden, Keys(), Units())
    keys = keys_of(scope(hidden), ["zone"], sf.bought())
    assert Occurrence(hidden, keys).quantity == Rows()


def test_nothing_is_bounded_without_a_cap():
    source = source_of(Unit.by("id", max_rows=2))
    keys = keys_of(scope(source), ["zone"], sf.bought())
    for query in (Values(source, keys, FARE), Occurrence(source, keys)):
        with pytest.raises(UnitError):
            query.sensitivity(source.unit)
    query = Values(PerUnit(source, (), (("n", Summary("count", None, 3)),)), Keys(), Name("n"))
    assert query.sensitivity(source.unit).l1 == 1


def test_question_of_another_unit_is_refused():
    query = bag(Unit.by("id", max_rows=2), ["zone"])
    with pytest.raises(UnitError):
        query.sensitivity(Unit.by("id", max_rows=1))


# ---- planted mistakes ----------------------------------------------------------------------------

AGGREGATE, VALUES, MEASURED = Aggregate._reach, Values.sensitivity, lower._measured
RIDERS = Unit.by("id", max_groups=2, max_rows_per_group=2)
SWAPPED = Unit.by("id", max_rows=2, neighbors="replace")


def pair(asked, before, after=()):
    return Case(asked, table_of(*before), table_of(*after), (False,) * 24)


BY_HAND = {
    "units": (compare_counts, pair([Aggregate(
        Truncate(source_of(RIDERS), ("zone",), 2, 2, None),
        Keys.of(scope(source_of(RIDERS)), ["zone"]),
        Units(),
    )], owned("AABB"))),
    "rest": (compare_groups, pair([groups(RIDERS, other=True), groups(RIDERS, Rows(), other=True)],
                                  owned("AABB"))),
    "swapped": (compare_bags, pair(bag(SWAPPED, ["zone"]), rides("A", (1, 2)), rides("B", (1, 2)))),
    "swapped apart": (compare_bags, pair(bag(SWAPPED, ["zone"]), rides("AB"), rides("CD"))),
    "swapped in one": (compare_bags, pair(bag(SWAPPED, []), rides("A", (1, 2)), rides("A", (3,)))),
    "bag": (compare_bags, pair(bag(RIDERS, ["zone"]), rides("ABCD", range(-3, 4)))),
    "fewer groups": (compare_groups, pair([groups(RIDERS)], owned("ABCD"))),
}  # fmt: skip
BUGS = [
    (Bug("units counted as rows", "", MEASURED, '"count(*)" if each == 1', '"count(*)" if True'),
     "units", "counts, units"),
    (Bug("count of different units where each has one", "", MEASURED,
         'f"count(DISTINCT {HIDDEN})"', '"count(*)"'), "units", "who is counted"),
    (Bug("the rest is like one group", "", AGGREGATE, "each = rows  #", "each = each  #"),
     "rest", "groups, units"),
    (Bug("one side of a replaced unit", "", VALUES, "l1=times * rows", "l1=rows"),
     "swapped", "values, units"),
    (Bug("one side of a replaced unit in one cell", "", VALUES, "linf=times * each", "linf=each"),
     "swapped in one", "values, units"),
    (Bug("groups of a replaced unit", "", VALUES, "else min(times * groups, cells)",
         "else min(groups, cells)"), "swapped apart", None),
    (Bug("one row for a cell of values", "", VALUES, "linf=times * each", "linf=times"),
     "bag", "values, units"),
    (Bug("rows of one cell for all values", "", VALUES, "l1=times * rows", "l1=times * each"),
     "bag", None),
    (Bug("groups that occur not truncated", "", kept._Caps.kept,
         "(rows, self.node.max_groups)", "(rows, None)"), "fewer groups", None),
    (Bug("squares of one side", "", VALUES, "times**2 * squares", "squares"), "swapped in one",
     None),
]  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_case_made_by_hand_is_right(name):
    check, case = BY_HAND[name]
    check(case)


@pytest.mark.parametrize(("bug", "hand", "found"), BUGS, ids=[bug.name for bug, *_ in BUGS])
def test_planted_mistake_shows_in_a_case_made_by_hand(bug, hand, found):
    check, case = BY_HAND[hand]
    with bug.planted(), pytest.raises(AssertionError):
        check(case)


SOUGHT = [(bug, found) for bug, _, found in BUGS if found]


@pytest.mark.deep
@pytest.mark.parametrize(("bug", "found"), SOUGHT, ids=[bug.name for bug, _ in SOUGHT])
def test_planted_mistake_is_found_by_the_search(bug, found):
    with bug.planted(), pytest.raises(AssertionError):
        search(*SEARCHES[found], examples=6_000, shrink=False)


def test_number_of_different_values_moves_as_far_as_is_said():
    unit = Unit.by("id", max_rows=3)
    query = distinct(FARE, source_of(unit), Keys.of(scope(source_of(unit)), ["zone"]))
    pairs = [rides("A", range(-3, 4)), rides("ABCD")]
    most = dict.fromkeys(NORMS, 0)
    for after in pairs:
        before, now = (_dense(query, f) for f in run(query, [table_of(), table_of(*after)]))
        moves = norms(before, now)
        most = {norm: max(most[norm], moves[norm]) for norm in most}
    assert most == {norm: getattr(query.sensitivity(unit), norm) for norm in NORMS}


def test_equal_values_of_two_units_count_once():
    unit = Unit.by("id", max_rows=3)
    query = distinct(FARE, source_of(unit), Keys())
    table = table_of(*rides("A", (1, 2)), *rides("B", (2, 3), who=2), (3, "A", None, 0))
    assert _dense(query, run(query, [table])[0]) == [3]


def test_sensitivity_beyond_integers_is_refused():
    large = sf.Schema(zone=sf.Text(), fare=sf.Integer(0, 2**40))
    source = Source("rides", large, Unit.by("id", max_rows=2**31 - 1, max_rows_per_group=1))
    keys = keys_of(scope(source), ["zone"], sf.bought(other=True))
    query = Aggregate(bounded(source, keys, (FARE,)), keys, Total(FARE))
    with pytest.raises(SensitivityError):
        query.sensitivity(source.unit)
