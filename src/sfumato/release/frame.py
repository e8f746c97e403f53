"""Table views of a release: Arrow, pandas, Polars, Parquet, and text for the console."""

from __future__ import annotations

from fractions import Fraction
from itertools import compress
from operator import not_
from types import NoneType
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import MissingExtra
from sfumato.release.error import TOGETHER
from sfumato.release.format import approximate, cell, percent, printable
from sfumato.release.measure import fits, view
from sfumato.release.path import new_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    import pandas
    import polars
    import pyarrow

    from sfumato.release.measure import Kind
    from sfumato.release.release import Release

ROWS = 20  # of a release that `repr` shows
_METADATA = b"sfumato.release"


def to_arrow(release: Release) -> pyarrow.Table:
    """Build the Arrow table; its schema metadata holds the release itself."""
    import pyarrow as pa

    arrays = [_key_array(values) for _, values in release.keys]
    for measure in release.measures:
        (_, cells, kind), *ends = measure.columns()
        arrays += [pa.array(view(cells, kind)), *(_end_array(each, k) for _, each, k in ends)]
    metadata = {_METADATA: release.to_json().encode("ascii")}
    return pa.table(arrays, names=list(release.columns)).replace_schema_metadata(metadata)


def to_pandas(release: Release) -> pandas.DataFrame:
    """Build the pandas frame."""
    need("pandas")
    return to_arrow(release).to_pandas()


def to_polars(release: Release) -> polars.DataFrame:
    """Build the Polars frame."""
    polars = need("polars")
    return polars.from_arrow(to_arrow(release))  # type: ignore[no-any-return]


def to_parquet(release: Release, path: str | Path) -> None:
    """Write the Arrow table, metadata included."""
    from pyarrow import parquet

    where = new_path(path)  # before the work
    parquet.write_table(to_arrow(release), where)


def to_text(release: Release) -> str:
    """Write the table for a console: 20 rows at most, what intervals cover, notes, the price."""
    if not release.keys:
        lines = [f"{printable(name)} = {release[name]!r}" for name in release]
    else:
        lines = list(_lines(release))
    more = len(release) - ROWS
    if more > 0:
        lines.append(f"… and {more} more row{'s' if more > 1 else ''}")
    lines += [footer(release), *(f"note: {printable(note)}" for note in release.notes)]
    if release.price is not None and release.price.said:
        lines.append(f"price: {release.price.said}")
    return "\n".join(lines)


def footer(release: Release) -> str:
    """Say what the intervals cover and whether anything was charged."""
    covers = "; ".join(dict.fromkeys(m.covers for m in release.measures if m.has_interval))
    each = "" if TOGETHER in covers else " each"
    sure = (
        f"intervals at {percent(release.confidence)}{each} ({covers})" if covers else "no interval"
    )
    if release.receipt is None:
        charged = "nothing was charged: no ledger"
    else:
        charged = (
            f"receipt {printable(release.receipt)}{'' if release.durable else ', not durable'}"
        )
    return f"{sure}; {charged}"


def rows(release: Release, limit: int | None = None) -> Iterator[list[Any]]:
    """Yield rows of exact cells, in the order of the columns."""
    columns = [values[:limit] for _, values in release.keys]
    columns += [cells[:limit] for m in release.measures for _, cells, _ in m.columns()]
    yield from (list(row) for row in zip(*columns, strict=True))


def _lines(release: Release) -> Iterator[str]:
    keys = len(release.keys)
    table = [[printable(name) for name in release.columns]]
    table += [[_cell(each) for each in row] for row in rows(release, ROWS)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            text.ljust(width) if i < keys else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _cell(value: object) -> str:
    return cell(value) if type(value) in {int, float, Fraction} else printable(value)


def _end_array(ends: tuple[Any, ...], kind: Kind) -> pyarrow.Array:
    """Return ends of intervals; one that is infinite is NULL among integers."""
    import pyarrow as pa

    open_ends = [isinstance(end, float) for end in ends]
    if not any(open_ends):
        return pa.array(view(ends, kind))
    if kind == "integer" and all(map(fits, compress(ends, map(not_, open_ends)))):
        found = [None if o else end for end, o in zip(ends, open_ends, strict=True)]
        return pa.array(found, pa.int64())
    far = [
        end if is_open else approximate(end) for end, is_open in zip(ends, open_ends, strict=True)
    ]
    return pa.array(far, pa.float64())


def _key_array(values: tuple[Any, ...]) -> pyarrow.Array:
    import pyarrow as pa

    kinds = set(map(type, values))
    if Fraction in kinds or (int in kinds and not all(fits(v) for v in values if type(v) is int)):
        return pa.array([None if v is None else approximate(v) for v in values], pa.float64())
    if kinds <= {NoneType}:  # also a release without rows
        return pa.array(values, pa.string())
    return pa.array(values)


def need(package: str) -> ModuleType:
    """Import an optional package, or say how to install it."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(
            f"this view needs {package}, which is not installed. "
            f"Run: pip install 'sfumato[{package}]', or use to_arrow()."
        ) from None
