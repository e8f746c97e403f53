"""Sparse tables, clamps, samples and reports: what sits on top of samplers."""

from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, Bug, Own
from broken.law import laplace
from broken.noise import noise
from sfumato.core.loss import PoissonSampled, Pure
from sfumato.noise import Laplace, draw
from sfumato.noise.bernoulli import flip
from sfumato.noise.binomial import binomial
from sfumato.noise.permutation import distinct
from sfumato.noise.uniform import integers
from sfumato.testing import Contract

S = sf.Sensitivity
ONE, HERS = S(l0=1, linf=1), S(l0=1, linf=1, neighbors="replace")
SCALE, THRESHOLD, DOMAIN = Fraction(1), 2, 3
SPARSE = sf.mechanisms.SparseHistogram(SCALE, THRESHOLD, DOMAIN)
TENTH = Fraction(1, 10)


def pure(sensitivity):
    return Pure(sensitivity.l1, neighbors=sensitivity.neighbors)


def visited(exact, rng, shown=lambda count, noisy: noisy >= THRESHOLD):
    """Noise on filled cells alone."""
    filled = np.flatnonzero(exact)
    noisy = exact[filled] + draw(Laplace(SCALE), filled.size, rng)
    return [
        (int(cell), int(value))
        for cell, value in zip(filled, noisy, strict=True)
        if shown(exact[cell], value)
    ]


def risen(left, rng):
    """How many empty cells pass, and with what values."""
    return draw(Laplace(SCALE, two_sided=False), binomial(left, SPARSE._passing, rng), rng)


def filled_cells_only(exact, rng):
    return tuple(visited(exact, rng))


def true_counts_compared(exact, rng):
    """The threshold sees the exact count, the reader the noisy one."""
    kept = visited(exact, rng, lambda count, noisy: count >= THRESHOLD)
    empty = np.flatnonzero(exact == 0)
    values = risen(empty.size, rng)
    ranks = distinct(empty.size, values.size, rng)
    return tuple(sorted([*kept, *zip(empty[ranks].tolist(), (values + 2).tolist(), strict=True)]))


def hits_dropped(exact, rng):
    """Draws among all cells, and forgets those that hit a filled one."""
    values = risen(int((exact == 0).sum()), rng) + THRESHOLD
    cells = distinct(DOMAIN, values.size, rng).tolist()
    passed = [(c, int(v)) for c, v in zip(cells, values, strict=True) if not exact[c]]
    return tuple(sorted([*visited(exact, rng), *passed]))


def cell_law(count, shown):
    listed = {y: p for y, p in laplace(1.0, count).items() if shown(count, y)}
    return {None: 1 - sum(listed.values()), **listed}


def table_law(of_cell):
    def law(exact):
        table = {(): 1.0}
        for cell, count in enumerate(np.ravel(exact).tolist()):
            table = {
                known if value is None else (*known, (cell, value)): p * q
                for (known, p), (value, q) in product(table.items(), of_cell(count).items())
                if p * q > 1e-15
            }
        return table

    return law


def above(count, noisy):
    return noisy >= THRESHOLD


def only_filled(count):
    return cell_law(count, above) if count else {None: 1.0}


def by_true_count(count):
    if not count:
        return cell_law(0, above)
    return cell_law(count, lambda x, _: x >= THRESHOLD)


def dropped_law(exact):
    """K of the empty cells' odds, spread over all cells, less those that hit a filled one."""
    empty = int((exact == 0).sum())
    chance = exp(-2) / (1 + exp(-1))
    filled = table_law(only_filled)(exact)
    law = {}
    for many in range(empty + 1):
        odds = comb(empty, many) * chance**many * (1 - chance) ** (empty - many)
        sets = [s for s in product((0, 1), repeat=DOMAIN) if sum(s) == many]
        for chosen in sets:
            cells = [c for c in range(DOMAIN) if chosen[c] and not exact[c]]
            for values in product(range(30), repeat=len(cells)):
                p = float(np.prod([(1 - exp(-1)) * exp(-v) for v in values]))
                if p < 1e-13:
                    continue
                more = [(c, v + THRESHOLD) for c, v in zip(cells, values, strict=True)]
                for known, q in filled.items():
                    key = tuple(sorted([*known, *more]))
                    law[key] = law.get(key, 0.0) + odds / len(sets) * p * q
    return law


def redrawn(exact, rng):
    """Draws noise until the answer is in the range, instead of clamping it."""
    noisy = np.full(exact.shape, -1)
    while (outside := (noisy < 0) | (noisy > 9)).any():
        noisy = np.where(outside, exact + noise(Laplace(Fraction(2)), exact, rng), noisy)
    return noisy


def redrawn_law(exact):
    weights = {y: exp(-abs(y - int(exact)) / 2) for y in range(10)}
    return {y: w / sum(weights.values()) for y, w in weights.items()}


def binary_odds(exact, rng):
    """The truth with probability e/(1+e), whatever the number of answers."""
    coins = rng.words(exact.size) < np.uint64(round(2**64 * exp(1) / (1 + exp(1))))
    others = 1 + integers(rng, 3, exact.size).astype(np.int64)
    return (exact + np.where(coins, 0, others).reshape(exact.shape)) % 4


def binary_odds_law(exact):
    truth = exp(1) / (1 + exp(1))
    return {x: truth if x == int(exact) else (1 - truth) / 3 for x in range(4)}


