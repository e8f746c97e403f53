"""What the files of a contract say to its owner: the ledger's record, and the data's schema.

The names of columns are shown where they look like names: the first line of a text file without a
header is a row.
"""

from __future__ import annotations

from contextlib import closing
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.backends.origin import origin
from sfumato.backends.physical import Class, Physical
from sfumato.backends.reader import read
from sfumato.core.errors import ColumnError, InputError, LedgerError, UnitError, UnknownName
from sfumato.core.number import show
from sfumato.core.schema import Category, Column, Text
from sfumato.owner.finding import Finding
from sfumato.owner.hint import Likeness, likeness
from sfumato.owner.layout import dotted
from sfumato.owner.outline import described, is_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sfumato.core.budget import Budget
    from sfumato.session.contract import Contract
    from sfumato.session.declaration import TableDeclaration

_ELSE = "if everybody has one row, leave it"
_UNREAD = (Class.BYTES, Class.OTHER, Class.NOTHING)
_LISTED = 10  # names of columns in one finding


def of_ledger(contract: Contract) -> Iterator[Finding]:
    """Compare a contract with its ledger, if there is one."""
    if contract.ledger is None:
        yield Finding(
            "warning",
            "ledger.none",
            "budget.ledger",
            "there is no ledger.",
            "Not durable: what was spent is forgotten at the end of every process, and "
            "`sfumato query` refuses to ask.",
            'Write ledger = "spent.ledger" under [budget].',
        )
    elif contract.ledger.exists():
        try:
            yield from _recorded(contract)
        except LedgerError as problem:
            yield Finding.of("ledger.unusable", "budget.ledger", problem)
    elif not contract.ledger.parent.is_dir():
        yield Finding(
            "error",
            "ledger.no-folder",
            "budget.ledger",
            "the folder of the ledger does not exist.",
            "The ledger is made with the first question, its folder is not.",
            "Make the folder, or correct the path.",
        )


def of_no_ledger(contract: Contract) -> Iterator[Finding]:
    """Say that a ledger is yet to be made: one that was lost looks the same."""
    path = contract.ledger
    if path is not None and path.parent.is_dir() and not path.exists():
        yield Finding(
            "note",
            "ledger.new",
            "budget.ledger",
            f"the ledger {path.name!r} does not exist yet.",
            f"It is made with the first question, and begins with the whole budget, "
            f"{shown(contract.budget)}; nothing can tell it from one that was lost.",
            "If there was one, put the file back: what it recorded is spent.",
        )


def _recorded(contract: Contract) -> Iterator[Finding]:
    """Compare the contract with what its ledger enforces."""
    from sfumato.ledger import Ledger

    if contract.ledger is None:
        return
    with closing(Ledger.open(contract.ledger, read_only=True)) as ledger:
        try:
            ledger.check_unit(contract.unit)
        except UnitError as problem:
            yield Finding.of("ledger.unit", "unit", problem)
        if ledger.budget != contract.budget:
            yield Finding(
                "error",
                "ledger.budget",
                "budget",
                f"the contract declares {shown(contract.budget)}, and the ledger enforces "
                f"{shown(ledger.budget)}.",
                "A limit that moves with a declaration would be none, so that questions are "
                "refused until both say the same.",
                "Declare what the ledger has, or change that: sfumato budget CONTRACT --epsilon.",
            )
        recorded = ledger.analysts
        for name in sorted({*recorded, *contract.analysts}):
            if recorded.get(name) != contract.analysts.get(name):
                yield Finding(
                    "error",
                    "ledger.share",
                    dotted(("analysts", name)),
                    "contract and ledger have different shares for this analyst, or only one of "
                    "them has any.",
                    "Only what the ledger records is enforced, and questions are refused until "
                    "both say the same.",
                    "Declare what the ledger has, or change that: sfumato budget CONTRACT "
                    "--analyst NAME --epsilon.",
                )
        if ledger.closed:
            yield Finding(
                "error",
                "ledger.closed",
                "budget.ledger",
                "a release failed after data was touched, and the data is closed.",
                "A failure is an output that no ε covers, so that its owner has to look.",
                "Look at the machine, then: sfumato ledger acknowledge CONTRACT.",
            )


def of_data(contract: Contract) -> Iterator[Finding]:
    """Compare a contract with the names and types of its data."""
    found: dict[str, Physical] = {}
    for name, table in contract.tables.items():
        try:
            found[name] = described(table.relation, table.location)
        except InputError as problem:
            yield Finding.of("table.unreadable", dotted(("tables", name)), problem)
        else:
            yield from _columns(("tables", name), table, found[name])
            yield from _undeclared(("tables", name), table, found[name])
    for name, table in contract.tables.items():
        yield from _ends(("tables", name), table, found)
    for name, location in contract.public.items():
        try:
            origin(location, name)
        except InputError as problem:
            yield Finding.of("public.unreadable", dotted(("public", name)), problem)


