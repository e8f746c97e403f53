"""The command `sfumato dummy`: look-alike rows from a contract, without its data."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.core.errors import InputError, UnknownName

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.session.contract import Contract
    from sfumato.session.declaration import TableDeclaration

_MOST = 10_000_000


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--table", metavar="NAME", help="The table; may be left out if there is only one.")
@click.option(
    "--rows", type=click.IntRange(0, _MOST), default=1000, show_default=True, help="How many."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write them there, as CSV or Parquet by its name; CSV is printed if not given.",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def dummy(contract: Path, table: str | None, rows: int, out: Path | None, force: bool) -> None:
    """Make up rows from CONTRACT alone: free, and no data is opened; it need not exist."""
    from sfumato.noise.rng import system
    from sfumato.session import dummy as made
    from sfumato.session.contract import Contract

    read = Contract.read(contract)
    declared = _declared(read, table)
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError("rows are written as CSV or Parquet. Pass --out with FILE.csv or so.")
    tables = [each.relation for each in read.tables.values()]
    found = made.dummy(declared.relation, rows, system(), tables)
    if out is None:
        click.echo(_csv(found), nl=False)
        return
    from sfumato.cli.file import precious, save

    content = _csv(found).encode() if out.suffix == ".csv" else _parquet(found)
    save(out, content, force=force, spare=precious(read, contract))
    click.echo(f"{rows} made-up rows of {declared.name}: {out}", err=True)


def _declared(contract: Contract, name: str | None) -> TableDeclaration:
    names = ", ".join(contract.tables)
    if name is None and len(contract.tables) > 1:
        raise InputError(f"the contract has several tables: {names}. Pass --table with one.")
    if name is not None and name not in contract.tables:
        raise UnknownName(f"the contract declares no table {name!r}; there are: {names}.")
    return contract.tables[name or next(iter(contract.tables))]


def _csv(table: pa.Table) -> str:
    """Write rows as a session reads them: ISO moments, nothing where a value is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def cell(value: object) -> str:
    """Write a value: ISO moments, nothing where it is missing."""
    if isinstance(value, bool):
        return str(value).lower()
    written = getattr(value, "isoformat", None)
    return "" if value is None else written() if written is not None else str(value)


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()
