"""What a method measures: matrices, and the share of the budget that each gets. Nothing is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.core.errors import RangeError
from sfumato.ranges.solution import Model, model
from sfumato.ranges.spending import Spending
from sfumato.ranges.workload import Workload
from sfumato.relation.aggregate import Aggregate
from sfumato.relation.linear import Strategy
from sfumato.release.error import Noise
from sfumato.session.column import Column
from sfumato.session.proof import notes

MOST_CELLS = 2**22


@dataclass(frozen=True, slots=True)
class Plan:
    """Matrices with shares, in the order in which `sfumato.ranges.solution` takes them.

    Attributes:
        method: its name.
        strategies: the matrices.
        parts: how many parts of the budget each gets, of `sfumato.ranges.weights.PARTS`.
        said: what is particular about it, in words.
    """

    method: str
    strategies: tuple[Strategy, ...]
    parts: tuple[int, ...]
    said: str

    def batch(self, column: Column, spending: Spending) -> list[tuple[Any, Any]]:
        """Return questions with their noise."""
        asked = [column.question(matrix) for matrix in self.strategies]
        return [
            (query, spending.mechanism(column, query, part))
            for query, part in zip(asked, self.parts, strict=True)
        ]

    def noises(self, column: Column, spending: Spending) -> list[Noise]:
        """Return the noise on each matrix."""
        return [mechanism.law for _, mechanism in self.batch(column, spending)]

    def model(self, column: Column, spending: Spending) -> Model:
        """Return how cells will follow from the noisy sums, and how far they may be off."""
        return model(self.strategies, self.noises(column, spending))

    def error(self, column: Column, spending: Spending, workload: Workload) -> float:
        """Return the root of the mean squared error of a workload."""
        return workload.error(self.model(column, spending))


def check_size(
    cells: int, most: int = MOST_CELLS, method: str = "a method that counts cells"
) -> None:
    """Refuse more cells than a method can hold.

    Raises:
        RangeError: too many; the size is public.
    """
    if cells > most:
        raise RangeError(
            f"there are {cells:,} cells, and {method} takes up to {most:,}. Cut fewer with "
            f"values(column, bins=...), declare a coarser step, or pass method='sketch' for the "
            f"counts of single values."
        )


def counting(column: Column) -> tuple[str, ...]:
    """Return what is left out by caps, and which rows are in no cell; static."""
    asked = column.question()
    return tuple(notes([asked], of=column.name)) if isinstance(asked, Aggregate) else ()
