"""A question with a price: what it will cost, how far it will err, and why. Free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato import accounting
from sfumato.accounting.curve import epsilon as enforced_epsilon
from sfumato.core.budget import Budget
from sfumato.core.errors import KeysError
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import open_unit, show_above
from sfumato.relation import Aggregate, Quantity, Rows
from sfumato.relation.node import sources, unit_of
from sfumato.release.format import percent
from sfumato.release.price import Price
from sfumato.release.ratio import Ratio
from sfumato.release.release import Release
from sfumato.release.spread import Spread
from sfumato.session.answer import Recipe
from sfumato.session.asked import question_in_words
from sfumato.session.part import Part
from sfumato.session.planner import assigned
from sfumato.session.proof import notes, proof

if TYPE_CHECKING:
    from sfumato.session.question import Question

PEOPLE = 1000  # where the error depends on the size of a group, it is shown for this many


@dataclass(frozen=True, slots=True)
class Expectation:
    """How far one output will err, known before anything is read.

    Attributes:
        name: the output.
        mechanism: the noise.
        halfwidth: how far its interval will reach; for a mean, in a group of 1,000 people whose
            mean is in the middle of the range; for a variance, whose values are also spread evenly
            over the range.
        worst: the same where the mean is at the end of the range, or wherever a variance errs most;
            else equal.
        per: 1,000 where the error depends on the size of the group; else None.
    """

    name: str
    mechanism: str
    halfwidth: Fraction
    worst: Fraction
    per: int | None

    def __str__(self) -> str:
        """Write it for people."""
        if self.per is None:
            return f"±{show_above(self.halfwidth)}"
        return (
            f"±{show_above(self.halfwidth)} to ±{show_above(self.worst)} in a group of {self.per:,}"
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Plan:
    """What a question costs and how far it errs. Nothing was read for it.

    Attributes:
        question: what is asked.
        target: the price that was set.
        parts: what will be measured, with the noise of each.
        confidence: the probability with which each interval will hold.
    """

    question: Question
    target: Budget
    parts: tuple[Part, ...]
    confidence: Fraction

    @classmethod
    def of(cls, question: Question, target: Budget, confidence: Fraction) -> Plan:
        """Choose the noise."""
        asked = [query for query in question.queries if not _fixed(query)]
        for query in question.queries:
            if _fixed(query) and sources(query.node)[0].rows is None:
                raise KeysError(
                    "under 'replace' neighbors no unit can change how many rows there are, so that "
                    "the count is public, and it is not read off the data. Declare it: rows=1000."
                )
        parts = assigned(asked, target) if asked else []
        return cls(question, target, tuple(parts), open_unit(confidence, "confidence"))

    @property
    def cost(self) -> Loss:
        """What the release will give away."""
        if not self.parts:
            return Pure(Fraction(0), neighbors=unit_of(self.question.node).neighbors)
        return accounting.compose([part.loss for part in self.parts])

    @property
    def price(self) -> Price:
        """The cost in numbers: at the δ that was set, if one was."""
        if not self.target.delta:
            return accounting.price(self.cost)
        delta = self.charge_delta
        return Price(enforced_epsilon(self.cost, delta), delta, accounting.rho(self.cost))

    @property
    def charge_delta(self) -> Fraction:
        """The δ to charge: what was set, where the noise needs one."""
        needs = accounting.charge(self.cost).epsilon is None
        return self.target.delta if needs else Fraction(0)

    @property
    def sql(self) -> str:
        """The SQL that will run."""
        return self.question.sql

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer will say about clamping, truncation and groups."""
        found = [*notes(self.question.queries), *self.question.remarks]
        functions = {wanted.output.function for wanted in self.question.wanted}
        for word, names in (("mean", {"mean"}), ("variance", {"variance", "std"})):
            if functions & names:
                found.append(
                    f"a {word} whose interval is the whole range is not known at this price"
                )
        return tuple(found)

    @property
    def proof(self) -> str:
        """Why each measured quantity has the sensitivity it has."""
        return proof(self.question.queries)

    @property
    def recipes(self) -> list[Recipe]:
        """How each output is made of the parts."""
        parts = {part.query.quantity: part for part in self.parts}
        public: dict[Quantity, int] = {
            query.quantity: sources(query.node)[0].rows or 0
            for query in self.question.queries
            if _fixed(query)
        }
        return [Recipe(wanted, parts, public) for wanted in self.question.wanted]

    @property
    def expected(self) -> list[Expectation]:
        """How far each output will err."""
        found = []
        for recipe in self.recipes:
            error, name = recipe.error, recipe.wanted.name
            if isinstance(error, Ratio | Spread):
                half, worst = error.expected_halfwidth(PEOPLE, self.confidence)
                found.append(Expectation(name, recipe.mechanism, half, worst, PEOPLE))
            else:
                half = Fraction(0) if error is None else error.halfwidth(self.confidence)
                found.append(Expectation(name, recipe.mechanism, half, half, None))
        return found

    def release(self, *, request: str | None = None) -> Release:
        """Pay, and return the answer with its intervals.

        Args:
            request: an id of your choice; the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        # All that can be said before paying is said before paying: then nothing can fail after it.
        keys = tuple((name, tuple(values)) for name, values in self.question.keys.table().items())
        cost, price, recipes = self.cost, self.price, self.recipes
        told = question_in_words(self.question.wanted, self.question.queries[0])
        notes = (*self.notes, *told)
        measured: Sequence[Release] = ()
        if self.parts:
            measured = self.question.session.perform(
                self.parts, request=request, delta=self.charge_delta
            )
        noisy = {
            part.query.quantity: release.measures[0].values
            for part, release in zip(self.parts, measured, strict=True)
        }
        return Release(
            keys,
            tuple(recipe.measure(noisy, self.confidence) for recipe in recipes),
            self.confidence,
            cost,
            price,
            unit_of(self.question.node),
            notes,
            measured[0].receipt if measured else None,
            durable=bool(measured and measured[0].durable),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for programs."""
        return {
            "question": repr(self.question),
            "cost": str(accounting.charge(self.cost, self.charge_delta)),
            "groups": len(self.question.keys),
            "expected": [
                {
                    "name": e.name,
                    "mechanism": e.mechanism,
                    "halfwidth": float(e.halfwidth),
                    "worst_halfwidth": float(e.worst),
                    "per_people": e.per,
                }
                for e in self.expected
            ],
            "confidence": float(self.confidence),
            "notes": list(self.notes),
            "proof": self.proof,
            "sql": self.sql,
        }

    def __repr__(self) -> str:
        """Show cost, errors, notes, reasons and SQL."""
        cost = accounting.charge(self.cost, self.charge_delta) if self.parts else "nothing"
        lines = [
            f"cost      {cost}, of {self.question.session.remaining} left",
            f"answers   {len(self.question.keys):,} × {len(self.question.wanted)}",
        ]
        sure = percent(self.confidence)
        lines += [f"{e.name:<9} {e} at {sure}, {e.mechanism}" for e in self.expected]
        lines += [f"note      {note}" for note in self.notes]
        return "\n".join([*lines, "", "why", _indent(self.proof), "", "sql", _indent(self.sql)])


def _fixed(query: Aggregate) -> bool:
    """Say whether no unit can change the answer."""
    unit = unit_of(query.node)
    return isinstance(query.quantity, Rows) and query.sensitivity(unit).is_zero


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
