"""Where a table comes from: a path, a frame or a connection, told apart without reading a row."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, TypeAlias

from sfumato.core.errors import InputError
from sfumato.release.path import is_database

_KINDS = ".csv, .tsv (also .gz), .parquet, .duckdb, .db or duckdb:FILE#TABLE"
_HEADER = 2**20  # bytes in which the header line must end


@dataclass(frozen=True, slots=True)
class Delimited:
    """Text files with a header line.

    Attributes:
        paths: absolute.
        delimiter: between fields.
        compressed: whether by gzip.
        names: the header line, the same in every file.
    """

    paths: tuple[str, ...]
    delimiter: str
    compressed: bool
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parquet:
    """Parquet files of one schema, by absolute paths."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Database:
    """A table of a DuckDB file; the only one, or the source's, where none is named."""

    path: str
    table: str | None


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame in memory."""

    frame: Any


@dataclass(frozen=True, slots=True)
class Connection:
    """A DuckDB connection of the user's."""

    connection: Any


Origin: TypeAlias = Delimited | Parquet | Database | Frame | Connection


def origin(given: object, table: str) -> Origin:
    """Tell what the owner passed.

    Args:
        given: a path, a frame or a connection.
        table: the name of the source, for messages.

    Raises:
        InputError: it is none of these, is elsewhere, or does not exist.
    """
    if isinstance(given, str | Path):
        return _located(str(given), table)
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow") and kind.__name__ in ("DataFrame", "Table"):
        return Frame(given)
    if package in ("duckdb", "_duckdb") and kind.__name__ == "DuckDBPyConnection":
        return Connection(given)
    hint = ""
    if kind.__name__ == "LazyFrame":
        hint = " Call .collect() on it first."
    elif package in ("duckdb", "_duckdb"):
        hint = " Pass its connection, or .to_arrow_table()."
    raise InputError(
        f"table {table!r} was given as a {kind.__name__}, which is no table. Pass a path, a pandas "
        f"or Polars DataFrame, a pyarrow Table or a DuckDB connection.{hint}"
    )


def _located(given: str, table: str) -> Origin:
    named = re.fullmatch(r"duckdb:(.+?)(?:#(.+))?", given, re.DOTALL)
    if named is not None and "//" not in given[:9]:
        return Database(_files(named[1], table)[0], named[2])
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", given):
        scheme = given.partition(":")[0]
        raise InputError(
            f"table {table!r} is at a {scheme}:// address. Private rows are not fetched over a "
            f"network, and an address is no file. Copy it here first, and pass its path."
        )
    lower = given.lower()
    compressed = lower.endswith(".gz")
    suffix = Path(lower.removesuffix(".gz")).suffix
    if suffix in (".csv", ".tsv"):
        paths = _files(given, table)
        delimiter = "," if suffix == ".csv" else "\t"
        return Delimited(paths, delimiter, compressed, _header(paths, delimiter, compressed, table))
    if suffix == ".parquet" and not compressed:
        return Parquet(_files(given, table))
    is_known = suffix in (".duckdb", ".db") and not compressed
    if is_known or ("\0" not in given and is_database(Path(given))):  # a ledger is refused so
        return Database(_files(given, table)[0], None)
    raise InputError(
        f"table {table!r}: what kind of file is {Path(given).name!r}? Its name should end in "
        f"{_KINDS}. Convert it to one of these."
    )


def _files(given: str, table: str) -> tuple[str, ...]:
    """Return the files that a path or a pattern means, absolute and in order."""
    try:
        path = Path(given).expanduser()
    except RuntimeError:  # ~ of somebody who is not known here
        path = Path(given)
    pattern = any(mark in given for mark in "*?[")
    found = [path] if path.exists() else []
    if pattern and not found:
        found = [Path(name) for name in sorted(glob(str(path), recursive=True))]  # noqa: PTH207
        found = [name for name in found if name.is_file()]
    if not found:
        what = "no file matches" if pattern else "there is no file"
        raise InputError(f"table {table!r}: {what} {given!r}. Correct the path.")
    files = tuple(str(name.resolve()) for name in found)
    for name in files:
        if not Path(name).is_file():
            raise InputError(
                f"table {table!r}: {given!r} is a folder. Pass a pattern, such as "
                f"'{given.rstrip('/')}/*.parquet'."
            )
        if is_database(Path(name)):  # and to close it would drop the locks of a ledger
            raise InputError(
                f"table {table!r}: {given!r} is an SQLite database, such as a ledger, which is not "
                f"read. Export the table that is meant to Parquet or CSV."
            )
        if any(mark in name for mark in "*?["):
            raise InputError(
                f"table {table!r}: the path {name!r} has a character that the engine takes for a "
                f"pattern: *, ? or [. Rename the file or its folder."
            )
    return files


def _header(
    paths: tuple[str, ...], delimiter: str, compressed: bool, table: str
) -> tuple[str, ...]:
    """Read the header lines. They are the owner's words, and public."""
    headers = {_first_line(path, delimiter, compressed, table) for path in paths}
    if len(headers) > 1:
        raise InputError(
            f"table {table!r}: the files do not have the same header line, so a column could mean "
            f"different things. Give all of them the same, or declare them as several tables."
        )
    return headers.pop()


def _first_line(path: str, delimiter: str, compressed: bool, table: str) -> tuple[str, ...]:
    names: list[str] = []
    try:
        with ExitStack() as stack:
            file = stack.enter_context(Path(path).open("rb"))
            text = stack.enter_context(gzip.open(file)) if compressed else file
            start = text.read(_HEADER).decode("utf-8-sig", errors="replace")
        names = next(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter), [])
    except (OSError, EOFError, zlib.error, csv.Error):
        pass  # raised below: what was read is not a header line
    if any("\n" in name or "\r" in name for name in names):
        raise InputError(
            f"table {table!r}: the header line goes on over several lines: a quotation mark in it "
            f"is never closed, and rows would be taken for names. Close it, or take it out."
        )
    if not names:
        raise InputError(
            f"table {table!r}: {Path(path).name!r} has no header line that could be read. Its "
            f"first line must name the columns."
        )
    return tuple(names)


def module_of(frame: object) -> Any:
    """Return the library that a frame belongs to; it is loaded, since the frame exists."""
    return sys.modules[type(frame).__module__.partition(".")[0]]
