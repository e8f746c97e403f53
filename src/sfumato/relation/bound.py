"""How much of one unit reaches a node: carried up the tree, rule by rule.

The privacy of every answer rests on these few rules and on those of `aggregate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.core.errors import UnitError
from sfumato.relation.expr import Expr, Name, names
from sfumato.relation.keys import Keys
from sfumato.relation.node import Filter, Node, Project, Truncate, narrowed, scope, source_of
from sfumato.relation.source import Source


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of one unit can be in a relation; None where nothing bounds it.

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
    """Bound how much of one unit is in a relation.

    Guarantee: the rows that one unit has at this node are at most that many, and the rows of all
        other units do not depend on them.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers
    """
    match node:
        case Source():
            rows = node.unit.max_rows if node.unit.column is None else None
            fixed = node.unit.column is None and node.unit.neighbors == "replace"
            return Reach(rows if isinstance(rows, int) else None, fixed=fixed)
        case Filter():
            # Row by row: some of the unit's rows go, none appears, none changes its group.
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


def _truncated(node: Truncate, below: Reach) -> Reach:
    rows = _least(below.rows, node.max_rows)
    groups, each = node.max_groups, node.max_rows_per_group
    if groups is not None and each is not None:
        rows = _least(rows, groups * each)
    if not node.keys:
        rows = _least(rows, each)
    return Reach(rows, node.keys, groups, each)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def bounded(node: Node, keys: Keys, values: tuple[Expr, ...]) -> Node:
    """Return the relation that an aggregate reads: what it needs, in its groups, truncated.

    Rows outside the public groups go first, so that they use up no cap.

    Args:
        node: the relation.
        keys: the groups.
        values: what is aggregated.

    Raises:
        UnitError: the unit's caps are to be bought, which needs another step first.
    """
    condition = keys.condition()
    inside = node if condition is None else Filter(node, condition)
    unit = source_of(node).unit
    if unit.column is None:
        return inside
    if "auto" in (unit.max_rows, unit.max_groups):
        raise UnitError(
            "this unit's caps are 'auto', to be bought, and this version cannot buy them. Declare "
            "max_rows= as a number: how many rows of one unit may count."
        )
    used = {*keys.columns, *(name for expr in values for name in names(expr))}
    visible = scope(node)
    columns = tuple(name for name in visible if name in used) or tuple(visible)[:1]
    return Truncate(
        narrowed(inside, columns),
        keys.columns,
        unit.max_rows_per_group,
        unit.max_groups if isinstance(unit.max_groups, int) else None,
        unit.max_rows if isinstance(unit.max_rows, int) else None,
    )
