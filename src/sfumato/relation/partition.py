"""A relation in parts by one public column, of which one unit can be in a known number."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.core.unit import Neighbors
from sfumato.relation.bound import reach, truncated
from sfumato.relation.expr import Call, Constant, Name
from sfumato.relation.keys import Keys
from sfumato.relation.kind import Value
from sfumato.relation.node import Filter, Node, children, unit_of
from sfumato.relation.source import Source


@canonical
@dataclass(frozen=True, slots=True)
class Partition:
    """Parts that share no row, cut after one truncation by the column that cuts.

    Guarantee: between neighbors no more than `width` of the parts differ.
    Theorem:   docs/theory/filter.md
    Exactness: whole numbers

    Attributes:
        node: what is cut: rows in listed parts only, truncated in groups by the column.
        keys: the one column and its values.
    """

    node: Node
    keys: Keys

    @classmethod
    def of(cls, node: Node, keys: Keys) -> Partition:
        """Truncate a relation for its parts."""
        if len(keys.columns) != 1:
            raise InputError("a table is cut into parts by one column.")
        condition = keys.condition()
        inside = node if condition is None else Filter(node, condition)
        return cls(truncated(inside, keys.columns), keys)

    @property
    def width(self) -> int:
        """In how many parts one unit can make a difference."""
        _, groups, _ = reach(self.node).by(self.keys.columns)
        if unit_of(self.node).neighbors is Neighbors.REPLACE:
            groups *= 2  # those that its old rows leave, and those that its new rows enter
        return min(groups, len(self.keys))

    def part(self, key: Value) -> Node:
        """Return the rows of one part."""
        equal = Call("=", (Name(self.keys.columns[0]), Constant(key)))
        return Filter(self.node, equal)

    def values(self) -> list[Value]:
        """Return the values that name the parts."""
        return self.keys.table()[self.keys.columns[0]]


@dataclass(frozen=True, slots=True)
class Slice:
    """One part of a partition.

    Attributes:
        partition: the partition.
        key: the value that names the part.
    """

    partition: Partition
    key: Value

    def holds(self, node: Node) -> bool:
        """Say whether a relation is made of rows of this part alone."""
        if node == self.partition.part(self.key):
            return True
        return not isinstance(node, Source) and all(self.holds(child) for child in children(node))
