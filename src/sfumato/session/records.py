"""What a laboratory holds: records of coded columns, or how many there are of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Counted:
    """How many records have each combination of values.

    Attributes:
        counts: an axis for each column.
        names: the columns.
    """

    counts: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many values each column has."""
        return dict(zip(self.names, self.counts.shape, strict=True))

    def count(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Count the records by some columns, with an axis for each."""
        kept = [self.names.index(name) for name in columns]
        dropped = tuple(i for i in range(len(self.names)) if i not in kept)
        summed: NDArray[np.int64] = self.counts.sum(axis=dropped, dtype=np.int64)
        return summed.transpose([sorted(kept).index(axis) for axis in kept])

    def only(self, column: str, code: int) -> Counted:
        """Keep the records with one value."""
        part = np.zeros_like(self.counts)
        where = (slice(None),) * self.names.index(column) + (code,)
        part[where] = self.counts[where]
        return Counted(part, self.names)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Coded:
    """Records one by one: a column of codes for each name.

    Attributes:
        codes: from 0 on, as many in each column.
        sizes: how many values each column has.
    """

    codes: Mapping[str, NDArray[np.int64]]
    sizes: Mapping[str, int]

    def count(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Count the records by some columns, with an axis for each."""
        shape = tuple(self.sizes[name] for name in columns)
        flat = np.ravel_multi_index(tuple(self.codes[name] for name in columns), shape)
        return np.bincount(flat, minlength=prod(shape)).astype(np.int64).reshape(shape)

    def only(self, column: str, code: int) -> Coded:
        """Keep the records with one value."""
        kept = self.codes[column] == code
        return Coded({name: codes[kept] for name, codes in self.codes.items()}, self.sizes)


Records: TypeAlias = Counted | Coded
