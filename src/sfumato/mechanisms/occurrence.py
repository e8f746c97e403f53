"""The groups of a table that occur, on their way to a selection; and those that were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Groups:
    """Groups with their numbers of units, held where nothing can look at them.

    Attributes:
        columns: for each key column an Arrow array of codes, one for each group.
        counts: how many units are in each group.
    """

    __slots__ = ("columns", "counts")

    def __init__(self, columns: tuple[Any, ...], counts: NDArray[np.int64]) -> None:
        """Hold the groups."""
        self.columns, self.counts = columns, counts

    def chosen(self, places: NDArray[np.intp], noisy: NDArray[np.int64] | None) -> Chosen:
        """Return some of the groups, in the order of their keys.

        The order is one of the keys alone: that of the engine would tell how the table is stored.
        """
        import pyarrow as pa

        taken = [column.take(pa.array(places)).to_pylist() for column in self.columns]
        keys = list(zip(*taken, strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        counts = None if noisy is None else tuple(int(noisy[i]) for i in order)
        return Chosen(tuple(keys[i] for i in order), counts)

    def __repr__(self) -> str:
        """Say what it is, and nothing about it."""
        return "<groups that occur, not shown>"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Groups that appear: public.

    Attributes:
        keys: the codes of each.
        counts: their noisy numbers of units, where the selection has them.
    """

    keys: tuple[tuple[Any, ...], ...]
    counts: tuple[int, ...] | None = None
