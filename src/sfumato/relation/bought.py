"""Groups that nobody listed: those that occur, and of which a selection shows some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.core.codec import canonical
from sfumato.core.errors import KeysError
from sfumato.relation.expr import Expr, Scope
from sfumato.relation.keys import Keys, groups_of
from sfumato.relation.kind import Code, Kind


@dataclass(frozen=True, slots=True)
class Bought:
    """A wish for the groups that occur, made by `bought`.

    Attributes:
        other: whether what is in no group that appears is counted together, as one more group.
    """

    other: bool = False

    def __repr__(self) -> str:
        """Show the call."""
        return f"bought({'other=True' if self.other else ''})"


def bought(*, other: bool = False) -> Bought:
    """Buy the groups: those with enough units in them appear, whatever they are called.

    For ``group_by("name", keys=sf.bought())``. Which groups there are is private, so a group that
    few units are in may be left out; how many it needs is in `explain`. It takes a δ.

    Args:
        other: count all that is in no group that appears together, as one more group.

    Example:
        >>> bought(other=True)
        bought(other=True)
    """
    if not isinstance(other, bool):
        raise KeysError("other= says whether the rest is counted as one more group: True or False.")
    return Bought(other)


@canonical
@dataclass(frozen=True, slots=True)
class BoughtKeys:
    """Groups by columns: the combinations that occur, of which a selection shows some.

    Attributes:
        columns: the columns.
        kinds: how a plan holds each.
        codes: for each column the codes that may appear; None for any.
        other: whether the rest is one more group.
    """

    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    codes: tuple[tuple[Code, ...] | None, ...]
    other: bool = False

    def __post_init__(self) -> None:
        """Check that there is something to group by."""
        if not self.columns:
            raise KeysError("bought groups need a column. Group by one.")

    @property
    def cells(self) -> None:
        """How many groups there are: nobody knows."""
        return None

    def condition(self) -> Expr | None:
        """Return what holds for the rows that are in some group."""
        return Keys(self.columns, self.kinds, self.codes).condition()


AnyKeys = Keys | BoughtKeys


def keys_of(scope: Scope, columns: Sequence[str], given: Any = None) -> AnyKeys:
    """Find the groups: all values that the schema lists, those given, or those to be bought.

    Args:
        scope: the columns in scope.
        columns: the columns to group by.
        given: as for `Keys.of`; or `Bought`, for all columns or for some of a mapping.

    Raises:
        KeysError: values that are unknown, twice, not listed, or too many.
    """
    wishes = given.values() if isinstance(given, Mapping) else (given,)
    buys = [wish for wish in wishes if isinstance(wish, Bought)]
    if not buys:
        return Keys.of(scope, columns, given)
    listed = (
        {name: v for name, v in given.items() if not isinstance(v, Bought)}
        if isinstance(given, Mapping)
        else {}
    )
    unknown = [name for name in given if name not in columns] if isinstance(given, Mapping) else []
    if unknown:
        raise KeysError(
            f"keys= names {unknown[0]!r}, which is not grouped by. It takes columns of group_by: "
            f"{', '.join(columns)}."
        )
    names, kinds, codes = groups_of(scope, columns, listed, open_ended=True)
    return BoughtKeys(names, kinds, codes, any(wish.other for wish in buys))