def first_rows(exact, rng):
    """Takes a fixed tenth of the rows, rounded up: no coins, and so no secret."""
    return (exact + 9) // 10 + noise(Laplace(Fraction(1)), exact, rng)


def first_rows_law(exact):
    return laplace(1.0, (int(exact) + 9) // 10)


def announced_sample(exact, rng):
    """Publishes beside the noisy count how many rows the sample has."""
    kept = sum(flip(rng, TENTH) for _ in range(int(exact)))
    return kept, kept + int(draw(Laplace(Fraction(1)), 1, rng)[0])


def announced_law(exact):
    rows, law = int(exact), {}
    for kept in range(rows + 1):
        odds = comb(rows, kept) * 0.1**kept * 0.9 ** (rows - kept)
        for noisy, p in laplace(1.0, kept).items():
            law[kept, noisy] = odds * p
    return law


def sampled(sensitivity):
    return PoissonSampled(sf.mechanisms.DiscreteLaplace(1).loss(sensitivity), TENTH)


def whole_at_once(exact, rng):
    """One coin for the whole table: everybody is in the sample, or nobody."""
    coins = (integers(rng, 10, exact.size) == 0).reshape(exact.shape)
    return exact * coins + noise(Laplace(Fraction(1)), exact, rng)


def whole_law(exact):
    law = {}
    for center, odds in ((int(exact), 0.1), (0, 0.9)):
        for x, p in laplace(1.0, center).items():
            law[x] = law.get(x, 0.0) + odds * p
    return law


def planted(name, story, drawn, law, pairs, *, claimed=pure, s=ONE, **options):
    return Bug(
        name=name,
        story=story,
        caught=(CONTRACT, BLACK_BOX),
        contract=Contract(Own(drawn, claimed), s, pairs=pairs, law=law, name=name),
        **options,
    )


ALONE = [([0, 0, 0], [0, 1, 0])]

BUGS = [
    planted(
        "noise on filled cells only",
        "Skips empty cells, so that a cell that is listed was filled.",
        filled_cells_only,
        table_law(only_filled),
        ALONE,
    ),
    planted(
        "threshold on the exact count",
        "Compares the exact count with the threshold, and adds noise to what is listed.",
        true_counts_compared,
        table_law(by_true_count),
        [([2, 0, 0], [1, 0, 0])],
    ),
    planted(
        "hits of filled cells dropped",
        "Draws the empty cells that pass among all cells, and forgets those that are filled.",
        hits_dropped,
        dropped_law,
        [([9, 9, 0], [9, 9, 1]), ([0, 0, 0], [0, 0, 1])],
    ),
    planted(
        "noise redrawn until it fits the range",
        "Draws again while the answer is outside, and so weighs the answers by where the value is.",
        redrawn,
        redrawn_law,
        [(0, 1), (1, 2)],
        claimed=lambda s: Pure(s.l1 / 2, neighbors=s.neighbors),
        cellwise=True,
        trials=40_000,
    ),
    planted(
        "odds of two answers for four",
        "Tells the truth with probability e^ε/(1+e^ε) though there are four answers.",
        binary_odds,
        binary_odds_law,
        [(0, 1), (2, 3)],
        s=HERS,
        cellwise=True,
    ),
    planted(
        "sample without coins",
        "Takes every tenth row and charges as if each row had its own coin.",
        first_rows,
        first_rows_law,
        [(10, 11), (0, 1)],
        claimed=sampled,
        cellwise=True,
        trials=20_000,
    ),
    planted(
        "size of the sample published",
        "Says how many rows the sample has, exactly: an honest report on an honest sample.",
        announced_sample,
        announced_law,
        [(0, 1), (2, 3)],
        claimed=sampled,
    ),
    planted(
        "one coin for all rows",
        "Keeps all rows or none, so that a large answer says that everybody is in the sample.",
        whole_at_once,
        whole_law,
        [(30, 31), (0, 1)],
        claimed=sampled,
        cellwise=True,
        trials=20_000,
    ),
]

TWINS = [
    Bug(
        name="sparse histogram",
        story="Empty cells pass as often as if noise had been added to each.",
        contract=Contract(
            SPARSE,
            ONE,
            pairs=[({}, {1: 1}), ({0: 9, 1: 9}, {0: 9, 1: 9, 2: 1})],
            law=lambda exact: table_law(lambda count: cell_law(count, above))(
                [dict(exact).get(cell, 0) for cell in range(DOMAIN)]
            ),
            name="sparse histogram",
        ),
    ),
    Bug(
        name="noise clamped to the range",
        story="Clamps the noisy answer, which costs nothing.",
        contract=Contract(
            sf.mechanisms.TruncatedGeometric(2, 0, 3), ONE, pairs=[(0, 1), (1, 2)], name="clamped"
        ),
        cellwise=True,
    ),
    Bug(
        name="coin for every row",
        story="Each row has its own coin, and nobody learns how it fell.",
        contract=Contract(
            sf.mechanisms.Sampled(1, TENTH), ONE, pairs=[(0, 1), (10, 11)], name="sampled"
        ),
        cellwise=True,
    ),
    Bug(
        name="odds of four answers for four",
        story="Tells the truth with probability e^ε/(e^ε+3).",
        contract=Contract(
            sf.mechanisms.CategoryResponse(["a", "b", "c", "d"], 1),
            HERS,
            pairs=[("a", "b"), ("c", "d")],
            name="four answers",
        ),
        cellwise=True,
    ),
]
