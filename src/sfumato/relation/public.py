"""A public table inside a plan: a snapshot, taken when the plan is made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.relation.expr import check_text
from sfumato.relation.kind import LIMIT, Code, Day, Instant, Kind, Label, Number, Truth

MOST_ROWS = 100_000

PublicColumn: TypeAlias = tuple[str, Kind, tuple[Code | None, ...]]


@canonical
@dataclass(frozen=True, slots=True)
class PublicTable:
    """Keys and columns of a public table, coded as a plan holds values.

    Attributes:
        name: what it is called.
        keys: the columns that are matched, each with the kind of the private column it meets.
        columns: the columns that are added.
    """

    name: str
    keys: tuple[PublicColumn, ...]
    columns: tuple[PublicColumn, ...]

    def __post_init__(self) -> None:
        """Check that every code is one of its kind: a bound of an answer may rest on it."""
        sizes = {len(codes) for _, _, codes in (*self.keys, *self.columns)}
        if not self.keys or len(sizes) != 1 or not 0 < max(sizes) <= MOST_ROWS:
            raise InputError(
                f"a public table has a key, columns of one length, and from 1 to {MOST_ROWS:,} "
                f"rows. Leave out the rows and columns that you do not need."
            )
        for name, kind, codes in (*self.keys, *self.columns):
            for text in {held for held in codes if isinstance(held, str)}:
                check_text(text)
            if not all(held is None or _holds(kind, held) for held in set(codes)):
                raise InputError(f"the public column {name!r} has a value outside of its kind.")

    @property
    def multiplicity(self) -> int:
        """How many rows one key has at most."""
        counted = Counter(zip(*(codes for _, _, codes in self.keys), strict=True))
        return max(counted.values())


def _holds(kind: Kind, held: Code) -> bool:
    match kind:
        case Truth():
            return isinstance(held, bool)
        case Number() | Day():
            return type(held) is int and kind.low <= held <= kind.high and abs(held) <= LIMIT
        case Instant():
            return type(held) is int and 0 <= held <= min(kind.high, LIMIT)
        case Label():
            return type(held) is int and 0 <= held < len(kind.values)
        case _:
            return isinstance(held, str)
