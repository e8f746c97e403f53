"""A question and its mechanism: the pair that is charged and measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sfumato import accounting
from sfumato.core.errors import InputError, LossError
from sfumato.core.loss import Loss
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.relation import Aggregate
from sfumato.relation.node import sources, unit_of
from sfumato.relation.source import Source
from sfumato.release.error import Error
from sfumato.release.price import Price
from sfumato.session.asked import part_in_words

# A choice, a quantile or a coin takes scores, rows or answers: cells would be drawn from wrongly,
# or fail once they were read.
_MEASURE_CELLS = (DiscreteLaplace, DiscreteGaussian)


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

    query: Aggregate
    mechanism: Any
    sensitivity: Sensitivity
    loss: Loss
    error: Error
    price: Price
    told: tuple[str, ...]

    @classmethod
    def of(cls, query: Aggregate, mechanism: Any) -> Part:
        """Compute the sensitivity from the question, and the loss from the sensitivity.

        Raises:
            LossError: no unit can move the answer, so that there is nothing to pay for.
        """
        if not isinstance(query, Aggregate):
            raise InputError(
                f"a table is asked with questions of sfumato.relation, and this is a "
                f"{type(query).__name__}. Pass table.count().queries[0], or build an Aggregate."
            )
        if type(mechanism) not in _MEASURE_CELLS:
            raise InputError(
                f"the cells of a table are measured with noise that is added to whole numbers, "
                f"{' or '.join(kind.__name__ for kind in _MEASURE_CELLS)}, and not with a "
                f"{type(mechanism).__name__}: what it assumes of its input is not known to hold "
                f"for an answer. Try it in sf.lab, or call it on data of your own."
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
