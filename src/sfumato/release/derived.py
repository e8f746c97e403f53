"""Releases computed from releases: the same price, the same receipt, new columns or rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.release import origin
from sfumato.release.compute import Computed
from sfumato.release.evaluate import measure
from sfumato.release.format import printable
from sfumato.release.formula import Formula
from sfumato.release.linear import Linear
from sfumato.release.opaque import refusal
from sfumato.release.whence import computed, origins_of

if TYPE_CHECKING:
    from sfumato.release.key import KeyColumn
    from sfumato.release.measure import Measure
    from sfumato.release.noisy import Noisy
    from sfumato.release.release import Release

SELECTED = ", before selection"


def formula(release: Release, name: str) -> Formula:
    """Return what a measure is made of.

    Raises:
        InputError: that is not known.
    """
    made = computed(release, name)
    if not isinstance(made, Formula):
        raise refusal(name, [m.name for m in release.measures if m.form is not None])
    return made


def formulas(release: Release, names: Iterable[str] = ()) -> dict[str, Formula]:
    """Return what these measures are made of; by default all, each of which must be known."""
    return {name: formula(release, name) for name in names or tuple(release)}


def column(
    release: Release, made: Computed, name: str, confidence: Fraction | None = None
) -> Measure:
    """Return a computed column."""
    if isinstance(made, Formula):
        mechanism = ", ".join(dict.fromkeys(m.mechanism for m in release.measures if m.mechanism))
        sure = release.confidence if confidence is None else confidence
        return measure(
            made, name, sure, mechanism=f"computed from {mechanism}" if mechanism else ""
        )
    return replace(made.measure, name=name)


def rebuilt(
    release: Release,
    measures: Iterable[Measure],
    *,
    keys: tuple[KeyColumn, ...] | None = None,
    draws: Iterable[Noisy] = (),
    origins: tuple[origin.Origin, ...] | None = None,
    notes: Iterable[str] = (),
    confidence: Fraction | None = None,
) -> Release:
    """Return a release computed from another: what is behind it counts once, and costs no more.

    Args:
        release: what it was computed from.
        measures: its columns.
        keys: of its rows; those of the release if not given.
        draws: further draws that the columns are made of.
        origins: all paid answers behind it, if there are more.
        notes: further notes.
        confidence: of its intervals, if another.
    """
    measures = tuple(measures)
    if any(m.covers.endswith(SELECTED) for m in release.measures):
        measures = tuple(_selected(m) for m in measures)
    known = origins_of(release)
    origins = known if origins is None else origin.united(known, origins)
    held = {draw.id: draw for draw in release.noisy}
    for draw in draws:
        held[draw.id] = held[draw.id].joined(draw) if draw.id in held else draw
    receipts = dict.fromkeys(each.receipt for each in origins if each.receipt is not None)
    return replace(
        release,
        keys=release.keys if keys is None else keys,
        measures=measures,
        confidence=release.confidence if confidence is None else confidence,
        cost=origin.cost(origins),
        price=origin.price(origins),
        notes=tuple(dict.fromkeys((*release.notes, *notes))),
        receipt=", ".join(receipts) if receipts else None,
        durable=bool(receipts) and all(each.durable for each in origins),
        noisy=_used(measures, held),
        origins=origins,
        question=release.question if len(origins) == 1 else "",
    )


def selected(release: Release, names: Iterable[str]) -> Release:
    """Return some measures of a release, without the notes about the others.

    What another note says a measure is made of is still explained.
    """
    kept = rebuilt(release, [release.measure(name) for name in names])
    dropped = {name: f"{printable(name)} " for name in release if name not in set(kept)}
    left = [
        (note, name)
        for name, start in dropped.items()
        for note in kept.notes
        if note.startswith((f"{start}is ", f"{start}= "))
    ]
    notes = [note for note in kept.notes if note not in dict(left)]
    for _ in dropped:  # what is made of what is made of it, and so on
        made = " ".join(note.partition(" = ")[2] for note in notes)
        notes += [
            note
            for note, name in left
            if note not in notes and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", made)
        ]
    return replace(kept, notes=tuple(note for note in kept.notes if note in set(notes)))


def rows(release: Release, chosen: NDArray[np.int64], *, selected: bool) -> Release:
    """Return some rows of a release, in the order given.

    Args:
        release: of which.
        chosen: their places.
        selected: whether noisy values decided it; the intervals then say so.
    """
    places = chosen.tolist()
    if not release.keys:
        raise InputError("a single number has no rows to sort or choose. Group the question first.")
    keys = tuple((name, _picked(values, places)) for name, values in release.keys)
    measures = []
    for m in release.measures:
        low, high = (None if cells is None else _picked(cells, places) for cells in (m.low, m.high))
        values = _picked(m.values, places)
        form = None
        if m.form is not None:
            form = formula(release, m.name).take(chosen, keys).form
        taken = replace(m, values=values, low=low, high=high, form=form)
        measures.append(_selected(taken) if selected else taken)
    return rebuilt(release, measures, keys=keys)


def _selected(measure: Measure) -> Measure:
    """Say of an interval that it holds before noisy values decided what is shown."""
    if not measure.has_interval or measure.covers.endswith(SELECTED):
        return measure
    return replace(measure, covers=measure.covers + SELECTED)


def _picked(cells: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    return tuple(map(cells.__getitem__, places))


def parts_of(made: Computed) -> tuple[Noisy, ...]:
    """Return the draws in what was computed."""
    if not isinstance(made, Formula):
        return ()
    below = () if made.bottom is None else made.bottom.parts
    return (*made.top.parts, *below)


def _used(measures: tuple[Measure, ...], held: dict[str, Noisy]) -> tuple[Noisy, ...]:
    """Return the draws that the measures are made of, without cells that none of them uses."""
    cells: dict[str, list[NDArray[np.int64]]] = {}
    whole: set[str] = set()
    for m in measures:
        for term in () if m.form is None else (*m.form.top, *(m.form.bottom or ())):
            if term.cells is None:
                whole.add(term.part)
            cells.setdefault(term.part, []).append(np.array(term.cells or (), np.int64))
    return tuple(
        held[part] if part in whole else held[part].kept(np.concatenate(found))
        for part, found in sorted(cells.items())
    )


def totals(made: Formula) -> Linear:
    """Add up the rows of a weighted sum."""
    size = made.size
    return made.top.rolled(np.zeros(size, np.int64), 1)
