"""Small tables of rides, made by hand, on which one unit does as much as it can."""

import pyarrow as pa
from difference import Case

from sfumato.core.schema import Boolean, Category, Integer, Schema
from sfumato.core.unit import Unit
from sfumato.relation import (
    Aggregate,
    Call,
    Constant,
    Distinct,
    Filter,
    Join,
    Keys,
    Known,
    Name,
    PerUnit,
    Project,
    PublicTable,
    Rows,
    Source,
    Squares,
    Summary,
    Total,
    Truncate,
    Union,
    bounded,
)
from sfumato.relation.node import scope

ZONES = Schema(
    zone=Category(["A", "B", "C", "D"]), fare=Integer(-3, 3), tip=Integer(0, 5), ok=Boolean()
)


def table_of(*people):
    """Write rows as (id, zone, fare, tip)."""
    columns = zip(*people, strict=True) if people else [(), (), (), ()]
    who, zone, fare, tip = (list(column) for column in columns)
    return pa.table(
        {
            "id": pa.array(who, pa.int64()),
            "zone": pa.array(zone, pa.string()),
            "fare": pa.array(fare, pa.int64()),
            "tip": pa.array(tip, pa.int64()),
            "ok": pa.array([None] * len(who), pa.bool_()),
        }
    )


def planned(unit, by, quantity, given=None):
    source = Source("rides", ZONES, unit)
    keys = Keys.of(scope(source), by, given)
    used = () if isinstance(quantity, Rows) else (quantity.expr,)
    return Aggregate(bounded(source, keys, used), keys, quantity)


def owned(zones, fare=3, tip=5, who=1):
    return [(who, zone, fare, tip) for zone in zones]


NOBODY = []
FARE, TIP = Name("fare"), Name("tip")
ADDED = [(NOBODY, owned("AAAAAA")), (NOBODY, owned("AAABBBCCCDDD")), (NOBODY, owned("AAABB"))]
APART = [(owned("AA"), owned("BB")), (owned("AAAB"), owned("CCCD")), (owned("A"), owned("B"))]
MEETING = [(owned("AA", fare=-3), owned("AA")), (owned("A", fare=-3), owned("A"))]
TIGHT = {
    "count of a row": (Unit.row(), [], Rows(), [(NOBODY, owned("A"))]),
    "count of rows": (
        Unit.rows(3),
        ["zone"],
        Rows(),
        [(NOBODY, owned("AAA")), (NOBODY, owned("ABC"))],
    ),
    "sum of rows": (
        Unit.rows(2),
        ["zone"],
        Total(TIP),
        [(NOBODY, owned("AA")), (NOBODY, owned("AB"))],
    ),
    "negative sum": (Unit.row(), [], Total(FARE, 2), [(NOBODY, owned("A", fare=-3))]),
    "sum of squares": (Unit.row(), [], Squares(FARE, 1), [(NOBODY, owned("A", fare=-3))]),
    "replaced row, sum of squares": (
        *(Unit.row("replace"), ["zone"], Squares(TIP, -1)),
        [(owned("A"), owned("B")), (owned("A", tip=None), owned("A"))],
    ),
    "another rider": (
        *(Unit.by("id", max_rows=1), ["zone"], Rows()),
        [(owned("A"), [*owned("A"), *owned(zone, who=2)]) for zone in "BCD"],
    ),
    "centered sum": (Unit.row(), [], Total(TIP, 2), [(NOBODY, owned("A"))]),
    "count by max_rows": (
        Unit.by("id", max_rows=5),
        ["zone"],
        Rows(),
        [*ADDED, (NOBODY, owned("ABCD"))],
    ),
    "count by groups": (
        *(Unit.by("id", max_groups=2, max_rows_per_group=3), ["zone"], Rows()),
        [(NOBODY, owned("AAAABBBBCCCC"))],
    ),
    "count by all caps": (
        *(Unit.by("id", max_rows=5, max_groups=2, max_rows_per_group=3), ["zone"], Rows()),
        [(NOBODY, owned("AAABB"))],
    ),
    "sum by all caps": (
        *(Unit.by("id", max_rows=3, max_groups=2, max_rows_per_group=2), ["zone"], Total(FARE)),
        [(NOBODY, owned("AAB", fare=-3))],
    ),
    "sum in total": (Unit.by("id", max_rows=4), [], Total(TIP), [(NOBODY, owned("ABCDABCD"))]),
    "replaced row": (Unit.row("replace"), ["zone"], Rows(), APART[-1:]),
    "replaced row, known": (
        Unit.row("replace"),
        [],
        Known(FARE),
        [(owned("A", fare=None), owned("A"))],
    ),
    "replaced row, sum": (Unit.row("replace"), [], Total(FARE), MEETING[-1:]),
    "replaced row, sum by zone": (
        Unit.row("replace"),
        ["zone"],
        Total(FARE),
        MEETING[-1:] + APART[-1:],
    ),
    "replaced row, positive sum": (
        *(Unit.row("replace"), ["zone"], Total(TIP, -1)),
        [(owned("A"), owned("B")), (owned("A", tip=None), owned("A"))],
    ),
    "replaced row, one cell": (
        Unit.row("replace"),
        ["zone"],
        Rows(),
        [(owned("B"), owned("A"))],
        ["A"],
    ),
    "replaced rows": (
        Unit.rows(2, "replace"),
        ["zone"],
        Rows(),
        [*APART[:1], (owned("AB"), owned("CD"))],
    ),
    "replaced rows, sum": (Unit.rows(2, "replace"), [], Total(FARE), MEETING[:1]),
    "replaced unit": (
        *(
            Unit.by("id", max_rows=4, max_groups=2, max_rows_per_group=3, neighbors="replace"),
            ["zone"],
        ),
        *(Rows(), APART[1:2]),
    ),
    "replaced unit, sum": (
        Unit.by("id", max_rows=2, max_rows_per_group=2, neighbors="replace"),
        ["zone"],
        Total(FARE),
        [*MEETING[:1], *APART[:1], (owned("AB"), owned("CD"))],
    ),
    "replaced unit, two cells": (
        *(Unit.by("id", max_rows=3, max_rows_per_group=2, neighbors="replace"), ["zone"], Rows()),
        [(owned("AA"), owned("BB"))],
        ["A", "B"],
    ),
}


