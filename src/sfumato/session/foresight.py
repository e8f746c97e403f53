"""What will add up over groupings, and how far it will err then: known before anything is paid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import InternalError
from sfumato.relation.kind import Number
from sfumato.release import inversion
from sfumato.release.fitted import Cells, ends
from sfumato.release.format import printable
from sfumato.release.formula import Formula
from sfumato.release.grid import upward
from sfumato.release.hierarchy import Columns, Compromise, Hierarchy, Law
from sfumato.release.law import variance
from sfumato.release.measure import Measure
from sfumato.release.noisy import Ints, Noisy
from sfumato.session.answer import Recipe, noise_of
from sfumato.session.grouping import ADDITIVE, Grouping, hierarchy_of
from sfumato.session.plan import PEOPLE, Expectation, Plan

if TYPE_CHECKING:
    from sfumato.release.release import Release

ADDS_UP = (
    "what adds up exactly over all groupings: {names}; these are the likeliest numbers that do, "
    "given every measurement"
)
QUOTIENT = "quotients of numbers that add up: {names}"
APART = "what does not add up, and need not fit together over groupings: {names}"


@dataclass(frozen=True, slots=True)
class Fits:
    """Which outputs of which groupings add up."""

    hierarchy: Hierarchy
    places: tuple[int, ...]
    keys: tuple[Any, ...]
    names: tuple[str, ...]

    def axes(self, place: int) -> tuple[Columns, tuple[int, ...]]:
        """Return the columns of a grouping, in order, and where each stands in its keys."""
        columns = list(dict.fromkeys(name for each in self.keys for name in each.columns))
        own = [columns.index(name) for name in self.keys[place].columns]
        return tuple(sorted(own)), tuple(own.index(c) for c in sorted(own))

    def table(self, place: int, values: Ints) -> Ints:
        """Return the cells of a grouping as a table of all columns."""
        columns, order = self.axes(place)
        turned = values.reshape(self.keys[place].shape).transpose(order)
        return turned.reshape(self.hierarchy.shape(columns))

    def flat(self, place: int, table: Ints) -> Ints:
        """Return a table of all columns as the cells of a grouping."""
        columns, order = self.axes(place)
        turned = table.reshape(tuple(self.hierarchy.sizes[c] for c in columns))
        return turned.transpose(np.argsort(order)).ravel() if order else turned.ravel()

    def notes(self, answer: Release) -> list[str]:
        """Say what adds up, and what does not."""
        sums = [name for name in self.names if _is_sum(answer.measure(name))]
        others = {
            ADDS_UP: sums,
            QUOTIENT: [name for name in self.names if name not in sums],
            APART: [name for name in answer if name not in self.names],
        }
        return [
            text.format(names=", ".join(map(printable, names)))
            for text, names in others.items()
            if names
        ]


def fits_of(plans: Sequence[Any]) -> Fits | None:
    """Return what adds up; None if nothing does."""
    asked = [plan.question for plan in plans if isinstance(plan, Plan)]
    if len(asked) < len(plans) or not all(isinstance(each, Grouping) for each in asked):
        return None
    names = [
        recipe.wanted.name
        for recipe in plans[0].recipes
        if isinstance(recipe, Recipe) and recipe.wanted.function in ADDITIVE
    ]
    hierarchy, places = hierarchy_of([each.keys for each in asked])
    keys = tuple(each.keys for each in asked)
    return Fits(hierarchy, tuple(places), keys, tuple(names))


def _is_sum(measure: Measure) -> bool:
    return measure.form is not None and measure.form.bottom is None


def least_noisy(plans: Sequence[Any]) -> Sequence[Any]:
    """Return the plans that formulas are tried out with before paying.

    Of groupings that will add up, that with the least noise stands for all: one that follows from
    others is measured with so much that by itself it would say nothing.
    """
    if fits_of(plans) is None:
        return plans
    best = min(plans, key=lambda plan: noise_of(plan.parts[0]).scale)
    return [best] * len(plans)


def consistent(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Return plans that say how far each number will err once the groupings add up.

    By itself a grouping that follows from others is measured with so much noise that what it would
    say is not what is released.
    """
    fits = fits_of(plans)
    if fits is None:
        return tuple(plans)
    return tuple(
        replace(plan, fitted=tuple(_Foreseen(fits, plans, place).expected()))
        for place, plan in enumerate(plans)
    )


class _Foreseen:
    """One grouping of several that add up."""

    def __init__(self, fits: Fits, plans: Sequence[Plan], place: int) -> None:
        self.fits, self.plans, self.plan = fits, plans, plans[place]
        self.one = fits.hierarchy.sets[fits.places[place]]
        self.first = [fits.places.index(n) for n in range(len(fits.hierarchy.sets))]

    def expected(self) -> Iterator[Expectation]:
        """Yield how far each of the numbers that add up, and their quotients, will err."""
        for recipe in self.plan.recipes:
            if isinstance(recipe, Recipe) and recipe.wanted.name in self.fits.names:
                half, worst = self._halfwidths(recipe)
                per = None if recipe.wanted.function != "mean" else PEOPLE
                yield Expectation(recipe.wanted.name, recipe.mechanism, half, worst, per)

    def _halfwidths(self, mine: Recipe) -> tuple[Fraction, Fraction]:
        form = mine.form({part: str(at) for at, part in enumerate(mine.used)})
        if form is None or not form.parts:
            return Fraction(0), Fraction(0)
        laws = {str(at): self._law(mine, at) for at in range(len(mine.used))}
        if form.bottom is None:
            noise = inversion.merged(
                tuple((n, float(t.weight * w), k) for t in form.top for n, w, k in laws[t.part])
            )
            half = upward(inversion.quantile(noise, float(1 - self.plan.confidence)))
            return half, half
        # The interval of the very sum and count, without noise in them, as `Ratio` foresees it.
        kind, middle = mine.wanted.kind, mine.wanted.center
        if not isinstance(kind, Number):
            raise InternalError("a mean is of numbers.")
        draws, cells = {}, {}
        for at, part in enumerate(mine.used):
            count = part is mine.parts.get(mine.wanted.count)
            means = [1] * 3 if count else [0, kind.low - middle, kind.high - middle]
            held = np.array([PEOPLE * each for each in means], np.object_)
            draws[str(at)] = Noisy(str(at), noise_of(part), (0,), count=count)
            cells[str(at)] = Cells(held, held, 1, laws[str(at)])
        found = ends(Formula.of(form, draws, 1, (), ()), cells, self.plan.confidence)
        reach = np.maximum(found.high - found.value, found.value - found.low)
        return upward(float(reach[0])), upward(float(reach.max()))

    def _law(self, mine: Recipe, at: int) -> Law:
        """Return the noise of a part as all groupings together leave it."""
        name = mine.wanted.name
        same = [next(r for r in self.plans[i].recipes if r.wanted.name == name) for i in self.first]
        noises = [noise_of(recipe.used[at]) for recipe in same]
        shared = Compromise.of(self.fits.hierarchy, [variance(n) for n in noises])
        return shared.law(self.one, noises)
