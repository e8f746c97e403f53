"""The leaf of every plan: a private table as its owner declared it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sfumato.core.codec import LATER, canonical
from sfumato.core.errors import ColumnError, RangeError, UnitError
from sfumato.core.schema import Schema
from sfumato.core.unit import Unit
from sfumato.relation.link import KEY, Link, Path, path_of

HIDDEN = "sfumato_unit"  # under this name a plan carries the unit; no declared column may have it
KEPT = "sfumato_kept_"  # so begin the names of tables that a plan makes; no declared one's may


def folded(name: str) -> str:
    """Return what is the same for names that an engine may take for one another."""
    return name.casefold()


def unused(name: str, taken: Iterable[str]) -> str:
    """Return a name that no other is taken for, as near to a given one as can be."""
    others = {folded(each) for each in taken}
    while folded(name) in others:
        name += "_"
    return name


@canonical
@dataclass(frozen=True, slots=True)
class Source:
    """A private table: its public facts, nothing of what is in it.

    A backend answers for it with rows in which every declared column has its one meaning: whole
    numbers within the declared bounds, or NULL. See `sfumato.relation.kind`.

    Attributes:
        name: what the analyst calls it.
        schema: the declared columns.
        unit: who is protected, and how much of one unit may count.
        rows: the public number of rows, where the neighbor relation makes it public: needed to
            answer a count that no unit can change.
        sampled: whether the rows are a random sample of a population, each drawn independently of
            the others; then intervals about that population can be had.
        links: which of its columns hold keys of other tables.
        path: how a row leads to its unit, where a link does; else the column of the unit names it.
    """

    name: str
    schema: Schema
    unit: Unit
    rows: int | None = None
    sampled: bool = field(default=False, metadata={LATER: True})
    links: tuple[Link, ...] = field(default=(), metadata={LATER: True})
    path: Path | None = field(default=None, metadata={LATER: True})

    def __post_init__(self) -> None:
        """Check that the facts belong together."""
        if not isinstance(self.name, str) or not self.name or "\0" in self.name:
            raise ColumnError("a table needs a name. Pass name='people'.")
        if folded(self.name).startswith(KEPT):
            raise ColumnError(
                f"a table cannot be named {self.name!r}: what is left of a unit's rows has such a "
                f"name while a question is answered. Rename it."
            )
        if not isinstance(self.schema, Schema) or not self.schema:
            raise ColumnError(
                f"table {self.name!r} declares no column, and a column that is not declared does "
                f"not exist for the analyst. Pass schema=Schema(age=Integer(0, 120), ...)."
            )
        if not isinstance(self.unit, Unit):
            raise UnitError(
                f"table {self.name!r} needs a unit: who is protected? Pass unit=Unit.row() if "
                f"nobody has two rows, or unit=Unit.by('customer_id', max_rows=20)."
            )
        for text in (self.name, *self.schema, self.unit.column or "unit"):
            if not text.isprintable() and any("\ud800" <= c <= "\udfff" for c in text):
                raise ColumnError("a name contains half of a pair of surrogates. Rename it.")
        # Engines do not tell case apart: of two such columns one would be read for the other.
        taken = {folded(HIDDEN), *(folded(name) for name in self.unseen)}
        for name in self.columns:
            if folded(name) in taken or folded(name).startswith(KEY) or "\0" in name:
                raise ColumnError(
                    f"table {self.name!r} cannot have a column named {name!r}: another column, the "
                    f"unit or a plan uses the name, perhaps in other case. Rename it."
                )
            taken.add(folded(name))
        if not isinstance(self.sampled, bool):
            raise ColumnError(
                f"sampled= of table {self.name!r} says whether its rows are a random sample: pass "
                f"True or False."
            )
        if self.rows is not None and (
            not isinstance(self.rows, int) or isinstance(self.rows, bool) or self.rows < 0
        ):
            raise RangeError(
                f"rows of table {self.name!r} is the public number of rows: 0 or more."
            )

        if self.path is not None and self.path.links[0] not in self.links:
            raise UnitError(f"the path of table {self.name!r} begins with none of its links.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names an analyst may use: all that are declared but the unit's."""
        return tuple(name for name in self.schema if name not in self.unseen)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The names that say whose a row is: the unit's, and the column that leads to it."""
        begins = () if self.path is None else (self.path.links[0].column,)
        return tuple(dict.fromkeys(n for n in (self.unit.column, *begins) if n is not None))

    @property
    def owner(self) -> str | None:
        """The column of the table that says whose a row is, by itself or over its path."""
        return self.unit.column if self.path is None else self.path.links[0].column

    @property
    def is_direct(self) -> bool:
        """Whether that column names the unit, so that nothing has to be looked up."""
        return self.path is None or not self.path.steps

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that say which rows there are and whose: it, and those that are looked up in.

        If one of them changes, a row may be another unit's, or nobody's.
        """
        steps = () if self.path is None else self.path.steps
        return self.name, *(link.table for link, _ in steps)

    @property
    def root(self) -> str | None:
        """The column that names the unit in the table to which all paths lead."""
        return self.unit.column if self.path is None else self.path.unit

    def names_unit(self, column: str) -> bool:
        """Say whether a column holds what names the unit."""
        return self.is_direct and column == self.owner


def linked(tables: Iterable[Source], links: Mapping[str, tuple[Link, ...]]) -> list[Source]:
    """Return tables with the links between them, and whose their rows are with their help.

    Where the unit is looked up in other tables, it goes by the column that names it there.

    Args:
        tables: the tables; the column of their unit names it, or has a link.
        links: of each table its links.

    Raises:
        UnitError: the links go in a circle, or the tables protect different units.
    """
    given = list(tables)
    columns = {table.name: table.unit.column for table in given}
    found = []
    for table in given:
        path = path_of(table.name, columns, links)
        unit = table.unit
        if path is not None and path.steps:
            unit = replace(unit, column=path.end)
        found.append(replace(table, links=links.get(table.name, ()), path=path, unit=unit))
    return found
