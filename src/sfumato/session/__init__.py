"""The door to private data: sessions, tables, questions, plans, contracts."""

from sfumato.session.contract import Contract
from sfumato.session.curator import Continual, Curator, Stream
from sfumato.session.output import (
    Output,
    count,
    count_distinct,
    mean,
    median,
    quantile,
    std,
    sum,
    variance,
)
from sfumato.session.plan import Plan
from sfumato.session.question import Question
from sfumato.session.session import Session, connect
from sfumato.session.table import Grouped, Table

__all__ = [
    "Continual",
    "Contract",
    "Curator",
    "Grouped",
    "Output",
    "Plan",
    "Question",
    "Session",
    "Stream",
    "Table",
    "connect",
    "count",
    "count_distinct",
    "mean",
    "median",
    "quantile",
    "std",
    "sum",
    "variance",
]
