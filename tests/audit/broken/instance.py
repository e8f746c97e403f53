"""Noise that follows the data: scales, tests, bounds and blocks that the data show through."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import atan, ceil, exp, pi

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, REPLAY
from broken.law import laplace
from broken.selection import mechanism, program
from sfumato.core.loss import Approximate, Pure
from sfumato.mechanisms import graph
from sfumato.noise import Laplace, draw

M, S = sf.mechanisms, sf.Sensitivity
TINY, LAST, NODES = Fraction(1, 10**6), 20, 5
GRID = {"low": 0, "high": LAST, "step": 1}
SURE = {"rate": "1/2", "noise": "laplace", "delta": TINY}
# One half of epsilon times the logarithm of one over delta, where it should be divided by it.
MULTIPLIED = M.SmoothMedian(**GRID, beta="6.9", **SURE)
DIVIDED = M.SmoothMedian(**GRID, beta="0.049", **SURE)
STUDENT = M.SmoothMedian(**GRID, beta="0.2", rate="0.34")
TESTED = M.ProposeTestRelease(**GRID, bound=2, test=2, threshold=26, scale=4)
TOO_SOON = M.ProposeTestRelease(**GRID, bound=2, test=2, threshold=2, scale=4)
BOUNDED = M.TriangleCount(NODES, scale=2, margin=26, spread=2)
MEDIANS = [([10] * 2, [10] * 3), ([10] * 4, [10] * 5), ([0, 0, 20], [0, 0, 20, 20])]
GRAPHS = [([1], [1, 7]), ([], [1]), ([2, 3, 7, 8], [1, 2, 3, 7, 8])]


def noise(scale, rng):
    return int(draw(Laplace(Fraction(scale)), 1, rng)[0]) if scale else 0


def ends(exact):
    return [0, *sorted(int(x) for x in exact), LAST]


def median(exact):
    return ends(exact)[ceil(len(exact) / 2)]


def windows(exact):
    ordered, middle = ends(exact), ceil(len(exact) / 2)
    for i in range(middle + 1):
        for j in range(middle, len(ordered)):
            if j > i:
                yield j - i - 1, ordered[j] - ordered[i]


def smooth_law(beta, rate, below):
    def law(exact):
        scale = max(width * exp(-beta * far) for far, width in windows(exact)) / rate
        cuts = [below((k + 0.5 - median(exact)) / scale) for k in range(LAST)]
        return {k: b - a for k, (a, b) in enumerate(zip([0, *cuts], [*cuts, 1], strict=True))}

    return law


def double_exponential(z):
    return exp(max(z, -700)) / 2 if z < 0 else 1 - exp(-min(z, 700)) / 2


def student(z):
    return 0.5 + (atan(z) + z / (1 + z * z)) / pi


def local(exact):
    return max(width for far, width in windows(exact) if far == 0)


def local_noise(exact, rng):
    return median(exact) + noise(local(exact), rng)


def around(center, scale):
    return laplace(scale, center) if scale else {center: 1.0}


def tested_law(threshold, noisy=True):
    def law(exact):
        far = min(far for far, width in windows(exact) if width > 2)
        test = laplace(2.0) if noisy else {0: 1.0}
        passed = sum(p for x, p in test.items() if far + x > threshold)
        found = Counter({None: 1 - passed})
        for x, p in laplace(4.0, median(exact)).items():
            found[min(max(x, 0), LAST)] += passed * p
        return dict(found)

    return law


def tested_without_noise(exact, rng):
    if min(far for far, width in windows(exact) if width > 2) <= 2:
        return None
    return min(max(median(exact) + noise(4, rng), 0), LAST)


def triangles_at_hand(exact, rng):
    count, common = graph.triangles(exact.astype(np.int64), NODES)
    return count + noise(common, rng)


def triangles_law(exact):
    return around(*graph.triangles(exact.astype(np.int64), NODES))


def bounded_law(exact):
    count, common = graph.triangles(exact.astype(np.int64), NODES)
    bounds = Counter()
    for x, p in laplace(2.0).items():
        bounds[min(max(common + x + 26, 1), NODES - 2)] += p
    return {
        (x, bound): p * q
        for bound, p in bounds.items()
        for x, q in laplace(2.0 * bound, count).items()
    }


def bounded_sample(exact, rng):
    return BOUNDED.sample(exact.astype(np.int64), rng)


def first_rows(exact):
    half = len(exact) // 2
    return [int(block[0]) if len(block) else 3 for block in (exact[:half], exact[half:])]


def blocks_in_order(exact, rng):
    return sum(first_rows(exact)) + noise(6, rng)


COINS = M.SampleAggregate(lambda rows: rows[0], blocks=2, low=0, high=6, step=1, epsilon=1)


def blocks_by_coins_law(exact):
    found, ways = Counter(), 1 << len(exact)
    for way in range(ways):
        blocks = [[int(x) for i, x in enumerate(exact) if way >> i & 1 == b] for b in (0, 1)]
        # Any row of a block may come first in it.
        firsts = list(product(*(block or [3] for block in blocks)))
        for total in map(sum, firsts):
            for x, p in laplace(6.0, total).items():
                found[x] += p / ways / len(firsts)
    return dict(found)


def between_exact_quartiles(exact, rng):
    ordered = sorted(int(x) for x in exact)
    low, high = ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]
    return sum(min(max(x, low), high) for x in ordered) + noise(high - low, rng)


def quartiles_law(exact):
    ordered = sorted(int(x) for x in exact)
    low, high = ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]
    return around(sum(min(max(x, low), high) for x in ordered), high - low)


def blocks_that_may_fail(rows):
    answers = [sum(1 // row for row in rows[start::2]) for start in (0, 1)]
    return M.DiscreteLaplace(2)(sum(min(answer, 1) for answer in answers))


def blocks_that_fail_alike(rows):
    def reciprocals(block):
        return sum(1 // row for row in block)

    return M.SampleAggregate(reciprocals, blocks=2, low=0, high=2, step=1, epsilon=1)(rows)


def approximately(s):
    return Approximate(s.l1, TINY, neighbors=s.neighbors)


BUGS = [
    mechanism(
        "smooth: beta multiplied",
        "Multiplies by the logarithm of one over δ where it divides, so that the scale may change "
        "a thousandfold with one row.",
        MULTIPLIED.sample,
        approximately,
        S(l1=1),
        MEDIANS,
        smooth_law(6.9, 0.5, double_exponential),
        trials=2_000,
    ),
    mechanism(
        "noise for the data at hand",
        "Scales the noise to how far one row would move this median, and a median that none moves "
        "gets none.",
        local_noise,
        lambda s: Pure(s.l1),
        S(l1=1),
        MEDIANS,
        lambda exact: around(median(exact), local(exact)),
        trials=2_000,
    ),
    mechanism(
        "test without noise",
        "Answers if enough rows would have to change, and that there is an answer is exact.",
        tested_without_noise,
        approximately,
        S(l1=1),
        [([10] * 6, [10] * 7), ([10] * 4, [10] * 5)],
        tested_law(2, noisy=False),
        trials=2_000,
    ),
    mechanism(
        "test passed by chance",
        "Tests against two rows, which data without any room pass once in ten times.",
        TOO_SOON.sample,
        approximately,
        S(l1=1),
        [([0, 0, 20, 20], [0, 0, 20, 20, 20]), ([10] * 3, [10] * 4)],
        tested_law(2),
        trials=5_000,
    ),
    mechanism(
        "triangles: noise for the graph at hand",
        "Scales the noise to the most common neighbors in this graph, which are nobody's to know.",
        triangles_at_hand,
        lambda s: Pure(s.l1),
        S(l1=1),
        GRAPHS,
        triangles_law,
        trials=2_000,
    ),
    mechanism(
        "blocks in the order of the rows",
        "Cuts the rows in halves, so that one row at the front moves another across the cut, and "
        "both answers change for the price of one.",
        blocks_in_order,
        lambda s: Pure(s.l1),
        S(l1=1),
        [([0, 6, 0, 6], [6, 0, 6, 0, 6])],
        lambda exact: laplace(6.0, sum(first_rows(exact))),
        trials=20_000,
    ),
    mechanism(
        "mean between exact quartiles",
        "Clamps to the quartiles of the data and adds noise for what is between them, for the "
        "price of the noise.",
        between_exact_quartiles,
        lambda s: Pure(s.l1),
        S(l1=1, neighbors="replace"),
        [([3] * 4, [3] * 3 + [6]), ([0, 0, 5, 5], [0, 5, 5, 5])],
        quartiles_law,
        trials=2_000,
    ),
    program(
        "a block that fails",
        "Lets the error of one block end the whole program, which tells that the row is there.",
        blocks_that_may_fail,
        [1, 2, 3, 0],
        [1, 2, 3],
        caught=(REPLAY, BLACK_BOX),
    ),
]

TWINS = [
    mechanism(
        "smooth: beta divided",
        "The scale may change by a twentieth with one row.",
        DIVIDED.sample,
        approximately,
        S(l1=1),
        MEDIANS,
        smooth_law(0.049, 0.5, double_exponential),
        caught=(),
        trials=1_000,
    ),
    mechanism(
        "smooth: Student's noise",
        "Tails that a change of scale hardly moves.",
        STUDENT.sample,
        lambda s: Pure(s.l1),
        S(l1=1),
        MEDIANS,
        smooth_law(0.2, 0.34, student),
        caught=(),
        trials=1_000,
    ),
    mechanism(
        "test that chance does not pass",
        "Twenty-six rows of room, once in a million by chance.",
        TESTED.sample,
        approximately,
        S(l1=1),
        [([0, 0, 20, 20], [0, 0, 20, 20, 20]), ([10] * 54, [10] * 55)],
        tested_law(26),
        caught=(),
        trials=2_000,
    ),
    mechanism(
        "triangles: noise for a private bound",
        "The bound is noisy, above the truth but once in a million times, and published.",
        bounded_sample,
        approximately,
        S(l1=1),
        GRAPHS,
        bounded_law,
        caught=(),
        trials=2_000,
    ),
    mechanism(
        "blocks by coins",
        "Every row throws its own coin, and moves nobody else.",
        COINS.sample,
        lambda s: Pure(s.l1),
        S(l1=1),
        [([0, 6, 0, 6], [6, 0, 6, 0, 6]), ([0, 0], [0, 0, 6])],
        blocks_by_coins_law,
        caught=(),
        trials=2_000,
    ),
    program(
        "blocks that fail alike",
        "A block that fails counts as the middle of the range.",
        blocks_that_fail_alike,
        [1, 2, 3, 0],
        [1, 2, 3],
        caught=(),
    ),
]
