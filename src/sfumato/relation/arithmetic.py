"""Functions of numbers. Exact: steps get finer or ranges wider, and rounding is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sfumato.core.errors import ExpressionError
from sfumato.core.number import show
from sfumato.relation.expr import Rule, Typed, constant
from sfumato.relation.kind import Day, Instant, Number, Truth, common_step
from sfumato.relation.operand import (
    computed,
    number,
    numeric,
    on_one_step,
    positive,
    rescale,
    whole,
    wide,
)
from sfumato.relation.period import apart, shifted
from sfumato.relation.rule import Mismatch, rule

_NUMBERS = "It takes numbers; a truth value becomes one with integer(...)."
_SUMS = f"{_NUMBERS} To a date add INTERVAL 3 DAY; time apart is date_diff('hour', a, b)."
_POSITIVE = "It takes a number and a positive constant; divide(x, y, step) divides two columns."
_GRID = "It takes a number and, if you like, a positive constant of which to make a multiple."
_DIGITS = 18  # decimals to which numbers of 64 bits can be rounded


@rule("+", takes=2, hint=_SUMS)
def _add(given: Sequence[Typed]) -> Typed:
    for t, other in (given, given[::-1]):
        if isinstance(t.kind, Day):
            return shifted(t, whole(other), "day")
    a, b = on_one_step(given)
    x, y = numeric(a), numeric(b)
    kind = Number(x.low + y.low, x.high + y.high, x.step)
    return computed(f"({wide(a)} + {wide(b)})", kind, given, lambda x, y: x + y)


@rule("-", takes=(1, 2), hint=_SUMS)
def _subtract(given: Sequence[Typed]) -> Typed:
    if len(given) == 1:
        kind = numeric(given[0])
        negative = Number(-kind.high, -kind.low, kind.step)
        return computed(f"(- {wide(given[0])})", negative, given, lambda x: -x)
    if any(isinstance(t.kind, Day) for t in given):
        if any(isinstance(t.kind, Instant) for t in given):
            raise Mismatch
        if isinstance(given[1].kind, Number):
            return shifted(given[0], -whole(given[1]), "day")
        return apart(given[1], given[0], "day")
    a, b = on_one_step(given)
    x, y = numeric(a), numeric(b)
    kind = Number(x.low - y.high, x.high - y.low, x.step)
    return computed(f"({wide(a)} - {wide(b)})", kind, given, lambda x, y: x - y)


@rule("*", takes=2, hint=_NUMBERS)
def _multiply(given: Sequence[Typed]) -> Typed:
    for t, factor in (given, given[::-1]):
        if t.constant is None and factor.constant is not None and number(factor) != 0:
            return _by_constant([t, constant(1 / number(factor))])
    a, b = (numeric(t) for t in given)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    kind = Number(min(ends), max(ends), a.step * b.step)
    sql = f"({wide(given[0])} * {wide(given[1])})"
    return computed(sql, kind, given, lambda x, y: x * y)


@rule(
    "/",
    takes=2,
    hint="Divide by a constant, or use divide(x, y, step), which says on which grid to round.",
)
def _by_constant(given: Sequence[Typed]) -> Typed:
    """Divide by a constant: the numbers stay, only their step changes, and nothing is rounded."""
    kind, divisor = numeric(given[0]), number(given[1])
    if divisor == 0:
        raise ExpressionError("this divides by 0 in every row. Divide by another constant.")
    if divisor < 0:
        return _by_constant([_subtract([given[0]]), constant(-divisor)])
    divided = replace(kind, step=kind.step / divisor)
    return computed(given[0].sql, divided, given, lambda x, y: Fraction(x) / y)


@rule(
    "divide",
    takes=3,
    hint="It takes two numbers and a positive constant, the step to which the quotient is rounded.",
)
def _divide(given: Sequence[Typed]) -> Typed:
    """Divide two columns, to the nearest multiple of a constant step; by 0 it is NULL."""
    a, b, step = numeric(given[0]), numeric(given[1]), positive(given[2])
    ratio = a.step / (b.step * step)
    x, y = _scaled(given[0], ratio.numerator), _scaled(given[1], ratio.denominator)
    a, b = numeric(x), numeric(y)
    least = ratio.denominator  # the divisor closest to 0
    divisors = {q for q in (b.low, -least, least, b.high) if q and b.low <= q <= b.high}
    if not divisors:
        raise ExpressionError("this divides by 0 in every row. Divide by something else.")
    if x.constant is not None and y.constant is not None:
        return constant(nearest(Fraction(a.low, b.low)) * step)
    # The quotient grows with the dividend and is monotone in the divisor on each side of 0.
    ends = [nearest(Fraction(p, q)) for p in (a.low, a.high) for q in divisors]
    size = f"abs({wide(y)})"
    sql = (
        f"(sign({wide(x)}) * sign({wide(y)}) * "
        f"((abs({wide(x)}) + {size} // 2) // nullif({size}, 0)))"
    )
    return Typed(Number(min(ends), max(ends), step), sql)


@rule("//", takes=2, hint=_POSITIVE)
def _floor_division(given: Sequence[Typed]) -> Typed:
    return whole_parts(given[0], positive(given[1]))


def whole_parts(t: Typed, divisor: Fraction) -> Typed:
    """Return how many whole divisors fit; below zero too, the number is rounded down."""
    if t.constant is not None:
        return constant(number(t) // divisor)
    whole = rescale(t, divisor) if _lies_on(t, divisor) else _cells(t, divisor)
    return Typed(replace(numeric(whole), step=Fraction(1)), whole.sql)


@rule("%", takes=2, hint=_POSITIVE)
def _remainder(given: Sequence[Typed]) -> Typed:
    """Return what floor division leaves: from 0 up to the divisor."""
    t, divisor = given[0], positive(given[1])
    if t.constant is not None:
        return constant(number(t) % divisor)
    fine = rescale(t, common_step(numeric(t).step, divisor))
    kind = numeric(fine)
    size = int(divisor / kind.step)
    if kind.low >= 0 and kind.high < size:
        return fine
    shift = _shift(kind, size)
    sql = f"({fine.sql} % {size})" if not shift else f"(({fine.sql} + {shift}) % {size})"
    return Typed(Number(0, size - 1, kind.step), sql)


@rule("abs", takes=1, hint=_NUMBERS)
def _absolute(given: Sequence[Typed]) -> Typed:
    kind = numeric(given[0])
    low = 0 if kind.low <= 0 <= kind.high else min(abs(kind.low), abs(kind.high))
    most = Number(low, max(abs(kind.low), abs(kind.high)), kind.step)
    return computed(f"abs({wide(given[0])})", most, given, abs)


@rule("floor", takes=(1, 2), hint=_GRID)
def _floor(given: Sequence[Typed]) -> Typed:
    """Round down to a multiple of a constant; of 1 if none is given."""
    grid = positive(given[1]) if len(given) > 1 else Fraction(1)
    if given[0].constant is not None:
        return constant(number(given[0]) // grid * grid)
    return given[0] if _lies_on(given[0], grid) else _cells(given[0], grid)


@rule("ceil", takes=(1, 2), hint=_GRID)
def _ceil(given: Sequence[Typed]) -> Typed:
    """Round up to a multiple of a constant; of 1 if none is given."""
    grid = positive(given[1]) if len(given) > 1 else Fraction(1)
    if given[0].constant is not None:
        return constant(-(-number(given[0]) // grid) * grid)
    return given[0] if _lies_on(given[0], grid) else _cells(given[0], grid, up=True)


@rule("round", takes=(1, 2), hint="It takes a number and how many decimals: a whole constant.")
def _round(given: Sequence[Typed]) -> Typed:
    digits = number(given[1]) if len(given) > 1 else Fraction(0)
    if digits.denominator != 1:
        raise Mismatch
    return rounded(given[0], int(digits))


def rounded(t: Typed, digits: int = 0) -> Typed:
    """Round to that many decimals; halves go away from zero, as in SQL."""
    if abs(digits) > _DIGITS:
        raise ExpressionError(
            f"round goes from {-_DIGITS} to {_DIGITS} decimals, and here it is asked for "
            f"{digits}. Ask for fewer."
        )
    grid = Fraction(10) ** -digits
    if t.constant is not None:
        return constant(nearest(number(t) / grid) * grid)
    if _lies_on(t, grid):
        return t
    fine = rescale(t, common_step(numeric(t).step, grid))
    kind = numeric(fine)
    size = int(grid / kind.step)
    Number(0, max(abs(kind.low), abs(kind.high)) + size)  # refuses what could overflow
    low, high = (nearest(Fraction(end, size)) for end in (kind.low, kind.high))
    if kind.low >= 0:
        sql = f"(({fine.sql} + {size // 2}) // {size})"
    else:
        sql = f"(sign({fine.sql}) * ((abs({fine.sql}) + {size // 2}) // {size}))"
    return Typed(Number(low, high, grid), sql)


def _extreme(word: str, choose: Callable[..., int]) -> Rule:
    def extreme(given: Sequence[Typed]) -> Typed:
        """Return the least or the largest; NULL if any is NULL, where engines skip it."""
        parts = on_one_step(given)
        kinds = [numeric(t) for t in parts]
        low, high = (choose(ends) for ends in ([k.low for k in kinds], [k.high for k in kinds]))
        sql = f"{word}({', '.join(wide(t) for t in parts)})"
        kind = Number(low, high, kinds[0].step)
        return computed(_unless_null(parts, sql), kind, given, choose)

    return extreme


rule("least", takes=(2, None), hint=_NUMBERS)(_extreme("least", min))
rule("greatest", takes=(2, None), hint=_NUMBERS)(_extreme("greatest", max))


@rule("clamp", takes=3, hint="It takes a number and two constants: clamp(fare, 0, 100).")
def _clamp(given: Sequence[Typed]) -> Typed:
    """Bring a number between two constants; new bounds lower the noise of its sum."""
    low, high = number(given[1]), number(given[2])
    if low > high:
        raise ExpressionError(
            f"clamp has its bounds reversed: from {show(low)} to {show(high)}. Write the lower "
            f"bound first: clamp(x, {show(high)}, {show(low)})."
        )
    if given[0].constant is not None:
        return constant(min(max(number(given[0]), low), high))
    parts = on_one_step(given)
    x, bottom, top = (numeric(t) for t in parts)
    least, most = (min(max(end, bottom.low), top.high) for end in (x.low, x.high))
    sql = f"least(greatest({parts[0].sql}, {wide(parts[1])}), {wide(parts[2])})"
    return Typed(Number(least, most, x.step), _unless_null(parts, sql))


def as_integer(t: Typed) -> Typed:
    """Return 1 for true and 0 for false; a number is rounded."""
    if not isinstance(t.kind, Truth):
        return rounded(t)
    if t.constant is not None:
        return constant(int(t.constant))
    return Typed(Number(0, 1), f"CAST({t.sql} AS BIGINT)")


def _cells(t: Typed, grid: Fraction, *, up: bool = False) -> Typed:
    """Return a number rounded down, or up, to a multiple of `grid`, as that multiple."""
    fine = rescale(t, common_step(numeric(t).step, grid))
    kind = numeric(fine)
    size = int(grid / kind.step)
    bias = size - 1 if up else 0
    shift = _shift(Number(kind.low + bias, kind.high + bias), size)
    x = fine.sql if not shift + bias else f"({fine.sql} + {shift + bias})"
    sql = f"({x} // {size})" if not shift else f"({x} // {size} - {shift // size})"
    return Typed(Number((kind.low + bias) // size, (kind.high + bias) // size, grid), sql)


def _shift(kind: Number, size: int) -> int:
    """Return the multiple of `size` that makes a number positive: engines cut towards zero."""
    shift = 0 if kind.low >= 0 else -(kind.low // size) * size
    Number(0, max(size, kind.high + shift))  # refuses what could overflow
    return shift


def _lies_on(t: Typed, grid: Fraction) -> bool:
    """Say whether a number is a multiple of `grid` whatever it is."""
    return (numeric(t).step / grid).denominator == 1


def _scaled(t: Typed, factor: int) -> Typed:
    return rescale(t, numeric(t).step / factor)


def nearest(value: Fraction) -> int:
    """Round to a whole number; halves go away from zero."""
    size = int(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def _unless_null(parts: Sequence[Typed], sql: str) -> str:
    present = " AND ".join(f"{t.sql} IS NOT NULL" for t in parts if t.constant is None)
    return f"(CASE WHEN {present} THEN {sql} END)" if present else sql
