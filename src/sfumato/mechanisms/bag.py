"""Values in groups, of which not even the number is public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Bag:
    """Whole numbers, each in a group.

    Attributes:
        values: the numbers.
        cells: the group of each; None if there is one group.
        groups: how many groups there are.
    """

    values: NDArray[np.int64]
    cells: NDArray[np.int64] | None
    groups: int

    def __repr__(self) -> str:
        """Say what it is, and nothing about it."""
        return "<values in groups, not shown>"
