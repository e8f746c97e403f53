"""The sparse vector technique, its laws summed over the noise of the threshold by hand."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np

import sfumato as sf
from sfumato.testing import Contract

UNASKED, BELOW, ABOVE = -1, 0, 1
THRESHOLD = 3
S = sf.Sensitivity


def noise(scale):
    """Discrete Laplace noise, as far as it matters."""
    scale = float(Fraction(scale))
    reach = int(34 * scale) + 6
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(places) / scale)
    return places, weights / weights.sum()


def at_least(scale, x):
    """P(noise >= x), in closed form."""
    ratio = exp(-1 / float(Fraction(scale)))
    x = np.asarray(x, np.float64)
    upper = ratio ** np.maximum(x, 0)
    lower = 1 + ratio - ratio ** (1 - np.minimum(x, 1))
    return np.where(x > 0, upper, lower) / (1 + ratio)


def ends(length, hits):
    """All rows of answers, each ended by its last hit."""
    for row in product([BELOW, ABOVE], repeat=length):
        places = [i for i, answer in enumerate(row) if answer]
        stop = places[hits - 1] + 1 if len(places) >= hits else length
        if not any(row[stop:]):
            yield row[:stop]


def remembered(of):
    """Sum each law once: every check asks for it again."""
    kept = cache(of)
    return lambda exact: kept(tuple(exact.tolist()))


def law(mechanism):
    rho, weights = noise(mechanism.threshold_scale)

    def of(exact):
        above = [at_least(mechanism.query_scale, THRESHOLD + rho - int(q)) for q in exact]
        found = {}
        for row in ends(len(exact), mechanism.hits):
            odds = weights.copy()
            for answer, p in zip(row, above, strict=False):
                odds = odds * (p if answer else 1 - p)
            found[(*row, *[UNASKED] * (len(exact) - len(row)))] = float(odds.sum())
        return found

    return remembered(of)


def with_numbers(mechanism):
    """The law of answers with numbers: the gap of the comparison, or fresh noise."""
    rho, weights = noise(mechanism.threshold_scale)
    nu, mass = noise(mechanism.query_scale)

    def told(q):
        """Return the numbers that a hit may tell, each with its odds for every ρ."""
        if mechanism.answer_scale is None:
            gaps = int(q) + nu[:, np.newaxis] - THRESHOLD - rho
            for gap in range(int(gaps.max()) + 1):
                yield THRESHOLD + gap, (mass[:, np.newaxis] * (gaps == gap)).sum(axis=0)
        else:
            above = at_least(mechanism.query_scale, THRESHOLD + rho - int(q))
            for place, odds in zip(*noise(mechanism.answer_scale), strict=True):
                yield int(q) + int(place), above * odds

    def of(exact):
        found = {(): weights}
        for q in exact:
            below = 1 - at_least(mechanism.query_scale, THRESHOLD + rho - int(q))
            numbers, grown = list(told(q)), {}
            for row, odds in found.items():
                if row[::2].count(ABOVE) == mechanism.hits:
                    grown[(*row, UNASKED, 0)] = odds
                    continue
                grown[(*row, BELOW, 0)] = odds * below
                for number, p in numbers:
                    if (joint := odds * p).sum() > 1e-14:
                        grown[(*row, ABOVE, number)] = joint
            found = grown
        return {row: float(odds.sum()) for row, odds in found.items()}

    return remembered(of)


def wrong_by(values, drawn):
    """How far from the threshold a single number was that was judged wrongly."""
    right = (values[0] >= THRESHOLD) == bool(drawn[0])
    return 0 if right else abs(values[0] - THRESHOLD)


UP, DOWN = [3, 3, 3, 3, 3, 4, 4, 4, 4, 4], [4, 4, 4, 4, 4, 3, 3, 3, 3, 3]


def sparse_vector_cases():
    make = sf.mechanisms.SparseVector
    for hits, first, second, relation in [
        (1, 2, 4, "add_remove"),
        (1, 1, 2, "replace"),
        (3, "3/2", "5/2", "add_remove"),
    ]:
        mechanism = make(THRESHOLD, first, second, hits)
        yield Contract(
            mechanism,
            S(linf=1, neighbors=relation),
            pairs=[(UP, DOWN), (DOWN, UP), ([1] * 9 + [3], [2] * 9 + [2])],
            law=law(mechanism),
            draws=1_200,
            name=f"SparseVector of {hits}, {relation}, moved both ways",
        )
    for hits, relation in [(1, "add_remove"), (2, "add_remove"), (2, "replace")]:
        mechanism = make(THRESHOLD, 1, hits, hits, monotone=True)
        mixed = [(UP, DOWN), (DOWN, UP)]
        grown = [([3] * 10, [4] * 10), ([3] * 10, UP), ([0] * 9 + [3], [1] * 9 + [3])]
        yield Contract(
            mechanism,
            S(linf=1, neighbors=relation),
            pairs=grown if relation == "add_remove" else grown + mixed,
            law=law(mechanism),
            draws=1_200,
            name=f"SparseVector of {hits}, {relation}, monotone",
        )
    alone = make(THRESHOLD, 2, 3)
    yield Contract(
        alone,
        S(linf=2),
        pairs=[([8], [6]), ([3], [1]), ([0], [2])],
        law=law(alone),
        truth=wrong_by,
        name="SparseVector, one number moved by 2",
    )
    for hits, monotone, relation, options in [
        (1, False, "add_remove", {"gap": True}),
        (2, True, "add_remove", {"gap": True}),
        (2, True, "replace", {"gap": True}),
        (1, False, "replace", {"answer_scale": 1}),
        (1, True, "add_remove", {"answer_scale": "1/2"}),
    ]:
        mechanism = make(THRESHOLD, 1, 1, hits, monotone, **options)
        pairs = [([2, 3, 3], [3, 4, 4]), ([2, 2, 3], [3, 3, 3])]
        if not (monotone and relation == "add_remove"):
            pairs += [([2, 3, 4], [3, 4, 3]), ([2, 2, 3], [3, 3, 2])]
        yield Contract(
            mechanism,
            S(linf=1, neighbors=relation),
            pairs=pairs,
            law=with_numbers(mechanism),
            draws=2_000,
            name=f"SparseVector of {hits}, {relation}{', monotone' * monotone}, "
            + ("with gaps" if mechanism.gap else "with numbers"),
        )
