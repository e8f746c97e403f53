"""What is read of other tables for the rows of one: whose they are, and by which keys they meet.

A table that does not name its unit refers to one that does. Its rows are joined with the pairs of
key and unit that the other tables hold, each once. A row whose key leads to two units is a row of
each: what others have of it does not depend on who else is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sfumato.backends.physical import Physical, PhysicalColumn
from sfumato.backends.reader import COMPARABLE, LEAD, check_unit, is_named, shown, unit_value
from sfumato.core.errors import ColumnError, InputError
from sfumato.relation.source import Source


@dataclass(frozen=True, slots=True)
class Step:
    """One table in which something is looked up.

    Attributes:
        table: the table.
        key: its column that is looked for.
        onward: its column that is found.
        as_text: whether keys are compared as text.
    """

    table: Physical
    key: PhysicalColumn
    onward: PhysicalColumn
    as_text: bool

    def sql(self, *, as_text: bool) -> str:
        """Write the pairs of k and v, of which rows without a name are no part."""
        read = (
            f"SELECT {unit_value(self.key, as_text=self.as_text)} AS k, "  # noqa: S608 - names
            f"{unit_value(self.onward, as_text=as_text)} AS v FROM {self.table.sql}"
        )
        replaced = self.table.replaced
        named = (
            is_named(self.key, replaced, as_text=self.as_text, value="k"),
            is_named(self.onward, replaced, as_text=as_text, value="v"),
        )
        return f"(SELECT k, v FROM ({read}) WHERE {' AND '.join(named)})"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Lookup:
    """How the rows of one table lead to their unit, and which keys they carry.

    Attributes:
        unit: the column that names the unit, here or in the last table; None where rows are units.
        begin: what a row refers to first.
        named: the condition that it refers to something.
        steps: the tables in which its unit is looked up; none where the column names it.
        keys: of each key that travels with the rows its name, its value and when it is one.
    """

    unit: PhysicalColumn | None
    begin: str
    named: str
    steps: tuple[Step, ...]
    keys: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, source: Source, tables: Mapping[Source, Physical]) -> Lookup:
        """Find it out from names and types alone.

        Raises:
            InputError: a table that a link leads to is not there.
            UnknownName: a column does not exist.
            ColumnError: keys of two types that cannot be compared.
        """
        keys = tuple(_keys(source, tables))
        if source.owner is None:
            return cls(None, "", "", (), keys)
        here = tables[source].column(source.owner, source.name)
        check_unit(here, source.name)
        steps: list[Step] = []
        begin = named = ""
        for link, onward in () if source.path is None else source.path.steps:
            parent = _table(link.table, tables)
            key = tables[parent].column(link.key, link.table)
            as_text = _differ(here, key, str(link))
            if not steps:
                begin = unit_value(here, as_text=as_text)
                replaced = tables[source].replaced
                named = is_named(here, replaced, as_text=as_text, value=f"mine.{LEAD}")
            here = tables[parent].column(onward, link.table)
            check_unit(here, link.table)
            steps.append(Step(tables[parent], key, here, as_text))
        return cls(here, begin, named, tuple(steps), keys)

    @property
    def end(self) -> str:
        """What names the unit in the end."""
        return "owner.v"

    def joins(self, *, as_text: bool) -> str:
        """Write the pairs of what a row refers to and its unit, found from table to table.

        Args:
            as_text: whether the unit is read as text.
        """
        # What is found is compared with the next key, and read as that is. From the unit's end, and
        # each pair once at every step: over however many ways a row leads to a unit, one unit adds
        # to no step more pairs than the step has rows.
        pairs = ""
        for step, later in reversed(list(zip(self.steps, self._read_as(as_text), strict=True))):
            read = step.sql(as_text=later)
            pairs = (
                f"SELECT DISTINCT step.k AS k, owner.v AS v FROM {read} AS step "  # noqa: S608
                f"JOIN ({pairs}) AS owner ON step.v = owner.k"
                if pairs
                else f"SELECT DISTINCT k, v FROM {read}"  # noqa: S608
            )
        return f" JOIN ({pairs}) AS owner ON mine.{LEAD} = owner.k"

    def _read_as(self, as_text: bool) -> list[bool]:
        """Return of each step whether what it finds is read as text."""
        return [*(step.as_text for step in self.steps[1:]), as_text]


def keys_of(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Return of each table the columns that the links and paths of others refer to."""
    every = list(sources)
    found: dict[str, list[str]] = {source.name: [] for source in every}
    for source in every:
        for link in source.links:
            found.setdefault(link.table, []).append(link.key)
        for link, onward in () if source.path is None else source.path.steps:
            found.setdefault(link.table, []).extend((link.key, onward))
    return found


def _keys(source: Source, tables: Mapping[Source, Physical]) -> Iterable[tuple[str, str, str]]:
    """Yield the keys of all links that a table is an end of, unless both ends name the unit."""
    for child in tables:
        for link in child.links:
            if source.name not in (child.name, link.table):
                continue
            parent = _table(link.table, tables)
            if child.names_unit(link.column) and parent.names_unit(link.key):
                continue
            ends = (
                tables[child].column(link.column, child.name),
                tables[parent].column(link.key, parent.name),
            )
            as_text = _differ(*ends, str(link))
            mine = ends[0] if source == child else ends[1]
            name, replaced = link.hidden(child.name), tables[source].replaced
            value = unit_value(mine, as_text=as_text)
            yield name, value, is_named(mine, replaced, as_text=as_text, value=name)


def _table(name: str, tables: Mapping[Source, Physical]) -> Source:
    for source in tables:
        if source.name == name:
            return source
    raise InputError(f"a link leads to table {name!r}, which is not here. Open both together.")


def _differ(one: PhysicalColumn, other: PhysicalColumn, link: str) -> bool:
    """Say whether two columns are compared as text.

    Raises:
        ColumnError: they cannot be compared at all.
    """
    for column in (one, other):
        check_unit(column, link)
        if one.type != other.type and column.kind not in COMPARABLE:
            raise ColumnError(
                f"the two ends of the link {link} are held as {shown(one)} and {shown(other)}, so "
                f"that nobody can say which keys are the same. Convert both to one type, or to "
                f"text."
            )
    return one.type != other.type
