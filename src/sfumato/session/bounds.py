"""A clamping range that is bought: looked for by octaves in a noisy histogram of magnitudes.

Every value lies in one octave, a range from some number to about twice that number, on either side
of zero. The octaves of a column are public and few, and a unit moves their counts as it moves any
histogram. The noise of the counts is paid for; everything here works on noisy counts alone, and is
post-processing.

1. An octave whose noisy count is above a threshold holds values. The threshold is so high that with
   the stated confidence no octave without any value is above it, among all there are. A range with
   an end far from all values spoils an answer, one that a few values lie beyond does not: so that
   confidence is 99.5 %.
2. From the outermost of these the range grows outwards, octave by octave, while the noisy count of
   the next is above a second threshold, which an empty octave exceeds one time in sixteen. Tails
   are thin, and what is next to many values is likely to hold some.
3. A range that stays on one side of zero and spans more than an octave starts at zero: the noise of
   a sum does not grow, that of a mean by a third at most, and nothing is clamped towards zero.
4. A column without declared bounds is held to so many steps that only dirt reaches them: infinities
   and marks for what is missing. So the outermost octave is not searched where that is its end.

Octaves were chosen over finer bins, and the growth over sums of counts from outside, by experiment:
``benchmarks/accuracy/bounds.py``. Finer bins know the ends better where there are many rows; fewer
rows are found at all in coarser ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.errors import ExpressionError, InputError, SensitivityError
from sfumato.core.schema import Integer, Real
from sfumato.relation.expr import Call, Constant, Expr, Scope, typed
from sfumato.relation.kind import Kind, Number, hull, kind_of
from sfumato.relation.magnitude import edges, magnitude
from sfumato.relation.node import (
    Join,
    Node,
    PerUnit,
    Project,
    Union,
    UnitJoin,
    children,
    scope,
    sources,
)
from sfumato.relation.source import Source
from sfumato.release.error import Noise
from sfumato.release.format import grouped, percent
from sfumato.release.law import reach

SHARE = Fraction(1, 5)  # of the price of a question, for the range; see the benchmark
SURE = Fraction(995, 1000)  # that no octave without values starts the range
_QUARTERS = 4  # bins of magnitude in an octave
_GROWTH = 1 / 16  # how often an empty octave beside the range is taken for part of it, at most


@dataclass(frozen=True, slots=True, repr=False)
class Bounds:
    """A number whose range is to be bought with a share of the price of a question.

    Attributes:
        text: the column, or an expression over columns.

    Example:
        >>> Bounds("income")
        sf.bounds('income')
    """

    text: str

    def __post_init__(self) -> None:
        """Refuse what is no text."""
        if not isinstance(self.text, str):
            raise InputError(
                f"sf.bounds takes the name of a column, or an expression over columns, as text, "
                f"and this is a {type(self.text).__name__}. Write sf.bounds('income')."
            )

    def __repr__(self) -> str:
        """Show the call."""
        return f"sf.bounds({self.text!r})"


def bounds(expression: str) -> Bounds:
    """Buy the range into which a number is clamped, in place of declared bounds.

    For ``sf.sum(sf.bounds("income"))`` and other functions of a number. A share of the price finds
    a range that holds most values; `explain` shows which share, and how many rows it takes.

    Args:
        expression: the column, or an expression over columns.

    Example:
        >>> bounds("income")
        sf.bounds('income')
    """
    return Bounds(expression)


@dataclass(frozen=True, slots=True)
class Range:
    """What values are clamped to, in steps of the column, both ends included."""

    low: int
    high: int


def octave(expr: Expr, kind: Number) -> Expr:
    """Return the expression that says in which octave a row is; the groups of the histogram.

    Args:
        expr: the number.
        kind: its kind.
    """
    return Call(
        "//", (Call("magnitude", (expr, Constant(_constant(kind.step)))), Constant(_QUARTERS))
    )


def octaves(kind: Number, loose: tuple[bool, bool] = (False, False)) -> range:
    """Return the octaves in which values of a kind are searched: the public groups, in order.

    Args:
        kind: the kind of the number.
        loose: which of its ends are no declared bounds; the octave there is left out.

    Example:
        >>> octaves(Number(-10, 1000)), octaves(Number(-10, 1000), (False, True))
        (range(-3, 9), range(-3, 8))
    """
    low, high = magnitude(kind.low) // _QUARTERS, magnitude(kind.high) // _QUARTERS
    searched = range(low + loose[0], high + 1 - loose[1])
    return searched or range(low, high + 1)  # where there are no others, these


def found(
    noisy: Sequence[int],
    noise: Noise,
    kind: Number,
    confidence: Fraction | float = SURE,
    loose: tuple[bool, bool] = (False, False),
) -> Range | None:
    """Return the clamping range that noisy counts show; None if they show nothing.

    Args:
        noisy: how many rows are in each of `octaves`, with noise.
        noise: its law.
        kind: the kind of the number.
        confidence: the probability with which every octave that starts the range holds a value.
        loose: which ends of the kind are no declared bounds.

    Example:
        >>> found([0, 2, -1, 60, 300, 90, 1], Noise("laplace", 4), Number(0, 200), 0.95)
        Range(low=0, high=127)
    """
    every = octaves(kind, loose)
    if len(noisy) != len(every):
        raise InputError(
            f"a range over {len(every)} octaves is found from as many counts, not {len(noisy)}. "
            f"Pass one noisy count for each of octaves(kind)."
        )
    sure, likely = threshold(noise, kind, confidence, loose), reach(noise, 2 * _GROWTH)
    seeds = [place for place, count in enumerate(noisy) if count > sure]
    if not seeds:
        return None
    first, last = seeds[0], seeds[-1]
    while first > 0 and noisy[first - 1] > likely:
        first -= 1
    while last < len(every) - 1 and noisy[last + 1] > likely:
        last += 1
    low, high = _edges(every[first])[0], _edges(every[last])[1]
    if 0 < 2 * low <= high:
        low = 0
    if low <= 2 * high < 0:
        high = 0
    low, high = max(low, kind.low), min(high, kind.high)
    if low == high:  # of one value nothing could be asked; a step more costs nothing
        low, high = (low - 1, high) if low > kind.low else (low, min(high + 1, kind.high))
    return Range(low, high)


def threshold(
    noise: Noise,
    kind: Number,
    confidence: Fraction | float = SURE,
    loose: tuple[bool, bool] = (False, False),
) -> int:
    """Return above which noisy count an octave starts a range.

    No empty octave among all of them is above it, with the confidence given: one is with at most an
    equal share of the rest of the probability, and the shares add up.
    """
    return reach(noise, 2 * float(1 - confidence) / len(octaves(kind, loose)))


def said(
    noise: Noise,
    kind: Number,
    confidence: Fraction | float = SURE,
    loose: tuple[bool, bool] = (False, False),
) -> str:
    """Say before paying what it takes for a range to be found, and what happens beyond it."""
    rows = threshold(noise, kind, confidence, loose)
    sparse = reach(noise, 2 * _GROWTH)
    return (
        f"a range is found where more than about {grouped(rows)} rows lie within a factor of two "
        f"of each other, and ends where fewer than about {grouped(sparse)} follow; values beyond "
        f"it count as its ends. Noise alone starts a range where no values are in at most "
        f"{percent(1 - Fraction(confidence))} of cases"
    )


def undeclared(expr: Expr, node: Node) -> str | None:
    """Return a column without declared bounds on which the range of an expression rests.

    Such a column is held to so many steps that its range says nothing. A range rests on it if it
    changes when the column is held to twice as many: that of ``clamp(x, 0, 9)`` does not.

    Args:
        expr: what is aggregated.
        node: the relation.

    Returns:
        The name of the column in its table; None if there is none.
    """
    return next((name for name, _ in _undeclared(expr, node)), None)


def loose(expr: Expr, node: Node) -> tuple[bool, bool]:
    """Return which ends of the range of an expression rest on columns without declared bounds.

    Args:
        expr: what is aggregated.
        node: the relation.

    Returns:
        Whether the low end does, and the high end.
    """
    ends = [which for _, which in _undeclared(expr, node)]
    return any(low for low, _ in ends), any(high for _, high in ends)


def _undeclared(expr: Expr, node: Node) -> Iterator[tuple[str, tuple[bool, bool]]]:
    """Yield columns without bounds on which the range rests, and which ends of it."""
    kind = typed(expr, scope(node)).kind
    for source in sources(node):
        for name in source.columns:
            declared = source.schema[name]
            if not isinstance(declared, Integer | Real) or declared.low is not None:
                continue
            try:
                other = typed(expr, _widened(node, source, name)).kind
            except ExpressionError:  # it grows beyond what can be computed, so it rests on it
                other = typed(expr, _widened(node, source, name, Fraction(1, 2))).kind
            if other != kind:
                ends = (True, True)
                if isinstance(other, Number) and isinstance(kind, Number):
                    ends = other.low != kind.low, other.high != kind.high
                yield name, ends


def unbounded(function: str, text: str, column: str) -> SensitivityError:
    """Return the refusal of an aggregate whose range rests on a column without bounds.

    Args:
        function: the aggregate, as it is called.
        text: what is aggregated, as it was written.
        column: the column without bounds.
    """
    return SensitivityError(
        f"{function}({text!r}) has no public range: no bounds are declared for {column!r}, so that "
        f"one unit could move the answer without limit. Buy a range with a share of the price, "
        f"{function}(sf.bounds({text!r})); or state one that is known without looking at the data, "
        f"as in {function}('clamp({column}, 0, 100000)')."
    )


def _edges(held: int) -> tuple[int, int]:
    """Return the least and the largest number of steps in an octave."""
    return edges(_QUARTERS * held)[0], edges(_QUARTERS * held + _QUARTERS - 1)[1]


def _constant(step: Fraction) -> int | Fraction:
    return int(step) if step.denominator == 1 else step


def _widened(node: Node, table: Source, column: str, by: Fraction = Fraction(2)) -> Scope:
    """Return the columns of a relation as if one column of one table had a wider range."""
    match node:
        case Source():
            wider = _times(kind_of(node.schema[column]), by) if node == table else None
            return {**scope(node), **({} if wider is None else {column: wider})}
        case Project():
            inner = _widened(node.child, table, column, by)
            made = {name: typed(expr, inner).kind for name, expr in node.columns}
            return {name: kind for name, kind in made.items() if kind is not None}
        case Union():
            left, right = (
                _widened(child, table, column, by) for child in (node.first, node.second)
            )
            hulls = {name: hull(kind, right[name]) for name, kind in left.items()}
            return {name: kind for name, kind in hulls.items() if kind is not None}
        case Join():
            added = {name: kind for name, kind, _ in node.table.columns}
            return {**_widened(node.child, table, column, by), **added}
        case UnitJoin():
            left, right = (
                _widened(child, table, column, by) for child in (node.first, node.second)
            )
            equal = {other for _, other in node.on}
            return {**left, **{n: kind for n, kind in right.items() if n not in equal}}
        case PerUnit():
            inner = _widened(node.child, table, column, by)
            summed = {name: summary.kind(inner) for name, summary in node.summaries}
            return {**{key: inner[key] for key in node.keys}, **summed}
        case _:
            return _widened(children(node)[0], table, column, by)


def _times(kind: Kind, by: Fraction) -> Kind | None:
    if not isinstance(kind, Number):
        return None
    return Number(int(by * kind.low), int(by * kind.high), kind.step)
