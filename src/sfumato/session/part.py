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
    DiscreteGaussian,
    DiscreteLaplace,
    PartitionSelection,
    Quantiles,
    StabilityHistogram,
)
from sfumato.mechanisms.occurrence import Chosen
from sfumato.relation import Aggregate, Occurrence, Values
from sfumato.relation.node import sources, unit_of
from sfumato.relation.source import Source
from sfumato.release.error import Error
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.session.asked import part_in_words

Asked: TypeAlias = Aggregate | Values | Occurrence

# What a mechanism assumes of its input must hold for the answer to the question: noise is added to
# numbers of cells, ranks are those of values, groups are selected by their numbers of units.
_MEASURES: dict[type, tuple[type, ...]] = {
    Aggregate: (DiscreteLaplace, DiscreteGaussian),
    Values: (Quantiles,),
    Occurrence: (PartitionSelection, StabilityHistogram),
}


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
            what = {Aggregate: "the cells of a table", Values: "the values of a table"}
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
        moved = query.sensitivity(unit_of(query.node))
        if moved.is_zero:
            raise LossError(
                "no unit can move this answer: it is public, and measuring it would read the data "
                "for nothing. Use the declared number."
            )
        loss = mechanism.loss(moved)
        error, price = mechanism.error(moved), accounting.price(loss)
        return cls(query, mechanism, moved, loss, error, price, part_in_words(query))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The private tables that are asked."""
        return sources(self.query.node)

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
