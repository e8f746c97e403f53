"""What a column means, whatever the engine holds for it.

For each declared type and each class of physical types there is one SQL expression. Which one is
used depends on the two types alone, never on a value. Every expression is total: no value of the
physical type makes it fail. All of them are below one clamp on 64-bit integers, so the result lies
within the declared bounds, or is NULL, for ANY input:

    CASE WHEN n < low THEN low WHEN n > high THEN high ELSE n END

=========  =======================================================================================
declared   reads
=========  =======================================================================================
Integer    numbers, booleans and text; beyond the bounds counts as the bound, infinities too, and
           where none are declared they are 2^53 - 1 steps from zero on both sides;
           fractions are rounded to the nearest, halves away from zero; NaN is NULL
Real       the same, in steps: the 64-bit double nearest to the value, divided by the step in
           64-bit arithmetic, rounded to the nearest step, halves away from zero
Category   the text of a value if listed (exactly, nothing is trimmed), a number if listed as one:
           7, 7.0 and '7' are the listed 7; all else is NULL
Boolean    booleans, the numbers 0 and 1, and true, t, yes, 1, false, f, no, 0 in any case
Date       days, the day of a moment (in UTC), and ISO text; beyond the bounds counts as the bound
Timestamp  the same, rounded down to the step
Text       text; whole numbers without a fraction, other numbers as the engine writes them; in a
           CSV or TSV file an empty field, quoted or not, is NULL: there is no other way to say so
=========  =======================================================================================

A unit is named by whatever it is, but for NULL, NaN, the empty text and, in a Parquet file, a text
with a question mark: the engine writes one for bytes that are no letters.

Text that is read as a number may have blanks around it and an exponent, no digit separators and no
hexadecimal digits; a number too large for a double is infinite. Text that cannot be read is NULL,
and so is NaN. A type that has no reading (a list as an Integer, a number as a Date) is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.backends.category import first_of_run, position
from sfumato.backends.moment import Axis, step_of, text_moment
from sfumato.backends.physical import Class, Physical, PhysicalColumn, name
from sfumato.core.errors import ColumnError
from sfumato.core.schema import Boolean, Category, Column, Date, Integer, Real, Text, Timestamp
from sfumato.relation.source import HIDDEN, Source

if TYPE_CHECKING:
    from sfumato.backends.lookup import Lookup

_NUMBERS = (Class.SMALL, Class.WIDE, Class.FLOAT, Class.DECIMAL, Class.BOOLEAN, Class.TEXT)
_DAYS = (Class.DATE, Class.MOMENT, Class.TEXT)
_WORDS = (*_NUMBERS, Class.DATE)
_UNITS = (*_WORDS, Class.MOMENT, Class.BYTES)
COMPARABLE = (Class.SMALL, Class.WIDE, Class.FLOAT, Class.TEXT, Class.NOTHING)
_READS = {
    Integer: _NUMBERS,
    Real: _NUMBERS,
    Boolean: _NUMBERS,
    Category: _WORDS,
    Text: _WORDS,
    Date: _DAYS,
    Timestamp: _DAYS,
}
LEAD = "sfumato_lead"  # what a row refers to, until its unit is looked up
_EXACT = 2**53  # whole numbers up to here are doubles
_FAR = 2**62  # no declared bound lies beyond


@dataclass(frozen=True, slots=True)
class Reading:
    """How one column is read, in three steps, each of which uses the one below more than once.

    Attributes:
        prepared: from the physical column: a number as a double, a text as a moment.
        converted: from the prepared value, which is called `value`: the contract's integer.
        bounds: of that integer, for the clamp; None for truth values and texts.
    """

    prepared: str
    converted: str
    bounds: tuple[int, int] | None


def selects(tables: Mapping[Source, Physical]) -> dict[str, str]:
    """Write for each table the SELECT that gives it the columns of its contract.

    One unit must be one in all of them. So a unit that is held in several types is read as text, in
    which a whole number is the same whatever its type: 7 is '7' as an integer and as a fraction.
    The same holds for the two ends of a link.

    Raises:
        UnknownName: a declared column, the unit's, or an end of a link does not exist.
        ColumnError: a column has a type that its declaration cannot read, or the unit or a key has
            types that cannot be compared.
    """
    from sfumato.backends.lookup import Lookup

    lookups = {source: Lookup.of(source, tables) for source in tables}
    held = {source: found.unit for source, found in lookups.items() if found.unit is not None}
    several = len({column.type for column in held.values()}) > 1
    for source, column in held.items():
        if several and column.kind not in COMPARABLE:
            raise ColumnError(
                f"the unit {column.name!r} of table {source.name!r} is held as "
                f"{shown(column)} and otherwise in another table, so that nobody can say who is "
                f"who. Convert it to the same type, or to text, in all tables."
            )
    return {s.name: select(s, p, as_text=several, lookup=lookups[s]) for s, p in tables.items()}


def select(
    source: Source, physical: Physical, *, as_text: bool = False, lookup: Lookup | None = None
) -> str:
    """Write the SELECT that gives a physical table the columns of its contract.

    Rows without a unit are dropped: nobody is protected by them, and nobody may be counted twice.

    Args:
        source: the contract.
        physical: the table.
        as_text: whether the unit is read as text.
        lookup: what is read of other tables; None where nothing is.

    Raises:
        UnknownName: a declared column, or the unit's, does not exist.
        ColumnError: a column has a type that its declaration cannot read.
    """
    prepared, converted, clamped = [], [], []
    where = joins = ""
    for i, column in enumerate(source.columns):
        found = physical.column(column, source.name)
        reading = read(source.schema[column], found, source.name, f"c{i}")
        prepared.append(f"{reading.prepared} AS c{i}")
        converted.append(f"{reading.converted} AS c{i}")
        clamped.append(f"{_clamped(f'c{i}', reading.bounds)} AS {name(column)}")
    if source.owner is not None:
        found = physical.column(source.owner, source.name)
        check_unit(found, source.name)
        if lookup is None or not lookup.steps:
            prepared.append(f"{unit_value(found, as_text=as_text)} AS {HIDDEN}")
            converted.append(HIDDEN)
            where = f" WHERE {is_named(found, physical.replaced, as_text=as_text)}"
        else:
            prepared.append(f"{lookup.begin} AS {LEAD}")
            converted.append(f"{lookup.end} AS {HIDDEN}")
            joins = lookup.joins(as_text=as_text)
            where = f" WHERE {lookup.named}"
        clamped.append(HIDDEN)
    for hidden, value, named in () if lookup is None else lookup.keys:
        prepared.append(f"{value} AS {hidden}")
        converted.append(f"CASE WHEN {named} THEN {hidden} END AS {hidden}")
        clamped.append(hidden)
    first = f"SELECT {', '.join(prepared)} FROM {physical.sql}"  # noqa: S608 - names and numbers
    second = f"SELECT {', '.join(converted)} FROM ({first}) AS mine{joins}{where}"  # noqa: S608
    return f"SELECT {', '.join(clamped)} FROM ({second})"  # noqa: S608


def read(declared: Column, column: PhysicalColumn, table: str, value: str) -> Reading:
    """Return how a declared column is read from a physical one.

    Args:
        declared: its meaning.
        column: what the engine holds.
        table: the name of the source, for messages.
        value: what the prepared value is called.
    """
    _check(_READS[type(declared)], column, table, f"{type(declared).__name__}()")
    if column.kind is Class.NOTHING:
        return _nothing(declared)
    match declared:
        case Integer():
            return _integer(declared, column, value)
        case Real():
            low, high = (int(bound / declared.step) for bound in map(_reached, declared.bounds))
            steps = _cut(value, declared.step, (low, high), _divided(value, declared.step))
            return Reading(_double(column), steps, (low, high))
        case Category():
            last = len(declared.values) - 1
            first = first_of_run(declared)
            if first is not None and column.kind is Class.SMALL:
                inside = f"{value} BETWEEN {first} AND {first + last}"
                same = f"CASE WHEN {inside} THEN {value} - ({first}) END"
                return Reading(f"CAST({column.sql} AS BIGINT)", same, (0, last))
            return Reading(_text(column), position(declared, column, value), (0, last))
        case Boolean():
            return _boolean(column, value)
        case Date() | Timestamp():
            axis = Axis.of(declared)
            if column.kind is Class.TEXT:
                text = text_moment(_text(column))
                moment = PhysicalColumn(column.name, value, "TIMESTAMP")
                return Reading(text, step_of(moment, value, axis), (axis.first, axis.last))
            return Reading(column.sql, step_of(column, value, axis), (axis.first, axis.last))
        case _:
            missing = f"nullif({value}, '')" if column.blank else value
            return Reading(_text(column), missing, None)


def _integer(declared: Integer, column: PhysicalColumn, value: str) -> Reading:
    bounds = declared.bounds
    match column.kind:
        case Class.SMALL:
            same = column.sql if column.type == "BIGINT" else f"CAST({column.sql} AS BIGINT)"
            return Reading(same, value, bounds)
        case Class.BOOLEAN:
            return Reading(f"CAST({column.sql} AS BIGINT)", value, bounds)
        case Class.WIDE:
            below = f"WHEN {value} < {-_FAR} THEN {-_FAR} " if column.type == "HUGEINT" else ""
            cut = f"CASE WHEN {value} > {_FAR} THEN {_FAR} {below}"
            return Reading(column.sql, f"{cut}ELSE TRY_CAST({value} AS BIGINT) END", bounds)
        case Class.DECIMAL:  # a cast rounds halves away from zero, and fails only far away
            far = f"CASE WHEN {value} > 0 THEN {_FAR} WHEN {value} < 0 THEN {-_FAR} END"
            return Reading(column.sql, f"coalesce(TRY_CAST({value} AS BIGINT), {far})", bounds)
        case Class.TEXT if max(map(abs, bounds)) > _EXACT:  # a double would lose digits
            double = f"TRY_CAST({value} AS DOUBLE)"
            cut = _cut(double, Fraction(1), bounds, double)
            digits = f"coalesce(TRY_CAST({value} AS BIGINT), {cut})"
            number = f"CASE WHEN {double} IS NOT NULL THEN {digits} END"
            return Reading(_digits(column), number, bounds)
        case _:
            return Reading(_double(column), _cut(value, Fraction(1), bounds, value), bounds)


def _boolean(column: PhysicalColumn, value: str) -> Reading:
    match column.kind:
        case Class.BOOLEAN:
            return Reading(column.sql, value, None)
        case Class.TEXT:
            yes, no = "'true', 't', 'yes', '1'", "'false', 'f', 'no', '0'"
            cases = f"WHEN {value} IN ({yes}) THEN TRUE WHEN {value} IN ({no}) THEN FALSE"
            return Reading(f"lower({_text(column)})", f"CASE {cases} END", None)
        case Class.SMALL | Class.WIDE:
            prepared = column.sql
        case _:
            prepared = _double(column)
    return Reading(prepared, f"CASE {value} WHEN 0 THEN FALSE WHEN 1 THEN TRUE END", None)


def _nothing(declared: Column) -> Reading:
    if isinstance(declared, Boolean):
        return Reading("CAST(NULL AS BOOLEAN)", "CAST(NULL AS BOOLEAN)", None)
    kind = "VARCHAR" if isinstance(declared, Text) else "BIGINT"
    return Reading(f"CAST(NULL AS {kind})", f"CAST(NULL AS {kind})", None)


def _clamped(value: str, bounds: tuple[int, int] | None) -> str:
    """Write what every guarantee rests on: an integer within the declared bounds, or NULL."""
    if bounds is None:
        return value
    low, high = bounds
    cut = f"WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high}"
    return f"CASE {cut} ELSE {value} END"


def _cut(value: str, step: Fraction, bounds: tuple[int, int], steps: str) -> str:
    """Write a double as a 64-bit integer; the clamp that follows brings it within the bounds.

    NaN compares above everything, so it comes before what is above. What is so far away that its
    steps do not fit 64 bits is not divided: in a connection that is not ours that could raise.

    Args:
        value: the double.
        step: of the column.
        bounds: of the integer.
        steps: the double in steps.
    """
    # Beyond 2^62 steps, where bounds may be, and below 2^63, with room for rounding at both.
    far = min(_float(step) * _FAR * 1.5, sys.float_info.max)
    zero, (low, high) = _number(0.0), bounds
    return (
        f"CASE WHEN abs({value}) <= {_number(far)} THEN TRY_CAST(round({steps}) AS BIGINT) "
        f"WHEN isnan({value}) THEN NULL WHEN {value} < {zero} THEN {low} "
        f"WHEN {value} > {zero} THEN {high} END"
    )


def _divided(value: str, step: Fraction) -> str:
    """Divide by the step: as a product where the inverse is a double, for it rounds only once."""
    inverse = 1 / step
    if _fits(inverse) and Fraction(float(inverse)) == inverse:
        return f"{value} * {_number(float(inverse))}"
    return f"{value} / {_number(_float(step))}"


def _fits(number: Fraction) -> bool:
    return number == 0 or Fraction(10) ** -290 <= abs(number) <= Fraction(10) ** 290


def _reached(bound: Fraction) -> Fraction:
    """Return a bound if doubles reach it."""
    _float(bound)
    return bound


def _float(number: Fraction) -> float:
    if not _fits(number):
        raise ColumnError(
            "a Real column has a bound or a step that is no 64-bit number. Declare it in another "
            "unit, with numbers from 1e-290 to 1e290."
        )
    return float(number)


def _number(number: float) -> str:
    return f"CAST('{number!r}' AS DOUBLE)"


def _double(column: PhysicalColumn) -> str:
    """Write the double nearest to a number."""
    match column.kind:
        case Class.FLOAT if column.type == "DOUBLE":
            return column.sql
        case Class.TEXT:
            return f"TRY_CAST({_digits(column)} AS DOUBLE)"
        case Class.DECIMAL if column.precision > 15:  # beyond, the engine's cast rounds twice
            return f"TRY_CAST(CAST({column.sql} AS VARCHAR) AS DOUBLE)"
        case Class.WIDE:
            return f"TRY_CAST(CAST({column.sql} AS VARCHAR) AS DOUBLE)"
        case _:
            return f"CAST({column.sql} AS DOUBLE)"


def _digits(column: PhysicalColumn) -> str:
    """Write a text that may be a number: the engine would read 1_000, other engines do not."""
    return f"CASE WHEN contains({_text(column)}, '_') THEN NULL ELSE {_text(column)} END"


def _text(column: PhysicalColumn) -> str:
    """Write the text of a value; a whole number has the same text in every type.

    Compared byte by byte: a collation of the source could take two people, or two groups, for one.
    """
    return f'({_written(column)} COLLATE "binary")'


def _written(column: PhysicalColumn) -> str:
    text = f"CAST({column.sql} AS VARCHAR)"
    match column.kind:
        case Class.FLOAT:
            whole = f"{column.sql} = trunc({column.sql}) AND abs({column.sql}) <= {_EXACT}"
            return (
                f"CASE WHEN isnan({column.sql}) THEN NULL WHEN {whole} "
                f"THEN CAST(CAST({column.sql} AS BIGINT) AS VARCHAR) ELSE {text} END"
            )
        case Class.DECIMAL:
            return f"regexp_replace({text}, '\\.0+$', '')"
        case Class.DATE:  # a day that no calendar has cannot be written
            years = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            return f"CASE WHEN {column.sql} {years} THEN {text} END"
        case Class.TEXT if column.type == "VARCHAR":
            return column.sql
        case _:
            return text


def _unit(column: PhysicalColumn) -> str:
    """Write the unit's raw value; the order of an engine's enumeration is none of it.

    Whole numbers of 128 bits are written as text, which no table in memory takes for another.
    """
    if column.type in {"HUGEINT", "UHUGEINT"}:
        return f"CAST({column.sql} AS VARCHAR)"
    return _text(column) if column.kind is Class.TEXT else column.sql


def _unit_text(column: PhysicalColumn) -> str:
    if column.kind is Class.FLOAT:
        x = column.sql
        whole = f"{x} = trunc({x}) AND abs({x}) < 1e38"
        exactly = f"CAST(CAST({x} AS HUGEINT) AS VARCHAR)"
        number = f"CASE WHEN {whole} THEN {exactly} ELSE CAST({x} AS VARCHAR) END"
        return f"CASE WHEN isnan({x}) THEN NULL ELSE {number} END"
    return _text(column) if column.kind is Class.TEXT else f"CAST({column.sql} AS VARCHAR)"


def unit_value(column: PhysicalColumn, *, as_text: bool) -> str:
    """Write what names a unit, or is a key: raw, or as text where types differ."""
    return _unit_text(column) if as_text else _unit(column)


def check_unit(column: PhysicalColumn, table: str) -> None:
    """Refuse a column that cannot name anybody."""
    _check(_UNITS, column, table, "the unit")


def is_named(
    column: PhysicalColumn, replaced: str | None, *, as_text: bool, value: str = HIDDEN
) -> str:
    """Write the condition that a unit has a name.

    Two units whose names were damaged may look the same, and would share their caps: what counts
    of the one would then depend on the other. So a name that may be damaged names nobody.
    """
    match column.kind:
        case Class.TEXT if replaced is not None:
            return f"{value} <> '' AND NOT contains({value}, '{replaced}')"
        case Class.FLOAT if not as_text:
            return f"{value} IS NOT NULL AND NOT isnan({value})"
        case Class.TEXT:
            return f"{value} <> ''"
        case _:
            return f"{value} IS NOT NULL"


def shown(column: PhysicalColumn) -> str:
    """Return the type of a column for a message; an ENUM's lists values."""
    return re.sub(r"\(.*\)", "", column.type, flags=re.DOTALL)[:40]


def _check(known: tuple[Class, ...], column: PhysicalColumn, table: str, what: str) -> None:
    if column.kind not in (*known, Class.NOTHING):
        raise ColumnError(
            f"column {column.name!r} of table {table!r} is held as {shown(column)}, which cannot "
            f"be read as {what}. Declare it as what it is, or convert it in the source."
        )
