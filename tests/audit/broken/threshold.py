"""Thresholds and top lists: groups that nobody listed, and the best few of those that are."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import exp

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, REPLAY, Bug, Own
from broken.law import laplace
from sfumato.core.loss import Approximate, BoundedRange
from sfumato.noise import Laplace, draw
from sfumato.noise.choice import Choice
from sfumato.testing import Contract

S, TINY = sf.Sensitivity, Fraction(1, 10**6)
LISTED = ("ann", "bob", "eve", "zoe")


class Groups(Own):
    __doc__ = Own.__doc__  # the contract reads it

    def exact(self, values):
        """Take a mapping of groups to counts, in the order of the keys."""
        return tuple(sorted(values.items()))


class Ordered(Own):
    __doc__ = Own.__doc__

    def exact(self, values):
        """Take a mapping of groups to counts, in the order in which they came."""
        return tuple(values.items())


def above(scale, threshold):
    def drawn(exact, rng):
        counts = np.array([count for _, count in exact], np.int64)
        noisy = (counts + draw(Laplace(Fraction(scale)), counts.size, rng)).tolist()
        return tuple((k, n) for (k, _), n in zip(exact, noisy, strict=True) if n > threshold)

    return drawn


def above_law(scale, threshold):
    def law(exact):
        found = {(): 1.0}
        for key, count in exact:
            noisy = laplace(float(Fraction(scale)), count)
            shown = {((key, n),): p for n, p in noisy.items() if n > threshold}
            cell = {(): 1 - sum(shown.values()), **shown}
            found = {
                a + b: p * q
                for (a, p), (b, q) in product(found.items(), cell.items())
                if p * q > 1e-15
            }
        return found

    return law


def selected(odds):
    """Release the name alone, with these odds for each number of people."""

    def drawn(exact, rng):
        words = rng.words(len(exact)) / 2.0**64
        return tuple(k for (k, n), u in zip(exact, words.tolist(), strict=True) if u < odds(n))

    def law(exact):
        found = {(): 1.0}
        for key, n in exact:
            cell = {(): 1 - odds(n), (key,): odds(n)}
            found = {a + b: p * q for (a, p), (b, q) in product(found.items(), cell.items())}
        return found

    return drawn, law


def only_for_appearing(n):
    """The largest odds that grow by (ε, δ): staying away is an event too."""
    return min(1.0, 0.01 * (exp(n) - 1) / (exp(1) - 1))


def optimal(n):
    odds = 0.0
    for _ in range(n):
        odds = min(exp(1) * odds + 0.01, 1 - exp(-1) * (1 - odds - 0.01), 1.0)
    return odds


def best_two(exact, rng):
    return tuple(LISTED[i] for i in Choice(np.asarray(exact), Fraction(1, 2)).distinct(2, rng))


def best_two_law(exact):
    weights, found = [exp(int(s) / 2) for s in exact], {}
    for first, second in permutations(range(len(weights)), 2):
        rest = sum(weights) - weights[first]
        odds = weights[first] / sum(weights) * weights[second] / rest
        found[LISTED[first], LISTED[second]] = odds
    return found


def in_order_of_the_counts(rows):
    counts = Counter(row for row in rows if row in LISTED)
    noisy = sf.mechanisms.DiscreteLaplace(1)([counts[name] for name in LISTED])
    shown = dict(zip(LISTED, noisy.tolist(), strict=True))
    return {name: shown[name] for name in sorted(LISTED, key=lambda name: -counts[name])}


def in_public_order(rows):
    counts = Counter(row for row in rows if row in LISTED)
    noisy = sf.mechanisms.DiscreteLaplace(1)([counts[name] for name in LISTED])
    return dict(zip(LISTED, noisy.tolist(), strict=True))


def groups(name, story, drawn, law, claimed, sensitivity, pairs, kind=Groups, **more):
    more = {"caught": (CONTRACT, BLACK_BOX), "trials": 5_000} | more
    contract = Contract(kind(drawn, claimed), sensitivity, pairs, law, name=name)
    return Bug(name=name, story=story, contract=contract, **more)


def approximately(epsilon, delta):
    def claimed(s):
        return Approximate(Fraction(epsilon) * s.l1, min(Fraction(delta) * s.l1, Fraction(1, 2)))

    return claimed


ROWS = (["ann"] * 3 + ["bob"] * 3, ["ann"] * 3 + ["bob"] * 4)
ONE = S(l0=1, linf=1)

BUGS = [
    groups(
        "threshold: noise of one group for many",
        "Adds the noise that one group needs, though one person is in two.",
        above(1, 14),
        above_law(1, 14),
        lambda s: Approximate(s.linf, TINY * 3),
        S(l0=2, linf=1),
        [({"a": 15, "b": 15}, {"a": 16, "b": 16})],
        trials=20_000,
    ),
    groups(
        "threshold: groups that just reach it",
        "Releases a group that is at the threshold for which being above was proved.",
        above(1, 2),
        above_law(1, 2),
        lambda s: Approximate(s.l1, min(Fraction("0.0365") * s.l1, Fraction(1, 2))),
        ONE,
        [({}, {"a": 1})],
    ),
    groups(
        "threshold: groups as they came",
        "Releases groups in the order of their first row, which tells whose row it was.",
        above(1, 14),
        above_law(1, 14),
        approximately(1, TINY),
        ONE,
        [({"a": 40, "b": 40}, {"b": 40, "a": 41})],
        kind=Ordered,
    ),
    groups(
        "selection: odds for appearing alone",
        "Lets the odds of a group grow by e^ε until they are one, and its absence tells the rest.",
        *selected(only_for_appearing),
        approximately(1, Fraction(1, 100)),
        ONE,
        [({"a": n}, {"a": n + 1}) for n in (5, 4, 1)],
    ),
    groups(
        "top list for the price of one",
        "Charges two choices, one after the other, as if they were one.",
        best_two,
        best_two_law,
        lambda s: BoundedRange(s.linf),
        S(linf=1),
        [([3, 3, 0, 0], [2, 2, 1, 1])],
        kind=Own,
        trials=20_000,
    ),
    Bug(
        name="top list in the order of the counts",
        story="Adds noise to the counts and lists them by what they were before.",
        program=in_order_of_the_counts,
        pair=ROWS,
        claim=1,
        sensitivity=S(l1=1),
        caught=(REPLAY, BLACK_BOX),
    ),
]

TWINS = [
    groups(
        "threshold: groups above it, by key",
        "The same threshold and the noise of two groups for a person in two.",
        above(2, 5),
        above_law(2, 5),
        sf.mechanisms.StabilityHistogram(2, 5).loss,
        S(l0=2, linf=1),
        [({"a": 5, "b": 5}, {"a": 6, "b": 6}), ({}, {"a": 1, "b": 1})],
        caught=(),
    ),
    groups(
        "selection: odds for either",
        "The largest odds that obey both inequalities.",
        *selected(optimal),
        approximately(1, Fraction(1, 100)),
        ONE,
        [({"a": n}, {"a": n + 1}) for n in (4, 5, 1)],
        caught=(),
    ),
    groups(
        "top list for the price of two",
        "Two choices at the price of two.",
        best_two,
        best_two_law,
        lambda s: BoundedRange(s.linf) * 2,
        S(linf=1),
        [([3, 3, 0, 0], [2, 2, 1, 1])],
        kind=Own,
        caught=(),
    ),
    Bug(
        name="top list in a public order",
        story="The same noisy counts in the order of the list.",
        program=in_public_order,
        pair=ROWS,
        claim=1,
        sensitivity=S(l1=1),
    ),
]
