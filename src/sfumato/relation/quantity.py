"""What can be asked of each cell: numbers of rows or units, sums, and sums of squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sfumato.core.codec import canonical
from sfumato.relation.expr import Expr


@canonical
@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows."""


@canonical
@dataclass(frozen=True, slots=True)
class Units:
    """How many units: whoever has rows here, however many, counts once."""


@canonical
@dataclass(frozen=True, slots=True)
class Known:
    """How many rows in which an expression is not NULL."""

    expr: Expr


@canonical
@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a number less `center`, in steps, over the rows in which it is not NULL."""

    expr: Expr
    center: int = 0


@canonical
@dataclass(frozen=True, slots=True)
class Squares:
    """The sum of squares of a number less `center`, in squared steps, where it is not NULL."""

    expr: Expr
    center: int = 0


Quantity: TypeAlias = Rows | Units | Known | Total | Squares
