"""What was measured: noisy whole numbers as they were drawn, by which answers know their parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codec import canonical
from sfumato.core.errors import InputError
from sfumato.core.number import is_integer
from sfumato.release.error import Noise
from sfumato.release.measure import is_unicode

Ints: TypeAlias = NDArray[Any]  # int64, or Python's integers where those do not suffice


@canonical
@dataclass(frozen=True, slots=True)
class Noisy:
    """One draw: whole numbers, each with integer noise of its own. Public, as every release is.

    Two draws of the same id are the same draw, with the same noise in the same cells; draws of
    different ids are independent. A ledger's receipt and the place within its entry make an id.

    Attributes:
        id: which draw it is.
        noise: family and scale of the noise, in steps.
        values: the noisy whole numbers.
        cells: which cells of the draw these are; None for all, in order.
        count: whether the exact numbers count rows, each row in one cell at most. Then they are not
            negative, and a cell over the total is a share.

    Example:
        >>> Noisy("entry 7, part 0", Noise("laplace", 2), (614, 301)).at(np.array([1, 0, 1]))
        array([301, 614, 301])
    """

    id: str
    noise: Noise
    values: tuple[int, ...]
    cells: tuple[int, ...] | None = None
    count: bool = False

    def __post_init__(self) -> None:
        """Check the parts."""
        if not isinstance(self.id, str) or not self.id or not is_unicode(self.id):
            raise InputError("a draw is known by its id: a text that is not empty.")
        if not isinstance(self.noise, Noise):
            raise InputError("a draw needs the law of its noise. Pass Noise('laplace', scale).")
        if not isinstance(self.count, bool):
            raise InputError("count= says whether the draw counts rows: True or False.")
        object.__setattr__(self, "values", _whole(self.values))
        if self.cells is None:
            return
        object.__setattr__(self, "cells", _whole(self.cells))
        cells = np.array(self.cells, np.int64)
        if cells.size != len(self.values) or (cells < 0).any() or (np.diff(cells) <= 0).any():
            raise InputError("the cells of a draw are numbered upwards, one number for each value.")

    def at(self, cells: NDArray[np.int64]) -> Ints:
        """Return the noisy numbers in these cells of the draw.

        Raises:
            InputError: it does not have them all.
        """
        held = _array(self.values)
        place = cells
        if self.cells is not None:
            known = np.array(self.cells, np.int64)
            place = np.searchsorted(known, cells)
            missing = (place >= known.size) | (known[np.minimum(place, known.size - 1)] != cells)
        else:
            missing = (cells < 0) | (cells >= held.size)
        if missing.any():
            raise InputError(
                "a measure is made of cells that its draw does not have. Build the form for as "
                "many cells as were measured."
            )
        return np.asarray(held[place])

    def kept(self, cells: NDArray[np.int64]) -> Noisy:
        """Return the same draw with these cells only, if that is much less."""
        chosen = np.zeros(int(cells.max(initial=-1)) + 1, np.bool_)
        chosen[cells] = True
        wanted = np.flatnonzero(chosen)
        if 2 * wanted.size >= len(self.values):
            return self
        return replace(self, values=tuple(self.at(wanted).tolist()), cells=tuple(wanted.tolist()))

    def joined(self, other: Noisy) -> Noisy:
        """Return the draw with the cells that either of two copies of it holds.

        Raises:
            InputError: they are not copies of one draw.
        """
        if other is self or other == self:
            return self
        if (self.id, self.noise, self.count) != (other.id, other.noise, other.count):
            raise InputError(
                "two draws have one id and different noise, so one of them was edited. Load the "
                "releases again from where they were stored."
            )
        if self.cells is None or other.cells is None:
            whole, part = (self, other) if self.cells is None else (other, self)
            there = np.arange(len(part.values)) if part.cells is None else np.array(part.cells)
            if tuple(whole.at(there).tolist()) == part.values:
                return whole
        else:
            cells = dict(zip(self.cells, self.values, strict=True))
            more = dict(zip(other.cells, other.values, strict=True))
            if all(cells.get(cell, value) == value for cell, value in more.items()):
                both = sorted((cells | more).items())
                return replace(
                    self, values=tuple(v for _, v in both), cells=tuple(c for c, _ in both)
                )
        raise InputError(
            "two draws have one id and different values, so one of them was edited. Load the "
            "releases again from where they were stored."
        )


def _whole(given: Iterable[Any]) -> tuple[int, ...]:
    values = tuple(given.tolist() if isinstance(given, np.ndarray) else given)
    if set(map(type, values)) <= {int}:
        return values
    if not all(is_integer(value) for value in values):
        raise InputError("a draw holds whole numbers: noise is added to nothing else.")
    return tuple(int(value) for value in values)


def _array(values: tuple[int, ...]) -> Ints:
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return np.array(values, np.object_)
