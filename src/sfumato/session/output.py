"""What an analyst asks for: `sf.count()`, `sf.sum(x)`, `sf.mean(x)`, `sf.variance(x)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.core.errors import ExpressionError, InputError

Function = Literal["count", "sum", "mean", "variance", "std", "min", "max"]


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


def named(unnamed: Sequence[Output], by_name: Mapping[str, Output]) -> dict[str, Output]:
    """Return all outputs by name; those without one go by their own."""
    for output in unnamed:
        if not isinstance(output, Output):
            raise ExpressionError(
                "agg takes outputs, such as agg(n=sf.count(), fare=sf.mean('fare'))."
            )
    own = [output.name for output in unnamed]
    twice = next((name for name in own if own.count(name) > 1 or name in by_name), None)
    if twice is not None:
        raise InputError(
            f"two outputs would be called {twice!r}. Name them: agg(a=sf.count(), b=...)."
        )
    return {**dict(zip(own, unnamed, strict=True)), **by_name}


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


def variance(expression: str) -> Output:
    """Average the squared distance from the mean, over the rows in which a number is not missing.

    It is the variance of the rows themselves: divided by how many there are, not by one less.
    """
    return Output("variance", expression)


def std(expression: str) -> Output:
    """Take the standard deviation: the root of the `variance`."""
    return Output("std", expression)


def min(expression: str) -> Output:
    """Take the least of the rows of one unit: for `Table.group_by_unit`."""
    return Output("min", expression)


def max(expression: str) -> Output:
    """Take the largest of the rows of one unit: for `Table.group_by_unit`."""
    return Output("max", expression)