def _columns(
    place: tuple[str, ...], table: TableDeclaration, physical: Physical
) -> Iterator[Finding]:
    """Find what is declared and cannot be read."""
    source = table.relation
    owner = () if source.owner is None else (source.owner,)
    for name in (*source.columns, *owner):
        at = (*place, "unit") if name == source.owner else (*place, "columns", name)
        try:
            column = physical.column(name, table.name)
        except UnknownName:
            yield _missing(at, name, physical)
            continue
        if name == source.owner:
            if column.kind is Class.OTHER:
                yield _unreadable(at, column.kind, "the name of a unit")
            continue
        try:
            read(source.schema[name], column, table.name, "value")
        except ColumnError as problem:
            if column.type[:40] in problem.message:  # a type may list values; its class does not
                yield _unreadable(at, column.kind, type(source.schema[name]).__name__.lower())
            else:
                yield Finding.of("column.type", dotted(at), problem)
        else:
            # A CSV file has nothing but text; elsewhere a number has a type of its own.
            if column.kind is Class.TEXT and not column.blank and _is_parsed(source.schema[name]):
                yield _as_text(at, type(source.schema[name]).__name__.lower())


def _ends(
    place: tuple[str, ...], table: TableDeclaration, found: Mapping[str, Physical]
) -> Iterator[Finding]:
    """Find links whose ends are not in the data."""
    for link in table.links:
        at = (*place, "unit" if link.column == table.relation.owner else "links")
        for name, column in ((table.name, link.column), (link.table, link.key)):
            own_unit = name == table.name and column == table.relation.owner  # looked at above
            if name not in found or own_unit:
                continue
            try:
                found[name].column(column, name)
            except UnknownName:
                yield _missing(at, column, found[name])


def _missing(at: tuple[str, ...], name: str, physical: Physical) -> Finding:
    names = [column.name for column in physical.columns if not is_value(column.name)]
    near = get_close_matches(name, names, 1)
    alike = sum(other.casefold() == name.casefold() for other in names)
    what = "has several columns that this could mean" if alike > 1 else "has no such column"
    hint = f"Did you mean {dotted((near[0],))}? " if near and not alike else ""
    return Finding(
        "error",
        "column.missing",
        dotted(at),
        f"the data {what}.",
        "What is declared has to be there before anybody can ask.",
        f"{hint}Correct the declaration, or the file.",
    )


def _unreadable(at: tuple[str, ...], kind: Class, wanted: str) -> Finding:
    return Finding(
        "error",
        "column.type",
        dotted(at),
        f"the data holds {kind.value} here, which cannot be read as {wanted}.",
        "How a column is read depends on its type alone, never on a value.",
        "Declare it as what it is, or convert it in the source.",
    )


def _is_parsed(declared: Column) -> bool:
    """Say whether a text would have to be read as something else."""
    return not isinstance(declared, Text | Category)


def _as_text(at: tuple[str, ...], wanted: str) -> Finding:
    return Finding(
        "warning",
        "column.as-text",
        dotted(at),
        f"the data holds text here, and {wanted} is declared.",
        "What cannot be read so counts as missing, be it every value.",
        "Declare it as what it is, or convert it in the source.",
    )


def _undeclared(
    place: tuple[str, ...], table: TableDeclaration, physical: Physical
) -> Iterator[Finding]:
    """Find what the data has and the contract has not."""
    keys = [link.column for link in table.links]
    known = {name.casefold() for name in (*table.schema, *table.relation.unseen, *keys)}
    others = [column for column in physical.columns if column.name.casefold() not in known]
    names = [c.name for c in others if c.kind not in _UNREAD and not is_value(c.name)]
    if table.unit.column is None:
        for name in names:
            yield from beside_row(place, name)
    left = [name for name in names if (like := likeness(name)) is None or like > Likeness.KEY]
    if left:
        more = f" and {len(left) - _LISTED} more" if len(left) > _LISTED else ""
        listed = ", ".join(dotted((name,)) for name in left[:_LISTED])
        yield Finding(
            "note",
            "column.undeclared",
            dotted((*place, "columns")),
            f"the data has columns that are not declared: {listed}{more}.",
            "Without bounds or values they do not exist for analysts; rows can still be counted.",
            "Declare those that somebody needs; leave the others out.",
        )


def beside_row(place: tuple[str, ...], column: str) -> Iterator[Finding]:
    """Say that rows are protected where a column seems to name somebody."""
    found = likeness(column)
    if found is None or found is Likeness.OTHER_KEY:
        return
    yield Finding(
        "warning" if found.of_people else "note",
        "unit.row-beside-id",
        dotted((*place, "unit")),
        f'the unit is "row", and there is a column {dotted((column,))}.',
        "If one person may have several rows, only one of them would be hidden.",
        f"If it says whose a row is, write unit = with its name, and max_rows; {_ELSE}.",
    )


def shown(budget: Budget) -> str:
    """Write a limit for people."""
    if budget.epsilon is None:
        return f"ρ = {show(budget.rho or Fraction(0))}"
    tail = f" with δ = {show(budget.delta)}" if budget.delta else ""
    return f"ε = {show(budget.epsilon)}{tail}"
