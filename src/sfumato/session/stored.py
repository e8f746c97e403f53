"""What a ledger stores of an answer: the parts that were measured, in an order for readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from sfumato import accounting
from sfumato.core.codec import decode
from sfumato.core.errors import CodecError
from sfumato.release.release import Release

if TYPE_CHECKING:
    from sfumato.core.loss import Loss
    from sfumato.ledger.event import Event

_VALUE, _ASKED = "value is ", "asked of "  # how the notes of a part begin that say what it is
_LONGEST = 160  # characters of a heading; the notes below it say all
_NUMBER = re.compile(r"([0-9]+)")

Order: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored answer.

    Attributes:
        entry: the reservation.
        blocks: parts about the same rows in the same groups, side by side; by table, groups,
            rows and what was measured. Empty for what a program of its own stored for itself.
        parts: how many parts were measured.
    """

    entry: Event
    blocks: tuple[Release, ...]
    parts: int

    @classmethod
    def of(cls, entry: Event, answer: bytes) -> Stored:
        """Read an answer."""
        parts = sorted(_decoded(answer), key=_order)
        alike: dict[object, list[Release]] = {}
        for part in parts:
            alike.setdefault((part.keys, _noted(part, _ASKED)), []).append(part)
        if len(alike) == 1 and entry.loss is not None:
            return cls(entry, (_joined(parts, entry.loss),), len(parts))
        blocks = [
            _joined(several, accounting.compose([part.cost for part in several]))
            if len(several) > 1
            else several[0]
            for several in alike.values()
        ]
        return cls(entry, tuple(blocks), len(parts))


def in_words(block: Release) -> str:
    """Say what was measured, by what, and of which rows; as far as its notes tell."""
    found = [note.partition(_VALUE) for note in block.notes if _VALUE in note]
    told = [what for before, _, what in found if re.fullmatch(r"(part [0-9]+: )?", before)]
    said = "; ".join(told) or ", ".join(block)
    by = ", ".join(name for name, _ in block.keys)
    steps = [f", {step}" for step in _noted(block, _ASKED).split("; ")[1:]]
    text = "".join([said[:1].upper(), said[1:], f" by {by}" if by else "", *steps])
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _decoded(stored: bytes) -> list[Release]:
    try:
        found = decode(stored)
    except CodecError:
        return []  # stored by a program of its own, for itself
    return [r for r in found if isinstance(r, Release)] if isinstance(found, tuple) else []


def _noted(release: Release, start: str) -> str:
    return next((note for note in release.notes if note.startswith(start)), "")


def _order(part: Release) -> Order:
    table, _, rows = _noted(part, _ASKED).partition("; ")
    groups = tuple(name for name, _ in part.keys)
    return table, len(groups), groups, _by_number(rows), _by_number(_noted(part, _VALUE))


def _by_number(text: str) -> Order:
    """Return what orders texts with numbers in them by these: 9 before 10."""
    pieces = _NUMBER.split(text)
    pieces[1::2] = [number.lstrip("0") for number in pieces[1::2]]
    return tuple((len(p), p) if place % 2 else p for place, p in enumerate(pieces))


def _joined(parts: Sequence[Release], loss: Loss) -> Release:
    """Put parts with the same cells side by side."""
    measures = [measure for part in parts for measure in part.measures]
    names = [measure.name for measure in measures]
    notes = list(parts[0].notes)
    if len(set(names)) < len(names):
        measures = [replace(m, name=f"part {i}") for i, m in enumerate(measures, 1)]
        notes = [note for note in notes if all(note in part.notes for part in parts)]
        for i, part in enumerate(parts, 1):
            notes += [f"part {i}: {note}" for note in part.notes if note not in notes]
    return replace(
        parts[0],
        measures=tuple(measures),
        cost=loss,
        price=accounting.price(loss),
        notes=tuple(notes),
        noisy=tuple(draw for part in parts for draw in part.noisy),
    )
