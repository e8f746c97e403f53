"""Making origins known to DuckDB: attached, described, copied, and never read row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sfumato.backends.frame import columns_of, names_of
from sfumato.backends.origin import Connection, Database, Delimited, Frame, Origin, Parquet
from sfumato.backends.physical import Physical, PhysicalColumn, literal, name
from sfumato.core.errors import InputError
from sfumato.relation.source import Source

if TYPE_CHECKING:
    import duckdb

_LONGEST_LINE = 2_000_000  # bytes; a longer line of a text file is dropped
_PLAIN = {"hive_partitioning": "false", "filename": "false", "union_by_name": "false"}


class Catalog:
    """Makes origins known to an engine, one after the other."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Work on a connection that is not locked yet."""
        self._connection = connection
        self._attached: dict[str, str] = {}
        self._frames = 0

    def physical(self, source: Source, held: Origin, keys: Iterable[str] = ()) -> Physical:
        """Return the table of a source, as the engine sees it.

        Args:
            source: the table.
            held: where it is.
            keys: its columns that links of other tables refer to.

        Raises:
            InputError: it cannot be opened, or is not the only one that could be meant.
            UnknownName: a column of a frame does not exist.
        """
        match held:
            case Delimited():
                return _delimited(held)
            case Parquet():
                return self._parquet(source, held)
            case Database():
                return self._described(self._table(source, held))
            case Frame():
                return self._copied(source, held, keys)
            case Connection():
                return self._described(self._own(source))

    def _parquet(self, source: Source, held: Parquet) -> Physical:
        """Describe Parquet files, which must agree on all columns: a cast could fail on a value."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schemas = []
        try:
            for path in held.paths:
                # The engine renames columns that differ in case only; these are the real names.
                names = pq.read_schema(path).names
                found = self._describe(_parquet_sql((path,)))
                schemas.append([(n, *column) for n, column in zip(names, found, strict=True)])
        except (pa.ArrowException, OSError, ValueError, InputError):
            schemas = []
        if not schemas:
            raise InputError(
                f"table {source.name!r}: a file cannot be read as Parquet. Is it complete?"
            )
        if any(schema != schemas[0] for schema in schemas):
            raise InputError(
                f"table {source.name!r}: the Parquet files do not have the same columns and types. "
                f"Write them alike, or declare them as several tables."
            )
        columns = [PhysicalColumn(real, name(own), kind) for real, own, kind in schemas[0]]
        return Physical(_parquet_sql(held.paths), tuple(columns), replaced="?")

    def _copied(self, source: Source, held: Frame, keys: Iterable[str]) -> Physical:
        names = names_of(held.frame)
        everything = Physical("", tuple(PhysicalColumn(n, str(i), "") for i, n in enumerate(names)))
        wanted = [*source.columns, *([source.owner] if source.owner else [])]
        wanted += [*(link.column for link in source.links), *keys]
        places = {int(everything.column(column, source.name).sql) for column in wanted}
        own = {f"c{place}": place for place in sorted(places)}
        table, self._frames = f"frame_{self._frames}", self._frames + 1
        self._connection.register("incoming", columns_of(held.frame, own, source.name))
        self._try(f"CREATE TABLE {table} AS FROM incoming", source)
        self._connection.unregister("incoming")
        found = self._describe(f"memory.main.{table}")
        columns = [PhysicalColumn(names[own[n]], name(n), kind) for n, kind in found]
        return Physical(f"memory.main.{table}", tuple(columns))

    def _table(self, source: Source, held: Database) -> str:
        if held.path not in self._attached:
            alias = f"file_{len(self._attached)}"
            self._try(f"ATTACH {literal(held.path)} AS {alias} (READ_ONLY)", source)
            self._attached[held.path] = alias
        alias = self._attached[held.path]
        tables = self._connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $alias",
            {"alias": alias},
        ).fetchall()
        wanted = held.table if held.table is not None else source.name
        fitting = [found for found in tables if wanted in (found[1], f"{found[0]}.{found[1]}")]
        if not fitting and held.table is None and len(tables) == 1:
            fitting = tables
        if len(fitting) != 1:
            listed = ", ".join(sorted(f"{schema}.{table}" for schema, table in tables)) or "none"
            raise InputError(
                f"table {source.name!r}: which table of the file is meant? It has: {listed}. "
                f"Pass 'duckdb:FILE#TABLE'."
            )
        return ".".join([alias, *map(name, fitting[0])])

    def _own(self, source: Source) -> str:
        """Find a table of the user's connection, so that no variable can take its place."""
        found = self._connection.execute(
            "SELECT table_name FROM duckdb_tables() UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        if source.name.casefold() not in {table.casefold() for (table,) in found}:
            raise InputError(
                f"the connection has no table {source.name!r} that another cursor can see; "
                f"temporary tables and registered frames cannot be seen. Create it, or pass the "
                f"frame itself."
            )
        return name(source.name)

    def _described(self, table: str) -> Physical:
        columns = [PhysicalColumn(n, name(n), kind) for n, kind in self._describe(table)]
        return Physical(table, tuple(columns))

    def _describe(self, table: str) -> list[tuple[str, str]]:
        import duckdb

        found = None
        with suppress(duckdb.Error):  # what is raised below does not carry the engine's message
            found = self._connection.execute(f"DESCRIBE FROM {table}").fetchall()
        if found is None:
            raise InputError("a table cannot be opened. Is the file complete, and is it readable?")
        return [(row[0], row[1]) for row in found]

    def _try(self, sql: str, source: Source) -> None:
        import duckdb

        done = False
        with suppress(duckdb.Error):  # what is raised below does not carry the engine's message
            self._connection.execute(sql)
            done = True
        if not done:
            raise InputError(
                f"table {source.name!r} cannot be opened by DuckDB. A file may be damaged, of a "
                f"newer version or in use by another process; a frame may have a column of a type "
                f"that DuckDB does not hold."
            )


def _delimited(held: Delimited) -> Physical:
    """Read every field as text: nothing is guessed, and no line can make the reader fail.

    A line that is too long or is not UTF-8 is dropped; missing fields are empty, further ones are
    ignored. One thread reads: where quotes are broken, several could disagree about lines.
    """
    own = [name(f"c{i}") for i in range(len(held.names))]
    columns = [
        PhysicalColumn(n, sql, "VARCHAR", blank=True)
        for n, sql in zip(held.names, own, strict=True)
    ]
    types = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(columns)))
    options = {
        "auto_detect": "false",
        "columns": f"{{{types}}}",
        "header": "true",
        "delim": literal(held.delimiter),
        "quote": literal('"'),
        "escape": literal('"'),
        "encoding": "'utf-8'",
        "compression": "'gzip'" if held.compressed else "'none'",
        "strict_mode": "false",
        "ignore_errors": "true",
        "null_padding": "true",
        "force_not_null": listed(f"c{i}" for i in range(len(columns))),
        "max_line_size": str(_LONGEST_LINE),
        "parallel": "false",
        **_PLAIN,
    }
    return Physical(_scan("read_csv", held.paths, options), tuple(columns))


def _parquet_sql(paths: Sequence[str]) -> str:
    # A text that is not UTF-8 would make the reader fail: on one row, and for everybody.
    return _scan("read_parquet", paths, {**_PLAIN, "utf8_validation": "'replace'"})


def _scan(function: str, paths: Sequence[str], options: Mapping[str, str]) -> str:
    settings = ", ".join(f"{key} = {value}" for key, value in options.items())
    return f"{function}({listed(paths)}, {settings})"


def listed(texts: Iterable[str]) -> str:
    """Write texts as a list in SQL."""
    return f"[{', '.join(literal(text) for text in texts)}]"
