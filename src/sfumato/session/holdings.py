"""Which stored answers an analyst has, and what charged them: asked for, or given by the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.ledger.event import Event


@dataclass(frozen=True, slots=True)
class Holdings:
    """The answers that one analyst has from a ledger; or all of them, in the owner's view.

    An answer that was stored for another analyst keeps the receipt of that one's charge. Whoever is
    given it is charged in an entry of their own, which is the one that concerns them.

    Attributes:
        holder: the analyst; None is the owner.
        events: all entries of the ledger.
        charged: for the reservation of each answer, by its number, the entry that charged the
            holder for it; in the order in which they came to have them.
    """

    holder: str | None
    events: Sequence[Event]
    charged: Mapping[int, Event]

    @classmethod
    def of(cls, events: Sequence[Event], holder: str | None) -> Holdings:
        """Find them among all entries of a ledger."""
        reserved: dict[int, int] = {}  # by the entry that stored the answer
        paid: dict[bytes | None, Event] = {}  # by what was asked; the last, as others were in vain
        charged: dict[int, Event] = {}
        for event in events:
            if event.kind == "settled" and event.ref is not None:
                reserved[event.seq] = event.ref
            if holder not in (None, event.analyst):
                continue
            if event.kind in ("reserved", "given") and event.charge_bytes is not None:
                paid[event.body] = event
            if event.kind == "settled" and event.ref is not None:
                charged[event.ref] = events[event.ref - 1]
            elif event.kind == "given" and holder is not None and event.ref in reserved:
                charged.setdefault(reserved[event.ref], paid.get(event.body, event))
        return cls(holder, events, charged)

    def __len__(self) -> int:
        """Count the answers."""
        return len(self.charged)
