"""Questions that are asked together: one plan, fixed before anything is read, and one charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato import accounting
from sfumato.accounting.grid import UNIT
from sfumato.core.budget import Budget
from sfumato.core.codec import digest
from sfumato.core.errors import CostError, InputError, UnknownName
from sfumato.core.listing import listed
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, open_unit, positive
from sfumato.relation.node import unit_of
from sfumato.release.format import percent
from sfumato.release.measure import is_unicode
from sfumato.release.price import Price
from sfumato.session.asked import question_in_words
from sfumato.session.assignment import Share, best
from sfumato.session.plan import Plan, measured_of
from sfumato.session.planner import Questions, counts_units
from sfumato.session.question import CONFIDENCE, Question
from sfumato.session.target import target

if TYPE_CHECKING:
    from sfumato.accounting import Charge
    from sfumato.release.release import Release
    from sfumato.session.door import Door

Answers: TypeAlias = "list[Release] | dict[str, Release]"


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Batch:
    """Questions to tables of one session that are paid for at once.

    What several of them need is measured once: the count beside a mean in one question is the count
    in another, and rows are truncated once for all that ask the same groups of the same rows.

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
            weights: how much of the price each part of a question may take, in proportion;
                evenly, if not given.
        """
        named = isinstance(questions, Mapping)
        asked = listed(questions.values() if isinstance(questions, Mapping) else questions)
        names = tuple(questions) if isinstance(questions, Mapping) else ()
        if not asked or not all(isinstance(name, str) and is_unicode(name) for name in names):
            raise _nothing("it has none, or names that are not text")
        for place, each in enumerate(asked):
            called = f"question {place + 1}" + (f" ({names[place]!r})" if named else "")
            if not isinstance(each, Question):
                kind = type(each).__name__
                sql = ". SQL is asked by itself: session.sql(text, epsilon=...)"
                raise _nothing(
                    f"{called} is {_article(kind)}{sql if kind in ('str', 'SqlPlan') else ''}"
                )
            if _outermost(each.session) is not door:
                raise InputError(f"{called} is one of another session. Ask that one.")
            if each.session != asked[0].session:
                raise InputError(
                    f"{called} is asked of another part of a partition, or in another scope, and a "
                    f"batch is paid for at once. Make one batch for each."
                )
            if each.purchases:
                raise InputError(
                    f"{called} buys its caps or ranges before it is asked, and a batch is fixed "
                    f"before anything is read. Ask it by itself, or declare caps and bounds."
                )
        object.__setattr__(self, "door", asked[0].session)
        object.__setattr__(self, "names", names if named else None)
        object.__setattr__(self, "questions", asked)
        object.__setattr__(self, "weights", _weights(weights, len(asked), names))

    def explain(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        accuracy: object = None,
        confidence: Exactable = CONFIDENCE,
    ) -> BatchPlan:
        """Return what all would cost and how far each would err. Free; reads nothing.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price of all together in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise, and less of any for many questions; 0 unless
                passed.
            rho: the price in ρ, instead.
            accuracy: nothing; a batch is asked at a price.
            confidence: the probability with which each interval holds.
        """
        if unnamed:
            raise CostError("a cost is named, so that nobody mistakes it: pass epsilon=, or rho=.")
        if accuracy is not None:
            raise CostError(
                "a batch is asked at one price for all: set epsilon= or rho=. explain(...) says "
                "how far each answer will err, and weights= gives some more of the price."
            )
        price = target(epsilon, delta, rho, left=lambda: self.door.remaining)
        return BatchPlan.of(self, price, open_unit(confidence, "confidence"))

    def release(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        accuracy: object = None,
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
            accuracy: nothing; a batch is asked at a price.
            confidence: the probability with which each interval holds.
            request: an id of your choice, for whoever has to retry: the same id is the same
                request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        plan = self.explain(
            *unnamed,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            accuracy=accuracy,
            confidence=confidence,
        )
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
        levels: dict[Any, int] = {}
        for mine, weight in zip(found, batch.weights, strict=True):
            for asked in mine.asked:
                among = mine.levels(asked)
                levels[asked] = min(among, levels.get(asked, among))
                weights[asked] = max(weight / among, weights.get(asked, Fraction(0)))
                counted[asked] = bool(mine.served) or counted.get(asked, False)
        whole = sum(weights.values(), Fraction(0))
        shares = [
            Share(a, w / whole, counted=counted[a], levels=levels[a]) for a, w in weights.items()
        ]
        # In an order of their own: whoever asks the same in another one asks the same.
        shares.sort(key=lambda share: (digest(share.query), repr(share.asked)))
        way, parts = best(shares, target, confidence, fixed=True) if shares else ("", ())
        chosen = {share.asked: part for share, part in zip(shares, parts, strict=True)}
        plans = tuple(
            Plan(
                question,
                mine,
                target,
                tuple(chosen[asked] for asked in mine.asked),
                confidence,
                searched=False,
            )
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
        """The cost in numbers: those that are charged, where there is an ε."""
        found = self.charge
        if found.epsilon is None:
            return accounting.price(self.cost, self.charge_delta)
        rho = None if found.rho is None else Fraction(found.rho, UNIT)
        return Price(Fraction(found.epsilon, UNIT), Fraction(found.delta, UNIT), rho)

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
        mine = [[places[part] for part in plan.parts] for plan in self.plans]
        finish = [plan.assembled(where) for plan, where in zip(self.plans, mine, strict=True)]
        measured: Sequence[Release] = ()
        if self.parts:
            measured = self.batch.door.perform(
                self.parts, request=request, delta=self.charge_delta, fixed=True
            )
        answers = []
        for put_together, where in zip(finish, mine, strict=True):
            answer = put_together([measured[place] for place in where])
            answers.append(replace(answer, notes=(*answer.notes, note)))
        if self.batch.names is None:
            return answers
        named = zip(self.batch.names, answers, strict=True)
        return {name: replace(answer, question=name) for name, answer in named}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for programs."""
        names = self.batch.names or range(len(self.plans))
        return {
            "cost": str(self.charge) if self.parts else "nothing",
            "measured": len(self.parts),
            "questions": [
                {"name": name, **plan.to_dict()}
                for name, plan in zip(names, self.plans, strict=True)
            ],
        }

    def __getitem__(self, name: str | int) -> Plan:
        """Return the plan of one question, by its name or its place in the list."""
        if self.batch.names is not None and name in self.batch.names:
            return self.plans[self.batch.names.index(str(name))]
        if self.batch.names is None and isinstance(name, int) and 0 <= name < len(self.plans):
            return self.plans[name]
        raise UnknownName(f"no question {name!r} here; see explain(...).plans for all of them.")

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
            *_, rows = question_in_words(plan.question.wanted, plan.question.queries[0])
            lines.append(f"\n{name}  {plan.question.asked}, {rows}")
            sure = percent(plan.confidence)
            lines += [f"  {e.name:<9} {e} at {sure}, {e.mechanism}" for e in plan.expected]
        seen = dict.fromkeys(note for plan in self.plans for note in plan.notes)
        lines += ["", *(f"note      {note}" for note in seen)]
        shown = batch.names[0] if batch.names else 0
        return "\n".join([*lines, f"sql       see .sql, or [{shown!r}].sql for one question"])


