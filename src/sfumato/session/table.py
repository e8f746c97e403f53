"""What an analyst holds: a private table that can be transformed and asked, never looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import getpid
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.errors import ExpressionError, QueryError
from sfumato.core.number import Exactable, failure_probability, is_integer
from sfumato.core.schema import Schema
from sfumato.relation.bought import AnyKeys, BoughtKeys, bought, keys_of
from sfumato.relation.bound import truncated
from sfumato.relation.expr import Call, Constant, Expr, Name, Scope, known
from sfumato.relation.keys import Keys
from sfumato.relation.kind import Number, Words, column_of, kind_of
from sfumato.relation.node import (
    Distinct,
    Filter,
    Join,
    Node,
    Project,
    Union,
    carries,
    refuse_unit,
    scope,
    size,
    sources,
    unit_of,
)
from sfumato.relation.partition import Partition, Slice
from sfumato.session.asking import Asking
from sfumato.session.bins import Bins
from sfumato.session.bounds import undeclared
from sfumato.session.column import Column, ordered, width_of
from sfumato.session.door import Within, leads_as_far, narrowed
from sfumato.session.joint import joint
from sfumato.session.output import Output, count, count_name, named
from sfumato.session.part import Part
from sfumato.session.points import Points
from sfumato.session.purse import in_either_view
from sfumato.session.question import Question
from sfumato.session.units import Units
from sfumato.sql.expression import parse

if TYPE_CHECKING:
    from sfumato.accounting import Remaining
    from sfumato.core.budget import Budget
    from sfumato.core.unit import Unit
    from sfumato.release.release import Release
    from sfumato.session.door import Door

LONGEST = 200  # steps of one plan


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Table(Asking):
    """A private table. Transformations return another table; nothing is read until a release.

    Get one from `Session.table`.
    """

    _session: Door
    _node: Node

    def filter(self, *conditions: str) -> Table:
        """Keep the rows for which all conditions are true, such as ``"age >= 18"``."""
        if not conditions:
            raise ExpressionError("filter takes a condition as text, such as filter('age >= 18').")
        node = self._node
        for text in conditions:
            node = Filter(node, parse(text))
        return self._with(node)

    def select(self, *columns: str) -> Table:
        """Keep these columns; the unit travels along by itself."""
        return self._with(Project(self._node, tuple((name, Name(name)) for name in columns)))

    def with_columns(self, /, **expressions: str) -> Table:
        """Add columns, or redefine them, as expressions of the columns there are.

        Example: ``trips.with_columns(late="hour >= 22", euros="fare * 0.92")``.
        """
        if not expressions:
            raise ExpressionError("with_columns takes name='expression', such as late='hour > 22'.")
        kept = {name: Name(name) for name in scope(self._node)}
        new = {name: parse(text) for name, text in expressions.items()}
        return self._with(Project(self._node, tuple({**kept, **new}.items())))

    def group_by(self, *columns: str | Sequence[str], keys: Any = None) -> Grouped:
        """Group by columns: by the values of the schema, by those listed, or by those bought.

        Args:
            columns: the columns.
            keys: for one column a list of values; for several a mapping from column to list. Every
                combination is a group, whether or not the data has rows in it. Or ``sf.bought()``,
                for all columns or for some of a mapping: then the groups that enough units are in
                appear, whatever they are called.
        """
        names = [name for given in columns for name in _listed(given)]
        if not names:
            raise QueryError("group_by takes the columns to group by, such as group_by('zone').")
        visible = scope(self._node)
        for name in names:
            refuse_unit(Name(name), self._node)
            if name not in visible and not name.isidentifier():
                raise QueryError(
                    f"{name!r} is not a column here. To group by an expression, make it a column "
                    f"first, as in with_columns(decade='floor(age, 10)').group_by('decade')."
                )
        return Grouped(self, keys_of(visible, names, keys))

    def distinct(self, *, within_unit: bool = False) -> Table:
        """Keep one of equal rows.

        Equal rows of different units become one too, so nobody can say any more whose a row is:
        what counts of each unit is capped here, and nothing after it can be done unit by unit.

        Args:
            within_unit: keep one of the equal rows of each unit instead, and the unit with it.
        """
        if within_unit:
            return self._with(Distinct(self._node, within_unit=True))
        node = self._node
        if carries(node):
            node = truncated(Distinct(node, within_unit=True), ())
        return self._with(Distinct(node, within_unit=False))

    def union(self, other: Table) -> Table:
        """Put the rows of another table with the same columns below those of this one.

        The other may be this table, filtered otherwise, or another one of the session. What one
        unit has in both adds up.
        """
        if not isinstance(other, Table) or other._session != self._session:
            raise QueryError(
                "a table is united with a table of the same session (and of the same part or "
                "scope of it), because one budget pays for both."
            )
        return self._with(Union(self._node, other._node))

    def join(
        self,
        other: Any,
        on: str | Sequence[str] | Mapping[str, str] | None = None,
        *,
        how: Literal["inner", "left"] = "inner",
    ) -> Table:
        """Add the columns of a public table, or of another private table of the session.

        Of a public table a snapshot is taken now, and kinds and bounds of its columns are read
        off it. A row counts once for every public row with its key.

        A row of a private table meets rows of its own unit alone, and counts once for each that it
        meets. Along a link that the owner declared it is one at most. Otherwise the other table
        gives no more rows of a unit than its owner's caps let count.

        Args:
            other: a table of the session; the name of a public table of the session, or one in your
                hands: a frame of pandas, Polars or Arrow, or
                ``{"zone": ["A", "B"], "people": [1200, 800]}``.
            on: the column or columns that must be equal; ``{"zone": "id"}`` where the other table's
                is called otherwise. The column that names the unit stands for the same unit. Of
                private tables it may be left out where one link leads from one to the other, or
                where the other has one row of a unit.
            how: ``"inner"`` drops rows that meet nobody, ``"left"`` keeps them, with NULL in the
                new columns.
        """
        from sfumato.session.public import read_public, snapshot

        if isinstance(other, Table):
            if not leads_as_far(self._session, other._session):
                raise QueryError(
                    "a table is joined with a table of the same session, because one budget pays "
                    "for both; from a part or a scope of it with one of the same, or of the whole."
                )
            return self._with(joint(self._node, other._node, on, how))
        name = other if isinstance(other, str) else "given"
        data = self._session.public(name) if name is other else read_public(other, name)
        given = [] if on is None else on
        pairs = given if isinstance(given, Mapping) else {key: key for key in _listed(given)}
        if not pairs:
            raise QueryError("join needs the column that both tables have: on='zone'.")
        for key in pairs:
            refuse_unit(Name(key), self._node)
        return self._with(Join(self._node, snapshot(name, data, pairs, self._scope), how))

    def group_by_unit(self, *columns: str) -> Units:
        """Group by the unit, to make one row of all its rows; or one for each unit and group.

        Example: ``trips.group_by_unit().sum("fare")`` has one row for each rider, and
        ``.mean("fare")`` of that is what a rider spends on average.
        """
        return Units(self, tuple(name for given in columns for name in _listed(given)))

    def partition(self, column: str, keys: Any = None) -> dict[Any, Table]:
        """Split by a public column into tables that cost together as little as the worst of them.

        Of one unit no more counts than its caps allow, in groups by the column; so it can be in a
        few of the parts only (in one, for row units), and only those are charged to the budget: of
        all parts, the most expensive few. That holds for questions to parts of the same split of
        the same version; other questions add up as always.

        Args:
            column: the column.
            keys: its values, if the schema does not list them or not all are needed.
        """
        if isinstance(self._session, Within) and self._session.slice is not None:
            raise QueryError(
                "this table is already one part of a partition, and parts of parts are not "
                "counted beside one another. Split the whole table by one column that tells "
                "them all apart, made with with_columns."
            )
        if not isinstance(column, str):
            raise QueryError("partition takes the name of a column, such as partition('zone').")
        refuse_unit(Name(column), self._node)
        split = Partition.of(self._node, Keys.of(self._scope, [column], keys))
        return {
            key: Table(narrowed(self._session, slice=Slice(split, key)), split.part(key))
            for key in split.values()
        }

    @contextmanager
    def scope(self, budget: Budget) -> Iterator[Table]:
        """Set part of the budget aside for what is asked inside; what is left of it returns.

        Nobody else can spend it meanwhile, and what is asked inside cannot spend more.

        Example:
            ``with trips.scope(sf.Budget(epsilon=1)) as inside: inside.count().release(...)``
        """
        if isinstance(self._session, Within) and self._session.scope is not None:
            raise QueryError("this table is already inside a scope. Ask it, or leave that first.")
        self._session.check_open()
        ledger, process = self._session.ledger, getpid()
        opened = ledger.open_scope(budget, self._session.analyst)
        try:
            yield Table(narrowed(self._session, scope=opened), self._node)
        finally:
            if getpid() == process:  # a child that leaves it leaves it to its parent
                ledger.close_scope(opened)

    def agg(self, /, *unnamed: Output, **outputs: Output) -> Question:
        """Ask for several numbers at once: ``agg(n=sf.count(), fare=sf.mean("fare"))``."""
        return Question(self._session, self._node, Keys(), named(unnamed, outputs))

    def histogram(self, column: str, edges: int | Sequence[Any]) -> Question:
        """Count rows in public bins of a column of numbers, dates or timestamps.

        Args:
            column: the column; that of the bins in the answer is called so too.
            edges: the edges of the bins, as in ``[0, 10, 50, 200]``: each bin holds its lower edge,
                the last one both. Or how many bins of equal width the declared bounds have.
        """
        return _binned(self, Keys(), column, edges)

    def top(self, column: str, k: int, *, keys: Any = None) -> Question:
        """Ask for the most frequent values of a column, with how often they come.

        All values that the schema lists are counted, and the counts are put into order; so which
        ones are shown depends on noise as well. Those of a text column are bought, unless listed.

        Args:
            column: the column; that of the values in the answer is called so too.
            k: how many values are shown.
            keys: as in `group_by`.
        """
        if type(k) is not int or k < 1:
            raise QueryError("top takes how many values to show, such as top('zone', 5).")
        if not isinstance(column, str):
            raise QueryError("top takes the name of a column, such as top('zone', 5).")
        if keys is None and isinstance(self._scope.get(column), Words):
            keys = bought()
        groups = self.group_by(column, keys=keys)._keys
        note = f"only the {k} largest counts are shown: intervals hold before that selection"
        outputs = {count_name(groups.columns): count()}
        return Question(self._session, self._node, groups, outputs, (note,), first=k)

    def values(self, column: str, *, bins: int | None = None) -> Column:
        """Return a column as a line of public cells, for `sfumato.ranges`.

        Each value that the schema allows is a cell; a row where it is missing is in none.

        Args:
            column: a column of numbers, dates or timestamps.
            bins: cut the declared bounds of a number into about so many cells of equal width.
        """
        if not isinstance(column, str):
            raise QueryError("values takes the name of a column, such as values('fare').")
        refuse_unit(Name(column), self._node)
        kind = ordered(column, known(column, self._scope))
        if undeclared(Name(column), self._node) is not None:
            raise QueryError(
                f"no bounds are declared for {column!r}, so that its values are no public list. "
                f"Ask the owner to declare them."
            )
        if bins is None:
            return Column(column, kind, self, lambda table: _cells(table, column))
        width = width_of(column, kind, bins) * getattr(kind, "step", 1)
        cut = Call("floor", (Name(column), Constant(width)))
        same: dict[str, Expr] = {name: Name(name) for name in self._scope}
        table = self._with(Project(self._node, tuple({**same, column: cut}.items())))
        made = ordered(column, table._scope[column])
        ends = (kind.step, *kind.bounds[::-1]) if isinstance(kind, Number) else ()
        return Column(column, made, table, lambda table: _cells(table, column), *ends)

    def points(self, x: str, y: str) -> Points:
        """Return two columns of numbers as points of a plane, for `sfumato.spatial`.

        A row where a coordinate is missing, or is not a number, is no point.

        Args:
            x: the column of the coordinate across, such as ``"lon"``.
            y: the column of the coordinate up, such as ``"lat"``.
        """
        from sfumato.session.lattice import points_of

        return points_of(self, x, y)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._scope)

    @property
    def _scope(self) -> Scope:
        return scope(self._node)

    @property
    def schema(self) -> Schema:
        """The public facts about the columns."""
        declared = {n: c for s in reversed(sources(self._node)) for n, c in s.schema.items()}
        return Schema(
            {
                name: declared[name]
                if name in declared and kind_of(declared[name]) == kind
                else column_of(kind)
                for name, kind in self._scope.items()
            }
        )

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return unit_of(self._node)

    @property
    def remaining(self) -> Remaining:
        """What may still be spent."""
        return self._session.remaining

    def measure(
        self,
        query: Any,
        mechanism: Any = None,
        *,
        delta: Exactable = 0,
        request: str | None = None,
    ) -> Any:
        """Charge, read, draw and return: for algorithms that choose their own mechanism.

        Args:
            query: a question of `sfumato.relation`; or a list of (question, mechanism), measured
                in one scan for one charge.
            mechanism: what the exact answer is passed to.
            delta: a δ to be charged, so that Gaussian noise has an ε and counts in the sum of ε as
                well. Where that does not fit, it is charged in ρ alone.
            request: an id of your choice; the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        batch: Sequence[tuple[Any, Any]] = query if mechanism is None else [(query, mechanism)]
        if not isinstance(batch, list | tuple) or not all(_is_pair(each) for each in batch):
            raise QueryError(
                "measure takes a question and a mechanism, or a list of pairs of the two."
            )
        parts = [Part.of(q, m) for q, m in batch]
        releases: tuple[Release, ...] = in_either_view(
            failure_probability(delta),
            lambda slack: self._session.perform(parts, request=request, delta=slack, fixed=True),
        )
        return releases if mechanism is None else releases[0]

    def __repr__(self) -> str:
        """Show what is public about it."""
        tables = " and ".join(repr(source.name) for source in sources(self._node))
        steps = size(self._node) - 1
        after = f" after {steps} step{'s' * (steps > 1)}" if steps else ""
        scope = self._session.scope if isinstance(self._session, Within) else None
        inside = "" if scope is None else f", in a scope of {scope.budget!r}"
        return f"<private table {tables}{after}: {', '.join(self.columns)}; {self.unit!r}{inside}>"

    def _with(self, node: Node) -> Table:
        if size(node) > LONGEST:
            raise QueryError(
                f"a plan of more than {LONGEST} steps is refused, because every step is checked "
                f"again at each use. Combine steps."
            )
        return Table(self._session, node)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Grouped(Asking):
    """A private table in groups, waiting for what to ask of each."""

    _table: Table
    _keys: AnyKeys

    def agg(self, /, *unnamed: Output, **outputs: Output) -> Question:
        """Ask for several numbers at once: ``agg(n=sf.count(), fare=sf.mean("fare"))``."""
        table = self._table
        return Question(table._session, table._node, self._keys, named(unnamed, outputs))

    def histogram(self, column: str, edges: int | Sequence[Any]) -> Question:
        """Count rows in public bins of a column, in each group.

        Args:
            column: the column; that of the bins in the answer is called so too.
            edges: the edges of the bins, as in ``[0, 10, 50, 200]``: each bin holds its lower edge,
                the last one both. Or how many bins of equal width the declared bounds have.
        """
        return _binned(self._table, self._keys, column, edges)

    def __repr__(self) -> str:
        """Show the groups."""
        by = ", ".join(self._keys.columns)
        if self._keys.cells is None:
            return f"<groups by {by}, to be bought, of {self._table!r}>"
        return f"<{self._keys.cells:,} public groups by {by} of {self._table!r}>"


