"""The algebra of questions: relations, public groups, quantities, and how far a unit moves them."""

from sfumato.relation.aggregate import Aggregate
from sfumato.relation.bought import AnyKeys, Bought, BoughtKeys, bought, keys_of
from sfumato.relation.bound import Reach, bounded, reach
from sfumato.relation.expr import Call, Constant, Expr, Name
from sfumato.relation.keys import Keys
from sfumato.relation.linear import Linear, Strategy
from sfumato.relation.link import Link
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
)
from sfumato.relation.occurrence import Occurrence
from sfumato.relation.public import PublicTable
from sfumato.relation.quantity import Known, Quantity, Rows, Squares, Total, Units
from sfumato.relation.query import Query, Shape
from sfumato.relation.source import Source
from sfumato.relation.summary import Summary
from sfumato.relation.values import Values

__all__ = [
    "Aggregate",
    "AnyKeys",
    "Bought",
    "BoughtKeys",
    "Call",
    "Constant",
    "Distinct",
    "Expr",
    "Filter",
    "Join",
    "Keys",
    "Known",
    "Linear",
    "Link",
    "Name",
    "Node",
    "Occurrence",
    "PerUnit",
    "Project",
    "PublicTable",
    "Quantity",
    "Query",
    "Reach",
    "Rows",
    "Shape",
    "Source",
    "Squares",
    "Strategy",
    "Summary",
    "Total",
    "Truncate",
    "Union",
    "UnitJoin",
    "Units",
    "Values",
    "bought",
    "bounded",
    "keys_of",
    "reach",
]
