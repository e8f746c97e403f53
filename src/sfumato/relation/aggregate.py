"""The questions: whole numbers, one for each public cell, and how far one unit can move them."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError, NeighborsError, UnitError
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation.bought import AnyKeys, BoughtKeys
from sfumato.relation.bound import reach
from sfumato.relation.expr import typed
from sfumato.relation.kind import Number
from sfumato.relation.lower import lowered
from sfumato.relation.node import Node, need_unit, scope, unit_of
from sfumato.relation.quantity import Known, Quantity, Rows, Total, Units
from sfumato.relation.query import Shape


@canonical
@dataclass(frozen=True, slots=True)
class Aggregate:
    """One quantity in each public cell of a relation.

    Guarantee: between neighbors the answer moves by no more than `sensitivity` says, in each norm.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers; sums saturate at 64 bits, which moves no two answers apart

    Attributes:
        node: the relation; it bounds what one unit has in it.
        keys: the cells; of those that are bought, what is said here holds for any that appear, and
            for the rest together where that is one more cell.
        quantity: what is counted or summed.
    """

    node: Node
    keys: AnyKeys
    quantity: Quantity

    def __post_init__(self) -> None:
        """Check that there is something to aggregate."""
        columns = scope(self.node)
        if any(
            columns.get(n) != k for n, k in zip(self.keys.columns, self.keys.kinds, strict=True)
        ):
            raise ExpressionError("the groups are of other columns than the relation has.")
        if isinstance(self.quantity, Units):
            need_unit(self.node, "counted")
        elif not isinstance(self.quantity, Rows):
            found = typed(self.quantity.expr, columns)
            if not isinstance(self.quantity, Known) and not isinstance(found.kind, Number):
                raise ExpressionError(
                    f"only numbers can be summed, and this is {found.what}. Count it, or turn a "
                    f"truth value into a number with integer(...)."
                )
        low, high = self.extent
        Number(low, high)  # refuses what could overflow

    @property
    def shape(self) -> Shape:
        """One integer for each cell."""
        return Shape("cells", self.keys.columns, self.keys.cells)

    @property
    def extent(self) -> tuple[int, int]:
        """The least and the largest that one row can add to a cell."""
        if isinstance(self.quantity, Rows | Units | Known):
            return 1, 1
        kind = typed(self.quantity.expr, scope(self.node)).kind
        if not isinstance(kind, Number):  # refused when made
            raise ExpressionError("only numbers can be summed.")
        low, high = kind.low - self.quantity.center, kind.high - self.quantity.center
        if isinstance(self.quantity, Total):
            return low, high
        return max(low, -high, 0) ** 2, max(-low, high) ** 2  # 0 if the center is within the range

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Compute how far one unit can move the answer.

        A unit has at most R rows here, in at most G cells, at most P in one cell. A row adds a
        number from L to U, or nothing if it is NULL or filtered.

        Raises:
            UnitError: the plan was made for another unit, or nothing bounds what one unit has.
        """
        rows, groups, each = self._reach(unit)
        low, high = self.extent
        most = max(abs(low), abs(high))
        match unit.neighbors:
            case Neighbors.ADD_REMOVE:
                return self.appearing(unit)
            case Neighbors.REPLACE:
                fixed = reach(self.node).fixed and not self.keys.columns
                if fixed and isinstance(self.quantity, Rows):
                    return Sensitivity(l0=0, l1=0, linf=0, neighbors="replace")
                # Old rows vanish, new ones appear. In one cell they may meet: it moves by at most
                # P times the span of what a row can add, nothing included. Elsewhere they add up;
                # (a + b)^2 <= span * most * (p^2 + q^2) / most^2 bounds a cell in which p old and q
                # new rows meet.
                span, cells = max(high, 0) - min(low, 0), self.keys.cells
                return Sensitivity(
                    l0=2 * groups if cells is None else min(2 * groups, cells),
                    l1=each * span if cells == 1 else 2 * rows * most,
                    l2_squared=2 * squares(rows, groups, each) * span * most,
                    linf=each * span,
                    neighbors="replace",
                )
        raise NeighborsError("the unit states an unknown neighbor relation.")

    def appearing(self, unit: Unit) -> Sensitivity:
        """Compute how far the answer moves if all rows of one unit appear, or vanish."""
        rows, groups, each = self._reach(unit)
        most = max(map(abs, self.extent))
        return Sensitivity(
            l0=groups,
            l1=rows * most,
            l2_squared=squares(rows, groups, each) * most**2,
            linf=each * most,
        )

    def _reach(self, unit: Unit) -> tuple[int, int, int]:
        """Return how many rows of one unit count, in how many cells, how many in one."""
        if unit_of(self.node) != unit:
            raise UnitError("this question was planned for another unit. Plan it again.")
        rows, groups, each = reach(self.node).by(self.keys.columns)
        if (cells := self.keys.cells) is not None:
            groups = min(groups, cells)
        rows = min(rows, groups * each)
        if isinstance(self.quantity, Units):  # it counts once in each of its groups
            rows, each = groups, 1
        if isinstance(self.keys, BoughtKeys) and self.keys.other:
            each = rows  # all that it has may be in groups that do not appear
        return rows, groups, each

    def lower(self, dialect: str) -> str:
        """Write the SQL that computes the answer."""
        return lowered((self,), dialect)


def squares(rows: int, groups: int, each: int) -> int:
    """Return the largest sum of squares of at most `groups` counts, each and all bounded.

    It is convex, so full cells are worst: as many as there are rows for, then what is left.
    """
    full = min(rows // each, groups)
    left = min(rows - full * each, each) if full < groups else 0
    return full * each**2 + left**2
