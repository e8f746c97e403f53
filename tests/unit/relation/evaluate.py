"""What an expression means, said a second time: plain Python, exact fractions, NULL as None.

Nothing here knows of codes, steps, ranges or SQL. Numbers are fractions, categories their values,
dates `date`, timestamps seconds since 1970.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from sfumato.relation.expr import Call, Constant, Name, typed
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


def evaluate(expr, row, scope):
    """Return the value of an expression in one row of values; scope has their kinds."""
    match expr:
        case Name():
            return row[expr.name]
        case Constant(value=bool() | str() | None):
            return expr.value
        case Constant():
            return Fraction(expr.value)
        case Call():
            given = [evaluate(argument, row, scope) for argument in expr.arguments]
            if expr.function in LENIENT:
                value = LENIENT[expr.function](*given)
            else:
                value = None if None in given else STRICT[expr.function](*given)
            # A text may have been taken for a date, as in coalesce(born, '2000-01-01').
            return as_value_of(typed(expr, scope).kind, value)
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


def day(value):
    found = clock(value)
    return found.date() if isinstance(found, datetime) else found


def moved(d, count, unit):
    """Return a moment later, month by month: where a month is too short, its last day counts."""
    if isinstance(d, str):
        long = len(d) > 10 or unit in ("hour", "minute", "second")
        return moved(datetime.fromisoformat(d) if long else day(d), count, unit).isoformat()
    if isinstance(d, Moment):
        seconds = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
        return Moment(d.seconds + count * seconds[unit])
    if unit in ("second", "minute", "hour", "day", "week"):
        return d + timedelta(**{f"{unit}s": int(count)})
    months = d.month - 1 + int(count) * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = d.year + months // 12, months % 12 + 1
    for last in (31, 30, 29, 28):
        try:
            return d.replace(year=year, month=month, day=min(d.day, last))
        except ValueError:
            continue
    raise AssertionError(d)


def begun(unit, d):
    """Return the beginning of a period: text for those of the calendar, as categories list them."""
    if unit in ("hour", "minute", "second"):
        size = {"hour": 3600, "minute": 60, "second": 1}[unit]
        return Moment(Fraction(d.seconds // size * size))
    at = day(d)
    match unit:
        case "day":
            return at
        case "week":
            return (at - timedelta(days=at.weekday())).isoformat()
        case "month":
            return at.replace(day=1).isoformat()
        case "quarter":
            return at.replace(month=(at.month - 1) // 3 * 3 + 1, day=1).isoformat()
    return at.replace(month=1, day=1).isoformat()


def between(unit, a, b):
    """Count how often a period begins after one moment, up to another."""
    if unit in ("hour", "minute", "second"):
        size = {"hour": 3600, "minute": 60, "second": 1}[unit]
        x, y = (Moment.read(m) if isinstance(m, str) else m for m in (a, b))
        return Fraction(y.seconds // size - x.seconds // size)
    x, y = day(a), day(b)
    match unit:
        case "day":
            return Fraction((y - x).days)
        case "week":
            monday = [d.toordinal() - d.weekday() for d in (x, y)]
            return Fraction(monday[1] - monday[0], 7)
    months = [d.year * 12 + d.month - 1 for d in (x, y)]
    size = {"month": 1, "quarter": 3, "year": 12}[unit]
    return Fraction(months[1] // size - months[0] // size)


def plus(x, y):
    if isinstance(y, date):
        x, y = y, x
    return x + timedelta(days=int(y)) if isinstance(x, date) else x + y


def minus(x, *y):
    if not y:
        return -x
    if isinstance(x, date) and isinstance(y[0], Fraction):
        return x - timedelta(days=int(y[0]))
    a, b = alike(x, y[0])
    return Fraction((a - b).days) if isinstance(a, date) else a - b


LONGEST = 10_000


def substring(x, start, count=None):
    end = len(x) + 1 if count is None else start + count
    return "".join(c for at, c in enumerate(x, 1) if start <= at < end)


def place(x, y):
    """Return where a text first stands in the beginning of another, from 1 on; 0 for nowhere."""
    ends = range(len(x[:LONGEST]) - len(y) + 1)
    return Fraction(next((at + 1 for at in ends if x[at : at + len(y)] == y), 0))


def like(x, pattern, escape=None):
    """Say whether a text has a pattern: which beginnings of the pattern its beginnings have."""
    pieces = re.findall(f"{re.escape(escape)}.|." if escape else ".", pattern, re.DOTALL)

    def skipping(reached):
        for at in sorted(reached):
            while at < len(pieces) and pieces[at] == "%":
                reached.add(at := at + 1)
        return reached

    reached = skipping({0})
    for c in x:
        stays = {at for at in reached if at < len(pieces) and pieces[at] == "%"}
        moves = {at + 1 for at in reached if at < len(pieces) and pieces[at] in ("_", c)}
        plain = {at for at in moves if pieces[at - 1] != "%"}
        quoted = {at + 1 for at in reached if at < len(pieces) and pieces[at] == f"{escape}{c}"}
        reached = skipping(stays | plain | quoted)
    return len(pieces) in reached


def small(x):
    return "".join({"İ": "i"}.get(c, c.lower() if len(c.lower()) == 1 else c) for c in x)


def capital(x):
    return "".join({"ß": "ẞ"}.get(c, c.upper() if len(c.upper()) == 1 else c) for c in x)


def count_of(x, digits, decimals, low=None):
    """Read a number of so many digits off a text; `low` is the least where it is not so decided."""
    if isinstance(x, bool):
        return Fraction(int(x))
    if isinstance(x, Fraction):
        return rounded(x, Fraction(decimals))
    x = str(x).strip(" ")
    if not re.fullmatch(r"[+-]?\d+(\.\d+)?", x, re.ASCII):
        return None
    found = rounded(Fraction(Decimal(x)), Fraction(decimals))
    if low is not None:
        return found if low <= found < -low else None
    return found if abs(found) * 10 ** int(decimals) < 10 ** int(digits) else None


def decided(x):
    if isinstance(x, int | Fraction):
        return x != 0
    named = {"true": True, "t": True, "yes": True, "1": True}
    named |= {"false": False, "f": False, "no": False, "0": False}
    return named.get(small(str(x)))


def read_date(x):
    if isinstance(x, str):
        if not x.isascii() or re.search(r"\s", x):
            return None
        try:
            return datetime.strptime(x, "%Y-%m-%d").date() if len(x) == 10 else None
        except ValueError:
            return None
    return day(x)


def read_moment(x):
    if isinstance(x, str):
        if not x.isascii() or re.search(r"\s\s|^\s|\s$", x):
            return None
        for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
            try:
                found = datetime.strptime(x.replace("T", " "), form)
            except ValueError:
                continue
            return Moment.read(found.isoformat()) if found.isoformat()[:10] == x[:10] else None
        return None
    return x if isinstance(x, Moment) else Moment.read(f"{x.isoformat()}T00:00:00")


def spelled(x):
    if isinstance(x, bool):
        return str(x).lower()
    return x.isoformat() if isinstance(x, date) else str(x)


def root(x, step):
    """Return the largest multiple of a step whose square is not above."""
    if x < 0:
        return None
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if (middle * step) ** 2 <= x else (low, middle)
    return low * step


LENIENT = {
    "and": both,
    "or": either,
    "not": lambda x: None if x is None else not x,
    "is_null": lambda x: x is None,
    "case": case,
    "coalesce": lambda *given: next((x for x in given if x is not None), None),
    "nullif": nullif,
    "in": listed,
    "concat": lambda *given: "".join(x for x in given if x is not None)[:LONGEST],
}
STRICT = {
    "+": plus,
    "-": minus,
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
    "tinyint": lambda x: count_of(x, 0, 0, -(2**7)),
    "smallint": lambda x: count_of(x, 0, 0, -(2**15)),
    "integer": lambda x: count_of(x, 0, 0, -(2**31)),
    "bigint": lambda x: count_of(x, 18, 0),
    "decimal": count_of,
    "double": lambda x: Fraction(int(x)) if isinstance(x, bool) else x,
    "boolean": decided,
    "varchar": spelled,
    "power": lambda x, y: x ** int(y),
    "sign": lambda x: Fraction((x > 0) - (x < 0)),
    "root": root,
    "lower": small,
    "upper": capital,
    "trim": lambda x, y=" ": x.strip(y),
    "ltrim": lambda x, y=" ": x.lstrip(y),
    "rtrim": lambda x, y=" ": x.rstrip(y),
    "length": lambda x: Fraction(min(len(x), LONGEST)),
    "left": lambda x, n: substring(x, 1, n),
    "right": lambda x, n: x[::-1][: max(int(n), 0)][::-1],
    "substr": substring,
    "split_part": lambda x, y, n: dict(enumerate(x.split(y), 1)).get(int(n), ""),
    "replace": lambda x, y, z: z.join(x[:LONGEST].split(y))[:LONGEST],
    "||": lambda *given: "".join(given)[:LONGEST],
    "starts_with": lambda x, y: x[: len(y)] == y,
    "ends_with": lambda x, y: y == "" or x[-len(y) :] == y,
    "contains": lambda x, y: len(x.split(y)) > 1 if y else True,
    "strpos": place,
    "like": like,
    "ilike": lambda x, y, *z: like(small(x), small(y), *z),
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
    "week": lambda d: Fraction(clock(d).isocalendar().week),
    "dayofyear": lambda d: Fraction(clock(d).timetuple().tm_yday),
    "weekday": lambda d: Fraction(clock(d).isoweekday()),
    "dayofweek": lambda d: Fraction(clock(d).isoweekday() % 7),
    "hour": lambda d: Fraction(clock(d).hour),
    "minute": lambda d: Fraction(clock(d).minute),
    "second": lambda d: Fraction(clock(d).second),
    "date": read_date,
    "timestamp": read_moment,
    "date_trunc": begun,
    "date_diff": between,
    "date_add": moved,
}
