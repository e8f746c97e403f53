"""Structure mechanisms: choices, quantiles, thresholds and the keys that come out."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import exp, factorial

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, REPLAY, Bug, Own
from broken.law import laplace, normalized
from broken.noise import noise
from sfumato.core.loss import Approximate, BoundedRange, Pure
from sfumato.noise import Laplace
from sfumato.noise.bernoulli import exp_flip
from sfumato.noise.uniform import integer
from sfumato.testing import Contract

Laplacian, S = sf.mechanisms.DiscreteLaplace, sf.Sensitivity
NAMES, ZONES, TINY = ("a", "b", "c"), ("a", "b", "c"), Fraction(1, 10**6)
CHOICE = sf.mechanisms.Exponential(NAMES, rate=1)
MEDIAN = sf.mechanisms.Quantile(q="1/2", low=0, high=10, step=1, rate=2)


def choice_law(exact):
    return normalized({n: exp(int(s)) for n, s in zip(NAMES, exact, strict=True)})


def median_law(exact):
    rank = {x: int((exact < x).sum()) - int((exact > x).sum()) for x in range(11)}
    return normalized({x: exp(-abs(r)) for x, r in rank.items()})


def permute_and_flip(exact, rng):
    left, best = list(range(len(exact))), int(exact.max())
    while True:
        candidate = left.pop(integer(rng, len(left)))
        if exp_flip(rng, Fraction(best - int(exact[candidate]))):
            return candidate


def permute_and_flip_law(exact):
    odds = [exp(int(s) - int(exact.max())) for s in exact]
    law = dict.fromkeys(range(len(odds)), 0.0)
    for order in permutations(law):
        reached = 1 / factorial(len(odds))
        for candidate in order:
            law[candidate] += reached * odds[candidate]
            reached *= 1 - odds[candidate]
    return law


def noisy_max(exact, rng):
    noisy = exact + noise(Laplace(Fraction(2)), exact, rng)
    return noisy.argmax(axis=-1)


def noisy_max_with_its_value(exact, rng):
    noisy = exact + noise(Laplace(Fraction(2)), exact, rng)
    return np.stack([noisy.argmax(axis=-1), noisy.max(axis=-1)], axis=-1)


def noisy_max_law(exact):
    """P(place, value): the first place with the largest value wins."""
    values = range(int(exact.min()) - 60, int(exact.max()) + 61)
    at = [laplace(2.0, int(s)) for s in exact]
    below = [np.cumsum([one.get(v, 0.0) for v in values]) for one in at]
    law = {}
    for (i, one), (k, v) in product(enumerate(at), enumerate(values)):
        mass = one.get(v, 0.0)
        for j, sums in enumerate(below):
            if j != i:
                mass *= sums[k] if j > i else (sums[k - 1] if k else 0.0)
        law[i, v] = mass
    return law


def place_law(exact):
    law = Counter()
    for (place, _), mass in noisy_max_law(exact).items():
        law[place] += mass
    return dict(law)


def median_of_the_data(rows):
    candidates = sorted(set(rows))
    ranks = [-abs(sum(r < c for r in rows) - sum(r > c for r in rows)) for c in candidates]
    return sf.mechanisms.Exponential(candidates, rate="1/2")(ranks)


def median_of_a_grid(rows):
    return sf.mechanisms.Quantile(q="1/2", low=0, high=100, step=1, rate=1)(rows)


def released_above(threshold):
    def drawn(exact, rng):
        if not int(exact):
            return None  # nobody is there, so nothing is noticed
        noisy = int(exact + noise(Laplace(Fraction(1)), exact, rng))
        return noisy if noisy > threshold else None

    return drawn


def released_law(threshold, count):
    noisy = laplace(1.0, count) if count else {}
    shown = {x: p for x, p in noisy.items() if x > threshold}
    return {**shown, None: 1 - sum(shown.values())}


def rows_above(exact, rng):
    return released_above(16)(np.asarray(exact.size), rng)


def users_above(exact, rng):
    return released_above(16)(np.asarray(np.unique(exact).size), rng)


def keys_without_a_threshold(rows):
    return {zone: Laplacian(1)(n) for zone, n in sorted(Counter(rows).items())}


def empty_groups_left_out(rows):
    counts = Counter(row for row in rows if row in ZONES)
    present = [zone for zone in ZONES if counts[zone]]
    noisy = Laplacian(1)([counts[zone] for zone in present])
    return dict(zip(present, noisy.tolist(), strict=True))


def empty_groups_filled_in(rows):
    counts = Counter(row for row in rows if row in ZONES)
    noisy = Laplacian(1)([counts[zone] for zone in ZONES])
    return dict(zip(ZONES, noisy.tolist(), strict=True))


def threshold_claim(s):
    return Approximate(s.l1, min(TINY * s.l1, Fraction(1, 2)))


def mechanism(name, story, drawn, claimed, sensitivity, pairs, law, **more):
    more = {"caught": (CONTRACT, BLACK_BOX), "trials": 5_000} | more
    contract = Contract(Own(drawn, claimed), sensitivity, pairs, law, name=name)
    return Bug(name=name, story=story, contract=contract, **more)


def program(name, story, wrong, a, b, **more):
    more = {"claim": 1, "sensitivity": S(l1=1), "caught": (REPLAY, BLACK_BOX)} | more
    return Bug(name=name, story=story, program=wrong, pair=(a, b), **more)


BUGS = [
    mechanism(
        "half a rank under replace",
        "Charges the median for ranks that move by a half, which is so when a row is added; "
        "replaced, it moves them by one.",
        MEDIAN.sample,
        lambda s: BoundedRange(2 * s.l1, neighbors=s.neighbors),
        S(l1=1, neighbors="replace"),
        [([0, 0, 0, 5, 5, 10, 10, 10, 10, 10], [0, 0, 0, 0, 5, 5, 10, 10, 10, 10])],
        median_law,
    ),
    mechanism(
        "monotone factor under replace",
        "Halves the price for counts that only grow, though a replaced row also lowers one.",
        CHOICE.sample,
        lambda s: BoundedRange(s.linf, neighbors=s.neighbors),
        S(linf=1, neighbors="replace"),
        [([0, 2, 2], [1, 1, 1])],
        choice_law,
    ),
    mechanism(
        "permute-and-flip as bounded range",
        "Charges permute-and-flip ε²/8 as if it were the exponential mechanism.",
        permute_and_flip,
        lambda s: BoundedRange(2 * s.linf),
        S(linf=1),
        [([0, 0], [1, -1])],
        permute_and_flip_law,
        caught=(CONTRACT,),  # its ε is right, and ρ is not what the black box bounds
    ),
    mechanism(
        "noisy maximum with its value",
        "Releases the largest noisy score along with its name, for the price of the name.",
        noisy_max_with_its_value,
        lambda s: Pure(s.linf),
        S(linf=1),
        [([0, 0, 0, 0], [1, 1, 1, 1])],
        noisy_max_law,
        trials=50_000,
        cellwise=True,
    ),
    mechanism(
        "threshold too low",
        "Releases a group from three people on, where δ = 10^-6 asks for fifteen.",
        released_above(2),
        threshold_claim,
        S(l1=1),
        [(0, 1), (5, 6)],
        lambda exact: released_law(2, int(exact)),
    ),
    mechanism(
        "threshold counts rows",
        "Compares the number of rows with the threshold for people, and one person owns twenty.",
        rows_above,
        threshold_claim,
        S(l1=1),
        [([], ["bob"] * 20)],
        lambda exact: released_law(16, exact.size),
        trials=2_000,
    ),
    program(
        "quantile among the data",
        "Chooses the median among the values that occur, so that the answer is somebody's value.",
        median_of_the_data,
        [10, 20, 30, 77],
        [10, 20, 30],
        sensitivity=S(linf=1),
    ),
    program(
        "keys without a threshold",
        "Counts every name that occurs, and a name that occurs once is a person.",
        keys_without_a_threshold,
        ["ann", "ann", "bob"],
        ["ann", "ann"],
    ),
    program(
        "empty groups left out",
        "Returns what GROUP BY returns: no row for a public key that nobody has.",
        empty_groups_left_out,
        ["a", "b", "b", "c"],
        ["a", "b", "b"],
    ),
]

TWINS = [
    mechanism(
        "permute-and-flip as pure",
        "The same choice at the price that any ε-DP mechanism pays.",
        permute_and_flip,
        lambda s: Pure(2 * s.linf),
        S(linf=1),
        [([0, 0], [1, -1]), ([0, 3], [1, 2])],
        permute_and_flip_law,
        caught=(),
    ),
    mechanism(
        "noisy maximum",
        "The name alone.",
        noisy_max,
        lambda s: Pure(s.linf),
        S(linf=1),
        [([0, 0, 0, 0], [1, 1, 1, 1]), ([0, 0, 0, 0], [1, -1, -1, -1])],
        place_law,
        caught=(),
        trials=20_000,
        cellwise=True,
    ),
    mechanism(
        "threshold for people",
        "Distinct people, and a threshold that a single one passes with less than δ.",
        users_above,
        threshold_claim,
        S(l1=1),
        [([], ["bob"] * 20), (list("abcdefghijklmnopq"), list("abcdefghijklmnop"))],
        lambda exact: released_law(16, np.unique(exact).size),
        caught=(),
        trials=2_000,
    ),
    program(
        "quantile on a grid",
        "Every point of a public grid can be the answer.",
        median_of_a_grid,
        [10, 20, 30, 77],
        [10, 20, 30],
        caught=(),
    ),
    program(
        "empty groups filled in",
        "Every public key has a noisy count.",
        empty_groups_filled_in,
        ["a", "b", "b", "c"],
        ["a", "b", "b"],
        caught=(),
    ),
]
