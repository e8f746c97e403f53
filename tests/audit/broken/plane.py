"""Cuts of a plane of counts, wrong in the ways that published code is."""

from fractions import Fraction
from math import exp

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, Bug, Own
from broken.noise import noise
from sfumato.core.loss import BoundedRange, Pure
from sfumato.noise import Laplace
from sfumato.noise.choice import Choice
from sfumato.testing import Contract

S = sf.Sensitivity
CELLS = 8


def above(scale, y):
    ratio = exp(-1 / scale)
    return ratio ** (1 - y) / (1 + ratio) if y <= 0 else 1 - ratio**y / (1 + ratio)


def chance_of(scale, decay, *, empty_is_known=False, floor=True):
    """P(cut) of a part with so many records at a depth."""

    def chance(count, depth):
        if empty_is_known and not count:
            return 0.0
        y = count - depth * decay
        return above(scale, max(y, -decay) if floor else y)

    return chance


def tree(chance, scale, decay, **how):
    """A sampler of a line of cells that is halved, and its law."""

    def drawn(exact, rng):
        spans, depth, said = [(0, CELLS)], 0, []
        while spans := [(a, b) for a, b in spans if b - a > 1]:
            below = []
            for a, b in spans:
                count = int(exact[a:b].sum())
                y = count - depth * decay
                if how.get("floor", True):
                    y = max(y, -decay)
                z = int(noise(Laplace(Fraction(scale)), np.asarray(0), rng))
                cut = y + z > 0 and not (how.get("empty_is_known") and not count)
                said.append(int(cut))
                below += [(a, (a + b) // 2), ((a + b) // 2, b)] if cut else []
            spans, depth = below, depth + 1
        return tuple(said)

    def law(exact):
        found = {}

        def decide(spans, depth, said, p):
            spans = [(a, b) for a, b in spans if b - a > 1]
            if not spans:
                found[said] = found.get(said, 0.0) + p
                return
            for choice in range(2 ** len(spans)):
                odds, below, cut = p, [], [choice >> i & 1 for i in range(len(spans))]
                for (a, b), yes in zip(spans, cut, strict=True):
                    one = chance(int(exact[a:b].sum()), depth)
                    odds *= one if yes else 1 - one
                    below += [(a, (a + b) // 2), ((a + b) // 2, b)] if yes else []
                if odds:
                    decide(below, depth + 1, (*said, *cut), odds)

        decide([(0, CELLS)], 0, (), 1.0)
        return found

    return drawn, law


def median(exact, rng):
    before = np.cumsum(exact)[:-1]
    return int(Choice(-np.abs(2 * before - int(exact.sum())), Fraction(1)).draw(1, rng)[0])


def median_law(exact):
    before = np.cumsum(exact)[:-1]
    weights = np.exp(-np.abs(2.0 * before - exact.sum()))
    return dict(enumerate((weights / weights.sum()).tolist()))


def line(*counts):
    return [*counts, *[0] * (CELLS - len(counts))]


def bug(name, story, drawn, claimed, law, pairs, **more):
    contract = Contract(Own(drawn, claimed), S(l1=1), pairs, law, name=name)
    more = {"caught": (CONTRACT, BLACK_BOX), "trials": 5_000} | more
    return Bug(name=name, story=story, contract=contract, **more)


EMPTY = chance_of(1, 2, empty_is_known=True)
FREE = chance_of(1, 1, floor=False)

HALVES = [([0, 3, 0], [1, 3, 0]), ([0, 6, 0], [0, 6, 1]), ([2, 0, 0], [2, 0, 1])]

BUGS = [
    bug(
        "empty parts of a tree stay whole",
        "Does not cut where nobody is, by truth: the shape of the tree shows empty regions.",
        tree(EMPTY, 1, 2, empty_is_known=True)[0],
        lambda s: Pure(4 * s.l1),
        tree(EMPTY, 1, 2, empty_is_known=True)[1],
        [(line(0), line(1))],
    ),
    bug(
        "a tree charged for its last cut alone",
        "Takes the noise of one decision for a path of them, and no decay that would allow it.",
        tree(FREE, 1, 1, floor=False)[0],
        lambda s: Pure(s.l1),
        tree(FREE, 1, 1, floor=False)[1],
        [(line(0), line(1)), (line(2), line(3))],
    ),
    bug(
        "a median charged half",
        "Scores places by twice the rank error, and charges for the error itself.",
        median,
        lambda s: BoundedRange(s.l1),
        median_law,
        HALVES,
    ),
]
TWINS = [
    bug(
        "a median charged in full",
        "Scores places by twice the rank error, and charges for that.",
        median,
        lambda s: BoundedRange(2 * s.l1),
        median_law,
        HALVES,
        caught=(),
    ),
]
