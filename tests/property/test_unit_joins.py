"""A unit that is in several tables moves what is asked of their join by no more than computed.

Neighbors differ in all rows of one unit in all tables: those that name it, and those that lead to
it over keys.
"""

import re
import sys
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import sfumato as sf
from sfumato.backends import lookup
from sfumato.backends.duckdb import DuckDB
from sfumato.core.errors import InternalError
from sfumato.core.schema import Boolean, Category, Integer, Schema
from sfumato.core.unit import Unit
from sfumato.relation import (
    Aggregate,
    Keys,
    Link,
    Name,
    PerUnit,
    Project,
    Rows,
    Source,
    Summary,
    Total,
    Truncate,
    UnitJoin,
    bound,
    bounded,
    lower,
    reach,
)
from sfumato.relation.lower import lowered, parameters
from sfumato.relation.node import scope, sources, unit_of, walk
from sfumato.relation.source import linked
from sfumato.session.reader import Reader
from sfumato.testing import databases, plans

sys.path.insert(0, str(Path(__file__).parent))
from difference import ADDITIVE, KEY, dense, norms, read, read_copied, say, search
from test_sensitivity_bugs import Bug

sys.path.pop(0)

LINKS = {
    "orders": (Link("customer", "customers", "id"),),
    "lines": (Link("order", "orders", "id"),),
    "notes": (Link("line", "lines", "id"), Link("author", "customers", "id")),
}
ZONE = Category(["A", "B"])
SCHEMAS = {
    "customers": Schema(age=Integer(0, 3), vip=Boolean()),
    "orders": Schema(zone=ZONE, total=Integer(-2, 2)),
    "lines": Schema(qty=Integer(0, 2), zone=ZONE),
    "notes": Schema(stars=Integer(0, 1)),
    "calls": Schema(zone=ZONE, minutes=Integer(0, 3)),
}
OWNERS = {
    "customers": "id",
    "orders": "customer",
    "lines": "order",
    "notes": "line",
    "calls": "customer",
}
CAPS = (
    {"max_rows": 1},
    {"max_rows": 2},
    {"max_rows": 3, "max_groups": 1},
    {"max_groups": 2, "max_rows_per_group": 2},
)


def town(caps=None, neighbors="add_remove", most=2):
    """Return five tables of one unit: customers, their orders, lines of those, notes on these."""
    every = {name: {"max_rows": most} for name in SCHEMAS} | (caps or {})
    alone = [
        Source(name, SCHEMAS[name], Unit.by(OWNERS[name], **every[name], neighbors=neighbors))
        for name in SCHEMAS
    ]
    return {source.name: source for source in linked(alone, LINKS)}


@dataclass(frozen=True)
class Case:
    """Questions, and two databases between which one unit makes all the difference."""

    queries: list
    tables: dict
    other: dict

    def __repr__(self):
        return f"{len(self.queries)} questions about {len(self.tables)} tables"


@st.composite
def cases(draw, algebra=(), by_hand=None, neighbors=("add_remove", "replace")):
    caps = {name: draw(st.sampled_from(CAPS)) for name in SCHEMAS}
    every = list(town(caps, draw(st.sampled_from(neighbors))).values())
    source = draw(st.sampled_from(every))
    queries = draw(plans.plans(source, by_hand=by_hand, algebra=algebra, others=every))
    return Case(queries, *draw(databases.databases(_involved(queries[0].node, every))))


def _involved(node, every):
    """Return the tables of a relation, and those that links lead to from there."""
    names = {source.name for source in sources(node)}
    for source in reversed(every):  # each refers to earlier ones
        names |= {link.table for link in source.links if source.name in names}
    return [source for source in every if source.name in names]


def answers(queries, *given, key=KEY):
    """Return the exact answers on each database."""
    found = []
    for tables in given:
        with closing(DuckDB.open(tables, threads=1)) as engine:
            found.append(dense(queries, read(engine, queries, key)))
    return found


def describe(case):
    say(lowered(case.queries, "duckdb"))
    for tables in (case.tables, case.other):
        for source in sources(case.queries[0].node):
            say(f"{source.name}: {source.unit!r} {tables[source].to_pylist()}")


