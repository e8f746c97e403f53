"""What can be asked of a table, and of each of its groups: one method for each number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.number import Exactable
from sfumato.session import output

if TYPE_CHECKING:
    from sfumato.session.question import Question


class Asking:
    """The numbers that a table or its groups can be asked for, one at a time."""

    __slots__ = ()

    def agg(self, /, *unnamed: output.Output, **outputs: output.Output) -> Question:
        """Ask for several numbers at once: ``agg(n=sf.count(), fare=sf.mean("fare"))``."""
        raise NotImplementedError

    def count(
        self,
        expression: str | None = None,
        *,
        per_unit: Literal["auto"] | None = None,
        most: Exactable | None = None,
    ) -> Question:
        """Count rows, or those in which an expression is not missing.

        Args:
            expression: what must not be missing; None counts all rows.
            per_unit: ``"auto"`` lets a race find how many rows of one unit count.
            most: the most rows of one unit in one group that the race considers.
        """
        return self._single(output.count(expression, per_unit=per_unit, most=most))

    def sum(
        self,
        expression: Any,
        *,
        per_unit: tuple[Exactable, Exactable] | Literal["auto"] | None = None,
        most: Exactable | None = None,
    ) -> Question:
        """Add up a column or an expression.

        Args:
            expression: the number.
            per_unit: the range into which the sum of one unit's rows in one group is clamped;
                ``"auto"`` lets a race find it.
            most: the most that one unit may add in one group that the race considers.
        """
        return self._single(output.sum(expression, per_unit=per_unit, most=most))

    def mean(self, expression: Any) -> Question:
        """Average a column or an expression."""
        return self._single(output.mean(expression))

    def variance(self, expression: Any) -> Question:
        """Take the variance of a column or an expression, of the rows themselves."""
        return self._single(output.variance(expression))

    def std(self, expression: Any) -> Question:
        """Take the standard deviation of a column or an expression, the root of its variance."""
        return self._single(output.std(expression))

    def median(self, expression: Any, *, interval: bool = False) -> Question:
        """Take the median of a column or an expression.

        Args:
            expression: numbers, dates or timestamps.
            interval: buy an interval in the unit of the values as well.
        """
        return self._single(output.median(expression, interval=interval))

    def quantile(
        self, expression: Any, q: Exactable | Sequence[Exactable], *, interval: bool = False
    ) -> Question:
        """Take a quantile of a column or an expression, or several that share the budget.

        Args:
            expression: numbers, dates or timestamps.
            q: the fraction of values that lie below, or a list of fractions.
            interval: buy an interval in the unit of the values as well.
        """
        return self._single(output.quantile(expression, q, interval=interval))

    def min(self, expression: Any) -> Question:
        """Take about the least value: one that a few lie below, as many as `explain` says."""
        return self._single(output.min(expression))

    def max(self, expression: Any) -> Question:
        """Take about the largest value: one that a few lie above, as many as `explain` says."""
        return self._single(output.max(expression))

    def count_distinct(self, column: str) -> Question:
        """Count the different values of a column; or, given the unit's column, the units."""
        return self._single(output.count_distinct(column))

    def _single(self, wanted: output.Output) -> Question:
        return self.agg(**{wanted.name: wanted})
