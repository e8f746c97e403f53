"""ε at a δ, and δ at an ε, of pairs that are composed: bounds that are refined until they meet."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.accounting.pld.compose import Composition
from sfumato.accounting.pld.rounding import TINY, toward
from sfumato.accounting.pld.search import Parts, Search

LEAST = 1e-30  # δ down to which `delta_of` aims to be narrow
_FIRST = 5e-4  # of the answer: the coarsest grid that is tried
_WIDTH = 4e-4  # of the answer: how far the bounds may be apart
_NOISE = 1e-7  # ... or absolutely
_TRIES = 5
_COARSE = 8  # how much coarser a grid is tried where little is asked


def epsilon_of(
    parts: Parts, delta: Fraction, *, back: bool, enough: float = -1.0
) -> tuple[float, float | None]:
    """Bound the least ε at which the composition is (ε, δ)-DP in one direction.

    Args:
        parts: the pairs and how often each comes.
        delta: δ.
        back: whether all pairs are taken with their laws exchanged.
        enough: an upper bound that need not be improved on, as the other direction has no better.
    """
    target = toward(delta, up=False)
    search = Search(parts, target, back=back)
    tilt = search.tilt(
        lambda t, value, mean, variance: (
            value
            - t * mean
            - math.log1p(t * (1 + t) * math.sqrt(2 * math.pi * max(variance, 0.0)))
            - math.log(target)
        )
    )
    _, mean, variance = search.rough.cumulants(tilt)
    spread = max(math.sqrt(max(variance, TINY)), mean / 100)
    aim = max(mean, spread / 50)
    low, high = 0.0, None
    interval = _interval(aim, parts, tilt, _WIDTH * aim)
    if enough > 0:
        found = search.composition(tilt, _COARSE * interval)
        least = _least(found, target, max(mean, spread), spread)
        if least is not None and least <= enough:
            return 0.0, least
    for _ in range(_TRIES):
        found = search.composition(tilt, interval)
        least = _least(found, target, max(mean, spread), spread)
        if least is not None:
            high = least if high is None else min(high, least)
            low = max(low, _most(found, toward(delta, up=True), least))
        narrow = high is not None and high - low <= max(_WIDTH * high, _NOISE)
        if narrow or found.interval > 1.5 * interval:  # or as fine as it can be
            break
        interval = found.interval / 2
    return low, high


def delta_of(parts: Parts, epsilon: Fraction, *, back: bool) -> tuple[float, float]:
    """Bound the least δ at which the composition is (ε, δ)-DP in one direction."""
    near = float(epsilon)
    search = Search(parts, LEAST, back=back)
    tilt = search.tilt(lambda t, value, mean, variance: near - mean)  # noqa: ARG005
    low, high = 0.0, 1.0
    _, mean, variance = search.rough.cumulants(tilt)
    spread = math.sqrt(max(variance, TINY))
    aim = max(near, mean, spread)
    # An error in ε counts as much as the tilt, or as losses are spread.
    interval = _interval(aim, parts, tilt, _WIDTH * min(1 / (1 + tilt), spread))
    for _ in range(_TRIES):
        found = search.composition(tilt, interval)
        high = min(high, found.above(toward(epsilon, up=False)))
        low = max(low, found.below(toward(epsilon, up=True)))
        if high - low <= 10 * _WIDTH * high or found.interval > 1.5 * interval:
            break
        interval = found.interval / 2
    return low, high


def _interval(aim: float, parts: Parts, tilt: float, width: float) -> float:
    """Return an interval that makes the bounds about as narrow as asked for."""
    count = sum(count for _, count in parts)
    return min(_FIRST * aim, math.sqrt(width / (0.9 * count * (1 + tilt))))


def _least(found: Composition, delta: float, start: float, step: float) -> float | None:
    """Return about the least ε >= 0 at which δ is at most this; at which it is, for certain."""
    if found.above(0.0) <= delta:
        return 0.0

    def lack(epsilon: float) -> float:
        return math.log(max(found.above(epsilon), TINY)) - math.log(delta)

    left, right, right_lack = 0.0, start, lack(start)
    left_lack = lack(left)
    for _ in range(40):
        if right_lack <= 0:
            break
        left, left_lack = right, right_lack
        right, step = right + step, 2 * step
        right_lack = lack(right)
    else:
        return None
    return _root(lack, (left, left_lack), (right, right_lack))


def _root(
    lack: Callable[[float], float], left: tuple[float, float], right: tuple[float, float]
) -> float:
    """Narrow a bracket by false position, halving the weight of an end that stays (Illinois)."""
    (a, at_a), (b, at_b) = left, right
    for step in range(80):
        if b - a <= 1e-10 * b or at_b == 0:
            break
        middle = (a * at_b - b * at_a) / (at_b - at_a) if step % 4 else (a + b) / 2
        middle = min(max(middle, a + 1e-3 * (b - a)), b - 1e-3 * (b - a))
        value = lack(middle)
        if value <= 0:
            b, at_b, at_a = middle, value, at_a / 2
        else:
            a, at_a, at_b = middle, value, at_b / 2
    return b


def _most(found: Composition, delta: float, high: float) -> float:
    """Return about the largest ε up to `high` at which δ is above this, for certain; or 0."""
    step, good = max(high * 1e-5, 1e-12), high
    while good > 0 and not found.below(good) > delta:
        good, step = good - step, 2 * step
    if good <= 0:
        return 0.0
    bad = min(good + step / 2, high)
    for _ in range(8):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if found.below(middle) > delta else (good, middle)
    return good
