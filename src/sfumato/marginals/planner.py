"""How much noise each residual gets: ResidualPlanner, for Gaussian noise.

With x the variance of the noise on each part, c the squared sensitivity of each, and U what they
add to the marginals, the loss is Σ c/x and the variances are U·x. The least sum of variances has a
closed form; the least maximum is found by its dual, whose value says how far from the optimum it
may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import frexp, isqrt
from typing import Literal, TypeAlias

import numpy as np

from sfumato.marginals.basis import Floats
from sfumato.marginals.closure import Closure

Objective: TypeAlias = Literal["sum", "max"]

_ROUNDS = 2000
_GAP = 1e-4  # between the largest variance and the least that any plan could have
_MANTISSA = 11  # bits of relative scales: the optimum is flat, and few digits add up quickly
_FINE = 60  # bits of the common scale


def variances(closure: Closure, costs: Floats, objective: Objective) -> Floats:
    """Return the variance of the noise on each part, for which Σ cost/variance = 1.

    Args:
        closure: the parts, and what they add to the marginals.
        costs: the squared L2 sensitivity of each part.
        objective: the least sum of the variances of all questions, or the least largest variance of
            a marginal.
    """
    if objective == "sum":
        return _least(costs, closure.weights())[0]
    each = 1 / closure.questions / len(closure.workload)  # how much the dual has on each marginal
    best, found = np.inf, costs
    for _ in range(_ROUNDS):
        parts, bound = _least(costs, closure.weights(each))
        seen = closure.variances(parts)
        if seen.max() < best:
            best, found = float(seen.max()), parts
        if best <= bound * (1 + _GAP):
            break
        each = each * seen / bound  # more on those that are worse than the mean
        each /= (each * closure.questions).sum()
    return found


def _least(costs: Floats, weights: Floats) -> tuple[Floats, float]:
    """Return the variances with the least weighted sum, and that sum."""
    whole = float(np.sqrt(costs * weights).sum())
    return np.sqrt(costs / weights) * whole, whole**2


def scales(parts: Floats, squares: Sequence[Fraction], rho: Fraction) -> list[Fraction]:
    """Return a sigma for each part, in the ratios wanted, whose losses add up to ρ at most.

    Ratios are rounded to a few digits; the common scale is then found in whole numbers and rounded
    up, so that Σ l2²/(2·sigma²) is at most ρ, exactly.

    Args:
        parts: the variances wanted.
        squares: the squared L2 sensitivity of each part.
        rho: what all may cost together.
    """
    relative = [_rounded(float(x)) for x in np.sqrt(parts)]
    cost = _total([square / ratio**2 for square, ratio in zip(squares, relative, strict=True)])
    common = cost / (2 * rho)  # the least square of the common scale
    shift = max(0, _FINE + (common.denominator.bit_length() - common.numerator.bit_length()) // 2)
    root = isqrt((common.numerator << 2 * shift) // common.denominator) + 1  # up: overstates noise
    scale = Fraction(root, 1 << shift)
    return [scale * ratio for ratio in relative]


def _rounded(number: float) -> Fraction:
    mantissa, exponent = frexp(number)
    return Fraction(round(mantissa * 2**_MANTISSA)) * Fraction(2) ** (exponent - _MANTISSA)


def _total(terms: Sequence[Fraction]) -> Fraction:
    """Add up, two by two: denominators stay short for longer."""
    held = list(terms)
    while len(held) > 1:
        pairs = zip(held[::2], held[1::2], strict=False)
        held = [a + b for a, b in pairs] + ([held[-1]] if len(held) % 2 else [])
    return held[0]
