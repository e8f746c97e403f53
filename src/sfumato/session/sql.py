"""Questions in SQL: bound to the tables of a session, priced, and finished once they are paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from sfumato import accounting
from sfumato.core.errors import CostError
from sfumato.core.number import failure_probability, show, show_above
from sfumato.relation.bound import automatic, counted
from sfumato.relation.kind import Number
from sfumato.relation.node import UnitJoin, walk
from sfumato.release.release import Release
from sfumato.session import listed
from sfumato.session.afterwards import Afterwards
from sfumato.session.batch import Batch, BatchPlan
from sfumato.session.catalog import SessionCatalog
from sfumato.session.foresight import consistent, fits_of
from sfumato.session.grouping import groupings, weights
from sfumato.session.output import AUTO, Output
from sfumato.session.plan import Plan
from sfumato.session.question import CONFIDENCE, Question
from sfumato.session.staged import StagedPlan
from sfumato.session.tree import trees
from sfumato.session.wanted import Wanted, bind
from sfumato.session.within import within

if TYPE_CHECKING:
    from sfumato.core.loss import Loss
    from sfumato.release.price import Price
    from sfumato.session.session import Session
    from sfumato.sql.clause import Price as Clause
    from sfumato.sql.question import SqlQuestion
    from sfumato.sql.statement import Statement

_DELTA = Fraction(1, 10**6)  # at which a tight figure is shown, if none was set


def sql_plan(
    session: Session,
    text: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None,
    keys: Any,
    cost: Mapping[str, Any],
) -> SqlPlan:
    """Bind a question in SQL and find what it costs.

    Args:
        session: of which tables.
        text: the question.
        parameters: values for its parameters.
        keys: the groups, where neither schema nor question lists them.
        cost: epsilon, delta, rho, accuracy and confidence, as they were passed.
    """
    from sfumato.sql.statement import statement

    parsed = statement(text, parameters)
    return planned(session, bound(session, parsed), parsed.price, keys, cost)


def bound(session: Session, parsed: Statement) -> SqlQuestion:
    """Bind a question that was read to the tables of a session; once, for its tree is used up."""
    from sfumato.sql.question import question

    return question(parsed, SessionCatalog(session))


def planned(
    session: Session, asked: SqlQuestion, price: Clause, keys: Any, cost: Mapping[str, Any]
) -> SqlPlan:
    """Find what a question costs that is bound to the tables of a session.

    Args:
        session: of which tables.
        asked: the question.
        price: what its text says about cost.
        keys: the groups, where neither schema nor question lists them.
        cost: epsilon, delta, rho, accuracy and confidence, as they were passed.
    """
    outputs = _outputs(asked)
    priced = _cost(price, cost)
    _check_error(asked, priced)
    groups = [listed.keys(asked, one, keys) for one in asked.sets]
    for each in groups:
        listed.check_delta(asked, each, priced)
    plan: Plan | StagedPlan | BatchPlan
    if len(groups) == 1:
        questions = [Question(session, asked.node, groups[0], outputs, asked.notes)]
        plan = questions[0].explain(**priced)
    else:
        questions = groupings(session, asked.node, groups, outputs, asked.notes)
        plan = Batch(session, questions, weights(questions, priced)).explain(**priced)
        plan = replace(plan, plans=consistent(plan.plans))
    given = set(keys) if isinstance(keys, Mapping) else {*asked.sets[0]} if keys is not None else ()
    made = SqlPlan(asked.text, asked, plan, tuple(listed.origins(asked, questions, given)))
    made.afterwards.rehearse()
    return made


@dataclass(frozen=True, repr=False, eq=False)
class SqlPlan:
    """What a question in SQL costs and how far it errs. Nothing was read for it.

    Attributes:
        text: the question.
        asked: what it asks, of which groups, and what is computed afterwards.
        plan: the plan that answers it.
        origins: for each column of groups, how many there are and where they come from.
    """

    text: str
    asked: SqlQuestion
    plan: Plan | StagedPlan | BatchPlan
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def cost(self) -> Loss:
        """What the release will give away."""
        return self.plan.cost

    @property
    def price(self) -> Price:
        """The cost in numbers."""
        return self.plan.price

    @property
    def sql(self) -> str:
        """The SQL that will run: it reads contract columns and returns integers."""
        return self.plan.sql

    @cached_property
    def plans(self) -> tuple[Plan | StagedPlan, ...]:
        """The plan of each grouping."""
        return self.plan.plans if isinstance(self.plan, BatchPlan) else (self.plan,)

    def release(self, *, request: str | None = None) -> Release:
        """Pay, and return the answer with its intervals.

        Args:
            request: an id of your choice; the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        answer = self.plan.release(request=request)
        answers = [answer] if isinstance(answer, Release) else cast("list[Release]", answer)
        return self.afterwards.finished(answers)

    @property
    def afterwards(self) -> Afterwards:
        """What is computed from the answer."""
        return Afterwards(self.asked, self.plan, self.plans)

    @property
    def cost_if_fixed(self) -> str:
        """What it gives away if nothing is asked beside it: the tight figure, at a δ.

        A budget is charged more, because what is asked next may depend on this answer.
        """
        delta = self.plan.target.delta or _DELTA
        return f"ε = {show_above(accounting.epsilon(self.cost, delta))} at δ = {show(delta)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for programs."""
        return {
            **self.plan.to_dict(),
            "text": self.text,
            "cost_if_fixed": self.cost_if_fixed,
            "groups_from": dict(self.origins),
            "tree": trees([query for plan in self.plans for query in plan.question.queries]),
            "after": self._after,
        }

    def __repr__(self) -> str:
        """Show the cost, how far each number will err, why, and what follows."""
        groups = [f"groups    {name}: {what}" for name, what in self.origins]
        said = [f"after     {line}; free" for line in self._after]
        fixed = f"fixed     {self.cost_if_fixed}, if nothing were asked beside it"
        return "\n".join([repr(self.plan), "", fixed, *groups, *said])

    @property
    def _after(self) -> list[str]:
        """What is computed from the answer, in words."""
        asked = self.asked
        fits = fits_of(self.plans) if len(self.plans) > 1 else None
        after = [f"make {', '.join(fits.names)} add up over all groupings"] if fits else []
        after += [f"{s.name} = {s.formula}" for s in asked.shown if s.formula is not None]
        if asked.having is not None:
            after.append(f"keep the groups with {asked.having}")
        if asked.order:
            after.append(f"sort by {', '.join(map(str, asked.order))}")
        if asked.limit is not None:
            after.append(f"show {asked.limit:,} rows")
        return after


