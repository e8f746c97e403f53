"""All marginals of a release as one long table: a row for each cell, and whose cell it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.errors import InputError
from sfumato.marginals.domain import Attribute
from sfumato.marginals.marginal import Marginal, plain_value
from sfumato.release.measure import Measure, on_grid
from sfumato.release.release import Release

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from sfumato.marginals.release import Marginals

_MOST_SHOWN = 100_000  # cells of a page
_TOTAL = "total"  # the marginal of no columns


class Long:
    """One long table of all marginals that were planned for, in every form.

    Its columns are ``marginal``, which names the columns that are counted by, quoted as in CSV
    where a name has a comma; these columns, empty where a marginal does not have them; and ``n``,
    ``n_low``, ``n_high``, ``n_std``.
    """

    __slots__ = ("_base", "_table")

    def __init__(self, base: Marginals, table: Callable[..., Marginal]) -> None:
        """Hold the release, and what makes one marginal of it."""
        self._base, self._table = base, table

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table."""
        import pyarrow as pa

        kinds = {a.name: pa.array([plain_value(v) for v in a.values]).type for a in self._columns}
        names = self._names()
        parts = []
        for columns in self._base.marginals:
            found = self._table(*columns)
            held = found.to_arrow()
            arrays = [pa.array([_name(columns)] * len(held), pa.string())]
            arrays += [
                held[name] if name in columns else pa.nulls(len(held), kind)
                for name, kind in kinds.items()
            ]
            arrays += [held[name] for name in found.header[-4:]]
            parts.append(pa.table(arrays, names=names))
        return pa.concat_tables(parts)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())  # type: ignore[return-value]

    def release(self) -> Release:
        """Return the table as a release, with cells named by a text, for a page.

        Raises:
            InputError: it has too many cells for one.
        """
        tables = [self._table(*columns) for columns in self._base.marginals]
        if (cells := sum(map(len, tables))) > _MOST_SHOWN:
            raise InputError(
                f"these marginals have {cells:,} cells, more than the {_MOST_SHOWN:,} of one page. "
                f"Write them with to_csv(folder) or to_parquet(folder)."
            )
        of = [_name(table.columns) for table in tables for _ in range(len(table))]
        keys = {
            "marginal": of,
            "cell": [cell for table in tables for cell in table.labels()],
        }
        low, value, high = on_grid(
            *(
                np.concatenate([np.ravel(getattr(table, end)) for table in tables])
                for end in ("low", "value", "high")
            )
        )
        base = self._base
        measure = Measure("n", value, low, high, mechanism=base.method, kind="rational")
        return Release(
            keys,  # type: ignore[arg-type]
            (measure,),
            base.confidence,
            base.cost,
            base.price,
            base.unit,
            base.notes,
            base.receipt,
            base.durable,
        )

    @property
    def _columns(self) -> Sequence[Attribute]:
        return self._base.attributes

    def _names(self) -> list[str]:
        """Return the names of the columns; a column that is counted by keeps its own."""
        named = [attribute.name for attribute in self._columns]
        first = "marginal"
        while first in named:
            first += "_"
        count = "n"
        while {count, f"{count}_low", f"{count}_high", f"{count}_std"} & {*named, first}:
            count += "_"
        return [first, *named, count, f"{count}_low", f"{count}_high", f"{count}_std"]


def _name(columns: Sequence[str]) -> str:
    """Name a marginal by its columns; quoted as in CSV where they would read as something else."""
    return ", ".join(map(_quoted, columns)) or _TOTAL


def _quoted(name: str) -> str:
    unclear = name == _TOTAL or "," in name or '"' in name
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if unclear else name
