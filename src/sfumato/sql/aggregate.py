"""Aggregates: which numbers a question asks for, of which expression."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.core.errors import ExpressionError, NumberError
from sfumato.core.number import exact
from sfumato.relation.expr import Call, Constant, Expr, Name, shown
from sfumato.sql.place import Span, piece, pointing, span
from sfumato.sql.rows import Rows
from sfumato.sql.select import filled

_PLAIN: dict[type, str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Min: "min",
    exp.Max: "max",
    exp.VariancePop: "variance",
    exp.StddevPop: "std",
    exp.Variance: "variance",
    exp.Stddev: "std",
    exp.StddevSamp: "std",
    exp.Median: "median",
}
RANKS = ("quantile", "min", "max")  # values of the column itself
_SAMPLE = (exp.Variance, exp.Stddev, exp.StddevSamp)
_RANKED = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
# What an aggregate may have beside its expression; a second argument would change what it means.
_TAKEN: dict[type, set[str]] = {
    **{kind: {"this"} for kind in (*_PLAIN, exp.CountIf)},
    **{kind: {"this", "expression", "quantile"} for kind in _RANKED},
    exp.WithinGroup: {"this", "expression"},
}
_LIKE: dict[str, type] = {
    "mean": exp.Avg,
    "var": exp.Variance,
    "var_samp": exp.Variance,
    "stdev": exp.Stddev,
}
_WORKING = (
    "COUNT, COUNT(DISTINCT x), SUM, AVG, VAR_POP, STDDEV_POP, MEDIAN, QUANTILE_CONT, MIN and MAX"
)
SAMPLE_NOTE = "variances and deviations are of the rows themselves: divided by n, not by n - 1"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A number that is asked of each group.

    Attributes:
        function: as the outputs of a table are called: count, sum, mean and so on.
        expr: of what; None for whole rows or, where different ones are counted, for units.
        ranks: which quantile.
        text: the expression for people.
        sample: whether the text asks for the variance of a sample.
        span: where it stands in the question.
    """

    function: str
    expr: Expr | None = None
    ranks: tuple[Fraction, ...] = ()
    text: str | None = None
    sample: bool = False
    span: Span | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What its column is called if nobody names it."""
        if self.function == "quantile":
            called = f"p{round(float(100 * self.ranks[0]), 6):g}"
            called = "median" if self.ranks[0] == Fraction(1, 2) else called
        else:
            called = {"mean": "avg"}.get(self.function, self.function)
        if isinstance(self.expr, Name):
            return f"{called}_{self.expr.name}"
        return called


def is_aggregate(node: Any) -> bool:
    """Say whether a node is an aggregate, with all that belongs to it."""
    if isinstance(node, exp.Filter | exp.WithinGroup):
        return True
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _LIKE
    return isinstance(node, exp.AggFunc | exp.Window | exp.CountIf | exp.Median)


def has_aggregate(node: exp.Expression) -> bool:
    """Say whether there is an aggregate in an expression, not counting its subqueries."""
    left = [node]
    while left:
        each = left.pop()
        if is_aggregate(each):
            return True
        if not isinstance(each, exp.Query):
            left += each.iter_expressions()
    return False


def aggregate(node: exp.Expression, rows: Rows, text: str) -> Aggregate:
    """Translate an aggregate.

    Raises:
        ExpressionError: one that cannot be answered.
    """
    with pointing(node, text):
        condition: Expr | None = None
        inner: Any = node
        if isinstance(inner, exp.Filter):
            where = inner.expression.this
            condition, inner = rows.expression(where, text), inner.this
        return replace(_counted(inner, rows, text, condition), span=span(node))


def _counted(node: Any, rows: Rows, text: str, condition: Expr | None) -> Aggregate:
    if isinstance(node, exp.Count):
        return _count(node, rows, text, condition)
    if set(filled(node, flags=False)) - _TAKEN.get(type(node), {*node.arg_types}):
        raise ExpressionError(
            f"this aggregate has more than it takes here: {piece(node, text)}. Give it one "
            f"expression, as MAX(fare); of several in one row there are greatest and least."
        )
    if isinstance(node, exp.CountIf):
        found = rows.expression(node.this, text)
        return _of("count", None, _both(found, condition))
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, rows, text, condition)
    if isinstance(node, _RANKED):
        rank = node.args.get("quantile") or node.args.get("expression")
        return _quantile(node, node.this, rank, rows, text, condition)
    if (
        isinstance(node, exp.Anonymous)
        and node.name.lower() in _LIKE
        and len(node.expressions) == 1
    ):
        node = _LIKE[node.name.lower()](this=node.expressions[0])
    function = _PLAIN.get(type(node))
    if function is None or isinstance(node.this, exp.Star):
        raise no_aggregate(node, text)
    if isinstance(node.this, exp.Distinct):
        raise ExpressionError(
            f"{piece(node, text)} takes each value once, and one unit could change that by more "
            f"than is known. Leave out DISTINCT; COUNT(DISTINCT x) works."
        )
    found = _when(condition, rows.expression(node.this, text))
    if function == "median":
        return Aggregate("quantile", found, (Fraction(1, 2),), shown(found))
    return Aggregate(function, found, (), shown(found), sample=isinstance(node, _SAMPLE))


def _count(node: exp.Count, rows: Rows, text: str, condition: Expr | None) -> Aggregate:
    this = node.this
    if node.expressions:
        raise no_aggregate(node, text)
    if this is None or isinstance(this, exp.Star | exp.Literal):
        return _of("count", None, condition)
    met = _met(this, rows)
    if met is not None:
        found = _when(condition, met)
        return Aggregate("count", found, (), shown(found))
    if isinstance(this, exp.Column) and isinstance(this.this, exp.Star):
        return _of("count", None, condition)
    if isinstance(this, exp.Distinct):
        if len(this.expressions) != 1:
            raise ExpressionError(
                f"COUNT(DISTINCT ...) takes one expression: {piece(node, text)}. Count the rows of "
                f"a subquery instead: SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM ...)."
            )
        what = this.expressions[0]
        if rows.is_unit(what, text):
            if condition is not None:
                raise ExpressionError(
                    f"units are counted without FILTER: {piece(node, text)}. Put the condition "
                    f"into WHERE, or count them by themselves."
                )
            return Aggregate("count_distinct")
        found = _when(condition, rows.expression(what, text))
        return Aggregate("count_distinct", found, (), shown(found))
    if rows.is_unit(this, text):
        return _of("count", None, condition)  # rows without a unit do not count anyway
    found = _when(condition, rows.expression(this, text))
    return Aggregate("count", found, (), shown(found))


def _met(node: Any, rows: Rows) -> Expr | None:
    """Return what is there in rows that LEFT JOIN found a match for, if a count is about those."""
    while isinstance(node, exp.Paren):
        node = node.this
    found = rows.unmatched_unit(node) if isinstance(node, exp.Column) else None
    return None if found is None or found.met is None else Name(found.met)


def _of(function: str, expr: Expr | None, condition: Expr | None) -> Aggregate:
    """Return an aggregate of whole rows; with a condition, of those for which it is true."""
    if condition is None:
        return Aggregate(function, expr)
    found = Call("case", (condition, Constant(1)))
    return Aggregate(function, found, (), shown(condition))


def _when(condition: Expr | None, expr: Expr) -> Expr:
    return expr if condition is None else Call("case", (condition, expr))


def _both(a: Expr, b: Expr | None) -> Expr:
    return a if b is None else Call("and", (a, b))


def _within_group(
    node: exp.WithinGroup, rows: Rows, text: str, condition: Expr | None
) -> Aggregate:
    order = node.expression
    keys = order.expressions if isinstance(order, exp.Order) else []
    if not isinstance(node.this, _RANKED) or len(keys) != 1 or node.this.args.get("expression"):
        raise no_aggregate(node, text)
    found = _quantile(node, keys[0].this, node.this.this, rows, text, condition)
    if keys[0].args.get("desc"):
        return Aggregate("quantile", found.expr, tuple(1 - q for q in found.ranks), found.text)
    return found


def _quantile(
    node: exp.Expression, what: Any, rank: Any, rows: Rows, text: str, condition: Expr | None
) -> Aggregate:
    if not isinstance(rank, exp.Literal) or rank.is_string:
        raise ExpressionError(
            f"a quantile takes a number between 0 and 1: {piece(node, text)}. Write "
            f"QUANTILE_CONT(fare, 0.9)."
        )
    try:
        q = exact(str(rank.this), "the quantile")
    except NumberError:
        q = Fraction(0)
    if not 0 < q < 1:
        raise ExpressionError(
            f"a quantile lies strictly between 0 and 1: {piece(node, text)}. At the ends use MIN "
            f"or MAX."
        )
    found = _when(condition, rows.expression(what, text))
    return Aggregate("quantile", found, (q,), shown(found))


def no_aggregate(node: Any, text: str) -> ExpressionError:
    """Return the error for what is asked as a number and is none."""
    if isinstance(node, exp.Window):
        return ExpressionError(
            f"a window shows something of every row, and rows are private: {piece(node, text)}. "
            f"Group the rows instead: SELECT zone, COUNT(*) FROM trips GROUP BY zone."
        )
    return ExpressionError(
        f"{piece(node, text)} is not an aggregate that can be answered. There are {_WORKING}."
    )
