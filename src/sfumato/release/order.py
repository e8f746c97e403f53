"""Rows by size, with the probability that the order is right.

The probability is that of the noise alone: given the noisy numbers, and before anything else is
known of the exact ones (a flat prior), an exact number is the noisy one less its noise.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, gcd
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InputError
from sfumato.release import inversion, law
from sfumato.release.derived import rebuilt, rows
from sfumato.release.error import Noise
from sfumato.release.evaluate import exact
from sfumato.release.format import plain, printable
from sfumato.release.formula import Formula
from sfumato.release.joint import Joint
from sfumato.release.law import Floats
from sfumato.release.linear import Linear, combined
from sfumato.release.measure import Measure, view
from sfumato.release.saturation import of_rows
from sfumato.release.signature import alike, parts
from sfumato.release.whence import computed

if TYPE_CHECKING:
    from sfumato.release.release import Release

_DIGITS = 10**6
_FAR = 1e-10  # a chance that does not show in the digits
_SUMMED = 4000  # steps of noise up to which the first is compared with all others at once


def sort(release: Release, name: str, *, descending: bool = True) -> Release:
    """Sort the rows; a column says how sure each is to come before the next."""
    values = release.measure(name).values
    if release.measure(name).kind == "text":
        chosen = sorted(range(len(values)), key=values.__getitem__, reverse=descending)
        return rows(release, np.array(chosen, np.int64), selected=False)
    if f"{name}_order" in release.columns:
        raise InputError(f"this answer is sorted by {name!r} already.")
    done = rows(release, _order(release.measure(name), descending=descending), selected=False)
    made = computed(done, name)
    sign = 1 if descending else -1
    sure: Floats | None
    if isinstance(made, Formula) and made.bottom is None:
        sure = _linear(made.top, sign)
        how = "from the law of the noise"
    else:
        sure = _normal(release=done, name=name, sign=sign)
        how = "from the widths of the intervals, as if normal and independent"
    if sure is None:
        return done
    digits = np.append(np.floor(sure * _DIGITS), _DIGITS).astype(np.int64)[: len(done)]
    column = Measure(
        f"{name}_order",
        exact(digits, _DIGITS),
        covers="nothing",
        mechanism="computed",
        kind="rational",
    )
    title = printable(name)
    note = (
        f"{title}_order is the probability that the exact {title} of a row is not "
        f"{'below' if descending else 'above'} that of the next, {how}, nothing else being known"
    )
    return rebuilt(done, (*done.measures, column), notes=[note, *_leader(made, sign, title)])


def _order(m: Measure, *, descending: bool) -> NDArray[np.int64]:
    """Return the places by size; what is equal stays in the order that it has."""
    numbers = view(m.values, m.kind or "rational")
    if m.kind == "rational":  # floats cannot tell all rationals apart
        numbers = np.empty(len(m), np.object_)
        numbers[:] = m.values
    elif numbers.dtype != np.int64:
        numbers = np.array(m.values, np.object_)
    if descending:  # the least of 64 bits has no negative, but a complement
        numbers = ~numbers if numbers.dtype == np.int64 else -numbers
    return np.asarray(np.argsort(numbers, kind="stable"), np.int64)


def first(release: Release, name: str, *, descending: bool = True) -> Fraction:
    """Return the probability, or less, that the first row is the largest (or the smallest).

    Exact if all rows carry independent noise of one kind; else one minus the sum of the
    probabilities that another row is ahead.
    """
    made = computed(release, name)
    if not isinstance(made, Formula) or made.bottom is not None or not made.size:
        raise InputError(
            f"how likely the first {name!r} is to be ahead of all others is known for counts and "
            f"sums only. Sort by one of those."
        )
    return Fraction(floor(_ahead(made.top, 1 if descending else -1) * _DIGITS), _DIGITS)


def _leader(made: object, sign: int, title: str) -> list[str]:
    if not isinstance(made, Formula) or made.bottom is not None or made.size < 2:
        return []
    chance = Fraction(floor(_ahead(made.top, sign) * 1000), 1000)
    extreme = "largest" if sign > 0 else "smallest"
    return [f"the first row has the {extreme} exact {title} with probability {plain(chance)}"]


def _linear(top: Linear, sign: int) -> Floats:
    """Return P(exact x >= exact y) for each row x and the next row y."""
    count = np.arange(max(top.size - 1, 0))
    apart = combined(top.take(count), Fraction(sign), top.take(count + 1), Fraction(-sign))
    return 1 - _above(apart)


def _above(apart: Linear) -> Floats:
    """Return P(noise > the noisy difference), with which the exact difference is negative."""
    values = np.array(apart.values, np.float64)
    found = alike(Joint.of(apart, None))
    out = np.zeros(values.shape)
    if found is None:  # a proved bound (Cantelli's)
        w = np.array(apart.weight, np.float64)
        each = np.array([law.variance(part.noise) for part in apart.parts])[apart.part]
        variance = np.bincount(apart.row, w * w * each, apart.size)
        out = np.where(values > 0, variance / (variance + values**2), 1.0)
        return np.where(of_rows(apart, _FAR).low, 1.0, out)
    for kind, signature in enumerate(found.laws):
        here = found.kind == kind
        # Between two steps of the noise, so that a tie counts as the right order.
        step = gcd(*(weight for _, weight, _, _ in signature)) if signature else 1
        out[here] = inversion.exceeds(parts(signature), values[here] + step / 2)
    return np.where(of_rows(apart, _FAR).low, 1.0, out)  # totals that are cut have no order


def _ahead(top: Linear, sign: int) -> float:
    if top.size < 2:
        return 1.0
    single = (
        len(top.parts) == 1
        and top.row.size == top.size
        and np.diff(np.sort(top.cell)).all()
        and (top.weight == top.weight[0]).all()
        and np.array_equal(top.row, np.arange(top.size))
        and not of_rows(top, _FAR).either.any()
    )
    if single and law.reach(top.parts[0].noise, _FAR) <= _SUMMED:
        return _independent(top, sign)
    rivals = np.arange(1, top.size)
    apart = combined(
        top.take(np.zeros(rivals.size, np.int64)), Fraction(sign), top.take(rivals), Fraction(-sign)
    )
    return max(0.0, 1 - float(_above(apart).sum()))


def _independent(top: Linear, sign: int) -> float:
    """Sum over the noise of the first: given it, the others are behind independently."""
    noise = top.parts[0].noise
    weight = float(abs(int(top.weight[0])))
    values = sign * np.array(top.values, np.float64) / weight
    gaps = np.floor(values[0] - values[1:])
    most = law.reach(noise, _FAR)
    near = gaps[gaps <= 2 * most]
    k = np.arange(-most, most + 1)
    chances = law.weights(noise, most)
    log_behind = np.zeros(k.size)
    # Exact first = v − k; a rival is behind if its noise is at least k − gap.
    different, times = np.unique(near, return_counts=True)
    tails = _at_least(noise, np.arange(-4 * most - 2, 4 * most + 3), most)
    for gap, count in zip(different.astype(int).tolist(), times.tolist(), strict=True):
        behind = tails[np.clip(k - gap + 4 * most + 2, 0, tails.size - 1)]
        log_behind += count * np.log(np.maximum(behind, 1e-300))
    left = max(0, gaps.size - near.size) * 2 * _FAR  # those that are far behind
    return float(np.clip((chances * np.exp(log_behind)).sum() - left, 0, 1))


def _at_least(noise: Noise, k: NDArray[np.int64], most: int) -> Floats:
    """Return P(N >= k), for whole numbers k in order."""
    held = law.weights(noise, most)
    total = np.concatenate([[0.0], np.cumsum(held[::-1])])[::-1]  # P(N >= −most), …, 0
    return np.asarray(np.minimum(total[np.clip(k + most, 0, held.size)], 1.0))


def _normal(release: Release, name: str, sign: int) -> Floats | None:
    m = release.measure(name)
    if m.low is None or m.high is None:
        return None
    value, low, high = (view(each, "rational") for each in (m.values, m.low, m.high))
    z = NormalDist().inv_cdf(float(1 + release.confidence) / 2)
    spread = np.maximum(high - value, value - low) / z
    gap = sign * (value[:-1] - value[1:])
    both = np.hypot(spread[:-1], spread[1:])
    from scipy.special import ndtr

    return np.asarray(np.where(both > 0, ndtr(gap / np.maximum(both, 1e-300)), 1.0))
