"""Coins with public odds that are thrown together, in the same steps whatever comes up.

A coin of odds p is a uniform real U, and heads means U < p. One word decides it unless it equals
the first 64 bits of p. All coins of a throw share one spare word for that case: a single coin that
is open goes on with it, by masks, and nobody can tell by the work whether one was. Two open coins
in one throw, or a spare word that leaves the coin open too, take further words and steps; with m
coins that has a probability below m²/2^128.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InternalError
from sfumato.noise.rng import Rng, Words
from sfumato.noise.uniform import WORD, Threshold, below

Heads = NDArray[np.bool_]

_MASK = 2**WORD - 1


class Coins:
    """Coins of different odds, thrown together; up to 127 of them."""

    __slots__ = ("_first", "_odds", "_places", "_second")

    def __init__(self, odds: Sequence[Threshold]) -> None:
        """Compute the first 128 bits of all odds, which lie below 1."""
        self._odds = tuple(odds)
        floors = [floor(each, 2 * WORD) for each in self._odds]
        self._first = np.array([each >> WORD for each in floors], np.uint64)[:, np.newaxis]
        self._second = np.array([each & _MASK for each in floors], np.uint64)
        self._places = np.arange(len(floors), dtype=np.int8)[:, np.newaxis]

    @property
    def words(self) -> int:
        """How many random words one throw takes."""
        return len(self._odds) + 1

    def throw(self, size: int, rng: Rng) -> Heads:
        """Return `size` independent throws: a row for each coin, a column for each throw."""
        words = rng.words(self.words * size).reshape(self.words, size)
        words, spare = words[:-1], words[-1]
        heads: Heads = words < self._first
        tied = words == self._first
        marks = tied.view(np.int8)
        ties = marks.sum(axis=0, dtype=np.int8)
        which = (marks * self._places).sum(axis=0, dtype=np.int8)  # which one, if it is one
        second = self._second.take(which, mode="clip")
        tied &= spare < second
        heads |= tied
        for i in np.flatnonzero((ties > 1) | ((ties == 1) & (spare == second))):
            self._settle(heads[:, i], words[:, i], int(spare[i]), rng)
        return heads

    def _settle(self, heads: Heads, words: Words, spare: int, rng: Rng) -> None:
        """Decide the open coins of one throw; a lone one has the spare word already."""
        tied = np.flatnonzero(words == self._first[:, 0])
        for j in tied:
            prefix, length = int(words[j]), WORD
            if tied.size == 1:
                prefix, length = (prefix << WORD) | spare, 2 * WORD
            heads[j] = below(prefix, length, self._odds[j], rng)


def floor(odds: Threshold, length: int) -> int:
    """Return the first `length` bits of a real below 1, as an integer."""
    for guard in (WORD, 4 * WORD, 16 * WORD):
        low, high = odds(length + guard)
        found = low >> guard
        if high <= (found + 1) << guard:  # the real may be its own floor, and no more than the next
            return found
    raise InternalError("the odds of a coin did not settle; this is a defect, please report it.")