def _together(asked: Sequence[Question]) -> list[Questions]:
    """Return what has to be measured for each question, planned beside others of the same groups.

    They then share one truncation. Not so counts of units, of which more count by themselves.
    """
    alike: dict[Any, list[Question]] = {}
    for question in asked:
        alike.setdefault(_about(question), []).append(question)
    found = {
        about: measured_of(several[0].beside([w for each in several for w in each.wanted]))
        for about, several in alike.items()
    }
    return [found[_about(question)].only(question.wanted) for question in asked]


def _about(question: Question) -> tuple[Any, ...]:
    return question.relation, question.keys, counts_units(question.wanted, question.keys)


def _outermost(door: Any) -> Any:
    """Return the session that a door leads into."""
    while hasattr(door, "outer"):
        door = door.outer
    return door


def _nothing(why: str) -> InputError:
    return InputError(
        f"a batch is made of questions that were not asked yet, such as session.batch([trips."
        f"count(), trips.group_by('zone').mean('fare')]), and {why}."
    )


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _weights(given: Any, count: int, names: tuple[str, ...]) -> tuple[Fraction, ...]:
    """Return how much each question may take."""
    if given is None:
        return (Fraction(1),) * count
    if names and isinstance(given, Mapping):
        if wrong := [name for name in (*given, *names) if (name in given) != (name in names)]:
            raise InputError(
                f"weights= has the names of the questions, each once, and {wrong[0]!r} is in one "
                f"of the two only. The names are: {', '.join(names)}."
            )
        given = [given[name] for name in names]
    if not isinstance(given, list | tuple) or len(given) != count:
        raise InputError(
            "weights= has one number for each question: a list beside a list, a mapping with the "
            "same names beside a mapping."
        )
    return tuple(positive(weight, "weight") for weight in given)
