"""What a session needs before it can open: a ledger that fits, tables that belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.budget import Budget
from sfumato.core.errors import BudgetError, InputError, LedgerError, UnitError
from sfumato.core.schema import Schema
from sfumato.ledger import Ledger
from sfumato.noise.rng import system
from sfumato.relation.link import read_links
from sfumato.relation.source import Source, linked

if TYPE_CHECKING:
    from sfumato.core.unit import Unit


def ledger_of(
    given: str | PathLike[str] | Ledger | None,
    budget: Budget,
    unit: Unit,
    analysts: Mapping[str, Budget],
) -> Ledger:
    """Open the ledger, or make it; a unit or budget that is not the recorded one is refused."""
    if not isinstance(budget, Budget):
        raise InputError("a session needs a limit. Pass budget=sf.Budget(epsilon=4).")
    if given is None:
        return Ledger.create(None, budget, unit, analysts=analysts)
    if not isinstance(given, Ledger | str | PathLike):
        raise InputError("ledger= is a file, such as 'ledger.db', or a ledger that is open.")
    ledger = given if isinstance(given, Ledger) else _file(Path(given), budget, unit, analysts)
    ledger.check_unit(unit)
    if ledger.budget != budget:
        raise BudgetError(
            f"the ledger has {ledger.budget!r}, and {budget!r} is declared now. A limit that moves "
            f"with a declaration would be none. Declare what the ledger has, or have the owner "
            f"raise it first: sfumato budget CONTRACT --epsilon ..., or ledger.raise_budget(...)."
        )
    if not isinstance(given, Ledger) and ledger.analysts != dict(analysts):
        raise BudgetError(
            "the ledger records other shares of analysts than are declared now, and only what it "
            "records is enforced. Declare what it has (see `sfumato ledger show`), or have the "
            "owner give the share: sfumato budget CONTRACT --analyst NAME --epsilon ..., or "
            "ledger.raise_budget(budget, analyst)."
        )
    return ledger


def _file(path: Path, budget: Budget, unit: Unit, analysts: Mapping[str, Budget]) -> Ledger:
    try:
        return Ledger.create(path, budget, unit, analysts=analysts)
    except LedgerError:
        if not path.exists():
            raise
    return Ledger.open(path)


def declared(
    data: Mapping[str, Any],
    unit: Any,
    schema: Any,
    rows: Any,
    sampled: Any,
    links: Sequence[str] = (),
) -> dict[Source, Any]:
    """Return several tables as they are declared, all about one unit."""
    if isinstance(schema, Schema):
        raise InputError(
            "a dict is several tables by name, and one schema was passed. Columns in a dict are "
            "made one table by pandas.DataFrame(columns), polars.DataFrame(columns) or "
            "pyarrow.table(columns); tables in a dict need a schema each, by name."
        )
    if not data or not isinstance(schema, Mapping) or set(schema) != set(data):
        raise InputError(
            "several tables need a schema each, by name. Pass "
            "Session({'visits': data, ...}, schema={'visits': sf.Schema(...), ...}, unit=...)."
        )
    alone = [
        Source(
            name,
            _schema(schema[name]),
            each(unit, name),
            each(rows, name),
            each(sampled, name) or False,
        )
        for name in data
    ]
    tables = dict(zip(linked(alone, read_links(links, data)), data.values(), strict=True))
    if len({_meaning(source) for source in tables}) > 1:
        raise UnitError(
            "all tables of a session protect one unit under one neighbor relation: the same "
            "column names it in each, and only its caps may differ. Rename the column, or open "
            "two sessions with a ledger each, which protect two populations. A column that "
            "refers to another table's is declared with links=."
        )
    return tables


def _meaning(source: Source) -> tuple[Any, ...]:
    unit = source.unit
    return source.root, unit.neighbors, unit.max_rows if unit.column is None else 0


def unit_of_all(tables: Iterable[Source]) -> Unit:
    """Return the one unit of all tables, for the header of their ledger."""
    first = next(iter(tables))
    return replace(first.unit, column=first.root)


def _schema(given: Any) -> Schema:
    return Schema(given) if isinstance(given, dict) else given


def each(given: Any, name: str) -> Any:
    """Return what was given for one table, where it may be given for each."""
    return given.get(name) if isinstance(given, Mapping) else given


def label_of(version: Any) -> str | None:
    """Return what the owner calls this state of a table; None if it is not said."""
    if version is None or isinstance(version, str):
        return version
    raise InputError("version= is a text that names this state of the data, such as '2026-11'.")


def kept_files(given: Iterable[Any]) -> set[Path]:
    """Return the files among what a session was given: nothing may be written over them."""
    texts = [str(each) for each in given if isinstance(each, str | PathLike)]
    return {Path(text.removeprefix("duckdb:").partition("#")[0]).resolve() for text in texts} | {
        Path(text).resolve() for text in texts
    }


def name_of(source: Any) -> str:
    """Return what a table is called if nobody names it."""
    if isinstance(source, str | PathLike):
        file, table = str(source), ""
        if file.startswith("duckdb:"):
            file, _, table = file.removeprefix("duckdb:").partition("#")
        return table or Path(file).name.split(".")[0] or "table"
    return "table"


def first_label(source: Any) -> str:
    """Return the label of a file for which nobody gave one: another path is other data."""
    path = str(Path(str(source)).absolute())
    return f"1 at {hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"


def nonce() -> str:
    """Return a label that nobody has used: 128 random bits."""
    return system().words(2).tobytes().hex()
