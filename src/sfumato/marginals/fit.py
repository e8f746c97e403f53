"""From readings to any marginal: least squares, part by part, with exact variances.

The exact marginal B is the sum, over the sets A within it, of the effect of A spread evenly over
the other columns. Effects of different sets are orthogonal, so each is estimated by itself, from
all readings that tell of it, weighted by their precision. Theory: docs/theory/residuals.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod

import numpy as np

from sfumato.marginals.basis import Basis, Floats, lift
from sfumato.marginals.closure import subsets
from sfumato.marginals.domain import Attribute, Places
from sfumato.marginals.reading import Reading
from sfumato.marginals.tail import gaussian_reach, laplace_reach
from sfumato.release import law

_NEXT_TO_NOTHING = 1e-200  # the variance of noise that is 0, but for a chance of e^-500

Rows = Mapping[int, Floats]  # for some columns, weights of their values: a row for each question


class Fit:
    """Estimates of all effects that readings tell of."""

    def __init__(self, attributes: Sequence[Attribute], readings: Sequence[Reading]) -> None:
        """Find which readings tell of which effects."""
        self._attributes = tuple(attributes)
        self.readings = tuple(readings)
        self._effects: dict[Places, Floats] = {}

    @cached_property
    def _told(self) -> dict[Places, list[tuple[Reading, float]]]:
        """The readings of each effect, and how much each counts: by its precision."""
        found: dict[Places, list[tuple[Reading, float]]] = {}
        for reading in self.readings:
            free = self._free(reading.places)
            for part in [free] if reading.kind == "residual" else subsets(free):
                spread = law.variance(reading.noise) * self._evenly(reading, part)
                found.setdefault(part, []).append((reading, 1 / max(spread, _NEXT_TO_NOTHING)))
        return {
            part: [(reading, each / sum(w for _, w in told)) for reading, each in told]
            for part, told in found.items()
        }

    def covers(self, places: Places) -> bool:
        """Say whether a marginal can be told from the readings."""
        free = self._free(places)
        return len(free) <= 20 and all(part in self._told for part in subsets(free))

    def marginal(self, places: Places) -> Floats:
        """Return the estimate of each cell, with an axis for each column."""
        made = np.zeros([self._attributes[i].size for i in places])
        for part in subsets(self._free(places)):
            others = [i for i in places if i not in part]
            effect = self.effect(part) / prod(self._attributes[i].size for i in others)
            made += np.expand_dims(effect, tuple(places.index(i) for i in others))
        return made

    def asked(self, rows: Rows) -> Floats:
        """Return the estimate of each product of weights, with an axis for each column."""
        made = self.marginal(tuple(rows))
        for axis, weights in enumerate(rows.values()):
            made = np.moveaxis(np.tensordot(weights, made, axes=(1, axis)), 0, axis)
        return made

    def effect(self, part: Places) -> Floats:
        """Return the estimate of what a marginal tells beyond its own marginals."""
        if part not in self._effects:
            told = self._told[part]
            self._effects[part] = sum(
                (share * self._seen(reading, part) for reading, share in told),
                np.zeros([self._attributes[i].size for i in part]),
            )
        return self._effects[part]

    def evenness(self, part: Places) -> float:
        """Return the variance of an effect in each direction; of uneven ones, the mean."""
        return sum(
            share**2 * law.variance(reading.noise) * self._evenly(reading, part)
            for reading, share in self._told[part]
        )

    def variance(self, places: Places, rows: Rows | None = None, more: float = 0.0) -> Floats:
        """Return the variance of each cell, or of each product of weights.

        Args:
            places: the columns of the marginal.
            rows: weights of the values of each column; each value by itself, if not given.
            more: what is added to the variance of each noise.
        """
        return self._summed(places, rows, more)[0]

    def halfwidth(self, places: Places, alpha: float, rows: Rows | None = None) -> Floats:
        """Return how far each estimate lies from the exact one, but for a chance of `alpha`."""
        if all(reading.noise.kind == "gaussian" for reading in self.readings):
            return gaussian_reach(*self._summed(places, rows, 0.5), alpha)  # as law.peaked
        if rows is None:  # every cell has the same weights, in another order
            first = {i: np.eye(1, self._attributes[i].size) for i in places}
            width = self._laplace(first, alpha)
            return np.full([self._attributes[i].size for i in places], width)
        shape = [len(rows[i]) for i in places]
        made = np.empty(shape)
        for at in np.ndindex(*shape):
            made[at] = self._laplace(
                {i: rows[i][[k]] for i, k in zip(places, at, strict=True)}, alpha
            )
        return made

    def _summed(self, places: Places, rows: Rows | None, more: float) -> tuple[Floats, Floats]:
        """Return Σ weight²·variance and, at most, Σ |weight| over all noises, cell by cell."""
        squares = np.zeros([1] * len(places))
        sizes = np.zeros([1] * len(places))
        free = self._free(places)
        for part in subsets(free):
            for reading, share in self._told[part]:
                across = self._across(reading, part)
                spread = (law.variance(reading.noise) + more) * share**2 * across
                a, b = (
                    np.full([1] * len(places), spread),
                    np.full([1] * len(places), share * across),
                )
                for axis, i in enumerate(places):
                    two, one = self._seen_by(
                        i, reading, None if rows is None else rows[i], i in part
                    )
                    shape = [-1 if k == axis else 1 for k in range(len(places))]
                    a, b = a * two.reshape(shape), b * one.reshape(shape)
                squares, sizes = squares + a, sizes + b
        return squares, sizes

    def _seen_by(
        self, i: int, reading: Reading, rows: Floats | None, inside: bool
    ) -> tuple[Floats, Floats]:
        """Return the squares and sizes of one column's weights, as they meet the noise."""
        size = self._attributes[i].size
        if not inside:
            mean = np.full(size, 1 / size) if rows is None else rows.mean(axis=1)
            return mean**2, np.abs(mean)
        if reading.kind == "residual":
            return lift(self._basis(i)).weights(rows)
        if rows is None:
            return np.full(size, 1 - 1 / size), np.full(size, 2 - 2 / size)
        centered = rows - rows.mean(axis=1, keepdims=True)
        return (centered**2).sum(axis=1), np.abs(centered).sum(axis=1)

    def _laplace(self, rows: Rows, alpha: float) -> float:
        """Return the half-width of one sum from the weights of all its noises."""
        held = []
        for reading in self.readings:
            weights = self._weights(reading, rows)
            if weights is not None:
                others = [i for i in reading.places if i not in rows]
                often = prod(self._attributes[i].size for i in others)
                held.append((reading.noise, weights, often))
        return laplace_reach(held, alpha)

    def _weights(self, reading: Reading, rows: Rows) -> Floats | None:
        """Return the weights of a reading's numbers in one sum; over columns that the sum has."""
        means = {i: float(weights.mean()) for i, weights in rows.items()}
        if reading.kind == "residual":
            if not set(reading.places) <= set(rows):
                return None
            share = self._share(reading, self._free(reading.places))
            made = np.full(1, share * prod(m for i, m in means.items() if i not in reading.places))
            for i in reading.places:
                made = np.multiply.outer(made, lift(self._basis(i)).through(rows[i])[0])
            return made
        shared = tuple(i for i in reading.places if i in rows)
        made = np.zeros([self._attributes[i].size for i in shared])
        for part in subsets(self._free(shared)):
            term = np.full(
                [1] * len(shared),
                self._share(reading, part) * prod(m for i, m in means.items() if i not in part),
            )
            for axis, i in enumerate(shared):
                if i in part:
                    shape = [-1 if k == axis else 1 for k in range(len(shared))]
                    term = term * (rows[i][0] - means[i]).reshape(shape)
            made = made + term
        return made

    def _share(self, reading: Reading, part: Places) -> float:
        return next((share for told, share in self._told.get(part, ()) if told is reading), 0.0)

    def _seen(self, reading: Reading, part: Places) -> Floats:
        """Return an effect as one reading has it."""
        if reading.kind == "residual":
            matrices = [self._basis(i) for i in part]
            made = reading.numbers.reshape([matrix.rows for matrix in matrices]).astype(np.float64)
            for axis, matrix in enumerate(matrices):
                made = lift(matrix).apply(made, axis)
            return made
        shape = [self._attributes[i].size for i in reading.places]
        others = tuple(k for k, i in enumerate(reading.places) if i not in part)
        made = reading.numbers.reshape(shape).sum(axis=others, dtype=np.float64)
        for axis in range(len(part)):
            made = made - made.mean(axis=axis, keepdims=True)
        return np.asarray(made)

    def _across(self, reading: Reading, part: Places) -> int:
        """Return how many of a reading's numbers are added up for a cell of an effect."""
        if reading.kind == "residual":
            return 1
        return prod(self._attributes[i].size for i in reading.places if i not in part)

    def _evenly(self, reading: Reading, part: Places) -> float:
        """Return how much of its noise a reading puts into each direction of an effect."""
        if reading.kind == "marginal":
            return self._across(reading, part)
        squares = (lift(self._basis(i)).weights(None)[0].sum() for i in part)
        return prod(
            float(s) / (self._attributes[i].size - 1) for s, i in zip(squares, part, strict=True)
        )

    def _free(self, places: Places) -> Places:
        """Return the columns that have more than one value."""
        return tuple(i for i in places if self._attributes[i].size > 1)

    def _basis(self, i: int) -> Basis:
        matrix = self._attributes[i].matrix
        if matrix is None:
            raise KeyError(i)
        return matrix
