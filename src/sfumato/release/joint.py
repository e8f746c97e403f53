"""Numerator and denominator of a quotient, cell by cell: which noise they have in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.release.error import Noise
from sfumato.release.linear import Linear
from sfumato.release.noisy import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The cells of each row with their weights above and below.

    Attributes:
        size: how many rows.
        row: of each entry, in order.
        above: the entry's weight in the numerator, in units of the numerator's 1/over.
        below: its weight in the denominator.
        law: the place of its noise in `laws`.
        laws: the different noises.
        common: where one denominator goes with all rows: how often each weight comes in it, by
            noise and size. Then only those of its cells are listed that the row has above, too.
    """

    size: int
    row: NDArray[np.int64]
    above: Ints
    below: Ints
    law: NDArray[np.int64]
    laws: list[Noise]
    common: dict[tuple[Noise, int], int]

    @classmethod
    def of(cls, top: Linear, bottom: Linear | None) -> Joint:
        """Match the cells; without a denominator, there is nothing below."""
        if bottom is None:
            none = np.zeros(top.row.size, np.int64)
            laws, law = _laws([part.noise for part in top.parts], top.part)
            return cls(top.size, top.row, top.weight, none, law, laws, {})
        draws = {part.id: part for part in (*top.parts, *bottom.parts)}
        ids = sorted(draws)
        shared = bottom.size == 1 and top.size > 1
        columns = []
        for each in (top, bottom):
            rows = np.zeros(each.row.size, np.int64) if shared else each.row
            part = np.array([ids.index(p.id) for p in each.parts], np.int64)[each.part]
            columns.append(np.column_stack((rows, part, each.cell)))
        x, y = columns
        places = _places(np.concatenate(columns))
        x_at, y_at = places[: len(x)], places[len(x) :]
        noises = [draws[i].noise for i in ids]
        if shared:
            place = _found(y_at, x_at)
            weights = np.append(bottom.weight, 0)  # the last for what is not there
            laws, law = _laws(noises, x[:, 1])
            common: Counter[tuple[Noise, int]] = Counter()
            for i, noise in enumerate(noises):
                held = np.sort(np.abs(bottom.weight[y[:, 1] == i]))
                cuts = np.flatnonzero(held[1:] != held[:-1]) + 1
                for start, stop in pairwise([0, *cuts.tolist(), held.size] if held.size else []):
                    common[noise, int(held[start])] += stop - start
            return cls(top.size, top.row, top.weight, weights[place], law, laws, dict(common))
        at, first = np.unique(places, return_index=True)
        above = np.zeros(at.size, top.weight.dtype)
        below = np.zeros(at.size, bottom.weight.dtype)
        above[np.searchsorted(at, x_at)] = top.weight
        below[np.searchsorted(at, y_at)] = bottom.weight
        entries = np.concatenate(columns)[first]
        laws, law = _laws(noises, entries[:, 1])
        return cls(top.size, entries[:, 0], above, below, law, laws, {})

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where the entries of each row begin, and where the last ends."""
        return np.searchsorted(self.row, np.arange(self.size + 1))


def _laws(noises: list[Noise], part: NDArray[np.int64]) -> tuple[list[Noise], NDArray[np.int64]]:
    """Return the different noises, and which of them each entry has."""
    laws = list(dict.fromkeys(noises))
    return laws, np.array([laws.index(noise) for noise in noises], np.int64)[part]


def _places(entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number (row, part, cell) so that equal ones have equal numbers, in order."""
    if not len(entries):
        return np.empty(0, np.int64)
    parts, cells = (int(entries[:, i].max()) + 1 for i in (1, 2))
    if (int(entries[:, 0].max()) + 1) * parts * cells < 2**62:
        return np.asarray((entries[:, 0] * parts + entries[:, 1]) * cells + entries[:, 2])
    _, place = np.unique(entries, axis=0, return_inverse=True)
    return np.asarray(place, np.int64).reshape(-1)


def _found(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each is among sorted numbers, or −1."""
    if not known.size:
        return np.full(wanted.shape, -1)
    place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[place] == wanted, place, -1)
