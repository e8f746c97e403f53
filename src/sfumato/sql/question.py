"""The outer SELECT: what is asked of which groups, and what is computed from the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from sqlglot import exp

from sfumato.core.errors import ExpressionError, QueryError
from sfumato.relation.expr import Call, Constant, Expr, Name, typed
from sfumato.relation.kind import Kind
from sfumato.relation.node import Node, Project, scope
from sfumato.relation.source import folded, unused
from sfumato.sql.aggregate import (
    RANKS,
    SAMPLE_NOTE,
    Aggregate,
    aggregate,
    has_aggregate,
    is_aggregate,
    no_aggregate,
)
from sfumato.sql.catalog import Catalog
from sfumato.sql.formula import Formulas, rounding
from sfumato.sql.group import at_place, grouping_sets, keys_in, left_by, selected
from sfumato.sql.place import Span, piece, pointing, span
from sfumato.sql.rows import called, own_name
from sfumato.sql.select import whole
from sfumato.sql.statement import Statement
from sfumato.sql.subquery import Binder


@dataclass(frozen=True, slots=True)
class Shown:
    """A number of the answer.

    Attributes:
        name: what its column is called.
        formula: what it is computed from, over the numbers asked; None if it is one of them.
        step: what it is rounded to; None if it is not.
        span: where it stands in the question.
    """

    name: str
    formula: str | None = None
    step: Fraction | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A column by which the answer is sorted.

    Attributes:
        name: the column.
        descending: whether the largest comes first.
        nulls_first: whether all groups together come before each of them.
    """

    name: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        """Say it."""
        return f"{self.name}{' descending' * self.descending}{', NULL first' * self.nulls_first}"


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """A question in SQL, bound to the tables of a session.

    Attributes:
        text: what was typed.
        node: the relation that is asked.
        sets: the columns of each grouping; one, unless there are several.
        listed: for some of these columns, the values that the question leaves.
        asked: the numbers that are asked of each group, by name.
        shown: the numbers of the answer, in order.
        having: the condition on what is released.
        order: by what the answer is sorted.
        limit: how many rows are shown; None for all.
        offset: how many are left out before.
        notes: what the answer says beside its own notes.
        places: where the groupings stand in the question, and HAVING under that name.
    """

    text: str
    node: Node
    sets: tuple[tuple[str, ...], ...]
    listed: Mapping[str, tuple[Any, ...]]
    asked: Mapping[str, Aggregate]
    shown: tuple[Shown, ...]
    having: str | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    notes: tuple[str, ...] = ()
    places: Mapping[str, Span | None] = field(default_factory=dict)


def question(statement: Statement, catalog: Catalog) -> SqlQuestion:
    """Bind a statement to tables.

    Raises:
        QueryError: something that cannot be asked of private data.
    """
    tree, text = statement.tree, statement.text
    if not isinstance(tree, exp.Select):
        with pointing(tree, text):
            raise QueryError(
                "answers are not put below one another: each is paid for by itself. Unite the rows "
                "in FROM, as SELECT COUNT(*) FROM (SELECT ... UNION ALL SELECT ...), or ask twice."
            )
    return _Outer(tree, text, catalog).question()


