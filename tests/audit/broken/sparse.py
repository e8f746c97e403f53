"""The sparse vector technique, in the published forms that are not private.

Each answers "is the next number at least the threshold, 0?" for a list of numbers of sensitivity 1,
and claims ε = 1, however long the list. Algorithms are numbered as by Lyu, Su and Li (Understanding
the sparse vector technique for differential privacy, VLDB 2017). A list is a row of an array, so
that many runs can be drawn at once.
"""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, Bug, Own
from broken.law import laplace
from sfumato.core.loss import Pure
from sfumato.noise import Laplace, draw
from sfumato.testing import Contract

UNASKED, BELOW = -1, -1000


def some(scale, shape, rng):
    return draw(Laplace(Fraction(scale)), prod(shape), rng).reshape(shape)


def one_each(answers):
    """The shape of one threshold for each list."""
    return (*answers.shape[:-1], 1)


def stopped(passed, most):
    """Return the answers up to the `most`-th positive one."""
    positive_before = np.cumsum(passed, axis=-1) - passed
    return np.where(positive_before < most, passed, UNASKED)


def lyu_su_li(answers, rng, most=1):
    """Algorithm 1, which is private."""
    threshold = some(2, one_each(answers), rng)
    return stopped(answers + some(4 * most, answers.shape, rng) >= threshold, most)


def textbook(answers, rng, most=2):
    """Algorithm 2, which is private: more noise, and a new threshold after each positive answer."""
    noisy, passed = answers + some(4 * most, answers.shape, rng), []
    threshold = some(2 * most, answers.shape[:-1], rng)
    for number in np.moveaxis(noisy, -1, 0):
        passed.append(number >= threshold)
        threshold = np.where(passed[-1], some(2 * most, answers.shape[:-1], rng), threshold)
    return stopped(np.stack(passed, axis=-1), most)


def value_with_the_same_noise(answers, rng):
    threshold = some(2, one_each(answers), rng)
    noisy = answers + some(2, answers.shape, rng)
    asked = stopped(noisy >= threshold, 1)
    return np.where(asked == 1, noisy, np.where(asked == 0, BELOW, UNASKED))


def noise_without_c(answers, rng, most=3):
    threshold = some(4, one_each(answers), rng)
    return stopped(answers + some("4/3", answers.shape, rng) >= threshold, most)


def no_query_noise(answers, rng):
    threshold = some(2, one_each(answers), rng)
    return (answers >= threshold).astype(np.int64)


def no_cut_off(answers, rng):
    threshold = some(2, one_each(answers), rng)
    return (answers + some(2, answers.shape, rng) >= threshold).astype(np.int64)


def exact_threshold(answers, rng, most=1):
    return stopped(answers + some(4 * most, answers.shape, rng) >= 0, most)


def threshold_drawn_anew(answers, rng, most=1):
    threshold = some(2, answers.shape, rng)  # one for each number
    return stopped(answers + some(4 * most, answers.shape, rng) >= threshold, most)


def factor_two_forgotten(answers, rng, most=1):
    threshold = some(2, one_each(answers), rng)
    return stopped(answers + some(2 * most, answers.shape, rng) >= threshold, most)


def going_on(answers, rng, most=3):
    """The book's noise for one positive answer, with which it goes on."""
    threshold = some(2, one_each(answers), rng)
    return stopped(answers + some(4, answers.shape, rng) >= threshold, most)


def monotone_noise(answers, rng, most=2):
    """A quarter of ε for the threshold; private for counts of rows that come or go."""
    threshold = some(4, one_each(answers), rng)
    return stopped(answers + some(Fraction(4 * most, 3), answers.shape, rng) >= threshold, most)


def every_gap(answers, rng, most=1):
    threshold = some(2, one_each(answers), rng)
    gaps = answers + some(4 * most, answers.shape, rng) - threshold
    return np.where(stopped(gaps >= 0, most) == UNASKED, BELOW, gaps)


def answers_without_c(answers, rng, most=4):
    """A quarter of ε for the threshold, one for comparisons, and half for fresh noise."""
    threshold = some(4, one_each(answers), rng)
    asked = stopped(answers + some(8 * most, answers.shape, rng) >= threshold, most)
    fresh = answers + some(2, answers.shape, rng)  # for each of the hits
    return np.where(asked == 1, fresh, np.where(asked == 0, BELOW, UNASKED))


