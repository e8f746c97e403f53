"""Cuts of a plane of counts, their laws written down by hand for a few cells in a row."""

from fractions import Fraction
from math import exp

import sfumato as sf
from sfumato.testing import Contract

M, S = sf.mechanisms, sf.Sensitivity


def above(scale, y):
    """P(y + noise > 0)."""
    ratio = exp(-1 / scale)
    return ratio ** (1 - y) / (1 + ratio) if y <= 0 else 1 - ratio**y / (1 + ratio)


def quarters(scale, decay, threshold=0, first=0):
    """The law for cells in a row: level after level, each half decided by itself."""

    def law(exact):
        line = [max(int(count), 0) for count in exact.ravel()]
        spans = [(0, len(line))]
        for _ in range(first):
            spans = [part for a, b in spans for part in ((a, (a + b) // 2), ((a + b) // 2, b))]
        found = {}

        def decide(spans, depth, said, p):
            spans = [(a, b) for a, b in spans if b - a > 1]
            if not spans:
                found[said] = found.get(said, 0.0) + p
                return
            for choice in range(2 ** len(spans)):
                cut = [choice >> i & 1 for i in range(len(spans))]
                odds, parts = p, []
                for (a, b), yes in zip(spans, cut, strict=True):
                    count = max(sum(line[a:b]) - depth * decay, threshold - decay)
                    chance = above(scale, count - threshold)
                    odds *= chance if yes else 1 - chance
                    if yes:
                        middle = a + (b - a) // 2
                        parts += [(a, middle), (middle, b)]
                decide(parts, depth + 1, (*said, *cut), odds)

        decide(spans, 0, (), 1.0)
        return found

    return law


def medians(rate, height):
    """The law for cells in a row: a place in each part, by how far it is from the middle."""

    def law(exact):
        line = [max(int(count), 0) for count in exact.ravel()]
        found = {}

        def cut(spans, left, said, p):
            spans = [(a, b) for a, b in spans if b - a > 1]
            if not left or not spans:
                found[said] = found.get(said, 0.0) + p
                return
            places = [()]
            for a, b in spans:
                places = [(*chosen, c) for chosen in places for c in range(a + 1, b)]
            for chosen in places:
                odds, parts = p, []
                for (a, b), c in zip(spans, chosen, strict=True):
                    errors = {x: abs(sum(line[a:x]) - sum(line[a:b]) / 2) for x in range(a + 1, b)}
                    total = sum(exp(-rate * e) for e in errors.values())
                    odds *= exp(-rate * errors[c]) / total
                    parts += [(a, c), (c, b)]
                cut(parts, left - 1, (*said, *chosen), odds)

        cut([(0, len(line))], height, (), 1.0)
        return found

    return law


def plane_cases():
    for relation in ("add_remove", "replace"):
        yield Contract(
            M.PrivTree((2, 1), 2, 3),
            S(l1=1, neighbors=relation),
            pairs=[([0, 0], [1, 0]), ([2, 0], [2, 1]), ([9, 0], [8, 0]), ([0, 1], [0, 2])],
            law=quarters(2.0, 3),
            name=f"PrivTree of two cells, {relation}",
        )
    # A path of three decisions, and counts on all sides of the threshold.
    yield Contract(
        M.PrivTree((8, 1), 1, 1, 1),
        S(l1=1),
        pairs=[
            ([4, 0, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 0]),
            ([2, 1, 0, 0, 0, 0, 3, 0], [2, 1, 0, 0, 0, 0, 2, 0]),
            ([0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]),
            ([3, 0, 0, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0, 0]),
        ],
        law=quarters(1.0, 1, threshold=1),
        name="PrivTree of eight cells",
    )
    yield Contract(
        M.PrivTree((1, 4), Fraction(3, 2), 2, 0, 1),
        S(l1=2),
        pairs=[([0, 0, 0, 0], [1, 0, 0, 1]), ([4, 0, 0, 0], [2, 0, 0, 0])],
        law=quarters(1.5, 2, first=1),
        name="PrivTree with one free cut, two records",
    )
    for relation in ("add_remove", "replace"):
        yield Contract(
            M.KdSplits((3, 1), 1, 1),
            S(l1=1, neighbors=relation),
            pairs=[([0, 0, 0], [1, 0, 0]), ([3, 1, 2], [3, 1, 3]), ([0, 5, 0], [0, 4, 0])],
            law=medians(1.0, 1),
            name=f"KdSplits of three cells, {relation}",
        )
    yield Contract(
        M.KdSplits((1, 5), 2, Fraction(1, 2)),
        S(l1=2),
        pairs=[([0, 0, 0, 0, 0], [1, 0, 0, 0, 1]), ([4, 0, 3, 0, 2], [4, 0, 3, 0, 0])],
        law=medians(0.5, 2),
        name="KdSplits, two levels and two records",
    )
