"""What an analyst holds: a private table that can be transformed and asked, never looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import ExpressionError, InputError, QueryError
from sfumato.core.schema import Schema
from sfumato.relation.expr import Name
from sfumato.relation.keys import Keys
from sfumato.relation.kind import column_of
from sfumato.relation.node import (
    Filter,
    Node,
    Project,
    path,
    refuse_unit,
    scope,
    source_of,
)
from sfumato.session.output import Output, count, mean, sum
from sfumato.session.part import Part
from sfumato.session.question import Question
from sfumato.sql.expression import parse

if TYPE_CHECKING:
    from sfumato.accounting import Remaining
    from sfumato.core.unit import Unit
    from sfumato.release.release import Release
    from sfumato.session.session import Session

LONGEST = 200  # steps of one plan


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Table:
    """A private table. Transformations return another table; nothing is read until a release.

    Get one from `Session.table`.
    """

    _session: Session
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
        """Group by columns whose values are public: those of the schema, or those listed.

        Args:
            columns: the columns.
            keys: for one column a list of values; for several a mapping from column to list. Every
                combination is a group, whether or not the data has rows in it.
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
        return Grouped(self, Keys.of(visible, names, keys))

    def agg(self, /, *unnamed: Output, **outputs: Output) -> Question:
        """Ask for several numbers at once: ``agg(n=sf.count(), fare=sf.mean("fare"))``."""
        return Question(self._session, self._node, Keys(), _outputs(unnamed, outputs))

    def count(self, expression: str | None = None) -> Question:
        """Count rows, or those in which an expression is not missing."""
        return _single(self, count(expression))

    def sum(self, expression: str) -> Question:
        """Add up a column or an expression."""
        return _single(self, sum(expression))

    def mean(self, expression: str) -> Question:
        """Average a column or an expression."""
        return _single(self, mean(expression))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(scope(self._node))

    @property
    def schema(self) -> Schema:
        """The public facts about the columns."""
        return Schema({name: column_of(kind) for name, kind in scope(self._node).items()})

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return source_of(self._node).unit

    @property
    def remaining(self) -> Remaining:
        """What may still be spent."""
        return self._session.remaining

    def measure(self, query: Any, mechanism: Any = None) -> Any:
        """Charge, read, draw and return: for algorithms that choose their own mechanism.

        Args:
            query: a question of `sfumato.relation`; or a list of (question, mechanism), measured
                in one scan for one charge.
            mechanism: what the exact answer is passed to.
        """
        batch: Sequence[tuple[Any, Any]] = query if mechanism is None else [(query, mechanism)]
        releases: tuple[Release, ...] = self._session.perform([Part.of(q, m) for q, m in batch])
        return releases if mechanism is None else releases[0]

    def __repr__(self) -> str:
        """Show what is public about it."""
        source = source_of(self._node)
        steps = len(path(self._node)) - 1
        after = f" after {steps} step{'s' * (steps > 1)}" if steps else ""
        return f"<private table {source.name!r}{after}: {', '.join(self.columns)}; {self.unit!r}>"

    def _with(self, node: Node) -> Table:
        if len(path(node)) > LONGEST:
            raise QueryError(
                f"a plan of more than {LONGEST} steps is refused, because every step is checked "
                f"again at each use. Combine steps."
            )
        return Table(self._session, node)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Grouped:
    """A private table in public groups, waiting for what to ask of each."""

    _table: Table
    _keys: Keys

    def agg(self, /, *unnamed: Output, **outputs: Output) -> Question:
        """Ask for several numbers at once: ``agg(n=sf.count(), fare=sf.mean("fare"))``."""
        table = self._table
        return Question(table._session, table._node, self._keys, _outputs(unnamed, outputs))

    def count(self, expression: str | None = None) -> Question:
        """Count rows, or those in which an expression is not missing."""
        return _single(self, count(expression))

    def sum(self, expression: str) -> Question:
        """Add up a column or an expression."""
        return _single(self, sum(expression))

    def mean(self, expression: str) -> Question:
        """Average a column or an expression."""
        return _single(self, mean(expression))

    def __repr__(self) -> str:
        """Show the groups."""
        by = ", ".join(self._keys.columns)
        return f"<{len(self._keys):,} public groups by {by} of {self._table!r}>"


def _listed(given: Any) -> Sequence[str]:
    """Return column names that were given one by one, or as a list."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise QueryError("group_by takes names of columns, such as group_by('zone', 'hour').")
    return names


def _outputs(unnamed: Sequence[Output], named: dict[str, Output]) -> dict[str, Output]:
    """Return all outputs by name; those without one go by their own."""
    for output in unnamed:
        if not isinstance(output, Output):
            raise ExpressionError(
                "agg takes outputs, such as agg(n=sf.count(), fare=sf.mean('fare'))."
            )
    own = [output.name for output in unnamed]
    twice = next((name for name in own if own.count(name) > 1 or name in named), None)
    if twice is not None:
        raise InputError(
            f"two outputs would be called {twice!r}. Name them: agg(a=sf.count(), b=...)."
        )
    return {**dict(zip(own, unnamed, strict=True)), **named}


def _single(asked: Table | Grouped, output: Output) -> Question:
    return asked.agg(**{output.name: output})
