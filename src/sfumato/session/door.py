"""Ways to a session's data: the whole of it, one part of a table, or an envelope of its budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sfumato.accounting import Remaining
    from sfumato.ledger import Ledger, Scope
    from sfumato.relation.partition import Slice
    from sfumato.release.release import Release
    from sfumato.session.part import Part
    from sfumato.session.sequel import Sequel


class Door(Protocol):
    """What tables and questions ask through."""

    @property
    def dialect(self) -> str:
        """The SQL that the data's engine speaks."""

    @property
    def remaining(self) -> Remaining:
        """What may still be spent through this door."""

    @property
    def ledger(self) -> Ledger:
        """The record of what was spent."""

    @property
    def analyst(self) -> str | None:
        """Who asks."""

    def public(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a public table."""

    def check_open(self) -> None:
        """Refuse what would be charged where nothing can be answered."""

    def perform(
        self,
        parts: Sequence[Part],
        *,
        request: str | None = None,
        delta: Any = 0,
        slice: Slice | None = None,
        scope: Scope | None = None,
        sequel: Sequel | None = None,
        fixed: bool = False,
    ) -> tuple[Release, ...]:
        """Measure parts in one charge."""


@dataclass(frozen=True, slots=True)
class Within:
    """A door to one part of a table, or to an envelope of the budget, or to both.

    Attributes:
        outer: the door to everything.
        slice: the part; None for all parts.
        scope: the envelope that pays; None for the whole budget.
    """

    outer: Door
    slice: Slice | None
    scope: Scope | None

    @property
    def dialect(self) -> str:
        """The SQL that the data's engine speaks."""
        return self.outer.dialect

    @property
    def remaining(self) -> Remaining:
        """What may still be spent here."""
        if self.scope is None:
            return self.outer.remaining
        return self.ledger.scope_remaining(self.scope)

    @property
    def ledger(self) -> Ledger:
        """The record of what was spent."""
        return self.outer.ledger

    @property
    def analyst(self) -> str | None:
        """Who asks."""
        return self.outer.analyst

    def public(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a public table."""
        return self.outer.public(name)

    def check_open(self) -> None:
        """Refuse what would be charged where nothing can be answered."""
        self.outer.check_open()

    def perform(
        self,
        parts: Sequence[Part],
        *,
        request: str | None = None,
        delta: Any = 0,
        slice: Slice | None = None,
        scope: Scope | None = None,
        sequel: Sequel | None = None,
        fixed: bool = False,
    ) -> tuple[Release, ...]:
        """Measure parts in one charge, which counts where this door leads."""
        return self.outer.perform(
            parts,
            request=request,
            delta=delta,
            slice=slice or self.slice,
            scope=scope or self.scope,
            sequel=sequel,
            fixed=fixed,
        )


def narrowed(door: Door, *, slice: Slice | None = None, scope: Scope | None = None) -> Within:
    """Return a door that leads less far."""
    if isinstance(door, Within):
        return Within(door.outer, slice or door.slice, scope or door.scope)
    return Within(door, slice, scope)


def leads_as_far(door: Door, other: Door) -> bool:
    """Say whether what another door leads to may be read beside what this one does."""
    mine, theirs = narrowed(door), narrowed(other)
    return (
        mine.outer == theirs.outer
        and theirs.slice in (None, mine.slice)
        and theirs.scope in (None, mine.scope)
    )
