"""The algebra of questions: relations, public groups, quantities, and how far a unit moves them."""

from sfumato.relation.aggregate import Aggregate
from sfumato.relation.bound import Reach, bounded, reach
from sfumato.relation.expr import Call, Constant, Expr, Name
from sfumato.relation.keys import Keys
from sfumato.relation.node import Filter, Node, Project, Truncate
from sfumato.relation.quantity import Known, Quantity, Rows, Total
from sfumato.relation.query import Query, Shape
from sfumato.relation.source import Source

__all__ = [
    "Aggregate",
    "Call",
    "Constant",
    "Expr",
    "Filter",
    "Keys",
    "Known",
    "Name",
    "Node",
    "Project",
    "Quantity",
    "Query",
    "Reach",
    "Rows",
    "Shape",
    "Source",
    "Total",
    "Truncate",
    "bounded",
    "reach",
]