def compare(case):
    """Fail if neighbors lie further apart than a question says, in any norm."""
    describe(case)
    one, two = answers(case.queries, case.tables, case.other)
    for query, before, after in zip(case.queries, one, two, strict=True):
        claimed, found = query.sensitivity(unit_of(query.node)), norms(before, after)
        say(f"{query.quantity}: {before} and {after} differ by {found}, claimed {claimed}")
        broken = [name for name, moved in found.items() if moved > getattr(claimed, name)]
        assert not broken, f"the answer moved further than its {', '.join(broken)}"


def add_up(case):
    """Fail if what counts of one unit depends on the others."""
    describe(case)
    parts = [_of_unit(case.tables, unit) for unit in (1, 2, 3)]
    whole, *alone = answers(case.queries, case.tables, *parts)
    say(f"together {whole}, alone {alone}")
    for i, together in enumerate(whole):
        assert together == [sum(cell) for cell in zip(*(part[i] for part in alone), strict=True)]


def _of_unit(tables, unit):
    """Return the rows of one unit: those that name it, and those that lead to such rows."""
    named = {source.name: source for source in tables}

    def rows(source):
        table = tables[source]
        if source.names_unit(source.owner):
            mine = {str(unit)}
        else:
            (link,) = (each for each in source.links if each.column == source.owner)
            parents = rows(named[link.table]).column(link.key).to_pylist()
            mine = {str(key) for key in parents if key is not None}
        owners = table.column(source.owner).to_pylist()
        places = [i for i, owner in enumerate(owners) if str(owner) in mine]
        return table.take(pa.array(places, pa.int64()))

    return {source: rows(source) for source in tables}


def use_windows(case):
    """Fail if windows in the engine would leave other rows out than a release does."""
    describe(case)
    with closing(DuckDB.open(case.tables, threads=1)) as engine:
        found = read(engine, case.queries)
        values = parameters(case.queries[0].node, KEY)
        other = engine.run(lowered(case.queries, "duckdb"), values)
    assert dense(case.queries, found) == dense(case.queries, other)


def use_copies(case):
    """Fail if a copy of a table is read otherwise than the table."""
    describe(case)
    with closing(DuckDB.open(case.tables, threads=1)) as engine:
        found, other = read_copied(engine, case.queries), read(engine, case.queries)
    assert dense(case.queries, found) == dense(case.queries, other)


