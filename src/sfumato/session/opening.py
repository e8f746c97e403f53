"""What a session needs before it can open: a ledger that fits, tables that belong together."""

from __future__ import annotations

import hashlib
import os.path
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from glob import glob
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.budget import Budget
from sfumato.core.errors import AnalystError, BudgetError, InputError, LedgerError, UnitError
from sfumato.core.path import path_of
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
    analyst: str | None,
) -> Ledger:
    """Open the ledger, or make it; a unit or budget that is not the recorded one is refused.

    So is an analyst without a share, before a file is made.
    """
    if not isinstance(budget, Budget):
        raise InputError("a session needs a limit. Pass budget=sf.Budget(epsilon=4).")
    if given is not None and not isinstance(given, Ledger | str | PathLike):
        raise InputError("ledger= is a file, such as 'ledger.db', or a ledger that is open.")
    if isinstance(given, Ledger):
        ledger = given
    else:
        draft = Ledger.create(None, budget, unit, analysts=analysts)
        path = None if given is None else path_of(given)
        if path is not None and os.path.isdir(path):  # noqa: PTH112 (one too long is none)
            raise LedgerError(
                "ledger= names a folder, and a ledger is a file. Name one in it, such as "
                "'trips.ledger'."
            )
        if path is None or not os.path.exists(path):  # noqa: PTH110 (as above)
            _admit(draft, analyst)
        ledger = draft if path is None else _file(path, budget, unit, analysts)
    with ExitStack() as undo:
        if not isinstance(given, Ledger):
            undo.callback(ledger.close)
        _check(ledger, budget, unit, None if isinstance(given, Ledger) else analysts)
        _admit(ledger, analyst)
        undo.pop_all()
    return ledger


def _check(
    ledger: Ledger, budget: Budget, unit: Unit, analysts: Mapping[str, Budget] | None
) -> None:
    ledger.check_unit(unit)
    if ledger.budget != budget:
        raise BudgetError(
            f"the ledger has {ledger.budget!r}, and {budget!r} is declared now. A limit that moves "
            f"with a declaration would be none. Declare what the ledger has, or have the owner "
            f"raise it first: sfumato budget CONTRACT --epsilon ..., or ledger.raise_budget(...)."
        )
    if analysts is not None and ledger.analysts != dict(analysts):
        raise BudgetError(
            "the ledger records other shares of analysts than are declared now, and only what it "
            "records is enforced. Declare what it has (see `sfumato ledger show`), or have the "
            "owner give the share: sfumato budget CONTRACT --analyst NAME --epsilon ..., or "
            "ledger.raise_budget(budget, analyst)."
        )


def _admit(ledger: Ledger, analyst: str | None) -> None:
    """Refuse an analyst without a share before anything is asked."""
    if analyst is not None:
        ledger.remaining(analyst)
    elif ledger.analysts:
        raise AnalystError(
            "this ledger gives analysts shares of the budget, so everybody who asks has a name. "
            "Pass analyst=."
        )


def _file(path: Path, budget: Budget, unit: Unit, analysts: Mapping[str, Budget]) -> Ledger:
    try:
        return Ledger.create(path, budget, unit, analysts=analysts)
    except LedgerError:
        if not os.path.exists(path):  # noqa: PTH110 (as above)
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
    if version is None or (isinstance(version, str) and version):
        return version
    raise InputError("version= is a text that names this state of the data, such as '2026-11'.")


def labels_of(version: Any, tables: Iterable[Source]) -> dict[Source, str | None]:
    """Return what the owner calls the state of each table; a name that no table has is refused."""
    found = {table: label_of(each(version, table.name)) for table in tables}
    names = [table.name for table in found]
    if isinstance(version, Mapping) and (wrong := [name for name in version if name not in names]):
        raise InputError(
            f"version= names a table {wrong[0]!r}, which is not here, so that answers about older "
            f"data would be given again. The tables are: {', '.join(names)}."
        )
    return found


def kept_files(given: Iterable[Any]) -> set[Path]:
    """Return the files among what a session was given: nothing may be written over them.

    A pattern means all files that match it now, as for the engine, and ~ is a home.

    Raises:
        InputError: one of them cannot be a file.
    """
    try:
        texts = [fsdecode(each) for each in given if isinstance(each, str | PathLike)]
        bare = [text.removeprefix("duckdb:").partition("#")[0] for text in texts]
        named = {*texts, *bare, *map(os.path.expanduser, (*texts, *bare))}
        matched = [name for text in named for name in glob(text, recursive=True)]  # noqa: PTH207
        return {Path(name).resolve() for name in (*named, *matched)}
    except (OSError, RuntimeError, TypeError, ValueError):  # RuntimeError: links in a circle
        raise InputError(
            "a table in a file is given by its path, such as 'zones.csv', and one of these is "
            "none: no file can have that name, or links lead in a circle. Correct the path, or "
            "pass a frame."
        ) from None


def name_of(source: Any) -> str:
    """Return what a table is called if nobody names it."""
    if isinstance(source, str | PathLike):
        file, table = fsdecode(source), ""
        if file.startswith("duckdb:"):
            file, _, table = file.removeprefix("duckdb:").partition("#")
        return table or Path(file).name.split(".")[0] or "table"
    return "table"


def first_label(source: Any) -> str:
    """Return the label of a file for which nobody gave one: another path is other data."""
    path = str(Path(fsdecode(source)).absolute())
    return f"1 at {hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"


def nonce() -> str:
    """Return a label that nobody has used: 128 random bits."""
    return system().words(2).tobytes().hex()