def law(threshold, query, most=None, anew=False):
    """Return the law of comparisons, a sum over the noise of the threshold.

    Args:
        threshold: its noise scale; None for none.
        query: the noise scale of the numbers; None for none.
        most: positive answers before it stops; None for no end.
        anew: whether every comparison has a threshold of its own.
    """
    shared = {0: 1.0} if threshold is None else laplace(float(Fraction(threshold)))
    values, masses = np.array(list(shared)), np.array(list(shared.values()))
    at_least = tail(query)

    def of(exact):
        passes = [at_least(values - answer) for answer in exact.tolist()]
        if anew:
            passes = [np.full(len(masses), (odds * masses).sum()) for odds in passes]
        found = {}
        for outcome in outcomes(len(passes), most):
            odds = [p if yes else 1 - p for yes, p in zip(outcome, passes, strict=False)]
            padded = (*map(int, outcome), *[UNASKED] * (len(passes) - len(outcome)))
            found[padded] = float((masses * np.prod(odds, axis=0)).sum())
        return found

    return of


def textbook_law(most):
    """Return the law with a new threshold after each positive answer: runs are independent."""
    shared, at_least = laplace(2.0 * most), tail(4 * most)
    values, masses = np.array(list(shared)), np.array(list(shared.values()))

    def of(exact):
        passes = [at_least(values - answer) for answer in exact.tolist()]
        found = {}
        for outcome in outcomes(len(passes), most):
            odds, run = 1.0, masses
            for yes, p in zip(outcome, passes, strict=False):
                run = run * (p if yes else 1 - p)
                if yes:
                    odds, run = odds * run.sum(), masses
            padded = (*map(int, outcome), *[UNASKED] * (len(passes) - len(outcome)))
            found[padded] = float(odds * run.sum())
        return found

    return of


def tail(scale):
    """Return the function P(noise >= x)."""
    noise = {0: 1.0} if scale is None else laplace(float(Fraction(scale)))
    places = np.array(list(noise))
    sums = np.append(np.cumsum(list(noise.values())[::-1])[::-1], 0.0)
    return lambda x: np.minimum(sums[np.searchsorted(places, x)], 1.0)


def outcomes(length, most):
    """All lists of answers, each ended by the last positive one that is allowed."""
    if most == 1:
        return [(False,) * length, *((False,) * i + (True,) for i in range(length))]
    every = product([False, True], repeat=length)
    return {_cut(outcome, most) for outcome in every}


def _cut(outcome, most):
    positive = [i for i, yes in enumerate(outcome) if yes]
    return outcome if most is None or len(positive) < most else outcome[: positive[most - 1] + 1]


def value_law(exact):
    """The law where the number that passed is released with its noise."""
    threshold, noise = laplace(2.0), laplace(2.0)
    values, masses = np.array(list(threshold)), np.array(list(threshold.values()))
    found, reached, at_least = {}, masses, tail(2)
    for i, answer in enumerate(exact.tolist()):
        rest = [UNASKED] * (len(exact) - i - 1)
        for place, mass in noise.items():
            odds = float(reached[values <= answer + place].sum()) * mass
            found[(*[BELOW] * i, answer + place, *rest)] = odds
        reached = reached * (1 - at_least(values - answer))
    return {**found, (BELOW,) * len(exact): float(reached.sum())}


def sparse(name, story, drawn, written, a, b, relation="add_remove", **more):
    more = {"caught": (CONTRACT, BLACK_BOX), "trials": 50_000} | more
    contract = Contract(
        Own(drawn, lambda s: Pure(s.linf, neighbors=s.neighbors)),
        sf.Sensitivity(linf=1, neighbors=relation),
        [(a, b)],
        written,
        name=name,
        draws=more.pop("draws", 5000),
    )
    return Bug(name=name, story=story, contract=contract, cellwise=True, **more)


