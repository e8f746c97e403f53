"""From what is asked to what is measured: parts that outputs share, and a mechanism for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import ExpressionError, RangeError
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.relation import (
    Aggregate,
    Call,
    Expr,
    Keys,
    Known,
    Node,
    Quantity,
    Rows,
    Squares,
    Total,
    bounded,
)
from sfumato.relation.expr import typed
from sfumato.relation.kind import Number, Truth
from sfumato.relation.node import refuse_unit, scope, unit_of
from sfumato.session.output import Output
from sfumato.session.part import Part
from sfumato.sql.expression import parse

AdditiveNoise = DiscreteLaplace | DiscreteGaussian
SPREADS = ("variance", "std")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An output, bound to the columns of its table.

    Attributes:
        name: the name of its column in the answer.
        output: what was asked.
        expr: what is aggregated; None for whole rows.
        kind: the range of the numbers that are aggregated; None where only counted.
    """

    name: str
    output: Output
    expr: Expr | None
    kind: Number | None

    @property
    def center(self) -> int:
        """The middle of the range, in steps: sums of distances from it need the least noise."""
        return 0 if self.kind is None else (self.kind.low + self.kind.high) // 2

    @property
    def count(self) -> Quantity:
        """What counts the rows that take part."""
        return Rows() if self.expr is None else Known(self.expr)


def bind(outputs: Mapping[str, Output], node: Node) -> tuple[Wanted, ...]:
    """Check outputs against the columns of a table.

    Raises:
        ExpressionError: something that cannot be aggregated so.
    """
    visible = scope(node)
    wanted = []
    for name, output in outputs.items():
        if not isinstance(output, Output):
            raise ExpressionError(
                f"{name}= is not something to aggregate. Pass sf.count(), sf.sum('column') or "
                f"sf.mean('column')."
            )
        if output.function in ("min", "max"):
            raise ExpressionError(
                f"{output!r} of a group would be one unit's own value, which no noise can hide. "
                f"It can be taken of the rows of each unit: group_by_unit().{output!r}."
            )
        expr = None if output.text is None else parse(output.text)
        kind = None
        if expr is not None:
            refuse_unit(expr, node)
            found = typed(expr, visible)
            if isinstance(found.kind, Truth) and output.function != "count":
                expr = Call("integer", (expr,))  # a sum of truths is a count, their mean a share
                found = typed(expr, visible)
            if output.function != "count":
                if not isinstance(found.kind, Number):
                    raise ExpressionError(
                        f"{output!r} needs a number, and {output.text!r} is {found.what}. "
                        f"Count it, or group by it."
                    )
                kind = found.kind
        wanted.append(Wanted(name, output, expr, kind))
    return tuple(wanted)


def quantities(wanted: Sequence[Wanted]) -> dict[Quantity, None]:
    """List what has to be measured for all outputs together, each once.

    A mean needs a sum and a count of the same rows, a variance a sum of squares as well; a sum
    beside such a count shares both, and is then measured from the middle of its range, which needs
    less noise.
    """
    found: dict[Quantity, None] = {}
    for w in wanted:
        if w.output.function != "sum":
            found[w.count] = None
    for w in wanted:
        if w.output.function != "count":
            found[total_of(w, counted=w.count in found)] = None
        if w.output.function in SPREADS:
            found[squares_of(w)] = None
    return found


def total_of(wanted: Wanted, *, counted: bool) -> Total:
    """Return the sum that an output is made of."""
    if wanted.expr is None:
        raise ExpressionError("a sum needs a column.")
    return Total(wanted.expr, wanted.center if counted else 0)


def squares_of(wanted: Wanted) -> Squares:
    """Return the sum of squares that a variance is made of."""
    if wanted.expr is None:
        raise ExpressionError("a variance needs a column.")
    return Squares(wanted.expr, wanted.center)


def queries(wanted: Sequence[Wanted], node: Node, keys: Keys) -> list[Aggregate]:
    """Return one question for each quantity, all about the same cells of one relation."""
    values = tuple(w.expr for w in wanted if w.expr is not None)
    relation = bounded(node, keys, values)
    return [Aggregate(relation, keys, quantity) for quantity in quantities(wanted)]


def assigned(asked: Sequence[Aggregate], target: Budget) -> list[Part]:
    """Choose noise for each question, so that all together stay within the target.

    The target is split evenly. Under pure ε the noise is Laplace; with δ or ρ it is Laplace or
    Gaussian, whichever errs less.
    """
    unit = unit_of(asked[0].node)
    moved = [query.sensitivity(unit) for query in asked]
    choices = [[_laplace(s, target, len(moved)) for s in moved]]
    if target.delta or target.rho is not None:
        choices.append([_gaussian(s, target, len(moved)) for s in moved])
    plans = [[Part.of(q, noise) for q, noise in zip(asked, row, strict=True)] for row in choices]
    return min(plans, key=lambda parts: sum(_size(part) for part in parts))


def _laplace(moved: Sensitivity, target: Budget, parts: int) -> AdditiveNoise:
    if target.epsilon is not None:
        return DiscreteLaplace.calibrate(moved, epsilon=target.epsilon / parts)
    return DiscreteLaplace.calibrate(moved, rho=_share(target.rho, parts))


def _gaussian(moved: Sensitivity, target: Budget, parts: int) -> AdditiveNoise:
    if target.rho is not None:
        return DiscreteGaussian.calibrate(moved, rho=_share(target.rho, parts))
    if parts == 1 and moved.l0 == 1:  # one cell: calibrated by the exact law
        return DiscreteGaussian.calibrate(moved, epsilon=target.epsilon, delta=target.delta)
    rho = accounting.rho_within(target.epsilon or Fraction(0), target.delta)
    return DiscreteGaussian.calibrate(moved, rho=_share(rho, parts))


def _share(rho: Fraction | None, parts: int) -> Fraction:
    if not rho:
        raise RangeError("this target leaves no ρ at all. Ask for a larger ε or δ.")
    return rho / parts


def _size(part: Part) -> float:
    """Return the logarithm of the error: comparing sums of it, no unit of measure matters."""
    return log(part.error.std) if part.error.std else -inf
