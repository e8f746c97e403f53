"""Numbers and intervals of what is computed from cells that were made to add up.

All cells of one grouping carry the same law of noise: a weighted sum of many draws, which is known.
So a formula is worked out once, for one row, and then evaluated in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, gcd, hypot, inf, lcm, pi

import numpy as np

from sfumato.core.errors import InputError
from sfumato.release import inversion
from sfumato.release.combination import TRIMMED
from sfumato.release.error import NOISE_ONLY
from sfumato.release.evaluate import exact
from sfumato.release.format import approximate
from sfumato.release.formula import Formula
from sfumato.release.hierarchy import Law
from sfumato.release.law import Floats
from sfumato.release.linear import Linear
from sfumato.release.measure import Kind, Measure
from sfumato.release.noisy import Ints
from sfumato.release.quotient import Directions, Ends
from sfumato.release.signature import Signature, parts

_PIECES = 128  # of a quarter turn
_LAWS = 32  # entries of a law for which a table of directions is made
_SLACK = Fraction(10**9 + 1, 10**9)  # rounding of floats


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """One quantity in each group, with the law of the noise that every one of them carries.

    Attributes:
        values: as they were computed, whole numbers over `over`.
        shown: as they are shown; the same, unless they were rounded.
        over: what both are divided by, above 0.
        law: noise, weight and multiplicity, in steps of the quantity.
    """

    values: Ints
    shown: Ints
    over: int
    law: Law


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """A weighted sum in each group: values and shown values over one number, and its noise."""

    values: Ints
    shown: Ints
    over: int
    weights: Mapping[str, Fraction]

    @classmethod
    def of(cls, linear: Linear, cells: Mapping[str, Cells]) -> _Sum:
        """Evaluate a sum of one row in all rows."""
        names = [part.id for part in linear.parts]
        weights = {
            names[part]: Fraction(int(weight), linear.over)
            for part, weight in zip(linear.part.tolist(), linear.weight.tolist(), strict=True)
        }
        over = lcm(linear.over, *(cells[n].over * w.denominator for n, w in weights.items()))
        size = len(next(iter(cells.values())).values)
        start = int(linear.constant[0]) * (over // linear.over)
        columns = []
        for held in ("values", "shown"):
            total: Ints = np.full(size, start, np.object_)
            for name, w in weights.items():
                each = cells[name]
                factor = w.numerator * (over // (each.over * w.denominator))
                total = total + getattr(each, held).astype(np.object_) * factor
            columns.append(total)
        return cls(columns[0], columns[1], over, weights)

    @property
    def floats(self) -> Floats:
        """The values as they were computed."""
        return _floats(self.values, self.over)

    @property
    def shown_floats(self) -> Floats:
        """The values as they are shown."""
        return _floats(self.shown, self.over)


def measure(
    formula: Formula,
    cells: Mapping[str, Cells],
    name: str,
    confidence: Fraction,
    *,
    mechanism: str = "",
    covers: str = NOISE_ONLY,
) -> Measure:
    """Return a column of a release, from a formula of one row over cells that were made to add up.

    The noise is that of the numbers as they were computed; where the number that is shown was
    rounded out of the interval, the interval is widened to it.

    Args:
        formula: a weighted sum; quotients are for `ends`.
        cells: the quantities in it, by the ids of its draws.
        name: of the column.
        confidence: the probability with which each interval holds.
        mechanism: what the release says about its mechanism.
        covers: what the intervals cover.
    """
    top, alpha = _Sum.of(formula.top, cells), float(1 - confidence)
    noise = tuple(
        (law, approximate(weight * times), often)
        for id_, weight in top.weights.items()
        for law, times, often in cells[id_].law
    )
    width = floor(Fraction(inversion.quantile(inversion.merged(noise), alpha)) * _SLACK * top.over)
    # The exact number is a whole number of grid steps from the constant: rounding inwards.
    # A number less itself, or over itself, has no noise, and no steps.
    grid = gcd(*(w.numerator * (top.over // w.denominator) for w in top.weights.values())) or 1
    covers = covers if any(top.weights.values()) else "exact"
    start = int(formula.top.constant[0]) * (top.over // formula.top.over)
    away = top.values - start
    low = np.minimum(-((width - away) // grid) * grid + start, top.shown)
    high = np.maximum((away + width) // grid * grid + start, top.shown)
    common = gcd(top.over, grid, start, *top.shown.tolist())
    kind: Kind = "integer" if top.over == common else "rational"
    value, lows, highs = (
        exact(column // common, top.over // common) for column in (top.shown, low, high)
    )
    return Measure(name, value, lows, highs, covers=covers, mechanism=mechanism, kind=kind)


def ends(formula: Formula, cells: Mapping[str, Cells], confidence: Fraction) -> Ends:
    """Return a quotient over cells that were made to add up; its ends may be infinite.

    The value is that of the numbers that are shown, the interval that of the numbers as computed.
    Where a count below is not above 0, nothing is known, as ever.

    Args:
        formula: a quotient of two weighted sums.
        cells: the quantities in it, by the ids of its draws.
        confidence: the probability with which each interval holds.
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
    top, bottom = _Sum.of(formula.top, cells), _Sum.of(formula.bottom, cells)
    found = _inverted(top, bottom, cells, float(1 - confidence), least, most)
    above, below = top.shown_floats, bottom.shown_floats
    value = np.clip(np.where(below == 0, 0.0, above / np.where(below == 0, 1, below)), least, most)
    low = np.minimum(np.maximum(found.low, least), value)
    high = np.maximum(np.minimum(found.high, most), value)
    if formula.bottom.is_count:
        nothing = (bottom.floats <= 0) | (below <= 0)
        middle = (least + most) / 2 if np.isfinite([least, most]).all() else 0.0
        value = np.where(nothing, np.clip(middle, least, most), value)
        low, high = np.where(nothing, least, low), np.where(nothing, most, high)
    columns = [offset + factor * column for column in (value, low, high)]
    if factor < 0:
        columns[1], columns[2] = columns[2], columns[1]
    return Ends(*columns)