def _outputs(asked: SqlQuestion) -> dict[str, Output]:
    """Return the numbers as a table is asked them, each checked where it stands in the text."""
    from sfumato.sql.place import pointing

    outputs: dict[str, Output] = {}
    bound: list[Wanted] = []
    for name, each in asked.asked.items():
        outputs[name] = Output(cast("Any", each.function), each.text, each.ranks, expr=each.expr)
        with pointing(each.span, asked.text):
            bound += bind({name: outputs[name]}, asked.node)
    for wanted in _raced(asked, bound):
        outputs[wanted.name] = replace(outputs[wanted.name], per_unit=(AUTO, None))
    return outputs


def _raced(asked: SqlQuestion, bound: Sequence[Wanted]) -> list[Wanted]:
    """Return the numbers of which a race finds how much of one unit counts.

    It is so where private tables are joined and nobody knows how many rows one unit has then: of
    counts, and of sums of what is not negative. In groups it takes a cap on how many of them one
    unit counts in. Beside anything that needs the cap itself, the cap is bought, and serves all.
    """
    node = asked.node
    joined = any(isinstance(each, UnitJoin) for each in walk(node))
    groups = [source.unit.max_groups for source in counted(node)]
    known = not any(asked.sets) or all(isinstance(cap, int) for cap in groups)
    if not joined or not known or "max_rows" not in automatic(node):
        return []
    found = [wanted for wanted in bound if _races(wanted)]
    units = [w for w in bound if w.function == "count_distinct" and w.expr is None]
    return found if len(found) + len(units) == len(bound) else []


def _races(wanted: Wanted) -> bool:
    positive = isinstance(wanted.kind, Number) and wanted.kind.low >= 0
    return wanted.function == "count" or (wanted.function == "sum" and positive)


def _check_error(asked: SqlQuestion, priced: Mapping[str, Any]) -> None:
    """Refuse an error that is asked of a computed number: it would be that of its parts."""
    from sfumato.sql.place import pointing

    computed = next((shown for shown in asked.shown if shown.formula is not None), None)
    if "accuracy" not in priced or computed is None:
        return
    with pointing(computed.span, asked.text):
        raise CostError(
            f"an error is asked of counts and sums as they are measured, and {computed.name!r} is "
            f"computed from them. Select its parts alone and compute with the answer, free; or "
            f"name a price: WITH EPSILON 0.5."
        )


def _cost(clause: Clause, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cost: from the text or from the call, not from both."""
    passed = {name: value for name, value in given.items() if value is not None}
    sure = CONFIDENCE if clause.confidence is None else clause.confidence
    said = {
        "epsilon": clause.epsilon,
        "rho": clause.rho,
        "accuracy": None if clause.error is None else within(clause.error, sure),
        "delta": clause.delta,
    }
    said = {name: value for name, value in said.items() if value is not None}
    twice = [name for name in ("epsilon", "rho", "accuracy") if name in passed]
    if twice and len(said) > ("delta" in said):
        raise CostError(
            f"the question ends with a price, and {twice[0]}= is passed beside it. Keep one of the "
            f"two."
        )
    if "delta" in said and failure_probability(passed.get("delta", 0)) not in (0, said["delta"]):
        raise CostError("the question says δ, and delta= is passed beside it. Keep one of the two.")
    return {**passed, **said}