BUGS = [
    sparse(
        "sparse vector: value with the same noise",
        "Releases the number that passed with the noise it was compared with (Algorithm 3).",
        value_with_the_same_noise,
        value_law,
        [-2] * 15 + [0],
        [-1] * 15 + [-1],
        trials=100_000,
    ),
    sparse(
        "sparse vector: noise without c",
        "Adds noise that does not grow with the number of positive answers (Algorithm 4).",
        noise_without_c,
        law(4, "4/3", 3),
        [0] * 5 + [1] * 5,
        [1] * 5 + [0] * 5,
    ),
    sparse(
        "sparse vector: no query noise",
        "Compares exact numbers with a noisy threshold, without end (Algorithm 5).",
        no_query_noise,
        law(2, None),
        [0] * 5 + [1] * 5,
        [1] * 5 + [0] * 5,
        trials=5_000,
    ),
    sparse(
        "sparse vector: no cut-off",
        "Adds noise to numbers and threshold, and never stops (Algorithm 6).",
        no_cut_off,
        law(2, 2),
        [0] * 5 + [1] * 5,
        [1] * 5 + [0] * 5,
    ),
    sparse(
        "sparse vector: exact threshold",
        "Adds noise to the numbers only, so that every negative answer costs.",
        exact_threshold,
        law(None, 4, 1),
        [-2] * 16,
        [-1] * 16,
        trials=200_000,
    ),
    sparse(
        "sparse vector: threshold drawn anew",
        "Draws the threshold anew for every number, so that every negative answer costs.",
        threshold_drawn_anew,
        law(2, 4, 1, anew=True),
        [-2] * 16,
        [-1] * 16,
        trials=400_000,
    ),
    sparse(
        "sparse vector: factor two forgotten",
        "Takes the noise for numbers that only grow for numbers that move both ways.",
        factor_two_forgotten,
        law(2, 2, 1),
        [-3] * 15 + [0],
        [-2] * 15 + [-1],
        trials=200_000,
    ),
    sparse(
        "sparse vector: no cut-off, thirty numbers",
        "Algorithm 6 again, where the law of all answers is too long to be written down.",
        no_cut_off,
        None,
        [0] * 15 + [1] * 15,
        [1] * 15 + [0] * 15,
        caught=(BLACK_BOX,),
    ),
    sparse(
        "sparse vector: goes on after a hit",
        "Keeps noisy threshold and noise of the run that ends with its first positive answer.",
        going_on,
        law(2, 4, 3),
        [-2] * 7 + [1] * 3,
        [-1] * 7 + [0] * 3,
        trials=200_000,
    ),
    sparse(
        "sparse vector: monotone under replace",
        "Takes counts for monotone where one person leaves a group and enters another.",
        monotone_noise,
        law(4, "8/3", 2),
        [-1] * 8 + [1] * 2,
        [0] * 8 + [0] * 2,
        "replace",
        trials=100_000,
    ),
    sparse(
        "sparse vector: a gap for every number",
        "Tells how far from the threshold all numbers lie, and not only those that reach it.",
        every_gap,
        None,
        [-40] * 8 + [-39] * 8,  # with many more, the events that are tried tell less
        [-39] * 8 + [-40] * 8,
        caught=(BLACK_BOX,),
    ),
    sparse(
        "sparse vector: answers without c",
        "Adds to the numbers that passed fresh noise that does not grow with how many they are.",
        answers_without_c,
        None,
        [60] * 10,
        [59] * 10,
        caught=(BLACK_BOX,),
    ),
]

TWINS = [
    sparse(
        "sparse vector of Lyu, Su and Li",
        "Algorithm 1.",
        lyu_su_li,
        law(2, 4, 1),
        [-4] * 39 + [0],
        [-3] * 39 + [-1],
        caught=(),
    ),
    sparse(
        "sparse vector of numbers that only grow",
        "Algorithm 7, for monotone numbers.",
        monotone_noise,
        law(4, "8/3", 2),
        [-1] * 8 + [0] * 2,
        [0] * 10,
        caught=(),
        draws=1_000,
    ),
    sparse(
        "sparse vector of the textbook",
        "Algorithm 2, up to two positive answers.",
        textbook,
        textbook_law(2),
        [0] * 3 + [1] * 3,
        [1] * 3 + [0] * 3,
        caught=(),
        draws=1_000,
    ),
]
