"""One marginal of a release: a table of counts, each with its interval."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.core.loss import Pure
from sfumato.marginals.basis import Floats
from sfumato.release.error import NOISE_ONLY
from sfumato.release.estimate import Estimate
from sfumato.release.format import percent, plain
from sfumato.release.measure import Measure, on_grid
from sfumato.release.path import new_path
from sfumato.release.release import Release
from sfumato.release.tabular import Tabular

if TYPE_CHECKING:
    import altair
    import pyarrow

_FINER = 3  # digits that are written beyond the first one of the standard deviation
_SHOWN = 20  # rows that `repr` shows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Marginal(Tabular):
    """Counts by some columns; arrays have an axis for each.

    Attributes:
        columns: the columns.
        values: the public values of each column.
        value: the estimates; real numbers, and unbiased unless they were made non-negative.
        low: the lower ends of the intervals.
        high: the upper ends.
        std: the standard deviation of each estimate, before anything was made non-negative.
        confidence: the probability with which each interval holds.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    value: Floats
    low: Floats
    high: Floats
    std: Floats
    confidence: Fraction

    @property
    def estimate(self) -> Estimate:
        """Value and interval: arrays, or numbers where there are no columns."""
        if not self.columns:
            return Estimate(float(self.value), float(self.low), float(self.high), self.confidence)
        return Estimate(self.value, self.low, self.high, self.confidence)

    def __len__(self) -> int:
        """Count the cells."""
        return self.value.size

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table: the columns, then ``n``, ``n_low``, ``n_high`` and ``n_std``."""
        import pyarrow as pa

        arrays = [pa.array(column) for column in self._keys()]
        numbers = (self.value, self.low, self.high, self.std)
        arrays += [pa.array(np.ravel(each)) for each in numbers]
        return pa.table(arrays, names=self.header)

    @property
    def header(self) -> list[str]:
        """The names of the columns of the table; a column called n is counted by, too."""
        name = "n"
        taken = set(self.columns)
        while taken & {name, f"{name}_low", f"{name}_high", f"{name}_std"}:
            name += "_"
        return [*self.columns, name, f"{name}_low", f"{name}_high", f"{name}_std"]

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file: numbers to a thousandth of their noise, intervals rounded outward."""
        numbers = zip(*self._rounded(), strict=True)
        with new_path(path).open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(self.header)
            out.writerows(zip(*self._keys(), *numbers, strict=True))

    def _rounded(self) -> Iterator[tuple[Any, ...]]:
        """Yield value, ends and deviation of each cell, with no more digits than noise leaves."""
        flat = (np.ravel(each).tolist() for each in (self.value, self.low, self.high, self.std))
        for value, low, high, std in zip(*flat, strict=True):
            digits = _FINER - floor(log10(std)) if std > 0 else _FINER
            step = 10.0**-digits
            numbers = (value, floor(low / step) * step, ceil(high / step) * step, std)
            yield tuple(_short(round(each, digits)) for each in numbers)

    def chart(self) -> altair.LayerChart:
        """Return an Altair chart of the counts of one or two columns, with their intervals.

        Raises:
            InputError: of no columns, or of more than two.
        """
        if not 1 <= len(self.columns) <= 2:
            raise InputError(
                "a chart is of one or two columns. Ask for such a marginal: table('age', 'sex')."
            )
        return self._release().chart()

    def _release(self) -> Release:
        """Return the table as a release of its own, for charts; what it cost is another's."""
        low, value, high = on_grid(self.low, self.value, self.high)
        measure = Measure(self.header[-4], value, low, high, mechanism="marginal", kind="rational")
        keys = dict(zip(self.columns, self._keys(), strict=True))
        return Release(keys, (measure,), self.confidence, Pure(Fraction(0)))  # type: ignore[arg-type]

    def _keys(self) -> list[list[Any]]:
        sizes = [len(values) for values in self.values]
        made = []
        for i, values in enumerate(self.values):
            each, times = prod(sizes[i + 1 :]), prod(sizes[:i])
            made.append([plain_value(v) for v in values for _ in range(each)] * times)
        return made

    def labels(self) -> list[str]:
        """Name each cell by its values."""
        if not self.columns:
            return ["all"]
        return [", ".join(map(str, cell)) for cell in zip(*self._keys(), strict=True)]

    def __repr__(self) -> str:
        """Show a small table, at most 20 rows."""
        keys = [column[:_SHOWN] for column in self._keys()]
        numbers = [np.ravel(each)[:_SHOWN] for each in (self.value, self.low, self.high)]
        shown = [[str(cell) for cell in column] for column in keys]
        shown += [[plain(round(float(x), 1)) for x in column] for column in numbers]
        table = [[name, *column] for name, column in zip(self.header, shown, strict=False)]
        widths = [max(map(len, column)) for column in table]
        lines = [
            "  ".join(
                cell.ljust(width) if i < len(keys) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in zip(*table, strict=True)
        ]
        if len(self) > _SHOWN:
            lines.append(f"… and {len(self) - _SHOWN:,} more rows")
        return "\n".join([*lines, f"intervals at {percent(self.confidence)} each ({NOISE_ONLY})"])


def plain_value(value: Any) -> Any:
    """Return a public value as tables hold it; a step of a number as a float."""
    return float(value) if isinstance(value, Fraction) else value


def _short(number: float) -> float | int:
    """Return a whole number as one, so that it is written without a point."""
    return int(number) if number.is_integer() else number


def ordered(estimate: Floats, found: Sequence[int], wanted: Sequence[int]) -> Floats:
    """Put axes into the order that was asked for."""
    return np.transpose(estimate, [list(found).index(i) for i in wanted])
