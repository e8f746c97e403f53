"""Choices among candidates and selections of groups, their laws written down by hand."""

from itertools import permutations, product
from math import exp, factorial, prod

import sfumato as sf
from sfumato.testing import Contract

M, S = sf.mechanisms, sf.Sensitivity
NAMES = ("a", "b", "c")
FREE = [([0, 3, 2], [1, 2, 2]), ([0, 0, 0], [1, -1, -1]), ([2, 0, 0], [3, -1, 0])]
GROWING = [([0, 3, 2], [1, 4, 2]), ([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [0, 1, 1])]
SETTINGS = [("add_remove", False, FREE), ("add_remove", True, GROWING), ("replace", True, FREE)]


def below_the_best(values, drawn):
    return max(values) - values[NAMES.index(drawn)]


def permute_and_flip(rate):
    def law(exact):
        odds = [exp(rate * (int(s) - int(exact.max()))) for s in exact]
        found = dict.fromkeys(NAMES, 0.0)
        for order in permutations(range(len(odds))):
            reached = 1 / factorial(len(odds))
            for candidate in order:
                found[NAMES[candidate]] += reached * odds[candidate]
                reached *= 1 - odds[candidate]
        return found

    return law


def noisy_max(scale):
    def law(exact):
        ratio, reach = exp(-1 / scale), int(36 * scale)
        scores = [int(s) for s in exact]
        places = range(min(scores) - reach, max(scores) + reach)

        def at(place, score):
            return (1 - ratio) / (1 + ratio) * ratio ** abs(place - score)

        def under(place, score):
            gap = place - score
            return ratio ** (1 - gap) / (1 + ratio) if gap <= 0 else 1 - ratio**gap / (1 + ratio)

        found = dict.fromkeys(NAMES, 0.0)
        for i, place in product(range(len(scores)), places):
            others = [s for j, s in enumerate(scores) if j != i]
            for ties in product([False, True], repeat=len(others)):
                rest = [
                    at(place, s) if t else under(place, s)
                    for t, s in zip(ties, others, strict=False)
                ]
                found[NAMES[i]] += at(place, scores[i]) * prod(rest) / (1 + sum(ties))
        return found

    return law


def peeled(rate, k):
    def law(exact):
        weights = [exp(rate * int(s)) for s in exact]
        found = {}
        for order in permutations(range(len(weights)), k):
            left, odds = sum(weights), 1.0
            for candidate in order:
                odds *= weights[candidate] / left
                left -= weights[candidate]
            found[tuple(NAMES[i] for i in order)] = odds
        return found

    return law


def worst_of_the_chosen(values, drawn):
    """The t-th choice is at most so far below the t-th best score."""
    best = sorted(values, reverse=True)
    chosen = [values[NAMES.index(name)] for name in drawn]
    return max(b - c for b, c in zip(best, chosen, strict=False))


def choice_cases():
    for relation, monotone, pairs in SETTINGS:
        said = f"{relation}{', monotone' * monotone}"
        for mechanism, law, truth in [
            (M.PermuteAndFlip(NAMES, "3/4", 1, monotone), permute_and_flip(0.75), below_the_best),
            (M.NoisyMax(NAMES, "3/2", 1, monotone), noisy_max(1.5), below_the_best),
            (M.TopK(NAMES, 2, "3/4", 1, monotone), peeled(0.75, 2), worst_of_the_chosen),
        ]:
            yield Contract(
                mechanism,
                S(linf=1, neighbors=relation),
                pairs=pairs,
                law=law,
                truth=truth,
                name=f"{type(mechanism).__name__}, {said}",
            )
    stepped = S(linf="3/4")
    near = [([0.4, 0.4, 0.6], [1.1, 1.1, 0]), ([0.5, 0, 0], [0, 0.7, 0.74])]
    for mechanism, law in [
        (M.PermuteAndFlip(NAMES, 2, "1/2"), permute_and_flip(1.0)),
        (M.NoisyMax(NAMES, 1, "1/2"), noisy_max(2.0)),
        (M.TopK(NAMES, 3, 2, "1/2"), peeled(1.0, 3)),
    ]:
        yield Contract(
            mechanism, stepped, near, law, name=f"{type(mechanism).__name__} with a step"
        )


def laplace(scale):
    return lambda x: exp(-abs(x) / scale)


def gaussian(sigma):
    return lambda x: exp(-x * x / (2 * sigma * sigma))


def histogram(weight, reach, threshold):
    total = sum(weight(x) for x in range(-reach, reach + 1))

    def law(exact):
        found = {(): 1.0}
        for key, count in exact:
            shown = {
                ((key, count + x),): weight(x) / total
                for x in range(-reach, reach + 1)
                if count + x > threshold
            }
            cell = {(): 1 - sum(shown.values()), **shown}
            found = {
                before + after: p * q
                for (before, p), (after, q) in product(found.items(), cell.items())
                if p * q > 1e-16
            }
        return found

    return law


MANY = [
    ({"a": 5, "b": 3}, {"a": 6, "b": 2}),
    ({}, {"a": 1, "b": 1}),
    ({"a": 4}, {"a": 5, "b": 1}),
    ({"a": 1}, {"b": 1}),
]


def group_cases():
    # Thresholds so low that δ shows: a group of one passes several times in a hundred.
    for relation in ("add_remove", "replace"):
        yield Contract(
            M.StabilityHistogram(1, 3),
            S(l0=1, linf=1, neighbors=relation),
            pairs=[
                ({"a": 3}, {"a": 4}),
                ({}, {"a": 1}),
                ({"a": 1}, {"a": 2}),
                ({"a": 3}, {"a": 2}),
            ],
            law=histogram(laplace(1.0), 36, 3),
            name=f"StabilityHistogram, one group, {relation}",
        )
        yield Contract(
            M.StabilityHistogram(2, 5),
            S(l0=2, linf=1, neighbors=relation),
            pairs=MANY,
            law=histogram(laplace(2.0), 60, 5),
            name=f"StabilityHistogram, two groups, {relation}",
        )
        yield Contract(
            M.StabilityHistogram(2, 5, "gaussian", 1),
            S(l0=2, linf=1, neighbors=relation),
            pairs=MANY,
            law=histogram(gaussian(2.0), 18, 5),
            name=f"StabilityHistogram, Gaussian, {relation}",
        )
        yield Contract(
            M.StabilityHistogram(2, 5, "gaussian"),
            S(l0=2, linf=1, neighbors=relation),
            pairs=MANY,
            law=histogram(gaussian(2.0), 18, 5),
            name=f"StabilityHistogram, Gaussian stated in rho, {relation}",
        )
    yield Contract(
        M.StabilityHistogram("3/2", 6),
        S(l0=1, linf=2),
        pairs=[({7: 5}, {7: 7}), ({}, {7: 2}), ({7: 1}, {7: 3})],
        law=histogram(laplace(1.5), 54, 6),
        name="StabilityHistogram, two counts a unit",
    )
    rows = S(l0=3, l1=3, linf=3)  # three rows of a unit, wherever they fall
    fallen = [
        ({7: 5, 8: 4}, {7: 6, 8: 6}),
        ({}, {7: 3}),
        ({}, {7: 1, 8: 1, 9: 1}),
        ({7: 2, 8: 6}, {7: 1, 8: 5, 9: 1}),
        ({7: 2}, {8: 1}),
    ]
    for mechanism, law in [
        (M.StabilityHistogram(3, 6), histogram(laplace(3.0), 100, 6)),
        (M.StabilityHistogram(3, 6, "gaussian"), histogram(gaussian(3.0), 27, 6)),
        (M.PartitionSelection("1/2", "1/100"), selection(0.5, 0.01)),
    ]:
        said = f"{type(mechanism).__name__} {getattr(mechanism, 'noise', '')}".strip()
        yield Contract(mechanism, rows, fallen, law, name=f"{said}, three rows anywhere")
    small = [(n, n + 1) for n in range(8)]
    for relation in ("add_remove", "replace"):
        one = [({"a": n} if n else {}, {"a": m}) for n, m in [(4, 5), *small]]
        yield Contract(
            M.PartitionSelection(1, "1/100"),
            S(l0=1, linf=1, neighbors=relation),
            pairs=one,
            law=selection(1.0, 0.01),
            name=f"PartitionSelection, one group, {relation}",
        )
        yield Contract(
            M.PartitionSelection("1/2", "1/50"),
            S(l0=2, linf=1, neighbors=relation),
            pairs=[
                ({"a": n, "b": m}, {"a": n + 1, "b": m + d})
                for n, m, d in [(3, 2, 1), (1, 4, -1), (1, 1, 1), (5, 7, 1), (6, 2, -1)]
            ],
            law=selection(0.5, 0.02),
            name=f"PartitionSelection, two groups, {relation}",
        )
    yield Contract(
        M.PartitionSelection("1/2", "1/100"),
        S(l0=1, linf=2),
        pairs=[({1: n}, {1: n + 2}) for n in range(1, 9)] + [({}, {1: 2})],
        law=selection(0.5, 0.01),
        name="PartitionSelection, two counts a unit",
    )


def selection(epsilon, delta):
    """The optimal odds by the recurrence that defines them, one unit at a time."""
    odds = [0.0]
    for _ in range(100):
        grown = exp(epsilon) * odds[-1] + delta
        odds.append(min(grown, 1 - exp(-epsilon) * (1 - odds[-1] - delta), 1.0))

    def law(exact):
        found = {(): 1.0}
        for key, units in exact:
            found = {
                before + after: p * q
                for (before, p), (after, q) in product(
                    found.items(), [((), 1 - odds[units]), ((key,), odds[units])]
                )
            }
        return found

    return law


def selection_cases():
    return [*choice_cases(), *group_cases()]
