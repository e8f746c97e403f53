"""The cells of a map as a table: where each is, its count, and how sure that is."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.errors import InputError, NumberError
from sfumato.release.estimate import Estimate
from sfumato.release.path import new_path
from sfumato.release.tabular import Tabular
from sfumato.spatial.box import Box, Floats, boxes

if TYPE_CHECKING:
    import pyarrow

Number = int | float | None

_FINER = 3  # digits of files beyond the first one of half the interval
_WHOLE = 2**53  # up to which floats hold all whole numbers
_ENDS = ("x_low", "y_low", "x_high", "y_high")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellTable(Tabular):
    """Released cells, each with its count and interval. All that is shown of a map is made of it.

    Args:
        cells: an array of four columns: x_low, y_low, x_high, y_high.
        estimate: the counts, as arrays, with intervals.

    Raises:
        InputError: counts that do not belong to the cells, or have no intervals.
        NumberError: a count is not a finite number.
    """

    cells: Floats
    estimate: Estimate

    def __post_init__(self) -> None:
        """Check that counts and cells belong together."""
        object.__setattr__(self, "cells", boxes(self.cells, "cell"))
        shape = (len(self.cells),)
        if self.estimate.low is None or np.shape(self.estimate.value) != shape:
            raise InputError("a map has one count with its interval for each cell, as arrays.")
        if not np.isfinite(self.value).all():
            raise NumberError("a count of a map is not a finite number, so it cannot be shown.")

    @property
    def value(self) -> Floats:
        """The counts."""
        return np.asarray(self.estimate.value, np.float64)

    @property
    def low(self) -> Floats:
        """The lower ends of the intervals."""
        return np.asarray(self.estimate.low, np.float64)

    @property
    def high(self) -> Floats:
        """The upper ends of the intervals."""
        return np.asarray(self.estimate.high, np.float64)

    @property
    def areas(self) -> Floats:
        """The area of each cell."""
        x0, y0, x1, y1 = self.cells.T
        return np.asarray((x1 - x0) * (y1 - y0))

    @property
    def density(self) -> Floats:
        """The count for each unit of area; infinite where the area is too small for a float."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(self.value / self.areas)

    @property
    def box(self) -> Box:
        """The least box around all cells."""
        return Box(*self.cells[:, :2].min(axis=0), *self.cells[:, 2:].max(axis=0))

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table: the ends of the cells, then ``n``, ``n_low`` and ``n_high``."""
        import pyarrow as pa

        numbers = {"n": self.value, "n_low": self.low, "n_high": self.high}
        columns = dict(zip(_ENDS, self.cells.T, strict=True)) | numbers
        return pa.table({name: pa.array(column) for name, column in columns.items()})

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file: counts to a thousandth of their noise, intervals rounded outward."""
        with new_path(path).open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(self.to_arrow().column_names)
            for ends, (*found, _) in zip(self.cells.tolist(), self.rounded(_FINER), strict=True):
                out.writerow([*ends, *found])

    def rounded(self, digits: int = 1) -> Iterator[tuple[Number, Number, Number, Number]]:
        """Yield count, low, high and density of each cell with as many digits as noise leaves.

        Intervals are rounded outwards, so they still hold. What is not finite is None.

        Args:
            digits: how many are kept beyond the leading one of half the interval.
        """
        half = np.maximum(self.high - self.value, self.value - self.low)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            places, fine = _places(half, digits), _places(half / self.areas, digits)
        numbers = (self.value, self.low, self.high, self.density)
        for value, low, high, density, p, q in zip(
            *(column.tolist() for column in numbers), places, fine, strict=True
        ):
            yield (
                _rounded(value, p, 0),
                _rounded(low, p, -1),
                _rounded(high, p, 1),
                _rounded(density, q, 0),
            )

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.cells)


def _places(half: Floats, more: int) -> list[int | None]:
    """Return how many decimals numbers get; below 0 for tens and hundreds, None for all."""
    good = np.isfinite(half) & (half > 0)
    digits = more - np.floor(np.log10(np.where(good, half, 1.0)))
    return [int(d) if g else None for d, g in zip(digits.tolist(), good.tolist(), strict=True)]


def _rounded(number: float, places: int | None, side: int) -> Number:
    """Round to so many decimals; up or down if a side is given."""
    if not isfinite(number):
        return None
    if places is None:
        return int(number) if number.is_integer() and abs(number) < _WHOLE else number
    found = round(number, places)
    if (number - found) * side > 0:
        found = round(found + side * 10.0**-places, places)
        found = number if (number - found) * side > 0 else found  # a step is less than a bit
    if not isfinite(found):
        return None
    return int(found) if places <= 0 and abs(found) < _WHOLE else found
