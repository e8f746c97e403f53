"""What can be made of all rows of one unit: a number whose range is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sfumato.core.codec import canonical
from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Expr, Scope, typed
from sfumato.relation.kind import Day, Instant, Kind, Number
from sfumato.relation.operand import wide

Function = Literal["count", "sum", "mean", "min", "max"]


@canonical
@dataclass(frozen=True, slots=True)
class Summary:
    """A function of the rows of one unit, clamped into a range.

    Attributes:
        function: count, sum, mean, min or max.
        expr: of what; None to count rows.
        cap: as of how many rows a count or a sum may be at most; what is beyond counts as that.
    """

    function: Function
    expr: Expr | None
    cap: int

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        if self.function not in get_args(Function) or type(self.cap) is not int or self.cap < 1:
            raise ExpressionError(
                "of the rows of one unit there are count, sum, mean, min and max, and a cap of "
                "1 row or more."
            )
        if self.expr is None and self.function != "count":
            raise ExpressionError(f"{self.function} needs a column. Pass its name.")

    def kind(self, columns: Scope) -> Kind:
        """Return the range of the result."""
        if self.expr is None:
            return Number(1, self.cap)
        found = typed(self.expr, columns)
        match self.function, found.kind:
            case "count", _:
                return Number(0, self.cap)
            case "sum", Number() as number:
                low, high = number.low, number.high
                ends = (low, low * self.cap, high, high * self.cap)
                return Number(min(ends), max(ends), number.step)
            case "mean", Number() as number:
                return number
            case "min" | "max", Number() | Day() | Instant():
                return found.kind
        raise ExpressionError(f"{self.function} needs a number, and this is {found.what}.")

    def sql(self, columns: Scope) -> str:
        """Write the SQL; NULL where no row of the unit has a value."""
        if self.expr is None:
            return f"least(count(*), {self.cap})"
        x, kind = wide(typed(self.expr, columns)), self.kind(columns)
        match self.function, kind:
            case "count", _:
                return f"least(count({x}), {self.cap})"
            case "sum", Number():
                total = f"greatest(least(sum({x}), {kind.high}), {kind.low})"
                return f"CASE WHEN count({x}) > 0 THEN CAST({total} AS BIGINT) END"
            case "mean", Number():
                # From the low end, so that nothing is negative; rounded to the nearest step.
                above = f"sum(CAST({x} AS HUGEINT) - ({kind.low}))"
                near = f"(2 * {above} + count({x})) // nullif(2 * count({x}), 0)"
                return f"CAST({near} + ({kind.low}) AS BIGINT)"
        return f"{self.function}({x})"
