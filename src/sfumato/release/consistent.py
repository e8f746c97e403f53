"""Cells that add up to a total that was measured by itself: the likeliest compromise of both."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release import inversion
from sfumato.release.derived import formula, rebuilt, totals
from sfumato.release.estimate import Estimate
from sfumato.release.evaluate import exact
from sfumato.release.format import plain, printable
from sfumato.release.formula import Formula
from sfumato.release.joint import Joint
from sfumato.release.law import Floats, variance
from sfumato.release.linear import Linear, combined
from sfumato.release.noisy import Ints
from sfumato.release.saturation import of_rows
from sfumato.release.signature import alike, halfwidths, parts

if TYPE_CHECKING:
    from sfumato.release.release import Release

_SURE = 1e-6  # how rarely noise alone may keep cells and total apart


def consistent(
    release: Release,
    total: Estimate | Release,
    name: str | None = None,
    *,
    nonnegative: bool = False,
) -> Release:
    """Move the cells so that they add up, exactly, to a compromise with the total.

    With cells x of variance v and a total T of variance w, least squares puts the total at
    Σx + (T − Σx)·Σv/(Σv + w) and spreads the difference over the cells in proportion to v. All is
    rounded to the grid on which the cells were measured, the largest remainders up.

    All of it holds only if the cells add up to the total but for noise, so that both are about the
    same rows. Whether they are is not known here, but if Σx − T is farther from 0 than its noise
    gets in one of a million cases, they are not.

    Args:
        release: the cells.
        total: a single number, measured independently of the cells.
        name: which measure; the only one if not given.
        nonnegative: also keep every cell from falling below 0.

    Raises:
        InputError: the total is no single number, is made of the cells themselves, or is farther
            from their sum than noise explains.
    """
    name = _only(release, name)
    cells, whole = formula(release, name), _total(total, name)
    if cells.bottom is not None or whole.bottom is not None:
        raise InputError("means and quotients do not add up. Make counts or sums consistent.")
    if not cells.size:
        raise InputError("an answer without cells adds up to nothing. Ask with keys.")
    if {part.id for part in cells.top.parts} & {part.id for part in whole.top.parts}:
        raise InputError(
            "this total is made of the cells themselves, so they add up already. Pass a total that "
            "was released by a question of its own."
        )
    gap = combined(totals(cells), Fraction(1), whole.top, Fraction(-1))
    if of_rows(gap, _SURE).either.any():
        raise InputError(
            "a total here may lie beyond what is computed, 2^63 - 1 steps, so that cells and total "
            "need not add up. Ask with a coarser step or a narrower range."
        )
    _check_same(gap, cells.top, whole.top)
    v, w = _variances(cells.top), float(_variances(whole.top)[0]) / whole.top.over**2
    over = cells.top.over
    v = v / over**2
    shares = v / v.sum() if v.sum() > 0 else np.full(v.size, 1 / v.size)
    trust = float(v.sum() / (v.sum() + w)) if v.sum() + w > 0 else 1.0
    x = cells.top.values.astype(np.object_)
    found = Fraction(int(whole.top.values[0]), whole.top.over) * over
    agreed = round(int(x.sum()) + Fraction(trust) * (found - int(x.sum())))
    if nonnegative:
        agreed = max(agreed, 0)
    moved = _spread(x, shares, agreed, nonnegative=nonnegative)
    width = _widths(cells.top, gap, shares * trust, float(1 - release.confidence))
    center = np.array([float(each) for each in x]) + shares * (agreed - float(x.sum()))
    low, high = np.floor(center - width), np.ceil(center + width)
    ends = [[int(each) for each in column.tolist()] for column in (low, high)]
    if nonnegative:
        ends = [[max(each, 0) for each in column] for column in ends]
    lows = [min(a, b) for a, b in zip(ends[0], moved, strict=True)]
    highs = [max(a, b) for a, b in zip(ends[1], moved, strict=True)]
    columns = [exact(np.array(each, np.object_), over) for each in (moved, lows, highs)]
    m = release.measure(name)
    done = replace(m, values=columns[0], low=columns[1], high=columns[2], scale=None, form=None)
    told = plain(Fraction(agreed, over))
    note = f"{printable(name)} adds up to {told}, a compromise with a total measured by itself"
    others = [done if each.name == name else each for each in release.measures]
    return rebuilt(release, others, origins=whole.origins, notes=[note])


def _spread(x: Ints, shares: Floats, agreed: int, *, nonnegative: bool) -> list[int]:
    """Add whole numbers to the cells so that they come to `agreed`, nearly in these shares."""
    held = x.tolist()
    gap = agreed - sum(held)
    if nonnegative:
        wanted = _raised(np.array([float(each) for each in held]), shares, agreed)
    else:
        wanted = np.array([float(each) for each in held]) + shares * gap
    # Whole parts first, then one each for the largest remainders.
    moved = [max(int(each), 0) if nonnegative else int(each) for each in np.floor(wanted).tolist()]
    rest = agreed - sum(moved)
    order = np.argsort(-(wanted - np.floor(wanted)), kind="stable").tolist()
    step = 1 if rest > 0 else -1
    while rest:
        for i in order if step > 0 else order[::-1]:
            if not rest:
                break
            if step > 0 or not nonnegative or moved[i] > 0:
                moved[i] += step
                rest -= step
    return moved


def _raised(x: Floats, shares: Floats, agreed: int) -> Floats:
    """Return max(0, x + λ·share) with the λ for which it adds up (Karush, Kuhn and Tucker)."""
    low, high = -1.0, 1.0
    weights = np.maximum(shares, 1e-300)
    while np.maximum(x + low * weights, 0).sum() > agreed:
        low *= 2
    while np.maximum(x + high * weights, 0).sum() < agreed:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        less = np.maximum(x + middle * weights, 0).sum() < agreed
        low, high = (middle, high) if less else (low, middle)
    return np.asarray(np.maximum(x + low * weights, 0))


def _variances(linear: Linear) -> Floats:
    each = np.array([variance(part.noise) for part in linear.parts])[linear.part]
    w = np.array(linear.weight, np.float64)
    return np.bincount(linear.row, w * w * each, linear.size).astype(np.float64)


def _check_same(gap: Linear, cells: Linear, total: Linear) -> None:
    """Refuse a total that is of other rows than the cells, as far as the numbers can tell."""
    apart, most = abs(int(gap.values[0])), int(halfwidths(gap, _SURE)[0])
    if apart <= most:
        return
    found = Fraction(int(cells.values.astype(np.object_).sum()), cells.over)
    wanted = Fraction(int(total.values[0]), total.over)
    raise InputError(
        f"the cells add up to {plain(found)} and the total is {plain(wanted)}, which is "
        f"{plain(Fraction(apart, gap.over))} apart; noise explains more than "
        f"{plain(Fraction(most, gap.over))} in one of a million cases only. Both must be about the "
        f"same rows: keys that are missing or not listed, filters, head() and caps leave some out. "
        f"Ask for a total of the rows that are in the cells, or for one more cell with the others."
    )


def _widths(top: Linear, gap: Linear, share: Floats, alpha: float) -> Floats:
    """Return half-widths of x − share·gap, in units of the cells' grid; gap = Σx − T."""
    found = alike(Joint.of(top, gap if top.size > 1 else gap.spread(top.size)))
    out = np.zeros(top.size)
    unit = top.over / gap.over
    for kind, signature in enumerate([] if found is None else found.laws):
        here = np.flatnonzero(found.kind == kind) if found is not None else np.empty(0, np.int64)
        for part in np.unique(share[here]).tolist():
            rows = here[share[here] == part]
            law = inversion.merged(parts(signature, 1, -part * unit))
            out[rows] = inversion.quantile(law, alpha)
    if found is None:
        raise InputError("these cells carry too many kinds of noise to be made consistent at once.")
    return out


def _only(release: Release, name: str | None) -> str:
    if name is not None:
        return release.measure(name).name
    if len(release.measures) > 1:
        raise InputError("this answer has several measures. Say which adds up: name='n'.")
    return release.measures[0].name


def _total(total: Estimate | Release, name: str) -> Formula:
    from sfumato.release.release import Release

    if not isinstance(total, Estimate):
        if not isinstance(total, Release):
            raise InputError("the total is a release or a number of one, with its noise.")
        names = list(total)
        total = total[name if name in names else names[0]]
    made = total._made()
    if not isinstance(made, Formula) or made.keys:
        raise InputError("the total is a single number with known noise. Ask for it without keys.")
    return made
