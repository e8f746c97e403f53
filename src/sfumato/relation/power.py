"""Powers, roots and signs of numbers. Whole arithmetic: what would need a float is not here."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from sfumato.core.errors import ExpressionError
from sfumato.relation.arithmetic import whole_parts
from sfumato.relation.expr import Typed, constant
from sfumato.relation.kind import Number
from sfumato.relation.operand import computed, number, numeric, positive, wide
from sfumato.relation.rule import Mismatch, rule

_HIGHEST = 10
_EXACT = 2**52  # below, the root of a double, rounded down, is that of the whole number


@rule("power", takes=2, hint=f"It takes a number and a whole constant from 1 to {_HIGHEST}.")
def _power(given: Sequence[Typed]) -> Typed:
    """Multiply a number with itself, exactly; steps multiply too."""
    kind, exponent = numeric(given[0]), number(given[1])
    if exponent.denominator != 1 or not 1 <= exponent <= _HIGHEST:
        raise Mismatch
    n = int(exponent)
    ends = [kind.low**n, kind.high**n]
    # An even power turns at 0.
    least = 0 if n % 2 == 0 and kind.low < 0 < kind.high else min(ends)
    sql = f"({' * '.join([wide(given[0])] * n)})"
    return computed(sql, Number(least, max(ends), kind.step**n), given, lambda x, y: x ** int(y))


@rule("sign", takes=1, hint="It takes a number.")
def _sign(given: Sequence[Typed]) -> Typed:
    """Return 1 above 0, -1 below, and 0."""
    kind = numeric(given[0])
    low, high = ((end > 0) - (end < 0) for end in (kind.low, kind.high))
    sql = f"CAST(sign({wide(given[0])}) AS BIGINT)"
    return computed(sql, Number(low, high), given, lambda x: (x > 0) - (x < 0))


@rule(
    "root",
    takes=2,
    hint="It takes a number and a positive constant, the step to which the root is rounded down.",
)
def _root(given: Sequence[Typed]) -> Typed:
    """Return the square root, rounded down to a multiple of a constant; NULL below 0."""
    step = positive(given[1])
    # The root of y, rounded down, is that of y rounded down.
    squares = whole_parts(given[0], step**2)
    kind = numeric(squares)
    if kind.high < 0:
        raise ExpressionError("this is the root of a number below 0 in every row. Leave it out.")
    if kind.high >= _EXACT:
        raise ExpressionError(
            "a root is exact up to 2^26 steps, and this one can be larger. Ask for a coarser step, "
            "or clamp the number."
        )
    if squares.constant is not None:
        return constant(isqrt(int(number(squares))) * step)
    guarded = squares.sql
    if kind.low < 0:
        guarded = f"(CASE WHEN {squares.sql} >= 0 THEN {squares.sql} END)"
    sql = f"CAST(floor(sqrt(CAST({guarded} AS DOUBLE))) AS BIGINT)"
    return Typed(Number(isqrt(max(kind.low, 0)), isqrt(kind.high), Fraction(step)), sql)
