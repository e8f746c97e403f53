"""Noise above a threshold: what it gives away of groups that one unit makes, and of the others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from math import exp, log
from statistics import NormalDist
from typing import Literal, TypeAlias

from sfumato.accounting.convert import rho_within
from sfumato.accounting.curve import delta as delta_of
from sfumato.accounting.gaussian import gaussian_delta
from sfumato.accounting.grid import dyadic, index_above, least_near, rational_up, shorten_up
from sfumato.accounting.reference import about_sigma
from sfumato.accounting.tail import tail, total
from sfumato.core.errors import RangeError
from sfumato.core.interval import DIGITS, Interval
from sfumato.core.loss import Concentrated, GaussianShift, Loss
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.group import Move, joint
from sfumato.noise.law import LARGEST, SMALLEST

Noise: TypeAlias = Literal["laplace", "gaussian"]

_COARSE = 1 << 20  # of the grid of 41 bits: scales are sought among those of 21
_TRIES = 32  # halvings, after which the bounds are taken as they are
_CLOSE = 1 + Fraction(1, 1000)  # what is not worth another halving
_LEFT = 1 - Fraction(1, 2**8)  # of δ for the noise alone, so that some is left for the threshold


@lru_cache(maxsize=4096)
def passes(noise: Noise, scale: Fraction, threshold: int, count: int) -> Interval:
    """Enclose the probability that a count with noise is above a threshold."""
    first = threshold - count + 1  # the least noise that lifts it above
    beyond = _tail(noise, scale, max(first, 1 - first))
    return beyond if first >= 1 else 1 - beyond


def _tail(noise: Noise, scale: Fraction, first: int) -> Interval:
    """Enclose P(noise >= first), for first >= 1."""
    if noise == "gaussian":
        return tail(first, scale, DIGITS) / total(scale, DIGITS)
    return Interval.of(-first / scale).exp() / (1 + Interval.of(-1 / scale).exp())


def made(noise: Noise, scale: Fraction, threshold: int, move: Move, groups: int) -> Fraction:
    """Return with which probability one of the groups that one unit makes passes, rounded up.

    Args:
        noise: the law of the noise.
        scale: its scale.
        threshold: what a noisy count has to be above.
        move: how far one unit can move the counts.
        groups: how many groups it makes, at most.
    """
    largest = _passing(noise, scale, threshold, move.most)
    found = joint(largest, groups)
    # Odds are convex up to the threshold: there, what a unit can move is spent worst on groups of
    # one, or on as few groups as possible.
    if move.full or move.most > threshold + 1:
        return found
    smallest = _passing(noise, scale, threshold, 1)
    return min(found, max(joint(smallest, move.total), joint(largest, move.times)))


def _passing(noise: Noise, scale: Fraction, threshold: int, count: int) -> Fraction:
    return min(rational_up(passes(noise, scale, threshold, count).high), Fraction(1))  # up


def concentrated(sigma: Fraction, move: Move, neighbors: Neighbors) -> Loss:
    """Return the loss, in ρ, of Gaussian noise on groups that are there without the unit too."""
    if move.groups == 1:
        return Concentrated(move.square / (2 * sigma**2), neighbors=neighbors)
    return GaussianShift(sigma, Fraction(move.square), neighbors=neighbors)


def _shifted(sigma: Fraction, move: Move, groups: int) -> Loss:
    """Return the loss of Gaussian noise on so many groups, where one unit makes the others."""
    rest = move.groups - groups  # each takes one, at least, of what the unit can move
    square = min(move.square - rest, (move.total - rest) * move.most)
    if groups * move.most**2 <= square:  # each group by itself
        return GaussianShift(sigma, Fraction(move.most**2), scalar=True) * groups
    return GaussianShift(sigma, Fraction(square))


@lru_cache(maxsize=1024)
def joint_delta(sigma: Fraction, threshold: int, move: Move, epsilon: Fraction) -> Fraction:
    """Return δ(ε) of Gaussian noise and threshold together, rounded up.

    The largest τ_j + (1 - τ_j)·δ_{k-j}(ε) of j = 0, …, k groups made. Both terms are monotone in j,
    one up and one down: the ends of a range of j bound all in it, and the range that could hold the
    largest is halved, until it is known to 1 in 1000 or so.

    Theorem: [WKZK24]; docs/theory/thresholds.md
    """

    def bound(low: int, high: int) -> Fraction:
        appears = made("gaussian", sigma, threshold, move, high)
        apart = delta_of(_shifted(sigma, move, move.groups - low), epsilon)
        return appears + (1 - appears) * apart

    largest = max(bound(0, 0), bound(move.groups, move.groups))
    ranges = [(-bound(1, move.groups - 1), 1, move.groups - 1)] if move.groups > 1 else []
    for _ in range(_TRIES):
        if not ranges or -ranges[0][0] <= largest * _CLOSE or ranges[0][1] == ranges[0][2]:
            break
        _, low, high = heappop(ranges)
        middle = (low + high) // 2
        for ends in ((low, middle), (middle + 1, high)):
            heappush(ranges, (-bound(*ends), *ends))
    if ranges:  # up: what the range that may hold most could hold
        largest = max(largest, -ranges[0][0])
    return shorten_up(min(largest, Fraction(1)))


def least_sigma(move: Move, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a σ near the least, of 21 significant bits, at which the noise alone is (ε, δ)-DP.

    The next smaller one of these is not enough. Where noise is of the size of what one unit can
    move, δ goes up and down while σ grows, and some σ up to a fifth smaller may be enough as well.
    With several groups, some of which one unit may change while it makes others, δ less a little.
    """
    if move.groups == 1:  # summed
        guess = about_sigma(move.most, epsilon, delta)

        def enough(sigma: Fraction) -> bool:
            return gaussian_delta(sigma, move.most, epsilon) <= delta

    else:
        rho = rho_within(epsilon, delta * _LEFT)
        guess = Fraction(Interval.of(move.square / (2 * rho)).sqrt().high) if rho else LARGEST + 1

        def enough(sigma: Fraction) -> bool:
            return delta_of(_shifted(sigma, move, move.groups), epsilon) <= delta * _LEFT

    start = index_above(min(max(guess, SMALLEST), LARGEST)) // _COARSE
    sigma = dyadic(least_near(_within(enough), start) * _COARSE)
    if sigma > LARGEST:
        raise RangeError(
            "no noise up to a scale of 2^60 brings the loss within the target. Ask for less "
            "privacy, or measure in a coarser step."
        )
    return sigma


def _within(enough: Callable[[Fraction], bool]) -> Callable[[int], bool]:
    """Return whether the σ with this index is enough; below what can be drawn none is."""

    def fits(index: int) -> bool:
        sigma = dyadic(index * _COARSE)
        return sigma > LARGEST or (sigma >= SMALLEST and enough(sigma))

    return fits


def about(noise: Noise, scale: Fraction, rare: Fraction) -> int:
    """Return about how far noise goes that is exceeded with this probability; starts a search."""
    odds = min(max(float(rare), 1e-300), 0.5)
    if noise == "gaussian":
        return int(scale * Fraction(-NormalDist().inv_cdf(odds)))
    return max(int(scale * Fraction(-log(odds * (1 + exp(-1 / float(scale)))))), 0)
