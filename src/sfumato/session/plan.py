"""A question with a price: what it will cost, how far it will err, and why. Free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato import accounting
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InternalError, KeysError
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import show_above
from sfumato.relation import Aggregate, BoughtKeys, Known, Occurrence, Quantity, Rows
from sfumato.relation.node import copies, sources, unit_of
from sfumato.release.format import approximate, percent
from sfumato.release.key import KeyColumn
from sfumato.release.measure import Measure
from sfumato.release.noisy import Noisy
from sfumato.release.price import Price
from sfumato.release.ratio import Ratio
from sfumato.release.release import Release
from sfumato.release.saturation import LARGEST
from sfumato.release.spread import Spread
from sfumato.session.alternative import Alternative, alternatives
from sfumato.session.answer import Ranked, Recipe, Single, noise_of
from sfumato.session.asked import question_in_words
from sfumato.session.assignment import best
from sfumato.session.part import Asked, Part
from sfumato.session.planner import Questions
from sfumato.session.proof import notes, plural, proof, title
from sfumato.session.race import Level, Raced, too_low
from sfumato.session.ranks import Ranks, Sought, sought_by
from sfumato.session.within import priced, wishes

if TYPE_CHECKING:
    from sfumato.session.question import Question
    from sfumato.session.wanted import Wanted

ROOM = 10**6  # rows at the end of their range for which a total should have room
PEOPLE = 1000  # where the error depends on the size of a group, it is shown for this many

AnyRecipe: TypeAlias = Recipe | Single | Ranked | Raced


@dataclass(frozen=True, slots=True)
class Expectation:
    """How far one output will err, known before anything is read.

    Attributes:
        name: the output.
        mechanism: the noise.
        halfwidth: how far its interval will reach; for a mean, in a group of 1,000 people whose
            mean is in the middle of the range; for a variance, whose values are also spread evenly
            over the range; for a race, how far it will be below if no unit adds more than its
            first level.
        worst: the same where the mean is at the end of the range, or wherever a variance errs most,
            or for the last level of a race; else equal.
        per: 1,000 where the error depends on the size of the group; else None.
        ranks: whether it is counted in ranks, and not in the unit of the values.
        levels: those of a race.
    """

    name: str
    mechanism: str
    halfwidth: Fraction
    worst: Fraction
    per: int | None
    ranks: bool = False
    levels: tuple[Level, ...] = ()

    def __str__(self) -> str:
        """Write it for people."""
        if self.levels:
            return too_low(self.levels)
        if self.per is None:
            return f"±{show_above(self.halfwidth)}{' ranks' * self.ranks}"
        return (
            f"±{show_above(self.halfwidth)} to ±{show_above(self.worst)} in a group of {self.per:,}"
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Plan:
    """What a question costs and how far it errs. Nothing was read for it.

    Attributes:
        question: what is asked.
        found: what has to be measured for it.
        target: the price that was set, or found.
        parts: what will be measured, with the mechanism of each.
        confidence: the probability with which each interval will hold.
        searched: whether the price was set, and ways to answer for it compared.
        fitted: how far outputs err once they are made to add up with those of other plans.
    """

    question: Question
    found: Questions
    target: Budget
    parts: tuple[Part, ...]
    confidence: Fraction
    searched: bool = True
    fitted: tuple[Expectation, ...] = ()

    @classmethod
    def of(cls, question: Question, target: Budget, confidence: Fraction) -> Plan:
        """Choose mechanisms for a price."""
        found = measured_of(question.found)
        parts = best(found.shares, target, confidence)[1] if found.asked else ()
        return cls(question, found, target, parts, confidence)

    @classmethod
    def within(cls, question: Question, accuracy: Any, delta: Fraction) -> Plan:
        """Choose noise for a wish, and find its price."""
        if raced := next((w for w in question.wanted if w.is_race), None):
            raise CostError(
                f"how far {raced.output!r} is below the exact number depends on how much one unit "
                f"adds, which nobody knows, so that no price can be found for it. Set epsilon=; "
                f"explain says how far it is below for some numbers. Or declare the most with "
                f"max_rows= or per_unit=(0, 300)."
            )
        asked = wishes(accuracy, question.wanted)
        found = measured_of(question.plain)
        if not found.asked:
            raise CostError("this answer is declared, and costs nothing. Leave out accuracy=.")
        parts, target = priced(found, question.wanted, asked, delta)
        sure = max(wish.confidence for wish in asked.values())
        return cls(question, found, target, tuple(parts), sure, searched=False)

    @property
    def cost(self) -> Loss:
        """What the release will give away."""
        if not self.parts:
            return Pure(Fraction(0), neighbors=unit_of(self.question.node).neighbors)
        return accounting.compose([part.loss for part in self.parts])

    @property
    def price(self) -> Price:
        """The cost in numbers: at the δ that was set, if one was."""
        return accounting.price(self.cost, self.charge_delta)

    @property
    def charge_delta(self) -> Fraction:
        """The δ to charge: what was set, where the noise needs one."""
        needs = accounting.charge(self.cost).epsilon is None
        return self.target.delta if needs else Fraction(0)

    @property
    def sql(self) -> str:
        """The SQL that will run."""
        return self.question.lowered(self.found.queries)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer will say about clamping, truncation and groups."""
        found = [
            *notes(self._told),
            *self._selected,
            *self._framed,
            *self._room,
            *(each.said(self.confidence) for each in self.recipes if isinstance(each, Raced)),
            *self.question.remarks,
        ]
        functions = {wanted.output.function for wanted in self.question.wanted}
        for word, names in (("mean", {"mean"}), ("variance", {"variance", "std"})):
            if functions & names:
                found.append(
                    f"a {word} whose interval is the whole range is not known at this price"
                )
        return tuple(found)

    @property
    def _told(self) -> tuple[Asked, ...]:
        """The questions of which notes tell; what levels of a race clamp, the race tells itself."""
        levels, told = self._levels, dict[Asked, None]()
        for query in self.question.queries:
            level = isinstance(query, Aggregate) and query in levels
            told[Aggregate(query.node, query.keys, Rows()) if level else query] = None
        return tuple(told)

    @property
    def _levels(self) -> set[Aggregate]:
        """The questions that are levels of a race."""
        found = self.question.found.alone
        return {query for w, queries in found if w.is_race for query in queries}

    @property
    def _selected(self) -> list[str]:
        """What is said about groups that nobody listed."""
        selections = [p.mechanism for p in self.parts if isinstance(p.query, Occurrence)]
        return [selection.said for selection in selections]

    @property
    def _framed(self) -> list[str]:
        """What is said about intervals that are bought for quantiles."""
        found = []
        for recipe in self.recipes:
            if isinstance(recipe, Ranked) and recipe.wanted.function in ("min", "max"):
                part, place = recipe.sought[0]
                inside = ceil(abs(part.mechanism.targets[place][1]))
                found.append(
                    f"{recipe.wanted.name} is sought {inside:,} ranks inside, and says nothing of "
                    f"groups with fewer values"
                )
            if isinstance(recipe, Ranked) and len(recipe.sought) > 1:
                found.append(
                    f"the interval of {recipe.wanted.name} holds in groups of {recipe.least:,} "
                    f"values or more: in smaller ones its ends would be sought beyond the values"
                )
        return found

    @property
    def _room(self) -> list[str]:
        """What is said about totals that few rows suffice to bring to their end."""
        found, levels = [], self._levels
        for part in self.parts:
            if not isinstance(part.query, Aggregate) or part.query in levels:
                continue  # a level that is cut is below the exact number all the same
            rows = LARGEST // max(1, *map(abs, part.query.extent))
            if rows < ROOM:
                found.append(
                    f"{title(part.query)} has room for {plural(rows, 'row')} at the end of the "
                    f"range: a total beyond is cut, and its interval then left open. A coarser "
                    f"step or a narrower range makes room"
                )
        return found

    @property
    def proof(self) -> str:
        """Why each measured quantity has the sensitivity it has."""
        return proof(tuple(dict.fromkeys(self.found.queries)) or self.question.queries)

    @property
    def recipes(self) -> list[AnyRecipe]:
        """How each output is made of the parts."""
        question = self.question
        parts: dict[Quantity, Part] = {}
        for part in self.parts:
            if isinstance(part.query, Occurrence):
                parts |= dict.fromkeys(self.found.served, part)
            elif isinstance(part.query, Aggregate) and part.query.node == self.found.node:
                parts[part.query.quantity] = part
        public: dict[Quantity, int] = {
            query.quantity: sources(query.node)[0].rows or 0
            for query in question.queries
            if isinstance(query, Aggregate) and _fixed(query)
        }
        return [self._recipe(wanted, parts, public) for wanted in question.wanted]

    def _recipe(
        self, wanted: Wanted, parts: dict[Quantity, Part], public: dict[Quantity, int]
    ) -> AnyRecipe:
        if wanted.stands_alone:
            mine = {part.query: part for part in self.parts}
            own = tuple(mine[query] for query in self.found.own(wanted))
            return Raced(wanted, own) if wanted.is_race else Single(wanted, *own)
        if wanted.is_rank:
            return Ranked(wanted, tuple(self._place(wanted, s) for s in sought_by(wanted.output)))
        return Recipe(wanted, parts, public)

    def _place(self, wanted: Wanted, sought: Sought) -> tuple[Part, int]:
        """Return the part that seeks a rank, and which of those that it seeks it is."""
        for part, asked in zip(self.parts, self.found.asked, strict=True):
            if not isinstance(asked, Ranks) or asked.bag.expr != wanted.expr:
                continue
            if sought in asked.sought:
                return part, asked.sought.index(sought)
        raise InternalError("a rank that is asked for is not sought.")

    @property
    def expected(self) -> list[Expectation]:
        """How far each output will err."""
        found = []
        for recipe in self.recipes:
            name = recipe.wanted.name
            if isinstance(recipe, Raced):
                levels = recipe.levels(self.confidence)
                half, worst = levels[0].below, levels[-1].below
                found.append(Expectation(name, recipe.mechanism, half, worst, None, levels=levels))
                continue
            error = recipe.error
            if isinstance(recipe, Ranked):
                half = recipe.error.halfwidth(self.confidence)
                found.append(Expectation(name, recipe.mechanism, half, half, None, ranks=True))
            elif isinstance(error, Ratio | Spread):
                half, worst = error.expected_halfwidth(PEOPLE, self.confidence)
                found.append(Expectation(name, recipe.mechanism, half, worst, PEOPLE))
            else:
                half = Fraction(0) if error is None else error.halfwidth(self.confidence)
                found.append(Expectation(name, recipe.mechanism, half, half, None))
        better = {each.name: each for each in self.fitted}
        return [better.get(each.name, each) for each in found]

    def release(self, *, request: str | None = None) -> Release:
        """Pay, and return the answer with its intervals.

        Args:
            request: an id of your choice; the same id is the same request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        finish = self.assembled()
        measured: Sequence[Release] = ()
        if self.parts:
            measured = self.question.session.perform(
                self.parts, request=request, delta=self.charge_delta
            )
        return finish(measured)

    def assembled(
        self, places: Sequence[int] | None = None
    ) -> Callable[[Sequence[Release]], Release]:
        """Return what puts the answer together, given releases of the parts.

        All that can be said before paying is said here: then nothing can fail after it.

        Args:
            places: where the parts stand among all that are charged together, if there are others.
        """
        told = question_in_words(self.question.wanted, self.question.queries[0])
        said = (self.cost, self.price, self.recipes, (*self.notes, *told))
        return lambda measured: self._assembled(measured, *said, places)

    def _assembled(
        self,
        measured: Sequence[Release],
        cost: Loss,
        price: Price,
        recipes: Sequence[AnyRecipe],
        notes: tuple[str, ...],
        places: Sequence[int] | None,
    ) -> Release:
        noisy = dict(zip(self.parts, measured, strict=True))
        receipt = measured[0].receipt if measured else None
        places = range(len(self.parts)) if places is None else places
        # The name of a draw: answers that share one are known to err alike.
        draws = {
            part: f"{receipt}, part {place}" for part, place in zip(noisy, places, strict=True)
        }
        tables = sources(self.question.node)
        races = [recipe for recipe in recipes if isinstance(recipe, Raced)]
        won = [race.told(_held(race, noisy), self.confidence) for race in races]
        notes = (*won, *self._cut(recipes, noisy), *notes)
        answer = Release(
            self._keys(noisy),
            tuple(
                self._measure(recipe, noisy).replaced(form=recipe.form(draws)) for recipe in recipes
            ),
            self.confidence,
            cost,
            price,
            unit_of(self.question.node),
            notes,
            receipt,
            durable=bool(measured and measured[0].durable),
            noisy=tuple(_drawn(draws[p], p, release) for p, release in noisy.items() if _adds(p)),
            # A row that comes several times is no random draw of its own.
            sampled=all(table.sampled for table in tables) and copies(self.question.node) == 1,
        )
        if self.question.first is None:
            return answer
        return answer.sort(answer.measures[0].name, descending=True).head(self.question.first)

    def _cut(self, recipes: Sequence[AnyRecipe], noisy: Mapping[Part, Release]) -> list[str]:
        """Say which intervals are open, because a total may lie beyond what is computed."""
        found: dict[str, list[str]] = {}
        for recipe in recipes:
            if isinstance(recipe, Ranked | Raced):
                continue
            values = {part: noisy[part].measures[0].held("values") for part in recipe.used}
            if isinstance(recipe, Single):
                marks = recipe.open(values[recipe.part], self.confidence)
            else:
                marks = recipe.open(_by_quantity(recipe, values), self.confidence)
            if cells := int(marks.either.sum()):
                where = f" in {plural(cells, 'group')}" if self.question.keys.columns else ""
                found.setdefault(where, []).append(recipe.wanted.name)
        return [
            f"of {', '.join(names)} the interval is open"
            f"{where}, and its far end no estimate: totals are cut at 2^63 - 1 steps, and one may "
            f"lie beyond. Ask with a coarser step or a narrower range"
            for where, names in found.items()
        ]

    def _keys(self, noisy: Mapping[Part, Release]) -> tuple[KeyColumn, ...]:
        """Return the values that name the groups: public, or those that appeared."""
        keys = self.question.keys
        if not isinstance(keys, BoughtKeys):
            return tuple((name, tuple(values)) for name, values in keys.table().items())
        appeared = next(r for part, r in noisy.items() if isinstance(part.query, Occurrence))
        if not keys.other:
            return appeared.keys
        return tuple((name, (*values, None)) for name, values in appeared.keys)

    def _measure(self, recipe: AnyRecipe, noisy: Mapping[Part, Release]) -> Measure:
        if isinstance(recipe, Ranked):
            found = [
                noisy[part].measures[0].values[place :: len(part.mechanism.targets)]
                for part, place in recipe.sought
            ]
            return recipe.measure(found, self.confidence)
        if isinstance(recipe, Raced):
            return recipe.measure(_held(recipe, noisy), self.confidence)
        values = {part: noisy[part].measures[0].held("values") for part in recipe.used}
        if isinstance(recipe, Single):
            return recipe.measure(values[recipe.part], self.confidence)
        return recipe.measure(_by_quantity(recipe, values), self.confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for programs."""
        return {
            "question": repr(self.question),
            "cost": str(accounting.charge(self.cost, self.charge_delta)),
            "groups": self.question.keys.cells,
            "expected": [
                {
                    "name": e.name,
                    "mechanism": e.mechanism,
                    "halfwidth": approximate(e.halfwidth),
                    "worst_halfwidth": approximate(e.worst),
                    "per_people": e.per,
                    "in_ranks": e.ranks,
                    **({"levels": [each.to_dict() for each in e.levels]} if e.levels else {}),
                }
                for e in self.expected
            ],
            "confidence": float(self.confidence),
            "instead": [str(each) for each in self.alternatives],
            "notes": list(self.notes),
            "proof": self.proof,
            "sql": self.sql,
        }

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """What might have been done instead at this price, and how far it would have erred."""
        return tuple(alternatives(self)) if self.parts and self.searched else ()

    @property
    def _groups(self) -> str:
        cells = self.question.keys.cells
        return "the groups that appear" if cells is None else f"{cells:,}"

    def __repr__(self) -> str:
        """Show cost, errors, notes, reasons and SQL."""
        cost = accounting.charge(self.cost, self.charge_delta) if self.parts else "nothing"
        lines = [
            f"cost      {cost}, of {self.question.session.remaining} left",
            f"answers   {self._groups} × {len(self.question.wanted)}",
        ]
        sure = percent(self.confidence)
        for e in self.expected:
            lines.append(f"{e.name:<9} {e} at {sure}, {e.mechanism}")
            lines += [f"level     {level}" for level in e.levels]
        lines += [f"instead   {each}" for each in self.alternatives]
        lines += [f"note      {note}" for note in self.notes]
        return "\n".join([*lines, "", "why", _indent(self.proof), "", "sql", _indent(self.sql)])


