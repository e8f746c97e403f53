"""A question, before it is asked: free to look at, charged when it is released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InputError
from sfumato.core.number import Exactable, open_unit
from sfumato.relation import Aggregate, Keys, Node
from sfumato.relation.lower import lowered
from sfumato.release.measure import check_name
from sfumato.session.output import Output
from sfumato.session.planner import Wanted, bind, queries

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.session.door import Door
    from sfumato.session.plan import Plan

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Question:
    """Numbers asked of the groups of a private table. It is checked when it is made.

    `explain` is free and reads nothing; `release` pays.
    """

    session: Door
    wanted: tuple[Wanted, ...]
    queries: tuple[Aggregate, ...]
    remarks: tuple[str, ...]

    def __init__(
        self,
        session: Door,
        node: Node,
        keys: Keys,
        outputs: Mapping[str, Output],
        remarks: tuple[str, ...] = (),
    ) -> None:
        """Check names and outputs, and find what has to be measured."""
        if not outputs:
            raise InputError(
                "agg needs something to ask, such as agg(n=sf.count(), fare=sf.mean('fare'))."
            )
        wanted = bind(outputs, node)
        taken = [*keys.columns]
        for w in wanted:
            check_name(w.name, "an output")
            taken += [w.name, f"{w.name}_low", f"{w.name}_high"]
        twice = next((name for name in taken if taken.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"two columns of the answer would be called {twice!r}. Name the output otherwise, "
                f"as in agg(total=sf.count()); an output n also takes n_low and n_high."
            )
        object.__setattr__(self, "session", session)
        object.__setattr__(self, "wanted", wanted)
        object.__setattr__(self, "remarks", remarks)
        object.__setattr__(self, "queries", tuple(queries(wanted, node, keys)))

    @property
    def keys(self) -> Keys:
        """The public groups."""
        return self.queries[0].keys

    @property
    def node(self) -> Node:
        """The relation that is asked: filtered, truncated."""
        return self.queries[0].node

    @property
    def sql(self) -> str:
        """The SQL that will run: it reads contract columns and returns integers."""
        return lowered(self.queries, self.session.dialect)

    def explain(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        confidence: Exactable = CONFIDENCE,
    ) -> Plan:
        """Return what it would cost and how far it would err. Free; reads nothing.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise; 0 unless passed.
            rho: the price in ρ, instead.
            confidence: the probability with which each interval holds.
        """
        from sfumato.session.plan import Plan

        if unnamed:
            raise CostError("a cost is named, so that nobody mistakes it: pass epsilon=, or rho=.")
        target = Budget(epsilon, delta, rho=rho)
        return Plan.of(self, target, open_unit(confidence, "confidence"))

    def release(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        confidence: Exactable = CONFIDENCE,
        request: str | None = None,
    ) -> Release:
        """Pay, and return the answer with its intervals.

        The same question at the same price on the same version of the data is answered from the
        ledger, and costs nothing more.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise; 0 unless passed.
            rho: the price in ρ, instead.
            confidence: the probability with which each interval holds.
            request: an id of your choice, for whoever has to retry: the same id is the same
                request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        plan = self.explain(*unnamed, epsilon=epsilon, delta=delta, rho=rho, confidence=confidence)
        return plan.release(request=request)

    def __repr__(self) -> str:
        """Show what is asked."""
        asked = ", ".join(f"{w.name}={w.output!r}" for w in self.wanted)
        by = f" by {', '.join(self.keys.columns)}" if self.keys.columns else ""
        return f"<question: {asked}{by}; see .explain(epsilon=...), pay with .release(epsilon=...)>"
