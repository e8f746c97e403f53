"""Intervals for the population of which the rows are a random sample: sampling and noise together.

For the true mean m of the population, S − m·C is the noise of both plus the sum over the rows of
their deviations from m, which is nearly normal with C times the variance of one row. That variance
is at most (high − m)·(m − low) for values in [low, high], and exactly that for a share (0 or 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release import inversion
from sfumato.release.derived import formula, rebuilt
from sfumato.release.evaluate import rounded
from sfumato.release.format import approximate, printable
from sfumato.release.formula import Formula
from sfumato.release.joint import Joint
from sfumato.release.law import Floats
from sfumato.release.measure import view
from sfumato.release.quotient import Directions, Ends
from sfumato.release.rollup import share
from sfumato.release.saturation import of_rows
from sfumato.release.signature import alike, parts

if TYPE_CHECKING:
    from sfumato.core.unit import Unit
    from sfumato.release.measure import Measure
    from sfumato.release.release import Release

Function: TypeAlias = Callable[[Floats], Floats]

COVERS = "sampling and noise"
_HALVINGS = 50


def population(release: Release, variances: Mapping[str, str] | None = None) -> Release:
    """Return means and shares with intervals for the population; counts become shares.

    Args:
        release: an answer whose rows are a random sample, as its owner declares.
        variances: for a mean the measure that holds its variance, in the same answer; without it
            the largest variance that the range allows is taken.

    Raises:
        InputError: the rows are not declared a sample, or a unit may have several of them, or
            nothing is a mean, a share or a count.
    """
    if not release.sampled:
        raise InputError(
            "this answer does not say that its rows are a random sample of a population, so "
            "nothing can be said beyond them. The owner declares it in the contract, if it is so."
        )
    if release.unit is not None and release.unit.column is not None:
        _check_unit(release.unit)
    if not isinstance(variances, Mapping | None):
        raise InputError(
            "variances of population say which measure is the variance of which mean. Pass "
            "{'fare': 'fare_var'}."
        )
    given = dict(variances or {})
    for pair in given.items():
        list(map(release.measure, pair))  # refuses names that are none
    found, notes = [], []
    for m in release.measures:
        if m.form is None or m.name in given.values():
            continue
        made = formula(release, m.name)
        if made.bottom is None:
            if not made.top.is_count or not release.keys:
                continue
            whole = share(release, m.name)
            m = whole.measure(f"{m.name}_share")  # noqa: PLW2901 (a count is given as a share)
            made = formula(whole, m.name)
        if not (made.bottom is not None and made.bottom.is_count and _bounded(made)):
            continue
        spread = None if m.name not in given else release.measure(given[m.name])
        found.append(_mean(release, m, made, spread))
        how = "the largest variance that its range allows"
        if made.top.is_count:
            how = "the variance of a share"
        elif spread is not None:
            how = "its released variance, raised halfway to the upper end"
        notes.append(f"{printable(m.name)}: for the population, with {how}")
    if not found:
        raise InputError(
            "there is nothing to say about a population here: that takes a count by groups, a "
            "share of counts, or a mean of values in a public range."
        )
    used = {part.id: part for part in release.noisy}
    return rebuilt(release, [*found], draws=used.values(), notes=notes)


def _check_unit(unit: Unit) -> None:
    """Refuse rows of which a unit may have several.

    Those of one unit are alike, so that they were not drawn independently; and if they were, a cap
    keeps all rows of some units and a part of others', which is no random sample any more.
    """
    if unit.most_rows != 1:
        raise InputError(
            f"one {unit.column!r} may have several rows here, and of those no more count than its "
            f"caps allow. What counts is then no sample of rows that were drawn independently, and "
            f"how far it is from the population is not known. Ask a table that has one row of "
            f"each {unit.column!r} and max_rows = 1, or speak of the rows of the table."
        )


def _bounded(made: Formula) -> bool:
    return made.low is not None and made.high is not None


def _mean(release: Release, m: Measure, made: Formula, spread: Measure | None) -> Measure:
    """Invert |S − m·C| <= q(m), with q² = (quantile of the noise)² + (that of sampling)²."""
    bottom, size = made.bottom, made.size
    if bottom is None or made.low is None or made.high is None:
        raise InputError("a population interval needs a mean or a share.")
    alpha = float(1 - release.confidence)
    x = np.array(made.top.values, np.float64) / made.top.over
    n = np.broadcast_to(np.array(bottom.values, np.float64) / bottom.over, size)
    factor, offset = approximate(made.factor), approximate(made.offset)
    least, most = ((approximate(end) - offset) / factor for end in (made.low, made.high))
    cap = np.full(size, np.inf)
    if spread is not None and spread.high is not None:
        # Halfway to its upper end: its own noise is then allowed for, and not twice.
        value, upper = (view(each, "rational") for each in (spread.values, spread.high))
        people = np.maximum(n, 2)
        cap = (value + upper) / 2 / factor**2 * people / (people - 1)
    table = _tables(made, alpha)
    z = -NormalDist().inv_cdf(alpha / 2)
    # A count moves by whole rows; half of one for the step from binomial to normal.
    half = 0.5 if made.top.is_count else 0.0

    def excess(t: Floats) -> Floats:
        sampling = z * np.sqrt(np.maximum(n, 1) * np.minimum((most - t) * (t - least), cap))
        return np.asarray(np.abs(x - t * n) - np.hypot(table(t), sampling) - half)

    some = n > 0
    middle = np.where(some, np.clip(x / np.where(some, n, 1), least, most), (least + most) / 2)
    low = _end(excess, middle, np.full(size, least))
    high = _end(excess, middle, np.full(size, most))
    # Nothing is known without rows, nor where a total may be cut.
    some &= ~(of_rows(made.top, alpha).either | of_rows(bottom, alpha).either)
    low, high = np.where(some, low, least), np.where(some, high, most)
    ends = Ends(*(offset + factor * each for each in (middle, low, high)))
    done = rounded(ends, m.name, made.form, mechanism=m.mechanism, covers=COVERS)
    return replace(done, form=None)


def _end(excess: Function, middle: Floats, bound: Floats) -> Floats:
    """Halve the way from the middle, which is accepted, to the bound; return the outer side."""
    inner, outer = middle.copy(), bound.copy()
    whole = excess(outer) <= 0
    for _ in range(_HALVINGS):
        between = (inner + outer) / 2
        accepted = excess(between) <= 0
        inner, outer = np.where(accepted, between, inner), np.where(accepted, outer, between)
    return np.where(whole, bound, outer)


def _tables(made: Formula, alpha: float) -> Function:
    """Return the quantile of the noise of top − t·bottom, as a function of t for each row."""
    bottom = made.bottom
    if bottom is None:
        raise InputError("this is no quotient.")
    found = alike(Joint.of(made.top, bottom), most=48)
    if found is None:
        raise InputError("these cells carry too many kinds of noise at once. Roll up fewer.")
    tables = []
    for signature in found.laws:
        one = inversion.deviation(parts(signature, 1, 0)) or 1.0
        other = inversion.deviation(parts(signature, 0, 1)) or 1.0
        tables.append(
            (Directions.of(signature, one, other, alpha), one / made.top.over, other / bottom.over)
        )

    def quantile(t: Floats) -> Floats:
        out = np.zeros(t.shape)
        for kind, (table, one, other) in enumerate(tables):
            here = found.kind == kind
            angle = np.arctan(t[here] * other / one)
            out[here] = table(angle) * one / np.cos(angle)
        return out

    return quantile
