"""A relation in parts by one public column, of which one unit can be in a known number."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.core.unit import Neighbors
from sfumato.relation.bound import reach, truncated
from sfumato.relation.expr import Call, Constant, Name
from sfumato.relation.keys import Keys
from sfumato.relation.kind import Code, Value, code
from sfumato.relation.node import Filter, Node, Truncate, UnitJoin, children, unit_of
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

    def __post_init__(self) -> None:
        """Check that no row is outside of the parts, and that the column cuts what is truncated."""
        node = self.node
        if isinstance(node, Truncate) and node.keys == self.keys.columns:
            node = node.child
        if len(self.keys.columns) != 1 or not (
            isinstance(node, Filter) and node.condition == self.keys.condition()
        ):
            raise InputError(
                "a table is cut into parts by one column, after the rows of other parts are gone. "
                "Make it with Partition.of(node, keys)."
            )

    @classmethod
    def of(cls, node: Node, keys: Keys) -> Partition:
        """Truncate a relation for its parts."""
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

    def code(self, key: Value) -> Code:
        """Return the one code of a part, however its key is spelled.

        Raises:
            InputError: there is no such part.
        """
        found = code(self.keys.kinds[0], key)
        listed = self.keys.codes[0]
        if found is None or (listed is not None and found not in listed):
            raise InputError(f"{key!r} is none of the parts of this partition.")
        return found

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
        if isinstance(node, UnitJoin):  # a unit without a row there has none here
            return self.holds(node.first) or (node.how == "inner" and self.holds(node.second))
        return not isinstance(node, Source) and all(self.holds(child) for child in children(node))
