"""What an analyst asks for: `sf.count()`, `sf.sum(x)`, `sf.mean(x)`, `sf.quantile(x, 0.9)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sfumato.core.errors import ExpressionError, InputError
from sfumato.core.number import Exactable, exact, open_unit, positive, show
from sfumato.relation.source import unused

if TYPE_CHECKING:
    from sfumato.relation.expr import Expr
    from sfumato.session.bounds import Bounds

Function = Literal[
    "count", "sum", "mean", "variance", "std", "min", "max", "quantile", "count_distinct"
]
HALF = Fraction(1, 2)
AUTO: Literal["auto"] = "auto"
_QUOTED = re.compile(r'"(?P<name>(?:[^"]|"")+)"')

# What one unit may add to an answer: a range, or whatever a race finds, up to so much.
Contribution: TypeAlias = tuple[Fraction, Fraction] | tuple[Literal["auto"], Fraction | None]


@dataclass(frozen=True, slots=True)
class Output:
    """One column of an answer: a function of an expression, or of whole rows.

    Make it with `count`, `sum`, `mean`, `quantile` and the like, and name it in ``agg(name=...)``.

    Attributes:
        function: the function.
        text: the expression; None for whole rows.
        ranks: which quantiles.
        interval: whether an interval in the unit of the values is bought for them.
        bounds: whether the range into which values are clamped is bought.
        per_unit: the range into which the sum of one unit's rows in one group is clamped; or
            ``("auto", most)`` where a race finds its upper end, from 0 up to `most`.
        expr: the expression, where somebody has read the text already.
    """

    function: Function
    text: str | None = None
    ranks: tuple[Fraction, ...] = ()
    interval: bool = False
    bounds: bool = False
    per_unit: Contribution | None = None
    expr: Expr | None = None

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
        if self.text.isidentifier():
            return self.text
        quoted = _QUOTED.fullmatch(self.text.strip())
        return self.function if quoted is None else quoted["name"].replace('""', '"')

    @property
    def is_race(self) -> bool:
        """Whether a race finds how much of one unit counts."""
        return self.per_unit is not None and self.per_unit[0] == AUTO

    @property
    def most(self) -> Fraction | None:
        """The most of one unit that a race considers; None where nobody said."""
        return self.per_unit[1] if self.per_unit is not None and self.is_race else None

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """The range into which the sum of one unit is clamped; None where there is none."""
        low, high = self.per_unit or (AUTO, None)
        return None if isinstance(low, str) or high is None else (low, high)

    def split(self, name: str) -> dict[str, Output]:
        """Return one output for each quantile, by name: a list of them makes p25, p50, p75."""
        if len(self.ranks) < 2:
            return {name: self}
        return {
            f"{name}_p{show(100 * q)}": replace(self, ranks=(q,)) for q in dict.fromkeys(self.ranks)
        }

    def __repr__(self) -> str:
        """Show the call."""
        inside = [] if self.text is None else [repr(self.text)]
        if self.bounds:
            inside = [f"bounds({self.text!r})"]
        function: str = self.function
        if self.ranks == (HALF,):
            function = "median"
        elif self.ranks:
            listed = ", ".join(map(show, self.ranks))
            inside.append(listed if len(self.ranks) == 1 else f"[{listed}]")
        if self.interval:
            inside.append("interval=True")
        if self.ends is not None:
            inside.append(f"per_unit=({', '.join(map(show, self.ends))})")
        if self.is_race:
            inside.append(f"per_unit={AUTO!r}")
            inside += [] if self.most is None else [f"most={show(self.most)}"]
        return f"{function}({', '.join(inside)})"


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
    every: dict[str, Any] = {**dict(zip(own, unnamed, strict=True)), **by_name}
    found: dict[str, Output] = {}
    for name, output in every.items():
        for own_name, one in (
            output.split(name) if isinstance(output, Output) else {name: output}
        ).items():
            if own_name in found:
                raise InputError(f"two outputs would be called {own_name!r}. Name one otherwise.")
            found[own_name] = one
    return found


def count_name(columns: Sequence[str]) -> str:
    """Return what a count is called that nobody names: n, unless that is taken.

    Example:
        >>> count_name(["zone"]), count_name(["n"]), count_name(["n_low"])
        ('n', 'n_', 'n_')
    """
    ends = [column.removesuffix(end) for column in columns for end in ("_low", "_high", "_order")]
    return unused("n", [*columns, *ends])


def count(
    expression: str | None = None,
    *,
    per_unit: Literal["auto"] | None = None,
    most: Exactable | None = None,
) -> Output:
    """Count rows or, given a column or an expression, the rows in which it is not missing.

    Args:
        expression: what must not be missing; None counts all rows.
        per_unit: ``"auto"`` where nobody knows how many rows one unit has: a race finds how many
            of each count. The answer then lies at or below the exact number, as surely as it says.
        most: the most rows of one unit, in one group, that the race considers. What the unit's
            caps let count, if not given; 2^20 where they are bought.

    Example:
        >>> count(), count("fare"), count(per_unit="auto")
        (count(), count('fare'), count(per_unit='auto'))
    """
    return _raced(Output("count", expression), per_unit, most)


def sum(
    expression: str | Bounds,
    *,
    per_unit: tuple[Exactable, Exactable] | Literal["auto"] | None = None,
    most: Exactable | None = None,
) -> Output:
    """Add up a number over the rows in which it is not missing.

    Args:
        expression: the number.
        per_unit: the range into which the sum of all rows of one unit in one group is clamped. Then
            no row is left out, however many a unit has, and noise is made for that range instead of
            for the largest row times the rows that may count. ``"auto"`` where nobody knows how
            much one unit adds: a race finds the upper end, for numbers that are not negative. The
            answer then lies at or below the exact number, as surely as it says.
        most: the most that one unit may add, in one group, that the race considers. The largest
            number times the rows that count, if not given, and no more than 2^40 steps.

    Example:
        >>> sum("fare", per_unit=(0, 300)), sum("fare", per_unit="auto", most=5000)
        (sum('fare', per_unit=(0, 300)), sum('fare', per_unit='auto', most=5000))
    """
    made = _of("sum", expression)
    if per_unit is None or isinstance(per_unit, str):
        return _raced(made, per_unit, most)
    if not isinstance(per_unit, list | tuple) or len(per_unit) != 2:
        raise InputError(
            "per_unit= is the range of one unit's sum in one group: pass (low, high), as (0, 300)."
        )
    low, high = (exact(end, "per_unit") for end in per_unit)
    if low > high or made.bounds:
        raise InputError(
            "per_unit= has its low end first, and stands in place of sf.bounds. Pass (0, 300)."
        )
    return _raced(replace(made, per_unit=(low, high)), None, most)


def _raced(made: Output, per_unit: object, most: Exactable | None) -> Output:
    """Return an output of which a race finds how much of one unit counts, if that is asked."""
    if per_unit is None:
        if most is not None:
            raise InputError(
                "most= is where a race for what one unit adds ends, and there is none. Pass "
                "per_unit='auto' as well, or leave it out."
            )
        return made
    if not isinstance(per_unit, str) or per_unit != AUTO:
        ends = ", or the range of one unit, as (0, 300)" if made.function == "sum" else ""
        raise InputError(
            f"per_unit='auto' lets a race find how much of one unit counts, and there is no other "
            f"word. Pass 'auto'{ends}; or leave it out."
        )
    if made.bounds:
        raise InputError(
            "per_unit='auto' finds what one unit may add, so that no range of its rows is bought. "
            "Leave out sf.bounds."
        )
    return replace(made, per_unit=(AUTO, None if most is None else positive(most, "most")))


def mean(expression: str | Bounds) -> Output:
    """Average a number over the rows in which it is not missing."""
    return _of("mean", expression)


def variance(expression: str | Bounds) -> Output:
    """Average the squared distance from the mean, over the rows in which a number is not missing.

    It is the variance of the rows themselves: divided by how many there are, not by one less.
    """
    return _of("variance", expression)


def std(expression: str | Bounds) -> Output:
    """Take the standard deviation: the root of the `variance`."""
    return _of("std", expression)


def _of(function: Function, expression: str | Bounds) -> Output:
    from sfumato.session.bounds import Bounds

    if isinstance(expression, Bounds):
        return Output(function, expression.text, bounds=True)
    return Output(function, expression)


def quantile(
    expression: str | Bounds, q: Exactable | Sequence[Exactable], *, interval: bool = False
) -> Output:
    """Take a quantile of a number, a date or a timestamp; or several, which share the budget.

    It is a value such that about the fraction `q` of the values lie below. How far its rank may be
    off is known beforehand.

    Args:
        expression: of what; rows in which it is missing do not count.
        q: the fraction, strictly between 0 and 1, or a list of fractions.
        interval: buy an interval in the unit of the values as well, by two more quantiles.

    Example:
        >>> quantile("fare", 0.9), quantile("fare", [0.25, 0.75])
        (quantile('fare', 0.9), quantile('fare', [0.25, 0.75]))
    """
    listed = q if isinstance(q, list | tuple) else [q]
    if not listed:
        raise InputError("there is no quantile to take. Pass q=0.9, or a list such as [0.1, 0.9].")
    if not isinstance(interval, bool):
        raise InputError("interval= says whether an interval is bought: pass True or False.")
    ranks = tuple(open_unit(each, "q") for each in listed)
    return replace(_of("quantile", expression), ranks=ranks, interval=interval)


def median(expression: str | Bounds, *, interval: bool = False) -> Output:
    """Take the median: the quantile of one half.

    Example:
        >>> median("fare")
        median('fare')
    """
    return quantile(expression, HALF, interval=interval)


def count_distinct(column: str) -> Output:
    """Count how many different values an expression has; or, given the unit's column, the units.

    Each unit counts with as many values as its caps let count.
    """
    return Output("count_distinct", column)


def min(expression: str | Bounds) -> Output:
    """Take about the least value; of the rows of one unit, in `Table.group_by_unit`, exactly that.

    The least value of a group is one unit's own, which no noise can hide: it is taken a few ranks
    above, as many as `explain` says.
    """
    return _of("min", expression)


def max(expression: str | Bounds) -> Output:
    """Take about the largest value; of the rows of one unit, in `Table.group_by_unit`, exactly.

    The largest value of a group is one unit's own, which no noise can hide: it is taken a few ranks
    below, as many as `explain` says.
    """
    return _of("max", expression)
