"""The transformations: each takes a relation to a relation, row by row or unit by unit.

A tree of nodes is checked as it is built, so a tree that exists can be lowered and bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError, UnitError
from sfumato.relation.expr import Expr, Name, Scope, check_text, known, names, typed
from sfumato.relation.kind import Truth, kind_of
from sfumato.relation.source import HIDDEN, Source, folded


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
        unit = source_of(self.child).unit.column
        hidden = {folded(HIDDEN), folded(unit or HIDDEN)}
        taken: set[str] = set()
        for name, expr in self.columns:
            if isinstance(name, str) and folded(name) in hidden:
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
        if source_of(self.child).unit.column is None:
            raise UnitError(
                "only a unit that a column names can be truncated: of other rows nobody knows "
                "whose they are. Declare Unit.by('customer_id', max_rows=20)."
            )


Node: TypeAlias = Source | Filter | Project | Truncate


def source_of(node: Node) -> Source:
    """Return the table at the bottom."""
    while not isinstance(node, Source):
        node = node.child
    return node


def scope(node: Node) -> Scope:
    """Return the visible columns and their kinds; the unit is not among them."""
    match node:
        case Source():
            return {name: kind_of(node.schema[name]) for name in node.columns}
        case Project():
            inner = scope(node.child)
            kinds = {name: typed(expr, inner).kind for name, expr in node.columns}
            return {name: kind for name, kind in kinds.items() if kind is not None}
        case Filter() | Truncate():
            return scope(node.child)


def narrowed(node: Node, columns: tuple[str, ...]) -> Node:
    """Return the relation with these columns only."""
    if tuple(scope(node)) == columns:
        return node
    return Project(node, tuple((name, Name(name)) for name in columns))


def path(node: Node) -> list[Node]:
    """Return the nodes from the source up."""
    found: list[Node] = [node]
    while not isinstance(node, Source):
        node = node.child
        found.append(node)
    return found[::-1]


def refuse_unit(expr: Expr, child: Node) -> None:
    """Refuse an expression that uses the column that names the unit."""
    unit = source_of(child).unit.column
    if unit is not None and unit in set(names(expr)) and unit not in scope(child):
        raise UnitError(
            f"the column {unit!r} names the unit, and nothing may be computed from it or filtered "
            f"by it: a question about one unit is what the guarantee forbids. Leave it out."
        )
