"""A question and its mechanism: the pair that is charged and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sfumato import accounting
from sfumato.core.errors import InputError, LossError
from sfumato.core.loss import Loss
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import (
    BucketPartition,
    DiscreteGaussian,
    DiscreteLaplace,
    KdSplits,
    PartitionSelection,
    PrivTree,
    Quantiles,
    SpectralCut,
    StabilityHistogram,
)
from sfumato.mechanisms.buckets import MOST_CELLS
from sfumato.mechanisms.occurrence import Chosen
from sfumato.relation import Aggregate, Keys, Linear, Occurrence, Values
from sfumato.relation.node import sources, tables, unit_of
from sfumato.relation.source import Source
from sfumato.release.error import Error
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.session.asked import part_in_words
from sfumato.session.histogram import Histogram, Weighted

Asked: TypeAlias = Aggregate | Linear | Values | Occurrence

# What a mechanism assumes of its input must hold for the answer to the question: noise is added to
# numbers of cells, ranks are those of values, groups are selected by their numbers of units.
_MEASURES: dict[type, tuple[type, ...]] = {
    Aggregate: (DiscreteLaplace, DiscreteGaussian, BucketPartition, PrivTree, KdSplits),
    Linear: (DiscreteLaplace, DiscreteGaussian, SpectralCut),
    Values: (Quantiles,),
    Occurrence: (PartitionSelection, StabilityHistogram),
}
_SHAPES = BucketPartition, PrivTree, KdSplits  # what they return is a shape, not a number of each


@dataclass(frozen=True, slots=True)
class Part:
    """One question with its mechanism, and what follows from the two without any data.

    Attributes:
        query: the question.
        mechanism: what its exact answer is passed to.
        sensitivity: how far one unit can move the exact answer, computed from the question.
        loss: what the draw gives away, stated by the mechanism for that sensitivity.
        error: how far the draw may lie from the exact answer.
        price: the loss in numbers.
        told: what was asked, in words for whoever reads the ledger.
    """

    query: Asked
    mechanism: Any
    sensitivity: Sensitivity
    loss: Loss
    error: Error
    price: Price
    told: tuple[str, ...]

    @classmethod
    def of(cls, query: Asked, mechanism: Any) -> Part:
        """Compute the sensitivity from the question, and the loss from the sensitivity.

        Raises:
            LossError: no unit can move the answer, so that there is nothing to pay for.
        """
        allowed = _MEASURES.get(type(query))
        if allowed is None:
            raise InputError(
                f"a table is asked with questions of sfumato.relation, and this is a "
                f"{type(query).__name__}. Pass table.count().queries[0], or build an Aggregate."
            )
        if type(mechanism) not in allowed:
            what = {
                Aggregate: "the cells of a table",
                Linear: "sums of cells of a table",
                Values: "the values of a table",
            }
            raise InputError(
                f"{what.get(type(query), 'the groups of a table')} are measured with "
                f"{' or '.join(kind.__name__ for kind in allowed)}, and not with a "
                f"{type(mechanism).__name__}: what it assumes of its input is not known to hold "
                f"for an answer. Try it in sf.lab, or call it on data of your own."
            )
        if isinstance(query, Values) and _grid(mechanism) != (*query.extent, 1):
            raise InputError(
                "the quantiles of a table are sought on the grid of the values themselves, in "
                "steps. Pass low, high = query.extent and step=1."
            )
        check_shape(query, mechanism)
        moved = query.sensitivity(unit_of(query.node))
        if moved.is_zero:
            raise LossError(
                "no unit can move this answer: it is public, and measuring it would read the data "
                "for nothing. Use the declared number."
            )
        loss = mechanism.loss(moved)
        error, price = mechanism.error(moved), accounting.price(loss)
        return cls(query, mechanism, moved, loss, error, price, part_in_words(query, mechanism))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The private tables that are asked."""
        return sources(self.query.node)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all private tables on which the answer depends."""
        return tables(self.query.node)

    @property
    def named(self) -> bool:
        """Whether its numbers are each of one cell, which has a name."""
        return not isinstance(self.query, Linear) and not isinstance(self.mechanism, _SHAPES)

    def written(self) -> tuple[Any, ...]:
        """Return all that fixes the law of the answer, to the last digit, for a digest."""
        parameters = tuple(
            (f.name, getattr(self.mechanism, f.name)) for f in fields(self.mechanism)
        )
        kind = type(self.mechanism)
        return self.query, f"{kind.__module__}.{kind.__qualname__}", parameters

    def release(self, drawn: Any, cells: Mapping[str, Sequence[Any]] | None) -> Release:
        """Return what was drawn as a release.

        Args:
            drawn: what the mechanism returned.
            cells: the values that name the cells; None for a single total.
        """
        error: Error | None = self.error
        if isinstance(drawn, Chosen):
            values = np.ones(drawn.size, np.int64) if drawn.counts is None else drawn.counts
            error = None if drawn.counts is None else error
            if cells is not None:
                cells = {name: _first(column, drawn.size) for name, column in cells.items()}
        else:
            values = self.mechanism.grid(drawn)
        if isinstance(self.mechanism, Quantiles):
            values = np.asarray(values).ravel()
            cells = _by_target(self.mechanism, cells)
        return Release.of(
            values=values,
            error=error,
            cost=self.loss,
            mechanism=repr(self.mechanism),
            scale=self.mechanism.noise_scale,
            keys=cells,
            notes=self.told,
            unit=self.sources[0].unit,
            price=self.price,
        )


def check_shape(query: Asked | Histogram | Weighted, mechanism: Any) -> None:
    """Refuse, before anything is paid or read, answers of another shape than a selection takes."""
    rows = query.matrix.rows if isinstance(query, Linear | Weighted) else 0
    line = _line(query)
    if isinstance(mechanism, BucketPartition) and (line is None or line > MOST_CELLS):
        raise InputError(
            f"a partition is of a line of up to {MOST_CELLS:,} counts that are listed beforehand. "
            f"Group by one column of which the values are declared."
        )
    if isinstance(mechanism, PrivTree | KdSplits) and _sizes(query) != mechanism.shape:
        raise InputError(
            f"a plane of {mechanism.shape[0]:,} by {mechanism.shape[1]:,} cells is cut, and this "
            f"question has others. Group by two columns with as many values, which are declared."
        )
    if isinstance(mechanism, SpectralCut) and len(mechanism.prices) > rows:
        raise InputError(
            f"there are {len(mechanism.prices):,} prices for {rows:,} coefficients. Pass at most "
            f"one for each."
        )


def _line(query: Asked | Histogram | Weighted) -> int | None:
    """Return how many numbers an answer has if they stand in a line; None if they do not."""
    if isinstance(query, Weighted):
        return query.matrix.rows
    if isinstance(query, Histogram):
        return query.sizes[0] if len(query.sizes) == 1 else None
    return query.keys.cells if isinstance(query.keys, Keys) and query.keys.columns else None


def _sizes(query: Asked | Histogram | Weighted) -> tuple[int, ...]:
    """Return how many values each column of groups has, where all are listed."""
    if isinstance(query, Histogram):
        return query.sizes
    found: tuple[int, ...] = () if isinstance(query, Weighted) else getattr(query.keys, "shape", ())
    return found


def _first(column: Sequence[Any], count: int) -> Sequence[Any]:
    return column if len(column) == count else column[:count]


def _grid(mechanism: Quantiles) -> tuple[Any, ...]:
    return mechanism.low, mechanism.high, mechanism.step


def _by_target(
    mechanism: Quantiles, cells: Mapping[str, Sequence[Any]] | None
) -> dict[str, list[Any]]:
    """Name each quantile of each cell."""
    wanted = [_rank(q, offset) for q, offset in mechanism.targets]
    groups = 1 if cells is None else len(next(iter(cells.values())))
    repeated = {
        name: [key for key in column for _ in wanted] for name, column in (cells or {}).items()
    }
    column = "quantile"
    while column in repeated:
        column += "_"
    return {**repeated, column: wanted * groups}


def _rank(q: Fraction, offset: Fraction) -> str:
    """Name a rank, as 1/2 or 1/2 - 30 rows."""
    return f"{q}" if not offset else f"{q} {'+' if offset > 0 else '-'} {abs(offset)} rows"
