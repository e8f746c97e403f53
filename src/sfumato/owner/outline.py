"""The names and types of a table that nobody has declared yet, without a value or a row.

Of a Parquet file the schema is read and neither statistics nor the number of rows; of a DuckDB file
the catalog; of a text file the header line, which is public like every name.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.backends.catalog import Catalog
from sfumato.backends.duckdb import _connected
from sfumato.backends.origin import Database, Delimited, origin
from sfumato.backends.physical import Physical, PhysicalColumn, literal
from sfumato.core.errors import InputError
from sfumato.core.schema import Schema, Text
from sfumato.core.unit import Unit
from sfumato.relation.source import Source

if TYPE_CHECKING:
    import duckdb

_VALUE = re.compile(r"\s*[-+]?[0-9][0-9.,:/ T+Z-]*|.*@.*\..*", re.DOTALL)
_YEAR = re.compile(r"(19|20)[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Outline:
    """A table as its file describes it.

    Attributes:
        name: what to call it.
        table: which table of a DuckDB file it is; None for other files.
        columns: names and types, in the order of the file.
        typed: whether the file knows types; text files do not.
    """

    name: str
    table: str | None
    columns: tuple[PhysicalColumn, ...]
    typed: bool


def outlines(data: str, name: str | None = None) -> list[Outline]:
    """Describe the table of a file, or all tables of a DuckDB file.

    Args:
        data: a path as a contract has it: CSV, TSV, Parquet, a pattern, DuckDB,
            ``duckdb:FILE#TABLE``.
        name: what to call the table; by its file if not given.

    Raises:
        InputError: it cannot be opened, or the first line of a text file does not name columns.
    """
    called = name or table_name(data)
    held = origin(data, called)
    if isinstance(held, Database) and held.table is None:
        with closing(_connected(None, None)) as connection:
            tables = _tables(connection, held.path, called)
        if len(tables) > 1 and name is not None:
            raise InputError(
                f"the file has {len(tables)} tables, and one name cannot mean all of them. Pass "
                f"'duckdb:FILE#TABLE', or leave the name out."
            )
        return [
            Outline(name or table, table, found.columns, True)
            for table, found in _short(tables).items()
        ]
    table = held.table if isinstance(held, Database) else None
    columns = described(_undeclared(called), data).columns
    if isinstance(held, Delimited):
        _check_header(columns, called)
    return [Outline(called, table, columns, not isinstance(held, Delimited))]


def described(source: Source, data: object) -> Physical:
    """Return the names and types of a declared table.

    Raises:
        InputError: it cannot be opened.
    """
    held = origin(data, source.name)
    with closing(_connected(None, None)) as connection:
        return Catalog(connection).physical(source, held)


def table_name(data: str) -> str:
    """Return what to call a table that nobody named.

    Example:
        >>> table_name("data/trips.csv.gz"), table_name("visits/*.parquet")
        ('trips', 'visits')
    """
    inside = data.startswith("duckdb:")
    file, _, table = data.removeprefix("duckdb:").partition("#") if inside else (data, "", "")
    path = Path(file)
    if not table and any(mark in path.name for mark in "*?["):
        path = Path(*(part for part in path.parts if not any(mark in part for mark in "*?[")))
    return table or path.name.split(".")[0] or "table"


def is_value(name: str) -> bool:
    """Say whether a name looks like a value: a number but a year, a date, an address.

    Example:
        >>> is_value("34"), is_value("2026-01-31"), is_value("2026"), is_value("zone 34")
        (True, True, False, False)
    """
    return _VALUE.fullmatch(name) is not None and _YEAR.fullmatch(name) is None


def _tables(
    connection: duckdb.DuckDBPyConnection, path: str, name: str
) -> dict[tuple[str, str], Physical]:
    """Describe all tables of a DuckDB file, by schema and name."""
    import duckdb

    found: list[tuple[str, str]] = []
    with suppress(duckdb.Error):  # the catalog refuses below, in its own words
        connection.execute(f"ATTACH {literal(path)} AS listed (READ_ONLY)")
        found = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'listed' "
            "ORDER BY schema_name <> 'main', schema_name, table_oid"
        ).fetchall()
        connection.execute("DETACH listed")
    if not found:
        raise InputError(
            f"table {name!r}: the file has no table, or is no DuckDB file that can be opened. Is "
            f"it complete, and does no other process write to it?"
        )
    catalog = Catalog(connection)
    return {
        names: catalog.physical(_undeclared(names[1]), Database(path, ".".join(names)))
        for names in found
    }


def _short(tables: dict[tuple[str, str], Physical]) -> dict[str, Physical]:
    """Name tables without their schemas, where that is enough."""
    count = Counter(table.casefold() for _, table in tables)
    return {
        names[1] if count[names[1].casefold()] == 1 else ".".join(names): found
        for names, found in tables.items()
    }


def _undeclared(name: str) -> Source:
    return Source(name, Schema(nothing=Text()), Unit.row())


def _check_header(columns: tuple[PhysicalColumn, ...], name: str) -> None:
    """Refuse a first line that looks like a row: what is in it would be copied into a file."""
    if len(columns) == 1 and any(mark in columns[0].name for mark in ";\t|"):
        raise InputError(
            f"table {name!r}: the first line is one name with separators in it, and columns are "
            f"separated by commas here. Save the file with commas, or as .tsv with tabs."
        )
    wrong = [column for column in columns if is_value(column.name)]
    if wrong:
        raise InputError(
            f"table {name!r}: {len(wrong)} of {len(columns)} names in the first line are "
            f"numbers, dates or addresses, so that it may be a row and no header. Begin the file "
            f"with a line that names the columns."
        )
