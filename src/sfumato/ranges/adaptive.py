"""Methods that first buy what is worth measuring, and then measure that: one envelope for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.accounting.grid import UNIT
from sfumato.core.budget import Budget
from sfumato.core.errors import BudgetExceeded, InputError
from sfumato.core.loss import Loss
from sfumato.ranges import dawa, fourier
from sfumato.ranges.plan import Plan
from sfumato.ranges.spending import Spending
from sfumato.ranges.workload import Workload
from sfumato.release.error import IF, NOISE_ONLY
from sfumato.session.column import Column

METHODS = (dawa.NAME, fourier.NAME)
_NOTES = {
    dawa.NAME: "counts inside a bucket are taken to be equal",
    fourier.NAME: "what swings faster than the coefficients that were kept is left out",
}
COVERS = {
    dawa.NAME: f"{NOISE_ONLY}{IF}counts inside a bucket are equal",
    fourier.NAME: f"{NOISE_ONLY}{IF}nothing swings faster than what was kept",
}
_LEAST = Budget(Fraction(1, UNIT))  # too little to pay for anything


@dataclass(frozen=True, slots=True)
class Bought:
    """What both stages came to.

    Attributes:
        plan: what the second stage measured.
        drawn: its answers.
        costs: the losses of both stages.
        rest: what the second stage was paid for.
        note: what is said of it.
    """

    plan: Plan
    drawn: Any
    costs: list[Loss]
    rest: Spending
    note: str


def only(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return options if a method takes them all."""
    wrong = [name for name in options if name not in names]
    if wrong:
        raise InputError(f"this method takes {', '.join(names)}, and not {wrong[0]!r}.")
    return options


def bought(
    column: Column,
    workload: Workload,
    method: str,
    spending: Spending,
    options: dict[str, Any],
) -> Bought:
    """Buy first what is worth measuring, then measure that, inside one envelope of the budget.

    Both stages are built beforehand, the second at its extremes, so that what cannot be drawn is
    refused before anything is charged. What was bought already is answered again for nothing, also
    where the envelope would not fit any more.

    Raises:
        BudgetExceeded: the envelope is not left; nothing was charged.
    """
    stages = _stages(workload, method, spending, options)
    stages.check(column)
    left = column.remaining
    if left.largest >= (spending.epsilon or 0):
        with column.scope(spending.envelope) as inside:
            return stages.measured(inside)
    try:
        if not left.largest:  # no envelope fits, and nothing can be charged
            return stages.measured(column)
        with column.scope(_LEAST) as inside:
            return stages.measured(inside)
    except BudgetExceeded:
        raise BudgetExceeded(
            f"this release costs {spending.envelope!r}, and {left} is left. Ask for less, or let "
            f"the owner raise the budget. Nothing was charged.",
            asked=spending.envelope,
            left=left,
        ) from None


@dataclass(frozen=True, slots=True)
class _Stages:
    """Two stages; or one, where what is measured was named.

    Attributes:
        start: what the first stage may cost.
        rest: what the second may cost.
        first: makes the question and the mechanism of the first; None where there is none.
        then: makes the plan of the second from the numbers of the first.
        extremes: plans of the second between which all others lie.
        note: what is said of it.
    """

    start: Spending
    rest: Spending
    first: Callable[[Column, Spending, Spending], tuple[Any, Any]] | None
    then: Callable[[Any], Plan]
    extremes: list[Plan]
    note: str

    def check(self, column: Column) -> None:
        """Build what will be measured; what cannot be drawn is refused here."""
        if self.first is not None:
            self.first(column, self.start, self.rest)
        for plan in self.extremes:
            plan.batch(column, self.rest)

    def measured(self, column: Column) -> Bought:
        """Measure one after the other."""
        costs, found = [], None
        if self.first is not None:
            answer = column.measure(*self.first(column, self.start, self.rest))
            costs, found = [answer.cost], answer.measures[0].values
        plan = self.then(found)
        drawn = column.measure(plan.batch(column, self.rest))
        return Bought(plan, drawn, [*costs, *(d.cost for d in drawn)], self.rest, self.note)


def _stages(
    workload: Workload, method: str, spending: Spending, options: dict[str, Any]
) -> _Stages:
    note = _NOTES[method]
    if method == dawa.NAME:
        share = dawa.check(workload, spending, only(options, "partition").get("partition"))
        start, rest = spending.share(share), spending.share(1 - share)
        return _Stages(
            start,
            rest,
            dawa.first,
            lambda edges: dawa.plan(workload, edges),
            dawa.extremes(workload),
            note,
        )
    k = only(options, "k").get("k")
    fourier.check(workload, spending, k)
    if k is not None:
        plan = fourier.plan(workload, k)
        return _Stages(spending, spending.share(Fraction(1)), None, lambda _: plan, [plan], note)
    start, rest = spending.share(fourier.SHARE), spending.share(1 - fourier.SHARE)
    return _Stages(
        start,
        rest,
        fourier.first,
        lambda kept: fourier.plan(workload, int(kept[0])),
        fourier.extremes(workload),
        note,
    )
