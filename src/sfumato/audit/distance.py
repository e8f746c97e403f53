"""How far two exact inputs of a noise call lie apart, in every norm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, isnan
from typing import Any

import numpy as np

from sfumato.core.unit import Neighbors


@dataclass(frozen=True, slots=True)
class Distance:
    """The norms of one change that did happen.

    It has the attributes of a sensitivity, so that a mechanism can be asked what the change costs;
    but it is measured, not claimed, and holds for one pair of inputs.

    Attributes:
        l0: how many cells differ.
        l1: sum of the absolute differences; for bags, how many rows came, went or were replaced;
            for values in groups, how many came and went, in all, as a replaced one does both.
        l2_squared: sum of their squares.
        linf: largest absolute difference.
        neighbors: the relation that the two inputs stand in.
    """

    l0: Fraction
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    neighbors: Neighbors

    @classmethod
    def of_cells(cls, x: Any, y: Any, relation: Neighbors, unit: Fraction) -> Distance | None:
        """Measure two arrays of one shape, in multiples of `unit`; None if no number says it."""
        pairs = zip(np.ravel(x).tolist(), np.ravel(y).tolist(), strict=True)
        changed = [(p, q) for p, q in pairs if not _same(p, q)]
        if not all(_is_finite(value) for pair in changed for value in pair):
            return None
        return cls._of_moves([abs(Fraction(p) - Fraction(q)) * unit for p, q in changed], relation)

    @classmethod
    def of_bags(cls, x: Any, y: Any, relation: Neighbors) -> Distance:
        """Count the rows in which two bags differ."""
        gone, come = (Counter(np.ravel(bag).tolist()) for bag in (x, y))
        lost, gained = (gone - come).total(), (come - gone).total()
        rows = max(lost, gained) if relation is Neighbors.REPLACE else lost + gained
        count = Fraction(rows)
        return cls(count, count, count, count, relation)

    @classmethod
    def of_values(cls, x: Any, y: Any, relation: Neighbors) -> Distance:
        """Count the values that came or went in each group; a replaced one did both.

        Args:
            x: rows of group and value.
            y: the same of the other input.
            relation: the relation that the two stand in.
        """
        gone, come = (Counter(map(tuple, rows.tolist())) for rows in (x, y))
        moves: Counter[Any] = Counter()
        for (group, _), count in ((gone - come) + (come - gone)).items():
            moves[group] += count
        return cls._of_moves(moves.values(), relation)

    @classmethod
    def of_groups(cls, x: Any, y: Any, relation: Neighbors) -> Distance:
        """Compare numbers of units by group; one that does not occur has none.

        Args:
            x: the numbers by key.
            y: the same of the other input.
            relation: the relation that the two stand in.
        """
        moves = (abs(x.get(key, 0) - y.get(key, 0)) for key in {**x, **y})
        return cls._of_moves([move for move in moves if move], relation)

    @classmethod
    def _of_moves(cls, moves: Iterable[int | Fraction], relation: Neighbors) -> Distance:
        by = [Fraction(move) for move in moves]
        return cls(
            Fraction(len(by)),
            sum(by, Fraction(0)),
            sum((move * move for move in by), Fraction(0)),
            max(by, default=Fraction(0)),
            relation,
        )

    @property
    def is_zero(self) -> bool:
        """Whether nothing differs."""
        return not self.l1

    def beyond(self, bounds: Mapping[str, Fraction | None]) -> Iterator[str]:
        """Yield the norms in which the change is larger than bounds allow; None bounds nothing."""
        for name, bound in bounds.items():
            if bound is not None and getattr(self, name) > bound:
                yield name


def _same(p: Any, q: Any) -> bool:
    both_nan = all(isinstance(value, float) and isnan(value) for value in (p, q))
    return both_nan or bool(p == q)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | Fraction) or (isinstance(value, float) and isfinite(value))