def _by_quantity(
    recipe: Recipe, values: Mapping[Part, Sequence[int]]
) -> dict[Quantity, Sequence[int]]:
    """Return the noisy numbers of the parts that a recipe is made of."""
    return {q: values[part] for q, part in recipe.parts.items() if part in values}


def _held(recipe: Raced, noisy: Mapping[Part, Release]) -> list[Sequence[int]]:
    """Return the noisy totals of the levels of a race."""
    return [noisy[part].measures[0].held("values") for part in recipe.parts]


def _adds(part: Part) -> bool:
    """Say whether a part is whole numbers with noise added, and not a choice."""
    return part.mechanism.noise_scale is not None


def _drawn(name: str, part: Part, release: Release) -> Noisy:
    query = part.query
    counts = isinstance(query, Aggregate) and isinstance(query.quantity, Rows | Known)
    return Noisy(name, noise_of(part), release.measures[0].values, count=counts)


def measured_of(found: Questions) -> Questions:
    """Leave out what no unit can change: it is declared.

    Raises:
        KeysError: it is not declared.
    """
    public = [query for query in found.queries if _fixed(query)]
    if any(sources(query.node)[0].rows is None for query in public):
        raise KeysError(
            "under 'replace' neighbors no unit can change how many rows there are, so that the "
            "count is public, and it is not read off the data. Declare it: rows=1000."
        )
    return replace(found, asked=tuple(each for each in found.asked if each not in public))


def _fixed(query: Asked) -> bool:
    """Say whether no unit can change the answer."""
    unit = unit_of(query.node)
    return (
        isinstance(query, Aggregate)
        and isinstance(query.quantity, Rows)
        and query.sensitivity(unit).is_zero
    )


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
