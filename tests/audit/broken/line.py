"""Partitions of a line and cuts of a spectrum: what is bought before counts are measured."""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import exp, isqrt

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, REPLAY, Bug, Own
from broken.law import normalized
from sfumato.core.loss import BoundedRange, Pure
from sfumato.mechanisms.buckets import _cheapest, deviations
from sfumato.noise import Laplace, draw
from sfumato.noise.choice import Choice
from sfumato.testing import Contract

S, M = sf.Sensitivity, sf.mechanisms
RATE, FIXED = 1, 6  # ε for each record; the public cost of a bucket
RISE = Fraction(1, 2)  # how fast the odds of a cut fall
FIRST_OR_ALL = (4, *[30] * 8, 0)  # prices of keeping one coefficient, two, … ten


def buckets(one, two):
    """Cut a line, with noise of these scales on single cells and on longer buckets."""

    def drawn(exact, rng):
        costs, length = [], 1
        while length <= exact.size:
            spread = deviations(exact, length, max(1, length // 4))
            noisy = spread + draw(Laplace(one if length == 1 else two), spread.size, rng) + FIXED
            costs.append((length, max(1, length // 4), noisy.tolist()))
            length *= 2
        return _cheapest(costs, exact.size)

    return drawn


def buckets_law(one, two):
    """Of a line of three cells: all five noisy costs, the last of them by its tail."""

    @cache
    def cost(scale, fixed):
        ratio, found = exp(-1 / scale), {}
        for x in range(-int(26 * scale) - 2, int(26 * scale) + 3):
            found[x + fixed] = (1 - ratio) / (1 + ratio) * ratio ** abs(x)
        return np.array(list(found)), np.array(list(found.values()))

    @cache
    def law(first, middle, last):
        (s, p), left, right = (
            cost(float(one), FIXED),
            cost(float(two), FIXED + abs(first - middle)),
            cost(float(two), FIXED + abs(middle - last)),
        )
        order = np.argsort(right[0])
        values, below = right[0][order], np.append(0.0, np.cumsum(right[1][order]))

        def at_least(bound):
            """P(right >= bound + c), where c is the cost of the last cell."""
            return (1 - below[np.searchsorted(values, bound[..., None] + s)]) @ p

        sums, weight, after = s[:, None] + s, p[:, None] * p, at_least(s)
        apart, at_left = 0.0, 0.0
        for x, q in zip(*left, strict=True):
            # A tie goes to the shorter last bucket: one cell before a pair, apart before both.
            wins = x < sums
            at_left += q * float((weight * wins * at_least(x - s)[:, None]).sum())
            apart += q * float((weight * ~wins * after).sum())
        return {(0, 1, 2, 3): apart, (0, 2, 3): at_left, (0, 1, 3): 1 - apart - at_left}

    return lambda exact: law(*(int(count) for count in exact))


def cut(score, prices):
    """Choose how many coefficients to keep by a score of what is left out."""

    def drawn(exact, rng):
        costs = [score(exact[k:].tolist()) + price for k, price in enumerate(prices, 1)]
        return int(Choice(-np.array(costs), RISE).draw(1, rng)[0]) + 1

    return drawn


def cut_law(score, prices):
    def law(exact):
        entries = [int(entry) for entry in exact]
        costs = [score(entries[k:]) + price for k, price in enumerate(prices, 1)]
        return normalized({k: exp(-(c - min(costs)) / 2) for k, c in enumerate(costs, 1)})

    return law


def length(left_out):
    return isqrt(sum(entry * entry for entry in left_out))


def energy(left_out):
    return sum(entry * entry for entry in left_out)


def buckets_of_the_data(counts):
    """Measure a bucket for each stretch of equal counts."""
    edges = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    sums = [sum(counts[a:b]) for a, b in pairwise(edges)]
    return edges, M.DiscreteLaplace(1)(sums).tolist()


def buckets_that_were_bought(counts):
    found = sf.ranges.release(sf.lab(counts), method="dawa", epsilon=1)
    return [len(m.values) for m in found.measured], found.count(0, 1).value


def largest_coefficients(counts):
    """Measure the two coefficients that are largest in the data."""
    spectrum = np.rint(np.abs(np.fft.rfft(counts))).astype(int)
    kept = np.sort(np.argsort(-spectrum, kind="stable")[:2])
    return kept.tolist(), M.DiscreteLaplace(4)(spectrum[kept]).tolist()


def coefficients_that_were_bought(counts):
    found = sf.ranges.release(sf.lab(counts), method="fourier", epsilon=1)
    return [len(m.values) for m in found.measured], found.count(0, 1).value


def prices_of_the_data(counts):
    """Let each coefficient cost as much as the counts are spread."""
    spread = isqrt(sum(c * c for c in counts))
    return M.SpectralCut([spread, 2 * spread], rate="1/4")(counts)


def mechanism(name, story, drawn, claimed, sensitivity, pairs, law, **more):
    more = {"caught": (CONTRACT, BLACK_BOX), "trials": 20_000} | more
    contract = Contract(Own(drawn, claimed), sensitivity, pairs, law, name=name, draws=1_000)
    return Bug(name=name, story=story, contract=contract, **more)


def program(name, story, wrong, a, b, **more):
    more = {"claim": 1, "sensitivity": S(l1=1), "caught": (REPLAY, BLACK_BOX)} | more
    return Bug(name=name, story=story, program=wrong, pair=(a, b), **more)


def per_record(s):
    return Pure(RATE * s.l1)


ONE, TWO = Fraction(1, RATE), Fraction(2, RATE)
LINES = [([0, 0, 5], [0, 1, 5]), ([2, 2, 2], [2, 3, 2])]

BUGS = [
    mechanism(
        "buckets as if one cost moved",
        "Gives long buckets the noise for a cost that moves by one, though the bucket around the "
        "same cell in another partition moves too.",
        buckets(ONE, ONE),
        per_record,
        S(l1=1),
        LINES,
        buckets_law(ONE, ONE),
        trials=40_000,  # it shows ε = 1.32 where 1 is claimed
    ),
    mechanism(
        "spectrum by its largest move",
        "Charges the length of what is left out for the largest move of one coefficient, though "
        "all of them move.",
        cut(length, FIRST_OR_ALL),
        lambda s: BoundedRange(2 * RISE * s.linf),
        S(l0=9, l1=9, l2=3, linf=1),
        [([9, *[0] * 9], [9, *[1] * 9])],
        cut_law(length, FIRST_OR_ALL),
    ),
    mechanism(
        "spectrum by its energy",
        "Scores by the sum of squares, which one record moves the further the more there are.",
        cut(energy, (0, 2, 5)),
        lambda s: BoundedRange(2 * RISE * isqrt(int(s.l2_squared))),
        S(l0=3, l1=3, l2=2, linf=2),
        [([9, 2, 2], [9, 3, 3]), ([9, 1, 1], [9, 1, 3])],
        cut_law(energy, (0, 2, 5)),
        trials=5_000,
    ),
    program(
        "buckets of equal counts",
        "Cuts the line where the exact counts change, and measures the buckets.",
        buckets_of_the_data,
        [4, 4, 4, 9],
        [4, 4, 5, 9],
    ),
    program(
        "largest coefficients",
        "Measures the coefficients that are largest, and tells which they are.",
        largest_coefficients,
        [3, 0, 1, 1],
        [3, 0, 0, 1],
        sensitivity=S(l1=4),
    ),
    program(
        "prices that follow the data",
        "Lets a coefficient cost as much as counts are spread, which nobody paid to know.",
        prices_of_the_data,
        [9, 0, 5],
        [9, 0, 0],
        sensitivity=S(l1=5, l2=5, linf=5),
        claim=Fraction(5, 2),
        caught=(REPLAY,),  # what a choice gives away hardly shows from outside
    ),
]

TWINS = [
    mechanism(
        "buckets with noise for two moves",
        "Single cells do not move, and longer buckets have twice the noise.",
        buckets(ONE, TWO),
        per_record,
        S(l1=1),
        LINES,
        buckets_law(ONE, TWO),
        caught=(),
    ),
    mechanism(
        "spectrum by its length",
        "The length of what is left out moves no further than all coefficients together.",
        cut(length, FIRST_OR_ALL),
        lambda s: BoundedRange(2 * RISE * isqrt(int(s.l2_squared))),
        S(l0=9, l1=9, l2=3, linf=1),
        [([9, *[0] * 9], [9, *[1] * 9])],
        cut_law(length, FIRST_OR_ALL),
        caught=(),
    ),
    program(
        "buckets that were bought",
        "A private partition, then noisy sums of its buckets, for one price.",
        buckets_that_were_bought,
        [4, 4, 4, 9, 0, 0, 0, 1],
        [4, 4, 5, 9, 0, 0, 0, 1],
        caught=(),
    ),
    program(
        "coefficients that were bought",
        "A private cut of the spectrum, then noisy coefficients, for one price.",
        coefficients_that_were_bought,
        [4, 4, 4, 9, 0, 0, 0, 1],
        [4, 4, 5, 9, 0, 0, 0, 1],
        sensitivity=None,
        caught=(),
    ),
]
