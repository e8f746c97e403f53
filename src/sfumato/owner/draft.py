"""A draft of a contract, from the names and types of tables alone.

Whatever is guessed is asked: a comment that begins with ``#?`` is an open question, and
``sfumato check`` counts them. A range is never guessed, except from a name such as *age*; a column
whose range is unknown stays a comment, so that the draft can be read at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.backends.physical import Class, PhysicalColumn
from sfumato.core.errors import InputError, UnknownName
from sfumato.owner.hint import Likeness, bounds, likeness, same_unit
from sfumato.owner.layout import QUESTION, key, string
from sfumato.relation.source import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.owner.outline import Outline

_MAX_ROWS = 20
_NUMBERS = (Class.SMALL, Class.WIDE, Class.FLOAT, Class.DECIMAL)
_NAMING = (Class.SMALL, Class.WIDE, Class.FLOAT, Class.DECIMAL, Class.TEXT, Class.BYTES)
_WORDS = (*_NUMBERS, Class.TEXT, Class.BOOLEAN, Class.DATE)
_LONGEST = 1000  # letters of a name that a ledger takes
_UNKNOWN = "if nobody knows: a sum has to buy a range first"
_HEAD = """\
# A draft, made from names and types alone: no row was read.
# A comment with a question mark right behind its # asks you something. Answer from what is known
# without looking at the data, then remove the comment. A line that stays a comment declares
# nothing, and a column that is not declared does not exist for analysts. Where values may be
# missing, add nullable = true.
"""


@dataclass(frozen=True, slots=True)
class _Unit:
    """What a table would be protected by: a column, or rows."""

    column: str | None
    asked: bool  # whether somebody has to confirm it


def draft(tables: Sequence[tuple[Outline, str]], *, ledger: str, unit: str | None = None) -> str:
    """Write a draft contract.

    Args:
        tables: what is known of each table, and where it is: the `source` of the contract.
        ledger: the file of the ledger, as the contract will name it.
        unit: the column that names the unit, where the owner said so.

    Raises:
        UnknownName: no table has the unit's column.
        InputError: a table has no column that could be declared.
    """
    units = [_given(outline, unit) for outline, _ in tables] if unit else _guessed(tables)
    if unit is not None and all(found is None for found in units):
        raise UnknownName(
            f"no table has a column {unit!r} that could name the unit. Pass --unit with one of the "
            f"columns, spelled as in the file."
        )
    chosen = list(dict.fromkeys(u.column for u in units if u is not None and u.column is not None))
    lines = [_HEAD, *_budget(ledger), "", *_neighbors(chosen)]
    for (outline, source), found in zip(tables, units, strict=True):
        if found is None:
            named = [o for (o, _), u in zip(tables, units, strict=True) if u is not None]
            lines += ["", *_unnamed(outline, named)]
        else:
            lines += ["", *_table(outline, source, found)]
    return "\n".join(lines) + "\n"


def _given(outline: Outline, unit: str) -> _Unit | None:
    for same in (str, str.casefold):
        for column in outline.columns:
            if same(column.name) == same(unit):
                return _Unit(column.name, False)
    return None


def _guessed(tables: Sequence[tuple[Outline, str]]) -> list[_Unit | None]:
    """Choose who is protected: by the likeliest name, the same one in as many tables as have it."""
    seen = [
        (rank, -_tables_with(column.name, tables), place, column.name)
        for place, (outline, _) in enumerate(tables)
        for column in outline.columns
        if _naming(column) and (rank := likeness(column.name)) is not None
    ]
    if not seen:
        return [_Unit(None, True)] * len(tables)
    best = min(seen)[-1]
    return [_of_table(outline, best) for outline, _ in tables]


def _tables_with(name: str, tables: Sequence[tuple[Outline, str]]) -> int:
    return sum(any(c.name.casefold() == name.casefold() for c in o.columns) for o, _ in tables)


def _of_table(outline: Outline, best: str) -> _Unit | None:
    """Return the column of one table that means what another one calls `best`."""
    for column in outline.columns:
        if _naming(column) and same_unit(column.name, outline.name, best):
            return _Unit(column.name, True)
    for column in outline.columns:
        found = likeness(column.name)
        if _naming(column) and found is not None and found.of_people:
            return _Unit(column.name, True)
    return None


def _naming(column: PhysicalColumn) -> bool:
    """Say whether a column can name a unit, by its type and its own name."""
    return column.kind in _NAMING and not _unwritable(column.name)


def _budget(ledger: str) -> Iterator[str]:
    yield "[budget]  # for all analysts, tables and versions together, for ever"
    yield _asked('epsilon = "1"', "how much may all answers together tell about one person?")
    yield _asked(
        '# delta = "1e-6"', "far below one over the number of people, if noise may be Gaussian?"
    )
    yield f"ledger = {string(ledger)}  # what was spent; keep it with this file"


def _neighbors(columns: list[str]) -> Iterator[str]:
    yield "[unit]"
    yield 'neighbors = "add_remove"  # it is hidden even whether somebody is in the data'
    if len(columns) > 1:
        listed = ", ".join(map(key, columns))
        yield _asked('name = "person"', f"do these columns name the same: {listed}?")


def _unnamed(outline: Outline, others: Sequence[Outline]) -> Iterator[str]:
    """Ask whose the rows of a table are that names nobody: a key may lead to one that does."""
    path = _path(outline, others)
    led = "" if path is None else f"does a key lead to it, as in unit = {string(path)}? Or "
    yield _asked(
        f"# [tables.{key(outline.name)}]",
        f"no column says whose a row is: {led}is it public, and belongs under [public]?",
    )


def _path(outline: Outline, others: Sequence[Outline]) -> str | None:
    """Return the likeliest way from a table to one that names its unit, by names alone."""
    keys = (c for c in outline.columns if _naming(c) and likeness(c.name) is not None)
    for column in keys:
        for other in others:
            for found in filter(_naming, other.columns):
                if same_unit(found.name, other.name, column.name):
                    return f"{column.name} -> {other.name}.{found.name}"
    return None


def _table(outline: Outline, source: str, unit: _Unit) -> Iterator[str]:
    yield f"[tables.{key(outline.name)}]"
    # A name that begins with ~ would be read as somebody's folder.
    yield f"source = {string(f'./{source}' if source.startswith('~') else source)}"
    yield 'version = "1"  # a public label; write another one whenever the data change'
    if unit.column is None:
        yield _asked('unit = "row"', "may one person have several rows? then name a column")
    else:
        written = f"unit = {string(unit.column)}"
        yield _asked(written, "is this who is protected?") if unit.asked else written
        most = 1 if likeness(unit.column) is Likeness.KEY else _MAX_ROWS
        how = "how many rows of one may count? 1 if everybody has one row; more mean more noise"
        yield _asked(f"max_rows = {most}", how)
    yield f"[tables.{key(outline.name)}.columns]"
    yield from _columns(outline, unit.column)


def _columns(outline: Outline, unit: str | None) -> Iterator[str]:
    """Write the columns; at least one is declared, for a table without any is no table."""
    taken = {HIDDEN.casefold(), *([] if unit is None else [unit.casefold()])}
    written: dict[str, list[str]] = {}
    free: list[PhysicalColumn] = []
    for column in outline.columns:
        if column.name == unit:
            continue
        if (reason := _unusable(column, taken)) is not None:
            yield f"# {key(column.name[:_LONGEST])} is left out: {reason}"
            continue
        taken.add(column.name.casefold())
        free.append(column)
        written[column.name] = list(_column(column, outline.typed))
    if all(line.startswith("#") for lines in written.values() for line in lines):
        yield from _stand_in(outline, unit, free, written)
    for lines in written.values():
        yield from lines


def _unusable(column: PhysicalColumn, taken: set[str]) -> str | None:
    """Say why a column cannot be declared, or had better not be."""
    name, like = column.name, likeness(column.name)
    if _unwritable(name):
        return "nobody could write its name"
    if name.casefold() in taken:
        return "its name is taken, perhaps in other case"
    if column.kind in (Class.BYTES, Class.OTHER, Class.NOTHING):
        return "no declaration reads what it holds"
    if like is not None and like <= Likeness.KEY:
        return "it seems to name somebody, which nobody may ask for"
    return None


def _unwritable(name: str) -> bool:
    return not name or len(name) > _LONGEST or re.search("[\0\ud800-\udfff]", name) is not None


def _stand_in(
    outline: Outline,
    unit: str | None,
    free: list[PhysicalColumn],
    written: dict[str, list[str]],
) -> Iterator[str]:
    """Declare one column so that the draft can be read, in a way that gives nothing away."""
    if unit is not None:
        yield f'{key(unit)} = {{ type = "text" }}  # so that there is a column; nobody may ask it'
        return
    for column in free:
        if column.kind in _WORDS:
            line = _asked(f'{key(column.name)} = {{ type = "text" }}', "for now; or as below?")
            written[column.name].insert(0, line)
            return
    for column in free:
        moment = {Class.DATE: "", Class.MOMENT: "T00:00:00"}[column.kind]
        kind = "timestamp" if moment else "date"
        low, high = f"1900-01-01{moment}", f"2100-01-01{moment}"
        declared = f'{{ type = "{kind}", low = {low}, high = {high} }}'
        written[column.name] = [_asked(f"{key(column.name)} = {declared}", "or a narrower range?")]
        return
    raise InputError(
        f"table {outline.name!r} has no column that a contract could declare: they hold nested or "
        f"binary values, or name somebody. Convert one to a number, text or date, or name the "
        f"unit's column with --unit."
    )


def _column(column: PhysicalColumn, typed: bool) -> Iterator[str]:
    """Write one column: declared if its name or type says enough, else as a comment."""
    name, kind = key(column.name), column.kind
    known = bounds(column.name) if not typed or kind in _NUMBERS else None
    if known is not None:
        low, high, step = known
        form = "integer" if step is None or kind in (Class.SMALL, Class.WIDE) else "real"
        tail = f', step = "{step}"' if form == "real" else ""
        declared = f'{{ type = "{form}", low = {low}, high = {high}{tail} }}'
        asked = "by its name: is it this range?" if typed else "by its name: is it a number, so?"
        yield _asked(f"{name} = {declared}", asked)
    elif not typed:
        yield _asked(f'# {name} = {{ type = "?" }}', "numbers with low and high, a category, text?")
    elif kind is Class.BOOLEAN:
        yield f'{name} = {{ type = "boolean" }}'
    elif kind is Class.TEXT:
        yield _asked(f'# {name} = {{ type = "category", values = [?] }}', "which values are there?")
        yield f'# {name} = {{ type = "text" }}  # if nobody can list them'
    elif kind in (Class.DATE, Class.MOMENT):
        form = "date" if kind is Class.DATE else "timestamp"
        yield _asked(f'# {name} = {{ type = "{form}", low = ?, high = ? }}', "from when to when?")
    elif kind in (Class.SMALL, Class.WIDE):
        yield _asked(f'# {name} = {{ type = "integer", low = ?, high = ? }}', "which range?")
        yield f'# {name} = {{ type = "integer" }}  # {_UNKNOWN}'
    else:
        step = _step(column)
        declared = f'{{ type = "real", low = ?, high = ?, step = "{step}" }}'
        yield _asked(f"# {name} = {declared}", "which range, and how fine?")
        yield f'# {name} = {{ type = "real", step = "{step}" }}  # {_UNKNOWN}'


def _step(column: PhysicalColumn) -> str:
    """Return the step that a decimal type has; a hundredth for other numbers."""
    found = re.fullmatch(r"DECIMAL\(\d+,(\d+)\)", column.type)
    places = int(found[1]) if found else 2
    return f"0.{'1':0>{places}}" if places else "1"


def _asked(line: str, question: str) -> str:
    return f"{line}  {QUESTION} {question}"
