"""What an expression means, said a second time: plain Python, exact fractions, NULL as None.

Nothing here knows of codes, steps, ranges or SQL. Numbers are fractions, categories their values,
dates `date`, timestamps seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor

from sfumato.relation.expr import Call, Constant, Name
from sfumato.relation.kind import EPOCH, Day, Instant, Label, Number

MIDNIGHT = datetime(1970, 1, 1)


@dataclass(frozen=True, order=True)
class Moment:
    """A timestamp, in seconds since 1970: steps need not be whole microseconds."""

    seconds: Fraction

    @classmethod
    def read(cls, text):
        span = datetime.fromisoformat(text) - MIDNIGHT
        return cls(Fraction(span // timedelta(microseconds=1), 10**6))

    @property
    def clock(self):
        return MIDNIGHT + timedelta(microseconds=floor(self.seconds * 10**6))


def decoded(kind, code):
    """Return the value that a code stands for."""
    match kind:
        case _ if code is None:
            return None
        case Number():
            return code * kind.step
        case Label():
            return kind.values[code]
        case Day():
            return EPOCH + timedelta(days=code)
        case Instant():
            return Moment(Moment.read(kind.origin).seconds + code * kind.step)
    return code


def as_value_of(kind, value):
    """Return a constant as a value of the kind that it was taken for."""
    match kind:
        case Day() if isinstance(value, str):
            return date.fromisoformat(value)
        case Instant() if isinstance(value, str):
            return Moment.read(value)
    return value


def evaluate(expr, row):
    """Return the value of an expression in one row of values."""
    match expr:
        case Name():
            return row[expr.name]
        case Constant(value=bool() | str() | None):
            return expr.value
        case Constant():
            return Fraction(expr.value)
        case Call():
            given = [evaluate(argument, row) for argument in expr.arguments]
            if expr.function in LENIENT:
                return LENIENT[expr.function](*given)
            return None if None in given else STRICT[expr.function](*given)
    raise AssertionError(expr)


def both(*given):
    return False if False in given else None if None in given else True


def either(*given):
    return True if True in given else None if None in given else False


def case(*given):
    arms, rest = given[: len(given) // 2 * 2], given[len(given) // 2 * 2 :]
    for condition, value in zip(arms[::2], arms[1::2], strict=True):
        if condition is True:
            return value
    return rest[0] if rest else None


def nullif(a, b):
    return None if a is not None and b is not None and equal(a, b) else a


def listed(first, *rest):
    if first is None:
        return None
    return either(*(None if other is None else equal(first, other) for other in rest))


def alike(a, b):
    """Return two values that can be compared: a text beside a date is a date."""
    if isinstance(a, str) and not isinstance(b, str):
        return alike(b, a)[::-1]
    if isinstance(b, str) and isinstance(a, date):
        b = date.fromisoformat(b)
    if isinstance(b, str) and isinstance(a, Moment):
        b = Moment.read(b)
    return a, b


def equal(a, b):
    a, b = alike(a, b)
    return a == b


def less(a, b):
    a, b = alike(a, b)
    return a < b


def nearest(x):
    """Round to a whole number, halves away from zero."""
    whole = floor(abs(x) + Fraction(1, 2))
    return Fraction(whole if x >= 0 else -whole)


def rounded(x, digits=Fraction(0)):
    grid = Fraction(10) ** -int(digits)
    return nearest(x / grid) * grid


def magnitude(x, unit=Fraction(1)):
    """Count the bins up to a number: from 4 on, four of one width until it doubles."""
    size, found, width = floor(abs(x) / unit), 0, 1
    least = 0
    while size >= least + width:
        least, found = least + width, found + 1
        if least == 8 * width:
            width *= 2
    return Fraction(found if x >= 0 else -found)


def clock(value):
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    return value.clock if isinstance(value, Moment) else value


LENIENT = {
    "and": both,
    "or": either,
    "not": lambda x: None if x is None else not x,
    "is_null": lambda x: x is None,
    "case": case,
    "coalesce": lambda *given: next((x for x in given if x is not None), None),
    "nullif": nullif,
    "in": listed,
}
STRICT = {
    "+": lambda x, y: x + y,
    "-": lambda x, *y: x - y[0] if y else -x,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "divide": lambda x, y, step: None if y == 0 else nearest(x / y / step) * step,
    "//": lambda x, y: Fraction(floor(x / y)),
    "%": lambda x, y: x - y * floor(x / y),
    "abs": abs,
    "floor": lambda x, grid=Fraction(1): floor(x / grid) * grid,
    "ceil": lambda x, grid=Fraction(1): ceil(x / grid) * grid,
    "round": rounded,
    "least": min,
    "greatest": max,
    "clamp": lambda x, low, high: min(max(x, low), high),
    "magnitude": magnitude,
    "integer": lambda x: Fraction(int(x)) if isinstance(x, bool) else nearest(x),
    "=": equal,
    "<>": lambda a, b: not equal(a, b),
    "<": less,
    "<=": lambda a, b: not less(b, a),
    ">": lambda a, b: less(b, a),
    ">=": lambda a, b: not less(a, b),
    "year": lambda d: Fraction(clock(d).year),
    "quarter": lambda d: Fraction((clock(d).month + 2) // 3),
    "month": lambda d: Fraction(clock(d).month),
    "day": lambda d: Fraction(clock(d).day),
    "weekday": lambda d: Fraction(clock(d).isoweekday()),
    "hour": lambda d: Fraction(clock(d).hour),
    "minute": lambda d: Fraction(clock(d).minute),
    "date": lambda d: clock(d).date(),
}
