"""The continuous Gaussian in floats: to compare with, to begin searches at, not to rely on."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.core.number import Exactable, open_unit, positive

_TRIES, _NEAR = 8, 2.0**-22  # each nearer, as a rule; what is near enough, in logarithms
_RAREST = Fraction(1, 10**15)  # floats do not reach further
_LEAST, _MOST = Fraction(1, 2**20), Fraction(2**60)  # scales of noise that can be drawn


def gaussian_reference_epsilon(rho: Exactable, delta: Exactable) -> float:
    """Return ε of the *continuous* Gaussian with l2²/(2σ²) = ρ: to compare with, not to rely on.

    The noise that is drawn is discrete, and a float has no direction of rounding.

    Theorem: [BW18, Thm 8]

    Example:
        >>> round(gaussian_reference_epsilon("0.5", "1e-6"), 3)
        4.887
    """
    mu = math.sqrt(2 * float(positive(rho, "rho")))
    target = float(open_unit(delta, "delta"))
    low, high = 0.0, 1.0
    while _reference_delta(mu, high) > target:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _reference_delta(mu, middle) <= target else (middle, high)
    return high


def gaussian_reference_sigma(epsilon: Exactable, delta: Exactable) -> float:
    """Return σ of the *continuous* Gaussian for shift 1 and (ε, δ): to compare with only.

    Theorem: [BW18, Thm 8]

    Example:
        >>> round(gaussian_reference_sigma(1, "1e-6"), 5)
        4.22468
    """
    loss, target = float(positive(epsilon, "epsilon")), float(open_unit(delta, "delta"))
    low, high = 0.0, 1.0
    while _reference_delta(1 / high, loss) > target:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if _reference_delta(1 / middle, loss) <= target else (middle, high)
        )
    return high


def about_sigma(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the σ that is enough for noise on one count; starts a search.

    By the secant method in logarithms, from where the continuous law has that δ.
    """
    start = shift * gaussian_reference_sigma(epsilon, max(delta, _RAREST))
    if start < 2 * shift:
        return _among_steps(shift, epsilon, delta)
    sigma, slope = Fraction(start), -1 - (float(epsilon) * start / shift) ** 2
    wanted, last = _log(delta), (0.0, 0.0)
    for tries in range(_TRIES):
        if not _LEAST <= sigma <= _MOST:
            break
        here = math.log(sigma), _log(gaussian_delta(sigma, shift, epsilon))
        if tries and here[0] != last[0]:
            slope = min((here[1] - last[1]) / (here[0] - last[0]), -1.0)
        step = min(max((wanted - here[1]) / slope, -1.0), 1.0)
        sigma, last = Fraction(math.exp(here[0] + step)), here
        if abs(step) < _NEAR:
            break
    return sigma


def _among_steps(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the σ that is enough if it is of the size of the shift.

    There δ does not fall evenly, and smaller σ may be enough too. It is sought where the continuous
    law has another δ by as much as the discrete one is off.
    """
    wanted = aim = max(delta, _RAREST)
    sigma = Fraction(0)
    for _ in range(_TRIES // 2):
        sigma = shift * Fraction(gaussian_reference_sigma(epsilon, aim))
        if not _LEAST <= sigma <= _MOST:
            break
        there = gaussian_delta(sigma, shift, epsilon)
        aim = min(aim * wanted / there, Fraction(1, 2))
    return sigma


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


def _reference_delta(mu: float, epsilon: float) -> float:
    """Return Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) for μ = shift/σ."""
    first, second = _phi(mu / 2 - epsilon / mu), _phi(-mu / 2 - epsilon / mu)
    # In logarithms, since e^ε alone may overflow; the second term is never above the first.
    return first - (math.exp(epsilon + math.log(second)) if second else 0.0)


def _phi(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
