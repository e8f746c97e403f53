"""DuckDB: private tables in an engine that can reach nothing else.

Our own instance is in memory. It may read the declared files and no other, writes nothing, not even
a temporary file (a statement that needs more memory than there is fails), loads no extension, sees
no variable of the program, and its settings are locked. Of its optimizer, whatever trusts the
statistics of a file is off: a file whose statistics are wrong, by age or by malice, could otherwise
make the engine drop a clamp as needless, or rows as hopeless.

A connection of the user's is used as it is, through a cursor, of which alone it is set how texts
are compared and columns handed over. No other setting is changed: what it may reach, what it logs,
where it spills and what its optimizer trusts is its owner's to decide.
A view on a file is read with that file's statistics; pass the file itself where they are in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from sfumato.backends.base import failure, whole
from sfumato.backends.catalog import Catalog, listed
from sfumato.backends.lookup import keys_of
from sfumato.backends.origin import Connection, Delimited, Origin, Parquet, origin
from sfumato.backends.physical import name
from sfumato.backends.reader import selects
from sfumato.core.errors import InputError, InternalError
from sfumato.relation.source import Source

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

T = TypeVar("T")
_BATCH = 2**20  # rows that are handed over at a time
_INTERRUPTED = "Query interrupted"  # what the engine raises where Python has Ctrl-C
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "temp_directory": "",
}
_SETTINGS = {
    "default_collation": "''",
    "arrow_large_buffer_size": "true",  # texts of more than 2 GiB
    "arrow_lossless_conversion": "false",
    "produce_arrow_string_view": "false",
}
_HELD = ("", True, False, False)
_DISTRUSTED = (
    "statistics_propagation",
    "compressed_materialization",
    "expression_rewriter",
    "filter_pushdown",
    "join_filter_pushdown",
    "late_materialization",
    "row_group_pruner",
    "top_n",
)


class DuckDB:
    """Private tables in DuckDB.

    Make it with `open`. It may be used by several threads at once.

    Attributes:
        dialect: ``"duckdb"``.
    """

    dialect = "duckdb"

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        readers: Mapping[str, str],
        *,
        borrowed: bool = False,
    ) -> None:
        """Hold a connection, and for every table the SELECT that reads it."""
        self._connection: duckdb.DuckDBPyConnection | None = connection
        self._readers, self._borrowed = dict(readers), borrowed
        self._lock = Lock()

    @classmethod
    def open(
        cls,
        tables: Mapping[Source, object],
        *,
        threads: int | None = None,
        memory: str | None = None,
    ) -> DuckDB:
        """Open tables. Reads names and types; rows only of frames, which are copied.

        Args:
            tables: what holds each source: a path (.csv, .tsv, either also .gz, .parquet, patterns
                of those, .duckdb, .db or ``duckdb:FILE#TABLE``), a pandas or Polars DataFrame, a
                pyarrow Table, or a DuckDB connection with a table of the source's name.
            threads: of our own instance; all cores by default.
            memory: of our own instance, such as ``"4GB"``; most of the machine's by default.

        Raises:
            InputError: a file that is missing, elsewhere or of no known kind.
            UnknownName: a declared column, or the unit's, that the table does not have.
            ColumnError: a column of a type that its declaration cannot read.
        """
        _check_names(tables)
        origins = {source: origin(given, source.name) for source, given in tables.items()}
        borrowed = {id(o.connection): o for o in origins.values() if isinstance(o, Connection)}
        mixed = any(not isinstance(o, Connection) for o in origins.values())
        if len(borrowed) > 1 or (borrowed and mixed):
            raise InputError(
                "tables of one question live in one engine: pass one connection for all of them, "
                "or none. Load the others into that connection."
            )
        if borrowed:
            connection = next(iter(borrowed.values())).connection.cursor()
        else:
            connection = _connected(threads, memory)
        with ExitStack() as undo:
            undo.callback(connection.close)
            catalog = Catalog(connection)
            referred = keys_of(origins)
            readers = selects(
                {s: catalog.physical(s, o, referred[s.name]) for s, o in origins.items()}
            )
            if not borrowed:
                _lock(connection, origins.values())
            opened = cls(connection, readers, borrowed=bool(borrowed))
            opened._prepare()
            undo.pop_all()
        return opened

    def run(
        self,
        sql: str,
        parameters: Mapping[str, object],
        tables: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:
        """Run one lowered SELECT on the tables. See `Backend.run`."""
        answer = self._answer(sql, parameters, tables or {}, lambda made: made.to_arrow_table())
        return whole(answer)

    def stream(
        self,
        read: Callable[[pa.RecordBatchReader], T],
        sql: str,
        parameters: Mapping[str, object],
        tables: Mapping[str, pa.Table] | None = None,
    ) -> T:
        """Run one lowered SELECT on the tables, piece by piece. See `Backend.stream`."""

        def opened(made: duckdb.DuckDBPyRelation) -> T:
            with made.to_arrow_reader(_BATCH) as batches:
                return read(whole(batches))

        return self._answer(sql, parameters, tables or {}, opened)

    def _answer(
        self,
        sql: str,
        parameters: Mapping[str, object],
        tables: Mapping[str, pa.Table],
        read: Callable[[duckdb.DuckDBPyRelation], T],
    ) -> T:
        """Run one statement, and read what it returns while the engine is there."""
        import duckdb
        import pyarrow as pa

        problems = (duckdb.Error, pa.ArrowException, OSError, MemoryError, RuntimeError)
        with closing(self._cursor()) as cursor:
            try:
                if not self._readers.keys().isdisjoint(tables):
                    raise RuntimeError  # the reader of a table would be read in place of it
                for table, rows in tables.items():
                    cursor.register(table, rows)
                statement = _single(cursor, self._complete(sql))
                if not parameters.keys() >= set(statement.named_parameters):
                    raise RuntimeError  # the statement is not the one that was planned
                named = {key: parameters[key] for key in statement.named_parameters}
                return read(cursor.sql(statement, params=named))
            except problems as problem:
                interrupted = str(problem) == _INTERRUPTED
        if interrupted:  # the engine takes the signal, and says so by an error of its own
            raise KeyboardInterrupt
        raise failure()  # here, where the engine's message does not hang on it

    def close(self) -> None:
        """Close the engine, or the cursor of the user's connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._connection is None:
                raise InputError("this backend is closed. Open the tables again.")
            cursor = self._connection.cursor()
        if self._borrowed:
            _set(cursor, "SESSION")  # of the cursor alone
        return cursor

    def _complete(self, sql: str) -> str:
        """Put the readers before a statement, which may have common tables of its own."""
        readers = ", ".join(
            f"{name(table)} AS NOT MATERIALIZED ({text})" for table, text in self._readers.items()
        )
        own = re.match(r"\s*WITH\s+(?!RECURSIVE\b)", sql, re.IGNORECASE)
        return f"WITH {readers}, {sql[own.end() :]}" if own else f"WITH {readers} {sql}"

    def _prepare(self) -> None:
        """Let the engine bind every reader once, so that a fault shows before anyone asks."""
        import duckdb

        bound = True
        with closing(self._cursor()) as cursor:
            try:
                for table in self._readers:
                    bare = f"SELECT * FROM {name(table)}"  # noqa: S608 - a quoted name
                    cursor.execute(f"EXPLAIN {self._complete(bare)}")
            except duckdb.Error:
                bound = False
        if not bound:
            raise InternalError(
                "the engine does not take the reading of a declared table. This is a fault of "
                "sfumato, or a file that changed while it was opened."
            )


def _connected(threads: int | None, memory: str | None) -> duckdb.DuckDBPyConnection:
    import duckdb

    config = dict(_CONFIG)
    if threads is not None:
        config["threads"] = threads
    if memory is not None:
        config["memory_limit"] = memory
    with suppress(duckdb.Error):  # what is raised below does not carry the engine's message
        return duckdb.connect(":memory:", config=config)
    raise InputError(
        "DuckDB does not start with these settings. Pass threads= as a whole number and memory= as "
        "a size, such as '4GB'."
    )


def _lock(connection: duckdb.DuckDBPyConnection, origins: Iterable[Origin]) -> None:
    """Close every door but the declared files, then throw the key away."""
    files = [path for o in origins if isinstance(o, Delimited | Parquet) for path in o.paths]
    _set(connection, "GLOBAL")
    connection.execute(f"SET disabled_optimizers = '{','.join(_DISTRUSTED)}'")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET max_temp_directory_size = '0KiB'")
    connection.execute(f"SET allowed_paths = {listed(files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _set(connection: duckdb.DuckDBPyConnection, scope: str) -> None:
    """Set what answers rest on: how texts are compared, and what columns look like in memory.

    Raises:
        InputError: the connection's settings are locked, and others.
    """
    import duckdb

    for setting, value in _SETTINGS.items():
        with suppress(duckdb.Error):  # locked; then it must be so already
            connection.execute(f"SET {scope} {setting} = {value}")
    (held,) = connection.execute(f"SELECT {', '.join(map(_shown, _SETTINGS))}").fetchall()
    if held != _HELD:
        raise InputError(
            "the settings of this connection are locked, and texts are compared, or handed over, "
            "otherwise than answers rest on. Set default_collation = '', arrow_large_buffer_size "
            "= true, arrow_lossless_conversion = false and produce_arrow_string_view = false "
            "before they are locked."
        )


def _shown(setting: str) -> str:
    return f"current_setting('{setting}')"


def _single(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Return the statement if it is one SELECT: nothing else may reach the engine."""
    import duckdb

    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise RuntimeError
    return statements[0]


def _check_names(tables: Mapping[Source, object]) -> None:
    names = [source.name.casefold() for source in tables]
    if not names:
        raise InputError("there is no table to open. Pass at least one source.")
    if len(set(names)) < len(names):
        raise InputError("two tables have the same name, but for case. Rename one of them.")
