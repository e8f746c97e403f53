"""What a query is: an immutable plan that ends in integers and knows its own sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit


@dataclass(frozen=True, slots=True)
class Shape:
    """What a query returns, known without reading anything.

    Attributes:
        kind: ``"cells"``: one integer for each public cell; ``"bag"``: bounded integers, or points,
            of which not even the number is public, as quantiles and splits need them.
        columns: names of the columns that identify a cell, or of the values in the bag.
        cells: how many cells; None for a bag.
    """

    kind: Literal["cells", "bag"]
    columns: tuple[str, ...]
    cells: int | None = None


class Query(Protocol):
    """A plan that ends in numbers; a frozen tree."""

    @property
    def shape(self) -> Shape:
        """Say what comes out."""

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Compute, from the tree and in exact rationals, how far one unit can move the answer."""

    def lower(self, dialect: str) -> str:
        """Write the SQL that computes the answer in integers."""
