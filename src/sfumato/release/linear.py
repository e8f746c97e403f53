"""Weighted sums of noisy cells, row by row and exactly: what can be added without losing track."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.release.form import Constant, Term
from sfumato.release.noisy import Ints, Noisy

_FITS = 2**62
_MOST = 50_000_000  # cells of all rows together


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Rows (Σ weight·cell + constant)/over. The same cell of the same draw comes once in a row.

    Attributes:
        size: how many rows.
        parts: the draws, by increasing id.
        row: of each entry, by increasing row, then draw, then cell.
        part: the place of the entry's draw among `parts`.
        cell: the cell of that draw.
        weight: whole numbers, none of them 0.
        constant: a whole number for each row.
        over: what all whole numbers are divided by, above 0.
    """

    size: int
    parts: tuple[Noisy, ...]
    row: NDArray[np.int64]
    part: NDArray[np.int64]
    cell: NDArray[np.int64]
    weight: Ints
    constant: Ints
    over: int

    @classmethod
    def of(
        cls, terms: Iterable[Term], constant: Constant, size: int, draws: Mapping[str, Noisy]
    ) -> Linear:
        """Build the sum that a form stores."""
        terms = tuple(terms)
        levels = constant if isinstance(constant, tuple) else (constant,)
        if len(levels) not in {1, size}:
            raise InputError("a form has one constant, or one for each row.")
        over = lcm(*(each.denominator for each in (*levels, *(t.weight for t in terms))))
        ids = tuple(sorted({t.part for t in terms}))
        every = np.arange(size)
        columns: list[list[Ints]] = [[np.empty(0, np.int64)] for _ in range(4)]
        for term in terms:
            rows = every if term.rows is None else np.array(term.rows, np.int64)
            cells = every if term.cells is None else np.array(term.cells, np.int64)
            if ((rows < 0) | (rows >= size)).any():
                raise InputError("a form has a term in a row that its measure does not have.")
            weight = _ints([int(term.weight * over)])
            place = np.full(rows.size, ids.index(term.part))
            for column, held in zip(
                columns, (rows, place, cells, np.repeat(weight, rows.size)), strict=True
            ):
                column.append(held)
        numerators = _ints([int(level * over) for level in levels])
        chosen = tuple(draws[i] for i in ids)
        row, part, cell, weights = map(np.concatenate, columns)
        level = np.broadcast_to(numerators, size)
        return cls._made(size, chosen, row, part, cell, weights, level, over)

    @classmethod
    def exact(cls, values: Sequence[Fraction]) -> Linear:
        """Return numbers without noise."""
        return cls.of((), tuple(values), len(values), {})

    @classmethod
    def _made(
        cls,
        size: int,
        parts: tuple[Noisy, ...],
        row: Ints,
        part: Ints,
        cell: Ints,
        weight: Ints,
        constant: Ints,
        over: int,
    ) -> Linear:
        """Put entries into order, add up those of one cell, and drop what cancels out."""
        if row.size and not (row[1:] > row[:-1]).all():
            order = _order(row, part, cell)
            row, part, cell, weight = row[order], part[order], cell[order], weight[order]
            new = np.ones(row.size, np.bool_)
            new[1:] = (row[1:] != row[:-1]) | (part[1:] != part[:-1]) | (cell[1:] != cell[:-1])
            if not new.all():
                starts = np.flatnonzero(new)
                most = int(np.diff(np.append(starts, row.size)).max())
                weight = np.add.reduceat(_roomy(weight, most), starts)
                row, part, cell = row[starts], part[starts], cell[starts]
        some = weight != 0
        if not some.all():
            row, part, cell, weight = row[some], part[some], cell[some], weight[some]
        used = np.flatnonzero(np.bincount(part, minlength=1))
        if not part.size:
            used = used[:0]
        return cls(
            size,
            tuple(parts[i] for i in used.tolist()),
            row,
            np.searchsorted(used, part),
            cell,
            weight,
            constant,
            over,
        )

    @property
    def is_exact(self) -> bool:
        """Whether there is no noise in it."""
        return not self.row.size

    @property
    def is_count(self) -> bool:
        """Whether the exact numbers cannot be negative: they add up counts of rows."""
        return bool(
            all(part.count for part in self.parts)
            and (self.weight > 0).all()
            and (self.constant >= 0).all()
        )

    @property
    def values(self) -> Ints:
        """The noisy numbers, as whole numbers over `over`."""
        cells = np.empty(self.row.size, np.int64)
        for i, part in enumerate(self.parts):
            here = self.part == i
            held = part.at(self.cell[here])
            if held.dtype == np.object_:
                cells = cells.astype(np.object_)
            cells[here] = held
        return self._summed(_times(self.weight, cells), self.constant)

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where the entries of each row begin, and where the last ends."""
        return np.searchsorted(self.row, np.arange(self.size + 1))

    def _summed(self, entries: Ints, start: Ints) -> Ints:
        """Add up entries row by row."""
        bounds = self.bounds
        most = int(np.diff(bounds).max(initial=0))
        entries = _roomy(entries, most + 1)
        total = np.array(_roomy(start, 2), dtype=None)
        if entries.dtype == np.object_:
            total = total.astype(np.object_)
        some = np.flatnonzero(np.diff(bounds))
        if some.size:
            total[some] = total[some] + np.add.reduceat(entries, bounds[some])
        return total

    def times(self, factor: Fraction) -> Linear:
        """Multiply all rows by one number."""
        return combined(self, factor, zeros(self.size), Fraction(0))

    def plus(self, number: Fraction) -> Linear:
        """Add one number to all rows."""
        return combined(self, Fraction(1), Linear.exact([number]), Fraction(1))

    def take(self, rows: NDArray[np.int64]) -> Linear:
        """Return some of the rows, in the order given."""
        bounds = self.bounds
        lengths = (bounds[1:] - bounds[:-1])[rows]
        ends = np.cumsum(lengths)
        within = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
        places = np.repeat(bounds[rows], lengths) + within
        return Linear._made(
            rows.size,
            self.parts,
            np.repeat(np.arange(rows.size), lengths),
            self.part[places],
            self.cell[places],
            self.weight[places],
            self.constant[rows],
            self.over,
        )

    def rolled(
        self, group: NDArray[np.int64], size: int, weights: Sequence[Fraction] | None = None
    ) -> Linear:
        """Add up rows: row i, times weights[i] (or 1), goes into row group[i] of `size`."""
        over, times = 1, np.ones(self.size, np.int64)
        if weights is not None:
            over = lcm(*{weight.denominator for weight in weights})
            times = _ints([w.numerator * (over // w.denominator) for w in weights])
        constant = np.zeros(size, np.object_)
        if self.constant.any():
            np.add.at(constant, group, _times(self.constant, times).astype(np.object_))
        return Linear._made(
            size,
            self.parts,
            group[self.row],
            self.part,
            self.cell,
            _times(self.weight, times[self.row]),
            _ints(constant.tolist()),
            self.over * over,
        )

    def spread(self, size: int) -> Linear:
        """Repeat a single row."""
        if self.size == size:
            return self
        if self.row.size * size > _MOST:
            raise InputError(
                "each of so many cells would be combined with a total of as many. Divide by the "
                "total with share(), or add up fewer cells first with roll_up()."
            )
        return self.take(np.zeros(size, np.int64))

    def proportion(self, other: Linear) -> Fraction | None:
        """Return the c with self = c·other, the exact numbers being such; None if there is none."""
        if self.size != other.size or not (
            np.array_equal(self.row, other.row)
            and np.array_equal(self.cell, other.cell)
            and [part.id for part in self.parts] == [part.id for part in other.parts]
            and np.array_equal(self.part, other.part)
        ):
            return None
        pairs = [(self.weight, other.weight), (self.constant, other.constant)]
        first = next(((int(x[0]), int(y[0])) for x, y in pairs if x.size and y[0]), None)
        if first is None:
            return None
        p, q = first
        if any((_times(x, q) != _times(y, p)).any() for x, y in pairs):
            return None
        return Fraction(p * other.over, q * self.over)

    def terms(self) -> tuple[tuple[Term, ...], Constant]:
        """Return what a form stores: terms of one weight each, and the constant."""
        found = []
        plain = np.arange(self.size)
        for i, part in enumerate(self.parts):
            here = np.flatnonzero(self.part == i)
            weights = self.weight[here]
            order = np.argsort(weights, kind="stable")
            cuts = np.flatnonzero(weights[order][1:] != weights[order][:-1]) + 1
            for chosen in np.split(here[order], cuts):
                weight = Fraction(int(self.weight[chosen[0]]), self.over)
                rows, cells = self.row[chosen], self.cell[chosen]
                if np.array_equal(rows, plain) and np.array_equal(cells, plain):
                    found.append(Term(part.id, weight))
                else:
                    held = (tuple(rows.tolist()), tuple(cells.tolist()))
                    found.append(Term(part.id, weight, *held))
        first = int(self.constant[0]) if self.size else 0
        if (self.constant == first).all():
            return tuple(found), Fraction(first, self.over)
        return tuple(found), tuple(Fraction(c, self.over) for c in self.constant.tolist())


def zeros(size: int) -> Linear:
    """Return rows of 0."""
    return Linear.of((), Fraction(0), size, {})


def combined(x: Linear, a: Fraction, y: Linear, b: Fraction) -> Linear:
    """Return a·x + b·y, row by row; a single row goes with every row."""
    size = y.size if x.size == 1 else x.size
    x, y = x.spread(size), y.spread(size)
    draws = {part.id: part for part in x.parts}
    for draw in y.parts:
        draws[draw.id] = draws[draw.id].joined(draw) if draw.id in draws else draw
    ids = sorted(draws)
    over = lcm(x.over * a.denominator, y.over * b.denominator)
    columns: list[list[Ints]] = [[], [], [], []]
    constant: Ints = np.zeros(size, np.int64)
    for each, weight in ((x, a), (y, b)):
        factor = int(weight * over / each.over)
        places = np.array([ids.index(part.id) for part in each.parts], np.int64)
        held = (each.row, places[each.part], each.cell, _times(each.weight, factor))
        for column, entries in zip(columns, held, strict=True):
            column.append(entries)
        constant = _roomy(constant, 2) + _roomy(_times(each.constant, factor), 2)
    row, part, cell, weights = map(np.concatenate, columns)
    common = gcd(over, int(np.gcd.reduce(weights)), int(np.gcd.reduce(constant)))
    if common > 1:
        weights, constant, over = weights // common, constant // common, over // common
    return Linear._made(
        size, tuple(draws[i] for i in ids), row, part, cell, weights, constant, over
    )


def _order(row: Ints, part: Ints, cell: Ints) -> NDArray[np.intp]:
    """Return the order by row, then part, then cell; fast where runs are in order already."""
    parts, cells = int(part.max()) + 1, int(cell.max()) + 1
    if (int(row.max()) + 1) * parts * cells < _FITS:
        return np.argsort((row * parts + part) * cells + cell, kind="stable")
    return np.lexsort((cell, part, row))


def _ints(numbers: list[int]) -> Ints:
    """Return an array of int64 if that holds them with room to spare, else of Python's integers."""
    if all(-_FITS < number < _FITS for number in numbers):
        return np.array(numbers, np.int64)
    return np.array(numbers, np.object_)


def _largest(array: Ints) -> int:
    return max(abs(int(array.max())), abs(int(array.min()))) if array.size else 0


def _roomy(array: Ints, times: int) -> Ints:
    """Return the array in a type in which so many entries add up without overflow."""
    if array.dtype == np.object_ or _largest(array) * times < _FITS:
        return array
    return array.astype(np.object_)


def _times(array: Ints, factor: Ints | int) -> Ints:
    most = abs(factor) if isinstance(factor, int) else _largest(factor)
    wide = array if most < _FITS and _largest(array) * most < _FITS else array.astype(np.object_)
    if isinstance(factor, np.ndarray) and wide.dtype == np.object_:
        factor = factor.astype(np.object_)
    return np.asarray(wide * factor)
