"""CAST. Every cast is safe: a text that cannot be read is NULL, and a number is never cut off.

A text is read as the reference says and no engine decides: digits with a sign and a decimal point,
ISO dates and moments. What it can become has a range, that of the type it is cast to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from sfumato.core.errors import ExpressionError
from sfumato.relation.arithmetic import as_integer, nearest, rounded
from sfumato.relation.category import MOST_VALUES, mapped, values
from sfumato.relation.expr import Rule, Typed, constant, literal
from sfumato.relation.kind import EPOCH, Day, Instant, Kind, Label, Number, Truth, Words
from sfumato.relation.moment import dated, days, timed
from sfumato.relation.operand import number, numeric, wide
from sfumato.relation.rule import Mismatch, rule
from sfumato.relation.text import lower

_DIGITS = 18  # of a number that a text may become; they fit 64 bits
_NUMBER = r" *([+-]?[0-9]+(?:\.[0-9]+)?) *"
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_DATE = rf"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
_MOMENT = rf"{_DATE}(?:[T ]{_TIME})?"
_MICROSECOND = timedelta(microseconds=1)
_YES, _NO = ("true", "t", "yes", "1"), ("false", "f", "no", "0")
EVERY_DAY = Day((date.min - EPOCH).days, (date.max - EPOCH).days)
EVERY_MOMENT = Instant(
    datetime.min.isoformat(), (datetime.max - datetime.min) // _MICROSECOND, Fraction(1, 10**6)
)
# The types of whole numbers: what a text may become. A number keeps the range it has.
_INTEGERS = {
    "tinyint": ("TINYINT", 2**7),
    "smallint": ("SMALLINT", 2**15),
    "integer": ("INTEGER", 2**31),
    "bigint": (f"DECIMAL({_DIGITS}, 0)", 10**_DIGITS),
}


def _integer(held: str, beyond: int) -> Rule:
    def cast(given: Sequence[Typed]) -> Typed:
        """Return 1 for true and 0 for false; a number is rounded, a text read."""
        t = given[0]
        # Of a type that counts in twos, the least number is one further from zero.
        kind = Number(-beyond if "(" not in held else 1 - beyond, beyond - 1)
        decimal = f"TRY_CAST({_extracted(t.sql, _NUMBER)} AS DECIMAL(38, 0))"
        sql = f"CAST(TRY_CAST({decimal} AS {held}) AS BIGINT)"
        return _read(t, lambda text: _decimal(text, kind), kind, sql) or as_integer(t)

    return cast


for _name, _type in _INTEGERS.items():
    rule(_name, takes=1, hint="It takes a number, which it rounds, a truth value or a text.")(
        _integer(*_type)
    )


@rule("decimal", takes=3, hint=f"CAST(x AS DECIMAL(p, s)) takes numbers and texts; p is {_DIGITS}.")
def _to_decimal(given: Sequence[Typed]) -> Typed:
    """Round to so many decimals; of a text, a number of so many digits in all."""
    t, digits, decimals = given[0], number(given[1]), number(given[2])
    if not (digits.denominator == decimals.denominator == 1 and 0 <= decimals <= digits >= 1):
        raise Mismatch
    if digits > _DIGITS and not isinstance(t.kind, Number | Truth):
        raise ExpressionError(
            f"a text is read as a number of {_DIGITS} digits at most, and here it is asked for "
            f"{digits}. Write CAST(x AS DECIMAL({_DIGITS}, 2))."
        )
    p, s = int(digits), int(decimals)
    kind = Number(1 - 10 ** min(p, _DIGITS), 10 ** min(p, _DIGITS) - 1, Fraction(1, 10**s))
    written = f"CAST(TRY_CAST({_extracted(t.sql, _NUMBER)} AS DECIMAL({p}, {s})) AS VARCHAR)"
    sql = f"TRY_CAST(replace({written}, '.', '') AS BIGINT)"
    found = _read(t, lambda text: _decimal(text, kind), kind, sql)
    return found or rounded(as_integer(t) if isinstance(t.kind, Truth) else t, s)


@rule("double", takes=1, hint="It takes a number; a text: CAST(x AS DECIMAL(12, 2)).")
def _double(given: Sequence[Typed]) -> Typed:
    """Return a number as it is: it is exact already."""
    if isinstance(given[0].kind, Truth):
        return as_integer(given[0])
    numeric(given[0])
    return given[0]


@rule("boolean", takes=1, hint="It takes a truth value, a number or a text.")
def _boolean(given: Sequence[Typed]) -> Typed:
    """Return whether a number is not 0; of a text, which of the two it names."""
    t = given[0]
    if isinstance(t.kind, Truth):
        return t
    if isinstance(t.kind, Number):
        return Typed(Truth(), f"({wide(t)} <> 0)")
    named = [", ".join(map(literal, names)) for names in (_YES, _NO)]
    arms = f"WHEN lower({t.sql}) IN ({named[0]}) THEN TRUE WHEN lower({t.sql}) IN ({named[1]})"
    found = _read(t, _truth, Truth(), f"(CASE {arms} THEN FALSE END)")
    if found is None:
        raise Mismatch
    return found


@rule(
    "date", takes=1, hint="It takes a date, a timestamp or a text; a constant: DATE '2026-01-31'."
)
def _date(given: Sequence[Typed]) -> Typed:
    """Return the day of a timestamp; of a text, the date it names."""
    t = given[0]
    if isinstance(t.constant, str):
        return dated(t)
    sql = f"(TRY_CAST({_extracted(t.sql, f'({_DATE})')} AS DATE) - DATE '1970-01-01')"
    return _read(t, _day, EVERY_DAY, sql) or days(t)


@rule("timestamp", takes=1, hint="It takes a date, a timestamp or a text.")
def _timestamp(given: Sequence[Typed]) -> Typed:
    """Return the moment at which a day begins; of a text, the moment it names."""
    t = given[0]
    if isinstance(t.constant, str):
        return timed(t)
    since = -(datetime.min - datetime(1970, 1, 1)) // _MICROSECOND
    sql = f"(epoch_us(TRY_CAST({_extracted(t.sql, f'({_MOMENT})')} AS TIMESTAMP)) + {since})"
    found = _read(t, _moment, EVERY_MOMENT, sql)
    if found is not None:
        return found
    if isinstance(t.kind, Day):
        start = datetime.combine(EPOCH + timedelta(days=t.kind.low), datetime.min.time())
        kind = Instant(start.isoformat(), t.kind.high - t.kind.low, Fraction(86_400))
        return Typed(kind, f"({t.sql} - ({t.kind.low}))")
    if not isinstance(t.kind, Instant):
        raise Mismatch
    return t


@rule("varchar", takes=1, hint="It takes a text, a whole number, a date or a truth value.")
def _varchar(given: Sequence[Typed]) -> Typed:
    """Return a text; a category of texts where there are few of them."""
    t = given[0]
    listed = values(t)
    match t.kind:
        case Words():
            return t
        case _ if listed is not None:
            return mapped(t, [str(v) for v in listed])
        case Truth():
            return Typed(Label(("false", "true")), f"CAST({t.sql} AS BIGINT)")
        case Number(step=step) if step.denominator == 1:
            return _spelled(t, t.kind, lambda code: str(code * step), _number_text(t, t.kind))
        case Day():
            moment = f"DATE '1970-01-01' + CAST({t.sql} AS INTEGER)"
            return _spelled(t, t.kind, _iso, f"CAST({moment} AS VARCHAR)")
    raise Mismatch


def _spelled(t: Typed, kind: Number | Day, spell: Callable[[int], str], sql: str) -> Typed:
    if kind.high - kind.low >= MOST_VALUES:
        return Typed(Words(), sql)
    if t.constant is not None:
        return constant(spell(kind.low))
    listed = Label(tuple(spell(code) for code in range(kind.low, kind.high + 1)))
    return Typed(listed, t.sql if kind.low == 0 else f"({t.sql} - ({kind.low}))")


def _number_text(t: Typed, kind: Number) -> str:
    size = int(kind.step)
    Number(kind.low * size, kind.high * size)  # refuses what could overflow
    return f"CAST({t.sql if size == 1 else f'({t.sql} * {size})'} AS VARCHAR)"


def _read(t: Typed, reader: Callable[[str | int], object], kind: Kind, sql: str) -> Typed | None:
    """Return a text, a constant or a category as what it says; None for what is no text."""
    if isinstance(t.constant, str):
        return _constant(t.constant, reader, kind)
    if isinstance(t.kind, Words):
        return Typed(kind, sql)
    listed = values(t)
    if listed is None:
        return None
    found = mapped(t, [reader(v) for v in listed])
    exact = found.kind
    if isinstance(kind, Number | Day) and isinstance(exact, Number):
        return Typed(replace(kind, low=exact.low, high=exact.high), found.sql)
    return Typed(kind, found.sql)


def _constant(text: str, reader: Callable[[str | int], object], kind: Kind) -> Typed:
    held = reader(text)
    if held is None:
        raise ExpressionError(f"{text!r} cannot be read so: the result is always NULL. Mend it.")
    if isinstance(held, bool) or not isinstance(kind, Number) or not isinstance(held, int):
        return constant(bool(held))
    return constant(held * kind.step)


def _extracted(sql: str, pattern: str) -> str:
    """Write the SQL of the part of a text that can be read; of others it is an empty text."""
    whole = literal(rf"\A{pattern}\z")
    return f"regexp_extract({sql}, {whole}, 1)"


def _decimal(given: str | int, kind: Number) -> int | None:
    found = re.fullmatch(_NUMBER, str(given))
    if found is None:
        return None
    held = nearest(Fraction(found[1]) / kind.step)
    return held if kind.low <= held <= kind.high else None


def _truth(given: str | int) -> bool | None:
    if isinstance(given, int):
        return given != 0
    return True if lower(given) in _YES else False if lower(given) in _NO else None


def _day(text: str | int) -> int | None:
    found = _parsed(text, _DATE)
    return None if found is None else (found.date() - EPOCH).days


def _moment(text: str | int) -> int | None:
    found = _parsed(text, _MOMENT)
    return None if found is None else (found - datetime.min) // _MICROSECOND


def _parsed(text: str | int, pattern: str) -> datetime | None:
    if not isinstance(text, str) or re.fullmatch(pattern, text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # no such day
        return None


def _iso(days_: int) -> str:
    return (EPOCH + timedelta(days=days_)).isoformat()
