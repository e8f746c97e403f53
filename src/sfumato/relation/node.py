"""The transformations: each takes a relation to a relation, row by row or unit by unit.

A tree of nodes is checked as it is built, so a tree that exists can be lowered and bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError, QueryError, UnitError
from sfumato.core.unit import Unit
from sfumato.relation.expr import Expr, Name, Scope, check_text, known, names, typed
from sfumato.relation.kind import Truth, hull, kind_of
from sfumato.relation.link import KEY, Link
from sfumato.relation.public import PublicTable
from sfumato.relation.source import HIDDEN, Source, folded
from sfumato.relation.summary import Summary

MOST_COPIES = 1000  # of one row


@canonical
@dataclass(frozen=True, slots=True)
class Filter:
    """Keep the rows for which a condition is true; not those for which it is NULL."""

    child: Node
    condition: Expr

    def __post_init__(self) -> None:
        """Check the condition."""
        refuse_unit(self.condition, self.child)
        found = typed(self.condition, scope(self.child))
        if not isinstance(found.kind, Truth):
            raise ExpressionError(
                f"a filter needs a condition, and this is {found.what}. Compare it with something, "
                f"as in 'age >= 18'."
            )


@canonical
@dataclass(frozen=True, slots=True)
class Project:
    """Compute columns from columns of the same row; the unit travels along, hidden."""

    child: Node
    columns: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        """Check names and expressions."""
        if not self.columns:
            raise ExpressionError("a table needs a column. Select at least one.")
        check_names([name for name, _ in self.columns], self.child)
        for name, expr in self.columns:
            refuse_unit(expr, self.child)
            if typed(expr, scope(self.child)).kind is None:
                raise ExpressionError(f"column {name!r} is always NULL. Give it a value.")


@canonical
@dataclass(frozen=True, slots=True)
class Truncate:
    """Keep no more of a unit than its caps allow: rows per group, groups, rows; in this order.

    Which rows of a unit stay depends on that unit's own rows and on a secret key alone: rows are
    taken in the order of a keyed hash of all their columns, equal rows are interchangeable, groups
    are taken in the order of a keyed hash of unit and group. So taking away or exchanging a unit
    leaves the rows of all others as they are.

    Attributes:
        child: what is truncated.
        keys: the columns that make a group.
        max_rows_per_group: how many rows of one unit stay in one group; None for all.
        max_groups: in how many groups rows of one unit stay; None for all.
        max_rows: how many rows of one unit stay; None for all.
    """

    child: Node
    keys: tuple[str, ...]
    max_rows_per_group: int | None
    max_groups: int | None
    max_rows: int | None

    def __post_init__(self) -> None:
        """Check that there is a unit to truncate by."""
        columns = scope(self.child)
        for key in self.keys:
            known(key, columns)
        need_unit(self.child, "truncated")
        for cap in (self.max_rows_per_group, self.max_groups, self.max_rows):
            if cap is not None and (type(cap) is not int or cap < 1):
                raise UnitError("a cap is a whole number from 1 up, or None for no cap.")


@canonical
@dataclass(frozen=True, slots=True)
class Distinct:
    """Keep one of equal rows: of each unit, or of all together.

    Of each unit, the unit travels along. Of all together, nobody can say any more whose a row is:
    the unit is dropped, what it may change must have been bounded below, and nothing above can be
    done unit by unit.
    """

    child: Node
    within_unit: bool

    def __post_init__(self) -> None:
        """Check that there is a unit, where it matters."""
        if self.within_unit:
            need_unit(self.child, "made distinct")


@canonical
@dataclass(frozen=True, slots=True)
class Union:
    """Put the rows of two relations with the same columns below one another."""

    first: Node
    second: Node

    def __post_init__(self) -> None:
        """Check that the two belong together."""
        if not _same_unit(self.first, self.second):
            raise UnitError(
                "only tables that protect the same unit under the same neighbor relation can be "
                "united. Declare both with one unit."
            )
        if carries(self.first) != carries(self.second):
            raise UnitError(
                "of one of the two tables nobody can say any more whose a row is, after distinct. "
                "Unite first, and make the rows distinct afterwards."
            )
        tables = {source.name: source for source in sources(self.first)}
        if any(tables.get(s.name, s) != s for s in sources(self.second)):
            raise UnitError("the two tables have the same name and different declarations.")
        left, right = scope(self.first), scope(self.second)
        if set(left) != set(right):
            odd = ", ".join(sorted(set(left) ^ set(right)))
            raise ExpressionError(
                f"tables are united column by column, and only one of the two has: {odd}. Select "
                f"the same columns in both."
            )
        for name in left:
            if hull(left[name], right[name]) is None:
                raise ExpressionError(
                    f"column {name!r} does not mean the same in both tables: another type, another "
                    f"step or another list of values. Bring it to one form with with_columns."
                )
        check_copies(self)


@canonical
@dataclass(frozen=True, slots=True)
class Join:
    """Add the columns of a public table to the rows that have its key.

    A row is repeated for each public row with its key. Without one it is dropped (inner) or kept
    with the new columns NULL (left).
    """

    child: Node
    table: PublicTable
    how: Literal["inner", "left"]

    def __post_init__(self) -> None:
        """Check keys and names."""
        columns = scope(self.child)
        for name, kind, _ in self.table.keys:
            refuse_unit(Name(name), self.child)
            if known(name, columns) != kind:
                raise ExpressionError(f"the public table was read for another column {name!r}.")
        if not isinstance(self.how, str) or self.how not in ("inner", "left"):
            raise ExpressionError(
                "a join with a public table is 'inner' or 'left', the private rows on the left: "
                "others would show which public rows nobody has. Pass how='left'."
            )
        check_names([*columns, *(name for name, _, _ in self.table.columns)], self.child)
        check_copies(self)


@canonical
@dataclass(frozen=True, slots=True)
class UnitJoin:
    """Put beside the rows of one private relation those of another that have the same unit.

    Rows meet if their unit is the same, if all pairs of columns have equal values, and if the key
    that the one holds is the key of the other, where a link is followed. NULL equals nothing. A row
    comes once for each that it meets. Without one it is dropped (inner) or kept with the new
    columns NULL (left).

    How many a row can meet is known: along a link one, for a key that several rows of a unit have
    is no key and meets nobody; else as many as the second relation has of a unit, which must be
    bounded.

    Attributes:
        first: the rows; along a link, those of the table that has the column.
        second: what is put beside them; of it the columns that must be equal are left out.
        on: pairs of columns, of the first and of the second, that must be equal.
        how: what becomes of rows that meet nobody.
        table: the table of the first whose link is followed; None if none is.
        link: that link.
    """

    first: Node
    second: Node
    on: tuple[tuple[str, str], ...]
    how: Literal["inner", "left"]
    table: str | None = None
    link: Link | None = None

    def __post_init__(self) -> None:
        """Check units, columns, link and how many rows may arise."""
        for half in (self.first, self.second):
            need_unit(half, "joined")
        if not _same_unit(self.first, self.second):
            raise UnitError(
                "only tables that protect the same unit under the same neighbor relation can be "
                "joined. Declare both with one unit."
            )
        refuse_itself(self.first, self.second)
        if not isinstance(self.how, str) or self.how not in ("inner", "left"):
            raise ExpressionError(
                "a join of private tables is 'inner' or 'left'. Pass how='left' to keep the rows "
                "of the left table that meet nobody."
            )
        left, right = scope(self.first), scope(self.second)
        for one, other in self.on:
            refuse_unit(Name(one), self.first)
            refuse_unit(Name(other), self.second)
            if hull(known(one, left), known(other, right)) is None:
                raise ExpressionError(
                    f"column {one!r} does not mean the same in both tables: another type, another "
                    f"step or another list of values. Bring it to one form with with_columns."
                )
        added = [name for name in right if name not in {other for _, other in self.on}]
        taken = {folded(name) for name in left}
        if same := [name for name in added if folded(name) in taken]:
            raise ExpressionError(
                f"both tables have a column {same[0]!r}, and a question could not say which it "
                f"means. Rename it in one of them before, or leave it out with select."
            )
        check_names([*left, *added], self)
        self._check_link()
        check_copies(self)

    def _check_link(self) -> None:
        if self.link is None and self.table is None:
            return
        child, parent = self.ends
        if self.link not in child.links or parent.name != self.link.table:
            raise _no_link()
        if rows_of(self.second) != parent or copies(self.second) > 1:
            raise QueryError(
                f"the link {self.link} leads to one row of {parent.name!r}, and the table on the "
                f"right is no longer made of those, each once. Follow the link first, and do the "
                f"rest afterwards."
            )
        if not self.by_unit and child not in travels(self.first):
            raise QueryError(
                f"the link {self.link} can be followed only as long as rows are those of "
                f"{child.name!r}: not after group_by_unit, distinct, union, or a join by the unit, "
                f"which truncates them. Follow the link first, and do that afterwards."
            )

    @property
    def ends(self) -> tuple[Source, Source]:
        """The tables that a link connects."""
        child = [source for source in sources(self.first) if source.name == self.table]
        wanted = None if self.link is None else self.link.table
        parent = [source for source in sources(self.second) if source.name == wanted]
        if not child or not parent:
            raise _no_link()
        return child[0], parent[0]

    @property
    def by_unit(self) -> bool:
        """Whether both ends of the link name the unit, so that the same unit is the same key."""
        if self.link is None:
            return True
        child, parent = self.ends
        return child.names_unit(self.link.column) and parent.names_unit(self.link.key)

    @property
    def key(self) -> str | None:
        """The name under which the key of the link travels on both sides, if there is one."""
        if self.link is None or self.table is None or self.by_unit:
            return None
        return self.link.hidden(self.table)


@canonical
@dataclass(frozen=True, slots=True)
class PerUnit:
    """Make one row of all rows of a unit; of each unit and group, if there are key columns.

    Every summary has a range that is known beforehand, and is clamped into it. So no unit has to be
    truncated first: however many rows it has, it ends as one.

    Attributes:
        child: the rows.
        keys: the columns that make a group.
        summaries: what is computed of the rows, by name.
    """

    child: Node
    keys: tuple[str, ...]
    summaries: tuple[tuple[str, Summary], ...]

    def __post_init__(self) -> None:
        """Check keys, names and what is summarized."""
        columns = scope(self.child)
        for key in self.keys:
            refuse_unit(Name(key), self.child)
            known(key, columns)
        need_unit(self.child, "summarized")
        if not self.keys and not self.summaries:
            raise ExpressionError("a table needs a column. Summarize something.")
        check_names([*self.keys, *(name for name, _ in self.summaries)], self.child)
        for _, summary in self.summaries:
            if summary.expr is not None:
                refuse_unit(summary.expr, self.child)
            summary.kind(columns)


Node: TypeAlias = (
    Source | Filter | Project | Truncate | Distinct | Union | Join | UnitJoin | PerUnit
)


def children(node: Node) -> tuple[Node, ...]:
    """Return what a relation is made of."""
    match node:
        case Source():
            return ()
        case Union() | UnitJoin():
            return node.first, node.second
        case _:
            return (node.child,)


def walk(node: Node) -> Iterator[Node]:
    """Iterate over a relation and all below it, from the top."""
    yield node
    for child in children(node):
        yield from walk(child)


def size(node: Node) -> int:
    """Count the nodes of a tree, without walking twice through what occurs twice."""
    known_sizes: dict[int, int] = {}

    def count(here: Node) -> int:
        if id(here) not in known_sizes:
            known_sizes[id(here)] = 1 + sum(count(child) for child in children(here))
        return known_sizes[id(here)]

    return count(node)


def copies(node: Node) -> int:
    """Return how often one row can come in a relation, at most."""
    match node:
        case Source() | PerUnit():
            return 1
        case Union():
            return copies(node.first) + copies(node.second)
        case Join():
            return copies(node.child) * node.table.multiplicity
        case UnitJoin():
            return copies(node.first) * _met(node)
        case _:
            return copies(node.child)


def _met(node: UnitJoin) -> int:
    """Return how many rows of the second relation one of the first can meet.

    Raises:
        UnitError: nothing bounds it.
    """
    from sfumato.relation.bound import meets  # which bounds what is made here

    times = meets(node)
    if times is None:
        raise UnitError(
            "nothing bounds how many rows of one unit the table on the right has, so that the rows "
            "of one unit could come without limit. Truncate it before, or make one row of each "
            "unit with group_by_unit."
        )
    return times


def check_copies(node: Node) -> None:
    """Refuse what could make so much of one row that the engine fails because it is there."""
    if copies(node) > MOST_COPIES:
        raise QueryError(
            f"a row would come {copies(node):,} times here, and one row must not decide whether "
            f"there is memory for all: {MOST_COPIES:,} times is the most. Join with tables that "
            f"have a key fewer times, one row for each key at best."
        )


def _no_link() -> QueryError:
    return QueryError("there is no such link between the two tables. Declare it with links=.")


def refuse_itself(first: Node, second: Node) -> None:
    """Refuse to join a table with itself."""
    here = {source.name for source in sources(first)}
    if both := [source.name for source in sources(second) if source.name in here]:
        raise QueryError(
            f"table {both[0]!r} would be joined with itself, so that the rows of a unit meet one "
            f"another and each meets itself. Compute what you need of a unit's rows first, by "
            f"group_by_unit (in SQL a subquery with GROUP BY the unit), or put the two below one "
            f"another by union (UNION ALL)."
        )


def travels(node: Node) -> tuple[Source, ...]:
    """Return the tables whose rows a relation is made of, so that they still carry their keys."""
    match node:
        case Source():
            return (node,)
        case Filter() | Project() | Join():
            return travels(node.child)
        case UnitJoin():
            return (*travels(node.first), *travels(node.second))
        case _:
            return ()


def rows_of(node: Node) -> Source | None:
    """Return the table of which each row of a relation is one, with columns beside it perhaps."""
    match node:
        case Source():
            return node
        case Filter() | Project() | Join():
            return rows_of(node.child)
        case UnitJoin():
            return rows_of(node.first)
        case _:
            return None


def sources(node: Node) -> tuple[Source, ...]:
    """Return the private tables below a relation, each once."""
    found = [n for n in walk(node) if isinstance(n, Source)]
    return tuple(dict.fromkeys(found) if found[1:] else found)  # one is not hashed: that takes long


def tables(node: Node) -> tuple[str, ...]:
    """Return the names of all private tables on which the rows of a relation depend, each once."""
    return tuple(dict.fromkeys(name for source in sources(node) for name in source.tables))


def unit_columns(node: Node) -> list[str]:
    """Return the columns that say whose a row is in the private tables below a relation."""
    return [name for source in sources(node) for name in source.unseen]


def names_unit(column: str, node: Node) -> bool:
    """Say whether a column that nobody sees names the unit, in one of the tables at least."""
    named = {source.unit.column for source in sources(node)}
    return column in named and column not in scope(node)


def refuse_keys(expr: Expr, node: Node) -> None:
    """Refuse an expression that uses a column which nobody sees and which holds keys of rows."""
    here = {source.name: source for source in sources(node)}
    links = [(source, link) for source in here.values() for link in source.links]
    ends = [(source, link.column) for source, link in links]
    ends += [(here[link.table], link.key) for _, link in links if link.table in here]
    keys = {column for source, column in ends if not source.names_unit(column)}
    for key in (keys & set(names(expr))) - set(scope(node)):
        raise ExpressionError(
            f"the column {key!r} holds keys, which lead to single rows. It is for joins alone: "
            f"table.join(other, on={{{key!r}: ...}})."
        )


def unit_of(node: Node) -> Unit:
    """Return the unit that a plan protects; of several tables, that of the first."""
    return sources(node)[0].unit


def _same_unit(first: Node, second: Node) -> bool:
    a, b = unit_of(first), unit_of(second)
    return a.neighbors is b.neighbors and (a.column is None) == (b.column is None)


def carries(node: Node) -> bool:
    """Say whether the rows of a relation still carry their unit."""
    match node:
        case Source():
            return node.unit.column is not None
        case Distinct(within_unit=False):
            return False
        case _:
            return carries(children(node)[0])


def need_unit(node: Node, what: str) -> None:
    """Refuse to do something unit by unit where nobody can say whose a row is."""
    if carries(node):
        return
    if unit_of(node).column is None:
        raise UnitError(
            f"only a unit that a column names can be {what}: of other rows nobody knows whose they "
            f"are. Declare Unit.by('customer_id', max_rows=20)."
        )
    raise UnitError(
        f"after distinct nobody can say whose a row is, so nothing can be {what} unit by unit. Do "
        f"that first, or use distinct(within_unit=True), which keeps the unit."
    )


def scope(node: Node) -> Scope:
    """Return the visible columns and their kinds; the unit is not among them."""
    match node:
        case Source():
            return {name: kind_of(node.schema[name]) for name in node.columns}
        case Project():
            inner = scope(node.child)
            kinds = {name: typed(expr, inner).kind for name, expr in node.columns}
            return {name: kind for name, kind in kinds.items() if kind is not None}
        case Filter() | Truncate() | Distinct():
            return scope(node.child)
        case Union():
            right = scope(node.second)
            hulls = {name: hull(kind, right[name]) for name, kind in scope(node.first).items()}
            return {name: kind for name, kind in hulls.items() if kind is not None}
        case Join():
            return {**scope(node.child), **{name: kind for name, kind, _ in node.table.columns}}
        case UnitJoin():
            equal = {other for _, other in node.on}
            added = {n: kind for n, kind in scope(node.second).items() if n not in equal}
            return {**scope(node.first), **added}
        case PerUnit():
            inner = scope(node.child)
            made = {name: summary.kind(inner) for name, summary in node.summaries}
            return {**{key: inner[key] for key in node.keys}, **made}


def narrowed(node: Node, columns: tuple[str, ...]) -> Node:
    """Return the relation with these columns only."""
    if tuple(scope(node)) == columns:
        return node
    return Project(node, tuple((name, Name(name)) for name in columns))


def check_names(names_: list[str], child: Node) -> None:
    """Refuse names that a relation above `child` cannot have.

    Raises:
        UnitError: the name of the unit.
        ExpressionError: an empty name, or one that another column has.
    """
    hidden = {folded(HIDDEN), *map(folded, unit_columns(child))}
    taken: set[str] = set()
    for name in names_:
        if isinstance(name, str) and (folded(name) in hidden or folded(name).startswith(KEY)):
            raise UnitError(
                f"the column {name!r} names the unit: it cannot be selected or redefined, "
                f"because the guarantee is about it. It travels along by itself."
            )
        if not isinstance(name, str) or not name or "\0" in name or folded(name) in taken:
            raise ExpressionError(
                f"{name!r} cannot name a column here: it is empty, or another column has the "
                f"name, perhaps in other case. Choose another name."
            )
        taken.add(folded(name))
        check_text(name)


def refuse_unit(expr: Expr, child: Node) -> None:
    """Refuse an expression that uses the column that names the unit."""
    units = {*unit_columns(child)} & set(names(expr))
    for unit in units - set(scope(child)):
        raise UnitError(
            f"the column {unit!r} names the unit, and nothing may be computed from it or filtered "
            f"by it: a question about one unit is what the guarantee forbids. Leave it out."
        )
