"""A declared column in plain words."""

from __future__ import annotations

from sfumato.core.number import show
from sfumato.core.schema import (
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Text,
    Timestamp,
)

_LISTED = 20  # values of a category that are written out


def described(column: Column) -> str:
    """Say what a column can hold, as its owner declared it.

    Example:
        >>> described(Real(0, 200, step="0.01"))
        'numbers from 0 to 200 in steps of 0.01'
        >>> described(Integer())
        'whole numbers without declared bounds'
        >>> described(Category(["A", "B"]))
        'one of: A, B'
    """
    match column:
        case Integer(low=None):
            return "whole numbers without declared bounds"
        case Integer():
            least, largest = column.bounds
            return f"whole numbers from {least:,} to {largest:,}"
        case Real(low=None):
            return f"numbers in steps of {show(column.step)} without declared bounds"
        case Real():
            low, high, step = map(show, (*column.bounds, column.step))
            return f"numbers from {low} to {high} in steps of {step}"
        case Category():
            listed = ", ".join(str(value) for value in column.values[:_LISTED])
            more = len(column.values) - _LISTED
            return f"one of: {listed}" + (f" and {more:,} more" if more > 0 else "")
        case Boolean():
            return "true or false"
        case Date():
            return f"days from {column.low} to {column.high}"
        case Timestamp():
            step = show(column.step)
            return f"moments from {column.low} to {column.high} in steps of {step} seconds"
        case Text():
            return "any text"
    return type(column).__name__
