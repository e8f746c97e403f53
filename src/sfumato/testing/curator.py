"""A curator over a small table in memory, for testing algorithms and their audits.

It keeps the contract of `sfumato.session.curator.Curator` — sensitivity, loss, charge, read,
draw, in this order — and nothing else of the product: no ledger, no engine, no contract file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import InputError
from sfumato.core.number import Exactable, failure_probability
from sfumato.core.schema import Schema
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.noise.rng import Rng, system
from sfumato.relation.query import Shape
from sfumato.release.release import Release
from sfumato.session.curator import Continual, Stream
from sfumato.session.interaction import Interaction
from sfumato.session.purse import Purse

Row = Mapping[str, Any]


@dataclass(frozen=True)
class FakeQuery:
    """A question as a Python function, with the sensitivity that its author claims.

    Attributes:
        name: what is asked; the name of the measure.
        answer: from rows to a whole number, an array of them, or a bag of rows' values.
        claim: what one unit can change; taken on trust, which is what an audit looks into.
        shape: what comes out.
    """

    name: str
    answer: Callable[[Sequence[Row]], Any]
    claim: Sensitivity
    shape: Shape = field(default=Shape("cells", (), 1))

    def sensitivity(self, unit: Unit) -> Sensitivity:  # noqa: ARG002 - claimed for the unit at hand
        """Return the claim."""
        return self.claim

    def lower(self, dialect: str) -> str:
        """Refuse: a Python function has no SQL."""
        raise InputError(f"a fake query has no SQL, and none in {dialect}; ask a FakeCurator.")


class FakeCurator:
    """Measures rows in memory within a budget.

    Args:
        rows: the private table.
        unit: who is protected; rows, unless said otherwise.
        budget: what may be spent; ample, unless said otherwise.
        schema: public facts, for programs that ask.
        rng: where noise comes from; the system's, unless a test wants to repeat itself.

    Example:
        >>> from sfumato.mechanisms import DiscreteLaplace
        >>> curator = FakeCurator([{"age": 30}, {"age": 41}])
        >>> count = FakeQuery("n", len, Sensitivity(l1=1))
        >>> curator.measure(count, DiscreteLaplace(1)).columns
        ('n', 'n_low', 'n_high')
    """

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        unit: Unit | None = None,
        budget: Budget | None = None,
        schema: Schema | None = None,
        rng: Rng | None = None,
    ) -> None:
        """Hold the rows."""
        self._rows, self._rng = list(rows), rng or system()
        self.unit = unit or Unit.row()
        self.schema = schema or Schema()
        self.budget = budget or Budget(epsilon=1000, delta="1e-3")
        self._purse = Purse(accounting.Limits.of(self.budget))

    @property
    def remaining(self) -> accounting.Remaining:
        """What may still be spent, in both views."""
        return self._purse.remaining

    def measure(self, query: Any, mechanism: Any = None, *, delta: Exactable = 0) -> Any:
        """Charge, then read, draw and return; a batch is charged whole before anything is read."""
        slack = failure_probability(delta)
        batch = query if mechanism is None else [(query, mechanism)]
        planned = [(q, m, s := q.sensitivity(self.unit), m.loss(s)) for q, m in batch]
        self._purse.pay_for(accounting.compose([loss for *_, loss in planned]), slack)
        answers = [self._answer(q, m, s, loss) for q, m, s, loss in planned]
        return answers if mechanism is None else answers[0]

    def _answer(self, query: Any, mechanism: Any, sensitivity: Sensitivity, loss: Any) -> Release:
        exact = mechanism.exact(np.asarray(query.answer(self._rows)))
        return Release.of(
            values=mechanism.grid(mechanism.sample(exact, self._rng)),
            error=mechanism.error(sensitivity),
            cost=loss,
            mechanism=repr(mechanism),
            name=query.name,
        )

    @contextmanager
    def scope(self, budget: Budget) -> Iterator[FakeCurator]:
        """Lend part of the budget: inside, it is the limit too; what is spent counts outside."""
        inner = self._over(self._rows)
        inner.budget = budget
        inner._purse = self._purse.lent(budget, self.unit.neighbors)
        yield inner

    def partition(self, column: str, keys: Sequence[Hashable]) -> Mapping[Hashable, FakeCurator]:
        """Split the rows by a column; here every part pays in full, which is safe."""
        return {key: self._over([r for r in self._rows if r.get(column) == key]) for key in keys}

    def open(self, query: Any, mechanism: Continual) -> Stream:
        """Charge a continual mechanism once and start it; fake queries are then pushed to it.

        Each claims its own sensitivity, which must be within that of `query`.
        """
        return Interaction.open(
            mechanism,
            query.sensitivity(self.unit),
            self.unit,
            pay=self._purse.pay_interaction,
            rng=self._rng,
            read=lambda asked: asked.answer(self._rows),
        )

    def _over(self, rows: Sequence[Row]) -> FakeCurator:
        other = FakeCurator(
            rows, unit=self.unit, budget=self.budget, schema=self.schema, rng=self._rng
        )
        other._purse = self._purse  # one for all handles
        return other
