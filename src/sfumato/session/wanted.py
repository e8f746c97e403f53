"""An output, bound to the columns of its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sfumato.core.errors import ExpressionError
from sfumato.relation import (
    Call,
    Constant,
    Expr,
    Known,
    Name,
    Node,
    Quantity,
    Rows,
    Squares,
    Total,
    Units,
)
from sfumato.relation.expr import typed
from sfumato.relation.kind import Day, Instant, Number, Truth
from sfumato.relation.node import names_unit, refuse_keys, refuse_unit, scope
from sfumato.session.bounds import unbounded, undeclared
from sfumato.session.output import HALF, Output
from sfumato.sql.expression import parse

SPREADS = ("variance", "std")
RANKS = ("quantile", "min", "max")
Ordered: TypeAlias = Number | Day | Instant


@dataclass(frozen=True, slots=True)
class Wanted:
    """An output, bound to the columns of its table.

    Attributes:
        name: the name of its column in the answer.
        output: what was asked.
        expr: what is aggregated; None for whole rows or units.
        kind: the range of what is aggregated; None where only counted.
    """

    name: str
    output: Output
    expr: Expr | None
    kind: Ordered | None

    @property
    def function(self) -> str:
        """What is taken."""
        return self.output.function

    @property
    def is_rank(self) -> bool:
        """Whether it is a value of a certain rank."""
        return self.function in RANKS

    @property
    def stands_alone(self) -> bool:
        """Whether it is measured by a question of its own, about a relation of its own.

        So are counts of different values, sums that are clamped unit by unit, and races.
        """
        if self.function == "count_distinct":
            return self.expr is not None
        return self.output.per_unit is not None

    @property
    def is_race(self) -> bool:
        """Whether a race finds how much of one unit counts."""
        return self.output.is_race

    @property
    def center(self) -> int:
        """The middle of the range, in steps: sums of distances from it need the least noise."""
        return (self.kind.low + self.kind.high) // 2 if isinstance(self.kind, Number) else 0

    @property
    def count(self) -> Quantity:
        """What counts the rows that take part."""
        if self.function == "count_distinct":
            return Units()
        return Rows() if self.expr is None else Known(self.expr)

    def total(self, *, counted: bool) -> Total:
        """Return the sum that it is made of."""
        return Total(self.summed, self.center if counted else 0)

    @property
    def squares(self) -> Squares:
        """The sum of squares that a variance is made of."""
        return Squares(self.summed, self.center)

    @property
    def summed(self) -> Expr:
        """What is summed, or counted."""
        if self.expr is None:
            raise ExpressionError(f"a {self.function} needs a column.")
        return self.expr


Ends: TypeAlias = tuple[Fraction, Fraction]


def bind(
    outputs: Mapping[str, Output], node: Node, ranges: Mapping[str, Ends] | None = None
) -> tuple[Wanted, ...]:
    """Check outputs against the columns of a table.

    Args:
        outputs: the outputs by name.
        node: the relation.
        ranges: the ranges that were bought, by the text of the expression.

    Raises:
        ExpressionError: something that cannot be aggregated so.
        SensitivityError: something without bounds.
    """
    return tuple(_bound(name, output, node, ranges or {}) for name, output in outputs.items())


def _bound(name: str, output: Output, node: Node, ranges: Mapping[str, Ends]) -> Wanted:
    if not isinstance(output, Output):
        raise ExpressionError(
            f"{name}= is not something to aggregate. Pass sf.count(), sf.sum('column') or "
            f"sf.mean('column')."
        )
    if output.text is None:
        return _of_rows(name, output)
    visible, expr = scope(node), output.expr or _read(output.text, node)
    if output.function == "count_distinct" and _is_unit(expr, node):
        return Wanted(name, output, None, None)
    refuse_unit(expr, node)
    found = typed(expr, visible)
    if output.function in ("count", "count_distinct"):
        return Wanted(name, output, expr, None)
    if isinstance(found.kind, Truth) and not output.bounds:
        expr = Call("integer", (expr,))  # a sum of truths is a count, their mean a share
        found = typed(expr, visible)
    if output.bounds and not isinstance(found.kind, Number):
        ends = isinstance(found.kind, Ordered | Truth)
        mend = "Leave out sf.bounds: its ends are known." if ends else "Count it, or group by it."
        raise ExpressionError(
            f"a range is bought of numbers, and {output.text!r} is {found.what}. {mend}"
        )
    if output.bounds and output.text in ranges:
        expr = Call("clamp", (expr, *map(Constant, ranges[output.text])))
        found = typed(expr, visible)
    elif not output.bounds and output.per_unit is None and (column := undeclared(expr, node)):
        called = "median" if output.ranks == (HALF,) else output.function
        raise unbounded(called, output.text, column)
    if output.function in RANKS:
        if not isinstance(found.kind, Ordered):
            raise ExpressionError(
                f"{output!r} needs values in an order with known ends, such as numbers or dates, "
                f"and {output.text!r} is {found.what}. Count it, or group by it."
            )
        if output.interval and not isinstance(found.kind, Number):
            raise ExpressionError(
                f"an interval is bought of numbers, and {output.text!r} is {found.what}. Leave out "
                f"interval=True: how far the rank may be off is in the answer."
            )
        return Wanted(name, output, expr, found.kind)
    if not isinstance(found.kind, Number):
        raise ExpressionError(
            f"{output!r} needs a number, and {output.text!r} is {found.what}. "
            f"Count it, or group by it."
        )
    _refuse_negative(output, found.kind)
    return Wanted(name, output, expr, found.kind)


def _read(text: str, node: Node) -> Expr:
    """Read an expression; in it a name alone does not say which of several tables it means."""
    expr = parse(text)
    refuse_keys(expr, node)
    return expr


def _of_rows(name: str, output: Output) -> Wanted:
    """Return what is asked of whole rows: their number. That of sums is refused later."""
    if output.function in RANKS:
        called = "median" if output.ranks == (HALF,) else output.function
        raise ExpressionError(
            f"a {called} is one of the values of a column or an expression, and none is named. "
            f"Pass its name, as in {called}('fare')."
        )
    return Wanted(name, output, None, None)


def _refuse_negative(output: Output, kind: Number) -> None:
    """Refuse a race of numbers that may be negative: to clamp them may raise a total."""
    if output.is_race and kind.low < 0:
        raise ExpressionError(
            f"{output!r} needs numbers from 0 up, and {output.text!r} may be negative: a total in "
            f"which units are clamped would then not always be the lower one. Ask for what is "
            f"above 0 and for what is below it apart, as in clamp({output.text}, 0, 1000); or pass "
            f"the range of one unit, as in per_unit=(-300, 300)."
        )


def _is_unit(expr: Expr, node: Node) -> bool:
    """Say whether an expression is the column that names the unit, in every table."""
    return isinstance(expr, Name) and names_unit(expr.name, node)