def computed(table: Table, name: str, expression: Expr) -> Table:
    """Return a table with a column more, of an expression that was built and not written.

    What is put together from names of columns may not pass through text: ``fare-usd`` is a column,
    and a difference when it is read again.
    """
    kept: dict[str, Expr] = {each: Name(each) for each in table.columns}
    return table._with(Project(table._node, tuple({**kept, name: expression}.items())))


def _cells(table: Table, column: str) -> Any:
    """Return the question how many rows each value of a column has."""
    return table.group_by(column).count().queries[0]


def _is_pair(given: object) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2


def _listed(given: Any) -> Sequence[str]:
    """Return column names that were given one by one, or as a list."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise QueryError("group_by takes names of columns, such as group_by('zone', 'hour').")
    return names


def _binned(table: Table, keys: AnyKeys, column: str, edges: Any) -> Question:
    if isinstance(keys, BoughtKeys):
        raise QueryError(
            "a histogram in groups needs groups that are listed. Pass keys=[...], or make the bins "
            "a column and buy both: with_columns(bin='floor(fare, 10)').group_by('zone', 'bin', "
            "keys=sf.bought())."
        )
    if not isinstance(column, str):
        raise QueryError("histogram takes the name of a column, such as histogram('fare', 20).")
    refuse_unit(Name(column), table._node)
    if is_integer(edges) and undeclared(Name(column), table._node) is not None:
        raise QueryError(
            f"no bounds are declared for {column!r}, so that there is nothing to divide into bins "
            f"of equal width. Pass the edges: histogram({column!r}, [0, 10, 50, 200])."
        )
    bins = Bins.of(table._scope, column, edges)
    same = {name: Name(name) for name in table._scope}
    cut = table._with(Project(table._node, tuple({**same, column: bins.expr}.items())))
    groups = bins.within(keys, cut._scope)
    outputs = {count_name(groups.columns): count()}
    return Question(cut._session, cut._node, groups, outputs, (bins.note,))