SEARCHES = {
    "joins": (cases(), compare),
    "joins, planned": (cases(by_hand=False), compare),
    "joins, added": (cases(neighbors=["add_remove"]), compare),
    "joins among the algebra": (cases(algebra=plans.ALGEBRA), compare),
    "alone": (cases(algebra=ADDITIVE), add_up),
    "windows": (cases(algebra=plans.ALGEBRA), use_windows),
    "copies": (cases(), use_copies),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_no_unit_moves_a_join_beyond_its_sensitivity(name):
    search(*SEARCHES[name], examples=10)


@pytest.mark.deep
@pytest.mark.parametrize("name", SEARCHES)
def test_no_unit_moves_a_join_beyond_its_sensitivity_in_depth(name):
    search(*SEARCHES[name], seeds=None)


def test_most_random_plans_join():
    """A search among plans that join nothing would prove nothing."""
    joined, along = 0, 0

    def count(case):
        nonlocal joined, along
        met = [node for node in walk(case.queries[0].node) if isinstance(node, UnitJoin)]
        joined += bool(met)
        along += any(node.link is not None for node in met)

    search(cases(), count, 30)
    assert joined > 15
    assert along > 5


# ---- by hand -------------------------------------------------------------------------------------


def data(tables, **given):
    """Return a database: what is not given is empty."""
    empty = {
        "customers": {"id": "i", "age": "i", "vip": "b"},
        "orders": {"id": "i", "customer": "i", "zone": "s", "total": "i"},
        "lines": {"id": "i", "order": "i", "qty": "i", "zone": "s"},
        "notes": {"line": "i", "author": "i", "stars": "i"},
        "calls": {"customer": "i", "zone": "s", "minutes": "i"},
    }
    kinds = {"i": pa.int64(), "b": pa.bool_(), "s": pa.string()}
    made = {}
    for name, source in tables.items():
        fields = pa.schema([(column, kinds[kind]) for column, kind in empty[name].items()])
        listed = [dict(zip(empty[name], row, strict=True)) for row in given.get(name, [])]
        made[source] = pa.Table.from_pylist(listed, schema=fields)
    return made


TOWN = town()
CUSTOMERS, ORDERS, LINES, NOTES, CALLS = TOWN.values()
TO_ORDER, TO_CUSTOMER = LINKS["lines"][0], LINKS["orders"][0]


def only(node, *columns):
    return Project(node, tuple((name, Name(name)) for name in columns))


def all_rows(node, quantity=None):
    """Return the exact number of rows, or a sum, over everything."""
    return Aggregate(Truncate(node, (), None, None, 10**6), Keys(), quantity or Rows())


def count(node, tables, quantity=None):
    [[[found]]] = answers([all_rows(node, quantity)], tables)
    return found


def along(how="inner", first=LINES, second=None):
    return UnitJoin(
        first, only(ORDERS, "total") if second is None else second, (), how, "lines", TO_ORDER
    )


def test_rows_meet_along_a_link():
    tables = data(
        TOWN,
        customers=[(1, 3, True), (2, 1, False)],
        orders=[(10, 1, "A", 1), (11, 1, "B", 2), (20, 2, "A", -2)],
        lines=[(1, 10, 1, "A"), (2, 10, 1, "A"), (3, 11, 1, "B"), (4, 20, 1, "A"), (5, 99, 1, "A")],
    )
    assert count(along(), tables) == 4
    assert count(along(), tables, Total(Name("total"))) == 1 + 1 + 2 - 2
    twice = UnitJoin(along(), CUSTOMERS, (), "inner", "orders", TO_CUSTOMER)
    assert count(twice, tables, Total(Name("age"))) == 3 + 3 + 3 + 1


def test_keys_that_are_missing_or_found_nowhere_are_nobodys():
    tables = data(
        TOWN,
        orders=[(10, 1, "A", 1), (None, 1, "A", 1), (12, None, "A", 1)],
        lines=[(1, None, 1, "A"), (2, 12, 1, "A"), (3, 13, 1, "A"), (4, 10, 1, "A")],
    )
    assert count(LINES, tables) == 1
    assert count(along("left"), tables) == 1


def test_a_key_of_two_units_is_of_each():
    tables = data(
        TOWN,
        orders=[(10, 1, "A", 1), (10, 2, "A", 2), (20, 2, "A", 1), (20, 2, "B", 2)],
        lines=[(1, 10, 1, "A"), (2, 20, 1, "A")],
    )
    assert count(ORDERS, tables) == 4
    assert count(LINES, tables) == 3  # once for whoever has the key, also for who has it twice
    assert count(along(), tables) == 2  # and of two rows with one key of a unit none is met
    assert count(along("left"), tables) == 3
    assert count(along("left"), tables, Total(Name("total"))) == 1 + 2


def test_a_path_of_three_links_leads_to_the_unit():
    tables = data(
        TOWN,
        orders=[(10, 1, "A", 1), (20, 2, "A", 1)],
        lines=[(100, 10, 1, "A"), (200, 20, 1, "A"), (201, 20, 1, "A")],
        notes=[(100, 1, 1), (200, 1, 1), (201, 2, 1), (202, 2, 1)],
    )
    each = Truncate(NOTES, (), None, None, 1)  # of each unit one
    assert answers([Aggregate(each, Keys(), Rows())], tables) == [[[2]]]
    # The author may be another than the one whose note it is: they do not meet.
    author = UnitJoin(NOTES, CUSTOMERS, (), "left", "notes", LINKS["notes"][1])
    people = data(
        TOWN,
        customers=[(1, 3, True), (2, 1, True)],
        **{
            s.name: [tuple(r.values()) for r in tables[s].to_pylist()]
            for s in (ORDERS, LINES, NOTES)
        },
    )
    assert count(author, people, Total(Name("age"))) == 3 + 1


@pytest.mark.parametrize("fan_out", [1, 7, 200])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_join_with_fan_out(fan_out, how):
    """One customer has many orders, all others one; in no answer more of them count than capped."""
    tables = town({"calls": {"max_rows": 5}}, most=3)
    orders = [(i, 1, "A", 2) for i in range(fan_out)] + [(-i, i, "A", 2) for i in range(2, 5)]
    calls = [(1, "A", 3)] * fan_out + [(i, "A", 3) for i in range(2, 5)]
    everybody = data(tables, orders=orders, calls=calls)
    others = data(tables, orders=orders[fan_out:], calls=calls[fan_out:])
    second = Truncate(only(tables["calls"], "minutes"), (), None, None, 5)
    node = UnitJoin(tables["orders"], second, (), how)
    query = Aggregate(bounded(node, Keys(), (Name("minutes"),)), Keys(), Total(Name("minutes")))
    claimed = query.sensitivity(unit_of(node))
    assert claimed.l1 == 3 * (3 * 5)  # minutes, of three orders each beside five calls
    [[one]], [[two]] = answers([query], everybody, others)
    assert two == 3 * 3
    assert one - two == 3 * min(min(fan_out, 5) * fan_out, 15)


@pytest.mark.deep
def test_fan_out_of_a_million_needs_no_more_memory_than_the_tables():
    """Both sides have a million rows of one unit: ten rows of the one meet each of the other."""
    many = 10**6
    tables = town(most=10)
    held = data(tables)
    ones = pa.array([1] * many, pa.int64())
    text = pa.array(["A"] * many)
    held[tables["orders"]] = pa.table(
        {"id": pa.array(range(many)), "customer": ones, "zone": text, "total": ones}
    )
    held[tables["calls"]] = pa.table({"customer": ones, "zone": text, "minutes": ones})
    held[tables["lines"]] = pa.table(
        {"id": pa.array(range(many)), "order": pa.array(range(many)), "qty": ones, "zone": text}
    )
    second = bound.truncated(only(tables["calls"], "minutes"), ())
    by_unit = UnitJoin(tables["orders"], second, (), "inner")
    link = UnitJoin(
        tables["lines"], only(tables["orders"], "total"), (), "inner", "lines", TO_ORDER
    )
    queries = [Aggregate(bounded(n, Keys(), ()), Keys(), Rows()) for n in (by_unit, link)]
    with closing(DuckDB.open(held, threads=2, memory="2GB")) as engine:
        found = [Reader(engine, KEY).run(partial(lowered, [q]), q.node, {}) for q in queries]
    assert [dense([q], each) for q, each in zip(queries, found, strict=True)] == [[[100]], [[10]]]


def test_who_repeats_a_key_makes_no_more_pairs_than_rows():
    """One unit has the same key in every row of two tables, and one note leads over both."""
    many = 2_000
    held, ones = data(TOWN), pa.array([1] * many, pa.int64())
    text = pa.array(["A"] * many)
    held[ORDERS] = pa.table({"id": ones, "customer": ones, "zone": text, "total": ones})
    held[LINES] = pa.table({"id": ones, "order": ones, "qty": ones, "zone": text})
    held[NOTES] = pa.table({"line": ones[:1], "author": ones[:1], "stars": ones[:1]})
    question = Aggregate(Truncate(NOTES, (), None, None, 1), Keys(), Rows())
    with closing(DuckDB.open(held, threads=1)) as engine:
        assert dense([question], read(engine, [question])) == [[1]]
        [(_, told)] = engine._connection.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {engine._readers[NOTES.name]}"
        ).fetchall()
    rows = [int(size) for size in re.findall(r'"intermediate_rows": (\d+)', told)]
    assert many in rows  # both tables were read
    assert max(rows) <= many


