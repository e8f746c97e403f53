"""What every table of numbers can be written as."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.release.frame import need
from sfumato.release.path import new_path

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_ROWS = 2**16  # that are written together


class Tabular:
    """Frames and files of what can be had as an Arrow table. Nothing is stored here."""

    __slots__ = ()

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame."""
        need("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars frame."""
        return need("polars").from_arrow(self.to_arrow())  # type: ignore[no-any-return]

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file; floats as they are read back to the last bit."""
        where = new_path(path)  # before the work
        table: Any = self.to_arrow()
        with where.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(table.column_names)
            for batch in table.to_batches(_ROWS):
                out.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file."""
        from pyarrow import parquet

        where = new_path(path)  # before the work
        parquet.write_table(self.to_arrow(), where)
