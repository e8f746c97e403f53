"""What an analyst asks for: `sf.count()`, `sf.sum(x)`, `sf.mean(x)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfumato.core.errors import ExpressionError

Function = Literal["count", "sum", "mean"]


@dataclass(frozen=True, slots=True)
class Output:
    """One column of an answer: a function of an expression, or of whole rows.

    Make it with `count`, `sum` or `mean`, and name it in ``agg(name=...)``.
    """

    function: Function
    text: str | None = None

    def __post_init__(self) -> None:
        """Check the text."""
        if self.text is not None and (not isinstance(self.text, str) or not self.text.strip()):
            raise ExpressionError(
                f"{self.function} takes a column or an expression as text, such as "
                f"{self.function}('fare')."
            )

    @property
    def name(self) -> str:
        """The name of the column if nobody gives one: the column's own, or the function's."""
        if self.text is None:
            return "n"
        return self.text if self.text.isidentifier() else self.function

    def __repr__(self) -> str:
        """Show the call."""
        return f"{self.function}({'' if self.text is None else repr(self.text)})"


def count(expression: str | None = None) -> Output:
    """Count rows or, given a column or an expression, the rows in which it is not missing.

    Example:
        >>> count(), count("fare")
        (count(), count('fare'))
    """
    return Output("count", expression)


def sum(expression: str) -> Output:
    """Add up a number over the rows in which it is not missing."""
    return Output("sum", expression)


def mean(expression: str) -> Output:
    """Average a number over the rows in which it is not missing."""
    return Output("mean", expression)
