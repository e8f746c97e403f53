"""Numbers and intervals of a formula, as the columns of a release or as an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.release.error import NOISE_ONLY
from sfumato.release.form import Form
from sfumato.release.format import approximate
from sfumato.release.formula import Formula
from sfumato.release.grid import Grid
from sfumato.release.law import Floats
from sfumato.release.measure import Measure
from sfumato.release.noisy import Ints
from sfumato.release.quotient import Ends, ends
from sfumato.release.saturation import farthest, of_rows
from sfumato.release.signature import halfwidths

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Whole:
    """Values and ends as whole numbers over one denominator."""

    value: Ints
    low: Ints
    high: Ints
    over: int


def whole(formula: Formula, alpha: float) -> Whole:
    """Return values and intervals of a weighted sum, exactly; open where a total may be cut."""
    value, width = formula.top.values, halfwidths(formula.top, alpha)
    marks = of_rows(formula.top, alpha)
    if max(map(_largest, (value, width))) >= 2**61 or marks.either.any():
        value, width = value.astype(np.object_), width.astype(np.object_)
    low, high = value - width, value + width
    if marks.either.any():
        constant, far = formula.top.constant.astype(np.object_), farthest(formula.top)
        low = np.where(marks.low, np.minimum(low, constant - far), low)
        high = np.where(marks.high, np.maximum(high, constant + far), high)
    return Whole(value, low, high, formula.top.over)


def real(formula: Formula, alpha: float) -> Ends:
    """Return values and intervals of a quotient; ends may be infinite.

    Where a noisy count below is not above 0, nothing is known: the value is the middle of the
    public range, and the interval all of it. So it is, too, where a total may be cut.
    """
    if formula.bottom is None:
        raise InputError("this is no quotient.")
    factor, offset = approximate(formula.factor), approximate(formula.offset)
    bounds = [
        None if end is None else approximate((end - formula.offset) / formula.factor)
        for end in (formula.low, formula.high)
    ]
    least, most = bounds if formula.factor > 0 else bounds[::-1]
    least, most = -inf if least is None else least, inf if most is None else most
    value, low, high = ends(formula.top, formula.bottom, alpha, least, most)
    if formula.bottom.is_count:
        below = np.array(formula.bottom.values, np.float64) <= 0
        nothing = np.broadcast_to(below, value.shape)
        middle = (least + most) / 2 if np.isfinite([least, most]).all() else 0.0
        value = np.where(nothing, np.clip(middle, least, most), value)
        low, high = np.where(nothing, least, low), np.where(nothing, most, high)
    cut = of_rows(formula.top, alpha).either | of_rows(formula.bottom, alpha).either
    low, high = np.where(cut, least, low), np.where(cut, most, high)
    columns = [offset + factor * column for column in (value, low, high)]
    if factor < 0:
        columns[1], columns[2] = columns[2], columns[1]
    return Ends(*columns)


def measure(
    formula: Formula,
    name: str,
    confidence: Fraction,
    *,
    mechanism: str = "",
    covers: str = NOISE_ONLY,
    alpha: float | None = None,
) -> Measure:
    """Return a column of a release: exact numbers, intervals, and what they are made of.

    A quotient is rounded to a decimal grid of which the narrowest half-width has a hundred cells or
    more, and its ends outwards.

    Args:
        formula: what to compute.
        name: of the column.
        confidence: the probability with which each interval holds.
        mechanism: what the release says about its mechanism.
        covers: what the intervals cover.
        alpha: the probability with which one may fail, if it is not 1 − confidence.

    Raises:
        InputError: a denominator may be 0, so that there is no interval.
    """
    fails = float(1 - confidence) if alpha is None else alpha
    form = formula.form
    if formula.bottom is None:
        found = whole(formula, fails)
        value, low, high = (
            exact(each, found.over) for each in (found.value, found.low, found.high)
        )
        kind: Any = "integer" if found.over == 1 else "rational"
        noiseless = formula.top.is_exact
        return Measure(
            name,
            value,
            low,
            high,
            covers="exact" if noiseless else covers,
            mechanism=mechanism,
            kind=kind,
            form=form,
        )
    return rounded(real(formula, fails), name, form, mechanism=mechanism, covers=covers)


def rounded(
    found: Ends, name: str, form: Form | None, *, mechanism: str = "", covers: str = NOISE_ONLY
) -> Measure:
    """Return a column of a release from floats; the range of the form, if any, is kept exactly."""
    unknown = int((np.isinf(found.low) | np.isinf(found.high)).sum())
    if unknown:
        raise InputError(
            f"in {unknown} of {found.value.size} cells of {name!r} the denominator may be 0, given "
            f"its noise, or a total beyond what is computed, so the quotient may be anything. "
            f"State a public range with (x / y).within(low, high), or keep cells that are large "
            f"enough with where() first."
        )
    half = np.maximum(found.high - found.value, found.value - found.low)
    far = max(approximate(np.abs(column).max(initial=0)) for column in found)
    some = half[half > 0]
    low, high = (None, None) if form is None else (form.low, form.high)
    reach = Fraction(far) + 1
    grid = Grid.of(
        -reach if low is None else low,
        reach if high is None else high,
        float(some.min()) if some.size else 0.0,
        far,
    )
    value, lows, highs = grid.columns(*found)
    return Measure(
        name, value, lows, highs, None, covers, None, mechanism, kind="rational", form=form
    )


def fields(formula: Formula, alpha: float) -> tuple[Any, Any, Any]:
    """Return value and ends as an estimate has them: exact if single and a sum, else arrays."""
    if formula.bottom is not None:
        found = real(formula, alpha)
        return tuple(column if formula.keys else float(column[0]) for column in found)  # type: ignore[return-value]
    sums = whole(formula, alpha)
    columns = (sums.value, sums.low, sums.high)
    if not formula.keys:
        return tuple(exact(column, sums.over)[0] for column in columns)  # type: ignore[return-value]
    if sums.over == 1 and max(map(_largest, columns)) < _INT64:
        return tuple(column.astype(np.int64) for column in columns)  # type: ignore[return-value]
    return tuple(_floats(column) / sums.over for column in columns)  # type: ignore[return-value]


def exact(numerators: Ints, over: int) -> tuple[int | Fraction, ...]:
    """Return exact numbers: integers if nothing is divided."""
    if over == 1:
        return tuple(map(int, numerators.tolist()))
    # Most come more than once, and a Fraction is slow to make.
    different, place = np.unique(numerators, return_inverse=True)
    made = np.empty(different.shape, np.object_)
    made[:] = [Fraction(number, over) for number in different.tolist()]
    return tuple(made[place.reshape(numerators.shape)].tolist())


def _floats(column: Ints) -> Floats:
    return np.array([approximate(int(v)) for v in column]) if column.dtype == np.object_ else column


def _largest(array: NDArray[Any]) -> int:
    return max(abs(int(array.max())), abs(int(array.min()))) if array.size else 0
