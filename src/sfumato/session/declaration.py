"""What an owner declares about one table: where it is, whose its rows are, what its columns say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import ContractError
from sfumato.core.schema import (
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Schema,
    Text,
    Timestamp,
)
from sfumato.core.unit import Neighbors, Unit
from sfumato.ledger.order import checked_name
from sfumato.relation.link import Link, Path, column_of_table
from sfumato.relation.source import Source
from sfumato.session.section import Section, described, located, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CAPS = ("max_rows", "max_groups", "max_rows_per_group")
_KEYS = ("source", "version", "unit", *_CAPS, "links", "rows", "sampled", "columns")
_SOURCE = '"trips.parquet"'

# Of each type: its class, the keys it may have beside nullable, and how it is written. A key that
# the example has is required, but bounds of numbers: a number may have none.
_TYPES: dict[str, tuple[type[Column], tuple[str, ...], str]] = {
    "integer": (Integer, ("low", "high"), "low = 0, high = 120"),
    "real": (Real, ("low", "high", "step"), 'low = 0, high = 200, step = "0.01"'),
    "category": (Category, ("values",), 'values = ["A", "B", "C"]'),
    "boolean": (Boolean, (), ""),
    "date": (Date, ("low", "high"), "low = 2026-01-01, high = 2026-12-31"),
    "timestamp": (
        Timestamp,
        ("low", "high", "step"),
        "low = 2026-01-01T00:00:00, high = 2027-01-01T00:00:00",
    ),
    "text": (Text, (), ""),
}


@dataclass(frozen=True)
class TableDeclaration:
    """A private table as its owner declares it; nothing here was read off the data.

    Attributes:
        name: what the analyst calls it.
        source: where the data is, as written. It may hold a password, so it is never shown.
        version: the public label of the data; None if there is none.
        unit: who is protected, and how much of one unit may count.
        schema: the declared columns; others do not exist for the analyst.
        rows: the public number of rows, if it is public.
        sampled: whether the rows are a random sample of a population.
        folder: what a relative source is relative to.
        links: which of its columns hold keys of other tables.
        path: how its rows lead to their unit, where a link does.
    """

    name: str
    source: str = field(repr=False)
    version: str | None
    unit: Unit
    schema: Schema
    rows: int | None = None
    sampled: bool = False
    folder: Folder = field(default=Folder(), repr=False)
    links: tuple[Link, ...] = ()
    path: Path | None = None

    @property
    def location(self) -> str:
        """The source with a relative path made absolute."""
        return located_source(self.source, self.folder)

    @property
    def relation(self) -> Source:
        """The table as the leaf of a plan."""
        return Source(
            self.name, self.schema, self.unit, self.rows, self.sampled, self.links, self.path
        )

    @classmethod
    def of(
        cls,
        name: str,
        section: Section,
        neighbors: Neighbors,
        folder: Folder,
        tables: Iterable[str] = (),
    ) -> TableDeclaration:
        """Read one table of a contract; the path to its unit is not followed yet.

        Args:
            name: what the analyst calls it.
            section: the table in the file.
            neighbors: the neighbor relation of the contract.
            folder: what a relative source is relative to.
            tables: the names of all tables.

        Raises:
            ContractError: something is missing, unknown or makes no sense.
        """
        with located(section.where):
            checked_name("the name of a table", name)
        section.allow(_KEYS, ("source",), f"Say where the data is: source = {_SOURCE}.")
        source = section.path("source", _SOURCE)
        version = None
        if "version" in section.entries:
            version = section.text("version", '"2026-11"')
            with located(section.at("version")):
                checked_name("version", version)
        links = tuple(_links(section, tables))
        unit = _unit(section, neighbors)
        schema = _schema(section, unit)
        rows = section.entries.get("rows")
        if not isinstance(rows, int | None) or isinstance(rows, bool):
            raise section.refusal(
                "rows",
                f"this is {described(rows)} and must be a whole number: how many rows the table "
                f"has, if that is public. Write rows = 10000, or leave it out.",
            )
        sampled = section.entries.get("sampled", False)
        if not isinstance(sampled, bool):
            raise section.refusal(
                "sampled",
                f"this is {described(sampled)} and must be true or false: whether the rows are a "
                f"random sample of a population. Write sampled = true, or leave it out.",
            )
        table = cls(name, source, version, unit, schema, rows, sampled, folder, links)
        with located(section.where):
            _ = table.relation
        return table


def located_source(source: str, folder: Folder) -> str:
    """Return a source with the relative path in it, if there is one, made absolute."""
    scheme, colon, rest = source.partition(":")
    if scheme == "duckdb" and colon and not rest.startswith("//"):
        file, mark, table = rest.partition("#")
        return f"duckdb:{folder / file}{mark}{table}"
    if (scheme == "spark" and colon) or "://" in source:
        return source
    return str(folder / source)


def shared_unit(section: Section, tables: Mapping[str, TableDeclaration]) -> Unit:
    """Return the one unit of all tables, for the header of their ledger.

    It goes by its name, not by a column of one table, and has the caps of the table in which a unit
    may own most rows: what a release costs is computed from the caps of the tables it reads.

    Args:
        section: the ``[unit]`` of the contract.
        tables: the declared tables.

    Raises:
        ContractError: the tables protect different units, or nobody says that they are the same.
    """
    name = section.text("name", '"person"') if "name" in section.entries else None
    units = {table: declared.unit for table, declared in tables.items()}
    by_row = [table for table, unit in units.items() if unit.column is None]
    by_column = [table for table, unit in units.items() if unit.column is not None]
    if by_row and by_column:
        raise ContractError(
            f"tables.{quoted(by_row[0])} protects rows and tables.{quoted(by_column[0])} those "
            f"whom a column names, and one ledger can add up only what protects the same unit. "
            f"Name the unit's column in every table; if nobody is in both, write two contracts."
        )
    widest = max(units.values(), key=lambda unit: unit.most_rows or inf)  # none: to be bought
    if by_row:
        if name is not None:
            raise section.refusal(
                "name",
                "the tables protect rows, which have no name. Remove it, or name in each table the "
                "column that says whose a row is.",
            )
        if other := next((t for t in by_row if units[t] != widest), None):
            raise ContractError(
                f"tables.{quoted(other)}.unit: the tables protect different numbers of rows, and "
                f"one ledger has one unit. Write the largest number in every table: "
                f"unit = {{ rows = {widest.max_rows} }}."
            )
        return widest
    roots = {table: str(declared.relation.root) for table, declared in tables.items()}
    if name is None and len(set(roots.values())) > 1:
        shown = ", ".join(f"{quoted(t)}.{quoted(roots[t])}" for t in by_column[:3])
        raise ContractError(
            f"unit: name is missing: the tables name the unit by different columns ({shown}), and "
            f"only you know that they mean the same. Write name = "
            f'"person" under [unit]; if there is a ledger already, the name that it has.'
        )
    return replace(widest, column=next(iter(roots.values())) if name is None else name)


def _unit(section: Section, neighbors: Neighbors) -> Unit:
    """Return whose the rows of a table are."""
    if "unit" not in section.entries:
        raise section.refusal(
            None,
            'unit is missing: who is protected? Write unit = "rider_id" for the column that says '
            'whose a row is, with max_rows; or unit = "row" if nobody has two rows.',
        )
    caps = {cap: section.entries[cap] for cap in _CAPS if cap in section.entries}
    written = section.entries["unit"]
    if isinstance(written, dict) or written == "row":
        if caps:
            raise section.refusal(
                next(iter(caps)),
                "caps limit how much of one unit counts, and where rows are the unit nobody knows "
                "whose they are. Remove it, or name the unit's column: unit = "
                '"rider_id".',
            )
        return _unit_of_rows(section, neighbors)
    column = section.text("unit", '"rider_id", "row" or { rows = 3 }').partition("->")[0].strip()
    if caps.get("max_rows_per_group") == "auto":
        raise section.refusal(
            "max_rows_per_group",
            "max_rows and max_groups can be bought, and this cannot. Write a number: "
            "max_rows_per_group = 4.",
        )
    with located(section.where):
        return Unit.by(column, **caps, neighbors=neighbors.value)


def _links(section: Section, tables: Iterable[str]) -> Iterator[Link]:
    """Yield the links of a table: that which leads to its unit, and others."""
    names = list(tables)
    unit, listed = section.entries.get("unit"), section.entries.get("links", [])
    if not isinstance(listed, list):
        raise section.refusal(
            "links",
            f"this is {described(listed)} and must be a list of links. Write "
            f'links = ["customer -> customers.id"].',
        )
    written = [("unit", unit)] if isinstance(unit, str) and "->" in unit else []
    for key, text in [*written, *(("links", each) for each in listed)]:
        if not isinstance(text, str) or text.count("->") != 1:
            raise section.refusal(
                key, 'a link has one arrow. Write it as "customer -> customers.id".'
            )
        column, other = (side.strip() for side in text.split("->"))
        with located(section.at(key)):
            yield Link(column, *column_of_table(other, names))


def _unit_of_rows(section: Section, neighbors: Neighbors) -> Unit:
    if section.entries["unit"] == "row":
        return Unit.row(neighbors.value)
    rows = section.section("unit", "unit = { rows = 3 }")
    rows.allow(("rows",), ("rows",), "Write unit = { rows = 3 } if nobody has more than three.")
    with located(rows.at("rows")):
        return Unit.rows(rows.entries["rows"], neighbors.value)


def _schema(section: Section, unit: Unit) -> Schema:
    """Return the declared columns of a table."""
    example = 'age = { type = "integer", low = 0, high = 120 }'
    columns = section.sections("columns", example)
    if not columns:
        raise section.refusal(
            None,
            f"no column is declared, and a column that is not declared does not exist. Write "
            f"{example} under [{section.at('columns')}].",
        )
    for name, column in columns.items():
        if unit.column and name != unit.column and name.casefold() == unit.column.casefold():
            raise column.refusal(
                None,
                f"this differs from the unit's column {quoted(unit.column)} only in upper and "
                f"lower case, and SQL cannot tell the two apart. Write both alike.",
            )
    with located(section.at("columns")):
        return Schema({name: _column(column) for name, column in columns.items()})


def _column(section: Section) -> Column:
    """Return the declaration of one column."""
    kinds = ", ".join(_TYPES)
    if "type" not in section.entries:
        raise section.refusal(
            None, f"type is missing: what do the values mean? Write type with one of {kinds}."
        )
    name = section.text("type", '"integer"')
    if name not in _TYPES:
        raise section.refusal("type", f"there is no such type. Write one of {kinds}.")
    kind, keys, example = _TYPES[name]
    section.allow(
        ("type", *keys, "nullable"),
        [key for key in keys if f"{key} =" in example and not _spared(section, key, name)],
        f"Declare it from what is known without looking at the data, such as "
        f'{{ type = "{name}", {example} }}.',
    )
    given: dict[str, Any] = {key: value for key, value in section.entries.items() if key != "type"}
    if not isinstance(given.get("nullable", False), bool):
        raise section.refusal(
            "nullable",
            "this says whether a value may be missing. Write nullable = true, or leave it out.",
        )
    with located(section.where):
        return kind(**given)


def _spared(section: Section, key: str, name: str) -> bool:
    """Say whether a bound may be left out: of a number, if the other is left out as well."""
    bounds = ("low", "high")
    return name in ("integer", "real") and key in bounds and not {*bounds} & {*section.entries}