# ---- what the rules say --------------------------------------------------------------------------


def test_reach_of_a_join():
    two = Truncate(only(CALLS, "minutes"), (), None, None, 2)
    three = Truncate(ORDERS, ("zone",), 3, 2, None)
    assert reach(UnitJoin(ORDERS, two, (), "inner")).rows is None
    assert reach(UnitJoin(three, two, (), "left")) == bound.Reach(12, ("zone",), 2, 6)
    one = PerUnit(CALLS, (), (("n", Summary("count", None, 9)),))
    assert reach(UnitJoin(three, one, (), "left")) == reach(three)
    # Of one customer there is one row, so an inner join has as many as the other side.
    assert reach(UnitJoin(_one_age(), two, (), "inner")).rows == 2
    each = Truncate(CALLS, ("zone",), 2, None, 9)
    assert reach(UnitJoin(three, each, (("zone", "zone"),), "inner")).rows == 12
    assert (
        reach(UnitJoin(three, only(each, "zone", "minutes"), (("zone", "zone"),), "left")).rows
        == 12
    )
    assert reach(along()).rows is None
    by_unit = UnitJoin(three, CUSTOMERS, (), "inner", "orders", TO_CUSTOMER)
    assert reach(by_unit) == reach(three)


def _one_age():
    return PerUnit(CUSTOMERS, (), (("age", Summary("max", Name("age"), 1)),))


