"""How much of one unit reaches a node: carried up the tree, rule by rule.

The privacy of every answer rests on these few rules and on those of `aggregate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sfumato.core.errors import UnitError
from sfumato.relation.bought import AnyKeys
from sfumato.relation.expr import Expr, Name, Scope, names
from sfumato.relation.kind import Words
from sfumato.relation.node import (
    Distinct,
    Filter,
    Join,
    Node,
    PerUnit,
    Project,
    Truncate,
    Union,
    UnitJoin,
    carries,
    children,
    narrowed,
    scope,
)
from sfumato.relation.source import Source


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of a relation one unit can change; None where nothing bounds it.

    Between neighbors at most so many rows vanish, and under a relation that replaces at most as
    many appear. All others are the same rows.

    Attributes:
        rows: how many rows.
        keys: the columns for which the next two hold.
        groups: in how many groups by those columns.
        rows_per_group: how many rows in one of those groups.
        fixed: whether the number of rows is the same for all neighbors: nothing was filtered,
            under a relation that replaces rows one for one.
    """

    rows: int | None
    keys: tuple[str, ...] | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    fixed: bool = False

    def by(self, keys: tuple[str, ...]) -> tuple[int, int, int]:
        """Return bounds on rows, groups and rows per group for groups by these columns.

        Raises:
            UnitError: nothing bounds the rows of one unit.
        """
        if self.rows is None:
            raise UnitError(
                "nothing bounds how many rows of one unit count here, so one unit could change "
                "the answer without limit. Truncate before aggregating."
            )
        groups, each = self.rows, self.rows
        if self.keys is not None and set(self.keys) == set(keys):
            groups = min(groups, self.groups or groups)
            each = min(each, self.rows_per_group or each)
        if not keys:
            groups = 1
        return min(self.rows, groups * each), groups, each


def reach(node: Node) -> Reach:
    """Bound how much of a relation one unit can change.

    Guarantee: between neighbors the bags of rows at this node differ by no more than that.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers
    """
    match node:
        case Source():
            rows = node.unit.max_rows if node.unit.column is None else None
            fixed = node.unit.column is None and node.unit.neighbors == "replace"
            return Reach(rows if isinstance(rows, int) else None, fixed=fixed)
        case Filter() | Distinct():
            # Some of the unit's rows go, by a condition on the row or hidden by an equal one; none
            # appears, none changes its group.
            return replace(reach(node.child), fixed=False)
        case Project():
            below = reach(node.child)
            kept = {name for name, expr in node.columns if expr == Name(name)}
            if below.keys is not None and not set(below.keys) <= kept:
                # The groups were those of columns that are gone or mean something else now.
                return Reach(below.rows, fixed=below.fixed)
            return below
        case Truncate():
            return _truncated(node, reach(node.child))
        case Union():
            return _united(reach(node.first), reach(node.second))
        case Join():
            return _joined(node, reach(node.child))
        case UnitJoin():
            return _met(node, reach(node.first), reach(node.second))
        case PerUnit():
            # Each row is made of the rows of one unit; without keys there is one.
            return Reach(None if node.keys else 1, node.keys, None if node.keys else 1, 1)


def _united(a: Reach, b: Reach) -> Reach:
    rows = None if a.rows is None or b.rows is None else a.rows + b.rows
    if a.keys is None or b.keys is None or set(a.keys) != set(b.keys):
        return Reach(rows)
    groups = None if a.groups is None or b.groups is None else a.groups + b.groups
    each = None
    if a.rows_per_group is not None and b.rows_per_group is not None:
        each = a.rows_per_group + b.rows_per_group
    return Reach(rows, a.keys, groups, each)


def _joined(node: Join, below: Reach) -> Reach:
    """Every row becomes at most as many as its key has in the public table, in the same group."""
    times = node.table.multiplicity
    return Reach(
        None if below.rows is None else below.rows * times,
        below.keys,
        below.groups,
        None if below.rows_per_group is None else below.rows_per_group * times,
        fixed=below.fixed and node.how == "left" and times == 1,
    )


def meets(node: UnitJoin) -> int | None:
    """Return how many rows of the second relation one row of the first can meet; None for any.

    Along a link it is one: a key that several rows of a unit have is that of none of them.
    """
    if node.link is not None:
        return 1
    return _in_one(reach(node.second), [other for _, other in node.on])


def _in_one(here: Reach, keys: list[str]) -> int | None:
    """Return how many rows a unit has that agree in some columns."""
    same = here.keys is not None and set(here.keys) <= set(keys)
    return _least(here.rows, here.rows_per_group if same else None)


def _met(node: UnitJoin, a: Reach, b: Reach) -> Reach:
    """A row meets rows of its own unit alone, and its group is the same in each that arises."""
    times = meets(node)
    rows = _times(a.rows, times)
    if node.how == "inner":  # every row that arises is made of one of the second, too
        rows = _least(rows, _times(b.rows, _in_one(a, [one for one, _ in node.on])))
    return Reach(rows, a.keys, a.groups, _times(a.rows_per_group, times))


