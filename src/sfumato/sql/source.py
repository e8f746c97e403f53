"""FROM: the rows that a question is about, from tables, subqueries and joins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from sfumato.core.errors import QueryError, UnknownName
from sfumato.relation.expr import Constant, Name
from sfumato.relation.node import Join, Node, Project, refuse_itself, scope, sources
from sfumato.relation.source import folded, unused
from sfumato.sql.catalog import Catalog
from sfumato.sql.place import piece, pointing
from sfumato.sql.public import Public
from sfumato.sql.rows import Column, Rows, Unmatched, of_source
from sfumato.sql.select import conjuncts, filled, implied

Named = Mapping[str, Rows]  # the queries of WITH, by their names in lower case


Item = Rows | Public
MOST_TABLES = 25  # of one FROM: in which order they are joined is looked for


class From:
    """Reads one FROM with its joins.

    Args:
        catalog: the tables of the session.
        named: the queries of WITH.
        text: the question.
        subquery: binds a query in parentheses.
    """

    def __init__(
        self,
        catalog: Catalog,
        named: Named,
        text: str,
        subquery: Callable[[exp.Query, Named], Rows],
    ) -> None:
        """Keep what names mean."""
        self.catalog, self.named, self.text, self.subquery = catalog, named, text, subquery
        self._counted: list[exp.Column] = []

    def rows(self, select: exp.Select) -> tuple[Rows, list[Any]]:
        """Return the rows of a SELECT, and the conditions of WHERE that no join took.

        Raises:
            QueryError: a join, or something in FROM, that cannot be answered.
        """
        clause = select.args.get("from_")
        if clause is None:
            with pointing(select, self.text):
                raise QueryError(
                    "the question has no FROM, so it is about no table. Write SELECT COUNT(*) FROM "
                    "trips."
                )
        counts = (count.find(exp.Column) for count in select.find_all(exp.Count))
        self._counted = [column for column in counts if column is not None]
        where = select.args.get("where")
        conditions = conjuncts(where.this) if where is not None else []
        first = self.item(clause.this)
        joins = list(select.args.get("joins") or [])
        if len(joins) >= MOST_TABLES:
            with pointing(joins[MOST_TABLES - 1].this, self.text):
                raise QueryError(
                    f"this FROM has {len(joins) + 1:,} tables, and at most {MOST_TABLES} are "
                    f"joined. Join some of them in a query in FROM."
                )
        items = [self.item(join.this) for join in joins]
        self._check_names([first, *items], select)
        if isinstance(first, Public):
            first, joins, items = self._private_first(clause, first, joins, items)
        rows, left = first, list(zip(joins, items, strict=True))
        while left:
            place = self._next(rows, left, conditions)
            join, item = left.pop(place)
            rows, conditions = self._joined(rows, item, join, conditions)
        return rows, conditions

    def item(self, node: Any) -> Item:
        """Return one table, or subquery, of FROM."""
        with pointing(node, self.text):
            if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
                self._only(node, {"this", "alias"}, columns=True)
                public = self._public_query(node)
                if public is not None:
                    return public
                found = self.subquery(node.this, self.named)
                return relabeled(found, node.args.get("alias")).called(node.alias)
            if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
                raise QueryError(
                    f"FROM takes tables of the session and queries in parentheses, and this is "
                    f"neither: {piece(node, self.text)}. The tables are: {self._listed}."
                )
            self._only(node, {"this", "alias"})
            return self._table(node.name, node.alias or node.name)

    def _public_query(self, node: exp.Subquery) -> Public | None:
        """Return a query that only chooses rows and columns of a public table; None for others."""
        select, alias = node.this, node.args.get("alias")
        clause = select.args.get("from_") if isinstance(select, exp.Select) else None
        table = None if clause is None else clause.this
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            return None
        if alias is None or alias.args.get("columns"):
            return None
        others = [*self.named, *map(folded, self.catalog.private)]
        if folded(table.name) in others or folded(table.name) not in map(
            folded, self.catalog.public
        ):
            return None
        inner = self.item(table)
        found = inner.chosen(select, self.text) if isinstance(inner, Public) else None
        return None if found is None else replace(found, table=node.alias)

    def _table(self, name: str, called: str) -> Item:
        if folded(name) in self.named:
            return self.named[folded(name)].called(called)
        for own, source in self.catalog.private.items():
            if folded(own) == folded(name):
                return of_source(source, called, self.catalog.private.values())
        for own in self.catalog.public:
            if folded(own) == folded(name):
                return Public(own, called, tuple(self.catalog.columns(own)))
        names = [*self.catalog.private, *self.catalog.public, *self.named]
        near = get_close_matches(name, names, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownName(f"there is no table {name!r}; there are: {self._listed}.{hint}")

    @property
    def _listed(self) -> str:
        return ", ".join([*self.catalog.private, *self.catalog.public, *self.named])

    def _only(self, node: exp.Expression, allowed: set[str], *, columns: bool = False) -> None:
        for name in filled(node):
            if name not in allowed:
                raise QueryError(
                    f"FROM takes a table with a name, and no more: {piece(node, self.text)} has "
                    f"{name.strip('_')}. Leave it out."
                )
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns") and not columns:
            raise QueryError(
                "columns are renamed where they are selected, not behind the table's name. Write "
                "SELECT zone AS area."
            )

    def _check_names(self, items: list[Item], select: exp.Select) -> None:
        taken: set[str] = set()
        for item in items:
            tables = {folded(item.table)} if isinstance(item, Public) else item.tables
            for table in tables & taken:
                with pointing(select.args["from_"], self.text):
                    raise QueryError(
                        f"two tables of this FROM are called {table!r}. Name one otherwise: FROM "
                        f"trips AS a."
                    )
            taken |= tables

    def _private_first(
        self, clause: exp.From, first: Public, joins: list[Any], items: list[Item]
    ) -> tuple[Rows, list[Any], list[Item]]:
        """Begin with the first private table: an inner join is the same in any order."""
        for place, item in enumerate(items):
            if isinstance(item, Rows):
                if any(_side(join) != "inner" for join in joins[: place + 1]):
                    break
                joins = [joins[place], *joins[:place], *joins[place + 1 :]]
                moved = [first, *items[:place], *items[place + 1 :]]
                return item, joins, moved
        with pointing(clause, self.text):
            raise QueryError(
                f"the table {first.name!r} is public: nobody is protected by it, and it can be "
                f"read as it is. Join it to a private table, which stands on the left: FROM trips "
                f"LEFT JOIN {first.name} ON ..."
            )

    def _next(self, rows: Rows, left: list[tuple[Any, Item]], conditions: list[Any]) -> int:
        """Return which table is joined next: the first that a condition ties to the others."""
        for place, (join, item) in enumerate(left):
            if _side(join) != "inner" and place:
                break
            if join.args.get("using") or self._pairs(rows, item, [*_on(join), *conditions]):
                return place
            if _side(join) != "inner":
                return place
        return 0

    def _joined(
        self, rows: Rows, item: Item, join: exp.Join, conditions: list[Any]
    ) -> tuple[Rows, list[Any]]:
        with pointing(join.this, self.text):
            how = self._how(join)
            on = _on(join)
            own, pool = (on, conditions) if how == "inner" else (on, [])
            pairs = self._pairs(rows, item, [*own, *pool])
            for name in join.args.get("using") or []:
                column = exp.column(name.name)
                column.meta.update(name.meta)
                found = self._pair(rows, item, column, column)
                if found is None:
                    raise UnknownName(f"USING names {name.name!r}, which only one table has.")
                pairs.append((None, *found))
            if not pairs:
                self._refuse_unknown(rows, item, own)
            merged = {folded(name.name) for name in join.args.get("using") or []}
            used = [id(condition) for condition, *_ in pairs]
            rest = [condition for condition in own if id(condition) not in used]
            if how == "left":
                item, rest = self._filtered(item, rows, rest)
            if rest and how == "left":
                with pointing(rest[0], self.text):
                    raise QueryError(
                        f"a LEFT JOIN takes columns that are equal and conditions on the right "
                        f"table alone, and this is more: {piece(rest[0], self.text)}. Use CASE "
                        f"behind the join for what depends on the left one."
                    )
            left = [*rest, *(each for each in conditions if id(each) not in used)]
            equal = [pair[1:] for pair in pairs]
            if isinstance(item, Public):
                return self._with_public(rows, item, equal, how, merged), left
            return self._with_private(rows, item, equal, how, merged), left

    def _refuse_unknown(self, rows: Rows, item: Item, conditions: list[Any]) -> None:
        """Refuse a name in ON that neither side has: a slip, and not a condition left out."""
        for column in (c for each in conditions for c in each.find_all(exp.Column)):
            there = item.find(column) if isinstance(item, Public) else item.has(column)
            if not there and not rows.has(column):
                with pointing(column, self.text):
                    raise UnknownName(
                        f"ON names {piece(column, self.text)}, a column that neither side of the "
                        f"join has. Name one of each side: ON a.zone = b.zone."
                    )

    def _filtered(self, item: Item, rows: Rows, conditions: list[Any]) -> tuple[Item, list[Any]]:
        """Filter the right side of a LEFT JOIN by conditions of ON that are about it alone."""
        own: list[Any] = []
        left: list[Any] = []
        for condition in conditions:
            columns = list(condition.find_all(exp.Column))
            seen = [item.find(c) if isinstance(item, Public) else item.has(c) for c in columns]
            alone = columns and all(seen) and not any(map(rows.has, columns))
            (own if alone else left).append(condition)
        return item.where(own, self.text), left

    def _how(self, join: exp.Join) -> str:
        side = _side(join)
        if join.args.get("method"):
            raise QueryError(
                "NATURAL and ASOF joins find their columns by themselves. Name them: JOIN ... "
                "USING (zone)."
            )
        if side in ("inner", "left"):
            return side
        if side in ("semi", "anti"):
            raise QueryError(
                f"a {side.upper()} JOIN is not read. Join with a query that has one row for each "
                f"unit: JOIN (SELECT DISTINCT ...) USING (...)."
            )
        raise QueryError(
            f"a {side.upper()} JOIN would show which rows nobody has. Use JOIN, or LEFT JOIN with "
            f"the private table on the left."
        )

    def _pairs(self, rows: Rows, item: Item, conditions: list[Any]) -> list[tuple[Any, Any, Any]]:
        """Return the conditions that say that a column here equals one of the new table."""
        found = []
        for condition in (each for given in conditions for each in implied(given)):
            if not isinstance(condition, exp.EQ):
                continue
            sides = condition.this, condition.expression
            if not all(isinstance(side, exp.Column) for side in sides):
                continue
            pair = self._pair(rows, item, *sides) or self._pair(rows, item, *reversed(sides))
            if pair is not None:
                found.append((condition, *pair))
        return found

    def _pair(
        self, rows: Rows, item: Item, here: exp.Column, there: exp.Column
    ) -> tuple[Any, Any] | None:
        """Return what two sides are called, if the first is here and the second in the new one."""
        if not rows.has(here):
            return None
        if isinstance(item, Public):
            name = item.find(there)
            return None if name is None else (here, name)
        return (here, there) if item.has(there) else None

    def _with_private(
        self,
        rows: Rows,
        other: Rows,
        pairs: list[tuple[Any, Any]],
        how: str,
        merged: set[str],
    ) -> Rows:
        """Join two private relations: rows meet those of their own unit alone."""
        if not pairs:
            raise QueryError(
                "two private tables are joined on no column, so that all rows of a unit would "
                "meet. Write ON with the column that names the unit on both sides, or along a link "
                "that the owner declared."
            )
        refuse_itself(rows.node, other.node)
        other = other.apart_from(list(scope(rows.node)))
        on: dict[str, str] = {}
        for here, there in pairs:
            held, met = rows.joined_by(here, self.text), other.joined_by(there, self.text)
            rows, held = self._once_more(rows, on, held, met, scope(other.node))
            on[held] = met
        if not any(_owned(rows, other, here, there) for here, there in pairs) and not any(
            _linked(rows.node, other.node, *pair) for pair in on.items()
        ):
            raise QueryError(
                f"this join would let rows of different units meet, and then nobody could say "
                f"whose a row is. Join on the unit as well: AND {_named(rows)} = {_named(other)}."
            )
        units, unmatched = other.units, rows.unmatched
        if how == "left":  # of a row that meets nobody what it would have met by is NULL, too
            other = _twice(other, set(on.values()), merged, scope(rows.node))
            other = self._marked(other, scope(rows.node))
            units, unmatched = (), (*unmatched, *other.unmatched)
        node = self.catalog.together(
            rows.node, other.node, on, "left" if how == "left" else "inner"
        )
        seen = scope(node)
        same = {**on, **{there: here for here, there in on.items()}}
        columns = [
            c if c.held in seen else replace(c, held=same[c.held])
            for c in (*rows.columns, *other.columns)
        ]
        units, keys = (*rows.units, *units), (*rows.keys, *other.keys)
        return Rows(node, tuple(columns), units, keys, unmatched=unmatched)

    def _marked(self, rows: Rows, taken: Iterable[str]) -> Rows:
        """Return the right side of a LEFT JOIN, with a column that tells matches if they count.

        The unit itself is in no column, so that its absence would not show.
        """
        units = rows.units or tuple((table, "") for table in sorted(rows.tables))
        named = replace(rows, unmatched=tuple(Unmatched(*unit, None) for unit in units))
        if not any(map(named.unmatched_unit, self._counted)):
            return named
        own = list(scope(rows.node))
        met = unused(f"{named.unmatched[0].table} met", [*own, *taken])
        node = Project(rows.node, (*((name, Name(name)) for name in own), (met, Constant(1))))
        marked = tuple(replace(each, met=met) for each in named.unmatched)
        return replace(rows, node=node, unmatched=marked)

    def _once_more(
        self, rows: Rows, on: Mapping[str, str], held: str, met: str, taken: Iterable[str]
    ) -> tuple[Rows, str]:
        """Return rows and the column of theirs that meets another; a copy, if it meets one already.

        Args:
            rows: the rows.
            on: the columns that meet one, and which.
            held: the column.
            met: what it meets now.
            taken: names that a copy must not have.

        Raises:
            QueryError: it names the unit or holds keys, which are those of one column.
        """
        if on.get(held, met) == met:
            return rows, held
        visible = scope(rows.node)
        if held not in visible:
            raise QueryError(
                f"{held!r} leads to single units, and here it would have to equal two columns. "
                f"Join it with the one that names the same."
            )
        copy = unused(f"{held} again", [*visible, *taken])
        every = [(name, Name(name)) for name in visible]
        return replace(rows, node=Project(rows.node, (*every, (copy, Name(held))))), copy

    def _with_public(
        self,
        rows: Rows,
        public: Public,
        pairs: list[tuple[Any, str]],
        how: str,
        merged: set[str],
    ) -> Rows:
        if not pairs:
            raise QueryError(
                f"the public table {public.name!r} is joined on no column, so every row would meet "
                f"all of it. Write ON {public.table}.key = ..., with columns that are equal."
            )
        on: dict[str, str] = {}
        for here, there in pairs:
            held = rows.find(here, self.text)
            if held is None:
                raise QueryError(
                    f"{here.name!r} names the unit, and what a public table knows of single units "
                    f"would tell them apart. Join it by another column."
                )
            rows, held = self._once_more(rows, on, held, there, public.columns)
            on[held] = there
        table = self.catalog.snapshot(public.name, on, scope(rows.node), public.conditions)
        taken = list(scope(rows.node))
        renamed = []
        for name, kind, codes in (each for each in table.columns if each[0] in public.columns):
            held = unused(name, taken) if folded(name) not in map(folded, taken) else None
            held = held or unused(f"{public.table}.{name}", taken)
            taken.append(held)
            renamed.append((name, held, kind, codes))
        if how == "left":  # of a row that meets nobody the key is NULL, too
            for (_, kind, codes), there in zip(table.keys, on.values(), strict=True):
                held = unused(f"{public.table}.{there}", taken)
                taken.append(held)
                renamed.append((there, held, kind, codes))
        added = replace(table, columns=tuple((held, kind, at) for _, held, kind, at in renamed))
        columns = [
            Column(public.table, name, held, folded(name) in merged) for name, held, *_ in renamed
        ]
        if how != "left":  # the public side of a key is the private one, wherever they met
            columns += [Column(public.table, there, here) for here, there in on.items()]
        node = Join(rows.node, added, "left" if how == "left" else "inner")
        found = replace(rows, node=node, columns=(*rows.columns, *columns))
        if how != "left":
            return found
        met = Unmatched(public.table, "", renamed[-1][1])  # a key, which is there where rows met
        return replace(found, unmatched=(*rows.unmatched, met))


def _on(join: exp.Join) -> list[Any]:
    return conjuncts(join.args.get("on"))


def _side(join: exp.Join) -> str:
    side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
    if kind.upper() in ("SEMI", "ANTI", "OUTER") and not side:
        return kind.lower()
    return side.lower() or "inner"


def _owned(rows: Rows, other: Rows, here: exp.Column, there: exp.Column) -> bool:
    """Say whether a pair of columns names the unit on both sides."""
    return all(
        any(folded(column.name) == folded(name) for _, name in side.units)
        for side, column in ((rows, here), (other, there))
    )


def _twice(rows: Rows, joined: set[str], merged: set[str], taken: Iterable[str]) -> Rows:
    """Return rows whose columns in a join are there once more, for whoever asks about them."""
    own = list(scope(rows.node))
    others = [*own, *taken]
    copies = {name: unused(f"{name} met", others) for name in own if name in joined}
    if not copies:
        return rows
    every = [(name, Name(name)) for name in own]
    node = Project(rows.node, (*every, *((copy, Name(name)) for name, copy in copies.items())))
    columns = [
        replace(c, held=copies[c.held], merged=folded(c.name) in merged) if c.held in copies else c
        for c in rows.columns
    ]
    return replace(rows, node=node, columns=tuple(columns))


def _linked(first: Node, second: Node, here: str, there: str) -> bool:
    """Say whether the owner declared that one of two columns holds keys of the other."""
    ends = ((first, second, here, there), (second, first, there, here))
    for child, parent, column, key in ends:
        tables = {source.name for source in sources(parent)}
        for link in (link for source in sources(child) for link in source.links):
            if (link.column, link.key) == (column, key) and link.table in tables:
                return True
    return False


def _named(rows: Rows) -> str:
    table, name = next(iter(rows.units), ("", rows.unit))
    return f"{table}.{name}" if table else name


def relabeled(rows: Rows, alias: Any) -> Rows:
    """Return rows whose columns have the names that follow a table's: AS totals (rider, total)."""
    names = [each.name for each in (alias.args.get("columns") or [])] if alias is not None else []
    if not names:
        return rows
    size = len(rows.columns) + len(rows.places)
    if len(names) != size:
        raise QueryError(
            f"there are {len(names)} names for {size} columns. Name each once, in their order."
        )
    units = tuple(("", names[place]) for place in rows.places)
    others = [name for place, name in enumerate(names) if place not in rows.places]
    pairs = zip(rows.columns, others, strict=True)
    return replace(rows, columns=tuple(replace(c, name=name) for c, name in pairs), units=units)


def renamed(rows: Rows, columns: list[tuple[str, Any]]) -> Rows:
    """Return rows with these columns alone, each as an expression, under these names."""
    same = {name: Name(name) for name in scope(rows.node)}
    whole = len(columns) == len(same) and dict(columns) == same
    node = rows.node if whole else Project(rows.node, tuple(columns))
    named = tuple(Column("", name, name) for name, _ in columns)
    return replace(rows, node=node, columns=named, unmatched=())
