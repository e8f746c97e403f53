"""What can be computed from a release, free: nothing here sees data, so nothing is charged."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfumato.core.errors import RangeError
from sfumato.core.number import Exactable, is_integer

if TYPE_CHECKING:
    from sfumato.release.estimate import Estimate
    from sfumato.release.release import Release


class Algebra:
    """Columns, rows and intervals of a release, computed anew. Every method returns a release.

    Intervals are propagated exactly: each number knows which draws it is made of, so what shares
    noise is not taken for independent. Values, not intervals, decide about rows.
    """

    __slots__ = ()

    @property
    def _release(self) -> Release:
        return cast("Release", self)

    def derive(self, **columns: str | Estimate) -> Release:
        """Add columns, such as ``derive(per_trip="fare / n", change=answer["n"] - old["n"])``.

        Args:
            **columns: expressions over the measures, or estimates with the same keys.

        Raises:
            ExpressionError: an expression cannot be read.
            UnknownName: a name in it is no measure.
            InputError: it is neither a weighted sum nor a quotient of two.
        """
        from sfumato.release.derive import derive

        return derive(self._release, columns)

    def select(self, *names: str) -> Release:
        """Keep these measures only, in this order, and of the notes those that still apply."""
        from sfumato.release.derived import selected

        return selected(self._release, names)

    def where(self, condition: str) -> Release:
        """Keep the rows for which a condition on released values or keys holds.

        The intervals then say that they hold before selection: who keeps only large values keeps
        those whose noise was large.
        """
        from sfumato.release.derive import where

        return where(self._release, condition)

    def share(self, name: str, into: str | None = None) -> Release:
        """Add the share of each cell in the total of this answer, as a column ``n_share``."""
        from sfumato.release.rollup import share

        return share(self._release, name, into)

    def total(self, *names: str) -> Release:
        """Add up all cells: sums add, means are pooled over their counts."""
        from sfumato.release.rollup import total

        return total(self._release, names)

    def roll_up(
        self,
        column: str,
        into: Mapping[Any, Any] | None = None,
        *,
        weights: Mapping[Any, Exactable] | None = None,
        names: tuple[str, ...] = (),
    ) -> Release:
        """Put keys of one column together: ``roll_up("zone", {"A": "north", "B": "north"})``.

        Args:
            column: the key column.
            into: for each key what it becomes; without it the column is dropped.
            weights: for each key an exact number that its cells are multiplied with.
            names: which measures; all if not given.
        """
        from sfumato.release.rollup import roll_up

        return roll_up(self._release, column, into, weights, names)

    def sort(self, name: str, *, descending: bool = True) -> Release:
        """Sort the rows; a column ``n_order`` says how sure each is to come before the next.

        It is the probability, from the noise alone, that the exact number of a row is not below
        that of the next (not above, if ascending), nothing else being known of the exact numbers.
        """
        from sfumato.release.order import sort

        return sort(self._release, name, descending=descending)

    def leads(self, name: str, *, descending: bool = True) -> Fraction:
        """Return the probability, or less, that the first row is the largest (or smallest) of all.

        Sort first. It is exact where rows carry independent noise, and else a lower bound.
        """
        from sfumato.release.order import first

        return first(self._release, name, descending=descending)

    def head(self, rows: int) -> Release:
        """Keep the first rows; their intervals then hold before selection."""
        from sfumato.release import derived

        if not is_integer(rows) or int(rows) < 0:
            raise RangeError("head takes a whole number of rows, 0 or more.")
        kept = np.arange(min(int(rows), len(self._release)))
        return derived.rows(self._release, kept, selected=True)

    def round(self, step: Exactable = 1, *names: str) -> Release:
        """Round values to multiples of a step, and intervals outwards."""
        from sfumato.release.tidy import rounded

        return rounded(self._release, step, names)

    def nonnegative(self, *names: str) -> Release:
        """Raise values and ends below 0 to 0, where exact numbers cannot be negative."""
        from sfumato.release.tidy import nonnegative

        return nonnegative(self._release, names)

    def consistent(
        self, total: Estimate | Release, name: str | None = None, *, nonnegative: bool = False
    ) -> Release:
        """Move the cells so that they add up to a compromise with a total measured by itself.

        Args:
            total: a single number from another draw, about the same rows.
            name: which measure; the only one if not given.
            nonnegative: also keep every cell from falling below 0.

        Raises:
            InputError: cells and total are farther apart than noise explains, so that they are
                about different rows.
        """
        from sfumato.release.consistent import consistent

        return consistent(self._release, total, name, nonnegative=nonnegative)

    def at(self, confidence: Exactable) -> Release:
        """Return the same answer with intervals of another confidence."""
        from sfumato.release.confidence import at

        return at(self._release, confidence)

    def simultaneous(self, confidence: Exactable = Fraction(95, 100)) -> Release:
        """Return intervals that hold all at once with the stated probability; a note says how."""
        from sfumato.release.confidence import simultaneous

        return simultaneous(self._release, confidence)

    def population(self, variances: Mapping[str, str] | None = None) -> Release:
        """Return intervals for the population of which the rows are a random sample.

        Means and shares of this answer, and counts as shares, with sampling and noise together.

        Args:
            variances: for a mean the measure with its variance, such as ``{"fare": "fare_var"}``.
        """
        from sfumato.release.population import population

        return population(self._release, variances)
