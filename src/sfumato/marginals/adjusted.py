"""Marginals after post-processing: non-negative, or whole numbers; still consistent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.errors import InputError
from sfumato.core.path import path_of
from sfumato.marginals.basis import Floats
from sfumato.marginals.condition import file_names
from sfumato.marginals.domain import Places
from sfumato.marginals.long import Long
from sfumato.marginals.marginal import Marginal, ordered

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from sfumato.marginals.release import Marginals


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Adjusted:
    """The marginals of a release with other values. It costs nothing: no data is read.

    Intervals are those of the release, cut at 0 and widened where a value lies outside of its own;
    they hold as often.

    Attributes:
        base: the release.
        how: what was done.
        values: the counts of a marginal, with an axis for each column, by increasing place.
    """

    base: Marginals
    how: str
    values: Callable[[Places], Floats]

    def table(self, *columns: str, confidence: object | None = None) -> Marginal:
        """Return a marginal; see `Marginals.table`."""
        found = self.base.table(*columns, confidence=confidence)
        wanted = [self.base.columns.index(name) for name in columns]
        places = tuple(sorted(wanted))
        value = ordered(self.values(places), places, wanted)
        low = np.minimum(np.maximum(found.low, 0), value)
        high = np.maximum(found.high, value)
        return Marginal(found.columns, found.values, value, low, high, found.std, found.confidence)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write each marginal of the workload as a CSV file; return the paths."""
        return written(self, self.base.marginals, folder, "csv")

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Write each marginal of the workload as a Parquet file; return the paths."""
        return written(self, self.base.marginals, folder, "parquet")

    def to_arrow(self) -> pyarrow.Table:
        """Return one Arrow table of all marginals that were planned for, a row for each cell.

        Its columns are ``marginal``, the columns that are counted by, empty where a marginal does
        not have them, and ``n``, ``n_low``, ``n_high``, ``n_std``.
        """
        return Long(self.base, self.table).to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Return one pandas frame of all marginals, with the columns of `to_arrow`."""
        return Long(self.base, self.table).to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return one Polars frame of all marginals, with the columns of `to_arrow`."""
        return Long(self.base, self.table).to_polars()

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write one self-contained HTML page of all marginals to `path`; without one, return it.

        Raises:
            InputError: they have too many cells for a page.
        """
        return Long(self.base, self.table).release().to_html(path)

    def __repr__(self) -> str:
        """Say what it is made of."""
        return f"<{self.how}: {self.base!r}>"


def written(
    answer: Marginals | Adjusted,
    marginals: tuple[tuple[str, ...], ...],
    folder: str | Path,
    form: str,
) -> list[Path]:
    """Write marginals as files of a folder; return the paths."""
    where = path_of(folder)
    if where.exists() and not where.is_dir():
        raise InputError(f"{where.name!r} is a file. Pass a folder for the tables.")
    where.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, columns in zip(file_names(marginals), marginals, strict=True):
        path = where / f"{name}.{form}"
        table = answer.table(*columns)
        (table.to_csv if form == "csv" else table.to_parquet)(path)
        paths.append(path)
    return paths
