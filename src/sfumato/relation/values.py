"""The values of an expression in each group: a bag of whole numbers, for quantiles."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError, KeysError, UnitError
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.relation.aggregate import squares
from sfumato.relation.bought import AnyKeys, BoughtKeys
from sfumato.relation.bound import reach
from sfumato.relation.expr import Expr, typed
from sfumato.relation.kind import Day, Instant, Number
from sfumato.relation.lower import lowered_values
from sfumato.relation.node import Node, scope, unit_of
from sfumato.relation.query import Shape


@canonical
@dataclass(frozen=True, slots=True)
class Values:
    """The values of an expression in each cell of a relation, without those that are missing.

    Guarantee: between neighbors no more values vanish or appear than `sensitivity` says: l1 in all,
        linf in one cell, in l0 cells. Under a relation that replaces, both those that vanish and
        those that appear are counted.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers

    Attributes:
        node: the relation; it bounds what one unit has in it.
        keys: the cells.
        expr: of what; a number, a date or a timestamp.
    """

    node: Node
    keys: AnyKeys
    expr: Expr

    def __post_init__(self) -> None:
        """Check that the values have an order and known ends."""
        columns = scope(self.node)
        if any(
            columns.get(n) != k for n, k in zip(self.keys.columns, self.keys.kinds, strict=True)
        ):
            raise ExpressionError("the groups are of other columns than the relation has.")
        if isinstance(self.keys, BoughtKeys) and self.keys.other:
            raise KeysError(
                "values of all other groups together are not fetched. Buy the groups without "
                "other=True."
            )
        self.kind  # noqa: B018 - refuses what has no order

    @property
    def kind(self) -> Number | Day | Instant:
        """How a plan holds the values."""
        found = typed(self.expr, scope(self.node))
        if not isinstance(found.kind, Number | Day | Instant):
            raise ExpressionError(
                f"a quantile needs values in an order with known ends, such as numbers or dates, "
                f"and this is {found.what}. Count it, or group by it."
            )
        return found.kind

    @property
    def extent(self) -> tuple[int, int]:
        """The least and the largest code that a value can have; a grid has two points at least."""
        kind = self.kind
        low = 0 if isinstance(kind, Instant) else kind.low
        return low, max(kind.high, low + 1)

    @property
    def shape(self) -> Shape:
        """Values of which not even the number is public."""
        return Shape("bag", self.keys.columns)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Compute how many values one unit can make appear or vanish.

        Raises:
            UnitError: the plan was made for another unit, or nothing bounds what one unit has.
        """
        if unit_of(self.node) != unit:
            raise UnitError("this question was planned for another unit. Plan it again.")
        rows, groups, each = reach(self.node).by(self.keys.columns)
        cells = self.keys.cells
        if cells is not None:
            groups = min(groups, cells)
        rows = min(rows, groups * each)
        times = 1 if unit.neighbors is Neighbors.ADD_REMOVE else 2
        return Sensitivity(
            l0=times * groups if cells is None else min(times * groups, cells),
            l1=times * rows,
            l2_squared=times**2 * squares(rows, groups, each),  # (p + q)² <= 2(p² + q²)
            linf=times * each,
            neighbors=unit.neighbors,
        )

    def lower(self, dialect: str) -> str:
        """Write the SQL that fetches the values."""
        return lowered_values(self, dialect)
