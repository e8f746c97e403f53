"""Quantiles by bisection, their laws from the definition: every row spread out, every cut tried."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np

import sfumato as sf
from sfumato.mechanisms import Bag
from sfumato.testing import Contract

M, S = sf.mechanisms, sf.Sensitivity
HALF = Fraction(1, 2)


def group_law(mechanism, rows):
    """Return {positions, in the order of the targets: probability} for the rows of one group."""
    points = int((mechanism.high - mechanism.low) / mechanism.step) + 1
    shares, targets = mechanism.shares, mechanism.targets
    order = sorted(range(len(targets)), key=lambda place: targets[place])
    weight = [0] * (points * shares)  # of each place, in shares of a row
    for row in rows:
        for place in range(row * shares, (row + 1) * shares):
            weight[place] += 1

    @cache
    def part(first, behind, low, below, high, above):
        """The law of some targets, sought between two places that were found for two others."""
        if first == behind:
            return {(): 1.0}
        middle = (first + behind) // 2
        q, offset = targets[order[middle]]
        (q1, o1), (q2, o2) = below, above
        share = (q - q1) / (q2 - q1) if q1 < q2 else HALF
        wanted = share * sum(weight[low:high]) + (offset - o1 - share * (o2 - o1)) * shares
        wanted = min(max(wanted, 0), sum(weight[low:high]))
        slope = mechanism.rate / (2 * max(share, 1 - share)) / shares
        size = shares if behind - first == 1 else 1
        odds = {}
        for start in range(low - low % size, high, size):
            under, upto = sum(weight[low:start]), sum(weight[low : min(start + size, high)])
            off = max(0, under - wanted, wanted - upto)
            odds[start] = exp(-float(slope * off))
        if not odds:
            return {(low // shares,) * (behind - first): 1.0}
        total, law = sum(odds.values()), {}
        for start, mass in odds.items():
            left = part(first, middle, low, below, start, (q, offset))
            right = part(middle + 1, behind, start, (q, offset), high, above)
            for (a, p), (b, r) in product(left.items(), right.items()):
                key = (*a, start // shares, *b)
                law[key] = law.get(key, 0.0) + mass / total * p * r
        return law

    bottom, top = (Fraction(0), Fraction(0)), (Fraction(1), Fraction(0))
    found = part(0, len(order), 0, bottom, len(weight), top)
    places = np.argsort(order)
    return {tuple(key[i] for i in places): p for key, p in found.items()}


def law_of(mechanism):
    points = int((mechanism.high - mechanism.low) / mechanism.step) + 1

    def law(exact):
        group, rows = np.divmod(np.asarray(exact), points)
        laws = [group_law(mechanism, rows[group == g].tolist()) for g in range(exact.groups)]
        out = {(): 1.0}
        for one in laws:
            out = {(*a, *b): p * r for (a, p), (b, r) in product(out.items(), one.items())}
        return out

    return law


def rank_error(targets, place):
    """How far the rank of the value found for one of the targets is from the wanted one."""

    def error(values, drawn):
        q, offset = targets[place]
        data = np.array(values)
        wanted = min(max(float(q * data.size + offset), 0), data.size)
        found = int(np.asarray(drawn)[place])
        return max(0.0, (data < found).sum() - wanted, wanted - (data <= found).sum())

    return error


def case(targets, high, rate, shares, sensitivity, pairs, name, *, place=None, draws=1000):
    mechanism = M.Quantiles(targets, 0, high, 1, rate, shares)
    return Contract(
        mechanism,
        sensitivity,
        pairs,
        law_of(mechanism),
        None if place is None else rank_error(mechanism.targets, place),
        name=f"Quantiles, {name}",
        draws=draws,
    )


def grouped(*groups):
    rows = [(row, g) for g, held in enumerate(groups) for row in held]
    values, cells = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Bag(values, cells, len(groups))


def quantiles_cases():
    base = [3, 4, 4, 9, 10, 15]
    for q in (HALF, Fraction(1, 5), Fraction(9, 10), Fraction(0), Fraction(1)):
        pairs = [(base, [*base, other]) for other in (0, 4, 9, 20)] + [([], [7])]
        yield case([q], 20, "6/5", 1, S(l1=1), pairs, f"q = {q}", place=0 if q == HALF else None)
    yield case(
        [HALF],
        20,
        "6/5",
        1,
        S(l1=2, neighbors="replace"),
        [(base, [*base[:-1], other]) for other in (0, 4, 20)] + [(base, [20, *base[1:]])],
        "replace",
    )
    yield case([(1, -3)], 6, 1, 1, S(l1=2), [([1, 2, 5, 5, 6], [5, 5, 6]), ([6], [])], "an offset")
    few, more = [0, 1, 1, 1, 1, 4], [0, 1, 1, 1, 1, 4, 4]
    pairs = [(few, more), (few, few[1:]), (few, [*few, 1]), ([], [2]), ([1] * 5, [1] * 6)]
    yield case(["1/4", "3/4"], 4, 1, 4, S(l1=1), pairs, "two targets")
    yield case(["1/4", "3/4"], 4, 2, 1, S(l1=1), pairs, "two targets, cells uncut")
    yield case(["3/4", "1/4"], 4, 1, 4, S(l1=1), pairs[:2], "two targets in another order")
    yield case(
        ["1/2", ("1/2", -1), ("1/2", "3/2")], 4, 1, 3, S(l1=1), pairs, "an interval", place=1
    )
    yield case(
        [(HALF, k) for k in (-2, -1, 0, 1, 2)], 2, "3/2", 2, S(l1=1), [([0, 1, 1], [1, 1])], "one q"
    )
    # Both levels lose much here: 1.65 times the range of one.
    tipped = [([0, 0, 0, 3, 3], [0, 0, 0, 3, 3, 3]), ([1, 1, 4, 4, 4], [1, 1, 1, 4, 4, 4])]
    yield case(["1/4", "1/2", "3/4"], 4, 1, 2, S(l1=1), tipped, "quartiles")
    one, other = grouped([0, 1, 1, 2], [2, 2, 1]), grouped([0, 1, 1, 2], [2, 2, 1, 0])
    yield case(["1/3", "2/3"], 2, 1, 3, S(l0=1, linf=1), [(one, other)], "two groups")
    both = grouped([0, 1, 1, 2, 2], [2, 2, 1, 0])
    moved = grouped([0, 1, 1], [2, 2, 1, 2])
    pairs = [(one, both), (one, moved)]
    yield case(["1/3", "2/3"], 2, 1, 3, S(l0=2, linf=1), pairs, "both groups")
    yield case(
        ["1/3"], 4, 1, 1, S(l0=2, l1=3, linf=2), [(one, grouped([0], [2, 2, 1]))], "up to two rows"
    )
