"""A public table in FROM, by itself or in a query that chooses among its rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sfumato.relation.expr import Expr
from sfumato.relation.source import folded
from sfumato.sql.select import conjuncts, filled
from sfumato.sql.translation import translated


@dataclass(frozen=True, slots=True)
class Public:
    """A public table in FROM.

    Attributes:
        name: its name in the session.
        table: what the question calls it.
        columns: its columns.
        conditions: what its rows have to meet, over all columns that it has in the session.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    conditions: tuple[Expr, ...] = ()

    def find(self, column: exp.Column) -> str | None:
        """Return the column of a name, None if it has none."""
        if column.table and folded(column.table) != folded(self.table):
            return None
        same = [name for name in self.columns if folded(name) == folded(column.name)]
        return same[0] if same else None

    def where(self, conditions: list[Any], text: str) -> Public:
        """Return the rows that meet conditions, which name no column but its own."""
        found = []
        for condition in conditions:
            for column in list(condition.find_all(exp.Column)):
                name = self.find(column)
                column.set("table", None)
                column.this.set("this", name)
            found.append(translated(condition, text))
        return replace(self, conditions=(*self.conditions, *found))

    def chosen(self, select: exp.Select, text: str) -> Public | None:
        """Return what a query in FROM has of this table; None if it does more than choose."""
        if set(filled(select)) - {"expressions", "from_", "where"}:
            return None
        columns: list[str | None] = []
        for item in select.expressions:
            if isinstance(item, exp.Star) and not filled(item):
                columns += self.columns
            else:
                columns.append(self.find(item) if isinstance(item, exp.Column) else None)
        where = select.args.get("where")
        conditions = [] if where is None else conjuncts(where.this)
        used = [c for each in conditions for c in each.find_all(exp.Column)]
        if any(each.find(exp.Query) for each in conditions):
            return None
        if any(self.find(column) is None for column in used):
            return None
        kept = tuple(dict.fromkeys(name for name in columns if name is not None))
        if None in columns or len(kept) < len(columns):
            return None
        return replace(self.where(conditions, text), columns=kept)
