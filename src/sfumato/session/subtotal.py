"""The answers of several groupings, made to add up and put below one another. Free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.release import fitted
from sfumato.release.compute import Computed, compute
from sfumato.release.derived import rows
from sfumato.release.evaluate import rounded
from sfumato.release.fitted import Cells
from sfumato.release.format import printable
from sfumato.release.formula import Formula
from sfumato.release.hierarchy import Compromise
from sfumato.release.language import evaluate, parse
from sfumato.release.law import variance
from sfumato.release.measure import Measure
from sfumato.release.noisy import Noisy
from sfumato.release.opaque import Opaque
from sfumato.release.quotient import Ends
from sfumato.release.saturation import Marks, reached
from sfumato.session.foresight import Fits, fits_of
from sfumato.session.proof import plural

if TYPE_CHECKING:
    from sfumato.release.release import Release

FRACTIONS = "to add up in every direction, such numbers have fractions"
ALL = "NULL in a column of groups stands for all of its groups together"


def stacked(answers: Sequence[Release], sets: Sequence[Sequence[str]]) -> Release:
    """Put the answers of several groupings below one another; NULL is all of a column."""
    columns = list(dict.fromkeys(name for one in sets for name in one))
    keys = []
    for column in columns:
        values: list[Any] = []
        for answer in answers:
            own = dict(answer.keys).get(column)
            values += [None] * len(answer) if own is None else own
        keys.append((column, tuple(values)))
    # What is not known in one grouping, and so not in it, is not shown in any.
    names = [name for name in answers[0] if all(name in answer for answer in answers)]
    measures = [_below([answer.measure(name) for answer in answers]) for name in names]
    notes = dict.fromkeys(note for answer in answers for note in answer.notes)
    return replace(
        answers[0], keys=tuple(keys), measures=tuple(measures), notes=(*notes, ALL), noisy=()
    )


def _below(parts: Sequence[Measure]) -> Measure:
    """Put the columns of several groupings below one another."""
    ends = {end: [getattr(m, end) for m in parts] for end in ("values", "low", "high")}
    joined = {
        end: None if any(each is None for each in listed) else tuple(v for p in listed for v in p)
        for end, listed in ends.items()
    }
    margin = max((m.margin for m in parts if m.margin is not None), default=None)
    kinds = {m.kind for m in parts if len(m)} or {parts[0].kind}  # of nothing it is not known
    kind = kinds.pop() if len(kinds) == 1 else "rational"
    return parts[0].replaced(**joined, form=None, margin=margin, scale=None, kind=kind)


def adding_up(
    plans: Sequence[Any],
    answers: Sequence[Release],
    formulas: Mapping[str, str],
    sets: Sequence[Sequence[str]],
) -> Release | None:
    """Return the answers with numbers that add up, and columns computed of those, as one.

    None where the groupings were not asked of the same rows, so that there is nothing to add up;
    and where a total may have been cut at the largest number there is.

    Args:
        plans: of each grouping.
        answers: to each of them.
        formulas: what is computed in each answer, by name.
        sets: the columns of each grouping.
    """
    fits = fits_of(plans)
    if fits is None:
        return None
    draws = [{draw.id: draw for draw in answer.noisy} for answer in answers]
    alpha = float(1 - answers[0].confidence)
    for held in draws:
        if any(reached(d.values, d.noise, alpha).either.any() for d in held.values()):
            return None
    cells, whole = _cells(fits, answers, draws)
    pairs = zip(answers, cells, strict=True)
    made = [_Answer(answer, mine) for answer, mine in pairs]
    answer = stacked([each.done(formulas) for each in made], sets)
    notes = [*fits.notes(answers[0]), *([] if whole else [FRACTIONS])]
    unknown = {
        name: np.concatenate([each.unknown[name] for each in made]) for name in made[0].unknown
    }
    return _known(replace(answer, notes=(*answer.notes, *notes)), unknown)


def _known(answer: Release, unknown: Mapping[str, Marks]) -> Release:
    """Leave out groups in which a denominator may be 0; or the column, if that were all of them.

    That depends on noise, and the answer is paid for: nothing may fail any more.
    """
    marks = np.zeros(len(answer), np.bool_)
    for name, mine in unknown.items():
        if (marks | mine).all():
            others = tuple(m for m in answer.measures if m.name != name)
            note = f"{printable(name)} is not known: its denominator may be 0, given its noise"
            answer = replace(answer, measures=others, notes=(*answer.notes, note))
        else:
            marks |= mine
    if not marks.any():
        return answer
    note = (
        f"{plural(int(marks.sum()), 'group')} left out in which a denominator may be 0, given its "
        f"noise"
    )
    fewer = rows(answer, np.flatnonzero(~marks), selected=True)
    return replace(fewer, notes=(*fewer.notes, note), origins=())


def _cells(
    fits: Fits, answers: Sequence[Release], draws: Sequence[Mapping[str, Noisy]]
) -> tuple[list[dict[str, Cells]], bool]:
    """Return the quantities of each grouping by draw: made to add up, or as they were measured.

    And whether all are whole numbers.
    """
    found = [{d.id: _measured(d) for d in held.values()} for held in draws]
    done: set[str] = set()
    first = [fits.places.index(n) for n in range(len(fits.hierarchy.sets))]
    for name in fits.names:
        ids = [_ids(answer.measure(name)) for answer in answers]
        # What stands at one place of the form is the same quantity in all groupings.
        for same in zip(*ids, strict=True):
            if same[0] in done:
                continue
            done.add(same[0])
            held = [draws[place][same[place]] for place in first]
            tables = [
                fits.table(place, draw.at(np.arange(len(draw.values))))
                for place, draw in zip(first, held, strict=True)
            ]
            noises = [draw.noise for draw in held]
            compromise = Compromise.of(fits.hierarchy, [variance(noise) for noise in noises])
            totals = compromise.fitted(tables)
            whole = compromise.rounded(totals)
            for place, id_ in enumerate(same):
                one = fits.hierarchy.sets[fits.places[place]]
                over, law = compromise.over(one), compromise.law(one, noises)
                values = fits.flat(place, totals[one])
                shown = values if whole is None else over * fits.flat(place, whole[one])
                found[place][id_] = Cells(values, shown, over, law)
    whole_ones = [not (each.shown % each.over).any() for held in found for each in held.values()]
    return found, all(whole_ones)


def _ids(measure: Measure) -> tuple[str, ...]:
    form = measure.form
    if form is None:
        return ()
    return tuple(term.part for term in (*form.top, *(form.bottom or ())))


def _measured(draw: Noisy) -> Cells:
    values = draw.at(np.arange(len(draw.values)))
    return Cells(values, values, 1, ((draw.noise, Fraction(1), 1),))


class _Answer:
    """One answer whose columns are computed anew, of cells that add up."""

    def __init__(self, answer: Release, cells: Mapping[str, Cells]) -> None:
        self.answer, self.cells = answer, cells
        draws = {draw.id: draw for draw in answer.noisy}
        self.made: dict[str, Computed] = {}
        for m in answer.measures:
            if m.form is None or not m.form.parts:
                self.made[m.name] = Opaque(m, answer.keys)
            else:  # of one row, which stands for all
                self.made[m.name] = Formula.of(m.form, draws, 1, (), ())
        self.unknown: dict[str, Marks] = {}

    def done(self, formulas: Mapping[str, str]) -> Release:
        """Return the answer with all columns; in rows that are `unknown`, with numbers to drop."""
        answer, notes = self.answer, list(self.answer.notes)
        for name, text in formulas.items():
            self.made[name] = evaluate(parse(text), self.made.__getitem__, _computed)
            notes.append(f"{printable(name)} = {printable(text)}; computed, free")
        measures = [self._column(name, made) for name, made in self.made.items()]
        return replace(answer, measures=tuple(measures), notes=tuple(notes), noisy=())

    def _column(self, name: str, made: Computed) -> Measure:
        answer = self.answer
        if isinstance(made, Opaque):
            return made.measure.replaced(name=name, form=None)
        before = answer.measure(name).mechanism if name in answer else None
        told = ", ".join(dict.fromkeys(m.mechanism for m in answer.measures if m.mechanism))
        mechanism = f"computed from {told}" if before is None else before
        if made.bottom is None:
            return fitted.measure(made, self.cells, name, answer.confidence, mechanism=mechanism)
        found = fitted.ends(made, self.cells, answer.confidence)
        endless = np.isinf(found.low) | np.isinf(found.high)
        self.unknown[name] = endless
        # Groups without an interval are left out; a number stands there until then.
        known = Ends(*(np.where(endless, found.value, column) for column in found))
        return rounded(known, name, made.form, mechanism=mechanism).replaced(form=None)


def _computed(sign: str, *parts: Any) -> Computed:
    if sign == "literal":
        return Formula.number(parts[0])
    if len(parts) == 1:
        return compute("*", parts[0], Formula.number(Fraction(-1)))
    return compute(sign, *parts)
