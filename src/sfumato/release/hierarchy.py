"""Totals of one table by several groupings: the likeliest numbers that add up, and their noise.

Every grouping sums the same exact table over the columns that it leaves out, and was measured with
independent noise. Least squares over all of them has a closed form on a table of all combinations,
because noise that is alike in all cells of a grouping splits into parts that do not mix; see
docs/theory/grouping-sets.md. All is done in whole numbers, so that the result adds up exactly.

Parts that the same groupings know of are treated alike, and are taken together: one part for each
of what groupings have in common, and not one for each set of columns, of which there are 2^k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release.error import Noise
from sfumato.release.noisy import Ints

Columns: TypeAlias = tuple[int, ...]  # some columns of the table, as increasing places
Law: TypeAlias = tuple[tuple[Noise, Fraction, int], ...]  # noise, weight, how many such there are

PARTS = 64  # of a share: what a measurement counts is rounded to such, and left out below one
MOST_PARTS = 256  # of a hierarchy: beyond, it takes too long after it is paid for
MOST_COLUMNS = 32  # axes of an array
_FITS = 2**62


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Groupings of one table.

    Attributes:
        sizes: how many values each column of the table has.
        sets: the columns of each grouping; each grouping once.
    """

    sizes: tuple[int, ...]
    sets: tuple[Columns, ...]

    def __post_init__(self) -> None:
        """Check that the columns exist, in order, and that no grouping comes twice."""
        places = range(len(self.sizes))
        ordered = all(one == tuple(c for c in places if c in one) for one in self.sets)
        if not self.sets or not ordered or len(set(self.sets)) < len(self.sets):
            raise InputError("a hierarchy has groupings by increasing columns, each once.")
        if any(size < 1 for size in self.sizes):
            raise InputError("a column without values has no groups.")
        if len(self.sizes) > MOST_COLUMNS or len(self.joined) > MOST_PARTS:
            raise InputError(
                f"{len(self.sets)} groupings by {len(self.sizes)} columns have too much in common "
                f"to be made to add up: there are up to {MOST_PARTS} combinations of what they "
                f"share, of {MOST_COLUMNS} columns. Ask fewer groupings at a time."
            )

    def cells(self, columns: Sequence[int]) -> int:
        """Count the groups by some columns."""
        return prod(self.sizes[c] for c in columns)

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Return the shape of a grouping as a table of all columns: 1 where one is left out."""
        return tuple(n if c in columns else 1 for c, n in enumerate(self.sizes))

    @property
    def common(self) -> tuple[Columns, ...]:
        """The groupings, and what any of them have in common, fewest columns first."""
        return _closed(self.sets, frozenset.intersection)

    @property
    def joined(self) -> tuple[Columns, ...]:
        """The columns of any of `common` together, fewest columns first."""
        return _closed(self.common, frozenset.union)

    @property
    def parents(self) -> dict[Columns, Columns | None] | None:
        """For each of `common`, the next coarser one; None if these do not make a tree.

        In a tree, whatever two groupings both imply is implied by one above both, so that whole
        numbers which add up to those of the parent add up everywhere.
        """
        common = self.common
        found: dict[Columns, Columns | None] = {}
        for one in common:
            coarser = [part for part in common if set(part) < set(one)]
            largest = max(coarser, key=len, default=None)
            if any(not set(part) <= set(largest or ()) for part in coarser):
                return None
            found[one] = largest
        return found

    def variances(self, noise: Sequence[float]) -> list[float]:
        """Return the variance of each grouping's cells after least squares, given their noise's."""
        found = {}
        for part, signs in _signs(self.common).items():
            free = sum(sign * self.cells(below) for below, sign in signs.items())
            pairs = zip(self.sets, noise, strict=True)
            known = sum(1 / (v * self.cells(one)) for one, v in pairs if _within(part, one))
            found[part] = free / known
        return [
            sum(each for part, each in found.items() if _within(part, one)) / self.cells(one) ** 2
            for one in self.sets
        ]


@dataclass(frozen=True, slots=True)
class Compromise:
    """How much each measurement counts in each part of the numbers that add up.

    Attributes:
        hierarchy: the groupings.
        shares: for each of `hierarchy.common`, the places of the groupings that say something of
            it, and how many of `PARTS` each counts.
    """

    hierarchy: Hierarchy
    shares: Mapping[Columns, tuple[tuple[int, int], ...]]

    @classmethod
    def of(cls, hierarchy: Hierarchy, variances: Sequence[float]) -> Compromise:
        """Weigh measurements by the variance of what they say.

        That of a total which adds up m cells of variance v is m·v. Rounded to `PARTS`, so that the
        numbers are the same on machines whose floats are not; any such weights are unbiased.

        Args:
            hierarchy: the groupings.
            variances: of the noise in one cell of each grouping, in order.
        """
        shares = {}
        for part in hierarchy.common:
            says = {
                place: 1 / max(v * hierarchy.cells(_without(one, part)), 1e-300)
                for place, (one, v) in enumerate(zip(hierarchy.sets, variances, strict=True))
                if _within(part, one)
            }
            whole = sum(says.values())
            parts = {place: int(PARTS * weight / whole) for place, weight in says.items()}
            best = max(says, key=lambda place: says[place])
            parts[best] += PARTS - sum(parts.values())
            shares[part] = tuple((place, n) for place, n in parts.items() if n)
        return cls(hierarchy, shares)

    def over(self, columns: Columns) -> int:
        """Return what the whole numbers that `fitted` gives for a grouping are divided by."""
        return PARTS * self.hierarchy.cells(columns)

    def fitted(self, tables: Sequence[Ints]) -> dict[Columns, Ints]:
        """Return the numbers that add up, as whole numbers over `over`, of all of `common`.

        Args:
            tables: the noisy whole numbers of each grouping, of the shape that `shape` says.
        """
        hierarchy = self.hierarchy
        signs = _signs(hierarchy.common)
        most = max(sum(map(abs, map(int, (t.min(), t.max())))) * t.size for t in tables)
        terms = sum(abs(sign) for below in signs.values() for sign in below.values())
        if most * PARTS * prod(hierarchy.sizes) * terms >= _FITS:
            tables = [table.astype(np.object_) for table in tables]
        effects: dict[Columns, Ints] = {}
        for part, shares in self.shares.items():
            total: Ints = np.zeros(hierarchy.shape(part), np.int64)
            for place, weight in shares:
                total = total + weight * _summed(tables[place], hierarchy.sets[place], part)
            # What is left of the total when all that coarser parts say of it is taken out.
            effect = np.zeros(total.shape, tables[0].dtype)
            for below, sign in signs[part].items():
                effect = effect + sign * hierarchy.cells(below) * _summed(total, part, below)
            effects[part] = effect
        found = {}
        for one in hierarchy.common:
            table = np.zeros(hierarchy.shape(one), tables[0].dtype)
            for part, effect in effects.items():
                if _within(part, one):
                    table = table + effect
            found[one] = table
        return found

    def rounded(self, fitted: Mapping[Columns, Ints]) -> dict[Columns, Ints] | None:
        """Round to whole numbers that still add up, each by less than 1 or by 1; None if no tree.

        From the coarsest down: each total is divided among its parts, whole parts first, then one
        each for the largest remainders.
        """
        parents = self.hierarchy.parents
        if parents is None:
            return None
        found: dict[Columns, Ints] = {}
        for one, parent in parents.items():
            over, exact = self.over(one), fitted[one]
            if parent is None:  # to the nearest
                found[one] = np.asarray((2 * exact + over) // (2 * over))
                continue
            found[one] = self._divided(exact, over, found[parent], parent)
        return found

    def _divided(self, exact: Ints, over: int, totals: Ints, parent: Columns) -> Ints:
        """Divide each total among the cells below it."""
        axes = (*parent, *(c for c in range(exact.ndim) if c not in parent))
        turned = exact.transpose(axes)
        rows = turned.reshape(totals.size, -1)
        floors = rows // over
        order = np.argsort(-(rows - floors * over), axis=1, kind="stable")
        rank = np.empty(order.shape, np.int64)
        np.put_along_axis(rank, order, np.arange(rows.shape[1])[None, :], axis=1)
        missing = totals.transpose(axes).reshape(-1, 1) - floors.sum(axis=1, keepdims=True)
        shown = floors + (rank < missing)
        return np.asarray(shown.reshape(turned.shape).transpose(np.argsort(axes)))

    def law(self, columns: Columns, noises: Sequence[Noise]) -> Law:
        """Return the noise of every cell of a grouping: the same for all, by symmetry.

        What a cell of one grouping counts in a cell of another depends on the columns in which both
        agree, and nothing else.

        Args:
            columns: the grouping, one of `common`.
            noises: of one cell of each grouping, in order.
        """
        hierarchy, over = self.hierarchy, self.over(columns)
        found: dict[tuple[Noise, Fraction], int] = {}
        for place, (one, noise) in enumerate(zip(hierarchy.sets, noises, strict=True)):
            both = tuple(c for c in columns if c in one)
            outside = hierarchy.cells(_without(one, both))
            for weight, often in self._weights(place, both):
                if weight and often:
                    key = noise, Fraction(abs(weight), over)
                    found[key] = found.get(key, 0) + often * outside
        return tuple((noise, weight, times) for (noise, weight), times in found.items())

    def _weights(self, place: int, both: Columns) -> list[tuple[int, int]]:
        """Return what cells of a grouping count, and how many count so.

        What a cell counts depends on which of `common` it agrees in, which is one of `joined`: the
        columns of all of those together. Cells that agree in none count nothing.
        """
        hierarchy = self.hierarchy
        counts: dict[Columns, int] = {}
        for part, signs in _signs(hierarchy.common).items():
            share = dict(self.shares[part]).get(place, 0) if _within(part, both) else 0
            for below, sign in signs.items() if share else ():
                counts[below] = counts.get(below, 0) + sign * hierarchy.cells(below) * share
        times: dict[Columns, int] = {}
        for same in reversed(hierarchy.joined):  # those that agree in more are counted already
            if _within(same, both):
                more = sum(often for other, often in times.items() if _within(same, other))
                times[same] = hierarchy.cells(_without(both, same)) - more
        return [
            (sum(each for below, each in counts.items() if _within(below, same)), often)
            for same, often in times.items()
        ]


@lru_cache(maxsize=64)
def _signs(common: tuple[Columns, ...]) -> dict[Columns, dict[Columns, int]]:
    """Return how often each coarser one is added to one of `common` so that nothing of it is left.

    Möbius' function of the order: over all that is between two different ones it sums to 0.
    """
    found: dict[Columns, dict[Columns, int]] = {}
    for part in common:
        signs = {part: 1}
        for below in reversed(common):
            if below != part and _within(below, part):
                sign = -sum(each for other, each in signs.items() if _within(below, other))
                if sign:
                    signs[below] = sign
        found[part] = signs
    return found


@lru_cache(maxsize=64)
def _closed(
    sets: tuple[Columns, ...], combine: Callable[[frozenset[int], frozenset[int]], frozenset[int]]
) -> tuple[Columns, ...]:
    """Return sets and all that can be combined of them, smallest first; few more than allowed."""
    found: set[frozenset[int]] = set()
    for one in map(frozenset, sets):
        found |= {one, *(combine(one, other) for other in found)}
        if len(found) > MOST_PARTS:
            break
    return tuple(sorted((tuple(sorted(one)) for one in found), key=lambda one: (len(one), one)))


def _summed(table: Ints, columns: Columns, part: Columns) -> Ints:
    """Sum a table over the columns that a part of it leaves out."""
    rest = _without(columns, part)
    return np.asarray(table.sum(axis=rest, keepdims=True)) if rest else table


def _within(part: Iterable[int], columns: Iterable[int]) -> bool:
    return set(part) <= set(columns)


def _without(columns: Columns, part: Sequence[int]) -> Columns:
    return tuple(c for c in columns if c not in part)
