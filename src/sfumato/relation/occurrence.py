"""Which groups occur, and how many units are in each: what a selection of groups is made from."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.codec import canonical
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.relation.aggregate import Aggregate
from sfumato.relation.bought import BoughtKeys
from sfumato.relation.node import Node, carries
from sfumato.relation.quantity import Quantity, Rows, Units
from sfumato.relation.query import Shape


@canonical
@dataclass(frozen=True, slots=True)
class Occurrence:
    """The groups of a relation that occur, each with the number of units in it.

    Where a column names the unit, whoever is in a group counts once, however many rows it has
    there. Where the unit is rows, rows are counted, and one unit may be several of them.

    Guarantee: between neighbors the numbers, 0 where a group does not occur, move by no more than
        `sensitivity` says, in each norm.
    Theorem:   docs/theory/sensitivity.md
    Exactness: whole numbers

    Attributes:
        node: the relation; it bounds in how many groups one unit can be.
        keys: the columns that make a group.
    """

    node: Node
    keys: BoughtKeys

    def __post_init__(self) -> None:
        """Check that the columns are there."""
        self._counted()

    @property
    def quantity(self) -> Quantity:
        """What is counted."""
        return Units() if carries(self.node) else Rows()

    @property
    def shape(self) -> Shape:
        """Groups of which not even the number is public."""
        return Shape("bag", self.keys.columns)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Compute how far one unit can move the numbers."""
        return self._counted().sensitivity(unit)

    def lower(self, dialect: str) -> str:
        """Write the SQL that lists and counts them."""
        return self._counted().lower(dialect)

    def _counted(self) -> Aggregate:
        keys = BoughtKeys(self.keys.columns, self.keys.kinds, self.keys.codes)
        return Aggregate(self.node, keys, self.quantity)
