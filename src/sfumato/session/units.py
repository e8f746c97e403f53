"""A private table unit by unit: all rows of one unit become one, and that table can be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from sfumato.core.errors import ExpressionError
from sfumato.relation.bound import most_rows
from sfumato.relation.expr import Call, Expr, typed
from sfumato.relation.kind import Truth
from sfumato.relation.node import PerUnit, refuse_unit, scope
from sfumato.relation.summary import Function, Summary
from sfumato.session.output import Output, named
from sfumato.sql.expression import parse

if TYPE_CHECKING:
    from sfumato.session.table import Table


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Units:
    """The units of a private table, waiting for what to make of the rows of each.

    Get one from `Table.group_by_unit`. Counts and sums of one unit are clamped to what its
    declared cap of rows allows, so no row has to be left out.
    """

    _table: Table
    _keys: tuple[str, ...]

    def agg(self, /, *unnamed: Output, **outputs: Output) -> Table:
        """Make a row of each unit: ``agg(trips=sf.count(), spent=sf.sum("fare"))``."""
        made = [(name, self._summary(o)) for name, o in named(unnamed, outputs).items()]
        if not made:
            raise ExpressionError(
                "agg needs something to make of each unit, such as agg(spent=sf.sum('fare'))."
            )
        return self._table._with(PerUnit(self._table._node, self._keys, tuple(made)))

    def count(self, expression: str | None = None) -> Table:
        """Count the rows of each unit, or those in which an expression is not missing."""
        return self._single(Output("count", expression))

    def sum(self, expression: str) -> Table:
        """Add up a number over the rows of each unit."""
        return self._single(Output("sum", expression))

    def mean(self, expression: str) -> Table:
        """Average a number over the rows of each unit, rounded to its step."""
        return self._single(Output("mean", expression))

    def min(self, expression: str) -> Table:
        """Take the least number, date or moment of each unit."""
        return self._single(Output("min", expression))

    def max(self, expression: str) -> Table:
        """Take the largest number, date or moment of each unit."""
        return self._single(Output("max", expression))

    def _single(self, output: Output) -> Table:
        return self.agg(**{output.name: output})

    def _summary(self, output: Output) -> Summary:
        function = output.function if isinstance(output, Output) else None
        buys = function is not None and (output.bounds or output.per_unit is not None)
        if function not in ("count", "sum", "mean", "min", "max") or buys:
            raise ExpressionError(
                f"of the rows of one unit there are {', '.join(get_args(Function))}, and not "
                f"{output!r}. Ask the rest of the table that agg returns."
            )
        node = self._table._node
        expr: Expr | None = None if output.text is None else parse(output.text)
        if expr is not None:
            refuse_unit(expr, node)
            truth = isinstance(typed(expr, scope(node)).kind, Truth)
            if truth and function != "count":
                expr = Call("integer", (expr,))  # a sum of truths is a count, the largest an "any"
        return Summary(function, expr, most_rows(node))

    def __repr__(self) -> str:
        """Show what is grouped."""
        by = f" and {', '.join(self._keys)}" if self._keys else ""
        return f"<the units{by} of {self._table!r}>"