def test_caps_of_a_join_are_those_of_its_rows():
    caps = {
        "customers": {"max_rows": 1},
        "orders": {"max_rows": 6, "max_groups": 3, "max_rows_per_group": 2},
        "lines": {"max_rows": 20},
        "notes": {"max_rows": 2},
        "calls": {"max_rows": 4},
    }
    tables = town(caps)
    orders, lines = tables["orders"], tables["lines"]
    link = UnitJoin(lines, only(orders, "total"), (), "inner", "lines", TO_ORDER)
    assert bound.caps(link) == (20, None, None)
    calls = bound.truncated(only(tables["calls"], "minutes"), ())
    assert bound.caps(UnitJoin(orders, calls, (), "inner")) == (24, 12, 8)
    assert bound.most_rows(UnitJoin(orders, calls, (), "inner")) == 24


def test_caps_that_are_bought_are_those_of_the_rows():
    tables = town({"orders": {"max_rows": "auto"}})
    link = UnitJoin(
        tables["lines"], only(tables["orders"], "total"), (), "inner", "lines", TO_ORDER
    )
    assert bound.automatic(link) == ()
    assert bound.caps(link) == (2, None, None)


REFUSED = {
    "itself": (lambda: UnitJoin(ORDERS, ORDERS, (), "inner"), "joined with itself"),
    "unbounded": (lambda: UnitJoin(ORDERS, only(CALLS, "minutes"), (), "inner"), "without limit"),
    "too many": (
        lambda: UnitJoin(
            ORDERS, Truncate(only(CALLS, "minutes"), (), None, None, 1001), (), "inner"
        ),
        "1,001 times",
    ),
    "same name": (
        lambda: UnitJoin(ORDERS, Truncate(CALLS, (), None, None, 2), (), "inner"),
        "both tables have a column 'zone'",
    ),
    "another type": (
        lambda: UnitJoin(
            ORDERS,
            Truncate(only(CALLS, "minutes"), (), None, None, 2),
            (("zone", "minutes"),),
            "inner",
        ),
        "does not mean the same",
    ),
    "outer": (
        lambda: UnitJoin(ORDERS, Truncate(only(CALLS, "minutes"), (), None, None, 2), (), "outer"),
        "'inner' or 'left'",
    ),
    "key after truncation": (
        lambda: along(first=Truncate(only(LINES, "qty"), (), None, None, 2)),
        "Follow the link first",
    ),
    "parent summarized": (
        lambda: along(second=PerUnit(ORDERS, (), (("n", Summary("count", None, 2)),))),
        "no longer made of those",
    ),
    "no such link": (
        lambda: UnitJoin(LINES, only(ORDERS, "total"), (), "inner", "lines", Link("a", "b", "c")),
        "no such link",
    ),
    "rows": (
        lambda: UnitJoin(ORDERS, Source("people", Schema(old=Boolean()), Unit.row()), (), "inner"),
        "nobody knows whose they",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_join_is_refused(name):
    make, text = REFUSED[name]
    with pytest.raises(sf.errors.SfumatoError, match=text):
        make()


# ---- planted mistakes ----------------------------------------------------------------------------

FULL = {
    "customers": [(1, 3, True), (1, 2, True)],
    "orders": [(10, 1, "A", 2), (11, 1, "A", 2), (10, 1, "A", 2)],
    "calls": [(1, "A", 3), (1, "B", 3), (1, "A", 3), (1, "A", 3)],
}
OTHERS = {
    "customers": [(2, 3, True)],
    "orders": [(20, 2, "A", 2)],
    "calls": [(2, "A", 3)],
}
MINUTES = Truncate(only(CALLS, "minutes"), (), None, None, 3)
HERE = Project(CALLS, (("here", Name("zone")),))
BY_HAND = {
    "by unit": UnitJoin(Truncate(ORDERS, (), None, None, 2), MINUTES, (), "inner"),
    "in a group": UnitJoin(Truncate(ORDERS, ("zone",), 2, 2, None), MINUTES, (), "left"),
    "other groups": UnitJoin(
        Truncate(ORDERS, (), None, None, 2), Truncate(HERE, ("here",), 1, None, 2), (), "left"
    ),
    "a key twice": UnitJoin(
        Truncate(ORDERS, (), None, None, 2), CUSTOMERS, (), "inner", "orders", TO_CUSTOMER
    ),
    "planned": bounded(UnitJoin(ORDERS, MINUTES, (), "inner"), Keys(), ()),
}


def by_hand(name):
    """Return a case in which one unit does as much as it can."""
    node = BY_HAND[name]
    keys = Keys.of(scope(node), ["zone"] if name == "in a group" else [])
    both = {table: [*FULL[table], *OTHERS[table]] for table in FULL}
    return Case([Aggregate(node, keys, Rows())], data(TOWN, **both), data(TOWN, **OTHERS))


JOINED, REACHED = lower._met, bound._met
RARE = ""  # few random trees are bounded below a join and not above: made by hand
BUGS = [
    Bug(
        "units not compared",
        "joins",
        JOINED,
        "{HIDDEN} = other.{HIDDEN}",
        "{HIDDEN} <> 0",
        "by unit",
    ),
    Bug(
        "any row with the key", "", JOINED, "if node.link is not None:", "if False:", "a key twice"
    ),
    Bug("rows not multiplied", RARE, REACHED, "_times(a.rows, times)", "a.rows", "by unit"),
    Bug(
        *("rows of the right alone", "joins", REACHED, "_in_one(a, [one for one, _ in node.on])"),
        *("1", "by unit"),
    ),
    Bug(
        *("rows in a group not multiplied", RARE, REACHED, "_times(a.rows_per_group, times)"),
        *("a.rows_per_group", "in a group"),
    ),
    Bug(
        *("groups of other columns", RARE, bound._in_one, "set(here.keys) <= set(keys)"),
        *("True", "other groups"),
    ),
]


@pytest.mark.parametrize("name", BY_HAND)
def test_bound_of_a_join_holds_where_a_unit_does_all_it_can(name):
    compare(by_hand(name))


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.hand], ids=repr)
def test_planted_bug_shows_in_a_case_made_by_hand(bug):
    with bug.planted(), pytest.raises(AssertionError, match="moved further"):
        compare(by_hand(bug.hand))


