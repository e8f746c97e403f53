"""Links between private tables: which column holds the keys of which other table.

A link says how rows of two tables belong together. It may also say whose a row is: a table that
does not name its unit itself refers to one that does, over as many tables as it takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError, UnitError

KEY = "sfumato_key_"  # so begin the names under which a plan carries keys; no declared one's may
_ARROW = "->"
_FORM = "Write it as 'orders.customer -> customers.id'."


@canonical
@dataclass(frozen=True, slots=True)
class Link:
    """A column that holds keys of another table: ``customer -> customers.id``.

    What a key leads to is found, and nobody's word is taken for it. See docs/theory/sensitivity.md.

    Attributes:
        column: the column.
        table: the table that it refers to.
        key: the column of that table.
    """

    column: str
    table: str
    key: str

    def __post_init__(self) -> None:
        """Check that all three are names."""
        for name in (self.column, self.table, self.key):
            if not isinstance(name, str) or not name or "\0" in name:
                raise InputError(f"a link names a column, a table and its key. {_FORM}")

    def hidden(self, child: str) -> str:
        """Return the name under which the key travels: on both sides of this link the same one."""
        ends = "\0".join((child, self.column, self.table, self.key))
        return KEY + hashlib.sha256(ends.encode(errors="surrogatepass")).hexdigest()[:16]

    def __str__(self) -> str:
        """Write it as a contract does."""
        return f"{self.column} {_ARROW} {self.table}.{self.key}"


@canonical
@dataclass(frozen=True, slots=True)
class Path:
    """The links that lead from a row to its unit.

    Attributes:
        links: from the table itself to the one that names the unit.
        unit: the column of that last table that names it.
    """

    links: tuple[Link, ...]
    unit: str

    def __post_init__(self) -> None:
        """Check that it leads somewhere."""
        if not self.links or not all(isinstance(link, Link) for link in self.links):
            raise UnitError("a path to the unit has at least one link. Leave it out otherwise.")

    @property
    def steps(self) -> tuple[tuple[Link, str], ...]:
        """What has to be looked up: a link, and the column of its table that leads on.

        Where a key is itself what leads on, nothing is looked up: a column that refers to the one
        that names the unit names the unit.
        """
        onward = [*(link.column for link in self.links[1:]), self.unit]
        pairs = zip(self.links, onward, strict=True)
        return tuple((link, column) for link, column in pairs if link.key != column)

    @property
    def end(self) -> str:
        """The column that names the unit, with its table."""
        return f"{self.links[-1].table}.{self.unit}"


def read_links(texts: object, tables: Iterable[str]) -> dict[str, tuple[Link, ...]]:
    """Read links, such as ``orders.customer -> customers.id``; by the table that has the column.

    Args:
        texts: the links as they are written.
        tables: the names of all tables.

    Raises:
        InputError: one is not understood, or a table does not exist.
    """
    names = list(tables)
    found: dict[str, tuple[Link, ...]] = {}
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise InputError(f"links= takes a list of links. {_FORM}")
    for text in texts:
        if not isinstance(text, str) or text.count(_ARROW) != 1:
            raise InputError(f"a link has one arrow. {_FORM}")
        left, right = (side.strip() for side in text.split(_ARROW))
        child, column = column_of_table(left, names)
        found[child] = (*found.get(child, ()), Link(column, *column_of_table(right, names)))
    check_links(found)
    return found


def column_of_table(text: str, tables: Iterable[str]) -> tuple[str, str]:
    """Split ``customers.id`` into a table that exists and a column of it.

    Raises:
        InputError: there is no such table, or several could be meant.
    """
    names = list(tables)
    fitting = [name for name in names if text.startswith(f"{name}.") and len(text) > len(name) + 1]
    if len(fitting) != 1:
        listed = ", ".join(names)
        raise InputError(
            f"a link leads from a column of a table to a column of another, and {text!r} is no "
            f"column of one table; there are the tables: {listed}. {_FORM}"
        )
    return fitting[0], text[len(fitting[0]) + 1 :]


def check_links(links: Mapping[str, Sequence[Link]]) -> None:
    """Refuse links that nobody could follow.

    Raises:
        InputError: a table refers to itself, or one column to two tables.
    """
    for table, of in links.items():
        if any(link.table == table for link in of):
            raise InputError(
                f"table {table!r} refers to itself, and rows of one table are not joined with one "
                f"another. Leave the link out."
            )
        columns = [link.column for link in of]
        twice = next((column for column in columns if columns.count(column) > 1), None)
        if twice is not None:
            raise InputError(
                f"column {twice!r} of table {table!r} has two links, and a key is that of one "
                f"table. Leave one of them out."
            )


def path_of(
    table: str, units: Mapping[str, str | None], links: Mapping[str, Sequence[Link]]
) -> Path | None:
    """Follow the links from the column of a table that says whose its rows are.

    Args:
        table: the table.
        units: of every table the column that names the unit, or begins the path to it.
        links: of every table its links.

    Returns:
        The path; None if the column names the unit itself.

    Raises:
        UnitError: the links go in a circle, or lead to a table whose unit is its rows.
    """
    found: list[Link] = []
    seen, column = {table}, units[table]
    here = table
    while link := next((one for one in links.get(here, ()) if one.column == column), None):
        if link.table in seen:
            raise UnitError(
                f"the links go from table {table!r} in a circle, so that they never say whose a "
                f"row is. Let one table name the unit by a column without a link."
            )
        found.append(link)
        seen.add(link.table)
        here, column = link.table, units[link.table]
        if column is None:
            raise UnitError(
                f"table {table!r} refers to {here!r} for whose its rows are, and there the unit is "
                f"rows. Name in {here!r} the column that says whose a row is."
            )
    return Path(tuple(found), str(column)) if found else None
