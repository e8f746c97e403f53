"""Cells added up: totals, shares of them, and coarser keys, with exact weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import InputError, KeysError, UnknownName
from sfumato.core.number import Exactable, exact
from sfumato.release.derived import column, formula, formulas, parts_of, rebuilt, totals
from sfumato.release.format import printable
from sfumato.release.formula import Formula
from sfumato.release.key import key_columns

if TYPE_CHECKING:
    from sfumato.release.measure import Measure
    from sfumato.release.noisy import Noisy
    from sfumato.release.release import Release

_SHOWN = 3
_NOTHING = "a total of no groups, since the answer shows none: it says nothing about the rows"


def share(release: Release, name: str, into: str | None = None) -> Release:
    """Add the share of each cell in the total of all cells."""
    made = formula(release, name)
    if made.bottom is not None:
        raise InputError(
            f"{name!r} is a mean or a quotient, and such do not add up to a whole. Take shares of "
            f"counts or sums."
        )
    if not made.size:
        raise InputError("an answer without cells has no total. Ask with keys.")
    total = totals(made)
    if total.is_exact:
        raise InputError(f"{name!r} is exact, or cancels out: its shares need no interval.")
    found = made.over(Formula(total, origins=made.origins))
    if found.bottom is not None and made.top.is_count:
        found = found.within(Fraction(0), Fraction(1))
    title = into or f"{name}_share"
    note = f"{printable(title)} = {printable(name)} over its total in this answer; computed, free"
    return rebuilt(release, (*release.measures, column(release, found, title)), notes=[note])


def total(release: Release, names: Iterable[str] = ()) -> Release:
    """Add up all cells of weighted sums."""
    measures: list[Measure] = []
    draws: list[Noisy] = []
    for name, made in formulas(release, names).items():
        if made.bottom is not None:
            found = replace(made, **_pooled(made, np.zeros(made.size, np.int64), 1, None), keys=())
        else:
            found = Formula(totals(made), origins=made.origins)
        measures.append(column(release, found, name))
        draws += parts_of(found)
    note = "added up over all cells of the answer; computed, free"
    if not len(release):
        note = _NOTHING
    return rebuilt(release, measures, keys=(), draws=draws, notes=[note])


def roll_up(
    release: Release,
    name: str,
    into: Mapping[Any, Any] | None = None,
    weights: Mapping[Any, Exactable] | None = None,
    names: Iterable[str] = (),
) -> Release:
    """Put keys of one column together; sums add up, means are pooled over their counts.

    Args:
        release: what to add up.
        name: the key column.
        into: for each key what it becomes; without it the column is dropped.
        weights: for each key what its cells count; 1 if not given.
        names: which measures; all if not given.

    Raises:
        UnknownName: there is no such key column.
        KeysError: a key is not mapped, or has no weight.
        InputError: a measure does not say what it is made of.
    """
    columns = dict(release.keys)
    if not isinstance(into, Mapping | None) or not isinstance(weights, Mapping | None):
        raise InputError(
            "roll_up takes for each key what it becomes, and what its cells count, as in "
            "roll_up('zone', {'A': 'north', 'B': 'north'}, weights={'A': 1, 'B': '1/2'})."
        )
    if not isinstance(name, str) or name not in columns:
        raise UnknownName(f"no key column {name!r}; there are: {', '.join(columns) or 'none'}.")
    values = columns[name]
    times: list[Fraction] | None = None
    if weights is not None:
        held = {key: exact(weight, "a weight") for key, weight in weights.items()}
        times = [held[key] for key in _all_in(values, held, "weights", name)]
    others = [(title, cells) for title, cells in release.keys if title != name]
    if into is not None:
        mapped = [into[key] for key in _all_in(values, into, "keys", name)]
        place = [title for title, _ in release.keys].index(name)
        others.insert(place, (name, tuple(mapped)))
    keyed = key_columns(others)
    coarse = list(zip(*(cells for _, cells in keyed), strict=True)) if keyed else [()] * len(values)
    at = {key: i for i, key in enumerate(dict.fromkeys(coarse))}
    group = np.array([at[key] for key in coarse], np.int64)
    keys = tuple((title, tuple(key[i] for key in at)) for i, (title, _) in enumerate(keyed))
    size = len(at) if keys else 1
    measures: list[Measure] = []
    draws: list[Noisy] = []
    for title, made in formulas(release, names).items():
        if made.bottom is None:
            found = Formula(made.top.rolled(group, size, times), keys=keys, origins=made.origins)
        else:
            found = replace(made, **_pooled(made, group, size, times), keys=keys)
        measures.append(column(release, found, title))
        draws += parts_of(found)
    what = "weighted and added up" if weights is not None else "added up"
    note = f"{what} over {printable(name)}; means are pooled over their counts; computed, free"
    if not len(release):
        note = _NOTHING
    return rebuilt(release, measures, keys=keys, draws=draws, notes=[note])


def _pooled(
    made: Formula, group: np.ndarray[Any, Any], size: int, times: list[Fraction] | None
) -> dict[str, Any]:
    """Return numerator and denominator added up: the mean of what was put together."""
    bottom = made.bottom
    if bottom is not None and bottom.size == made.size:
        bottom = bottom.rolled(group, size, times)
    elif made.offset:
        raise InputError("what has one denominator and an offset in each cell does not add up.")
    return {"top": made.top.rolled(group, size, times), "bottom": bottom}


def _all_in(
    values: tuple[Any, ...], held: Mapping[Any, Any], what: str, name: str
) -> tuple[Any, ...]:
    missing = [key for key in dict.fromkeys(values) if key not in held]
    if missing:
        shown = ", ".join(repr(printable(key)) for key in missing[:_SHOWN])
        raise KeysError(
            f"{len(missing)} of the {what} of {printable(name)!r} are not given, such as {shown}. "
            f"Say for every key of the answer what becomes of it."
        )
    return values