LOOKED_UP, WITH_KEY = 'f" JOIN ({pairs})', "OVER (PARTITION BY k)"
CHOSEN = 'f" JOIN (SELECT k, v FROM ({pairs}) QUALIFY'
SHARED = [
    Bug(
        *("shared keys are nobody's", "joins, added", lookup.Lookup.joins, LOOKED_UP),
        f"{CHOSEN} min(v) {WITH_KEY} = max(v) {WITH_KEY})",
    ),
    Bug(
        *("shared keys are the first one's", "joins, added", lookup.Lookup.joins, LOOKED_UP),
        f"{CHOSEN} v = min(v) {WITH_KEY})",
    ),
]


def shared():
    """Return a case in which one unit has the keys of all others."""
    others = [(10 * unit, unit, "A", 1) for unit in (2, 3, 4)]
    lines = [(unit, 10 * unit, 1, "A") for unit in (2, 3, 4)]
    everyone = [*others, *((key, 1, "A", 1) for key, *_ in others)]
    question = Aggregate(Truncate(LINES, (), None, None, 1), Keys(), Rows())
    tables = (data(TOWN, orders=orders, lines=lines) for orders in (everyone, others))
    return Case([question], *tables)


def test_who_has_the_keys_of_others_moves_no_more_than_his_own():
    compare(shared())


@pytest.mark.parametrize("bug", SHARED, ids=repr)
def test_planted_owner_of_shared_keys_shows(bug):
    with bug.planted(), pytest.raises(AssertionError, match="moved further"):
        compare(shared())


@pytest.mark.deep
@pytest.mark.parametrize("bug", [bug for bug in (*BUGS, *SHARED) if bug.search], ids=repr)
def test_planted_bug_is_found(bug):
    strategy, check = SEARCHES[bug.search]
    with bug.planted(), pytest.raises((AssertionError, InternalError)):
        search(strategy, check, 2_000, shrink=False)
