"""The rows that a part of a question works on: a relation, and what its columns are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from sfumato.core.errors import ExpressionError, UnknownName
from sfumato.relation.expr import Call, Expr, Name, shown
from sfumato.relation.node import Filter, Node, Project, sources
from sfumato.relation.source import Source, folded, unused
from sfumato.sql.place import pointing
from sfumato.sql.refusal import refused
from sfumato.sql.translation import translated

_FOUND = "sfumato"  # the mark on a name that was looked up: what the question calls the column


@dataclass(frozen=True, slots=True)
class Column:
    """A column, by the names that a question has for it.

    Attributes:
        table: what its table is called; empty if it has no name.
        name: its own name.
        held: what the relation calls it.
        merged: whether USING shows another table's in its place; this one is then meant only with
            its table's name before it.
    """

    table: str
    name: str
    held: str
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Unmatched:
    """The unit of a table on the right of a LEFT JOIN: missing in rows that met nothing there.

    Attributes:
        table: what the table is called.
        name: what the table calls the unit; empty where it names none.
        met: a column of the relation that is NULL where the unit is; None where nobody asked.
    """

    table: str
    name: str
    met: str | None


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation with the names that a question has for its columns.

    Attributes:
        node: the relation.
        columns: the columns that can be named.
        units: the names of the unit, each as (table, name): it is in no column.
        keys: the names of columns that hold keys of other tables, or are keys: for joins alone.
        places: of a query in FROM, where it selects the unit.
        unmatched: names of the unit that are missing in some rows; they are counted, and no more.
    """

    node: Node
    columns: tuple[Column, ...]
    units: tuple[tuple[str, str], ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    places: tuple[int, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()

    def find(self, column: exp.Column, text: str) -> str | None:
        """Return what the relation calls a column; None if the column names the unit."""
        found = self._column(column, text)
        return None if found is None else found.held

    def _column(self, column: exp.Column, text: str) -> Column | None:
        """Return the column of a name; None if it names the unit.

        Raises:
            UnknownName: no table, or no column, of that name.
            ExpressionError: two tables have it.
        """
        with pointing(column, text):
            table, name = folded(column.table), column.name
            if column.args.get("db") is not None:
                raise ExpressionError(
                    "a name has two parts at most, the table's and the column's, as in trips.fare."
                )
            if table and table not in self.tables:
                raise UnknownName(
                    f"there is no table {column.table!r} in this FROM; there are: "
                    f"{', '.join(sorted(self.tables)) or 'none with a name'}."
                )
            here = list(self.listed(table or None))
            exactly = [c for c in here if c.name == name]
            found = exactly or [c for c in here if folded(c.name) == folded(name)]
            units = [u for u in self.units if not table or folded(u[0]) == table]
            if any(folded(unit) == folded(name) for _, unit in units) and not found:
                return None
            if len({c.held for c in found}) > 1:
                tables = " and ".join(c.table for c in found)
                raise ExpressionError(
                    f"both {tables} have a column {name!r}. Say which: {found[0].table}.{name}."
                )
            if not found:
                self._refuse_unmatched(column)
            if not found and self._has_key(table, name):
                raise ExpressionError(
                    f"the column {name!r} holds keys, which lead to single rows. It is for joins "
                    f"alone: JOIN ... ON the column = the other table's."
                )
            if not found:
                raise self._unknown(name, here)
            return found[0]

    def unmatched_unit(self, column: exp.Column) -> Unmatched | None:
        """Return the unit of the right of a LEFT JOIN, if a column names that, or all of there."""
        table, name = folded(column.table), folded(column.name)
        star = isinstance(column.this, exp.Star)
        for each in self.unmatched:
            if (star or folded(each.name) == name) and table == folded(each.table):
                return each
        return None

    def _refuse_unmatched(self, column: exp.Column) -> None:
        """Refuse to take the unit of the right of a LEFT JOIN for the unit of all rows."""
        found = self.unmatched_unit(column)
        if found is None:
            return
        table, name = next(iter(self.units), ("", self.unit))
        instead = f"{table}.{name}" if table else name
        raise ExpressionError(
            f"{found.table}.{found.name} is missing in rows that LEFT JOIN matched with nothing. "
            f"COUNT({found.table}.{found.name}) counts the others; for the unit of every row write "
            f"{instead}, and for those that match write JOIN."
        )

    @property
    def tables(self) -> set[str]:
        """The names of the tables, in lower case."""
        named = [*(c.table for c in self.columns), *(table for table, _ in self.units)]
        return {folded(t) for t in [*named, *(each.table for each in self.unmatched)] if t}

    def has(self, column: exp.Column) -> bool:
        """Say whether a column, the unit or a key is one of these rows."""
        if is_found(column):
            return True
        table, name = folded(column.table), folded(column.name)
        named = [(c.table, c.name) for c in self.columns] + [*self.units, *self.keys]
        named += [(each.table, each.name) for each in self.unmatched]
        return any(name == folded(own) and (not table or folded(t) == table) for t, own in named)

    def hides(self, column: exp.Column) -> bool:
        """Say whether a column names the unit, or holds keys."""
        table, name = folded(column.table), folded(column.name)
        hidden = [*self.units, *self.keys]
        return any(folded(own) == name and (not table or folded(t) == table) for t, own in hidden)

    def is_key(self, column: exp.Column) -> bool:
        """Say whether a column holds keys, and is no column that can be seen."""
        return not replace(self, keys=()).has(column) and self.has(column)

    def _has_key(self, table: str, name: str) -> bool:
        return any(
            folded(own) == folded(name) and (not table or folded(of) == table)
            for of, own in self.keys
        )

    def joined_by(self, column: exp.Column, text: str) -> str:
        """Return what a join calls a column: one that can be seen, the unit's, or a key's."""
        table, name = folded(column.table), folded(column.name)
        seen = [c for c in self.columns if folded(c.name) == name]
        if any(not table or folded(c.table) == table for c in seen):
            return self.find(column, text) or self.unit
        self._refuse_unmatched(column)
        if self._has_key(table, column.name):
            return next(own for _, own in self.keys if folded(own) == name)
        owners = (s.owner for s in sources(self.node) if s.is_direct and s.owner)
        return next(owners, self.unit)

    def _unknown(self, name: str, here: Sequence[Column]) -> UnknownName:
        names = [c.name for c in here]
        near = get_close_matches(name, names, 1)
        hint = f" Did you mean {near[0]!r}?" if near else " A text goes in single quotes."
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        return UnknownName(f"there is no column {name!r} here; there are: {listed}.{hint}")

    def is_unit(self, node: Any, text: str) -> bool:
        """Say whether a node is the column that names the unit."""
        while isinstance(node, exp.Paren):
            node = node.this
        return (
            isinstance(node, exp.Column)
            and not isinstance(node.this, exp.Star)
            and not is_found(node)
            and self.find(node, text) is None
        )

    def expression(self, node: exp.Expression, text: str) -> Expr:
        """Translate an expression over these columns."""
        with pointing(node, text):
            if not isinstance(node, exp.Expression):  # MIN()
                raise refused(node, text)
            inner = node.find(exp.Query)
            if inner is not None:
                raise refused(inner, text)
            for column in list(node.find_all(exp.Column)):
                if isinstance(column.this, exp.Star) or is_found(column):
                    continue
                found = self._column(column, text)
                column.set("table", None)
                # Whoever computes with the unit is told why not.
                column.this.set("this", self.unit if found is None else found.held)
                mark(column, column.name if found is None else found.name)
            return translated(node, text)

    def where(self, conditions: Sequence[exp.Expression], text: str) -> Rows:
        """Return the rows for which all of the conditions are true, by one filter.

        One for each of them would nest a plan as deep as the question is long.
        """
        parts = []
        for condition in conditions:
            parts.append(self.expression(condition, text))
            with pointing(condition, text):
                Filter(self.node, parts[-1])  # refuses what is no condition, where it stands
        if not parts:
            return self
        joint = parts[0] if len(parts) == 1 else Call("and", tuple(parts))
        return replace(self, node=Filter(self.node, joint))

    @property
    def unit(self) -> str:
        """The name of the column that names the unit, as it is declared."""
        return next((s.unit.column for s in sources(self.node) if s.unit.column), "unit")

    def listed(self, table: str | None = None) -> Iterator[Column]:
        """Iterate over the columns that a star, or a name without its table, may stand for."""
        for column in self.columns:
            if not column.merged if table is None else folded(column.table) == folded(table):
                yield column

    def called(self, table: str) -> Rows:
        """Return the same rows as a table of a name."""
        columns = tuple(Column(table, c.name, c.held) for c in self.columns)
        units = tuple((table, name) for _, name in self.units)
        keys = tuple((table, name) for _, name in self.keys)
        return replace(self, columns=columns, units=units, keys=keys, unmatched=())

    def apart_from(self, taken: Sequence[str]) -> Rows:
        """Return the same rows, with columns that are called otherwise than those of others."""
        others = {folded(name) for name in taken}
        if not any(folded(c.held) in others for c in self.columns):
            return self
        held, new = list[str](), list[Column]()
        for c in self.columns:
            name = c.held
            if folded(name) in others:
                name = unused(f"{c.table}.{c.name}", [*taken, *held])
            held.append(name)
            new.append(replace(c, held=name))
        pairs = dict(zip(held, (Name(c.held) for c in self.columns), strict=True))
        return replace(self, node=Project(self.node, tuple(pairs.items())), columns=tuple(new))


def mark(column: exp.Column, name: str) -> None:
    """Remember that a column was looked up, and what the question calls it."""
    column.meta[_FOUND] = name


def is_found(column: exp.Column) -> bool:
    """Say whether a column was looked up already."""
    return _FOUND in column.meta


def own_name(column: exp.Column) -> str:
    """Return what the question calls a column, looked up or not."""
    return str(column.meta.get(_FOUND) or column.name)


def called(node: exp.Expression, expr: Expr) -> str:
    """Return what a column is called that nobody names: as it is where it comes from."""
    return own_name(node) if isinstance(node, exp.Column) else shown(expr)


def of_source(source: Source, table: str, others: Iterable[Source]) -> Rows:
    """Return the rows of a table under its name.

    Args:
        source: the table.
        table: what the question calls it.
        others: all tables: their links say which columns are keys.
    """
    columns = tuple(Column(table, name, name) for name in source.columns)
    units = [source.owner] if source.is_direct and source.owner is not None else []
    keys = [*source.unseen, *(link.column for link in source.links)]
    keys += [link.key for each in others for link in each.links if link.table == source.name]
    hidden = [name for name in dict.fromkeys(keys) if name not in (*source.columns, *units)]
    return Rows(
        source, columns, tuple((table, u) for u in units), tuple((table, key) for key in hidden)
    )
