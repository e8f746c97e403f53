"""Questions that are asked together: one plan, fixed before anything is read, and one charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato import accounting
from sfumato.accounting.grid import UNIT
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InputError
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, open_unit, positive
from sfumato.relation.node import unit_of
from sfumato.release.format import percent
from sfumato.session.assignment import Share, best
from sfumato.session.plan import Plan, measured_of
from sfumato.session.planner import Questions, counts_units, questions
from sfumato.session.question import CONFIDENCE, Question

if TYPE_CHECKING:
    from sfumato.accounting import Charge
    from sfumato.release.price import Price
    from sfumato.release.release import Release
    from sfumato.session.door import Door

Answers: TypeAlias = "list[Release] | dict[str, Release]"


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Batch:
    """Questions to tables of one session that are paid for at once.

    What several of them need is measured once: the count beside a mean in one question is the count
    in another, rows are truncated once for all that ask the same groups of the same table.

    `explain` is free and reads nothing; `release` pays.
    """

    door: Door
    names: tuple[str, ...] | None
    questions: tuple[Question, ...]
    weights: tuple[Fraction, ...]

    def __init__(
        self,
        door: Door,
        questions: Sequence[Question] | Mapping[str, Question],
        weights: Sequence[Exactable] | Mapping[str, Exactable] | None = None,
    ) -> None:
        """Check that the questions can be asked together.

        Args:
            door: through which they are asked.
            questions: a list, or a mapping that names them.
            weights: how much of the price each may take, in proportion; evenly, if not given.
        """
        named = isinstance(questions, Mapping)
        listed = questions.values() if isinstance(questions, Mapping) else questions
        asked = tuple(listed) if isinstance(listed, Iterable) else ()
        if not asked or not all(isinstance(each, Question) for each in asked):
            raise InputError(
                "a batch is made of questions that were not asked yet, such as "
                "session.batch([trips.count(), trips.group_by('zone').mean('fare')])."
            )
        if any(each.session != asked[0].session for each in asked):
            raise InputError(
                "the questions of a batch are paid for at once, so that all of them are asked of "
                "the same part of a partition, or in the same scope. Make one batch for each."
            )
        if _outermost(asked[0].session) is not door:
            raise InputError("these questions are those of another session. Ask that one.")
        for place, each in enumerate(asked):
            if each.purchases:
                raise InputError(
                    f"question {place + 1} buys its caps or ranges before it is asked, and a batch "
                    f"is fixed before anything is read. Ask it by itself, or declare caps and "
                    f"bounds."
                )
        object.__setattr__(self, "door", asked[0].session)
        object.__setattr__(self, "names", tuple(map(str, questions)) if named else None)
        object.__setattr__(self, "questions", asked)
        object.__setattr__(self, "weights", _weights(weights, questions))

    def explain(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        confidence: Exactable = CONFIDENCE,
    ) -> BatchPlan:
        """Return what all would cost and how far each would err. Free; reads nothing.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price of all together in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise, and less of any for many questions; 0 unless
                passed.
            rho: the price in ρ, instead.
            confidence: the probability with which each interval holds.
        """
        if unnamed:
            raise CostError("a cost is named, so that nobody mistakes it: pass epsilon=, or rho=.")
        return BatchPlan.of(
            self, Budget(epsilon, delta, rho=rho), open_unit(confidence, "confidence")
        )

    def release(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        confidence: Exactable = CONFIDENCE,
        request: str | None = None,
    ) -> Answers:
        """Pay once, and return the answer to each question, in order or by name.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price of all together in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise, and less of any for many questions; 0 unless
                passed.
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
        """Show how many there are."""
        return (
            f"<batch of {len(self.questions)} questions; see .explain(epsilon=...), pay with "
            f".release(epsilon=...)>"
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BatchPlan:
    """What a batch costs and how far its answers err. Nothing was read for it.

    Attributes:
        batch: what is asked.
        target: the price that was set.
        plans: the plan of each question, with the parts that it needs.
        parts: what will be measured, each part once.
        way: how the price is shared, in words.
    """

    batch: Batch
    target: Budget
    plans: tuple[Plan, ...]
    parts: tuple[Any, ...]
    way: str

    @classmethod
    def of(cls, batch: Batch, target: Budget, confidence: Fraction) -> BatchPlan:
        """Share the price among all that has to be measured, and choose mechanisms."""
        found = _together(batch.questions)
        weights: dict[Any, Fraction] = {}
        counted: dict[Any, bool] = {}
        for mine, weight in zip(found, batch.weights, strict=True):
            for asked in mine.asked:
                weights[asked] = max(weight, weights.get(asked, Fraction(0)))
                counted[asked] = bool(mine.served) or counted.get(asked, False)
        whole = sum(weights.values(), Fraction(0))
        shares = [Share(a, w / whole, counted=counted[a]) for a, w in weights.items()]
        way, parts = best(shares, target, confidence, fixed=True) if shares else ("", ())
        chosen = dict(zip(weights, parts, strict=True))
        plans = tuple(
            Plan(
                question, mine, target, tuple(chosen[a] for a in mine.asked), confidence, False
            ).needed
            for question, mine in zip(batch.questions, found, strict=True)
        )
        return cls(batch, target, plans, parts, way)

    @property
    def cost(self) -> Loss:
        """What all answers together will give away."""
        if not self.parts:
            unit = unit_of(self.batch.questions[0].node)
            return Pure(Fraction(0), neighbors=unit.neighbors)
        return accounting.compose([part.loss for part in self.parts])

    @property
    def charge(self) -> Charge:
        """What will be charged."""
        return accounting.charge(self.cost, self.charge_delta, fixed=True)

    @property
    def charge_delta(self) -> Fraction:
        """The δ to charge: what was set, where the sum of ε would be above the price without."""
        plain = accounting.charge(self.cost).epsilon
        limit = self.target.epsilon
        if plain is not None and (limit is None or Fraction(plain, UNIT) <= limit):
            return Fraction(0)
        return self.target.delta

    @property
    def price(self) -> Price:
        """The cost in numbers."""
        return accounting.price(self.cost, self.charge_delta)

    @property
    def sql(self) -> str:
        """The SQL that will run: one statement for all that ask the same groups."""
        return self.batch.questions[0].lowered([part.query for part in self.parts])

    def release(self, *, request: str | None = None) -> Answers:
        """Pay once, and return the answer to each question, in order or by name.

        Args:
            request: an id of your choice; the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        places = {part: place for place, part in enumerate(self.parts)}
        note = (
            f"one of {len(self.plans)} questions that were paid for at once, for {self.charge} in "
            f"all"
        )
        measured: Sequence[Release] = ()
        if self.parts:
            measured = self.batch.door.perform(
                self.parts, request=request, delta=self.charge_delta, fixed=True
            )
        answers = []
        for plan in self.plans:
            mine = [places[part] for part in plan.parts]
            answer = plan.assembled([measured[place] for place in mine], mine)
            answers.append(replace(answer, notes=(*answer.notes, note)))
        if self.batch.names is None:
            return answers
        return dict(zip(self.batch.names, answers, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for programs."""
        return {
            "cost": str(self.charge) if self.parts else "nothing",
            "measured": len(self.parts),
            "questions": [plan.to_dict() for plan in self.plans],
        }

    def __repr__(self) -> str:
        """Show the cost, how far each answer will err, and the notes."""
        cost = self.charge if self.parts else "nothing"
        batch = self.batch
        lines = [
            f"cost      {cost}, of {batch.door.remaining} left",
            f"measures  {len(self.parts)} parts for {len(self.plans)} questions, {self.way}",
        ]
        for place, plan in enumerate(self.plans):
            name = batch.names[place] if batch.names else place + 1
            lines.append(f"\n{name}  {plan.question.asked}")
            sure = percent(plan.confidence)
            lines += [f"  {e.name:<9} {e} at {sure}, {e.mechanism}" for e in plan.expected]
        seen = dict.fromkeys(note for plan in self.plans for note in plan.notes)
        return "\n".join([*lines, "", *(f"note      {note}" for note in seen)])


def _together(asked: Sequence[Question]) -> list[Questions]:
    """Return what each question has to be measured for, with those about the same groups as one.

    They then share one truncation. Not so counts of units, of which more count by themselves.
    """
    alike: dict[Any, list[Question]] = {}
    for question in asked:
        alike.setdefault(_about(question), []).append(question)
    found = {}
    for about, several in alike.items():
        relation, keys, _ = about
        wanted = tuple(dict.fromkeys(w for question in several for w in question.wanted))
        found[about] = measured_of(questions(wanted, relation, keys))
    return [found[_about(question)] for question in asked]


def _about(question: Question) -> tuple[Any, ...]:
    return question.relation, question.keys, counts_units(question.wanted, question.keys)


def _outermost(door: Any) -> Any:
    """Return the session that a door leads into."""
    while hasattr(door, "outer"):
        door = door.outer
    return door


def _weights(given: Any, questions: Any) -> tuple[Fraction, ...]:
    """Return how much each question may take."""
    if given is None:
        return (Fraction(1),) * len(questions)
    if isinstance(questions, Mapping):
        fits = isinstance(given, Mapping) and given.keys() == questions.keys()
        given = [given[name] for name in questions] if fits else ()
    if not isinstance(given, list | tuple) or len(given) != len(questions):
        raise InputError(
            "weights= has one number for each question: a list beside a list, a mapping with the "
            "same names beside a mapping."
        )
    return tuple(positive(weight, "weight") for weight in given)
