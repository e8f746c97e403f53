"""Statements tried out on tables without rows, so that what an engine refuses shows beforehand.

A function that lets through what the engine does not take would otherwise fail after the data was
touched: paid for, and closed to everybody. Here nothing is read but the plan, so that a refusal
costs nothing and tells nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from sfumato.core.errors import QueryError
from sfumato.relation.copied import along_links, keys_of
from sfumato.relation.expr import quoted
from sfumato.relation.lower import held
from sfumato.relation.node import Node, UnitJoin, carries, scope, sources
from sfumato.relation.source import HIDDEN, Source

if TYPE_CHECKING:
    import duckdb

engines: dict[int, duckdb.DuckDBPyConnection] = {}  # by process; a child keeps its parent's


def rehearse(sql: str, node: Node) -> None:
    """Let the engine run a lowered statement on tables without rows, in a millisecond or two.

    Args:
        sql: the statement, with truncations as windows.
        node: the relation that it reads.

    Raises:
        QueryError: the engine does not take it.
    """
    import duckdb

    joins = along_links(node)
    tables = ", ".join(_empty(source, joins) for source in sources(node))
    taken = True
    with closing(_engine().cursor()) as cursor:
        try:
            (statement,) = cursor.extract_statements(f"WITH {tables} {sql}")
            given = {name: "" if name == "key" else [] for name in statement.named_parameters}
            cursor.execute(statement, given)
        except duckdb.Error:
            taken = False
    if not taken:  # outside of the handler, so that no message of the engine hangs on
        raise QueryError(
            "the engine does not take what this question becomes. Nothing was read and nothing "
            "charged. Write its expressions otherwise; and please report it, for it should have "
            "been refused with a better reason."
        )


def _engine() -> duckdb.DuckDBPyConnection:
    """Return an engine that holds nothing; a forked process needs its own.

    The one of the parent stays where it is: a child that closed it would wait for threads that it
    does not have.
    """
    import duckdb

    process = os.getpid()
    if process not in engines:
        engines[process] = duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""})
    return engines[process]


def _empty(source: Source, joins: Sequence[UnitJoin]) -> str:
    """Write a private table as a plan sees it, without rows."""
    columns = {quoted(name): held(kind) for name, kind in scope(source).items()}
    if carries(source):
        columns |= dict.fromkeys([HIDDEN, *keys_of(source, joins)], "VARCHAR")
    picked = ", ".join(f"CAST(NULL AS {of}) AS {name}" for name, of in columns.items())
    return f"{quoted(source.name)} AS (SELECT {picked} LIMIT 0)"
