"""Hypothesis strategies for relations and whole questions; needs the extra ``testing``.

>>> from hypothesis import find
>>> from sfumato.core.schema import Boolean, Integer, Schema
>>> from sfumato.core.unit import Unit
>>> from sfumato.relation import Source
>>> table = Source("t", Schema(age=Integer(0, 9), old=Boolean()), Unit.row())
>>> [query] = find(plans(table), lambda queries: True)
>>> query.sensitivity(Unit.row())
Sensitivity(l0=1, l1=1, l2=1, linf=1)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, get_args

from hypothesis import strategies as st

from sfumato.core.errors import ExpressionError, QueryError, SensitivityError, UnitError
from sfumato.relation import (
    Aggregate,
    AnyKeys,
    BoughtKeys,
    Call,
    Constant,
    Distinct,
    Expr,
    Filter,
    Join,
    Keys,
    Known,
    Name,
    Node,
    Occurrence,
    PerUnit,
    Project,
    PublicTable,
    Quantity,
    Rows,
    Source,
    Squares,
    Summary,
    Total,
    Truncate,
    Union,
    UnitJoin,
    Units,
    Values,
    bounded,
    reach,
)
from sfumato.relation.bound import truncated
from sfumato.relation.expr import Scope, typed
from sfumato.relation.kind import Day, Instant, Kind, Label, Number, Truth, domain, hull, value
from sfumato.relation.node import carries, rows_of, sources, unit_of, walk
from sfumato.relation.node import scope as scope_of
from sfumato.relation.source import unused
from sfumato.relation.summary import Function
from sfumato.testing.expressions import TEXTS, expressions

MOST_CELLS = 200  # an answer that a test can look at


# ---- relations -----------------------------------------------------------------------------------


@st.composite
def nodes(
    draw: st.DrawFn,
    source: Source,
    *,
    truncate: bool = False,
    algebra: Sequence[str] = (),
    others: Sequence[Source] = (),
) -> Node:
    """Chains of filters and projections over a table.

    Args:
        draw: given by hypothesis.
        source: the table.
        truncate: whether units are truncated between the steps as well, by any columns; no
            question of an analyst is planned so, but every such tree must be bounded.
        algebra: what else is put between the steps, once or twice: some of `ALGEBRA`.
        others: tables that protect the same unit, of which one or two are joined somewhere.
    """
    node: Node = source
    plain = st.sampled_from(("filter", "with_columns", "redefine", "select", "rename"))
    steps = draw(st.lists(plain, max_size=3))
    if truncate:
        for _ in range(draw(st.integers(1, 2))):
            place = draw(st.integers(0, len(steps)))
            steps[place:place] = [
                "truncate",
                *(["disguise"] if draw(st.integers(0, 2)) == 2 else []),
            ]
    for _ in range(draw(st.integers(1, 2)) if algebra else 0):
        place = draw(st.integers(0, len(steps)))
        steps.insert(place, draw(st.sampled_from(algebra)))
    for _ in range(draw(st.sampled_from((1, 1, 2))) if others else 0):
        steps.insert(draw(st.integers(0, len(steps))), "unit join")
    for step in steps:
        if step == "unit join":
            node = draw(unit_joins(node, others))
            continue
        if step in ("truncate", "per unit", "distinct within unit") and not carries(node):
            continue
        node = draw(_algebra(node, step) if step in ALGEBRA else _step(node, step))
    return node


ALGEBRA = ("distinct", "distinct within unit", "union", "join", "per unit")


@st.composite
def _algebra(draw: st.DrawFn, node: Node, step: str) -> Node:
    """Draw a step, or leave it out where numbers would grow beyond what is computed exactly."""
    try:
        return draw(_combined(node, step))
    except ExpressionError:
        return node


@st.composite
def _combined(draw: st.DrawFn, node: Node, step: str) -> Node:
    visible = scope_of(node)
    match step:
        case "distinct":
            return Distinct(truncated(node, ()), within_unit=False)
        case "distinct within unit":
            return Distinct(node, within_unit=True)
        case "union":
            more = [n for n, kind in visible.items() if isinstance(kind, Number)]
            moved = [
                (n, Call("+", (Name(n), Constant(1))) if n in more else Name(n)) for n in visible
            ]
            fewer: Node = Filter(node, draw(_comparisons(visible)))
            return Union(node, Project(node, tuple(moved)) if draw(st.booleans()) else fewer)
        case "join":
            table = draw(public_tables(visible))
            return Join(node, table, "left" if draw(st.booleans()) else "inner")
    keys_ = tuple(draw(_some_of(list(visible), (0, 0, 1))))
    fresh = [name for name in _FRESH if name not in keys_]
    made = draw(st.lists(summaries(visible), min_size=1, max_size=2))
    return PerUnit(node, keys_, tuple(zip(fresh, made, strict=False)))


@st.composite
def unit_joins(draw: st.DrawFn, node: Node, others: Sequence[Source]) -> Node:
    """Joins with another table of the same unit: along a link, by columns, or by the unit alone.

    What is on the right of a join without a link is truncated, or one row for each unit. Where the
    two cannot be joined, the relation is left as it is.

    Args:
        draw: given by hypothesis.
        node: the relation.
        others: the tables that it may be joined with.
    """
    there = {source.name for source in sources(node)}
    free = [other for other in others if other.name not in there]
    if not free or not carries(node):
        return node
    near = [o for o in free if any(link.table in there for link in o.links)]
    near += [o for o in free for s in sources(node) if o.name in {k.table for k in s.links}]
    other = draw(st.sampled_from((*near, *near, *free)))
    second: Node = other
    if draw(st.integers(0, 2)) == 2:
        second = Filter(second, draw(_comparisons(scope_of(second))))
    second = _renamed(second, node)
    how: Any = draw(st.sampled_from(("inner", "left")))
    ways: list[Any] = [
        (node, second, child.name, link)
        for child in sources(node)
        for link in child.links
        if link.table == other.name
    ]
    parent = rows_of(node)
    ways += [
        (second, node, other.name, link)
        for link in other.links
        if parent is not None and link.table == parent.name
    ]
    try:
        if bool(ways) and draw(st.integers(0, 3)) > 0:
            one, two, child, link = draw(st.sampled_from(ways))
            return UnitJoin(one, two, (), how, child, link)
        left, right = scope_of(node), scope_of(second)
        equal = [(a, b) for a in left for b in right if hull(left[a], right[b]) is not None]
        on: tuple[tuple[str, str], ...] = ()
        if bool(equal) and draw(st.booleans()):
            on = (draw(st.sampled_from(equal)),)
        if draw(st.integers(0, 3)) == 3:
            fresh = unused("s", left)
            made = ((fresh, draw(summaries(right))),)
            second = PerUnit(second, tuple(b for _, b in on), made)
        if reach(second).rows != 1:
            by = tuple(b for _, b in on) if draw(st.booleans()) else ()
            some, caps = st.sampled_from((1, 2, 3)), st.sampled_from((None, 1, 2, 3))
            # In one group at most so many: enough, if the groups are those of equal columns.
            second = Truncate(second, by, draw(some), None, draw(caps if by else some))
        return UnitJoin(node, second, on, how)
    except (QueryError, UnitError):
        return node


def _renamed(node: Node, beside: Node) -> Node:
    """Give columns other names where a relation that they stand beside has the same."""
    taken = [*scope_of(beside), *scope_of(node)]
    columns = []
    for name in scope_of(node):
        new = unused(f"{name}_", taken) if name in scope_of(beside) else name
        taken.append(new)
        columns.append((new, Name(name)))
    return Project(node, tuple(columns))


@st.composite
def public_tables(draw: st.DrawFn, scope: Scope) -> PublicTable:
    """Public tables that meet one column: some keys once, some several times, some never."""
    key = draw(st.sampled_from(list(scope)))
    every = domain(scope[key])
    known: Sequence[Any] = TEXTS if every is None else [*every[:3], *every[-1:]]
    if isinstance(scope[key], Truth):
        known = [False, True]
    codes = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    kinds: dict[str, Kind] = {"p1": Number(-2, 3), "p2": Truth(), "p3": Label(("r", "s"))}
    columns = []
    for name in draw(st.lists(st.sampled_from(sorted(kinds)), max_size=2, unique=True)):
        held = {"p1": st.integers(-2, 3), "p2": st.booleans(), "p3": st.integers(0, 1)}[name]
        size = len(codes)
        values = draw(st.lists(st.none() | held, min_size=size, max_size=size))
        if name not in scope:
            columns.append((name, kinds[name], tuple(values)))
    return PublicTable("given", ((key, scope[key], tuple(codes)),), tuple(columns))


@st.composite
def summaries(draw: st.DrawFn, scope: Scope) -> Summary:
    """Summaries of the rows of one unit, with small caps."""
    function = draw(st.sampled_from(get_args(Function)))
    cap = draw(st.integers(1, 3))
    if function == "count":
        return Summary(function, draw(st.none() | expressions(scope, Number, depth=1)), cap)
    return Summary(function, draw(expressions(scope, Number, depth=1)), cap)


@st.composite
def _step(draw: st.DrawFn, node: Node, step: str) -> Node:
    visible = scope_of(node)
    names = list(visible)
    same: list[tuple[str, Expr]] = [(name, Name(name)) for name in names]
    match step:
        case "filter":
            # Most conditions leave nothing that could move, so half of them are simple.
            simple = draw(_comparisons(visible)), draw(expressions(visible, Truth))
            condition = draw(st.sampled_from(simple))
            with suppress(ExpressionError):  # numbers that are too large to be compared
                return Filter(node, condition)
            return node
        case "select":
            kept = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
            return Project(node, tuple((name, Name(name)) for name in kept))
        case "rename":
            # Names change places: a bound that is kept by name is stale now.
            swapped = [*names[1:], names[0]]
            return Project(node, tuple(zip(swapped, map(Name, names), strict=True)))
        case "truncate":
            return draw(truncations(node))
        case "disguise":
            return draw(_disguised(node))
    kinds = [Number, Truth, *dict.fromkeys(type(kind) for kind in visible.values())]
    made = draw(expressions(visible, draw(st.sampled_from(kinds))))
    if step == "redefine":
        same[draw(st.integers(0, len(same) - 1))] = (draw(st.sampled_from(names)), made)
        return Project(node, tuple(dict(same).items()))
    return Project(node, (*same[:4], (next(n for n in _FRESH if n not in names), made)))


@st.composite
def _comparisons(draw: st.DrawFn, scope: Scope) -> Expr:
    """Draw a condition that holds for some rows and not for others."""
    name, kind = draw(st.sampled_from(list(scope.items())))
    every = domain(kind)
    listed = TEXTS if every is None else [value(kind, held) for held in every[:2]]
    compared = Name(name), Constant(draw(st.sampled_from(listed)))
    return Call(draw(st.sampled_from(("<>", "="))), compared)


@st.composite
def _disguised(draw: st.DrawFn, node: Node) -> Node:
    """Give the name of a column that the node is truncated by to something else."""
    if not isinstance(node, Truncate) or not node.keys:
        return node
    visible = scope_of(node)
    hidden = draw(st.sampled_from(node.keys))
    kind = draw(st.sampled_from([type(kind) for kind in visible.values()]))
    made = draw(expressions(visible, kind, depth=1))
    return Project(node, tuple((n, made if n == hidden else Name(n)) for n in visible))


_FRESH = ("x", "y", "z", "u", "v", "w", "m1", "k1")


@st.composite
def truncations(draw: st.DrawFn, node: Node) -> Truncate:
    """Truncations of a relation by any of its columns, with any caps."""
    visible = scope_of(node)
    by = draw(_some_of(list(visible), (0, 1, 1, 1, 2)))
    caps = st.sampled_from((None, 1, 2, 3))
    return Truncate(node, tuple(by), draw(caps), draw(caps), draw(caps))


# ---- questions -----------------------------------------------------------------------------------


@st.composite
def keys(draw: st.DrawFn, scope: Scope, columns: Sequence[str] | None = None) -> Keys:
    """Groups by none to three columns: all values of the schema, or some that are listed.

    Args:
        draw: given by hypothesis.
        scope: the columns in scope, by name.
        columns: those to group by; any if None.
    """
    if columns is None:
        columns = draw(_some_of(list(scope), (0, 0, 1, 1, 1, 2, 3)))
    given: dict[str, Sequence[Any]] = {}
    for name in columns:
        every = domain(scope[name])
        if every is None:
            given[name] = draw(st.lists(st.sampled_from(TEXTS), min_size=2, unique=True))
        elif every.stop - every.start > 6 or draw(st.integers(0, 3)) == 3:
            ends = sorted({*every[:3], *every[-2:]})
            chosen = draw(st.lists(st.sampled_from(ends), min_size=1, unique=True))
            given[name] = [value(scope[name], held) for held in chosen]
    made = Keys.of(scope, columns, given)
    return made if len(made) <= MOST_CELLS else Keys.of(scope, ())


def _some_of(columns: list[str], sizes: Sequence[int]) -> st.SearchStrategy[list[str]]:
    some = st.sampled_from(columns)
    return st.sampled_from(sizes).flatmap(
        lambda size: st.lists(
            some, min_size=min(size, len(columns)), max_size=min(size, len(columns)), unique=True
        )
    )


@st.composite
def bought_keys(
    draw: st.DrawFn, scope: Scope, columns: Sequence[str] | None = None, *, other: bool = False
) -> BoughtKeys:
    """Groups that occur, by one or two columns; of some columns only values that are listed.

    Args:
        draw: given by hypothesis.
        scope: the columns in scope, by name.
        columns: those to group by; any if None or none.
        other: whether the rest may be one more group.
    """
    names = list(columns or draw(_some_of(list(scope), (1, 1, 2))))
    codes: list[tuple[Any, ...] | None] = []
    for name in names:
        every = domain(scope[name])
        listed: Sequence[Any] = TEXTS if every is None else [*every[:3], *every[-2:]]
        if isinstance(scope[name], Truth):
            listed = [bool(held) for held in listed]
        some = draw(st.lists(st.sampled_from(listed), min_size=1, unique=True))
        codes.append(tuple(some) if draw(st.integers(0, 3)) == 3 else None)
    kinds = tuple(scope[name] for name in names)
    return BoughtKeys(tuple(names), kinds, tuple(codes), other and draw(st.booleans()))


@st.composite
def quantities(draw: st.DrawFn, scope: Scope, *, units: bool = False) -> Quantity:
    """Numbers of rows, of known values, and sums of distances from a center or of their squares.

    Args:
        draw: given by hypothesis.
        scope: the columns in scope, by name.
        units: whether numbers of units too: where rows still carry theirs.
    """
    known = ("rows", "known", "total", "total", "squares")
    chosen = draw(st.sampled_from((*known, "units") if units else known))
    match chosen:
        case "rows":
            return Rows()
        case "units":
            return Units()
        case "known":
            kinds = [Number, Truth, *dict.fromkeys(type(kind) for kind in scope.values())]
            return Known(draw(expressions(scope, draw(st.sampled_from(kinds)), depth=1)))
    summed = draw(expressions(scope, Number))
    kind = typed(summed, scope).kind
    assert isinstance(kind, Number)
    centers = (0, 0, (kind.low + kind.high) // 2, kind.high, kind.low - 1)
    made = Squares if chosen == "squares" else Total
    return made(summed, draw(st.sampled_from(centers)))


@st.composite
def plans(
    draw: st.DrawFn,
    source: Source,
    *,
    by_hand: bool | None = None,
    algebra: Sequence[str] = (),
    others: Sequence[Source] = (),
) -> list[Aggregate]:
    """Questions about the same cells of one relation, which one statement answers.

    Half of them are planned as the product plans, by `bounded`. The others aggregate a tree made by
    hand: truncated early, twice, or by other columns than those of the groups, with filters and
    redefined columns above. Such trees are legal, so their sensitivity must hold as well.

    Args:
        draw: given by hypothesis.
        source: the table.
        by_hand: whether to make trees by hand; both if None.
        algebra: which of `ALGEBRA` may be among the nodes.
        others: tables that protect the same unit, for joins.
    """
    hand = draw(st.booleans()) if by_hand is None else by_hand
    truncate = hand and source.unit.column is not None
    node = draw(nodes(source, truncate=truncate, algebra=algebra, others=others))
    visible = scope_of(node)
    groups = draw(keys(visible, draw(_truncated_by(node))))
    several = st.lists(quantities(visible, units=carries(node)), max_size=2)
    asked: list[Quantity] = [Rows(), *draw(several)]
    node = _bounded(node, groups, asked, by_hand=hand)
    made = [query for quantity in asked if (query := _made(node, groups, quantity)) is not None]
    return made or [Aggregate(node, groups, Rows())]


@st.composite
def values(
    draw: st.DrawFn,
    source: Source,
    *,
    by_hand: bool | None = None,
    algebra: Sequence[str] = (),
) -> Values:
    """Bags of values: of an expression, in the cells of one relation; listed or to be bought.

    Args:
        draw: given by hypothesis.
        source: the table.
        by_hand: whether to make trees by hand, as in `plans`; both if None.
        algebra: which of `ALGEBRA` may be among the nodes.
    """
    hand = draw(st.booleans()) if by_hand is None else by_hand
    truncate = hand and source.unit.column is not None
    node = draw(nodes(source, truncate=truncate, algebra=algebra))
    visible = scope_of(node)
    by = draw(_truncated_by(node))
    groups: AnyKeys = draw(st.one_of(keys(visible, by), bought_keys(visible, by)))
    kinds = [Number, *(type(k) for k in visible.values() if isinstance(k, Number | Day | Instant))]
    expr = draw(expressions(visible, draw(st.sampled_from(kinds)), depth=1))
    return Values(_bounded(node, groups, [Known(expr)], by_hand=hand), groups, expr)


@st.composite
def selections(
    draw: st.DrawFn,
    source: Source,
    *,
    by_hand: bool | None = None,
    algebra: Sequence[str] = (),
) -> list[Occurrence | Aggregate]:
    """Groups that occur, and questions about those that will be chosen: one statement for all.

    Args:
        draw: given by hypothesis.
        source: the table.
        by_hand: whether to make trees by hand, as in `plans`; both if None.
        algebra: which of `ALGEBRA` may be among the nodes.
    """
    hand = draw(st.booleans()) if by_hand is None else by_hand
    truncate = hand and source.unit.column is not None
    node = draw(nodes(source, truncate=truncate, algebra=algebra))
    visible = scope_of(node)
    groups = draw(bought_keys(visible, draw(_truncated_by(node)), other=True))
    several = st.lists(quantities(visible, units=carries(node)), max_size=2)
    asked: list[Quantity] = [Rows(), *draw(several)]
    node = _bounded(node, groups, asked, by_hand=hand)
    made = [query for quantity in asked if (query := _made(node, groups, quantity)) is not None]
    return [Occurrence(node, groups), *made]


def _bounded(node: Node, groups: AnyKeys, asked: Sequence[Quantity], *, by_hand: bool) -> Node:
    """Return a relation that can be asked: a tree made by hand as it is, if it is bounded."""
    if by_hand and reach(node).rows is not None:
        return node
    used = tuple(q.expr for q in asked if not isinstance(q, Rows | Units))
    return bounded(node, groups, used)


@st.composite
def _truncated_by(draw: st.DrawFn, node: Node) -> Sequence[str] | None:
    """Draw the columns that some truncation below has for groups, or None for any."""
    below = [each.keys for each in walk(node) if isinstance(each, Truncate)]
    visible = scope_of(node)
    kept = [by for by in below if set(by) <= visible.keys()]
    same = draw(st.booleans())
    return draw(st.sampled_from(kept)) if kept and same else None


def _made(node: Node, groups: AnyKeys, quantity: Quantity) -> Aggregate | None:
    """Return the question, unless one unit could move it beyond the range of integers."""
    try:
        query = Aggregate(node, groups, quantity)
        query.sensitivity(unit_of(node))
    except (ExpressionError, SensitivityError):
        return None
    return query
