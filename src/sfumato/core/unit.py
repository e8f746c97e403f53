"""Who is protected, what "neighboring" means, and how much of one unit may count."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from sfumato.core.codec import canonical
from sfumato.core.errors import NumberError, UnitError
from sfumato.core.number import Exactable, exact, show

NeighborsName: TypeAlias = Literal["add_remove", "replace"]
Cap: TypeAlias = int | Literal["auto"] | None


class Neighbors(StrEnum):
    """The relation between two tables that a release must make hard to tell apart."""

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"

    @classmethod
    def parse(cls, name: str) -> Neighbors:
        """Return the relation of that name, or say which exist."""
        try:
            return cls(name)
        except ValueError:
            raise UnitError(
                f"neighbors = {name!r} is not a neighbor relation. Use 'add_remove' (one unit is "
                f"in the table or not) or 'replace' (one unit has other data; the number of units "
                f"is public)."
            ) from None


@canonical
@dataclass(frozen=True, slots=True)
class Unit:
    """The privacy unit: a row, a few rows, or everything that carries one value of a column.

    Build it with `row`, `rows` or `by`.

    Attributes:
        column: the column that names the unit; None when the unit is rows.
        max_rows: how many rows of one unit may count in an answer.
        max_groups: in how many groups one unit may count; None for no cap of its own.
        max_rows_per_group: how many rows of one unit may count in one group; None for no cap.
        neighbors: the neighbor relation.

    Example:
        >>> Unit.by("rider_id", max_rows=20)
        Unit.by('rider_id', max_rows=20)
    """

    column: str | None
    max_rows: Cap
    max_groups: Cap = None
    max_rows_per_group: int | None = None
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the column and the caps."""
        object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))
        if self.column is not None and (not isinstance(self.column, str) or not self.column):
            raise _no_column()
        for name in ("max_rows", "max_groups", "max_rows_per_group"):
            value = getattr(self, name)
            sold = self.column is not None and name != "max_rows_per_group"
            bought = isinstance(value, str) and value == "auto" and name != "max_rows_per_group"
            if value is not None and not bought:
                object.__setattr__(self, name, _cap(value, name, sold=sold))
        if self.column is None and not (
            isinstance(self.max_rows, int) and self.max_groups is self.max_rows_per_group is None
        ):
            raise UnitError(
                "a unit of rows has max_rows, a whole number, and no other cap: without a column "
                "nobody can tell whose rows they are. Pass Unit.rows(3), or Unit.by('id', ...)."
            )
        if self.max_rows is None and None in (self.max_groups, self.max_rows_per_group):
            raise UnitError(
                f"the unit {self.column!r} may own any number of rows, so one unit could change an "
                f"answer without limit. "
                f"Pass max_rows=, or both max_groups= and max_rows_per_group=."
            )

    @property
    def most_rows(self) -> int | None:
        """How many rows of one unit may count in all; None where a cap is to be bought."""
        bounds = [self.max_rows] if isinstance(self.max_rows, int) else []
        if isinstance(self.max_groups, int) and self.max_rows_per_group is not None:
            bounds.append(self.max_groups * self.max_rows_per_group)
        return min(bounds, default=None)

    @classmethod
    def row(cls, neighbors: NeighborsName = "add_remove") -> Unit:
        """Protect one row: right only if nobody has two."""
        return cls(None, 1, neighbors=Neighbors.parse(neighbors))

    @classmethod
    def rows(cls, k: int, neighbors: NeighborsName = "add_remove") -> Unit:
        """Protect any `k` rows: right only if nobody has more."""
        return cls(None, k, neighbors=Neighbors.parse(neighbors))

    @classmethod
    def by(
        cls,
        column: str,
        *,
        max_rows: Cap = None,
        max_groups: Cap = None,
        max_rows_per_group: int | None = None,
        neighbors: NeighborsName = "add_remove",
    ) -> Unit:
        """Protect all rows that share one value of `column`; the caps bound what they may count."""
        if column is None:
            raise UnitError(
                "the unit needs the name of a column. Pass Unit.by('customer_id', ...)."
            )
        return cls(column, max_rows, max_groups, max_rows_per_group, Neighbors.parse(neighbors))

    def __repr__(self) -> str:
        """Show the call that makes this unit."""
        tail = "" if self.neighbors is Neighbors.ADD_REMOVE else f", neighbors='{self.neighbors}'"
        if self.column is None:
            return (
                f"Unit.row({tail[2:]})"
                if self.max_rows == 1
                else f"Unit.rows({self.max_rows}{tail})"
            )
        caps = "".join(
            f", {name}={getattr(self, name)!r}"
            for name in ("max_rows", "max_groups", "max_rows_per_group")
            if getattr(self, name) is not None
        )
        return f"Unit.by({self.column!r}{caps}{tail})"


def _no_column() -> UnitError:
    return UnitError("the unit needs the name of a column. Pass Unit.by('customer_id', ...).")


def _cap(value: Exactable, name: str, *, sold: bool) -> int:
    try:
        number = exact(value, name)
    except NumberError as problem:
        more = ' Or pass "auto": each question then buys the cap.' if sold else ""
        raise UnitError(problem.message + more) from None
    if number.denominator != 1 or not 1 <= number < 2**31:
        raise UnitError(
            f"{name} = {show(number)} is not a cap: it must be a whole number from 1 to 2^31 - 1. "
            f"It says how much of one unit may count."
        )
    return int(number)