class _Outer:
    def __init__(self, select: exp.Select, text: str, catalog: Catalog) -> None:
        self.select, self.text = select, text
        binder = Binder(catalog, text)
        self.rows = binder.filtered(select, binder.with_queries(select, {}))
        self.keys: dict[Expr, str] = {}  # what is grouped by, and the name of its column
        self.asked: dict[str, Aggregate] = {}
        self.aliases = {folded(item.alias): item for item in select.expressions if item.alias}
        self.places: dict[str, Span | None] = {}
        self.formulas = self._formulas(self._released)

    def _formulas(self, named: Callable[[Any], str | None]) -> Formulas:
        return Formulas(self.text, named, self.keys.values(), self._kind)

    def question(self) -> SqlQuestion:
        """Bind the clauses in the order in which they are computed."""
        self._check()
        if not any(map(has_aggregate, self._places_of_numbers())):
            self._refuse_rows()
        sets = [[self._key(node) for node in one] for one in self._grouping()]
        shown = self._shown()
        if not shown:
            self._refuse_rows()
        having, order = self._having(), self._order()
        if having is not None and not any(sets):
            with pointing(self.select.args["having"], self.text):
                raise QueryError(
                    "HAVING chooses among groups, and there is one answer. Leave it out, or write "
                    "WHERE for a condition on rows."
                )
        node, names = self._with_keys()
        moved = {name: replace(a, expr=_moved(a.expr, names)) for name, a in self.asked.items()}
        kinds = scope(node)
        listed = {}
        for key in dict.fromkeys(key for one in sets for key in one):
            values = left_by(node, key, kinds[key])
            if values is not None:
                listed[key] = values
        args = self.select.args
        limit = None if args.get("limit") is None else whole(args["limit"], "LIMIT", self.text)
        skipped = args.get("offset")
        offset = 0 if skipped is None else whole(skipped, "OFFSET", self.text) or 0
        if not any(sets) and (limit == 0 or offset):
            with pointing(skipped if offset else args["limit"], self.text):
                raise QueryError(
                    "there is one answer, and this would show nothing of it. Leave it out."
                )
        samples = any(each.sample for each in moved.values())
        return SqlQuestion(
            self.text,
            node,
            tuple(tuple(one) for one in sets),
            listed,
            moved,
            tuple(shown),
            having,
            tuple(order),
            limit,
            offset,
            (SAMPLE_NOTE,) if samples else (),
            self.places,
        )

    def _places_of_numbers(self) -> list[Any]:
        having, order = self.select.args.get("having"), self.select.args.get("order")
        return [*self.select.expressions, *(each for each in (having, order) if each is not None)]

    def _check(self) -> None:
        for item in self.select.expressions:
            node = item.unalias()
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and node.is_star):
                with pointing(node, self.text):
                    raise QueryError(
                        "rows are private, and a star would show them. Ask for numbers: SELECT "
                        "COUNT(*), AVG(fare). session.dummy() has look-alike rows, free."
                    )
            if isinstance(node, exp.Window):  # a column beside it is not what is wrong
                with pointing(node, self.text):
                    raise no_aggregate(node, self.text)

    def _refuse_rows(self) -> None:
        with pointing(self.select.expressions[0], self.text):
            first: Any = self.select.expressions[0].unalias()
            if isinstance(first, exp.Column) and self.rows.hides(first):
                raise QueryError(
                    f"{first.name!r} leads to single units, and nobody may see those. Count units: "
                    f"SELECT COUNT(DISTINCT {first.name}) FROM ..."
                )
            called = isinstance(first, exp.Func)
            if called:
                try:
                    self.rows.expression(first, self.text)
                except ExpressionError:
                    raise no_aggregate(first, self.text) from None
            grouped = piece(first, self.text).partition(" (line")[0].strip("'")
            raise QueryError(
                f"the question asks for no number, and rows themselves are private. Count them: "
                f"SELECT {grouped}, COUNT(*) FROM ... GROUP BY {grouped}."
            )

    # ---- groups ----------------------------------------------------------------------------------

    def _grouping(self) -> list[list[Any]]:
        if self.select.args.get("distinct") is not None:
            with pointing(self.select.expressions[0], self.text):
                raise QueryError(
                    "the groups of an answer are different anyway. Leave out DISTINCT; count "
                    "different values with COUNT(DISTINCT x)."
                )
        plain = keys_in(self.select.args.get("group"), self.select.expressions, self.text)
        if plain is None:
            return grouping_sets(self.select.args["group"], self.text)
        return [list(dict.fromkeys(plain))]

    def _key(self, node: Any) -> str:
        """Return the name of the column that a grouping stands for, and remember what it is."""
        with pointing(node, self.text):
            item = selected(node, self.select.expressions, self.rows)
            meant = node if item is None else item.unalias()
            if is_aggregate(meant) or has_aggregate(meant):
                raise QueryError(
                    f"GROUP BY takes what a row has, and {piece(meant, self.text)} is computed "
                    f"from several. Group by a column, or filter with HAVING."
                )
            if self.rows.is_unit(meant, self.text):
                raise QueryError(
                    f"{piece(meant, self.text)} names the unit: an answer for each unit is what "
                    f"the guarantee forbids. Use it in a subquery that makes one row of each: "
                    f"SELECT AVG(total) FROM (SELECT {meant.name}, SUM(x) AS total FROM ... GROUP "
                    f"BY {meant.name})."
                )
            expr = self.rows.expression(meant, self.text)
            if isinstance(expr, Constant):
                raise QueryError(
                    "GROUP BY a constant makes one group of all. Leave it out; the name of a "
                    "column goes in double quotes, or in none."
                )
            if expr not in self.keys:
                self.keys[expr] = self._key_name(meant, expr, item)
                self.places[self.keys[expr]] = span(node)
            return self.keys[expr]

    def _key_name(self, node: Any, expr: Expr, item: Any) -> str:
        """Return what a column of groups is called: as SELECT names it, else as it is written."""
        if item is not None and item.alias:
            return str(item.alias)
        for each in self.select.expressions:
            meant = each.unalias()
            if not each.alias or has_aggregate(meant) or self.rows.is_unit(meant, self.text):
                continue
            if meant is node or self.rows.expression(meant, self.text) == expr:
                return str(each.alias)
        return unused(called(node, expr), self.keys.values())

    def _with_keys(self) -> tuple[Node, dict[str, str]]:
        """Return the relation with a column for each key; and columns that had to be renamed."""
        node, visible = self.rows.node, scope(self.rows.node)
        if all(expr == Name(name) for expr, name in self.keys.items()):
            return node, {}
        new = {name: expr for expr, name in self.keys.items()}
        moved: dict[str, str] = {}
        columns: list[tuple[str, Expr]] = []
        for name in visible:
            hidden = next((k for k in new if folded(k) == folded(name)), None)
            if hidden is not None and new[hidden] != Name(name):
                moved[name] = unused(f"{name} of the rows", [*visible, *new, *moved.values()])
                columns.append((moved[name], Name(name)))
            elif hidden is None:
                columns.append((name, Name(name)))
        return Project(node, (*columns, *new.items())), moved

    # ---- numbers ---------------------------------------------------------------------------------

    def _shown(self) -> list[Shown]:
        shown: list[Shown] = []
        keys: list[str] = []
        for item in self.select.expressions:
            with pointing(item, self.text):
                node = item.unalias()
                if node.find(exp.Grouping) is not None:
                    raise QueryError(
                        "GROUPING is not needed: rows without a key are in no group, so NULL in a "
                        "column of groups always stands for all of them. Leave it out."
                    )
                if not has_aggregate(node):
                    keys.append(self._key_in_select(node, keys))
                    continue
                bare, step = rounding(node)
                if is_aggregate(bare):
                    name = self._number(bare, item.alias)
                    if any(each.name == name for each in shown):  # asked twice, shown twice
                        name = self._number(bare, unused(name, self._taken))
                    shown.append(Shown(name, None, step, span(item)))
                    continue
                formula = self.formulas.number(bare)
                taken = [*self._taken, *(s.name for s in shown)]
                name = item.alias or unused("value", taken)
                if any(folded(name) == folded(each) for each in taken):
                    raise ExpressionError(
                        f"two columns of the answer would be called {name!r}. Name one otherwise, "
                        f"with AS."
                    )
                shown.append(Shown(name, formula, step, span(item)))
        return shown

    def _key_in_select(self, node: Any, before: Sequence[str]) -> str:
        """Return the group that is selected; an answer has a column for each, once."""
        name = self._released(node)
        if name is not None and name in before:
            raise QueryError(
                f"this is the column {name!r} again, and an answer has each column of groups once. "
                f"Leave it out."
            )
        if name is not None:
            return name
        if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            raise ExpressionError(
                f"{piece(node, self.text)} is the same for every row, and no part of an answer. "
                f"Leave it out."
            )
        what = piece(node, self.text)
        raise ExpressionError(
            f"{what} is neither grouped by nor in an aggregate, so that a group may have several. "
            f"Group by it, or take AVG, MIN or MAX."
        )

    def _number(self, node: Any, alias: str = "") -> str:
        """Return the name of an aggregate; asked once for each name."""
        found = aggregate(node, self.rows, self.text)
        if not alias:
            known = next((name for name, each in self.asked.items() if each == found), None)
            if known is not None:
                return known
        name = alias or unused(found.name, [*self._taken, *self.aliases])
        if name in self.asked or name in self.keys.values():
            raise ExpressionError(
                f"two columns of the answer would be called {name!r}. Name one otherwise, with AS."
            )
        self.asked[name] = found
        return name

    @property
    def _taken(self) -> list[str]:
        return [*self.asked, *self.keys.values()]

    def _released(self, node: Any, *, in_select: bool = True) -> str | None:
        """Return the name of the column of the answer that a node is.

        What a row has goes before what SELECT names so, as in standard SQL. Outside of SELECT a
        name that is no group may still be one that SELECT gives.
        """
        if is_aggregate(node):
            return self._number(node)
        if node.find(exp.Query) is not None:
            return None
        named, of_rows = self._named(node), isinstance(node, exp.Column) and self.rows.has(node)
        if named is not None and not of_rows:
            return named
        if has_aggregate(node) or self.rows.is_unit(node, self.text):
            return None
        found = self.keys.get(self.rows.expression(node, self.text))
        return named if found is None and not in_select else found

    def _named(self, node: Any) -> str | None:
        """Return the column of the answer that is called so: a group, or a number in SELECT."""
        if not isinstance(node, exp.Column) or node.table:
            return None
        own = folded(own_name(node))
        item = self.aliases.get(own)
        if item is not None and has_aggregate(item.unalias()):
            return str(item.alias)
        return next((name for name in self.keys.values() if folded(name) == own), None)

    def _kind(self, name: str) -> Kind | None:
        """Return the kind of a column of the answer, where it is a key or a rank."""
        ranked = self.asked[name].expr if name in self.asked else None
        expr = next((expr for expr, key in self.keys.items() if key == name), ranked)
        if expr is None or (ranked is not None and self.asked[name].function not in RANKS):
            return None
        return typed(expr, scope(self.rows.node)).kind

    # ---- afterwards ------------------------------------------------------------------------------

    def _having(self) -> str | None:
        having = self.select.args.get("having")
        if having is None:
            return None
        self.places["HAVING"] = span(having)
        return self._formulas(partial(self._released, in_select=False)).condition(having.this)

    def _order(self) -> list[Order]:
        order = self.select.args.get("order")
        found = []
        for each in [] if order is None else self._each_of(order.expressions):
            with pointing(each, self.text):
                node, descending = each.this, bool(each.args.get("desc"))
                if isinstance(node, exp.Literal) and not node.is_string:
                    item = at_place(node, self.select.expressions)
                    node = item.unalias() if not item.alias else exp.column(item.alias)
                name = self._sorted_by(node)
                if name is None:
                    raise QueryError(
                        f"the answer is sorted by its columns, and {piece(node, self.text)} is "
                        f"none. Select it under a name, and sort by that."
                    )
                found.append(Order(name, descending, bool(each.args.get("nulls_first"))))
        return found

    def _each_of(self, items: list[Any]) -> list[Any]:
        """Return what ORDER BY lists; for ALL, the places of all columns of SELECT."""
        whole_ = [each for each in items if isinstance(each.this, exp.Var)]
        if len(items) != 1 or not whole_ or whole_[0].this.name.upper() != "ALL":
            return items
        places = range(1, len(self.select.expressions) + 1)
        literals = [exp.Literal.number(place) for place in places]
        return [exp.Ordered(this=each, desc=items[0].args.get("desc")) for each in literals]

    def _sorted_by(self, node: Any) -> str | None:
        """Return the column of the answer that ORDER BY names; None if it is none.

        Here what SELECT names goes before what a row has.
        """
        if (named := self._named(node)) is not None:
            return named
        inner = [column for column in node.find_all(exp.Column) if not column.table]
        if not isinstance(node, exp.Column) and any(folded(c.name) in self.aliases for c in inner):
            return None
        return self._released(node)


def _moved(expr: Expr | None, names: Mapping[str, str]) -> Expr | None:
    """Return an expression over columns that were renamed."""
    if expr is None or not names:
        return expr
    if isinstance(expr, Name):
        return Name(names.get(expr.name, expr.name))
    if isinstance(expr, Call):
        changed = (_moved(each, names) or each for each in expr.arguments)
        return Call(expr.function, tuple(changed))
    return expr