# ---- trees in which a bound could be stale -------------------------------------------------------

RIDER = Unit.by("id", max_rows=1)
SOURCE = Source("rides", ZONES, RIDER)
BUSY = [(1, "A", fare, tip) for fare, tip in ((-3, 0), (0, 1), (3, 2))]


def renamed(node, **columns):
    """Redefine columns."""
    return Project(node, tuple((name, columns.get(name, Name(name))) for name in scope(node)))


def truncated(node, *keys, each=None, groups=None, most=None):
    return Truncate(node, keys, each, groups, most)


def tipped(node):
    """Keep one ride of each rider."""
    return truncated(node, "tip", groups=1, each=1)


def listed(*zones):
    """Return a public table that lists zones by their places."""
    return PublicTable("zones", (("zone", scope(SOURCE)["zone"], zones),), ())


RIDES = Source("rides", ZONES, Unit.row())
TWICE, ONCE = listed(0, 0, 1), listed(0, 1)
ONE_ZONE = truncated(SOURCE, "zone", groups=1, each=3)
ONE_TIP = truncated(SOURCE, "tip", groups=3, each=1)
ONE_EACH = truncated(SOURCE, "zone", "tip", groups=3, each=1)
STALE = {
    "other groups": (ONE_ZONE, ["tip"]),
    "fewer groups": (ONE_EACH, ["zone"]),
    "more groups": (ONE_ZONE, ["zone", "tip"]),
    "no groups": (ONE_EACH, []),
    "key redefined": (renamed(ONE_TIP, tip=Constant(2)), ["tip"]),
    "keys exchanged": (renamed(ONE_ZONE, zone=TIP, tip=Name("zone")), ["zone"]),
    "filtered above": (Filter(ONE_ZONE, Call("<", (TIP, Constant(9)))), ["tip"]),
    "truncated again": (truncated(truncated(SOURCE, "zone", groups=1), "tip", most=3), ["tip"]),
    "truncated first": (truncated(truncated(SOURCE, "tip", each=1), "zone", most=3), ["zone"]),
    "filtered row": (
        *(Filter(Source("rides", ZONES, Unit.row("replace")), Call(">", (FARE, Constant(0)))), []),
        *(owned("A", fare=-3), owned("A")),
    ),
    "truncated by nothing": (truncated(ONE_EACH, most=3), ["zone"]),
    "united": (Union(RIDES, RIDES), [], owned("A"), NOBODY),
    "united groups": (
        *(Union(tipped(SOURCE), tipped(renamed(SOURCE, tip=Constant(2)))), ["tip"]),
        *(owned("A", tip=1), NOBODY),
    ),
    "united in one group": (Union(tipped(SOURCE), tipped(SOURCE)), ["tip"], owned("A"), NOBODY),
    "united ranges": (
        *(Union(RIDES, renamed(RIDES, fare=Call("+", (FARE, Constant(9))))), []),
        *(owned("A"), NOBODY),
    ),
    "joined": (Join(RIDES, TWICE, "inner"), [], owned("A"), NOBODY),
    "joined in one group": (Join(tipped(SOURCE), TWICE, "inner"), ["tip"], owned("A"), NOBODY),
    "joined, replaced": (
        Join(Source("rides", ZONES, Unit.row("replace")), ONCE, "inner"),
        [],
        owned("A"),
        owned("D"),
    ),
    "distinct": (Distinct(truncated(SOURCE, most=3), within_unit=False), []),
    "summarized by tip": (
        truncated(PerUnit(SOURCE, ("tip",), (("fare", Summary("max", FARE, 1)),)), most=3),
        [],
    ),
    **{
        f"{function} of a rider": (
            *(PerUnit(SOURCE, (), (("fare", Summary(function, expr, 2)),)), []),
            *(owned("AAAAA"), NOBODY),
        )
        for function, expr in (("count", None), ("sum", FARE), ("mean", FARE))
    },
    "known rides of a rider": (
        *(PerUnit(SOURCE, (), (("fare", Summary("count", FARE, 2)),)), []),
        *(owned("AAAAA"), NOBODY),
    ),
}


def stale(name):
    """Return the case: a rider with three rides in one zone, who is there or not."""
    node, by, *both = STALE[name]
    before, after = both or (BUSY, NOBODY)
    keys = Keys.of(scope(node), by)
    queries = [Aggregate(node, keys, quantity) for quantity in (Rows(), Total(FARE), Known(FARE))]
    return Case(queries, table_of(*before), table_of(*after))


def tight(name):
    """Return the question, and pairs of neighbors that attain its bounds together."""
    unit, by, quantity, pairs, *given = TIGHT[name]
    query = planned(unit, by, quantity, *given)
    return [Case([query], table_of(*before), table_of(*after)) for before, after in pairs]


def cases_by_hand():
    """Return all of them."""
    return [*map(stale, STALE), *(case for name in TIGHT for case in tight(name))]