def _inverted(
    top: _Sum, bottom: _Sum, cells: Mapping[str, Cells], alpha: float, least: float, most: float
) -> Ends:
    """Invert the test of every slope, as `quotient.ends` does, with one law for all rows."""
    signature, unit = _signature(top, bottom, cells)
    x, y = top.floats, bottom.floats
    if np.isfinite(least) and np.isfinite(most):
        # A sum that noise carried out of bounds must not make the interval look narrow.
        x = np.where(y > 0, np.clip(x, least * y, most * y), x)
    units = [inversion.deviation(parts(signature, *pair)) / unit for pair in ((1, 0), (0, 1))]
    sizes = [float(np.median(np.abs(each))) or 1.0 for each in (x, y)]
    one, other = (each or size for each, size in zip(units, sizes, strict=True))
    if len(signature) > _LAWS:
        return _boxed(signature, unit, x, y, alpha)
    values = _quantiles(signature, one * unit, other * unit, alpha)
    steepest = float(np.abs(np.diff(values)).max()) * (values.size - 1) / pi
    bounds = (np.full(x.size, end, np.float64) for end in (least, most))
    return Directions(one, other, values, steepest).ends(x, y, *bounds)


@lru_cache(maxsize=64)
def _quantiles(signature: Signature, top: float, bottom: float, alpha: float) -> Floats:
    """Return the quantiles of a table of directions, as `Directions.of` does.

    Where no draw is above and below, both halves of the table are alike: the sign of what is below
    does not matter.
    """
    shared = any(a and b for _, a, b, _ in signature)
    angles = np.linspace(0, pi, 2 * _PIECES + 1)[: None if shared else _PIECES + 1]
    pairs = zip((np.cos(angles) / top).tolist(), (np.sin(angles) / bottom).tolist(), strict=True)
    sums = [inversion.merged(parts(signature, x, -y)) for x, y in pairs]
    found = np.array(
        [inversion.quantile(each, alpha * (1 - TRIMMED), inversion.FEW) for each in sums]
    )
    # Between nodes the quantile is above its chord by that at most.
    sides = (parts(signature, 1 / top, 0), parts(signature, 0, 1 / bottom))
    far = hypot(*(inversion.reach(each, alpha * TRIMMED / 4) for each in sides))
    found = found + float(angles[1]) / 2 * far
    return found if shared else np.concatenate([found, found[-2::-1]])


def _boxed(signature: Signature, unit: float, x: Floats, y: Floats, alpha: float) -> Ends:
    """Return all quotients of numbers within their own intervals, each of which may fail half."""
    p, q = (
        inversion.quantile(inversion.merged(parts(signature, *pair)), alpha / 2) / unit
        for pair in ((1, 0), (0, 1))
    )
    unknown = np.abs(y) <= q * (1 + 1e-9)
    below = np.where(unknown, 1.0, y)
    corners = [
        (x + i * p) / (below + j * np.where(unknown, 0, q)) for i in (-1, 1) for j in (-1, 1)
    ]
    value = np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))
    room = 1e-9 * np.abs(value)
    low = np.where(unknown, -np.inf, np.min(corners, axis=0) - room)
    high = np.where(unknown, np.inf, np.max(corners, axis=0) + room)
    return Ends(value, low, high)


def _signature(top: _Sum, bottom: _Sum, cells: Mapping[str, Cells]) -> tuple[Signature, float]:
    """Return the noise of numerator and denominator, as whole numbers of a unit, and the unit."""
    entries = [
        (noise, weight * times, other * times, often)
        for id_ in dict.fromkeys((*top.weights, *bottom.weights))
        for weight, other in [(top.weights.get(id_, Fraction(0)), bottom.weights.get(id_, 0))]
        for noise, times, often in cells[id_].law
    ]
    over = lcm(*(number.denominator for _, a, b, _ in entries for number in map(Fraction, (a, b))))
    found = tuple((noise, int(a * over), int(b * over), n) for noise, a, b, n in entries)
    return found, float(over)


def _floats(numbers: Ints, over: int) -> Floats:
    return np.array([approximate(Fraction(int(x), over)) for x in numbers.tolist()], np.float64)
