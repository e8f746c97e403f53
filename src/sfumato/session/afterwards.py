"""What a question in SQL computes once its numbers are released: free, and it never fails.

Whatever can go wrong is found on made-up numbers of the same kinds, before anything is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import InputError
from sfumato.relation import BoughtKeys
from sfumato.relation.kind import Day, Instant, Kind, Number, Words, value
from sfumato.release import derived
from sfumato.release.derive import endless, where
from sfumato.release.format import printable
from sfumato.release.language import names, parse
from sfumato.release.measure import Measure
from sfumato.release.noisy import Noisy
from sfumato.release.release import Release
from sfumato.session.answer import noise_of
from sfumato.session.foresight import least_noisy
from sfumato.session.plan import Plan
from sfumato.session.proof import plural
from sfumato.session.staged import StagedPlan
from sfumato.session.subtotal import adding_up, stacked

if TYPE_CHECKING:
    from sfumato.session.batch import BatchPlan
    from sfumato.sql.question import Order, Shown, SqlQuestion

_LARGE = 10**6  # a number with which formulas are tried out before anything is paid
_UNKNOWN = "{} is not known: its denominator may be 0, given its noise"


@dataclass(frozen=True, slots=True)
class Afterwards:
    """Formulas, HAVING, ORDER BY, LIMIT and rounding of a question.

    Attributes:
        asked: the question.
        plan: what is paid for it.
        plans: the plan of each grouping.
    """

    asked: SqlQuestion
    plan: Plan | StagedPlan | BatchPlan
    plans: Sequence[Plan | StagedPlan]

    def rehearse(self) -> None:
        """Compute what follows from made-up numbers: what fails, fails before paying.

        Raises:
            InputError: something that cannot be computed from what is released.
            ExpressionError: a condition that compares what is not alike.
        """
        asked = self.asked
        if (
            asked.having is None
            and not asked.order
            and not any(shown.formula or shown.step for shown in asked.shown)
        ):
            return
        tried = zip(least_noisy(self.plans), self.plans, strict=True)
        answers = [made_up(plan, own.question.keys) for plan, own in tried]
        made = [self._computed(answer) for answer in answers]
        self._shown(self._kept(stacked(made, asked.sets) if len(made) > 1 else made[0]))

    def finished(self, answers: Sequence[Release]) -> Release:
        """Compute what the question asks beyond the numbers that were released."""
        if len(answers) > 1:  # which have to add up before any group goes
            return self._shown(self._kept(self._together(answers)))
        having = self.asked.having
        formulas = {shown.name for shown in self.asked.shown if shown.formula is not None}
        if having is not None and formulas.isdisjoint(names(parse(having))):
            # So a group that HAVING drops anyway is not said to be left out.
            return self._shown(self._derived(self._kept(answers[0])))
        return self._shown(self._kept(self._derived(answers[0])))

    def _together(self, answers: Sequence[Release]) -> Release:
        """Put the answers of several groupings below one another, adding up where they can."""
        formulas = {s.name: s.formula for s in self.asked.shown if s.formula is not None}
        found = adding_up(self.plans, answers, formulas, self.asked.sets)
        if found is None:
            found = stacked([self._derived(each) for each in answers], self.asked.sets)
        return replace(found, cost=self.plan.cost, price=self.plan.price)

    def _computed(self, answer: Release) -> Release:
        """Add the computed columns, and say where one stands that cannot be."""
        from sfumato.sql.place import pointing

        for shown in self.asked.shown:
            if shown.formula is not None:
                with pointing(shown.span, self.asked.text):
                    answer = answer.derive(**{shown.name: shown.formula})
        return answer

    def _derived(self, answer: Release) -> Release:
        """Add the computed columns, and leave out groups in which one of them is not known."""
        for shown in self.asked.shown:
            if shown.formula is not None:
                answer = _with_column(answer, shown.name, shown.formula)
        return answer

    def _kept(self, answer: Release) -> Release:
        """Keep the groups that HAVING asks for."""
        from sfumato.sql.place import pointing

        having = self.asked.having
        if having is None:
            return answer
        unknown = [s.name for s in self.asked.shown if s.formula and s.name not in answer]
        with pointing(self.asked.places.get("HAVING"), self.asked.text):
            kept = where(answer, having, unknown)
        said = [
            f"{printable(name)} is not known in any group, so that no condition on it holds"
            for name in names(parse(having))
            if name in unknown
        ]
        return replace(kept, notes=(*kept.notes, *said)) if said else kept

    def _shown(self, answer: Release) -> Release:
        """Sort, limit and round, and leave what SELECT names."""
        from sfumato.sql.place import pointing

        asked = self.asked
        answer = _ordered(answer, asked.order)
        if answer.keys and (asked.offset or asked.limit is not None):
            last = len(answer) if asked.limit is None else asked.offset + asked.limit
            chosen = np.arange(min(asked.offset, len(answer)), min(last, len(answer)))
            answer = derived.rows(answer, chosen, selected=True)
        for shown in asked.shown:
            if shown.step is not None and shown.name in answer:
                with pointing(shown.span, asked.text):
                    answer = answer.round(shown.step, shown.name)
        seen = dict.fromkeys(n for shown in asked.shown for n in _visible(answer, shown))
        sure = [f"{by.name}_order" for by in asked.order if by.name in seen]
        seen |= dict.fromkeys(name for name in sure if name in answer)
        return answer.select(*seen) if tuple(seen) != tuple(answer) else answer


def _with_column(answer: Release, name: str, formula: str) -> Release:
    """Add a computed column, without groups in which a denominator may be 0; or leave it out.

    Which groups these are depends on noise, and the answer is paid for: nothing may fail any more.
    """
    with suppress(InputError):
        return answer.derive(**{name: formula})
    unknown = endless(answer, formula)
    if unknown.all():
        return replace(answer, notes=(*answer.notes, _UNKNOWN.format(printable(name))))
    note = (
        f"{plural(int(unknown.sum()), 'group')} left out in which the denominator of "
        f"{printable(name)} may be 0, given its noise"
    )
    fewer = derived.rows(answer, np.flatnonzero(~unknown), selected=True)
    done = fewer.derive(**{name: formula})
    return replace(done, notes=(*done.notes, note))


def _visible(answer: Release, shown: Shown) -> list[str]:
    """Return the columns that show a number: itself or, where it is not known, its parts."""
    if shown.name in answer or shown.formula is None:
        return [shown.name]
    return names(parse(shown.formula))


def _ordered(answer: Release, order: Sequence[Order]) -> Release:
    """Sort the rows by columns, the first of which counts most."""
    keys = dict(answer.keys)
    order = [by for by in order if by.name in answer or by.name in keys]
    if not order or not keys:
        return answer
    if len(order) == 1 and order[0].name in answer:
        return answer.sort(order[0].name, descending=order[0].descending)
    places = list(range(len(answer)))
    for by in reversed(order):
        values: Sequence[Any] = keys[by.name] if by.name in keys else answer.measure(by.name).values
        present = [place for place in places if values[place] is not None]
        missing = [place for place in places if values[place] is None]
        present.sort(key=values.__getitem__, reverse=by.descending)
        places = [*missing, *present] if by.nulls_first else [*present, *missing]
    return derived.rows(answer, np.array(places, np.int64), selected=False)


def made_up(plan: Plan | StagedPlan, keys: Any) -> Release:
    """Return an answer of one row, with made-up numbers of the kinds that will be released.

    Args:
        plan: of which numbers.
        keys: of which groups; the first, or one like those that are bought, stands for all.
    """
    if isinstance(plan, StagedPlan):
        plan = Plan.of(plan.question.least, plan.rest, plan.confidence)
    draws = {part: f"part {place}" for place, part in enumerate(plan.parts)}
    used: set[str] = set()
    measures = []
    for recipe in plan.recipes:
        form, kind = recipe.form(draws), recipe.wanted.kind
        used |= set() if form is None else set(form.parts)
        if recipe.wanted.is_rank and isinstance(kind, Day | Instant):
            measures.append(Measure(recipe.wanted.name, (_any(kind),)))
            continue
        ends: Any = (_LARGE,)
        measures.append(Measure(recipe.wanted.name, ends, ends, ends, form=form))
    noises = {name: noise_of(part) for part, name in draws.items() if name in used}
    noisy = tuple(  # so large that no quotient of them may be anything
        Noisy(name, noise, (_LARGE * (1 + int(noise.scale)),), count=True)
        for name, noise in noises.items()
    )
    row: tuple[Any, ...]
    if isinstance(keys, BoughtKeys):
        row = tuple((n, (_any(kind),)) for n, kind in zip(keys.columns, keys.kinds, strict=True))
    else:
        row = tuple((name, tuple(values[:1])) for name, values in keys.table().items())
    return Release(row, tuple(measures), plan.confidence, plan.cost, noisy=noisy)


def _any(kind: Kind) -> Any:
    """Return a value of a kind."""
    if isinstance(kind, Words):
        return ""
    return value(kind, kind.low if isinstance(kind, Number | Day) else 0)
