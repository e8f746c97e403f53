"""The algebra of questions: relations, public groups, quantities, and how far a unit moves them."""

from sfumato.relation.aggregate import Aggregate
from sfumato.relation.bound import Reach, bounded, reach
from sfumato.relation.expr import Call, Constant, Expr, Name
from sfumato.relation.keys import Keys
from sfumato.relation.node import (
    Distinct,
    Filter,
    Join,
    Node,
    PerUnit,
    Project,
    Truncate,
    Union,
)
from sfumato.relation.public import PublicTable
from sfumato.relation.quantity import Known, Quantity, Rows, Squares, Total
from sfumato.relation.query import Query, Shape
from sfumato.relation.source import Source
from sfumato.relation.summary import Summary

__all__ = [
    "Aggregate",
    "Call",
    "Constant",
    "Distinct",
    "Expr",
    "Filter",
    "Join",
    "Keys",
    "Known",
    "Name",
    "Node",
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
    "Summary",
    "Total",
    "Truncate",
    "Union",
    "bounded",
    "reach",
]
