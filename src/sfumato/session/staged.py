"""A plan in two stages: first what is bought, then the question with what was found. Free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InputError, NothingFound, SfumatoError
from sfumato.core.loss import Approximate, Concentrated, Loss, Pure
from sfumato.core.number import show, show_above
from sfumato.core.unit import Neighbors
from sfumato.relation.node import unit_of
from sfumato.release.price import Price
from sfumato.release.release import Release
from sfumato.session.part import Part
from sfumato.session.plan import Expectation, Plan
from sfumato.session.purchase import Cap, Clamp
from sfumato.session.sequel import keep_promise

if TYPE_CHECKING:
    from sfumato.session.question import Question

_LEAST = Fraction(2, 5)  # of the price, for the question itself


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StagedPlan:
    """What a question costs that buys its caps or its ranges first. Nothing was read for it.

    It is what a session measures afterwards, too: its later parts follow from the first answers.

    Attributes:
        question: what is asked.
        target: the price that was set.
        first: what is measured to find what is bought, one part for each.
        rest: what is left of the price for the question itself.
        confidence: the probability with which each interval will hold.
    """

    question: Question
    target: Budget
    first: tuple[Part, ...]
    rest: Budget
    confidence: Fraction

    @classmethod
    def of(cls, question: Question, target: Budget, confidence: Fraction) -> StagedPlan:
        """Split the price."""
        bought = question.purchases
        left = 1 - sum((one.share for one in bought), Fraction(0))
        if left < _LEAST:
            raise CostError(
                f"{len(bought)} caps and ranges are to be bought, and too little would be left for "
                f"the question. Declare some of them, or ask in several questions."
            )
        worth = target.epsilon
        if worth is None:
            worth = accounting.epsilon(Concentrated(target.rho or Fraction(0)), Fraction(1, 10**6))
        first = tuple(one.part(_part(target, one.share, pure=True), worth * left) for one in bought)
        rest = _part(target, left)
        plan = cls(question, target, first, rest, confidence)
        # With the least that can be found: what cannot be asked is refused before it is paid for.
        trial = Plan.of(question.least, rest, confidence)
        keep_promise(trial.parts, plan.promised, plan.charge_delta)
        return plan

    # ---- what the kernel measures afterwards ----------------------------------------------------

    @property
    def promised(self) -> Loss:
        """What the question itself gives away at most, whatever was found."""
        return _stated(self.rest, unit_of(self.question.relation).neighbors)

    def written(self) -> Any:
        """Return all that fixes the question, given what was found, for a digest."""
        asked = tuple(
            (w.name, tuple(getattr(w.output, f.name) for f in fields(w.output)))
            for w in self.question.wanted
        )
        return self.question.relation, self.question.keys, asked, self.rest, self.confidence

    def parts(self, answers: Sequence[Release]) -> Sequence[Part]:
        """Return what is measured for the question, with what was found."""
        second = self.second(answers)
        return () if second is None else second.parts

    def second(self, answers: Sequence[Release]) -> Plan | None:
        """Return the plan of the question with what was found; None if a range was not."""
        caps: dict[str, int] = {}
        ranges: dict[str, tuple[Fraction, Fraction]] = {}
        for (one, part), answer in zip(self._bought, answers, strict=True):
            if isinstance(one, Cap):
                caps[one.which] = one.found(part, answer)
            elif (found := one.found(part, answer)) is None:
                return None
            else:
                ranges[one.text] = found
        return Plan.of(self.question.settled(caps, ranges), self.rest, self.confidence)

    # ---- what a reader sees ---------------------------------------------------------------------

    @property
    def cost(self) -> Loss:
        """What the release will give away."""
        return accounting.compose([*(part.loss for part in self.first), self.promised])

    @property
    def charge_delta(self) -> Fraction:
        """The δ to charge beside that of the promise: none."""
        return Fraction(0)

    @property
    def price(self) -> Price:
        """The cost in numbers."""
        return accounting.price(self.cost)

    @property
    def expected(self) -> list[Expectation]:
        """How far each output will err: not known before it is known what is found."""
        return []

    @property
    def sql(self) -> str:
        """The SQL that runs first; what runs then depends on what was found."""
        return self.question.lowered([part.query for part in self.first])

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said before paying."""
        return tuple(one.said(part) for one, part in self._bought)

    @property
    def _bought(self) -> list[tuple[Cap | Clamp, Part]]:
        return list(zip(self.question.purchases, self.first, strict=True))

    @property
    def proof(self) -> str:
        """Why what is measured first has the sensitivity it has."""
        from sfumato.session.proof import proof

        return proof([part.query for part in self.first])

    def release(self, *, request: str | None = None) -> Release:
        """Pay, and return the answer with its intervals.

        Args:
            request: an id of your choice; the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
            NothingFound: a range was not found; paid all the same.
        """
        cost, price = self.cost, self.price
        answers = self.question.session.perform(
            self.first, request=request, delta=self.charge_delta, sequel=self
        )
        found, later = answers[: len(self.first)], answers[len(self.first) :]
        told = tuple(
            one.told(part, answer) for (one, part), answer in zip(self._bought, found, strict=True)
        )
        second = self.second(found) if later else None
        if second is None:
            raise NothingFound(f"{'; '.join(told)}. {self._why(found)}")
        if [part.loss for part in second.parts] != [release.cost for release in later]:
            raise InputError(
                "this answer was stored by a version of sfumato that made something else of what "
                "was found first, and cannot be put together by this one. Use that version."
            )
        answer = second.assembled()(later)
        return replace(answer, cost=cost, price=price, notes=(*told, *answer.notes))

    def _why(self, found: Sequence[Release]) -> str:
        """Say why there is no answer: all of it follows from what was found, which is public."""
        try:
            second = self.second(found)
        except SfumatoError as problem:
            why = f" with that: {problem.message}"
        else:
            if second is None:
                return (
                    "Too few rows, or too little of the price: the charge stands, because not to "
                    "find anything is an answer too. Ask again at a higher price, or declare "
                    "bounds."
                )
            why = " with that. Declare caps and bounds."
        return (
            f"The question cannot be asked{why} The charge stands, because what was found is an "
            f"answer too."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for programs."""
        return {
            "question": repr(self.question),
            "cost": str(accounting.charge(self.cost, self.charge_delta)),
            "groups": self.question.keys.cells,
            "bought": [
                {"what": one.title, "cost": str(accounting.charge(part.loss)), "note": note}
                for (one, part), note in zip(self._bought, self.notes, strict=True)
            ],
            "rest": _shown(self.rest),
            "confidence": float(self.confidence),
            "notes": list(self.notes),
            "proof": self.proof,
            "sql": self.sql,
        }

    def __repr__(self) -> str:
        """Show cost, its split, notes, reasons and SQL."""
        cost = accounting.charge(self.cost, self.charge_delta)
        lines = [f"cost      {cost}, of {self.question.session.remaining} left"]
        for one, part in self._bought:
            lines.append(f"buys      {one.title} for {accounting.charge(part.loss)}")
        lines.append(f"asks      {self.question.asked} for {_shown(self.rest)}, with what is found")
        lines += [f"note      {note}" for note in self.notes]
        why, sql = (text.replace("\n", "\n  ") for text in (self.proof, self.sql))
        return "\n".join([*lines, "", "why", f"  {why}", "", "sql", f"  {sql}"])


def _part(target: Budget, share: Fraction, *, pure: bool = False) -> Budget:
    """Return a share of a price; what is pure takes none of its δ."""
    if target.rho is not None:
        return Budget(rho=target.rho * share)
    return Budget((target.epsilon or Fraction(0)) * share, 0 if pure else target.delta)


def _stated(budget: Budget, neighbors: Neighbors) -> Loss:
    if budget.rho is not None:
        return Concentrated(budget.rho, neighbors=neighbors)
    epsilon = budget.epsilon or Fraction(0)
    if budget.delta:
        return Approximate(epsilon, budget.delta, neighbors=neighbors)
    return Pure(epsilon, neighbors=neighbors)


def _shown(budget: Budget) -> str:
    if budget.rho is not None:
        return f"ρ = {show_above(budget.rho)}"
    delta = f", δ = {show(budget.delta)}" if budget.delta else ""
    return f"ε = {show_above(budget.epsilon or Fraction(0))}{delta}"
