"""The groups of a table that occur, on their way to a selection; and those that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.release.key import in_order, whole_column


class Groups:
    """Groups with their numbers of units, held where nothing can look at them.

    Attributes:
        columns: for each key column an Arrow array of codes, one for each group.
        counts: how many units are in each group.
    """

    __slots__ = ("_taken", "columns", "counts")

    def __init__(self, columns: tuple[Any, ...], counts: NDArray[np.int64]) -> None:
        """Hold the groups."""
        self.columns, self.counts = columns, counts
        self._taken: tuple[Chosen, NDArray[np.intp]] | None = None

    def chosen(self, places: NDArray[np.intp], noisy: NDArray[np.int64] | None) -> Chosen:
        """Return some of the groups, in the order of their keys.

        The order is one of the keys alone: that of the engine would tell how the table is stored.

        Args:
            places: which of the groups, ascending.
            noisy: their noisy numbers of units, where there are some.
        """
        import pyarrow as pa

        wanted = np.zeros(self.counts.size, np.bool_)
        wanted[places] = True
        # From buffers: an array of numpy's would have Arrow load pandas, if there is one.
        bits = pa.py_buffer(np.packbits(wanted, bitorder="little"))
        mask = pa.Array.from_buffers(pa.bool_(), wanted.size, [None, bits])
        found = [whole_column(column.filter(mask)) for column in self.columns]
        order = in_order(found)
        at = pa.Array.from_buffers(pa.int64(), order.size, [None, pa.py_buffer(order)])
        columns = tuple(column.take(at) for column in found)
        chosen = Chosen(columns, None if noisy is None else noisy[order])
        self._taken = chosen, places[order]
        return chosen

    def rows(self, chosen: Chosen) -> NDArray[np.intp] | None:
        """Return where the groups are that were chosen of these; None of others."""
        return self._taken[1] if self._taken and self._taken[0] is chosen else None

    def __repr__(self) -> str:
        """Say what it is, and nothing about it."""
        return "<groups that occur, not shown>"


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Groups that appear: public.

    Attributes:
        columns: for each key column the codes of all, in Arrow or as a list.
        counts: their noisy numbers of units, where the selection has them.
    """

    columns: tuple[Any, ...]
    counts: NDArray[np.int64] | None = None

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.columns[0])


def listed(codes: Any) -> Sequence[Any]:
    """Return the codes of a column as a list."""
    found: Sequence[Any] = codes.to_pylist() if hasattr(codes, "to_pylist") else codes
    return found
