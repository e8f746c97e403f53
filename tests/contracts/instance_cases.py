"""Noise that follows the data, its laws written down by hand on small inputs."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import atan, ceil, exp, pi

import sfumato as sf
from sfumato.testing import Contract

M, S = sf.mechanisms, sf.Sensitivity
RELATIONS = ("add_remove", "replace")


def laplace(scale, reach=None):
    reach = int(30 * scale) + 5 if reach is None else reach
    weights = {x: exp(-abs(x) / scale) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


def sorted_with_ends(exact, last):
    return [0, *sorted(int(x) for x in exact), last]


def median_of(ordered):
    return ordered[ceil((len(ordered) - 2) / 2)]


def windows(ordered):
    """Yield distance and width of all i <= m <= j."""
    n = len(ordered) - 2
    middle = ceil(n / 2)
    for i in range(middle + 1):
        for j in range(middle, n + 2):
            if j > i:
                yield j - i - 1, ordered[j] - ordered[i]


def student(z):
    return 0.5 + (atan(z) + z / (1 + z * z)) / pi


def double_exponential(z):
    return exp(z) / 2 if z < 0 else 1 - exp(-z) / 2


def smooth_median(last, beta, rate, distribution):
    def law(exact):
        ordered = sorted_with_ends(exact, last)
        scale = max(width * exp(-beta * far) for far, width in windows(ordered)) / rate
        below = [distribution((k + 0.5 - median_of(ordered)) / scale) for k in range(last)]
        edges = [0.0, *below, 1.0]
        return {k: edges[k + 1] - edges[k] for k in range(last + 1)}

    return law


# Where medians jump, where the scale changes by its most, and where both happen.
BAGS = {
    "add_remove": [
        ([0, 0, 20, 20], [0, 0, 20, 20, 20]),
        ([], [20]),
        ([], [0]),
        ([10] * 6, [10] * 7),
        ([10] * 6, [10] * 6 + [20]),
        ([3, 5, 6, 9, 12], [3, 5, 6, 9, 12, 0]),
        ([0] * 4, [0] * 5),
        ([9] * 9 + [10] * 9, [9] * 9 + [10] * 10),  # little noise, far from both ends
    ],
    "replace": [
        ([0, 0, 20, 20, 20], [0, 0, 0, 20, 20]),
        ([0], [20]),
        ([10] * 6, [10] * 5 + [20]),
        ([3, 5, 6, 9, 12], [3, 5, 6, 9, 0]),
        ([9, 10, 11], [0, 10, 11]),
        ([0] * 5, [0] * 4 + [20]),
        ([9] * 10 + [10] * 9, [9] * 9 + [10] * 10),
    ],
}
TWO_ROWS = {
    "add_remove": [([0] * 3, [0] * 3 + [20] * 2), ([0, 10, 20], [0, 10, 20, 20, 20]), ([], [9, 9])],
    "replace": [([0, 0, 0, 20, 20], [0, 20, 20, 20, 20]), ([9, 10, 11], [0, 0, 11])],
}


def smooth_cases():
    for rows, bags in ((1, BAGS), (2, TWO_ROWS)):
        for relation in RELATIONS:
            yield Contract(
                M.SmoothMedian(0, 20, 1, "0.3", "0.5"),
                S(l1=rows, neighbors=relation),
                pairs=bags[relation],
                law=smooth_median(20, 0.3, 0.5, student),
                name=f"SmoothMedian, Student, {rows} rows, {relation}",
                draws=3000 // rows,
            )
            yield Contract(
                M.SmoothMedian(0, 20, 1, "0.1", "0.5", "laplace", "1e-3"),
                S(l1=rows, neighbors=relation),
                pairs=bags[relation],
                law=smooth_median(20, 0.1, 0.5, double_exponential),
                name=f"SmoothMedian, Laplace, {rows} rows, {relation}",
                draws=3000 // rows,
            )
    yield Contract(
        M.SmoothMedian.calibrate(S(l1=1), low=-5, high=5, step="1/2", epsilon=2),
        S(l1=1),
        pairs=[([-1, 0, 1], [-1, 0, 1, 5])],
        name="SmoothMedian, calibrated, on halves",
    )


def proposed(last, bound, test, threshold, scale):
    def law(exact):
        ordered = sorted_with_ends(exact, last)
        far = min(distance for distance, width in windows(ordered) if width > bound)
        passed = sum(p for x, p in laplace(test, 200).items() if far + x > threshold)
        found = Counter({None: 1 - passed})
        for x, p in laplace(scale, 400).items():
            found[min(max(median_of(ordered) + x, 0), last)] += passed * p
        return dict(found)

    return law


def propose_cases():
    for rows, bags in ((1, BAGS), (2, TWO_ROWS)):
        for relation in RELATIONS:
            yield Contract(
                M.ProposeTestRelease(0, 20, 1, 2, "1", 3, "4"),
                S(l1=rows, neighbors=relation),
                pairs=bags[relation],
                law=proposed(20, 2, 1.0, 3, 4.0),
                truth=_given(median_of_bag),
                name=f"ProposeTestRelease, {rows} rows, {relation}",
            )


def median_of_bag(values):
    return sorted(values)[ceil(len(values) / 2) - 1]


def _given(truth):
    return lambda values, drawn: 0.0 if drawn is None else abs(drawn - truth(values))


def scaled_sum(rows):
    """A program that fails on empty blocks, returns NaN or text on some, else a sum."""
    total = sum(rows) / len(rows)
    return {7: float("nan"), 8: "text"}.get(total, total)


def block_answer(rows, last):
    if not rows or sum(rows) / len(rows) in (7, 8):
        return last // 2
    return int(min(max(Fraction(sum(rows), len(rows)), 0), last) + Fraction(1, 2))


def rank_law(answers, q, rate, last):
    def rank_error(x):
        below = sum(a < x for a in answers)
        above = sum(a > x for a in answers)
        return abs((1 - q) * below - q * above)

    weights = [exp(-rate * rank_error(x)) for x in range(last + 1)]
    return {x: w / sum(weights) for x, w in enumerate(weights)}


def aggregated(mechanism, last):
    blocks, epsilon = mechanism.blocks, float(mechanism.epsilon)
    homes = list(combinations(range(blocks), mechanism.resample))

    @cache
    def of(answers):
        found = Counter()
        if mechanism.aggregate == "median":
            return rank_law(answers, 0.5, epsilon / 2, last)
        ranges = {(0, last): 1.0}
        if mechanism.aggregate == "winsorized":
            first, third = (rank_law(answers, q, epsilon / 8, last) for q in (0.25, 0.75))
            ranges = Counter()
            for (x, p), (y, q) in product(first.items(), third.items()):
                a, b = min(x, y), max(x, y)
                ranges[max(a - (b - a), 0), min(b + (b - a), last)] += p * q
        spread = (1 if mechanism.aggregate == "mean" else 2) / epsilon
        for (low, high), p in ranges.items():
            total = sum(min(max(a, low), high) for a in answers)
            for x, q in laplace(spread * (high - low)).items() if high > low else [(0, 1.0)]:
                found[total + x] += p * q
        return found

    def law(exact):
        rows, found = [int(x) for x in exact], Counter()
        ways = list(product(homes, repeat=len(rows)))
        for way in ways:
            held = [[x for x, h in zip(rows, way, strict=True) if b in h] for b in range(blocks)]
            for x, p in of(tuple(block_answer(block, last) for block in held)).items():
                found[x] += p / len(ways)
        return dict(found)

    return law


def aggregate_cases():
    for aggregate, resample, relation in [
        ("mean", 1, "add_remove"),
        ("mean", 2, "replace"),
        ("median", 1, "replace"),
        ("median", 2, "add_remove"),
        ("winsorized", 1, "add_remove"),
    ]:
        mechanism = M.SampleAggregate(scaled_sum, 3, 0, 6, 1, "3/2", aggregate, resample)
        pairs = [([0, 0, 6], [0, 0]), ([], [6]), ([7, 3], [7, 3, 9]), ([8], [8, 0])]
        if relation == "replace":
            pairs = [([0, 0, 6], [0, 0, 0]), ([6], [0]), ([7, 3, 1], [7, 3, 9]), ([8], [0])]
        yield Contract(
            mechanism,
            S(l1=1, neighbors=relation),
            pairs=pairs,
            law=aggregated(mechanism, 6),
            draws=2000,
            name=f"SampleAggregate, {aggregate}, {resample} blocks a row, {relation}",
        )


def published(most, scale, margin, spread, pair_of):
    def law(exact):
        value, local = pair_of(exact)
        bounds = Counter()
        for x, p in laplace(scale, 100).items():
            bounds[min(max(local + x + margin, 1), most)] += p
        return {
            (value + x, bound): p * q
            for bound, p in bounds.items()
            for x, q in laplace(spread * bound).items()
            if p * q > 1e-15
        }

    return law


def bounded_cases():
    yield Contract(
        M.BoundedLocal(5, "1", 3, "2"),
        S(l1=1),
        pairs=[([10, 2], [12, 3]), ([0, 0], [0, 1]), ([7, 5], [2, 5]), ([7, 5], [3, 4])],
        law=published(5, 1.0, 3, 2.0, lambda exact: exact.tolist()),
        truth=lambda values, drawn: abs(values[0] - drawn[0]),
        name="BoundedLocal",
    )
    yield Contract(
        M.BoundedLocal(8, "2", 6, "2", 2),
        S(l1=2, neighbors="replace"),
        pairs=[([10, 1], [14, 5]), ([0, 0], [2, 4]), ([0, 8], [16, 8])],
        law=published(8, 2.0, 6, 2.0, lambda exact: exact.tolist()),
        name="BoundedLocal, two steps",
    )


def count(exact, nodes):
    edges = {divmod(int(code), nodes) for code in exact}
    near = [{b for a, b in edges if a == v} | {a for a, b in edges if b == v} for v in range(nodes)]
    found = sum({(a, b), (a, c), (b, c)} <= edges for a, b, c in combinations(range(nodes), 3))
    return found, max(len(near[a] & near[b]) for a, b in combinations(range(nodes), 2))


HUBS = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
GRAPHS = {
    "add_remove": [(HUBS, [*HUBS, (0, 1)]), ([], [(2, 4)]), (HUBS, HUBS[:-1])],
    "replace": [(HUBS, [*HUBS[:-1], (0, 1)]), ([(0, 1)], [(2, 4)])],
}


def first_edges(exact, nodes, degree):
    edges = sorted(divmod(int(code), nodes) for code in exact)
    at = {v: [e for e in edges if v in e] for v in range(nodes)}
    return [a * nodes + b for a, b in edges if all((a, b) in at[v][:degree] for v in (a, b))]


def graph_cases():
    for relation in RELATIONS:
        yield Contract(
            M.TriangleCount(5, "2", 4, "1"),
            S(l1=1, neighbors=relation),
            pairs=GRAPHS[relation],
            law=published(3, 2.0, 4, 1.0, lambda exact: count(exact, 5)),
            truth=lambda values, drawn: float(abs(drawn[0] - 0)),  # the hubs have no triangle
            draws=2000,
            name=f"TriangleCount, {relation}",
        )
        yield Contract(
            M.RestrictedTriangles(6, 2, "1"),
            S(l1=1, neighbors=relation),
            pairs=[*GRAPHS[relation], *CROWDED[relation]],
            law=lambda exact: {
                count(first_edges(exact, 6, 2), 6)[0] + x: p for x, p in laplace(1.0).items()
            },
            draws=2000,
            name=f"RestrictedTriangles, {relation}",
        )


# Two triangles; the edge between them comes first and pushes one edge out of each.
TWO = [(0, 2), (0, 3), (2, 3), (1, 4), (1, 5), (4, 5)]
CROWDED = {
    "add_remove": [(TWO, [*TWO, (0, 1)]), ([*TWO[:-1], (0, 1)], [*TWO, (0, 1)])],
    "replace": [(TWO, [*TWO[1:], (0, 1)]), (TWO, [*TWO[:-1], (0, 1)])],
}


def instance_cases():
    yield from smooth_cases()
    yield from propose_cases()
    yield from aggregate_cases()
    yield from bounded_cases()
    yield from graph_cases()
