"""A query in FROM: rows made of rows, each still of one unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sqlglot import exp

from sfumato.core.errors import ExpressionError, QueryError
from sfumato.relation.bound import most_rows, truncated
from sfumato.relation.expr import Call, Expr, Name, typed
from sfumato.relation.kind import Truth
from sfumato.relation.node import (
    Distinct,
    Filter,
    Node,
    PerUnit,
    Project,
    Union,
    carries,
    scope,
    size,
)
from sfumato.relation.source import folded, unused
from sfumato.relation.summary import Function, Summary
from sfumato.sql.aggregate import Aggregate, aggregate, has_aggregate, is_aggregate
from sfumato.sql.catalog import Catalog
from sfumato.sql.group import keys_in, selected
from sfumato.sql.place import piece, pointing
from sfumato.sql.rows import Rows, called, is_found, mark
from sfumato.sql.select import check_clauses, filled
from sfumato.sql.source import From, Named, relabeled, renamed
from sfumato.sql.translation import translated

MOST_STEPS = 500  # of a plan; a query that is named and used twice counts twice
_SUMMARIES = ("count", "sum", "mean", "min", "max")


class Binder:
    """Binds queries to the tables of a session.

    Args:
        catalog: the tables.
        text: the question.
    """

    def __init__(self, catalog: Catalog, text: str) -> None:
        """Keep what names mean."""
        self.catalog, self.text = catalog, text

    def filtered(self, select: exp.Select, named: Named) -> Rows:
        """Return the rows of FROM that WHERE keeps."""
        check_clauses(select, self.text)
        found, conditions = From(self.catalog, named, self.text, self.rows).rows(select)
        return found.where(conditions, self.text)

    def with_queries(self, query: exp.Query, named: Named) -> Named:
        """Return the queries that WITH names, beside those known before."""
        clause = query.args.get("with_")
        if clause is None:
            return named
        if clause.args.get("recursive"):
            with pointing(clause, self.text):
                raise QueryError("WITH RECURSIVE has no end that is known. Leave out RECURSIVE.")
        known = dict(named)
        for each in clause.expressions:
            with pointing(each, self.text):
                if not isinstance(each.this, exp.Query):
                    raise QueryError("WITH names queries: WITH night AS (SELECT ...).")
                known[folded(each.alias)] = relabeled(
                    self.rows(each.this, known), each.args["alias"]
                )
        return known

    def rows(self, query: exp.Query, named: Named) -> Rows:
        """Return the rows that a query in FROM has."""
        found = self._rows(query, named)
        if size(found.node) > MOST_STEPS:
            with pointing(query, self.text):
                raise QueryError(
                    f"this makes a plan of more than {MOST_STEPS} steps, in which a query that is "
                    f"used twice counts twice, and every step is checked at each use. Put the "
                    f"conditions of some queries together with OR."
                )
        return found

    def _rows(self, query: exp.Query, named: Named) -> Rows:
        while isinstance(query, exp.Subquery):
            query = query.this
        named = self.with_queries(query, named)
        if isinstance(query, exp.SetOperation):
            return self._united(query, named)
        if not isinstance(query, exp.Select):
            with pointing(query, self.text):
                raise QueryError("a query in FROM begins with SELECT.")
        for clause in ("limit", "offset", "order"):
            if query.args.get(clause) is not None:
                with pointing(query.args[clause], self.text):
                    raise QueryError(
                        f"{clause.upper()} inside of FROM would choose rows by their neighbors, "
                        f"and one unit's row could push out another's. Use it on the answer."
                    )
        found = self.filtered(query, named)
        if query.args.get("group") is not None or any(map(has_aggregate, query.expressions)):
            picked = self._grouped(query, found)
        elif query.args.get("having") is not None:
            with pointing(query.args["having"], self.text):
                raise QueryError("HAVING needs groups. Write WHERE, or GROUP BY first.")
        else:
            picked = self._picked(query, found)
        distinct = query.args.get("distinct")
        return picked if distinct is None else self._distinct(picked, distinct)

    def _picked(self, query: exp.Select, found: Rows) -> Rows:
        """Return the columns that are selected, under their names."""
        columns: list[tuple[str, Any]] = []
        units: list[tuple[str, str]] = []
        places: list[int] = []
        keys: list[tuple[str, str]] = []
        for place, item in enumerate(query.expressions):
            with pointing(item, self.text):
                node = item.unalias()
                star = node if isinstance(node, exp.Star) else node.this
                if isinstance(star, exp.Star) and isinstance(node, exp.Star | exp.Column):
                    if set(filled(node)) - {"this", "table"} or filled(star):
                        raise ExpressionError(
                            "a star stands for all columns. List those that you want instead."
                        )
                    table = node.table if isinstance(node, exp.Column) else None
                    seen = {(name, expr) for name, expr in columns}
                    listed = ((c.name, Name(c.held)) for c in found.listed(table))
                    columns += [each for each in dict.fromkeys(listed) if each not in seen]
                    units += [("", unit) for t, unit in found.units if table in (None, t)]
                    keys += [("", key) for t, key in found.keys if table in (None, t)]
                elif isinstance(node, exp.Column) and found.is_key(node):
                    if folded(item.alias or node.name) != folded(node.name):
                        raise ExpressionError(
                            f"{node.name!r} holds keys, which joins find by their own name. Leave "
                            f"out AS."
                        )
                    keys.append(("", node.name))
                elif found.is_unit(node, self.text):
                    units.append(("", item.alias or node.name))
                    places.append(place)
                else:
                    expr = found.expression(node, self.text)
                    columns.append((item.alias or called(node, expr), expr))
        self._check_columns(columns, query)
        with pointing(query.expressions[0], self.text):
            done = replace(renamed(found, columns), keys=tuple(dict.fromkeys(keys)))
            return replace(done, units=tuple(dict.fromkeys(units)), places=tuple(places))

    def _check_columns(self, columns: Sequence[Any], query: exp.Select) -> None:
        if not columns:
            with pointing(query, self.text):
                raise QueryError(
                    "this query selects the unit or keys alone, and a table needs a column beside "
                    "them. Count units with COUNT(DISTINCT ...), or select another column, or a "
                    "number of the unit's rows, as well."
                )

    def _distinct(self, rows: Rows, clause: exp.Distinct) -> Rows:
        if clause.args.get("on") is not None:
            with pointing(clause, self.text):
                raise QueryError(
                    "DISTINCT ON keeps one of several different rows, and which one depends on "
                    "their order. Use SELECT DISTINCT."
                )
        if rows.units or not carries(rows.node):
            within = bool(rows.units)
            return replace(rows, node=Distinct(rows.node, within_unit=within), keys=())
        return replace(rows, node=merged(rows.node), units=(), keys=())

    def _united(self, query: exp.SetOperation, named: Named) -> Rows:
        with pointing(query, self.text):
            if not isinstance(query, exp.Union) or query.args.get("by_name"):
                raise QueryError(
                    "of set operations there are UNION ALL and UNION: in others one unit's row "
                    "decides about another's. Use WHERE with a condition."
                )
            first, second = self.rows(query.this, named), self.rows(query.expression, named)
            if (
                len(first.columns) != len(second.columns)
                or bool(first.units) != bool(second.units)
                or first.places != second.places
            ):
                raise QueryError(
                    "both sides of UNION need the same columns, in the same order, and the unit at "
                    "the same place in both or in none."
                )
            pairs = zip(first.columns, second.columns, strict=True)
            right = renamed(second, [(a.held, Name(b.held)) for a, b in pairs])
            left = renamed(first, [(c.held, Name(c.held)) for c in first.columns])
            node: Node = Union(left.node, right.node)
            both = tuple(key for key in first.keys if key in second.keys)
            rows = replace(first, node=node, keys=both)
            if query.args.get("distinct"):
                return self._distinct(rows, exp.Distinct())
            return rows

    def _grouped(self, query: exp.Select, found: Rows) -> Rows:
        """Return one row for each group, or for each unit, or for each unit and group."""
        group, items = query.args.get("group"), query.expressions
        listed = keys_in(group, items, self.text)
        if listed is None:
            with pointing(group, self.text):
                raise QueryError("several groupings are for the outer query. Group by columns.")
        keys = []
        for node in listed:
            with pointing(node, self.text):
                item = selected(node, items, found)
                keys.append(node if item is None else item.unalias())
        if any(found.is_unit(key, self.text) for key in keys):
            return self._per_unit(query, found, keys)
        if any(map(has_aggregate, items)):
            with pointing(group if group is not None else query, self.text):
                unit = f", by {found.unit!r}" if carries(found.node) else ""
                raise QueryError(
                    f"an aggregate in FROM is computed exactly, so it may see one unit only: group "
                    f"by the column that names the unit{unit}. For others, ask the inner query and "
                    f"compute with its answer."
                )
        return self._merged(query, found, keys)

    def _merged(self, query: exp.Select, found: Rows, keys: Sequence[Any]) -> Rows:
        """Return one row for each group of all units: DISTINCT of what names the groups."""
        having = query.args.get("having")
        if having is not None:
            with pointing(having, self.text):
                raise QueryError(
                    "HAVING in FROM chooses among the groups of one unit, and these are groups of "
                    "all. Write WHERE for a condition on what is grouped by; numbers of groups "
                    "are asked by themselves."
                )
        inner, names = self._with_keys(found, self._groups(query, found, keys))
        columns = []
        for item in query.expressions:
            with pointing(item, self.text):
                node = item.unalias()
                expr = inner.expression(node, self.text)
                columns.append((item.alias or called(node, expr), _over(expr, names, "group")))
        with pointing(query.args["group"], self.text):
            keyed = renamed(inner, [(name, Name(name)) for name in names.values()])
            merged = self._distinct(replace(keyed, units=()), exp.Distinct())
            return renamed(merged, columns)

    def _groups(self, query: exp.Select, found: Rows, keys: Sequence[Any]) -> dict[Expr, str]:
        """Return what is grouped by beside the unit, and what each is called."""
        groups: dict[Expr, str] = {}
        for key in keys:
            if not found.is_unit(key, self.text):
                expr = found.expression(key, self.text)
                groups[expr] = self._key_name(key, expr, query, found)
        return groups

    def _meant(
        self, node: exp.Column, query: exp.Select, found: Rows, groups: Collection[Expr]
    ) -> Any:
        """Return what a name in HAVING stands for that SELECT gives.

        Where a column has the name, too, it is meant if it is grouped by, and inside of aggregates;
        else a number of SELECT is.
        """
        item = selected(node, query.expressions, found)
        column = found.has(node) and not found.hides(node)
        grouped = column and Name(found.find(node, self.text) or "") in groups
        if item is None and not (node.table or grouped or _inside_aggregate(node)):
            own = folded(node.name)
            named = (each for each in query.expressions if folded(each.alias) == own)
            item = next((each for each in named if has_aggregate(each)), None)
        return node if item is None else item.unalias()

    def _per_unit(self, query: exp.Select, found: Rows, keys: Sequence[Any]) -> Rows:
        inner, names = self._with_keys(found, self._groups(query, found, keys))
        made = _Summaries(self, inner, names)
        for item in query.expressions:
            if item.alias and is_aggregate(item.unalias()):
                made.named(item.unalias(), item.alias)
        columns: list[tuple[str, Expr]] = []
        units: list[tuple[str, str]] = []
        places: list[int] = []
        for place, item in enumerate(query.expressions):
            with pointing(item, self.text):
                node = item.unalias()
                if inner.is_unit(node, self.text):
                    units.append(("", item.alias or node.name))
                    places.append(place)
                    continue
                expr = made.expression(node)
                fallback = item.alias or called(node, expr)
                columns.append((fallback, expr))
        having = query.args.get("having")
        if having is not None:
            for column in list(having.find_all(exp.Column)):
                meant = self._meant(column, query, found, names)
                if meant is not column:
                    column.replace(meant.copy())
        condition = None if having is None else made.expression(having.this)
        with pointing(query, self.text):
            node = made.node()
            if condition is not None:
                node = Filter(node, condition)
            self._check_columns(columns, query)
            done = renamed(Rows(node, ()), columns)
            return replace(done, units=tuple(units), places=tuple(places))

    def _key_name(self, key: Any, expr: Expr, query: exp.Select, found: Rows) -> str:
        for item in query.expressions:
            node = item.unalias()
            if not item.alias or has_aggregate(node) or found.is_unit(node, self.text):
                continue
            if node is key or found.expression(node, self.text) == expr:
                return str(item.alias)
        return called(key, expr)

    def _with_keys(self, found: Rows, groups: Mapping[Expr, str]) -> tuple[Rows, dict[Expr, str]]:
        """Return the rows with a column for each group, and what it is called."""
        names, new = dict[Expr, str](), list[tuple[str, Expr]]()
        visible = scope(found.node)
        for expr, name in groups.items():
            if isinstance(expr, Name):
                names[expr] = expr.name
                continue
            held = unused(name, [*visible, *names.values(), found.unit])
            names[expr] = held
            new.append((held, expr))
        if not new:
            return found, names
        same = [(name, Name(name)) for name in visible]
        node = Project(found.node, (*same, *new))
        return replace(found, node=node), names


class _Summaries:
    """What is made of the rows of one unit, gathered from the expressions that use it."""

    def __init__(self, binder: Binder, rows: Rows, keys: dict[Expr, str]) -> None:
        self.binder, self.rows, self.keys = binder, rows, keys
        self.made: dict[Aggregate, str] = {}

    def expression(self, node: exp.Expression) -> Expr:
        """Translate an expression over aggregates and keys into one over the columns made."""
        text = self.binder.text
        if is_aggregate(node):
            return Name(self._column(node))
        inner = list(node.find_all(exp.Expression, bfs=True))
        for each in inner:
            if is_aggregate(each) and each.find_ancestor(exp.Filter, exp.WithinGroup) is None:
                column = exp.column(exp.to_identifier(self._column(each), quoted=True))
                mark(column, column.name)
                each.replace(column)
        expr = translated(node, text) if self._only_made(node) else self.rows.expression(node, text)
        return _over(expr, self.keys, "unit", self.made.values())

    def named(self, node: exp.Expression, alias: str) -> None:
        """Remember what an aggregate is called by the question itself."""
        with pointing(node, self.binder.text):
            found = aggregate(node, self.rows, self.binder.text)
        if found not in self.made and folded(alias) not in map(folded, self._taken):
            self.made[found] = alias

    def _only_made(self, node: exp.Expression) -> bool:
        return all(map(is_found, node.find_all(exp.Column)))

    def _column(self, node: exp.Expression) -> str:
        found = aggregate(node, self.rows, self.binder.text)
        if found.function not in _SUMMARIES:
            raise ExpressionError(
                f"of the rows of one unit there are COUNT, SUM, AVG, MIN and MAX: "
                f"{piece(node, self.binder.text)}. Ask the rest of the outer query."
            )
        if found not in self.made:
            self.made[found] = unused(found.name, self._taken)
        return self.made[found]

    @property
    def _taken(self) -> list[str]:
        """Names that mean something else: a column of the rows is not what is made of it."""
        columns = scope(self.rows.node)
        return [*columns, *self.keys.values(), *self.made.values(), self.rows.unit]

    def node(self) -> Node:
        """Return the relation with one row for each unit and group."""
        below = self.rows.node
        cap = most_rows(below) if self.made else 1
        summaries = []
        for found, name in self.made.items():
            expr = found.expr
            if expr is not None and found.function != "count":
                truth = isinstance(typed(expr, scope(below)).kind, Truth)
                expr = Call("integer", (expr,)) if truth else expr
            function = cast("Function", found.function)
            summaries.append((name, Summary(function, expr, cap)))
        return PerUnit(below, tuple(self.keys.values()), tuple(summaries))


def _inside_aggregate(node: exp.Expression) -> bool:
    above: Any = node.parent
    while above is not None and not isinstance(above, exp.Having):
        if is_aggregate(above):
            return True
        above = above.parent
    return False


def merged(node: Node) -> Node:
    """Return one of equal rows of all units; what counts of each is capped below."""
    if carries(node):
        node = truncated(Distinct(node, within_unit=True), ())
    return Distinct(node, within_unit=False)


def _over(expr: Expr, keys: Mapping[Expr, str], of: str, made: Iterable[str] = ()) -> Expr:
    """Return an expression over keys, and over what is made of the rows of a unit.

    Raises:
        ExpressionError: there is anything else in it.
    """
    found = _replaced(expr, keys)
    loose = set(_names(found)) - {*keys.values(), *made}
    if loose:
        raise ExpressionError(
            f"{sorted(loose)[0]!r} is neither grouped by nor in an aggregate, so that a {of} may "
            f"have several. Group by it, or take MIN or MAX."
        )
    return found


def _replaced(expr: Expr, names: Mapping[Expr, str]) -> Expr:
    """Return an expression with columns in place of parts that are computed already."""
    if expr in names:
        return Name(names[expr])
    if isinstance(expr, Call):
        return Call(expr.function, tuple(_replaced(each, names) for each in expr.arguments))
    return expr


def _names(expr: Expr) -> list[str]:
    if isinstance(expr, Name):
        return [expr.name]
    return [n for a in expr.arguments for n in _names(a)] if isinstance(expr, Call) else []
