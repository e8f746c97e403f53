"""A partition of a line and a cut of a spectrum, their laws written down by hand."""

from fractions import Fraction
from itertools import pairwise
from math import exp, isqrt

import sfumato as sf
from sfumato.testing import Contract

M, S = sf.mechanisms, sf.Sensitivity


def pmf(scale, reach):
    ratio = exp(-1 / scale)
    return {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-reach, reach + 1)}


def below(scale, at):
    """P(noise < at)."""
    ratio = exp(-1 / scale)
    return ratio ** (1 - at) / (1 + ratio) if at <= 0 else 1 - ratio**at / (1 + ratio)


def partition(rate, charge, margin):
    """The law for lines of two and three cells: noise of single cells, then of pairs."""
    one, two = 1 / rate, 2 / rate
    single, pair = int(charge + margin * one), int(charge + margin * two)
    reach = int(36 * one)

    def law(exact):
        counts = [int(count) for count in exact]
        gaps = [abs(a - b) + pair for a, b in pairwise(counts)]
        found = {}
        if len(counts) == 2:
            sums = {}
            for x, p in pmf(one, reach).items():
                for y, q in pmf(one, reach).items():
                    sums[x + y] = sums.get(x + y, 0) + p * q
            # A tie goes to the shorter last bucket.
            together = sum(p * below(two, s + 2 * single - gaps[0]) for s, p in sums.items())
            return {(0, 2): together, (0, 1, 2): 1 - together}
        joint = joint_law(one, reach)
        # Beside the first and the last cell: two singles against a pair at either side.
        for (first, last), p in joint.items():
            right = first + gaps[1] + single  # the first alone, a pair
            left = last + gaps[0] + single  # a pair, the last alone
            alone = first + last + 3 * single
            for middle, q in pmf(one, reach).items():
                apart = alone + middle
                weigh(found, p * q, apart, left, right, two)
        return found

    def weigh(found, p, apart, left, right, scale):
        # apart wins ties with both; left (its last bucket is shorter) wins ties with right.
        not_left = 1 - below(scale, apart - left)
        not_right = 1 - below(scale, apart - right)
        add(found, (0, 1, 2, 3), p * not_left * not_right)
        rest = p * (1 - not_left * not_right)
        add(found, "rest", rest)
        found.setdefault("pairs", []).append((p, apart, left, right))

    def add(found, key, p):
        found[key] = found.get(key, 0.0) + p

    def whole(exact):
        found = law(exact)
        if "pairs" not in found:
            return found
        # Of the rest, the pair at the left wins if its noisy cost is at most that at the right.
        wins = 0.0
        for p, apart, left, right in found.pop("pairs"):
            if p < 1e-9:
                continue
            for x, q in pmf(two, int(18 * two)).items():
                if left + x < apart:
                    wins += p * q * (1 - below(two, left + x - right))
        rest = found.pop("rest")
        return {**found, (0, 2, 3): wins, (0, 1, 3): rest - wins}

    return whole


def joint_law(scale, reach):
    cells = pmf(scale, reach)
    return {(x, y): p * q for x, p in cells.items() for y, q in cells.items() if p * q > 1e-9}


def cut(prices, rate):
    def law(exact):
        entries = [int(entry) for entry in exact]
        costs = [
            isqrt(sum(e * e for e in entries[k:])) + price for k, price in enumerate(prices, 1)
        ]
        weights = [exp(-rate * (cost - min(costs))) for cost in costs]
        return {k: w / sum(weights) for k, w in enumerate(weights, 1)}

    return law


def line_cases():
    for relation in ("add_remove", "replace"):
        yield Contract(
            M.BucketPartition(1, 1, 1),
            S(l1=1, neighbors=relation),
            pairs=[([4, 0], [5, 0]), ([0, 0], [0, 1]), ([3, 3], [3, 2]), ([7, 1], [7, 0])],
            law=partition(1.0, 1, 1),
            name=f"BucketPartition of two cells, {relation}",
        )
    yield Contract(
        M.BucketPartition(Fraction(3, 2), 1, 1),
        S(l1=2),
        pairs=[([4, 0], [6, 0]), ([0, 0], [1, 1]), ([9, 1], [8, 2])],
        law=partition(1.5, 1, 1),
        name="BucketPartition, two records",
    )
    yield Contract(
        M.BucketPartition(4, 1, 1),
        S(l1=1),
        pairs=[([2, 0, 0], [3, 0, 0]), ([2, 1, 0], [2, 2, 0]), ([0, 0, 1], [0, 0, 2])],
        law=partition(4.0, 1, 1),
        name="BucketPartition of three cells",
    )
    for relation in ("add_remove", "replace"):
        yield Contract(
            M.SpectralCut([0, 2, 5], Fraction(1, 2)),
            S(l0=3, l1=3, l2=2, linf=2, neighbors=relation),
            pairs=[([9, 4, 0], [9, 6, 0]), ([1, 0, 0], [1, 1, 1]), ([5, 3, 3], [5, 4, 2])],
            law=cut([0, 2, 5], 0.5),
            truth=lambda values, drawn: _excess(values, [0, 2, 5], drawn),
            name=f"SpectralCut, {relation}",
        )


def _excess(values, prices, drawn):
    costs = [isqrt(sum(v * v for v in values[k:])) + p for k, p in enumerate(prices, 1)]
    return costs[drawn - 1] - min(costs)
