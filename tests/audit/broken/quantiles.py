"""Many quantiles at once: levels, parts of the rows, and what one row can do to them."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np

import sfumato as sf
from broken.bug import CONTRACT, Bug, Own
from sfumato.core.loss import BoundedRange
from sfumato.noise.choice import Choice
from sfumato.testing import Contract

S = sf.Sensitivity
HALF, NINE_TENTHS = Fraction(1, 2), Fraction(9, 10)


def off(rows, positions, q):
    """How far the rank of each position is from the wanted one, in parts of q's denominator."""
    ordered, part = np.sort(rows), q.denominator
    below, upto = (part * np.searchsorted(ordered, positions, side) for side in ("left", "right"))
    wanted = q.numerator * ordered.size
    return np.maximum(0, np.maximum(below - wanted, wanted - upto))


def odds(rows, positions, rate, q=HALF):
    weights = np.exp(-float(rate) / q.denominator * off(rows, positions, q))
    return dict(zip(positions, (weights / weights.sum()).tolist(), strict=True))


def chosen(rows, positions, rate, rng, q=HALF):
    choice = Choice(-off(rows, positions, q), rate / q.denominator)
    return positions[int(choice.draw(1, rng)[0])]


def quartiles(split, top, rate):
    """The median of all, then the medians of what `split` puts on its sides."""
    rate = Fraction(rate)

    def drawn(exact, rng):
        middle = chosen(exact, range(top + 1), rate, rng)
        left, right = split(exact, middle)
        return (
            chosen(left, range(middle + 1), rate, rng),
            middle,
            chosen(right, range(middle, top + 1), rate, rng),
        )

    def law(exact):
        found = Counter()
        for middle, p in odds(exact, range(top + 1), rate).items():
            left, right = split(exact, middle)
            sides = (
                odds(left, range(middle + 1), rate),
                odds(right, range(middle, top + 1), rate),
            )
            for (low, r), (high, s) in product(*(side.items() for side in sides)):
                found[low, middle, high] += p * r * s
        return dict(found)

    return drawn, law


def apart(rows, middle):
    return rows[rows < middle], rows[rows > middle]


def with_ties(rows, middle):
    return rows[rows <= middle], rows[rows >= middle]


def everything(rows, middle):
    return rows, rows


def ninth_decile(rate):
    """One quantile whose exponent is right for the median."""

    def drawn(exact, rng):
        return chosen(exact, range(11), Fraction(rate), rng, NINE_TENTHS)

    return drawn, lambda exact: odds(exact, range(11), rate, NINE_TENTHS)


def medians(rate):
    """The medians of two groups, of which the rows are told apart by their sign."""

    def drawn(exact, rng):
        return tuple(chosen(rows, range(5), Fraction(rate), rng) for rows in halves(exact))

    def law(exact):
        first, second = (odds(rows, range(5), rate) for rows in halves(exact))
        return {(x, y): p * r for (x, p), (y, r) in product(first.items(), second.items())}

    def halves(exact):
        return exact[exact >= 0], -1 - exact[exact < 0]

    return drawn, law


def levels(rate, times):
    return lambda s: BoundedRange(Fraction(rate) * s.l1, neighbors=s.neighbors) * times


def mechanism(name, story, built, claimed, sensitivity, pairs, **more):
    drawn, law = built
    more = {"caught": (CONTRACT,), "trials": 1_000} | more
    contract = Contract(Own(drawn, claimed), sensitivity, pairs, law, name=name, draws=2000)
    return Bug(name=name, story=story, contract=contract, **more)


NEAR = ([2, 30], [2, 30, 1])

BUGS = [
    mechanism(
        "a level of quantiles for nothing",
        "Pays for the median, and finds the quartiles on both sides of it for the same price.",
        quartiles(apart, 4, 3),
        levels(3, 1),
        S(l1=1),
        [([0, 0, 0, 3, 3], [0, 0, 0, 3, 3, 3])],
    ),
    mechanism(
        "ties on both sides",
        "Counts values equal to the median below and above it, so one row is in both parts of a "
        "level that is paid for once.",
        quartiles(with_ties, 30, 1),
        levels(1, 2),
        S(l1=1),
        [NEAR],
    ),
    mechanism(
        "quartiles among all rows",
        "Keeps the price of disjoint parts, but seeks each quartile among all of the rows.",
        quartiles(everything, 30, 1),
        levels(1, 2),
        S(l1=1),
        [NEAR],
    ),
    mechanism(
        "every quantile as a median",
        "Takes the exponent that is right for the median, though a row moves the rank error of the "
        "ninth decile by nine tenths, not by a half.",
        ninth_decile(2),
        levels(2, 1),
        S(l1=1),
        [([0] * 6 + [1] * 3, [0] * 6 + [1] * 3 + [10])],
    ),
    mechanism(
        "groups of one unit for one",
        "Charges the groups as if one unit were in one of them, and it is in two.",
        medians(3),
        lambda s: BoundedRange(3 * s.linf),
        S(l0=2, linf=1),
        [([1, -2], [1, 0, -2, -1])],
    ),
]

TWINS = [
    mechanism(
        "quartiles of disjoint parts",
        "Values equal to the median are on neither side, and each level is paid for.",
        quartiles(apart, 4, 3),
        levels(3, 2),
        S(l1=1),
        [([0, 0, 0, 3, 3], [0, 0, 0, 3, 3, 3]), ([1], [1, 0])],
        caught=(),
    ),
    mechanism(
        "both groups of one unit",
        "A unit in two groups pays for both.",
        medians(3),
        lambda s: BoundedRange(3 * s.linf) * int(s.l0),
        S(l0=2, linf=1),
        [([1, -2], [1, 0, -2, -1])],
        caught=(),
    ),
]
