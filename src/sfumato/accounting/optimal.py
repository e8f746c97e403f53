"""Optimal composition: the exact (ε, δ) curve of many equal (ε, δ)-DP releases.

No bound that knows of each release only that it is (ε, δ)-DP can be better: k randomized responses,
each of which tells all with probability δ, attain it. The number I of truthful answers decides,

    δ(ε') = 1 − (1 − δ)^k · (1 − Σ_i P(I = i)·(1 − e^(ε' − (2i − k)·ε))₊),

with P(I = i) = C(k, i)·e^(iε)/(1 + e^ε)^k. The sum runs from the first term that counts until the
rest is below a geometric series. Releases of different ε are left to the numerical accountant.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from sfumato.accounting.grid import FINEST, dyadic, index_below, least_near, rational_up
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.tail import pi
from sfumato.core.errors import LossError
from sfumato.core.interval import Interval, directed
from sfumato.core.loss import Composed, Loss
from sfumato.core.number import Exactable, failure_probability, nonnegative, show, show_above

_DIGITS = 60
_EXACT = 20_000  # releases up to which the binomial coefficient is computed as an integer
_SMALL = 1_000  # ... and numbers up to which a factorial is
_MOST = 10**6  # releases
_STEEP = 10**5  # k·ε beyond which there is no point


def optimal_epsilon(loss: Loss, delta: Exactable) -> Fraction:
    """Return the least ε that holds for every composition of so many equal (ε, δ), rounded up.

    Guarantee: (ε, δ)-DP of the composition, whatever the mechanisms are.
    Theorem:   [KOV15]; docs/theory/optimal.md
    Exactness: the least number of 41 significant bits, above the optimum by at most 1 in 10^12

    Args:
        loss: equal releases with an ε each, with `*` or `compose`.
        delta: δ; for approximate parts above what they spend together.

    Raises:
        LossError: releases that differ, or without an ε; a δ below that of the parts; more than a
            million releases.

    Example:
        >>> from sfumato.core.loss import Pure
        >>> round(float(optimal_epsilon(Pure("0.1") * 100, delta="1e-6")), 4)
        4.7746
    """
    epsilon, failure, count = _equal(loss)
    target = failure_probability(delta)
    slack = _slack(failure, count, target)
    if slack is None:
        raise LossError(
            f"these releases fail with a probability above delta = {show(target)} by themselves: "
            f"no ε holds there. Pass a delta of {show_above(min(own_delta(loss), Fraction(1)))} or "
            f"more."
        )
    return _epsilon(epsilon, count, slack)


def optimal_delta(loss: Loss, epsilon: Exactable) -> Fraction:
    """Return the least δ that holds for every composition of so many equal (ε, δ), rounded up.

    Guarantee: (ε, δ)-DP of the composition, whatever the mechanisms are.
    Theorem:   [KOV15]; docs/theory/optimal.md
    Exactness: rounded up, by at most 1 in 10^15

    Args:
        loss: equal releases with an ε each, with `*` or `compose`.
        epsilon: ε, zero or above.

    Raises:
        LossError: releases that differ, or without an ε; more than a million of them.
    """
    cost, failure, count = _equal(loss)
    found = _delta(cost, count, nonnegative(epsilon, "epsilon"))
    if not failure:
        return found
    kept = (count * Interval.of(1 - failure, _DIGITS).log()).exp()
    return min(rational_up((1 - kept * (1 - found)).high), Fraction(1))


def is_homogeneous(loss: Loss) -> bool:
    """Say whether `loss` is many equal releases with an ε, which these functions can take."""
    return _parts(loss) is not None


def _parts(loss: Loss) -> tuple[Fraction, Fraction, int] | None:
    """Return ε and δ of each of the equal parts, and how many there are."""
    pairs = loss.parts if type(loss) is Composed else ((loss, 1),)
    found: set[tuple[Fraction, Fraction]] = set()
    count = 0
    for part, times in pairs:
        cost = basic_epsilon(part)
        if cost is None:
            return None
        found.add((cost, own_delta(part)))
        count += times
    if len(found) != 1 or count > _MOST:
        return None
    return *found.pop(), count


def _equal(loss: Loss) -> tuple[Fraction, Fraction, int]:
    found = _parts(loss)
    if found is None:
        raise LossError(
            "optimal composition in closed form is for up to a million releases of the same ε "
            "(and δ) each. Ask for accounting.epsilon(loss, delta), which composes any losses "
            "numerically."
        )
    return found


def _slack(failure: Fraction, count: int, target: Fraction) -> Fraction | None:
    """Return 1 − (1 − δ)/(1 − δ₀)^k, rounded down; None where it is negative."""
    if not failure:
        return target
    kept = (count * Interval.of(1 - failure, _DIGITS).log()).exp()
    left = (1 - (1 - target) / kept).low  # down: understates what may be spent
    if left < 0:
        return None
    return Fraction(left) if left.adjusted() > -400 else Fraction(0)


@lru_cache(maxsize=1024)
def _epsilon(epsilon: Fraction, count: int, delta: Fraction) -> Fraction:
    whole = epsilon * count
    if delta < FINEST or not whole or whole > _STEEP:
        return whole
    if _delta(epsilon, count, Fraction(0)) <= delta:
        return Fraction(0)
    guess = index_below(_guess(epsilon, count, delta))
    found = dyadic(least_near(lambda i: _delta(epsilon, count, dyadic(i)) <= delta, guess))
    return min(found, whole)


@lru_cache(maxsize=4096)
def _delta(epsilon: Fraction, count: int, target: Fraction) -> Fraction:
    """Return δ(target) of `count` randomized responses, rounded up."""
    if target >= epsilon * count:
        return Fraction(0)
    first = math.floor((count + target / epsilon) / 2) + 1  # the first i with a positive term
    down, up = directed(_DIGITS)
    whole = Interval.of(epsilon, _DIGITS)
    weight = _weight(count, first, whole).high
    growth = whole.exp().high
    # e^(ε' − (2i − k)·ε), which falls by e^(−2ε) a step; down: overstates what is left of 1
    loss = Interval.of(target - (2 * first - count) * epsilon, _DIGITS).exp().low
    decay = (-(2 * whole)).exp().low
    total, one = Decimal(0), Decimal(1)
    for i in range(first, count + 1):
        total = up.add(total, up.multiply(weight, up.subtract(one, loss)))
        ratio = up.divide(up.multiply(Decimal(count - i), growth), Decimal(i + 1))
        weight = up.multiply(weight, ratio)
        loss = down.multiply(loss, decay)
        if ratio < one:
            # The ratios fall, so the rest is below weight/(1 − ratio).
            rest = up.divide(weight, down.subtract(one, ratio))
            if rest.adjusted() < total.adjusted() - 20:
                total = up.add(total, rest)
                break
    return rational_up(min(total, one))


def _weight(count: int, i: int, epsilon: Interval) -> Interval:
    """Enclose C(k, i)·e^(iε)/(1 + e^ε)^k."""
    log = i * epsilon - count * (1 + epsilon.exp()).log()
    if count <= _EXACT:
        return math.comb(count, i) * log.exp()
    return (_log_factorial(count) - _log_factorial(i) - _log_factorial(count - i) + log).exp()


def _log_factorial(n: int) -> Interval:
    """Enclose ln n!, for large n by Stirling's series, whose terms enclose it in turn."""
    if n <= _SMALL:
        return Interval.of(math.factorial(n), _DIGITS).log()
    x = Interval.of(n, _DIGITS)
    head = (n + Fraction(1, 2)) * x.log() - n + _HALF_LOG_TWO_PI
    terms = Fraction(1, 12 * n) - Fraction(1, 360 * n**3) + Fraction(1, 1260 * n**5)
    last = Fraction(1, 1680 * n**7)
    return Interval((head + terms - last).low, (head + terms).high, _DIGITS)


def _guess(epsilon: Fraction, count: int, delta: Fraction) -> Fraction:
    """Return about the ε' at which δ(ε') is `delta`, by halving."""
    low, high = Fraction(0), epsilon * count
    goal = _log(delta)
    for _ in range(60):
        middle = (low + high) / 2
        found = _delta(epsilon, count, middle)
        if not found or _log(found) <= goal:
            high = middle
        else:
            low = middle
        if high - low <= high / 2**41:
            break
        low, high = _short(low), _short(high)
    return high


def _short(number: Fraction) -> Fraction:
    """Return a number near this one that has few digits, so that a search stays quick."""
    return Fraction(round(number * 2**60), 2**60)


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


_HALF_LOG_TWO_PI = (2 * pi(_DIGITS)).log() / 2
