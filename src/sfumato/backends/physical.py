"""A table as the engine sees it: its columns, their types, and which of them is meant by a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from sfumato.core.errors import UnknownName

_SHOWN = 20  # names of columns in a message


class Class(Enum):
    """What can be done with a physical type; types of one class are read alike."""

    SMALL = "a whole number that fits 64 bits with a sign"
    WIDE = "a whole number that may not"
    FLOAT = "a binary fraction"
    DECIMAL = "a decimal fraction"
    TEXT = "text"
    BOOLEAN = "a truth value"
    DATE = "a day"
    MOMENT = "a moment"
    BYTES = "bytes"
    NOTHING = "always missing"
    OTHER = "anything that no declaration reads"


_CLASSES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), Class.SMALL),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER"), Class.SMALL),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), Class.WIDE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), Class.FLOAT),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), Class.TEXT),
    "DECIMAL": Class.DECIMAL,
    "BOOLEAN": Class.BOOLEAN,
    "DATE": Class.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Class.MOMENT),
    "TIMESTAMP WITH TIME ZONE": Class.MOMENT,
    "BLOB": Class.BYTES,
    '"NULL"': Class.NOTHING,
}


@dataclass(frozen=True, slots=True)
class PhysicalColumn:
    """A column of the engine.

    Attributes:
        name: what the owner calls it.
        sql: how a statement names it, quoted.
        type: the engine's type, as DESCRIBE writes it.
        blank: whether an empty text stands for a missing value, because there is no other.
    """

    name: str
    sql: str
    type: str
    blank: bool = False

    @property
    def kind(self) -> Class:
        """What can be done with it: by type alone, never by value."""
        if self.type.endswith("]"):  # lists and arrays
            return Class.OTHER
        return _CLASSES.get(re.sub(r"\(.*", "", self.type, flags=re.DOTALL), Class.OTHER)

    @property
    def precision(self) -> int:
        """The number of digits of a DECIMAL."""
        found = re.fullmatch(r"DECIMAL\((\d+),\d+\)", self.type)
        return int(found[1]) if found else 38


@dataclass(frozen=True, slots=True)
class Physical:
    """A table of the engine.

    Attributes:
        sql: what follows FROM.
        columns: all its columns, the order of the table.
        replaced: what the engine writes into a text in place of bytes that are no letters.
    """

    sql: str
    columns: tuple[PhysicalColumn, ...]
    replaced: str | None = None

    def column(self, name: str, table: str) -> PhysicalColumn:
        """Return the column that a declaration means.

        Args:
            name: as declared.
            table: the name of the source, for messages.

        Raises:
            UnknownName: there is none, or several.
        """
        for same in (str, str.casefold):
            found = [column for column in self.columns if same(column.name) == same(name)]
            if len(found) == 1:
                return found[0]
            if found:
                raise UnknownName(
                    f"table {table!r} has {len(found)} columns that {name!r} could mean: "
                    f"{_listed([column.name for column in found])}. Rename all but one of them."
                )
        names = [column.name for column in self.columns]
        near = get_close_matches(name, names, 1)
        hint = f" Did you mean {near[0]!r}?" if near else " Correct the declaration."
        raise UnknownName(
            f"table {table!r} has no column {name!r}; it has: {_listed(names)}.{hint}"
        )


def literal(text: str) -> str:
    """Write a text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def name(text: str) -> str:
    """Write a name as SQL."""
    return '"' + text.replace('"', '""') + '"'


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more