def _times(bound: int | None, by: int | None) -> int | None:
    return None if bound is None or by is None else bound * by


def _truncated(node: Truncate, below: Reach) -> Reach:
    rows = _least(below.rows, node.max_rows)
    same = below.keys is not None and set(below.keys) == set(node.keys)
    groups = _least(node.max_groups, below.groups if same else None)
    each = _least(node.max_rows_per_group, below.rows_per_group if same else None)
    if groups is not None and each is not None:
        rows = _least(rows, groups * each)
    if not node.keys:
        rows = _least(rows, each)
    return Reach(rows, node.keys, groups, each)


Caps: TypeAlias = tuple[int | None, int | None, int | None]  # rows, groups, rows per group


def counted(node: Node) -> dict[Source, int]:
    """Return the tables whose caps say how much of one unit counts, and how often they do.

    Those are the tables whose rows a relation has, once each. In a join of private tables they are
    those of the first relation, so often as one row of it can meet rows of the second: what is put
    beside a row adds none.
    """
    if isinstance(node, Source):
        return {node: 1}
    if isinstance(node, UnitJoin):
        times = meets(node) or 1
        return {source: often * times for source, often in counted(node.first).items()}
    found: dict[Source, int] = {}
    for child in children(node):
        for source, often in counted(child).items():
            found[source] = max(often, found.get(source, 0))
    return found


def automatic(node: Node) -> tuple[str, ...]:
    """Return the names of the caps that are to be bought."""
    units = [source.unit for source in counted(node)]
    names = ("max_rows", "max_groups")
    return tuple(name for name in names if any(getattr(unit, name) == "auto" for unit in units))


def caps(node: Node, bought: Mapping[str, int] | None = None) -> Caps:
    """Return what the owner lets count of one unit: rows, groups, rows per group.

    Of several tables, what they let count together; of a join of private tables, what the first
    lets count, so often as its rows come.

    Args:
        node: the relation.
        bought: the caps that were bought, by name; of all tables together.

    Raises:
        UnitError: a cap is to be bought, and was not.
    """
    bought = bought or {}
    for name in automatic(node):
        if name not in bought:
            raise UnitError(
                f"{name} is 'auto', bought with the question that needs it, and this step needs it "
                f"before. Do the step later, or declare {name}= as a number."
            )
    found = counted(node)
    units, often = [source.unit for source in found], list(found.values())
    rows: list[Any] = [unit.max_rows for unit in units]
    if any(cap is not None for cap in rows):  # a unit without that cap has the other two
        rows = [unit.max_rows or unit.most_rows for unit in units]
    groups, each = [unit.max_groups for unit in units], [unit.max_rows_per_group for unit in units]
    return (
        bought["max_rows"] if "auto" in rows else _total(rows, often),
        bought["max_groups"] if "auto" in groups else _total(groups, often),
        _total(each, often),
    )


def most_rows(node: Node) -> int:
    """Return how many rows of one unit may count in all."""
    caps(node)  # refuses those that are to be bought
    return sum((source.unit.most_rows or 0) * often for source, often in counted(node).items())


def _total(bounds: list[Any], often: list[int]) -> int | None:
    if None in bounds:
        return None
    return sum(int(bound) * times for bound, times in zip(bounds, often, strict=True))


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def bounded(
    node: Node, keys: AnyKeys, values: tuple[Expr, ...], allowed: Caps | None = None
) -> Node:
    """Return the relation that an aggregate reads: what it needs, in its groups, truncated.

    Rows outside the public groups go first, so that they use up no cap.

    Args:
        node: the relation.
        keys: the groups.
        values: what is aggregated.
        allowed: what may count of one unit, where it was bought; else what the owner declared.

    Raises:
        UnitError: the unit's caps are to be bought, and were not.
    """
    condition = keys.condition()
    inside = node if condition is None else Filter(node, condition)
    used = {*keys.columns, *(name for expr in values for name in names(expr))}
    visible = scope(node)
    columns = tuple(name for name in visible if name in used) or _shortest(visible)
    return truncated(inside, keys.columns, columns, allowed)


def _shortest(visible: Scope) -> tuple[str, ...]:
    """Return one column, for rows of which no column is used: no text, if there is another."""
    return tuple(sorted(visible, key=lambda name: isinstance(visible[name], Words))[:1])


def truncated(
    node: Node,
    keys: tuple[str, ...],
    columns: tuple[str, ...] | None = None,
    allowed: Caps | None = None,
) -> Node:
    """Leave out what the owner's caps do not let count, in groups by these columns.

    Args:
        node: the relation.
        keys: the columns that make a group.
        columns: what is needed of the relation; all of it, if not given.
        allowed: what may count of one unit, where it was bought; else what the owner declared.
    """
    if not carries(node) or reach(node).rows == 1:
        return node  # nobody can tell units apart any more, or there is nothing to leave out
    rows, groups, each = allowed or caps(node)
    needed = node if columns is None else narrowed(node, columns)
    return Truncate(needed, keys, each, groups, rows)
