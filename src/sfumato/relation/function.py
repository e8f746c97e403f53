"""The whitelist: total functions of single rows, each with its range and its SQL.

Total: whatever the arguments are, the result is a value of the stated kind or NULL, and the engine
raises nothing. Of single rows: no function sees another row, so a person moves nothing but the
person's own rows. A new function is one rule in a module named here and one fixture in the tests.
"""

from __future__ import annotations

# Importing a module of rules puts them on the whitelist.
from sfumato.relation import (
    arithmetic,
    calendar,
    cast,
    choice,
    condition,
    magnitude,
    pattern,
    period,
    power,
    text,
)
from sfumato.relation.expr import FUNCTIONS, Typed, typed

__all__ = [
    "FUNCTIONS",
    "Typed",
    "arithmetic",
    "calendar",
    "cast",
    "choice",
    "condition",
    "magnitude",
    "pattern",
    "period",
    "power",
    "text",
    "typed",
]
