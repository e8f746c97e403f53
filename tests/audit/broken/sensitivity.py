"""Sensitivity and arithmetic: sound noise, for a number that moves by more than was declared."""

from collections import Counter
from fractions import Fraction
from math import sqrt

import numpy as np

import sfumato as sf
from broken.bug import BLACK_BOX, CONTRACT, REPLAY, Bug, Own
from broken.law import cells, gaussian, laplace
from broken.noise import noise
from sfumato.core.loss import GaussianShift, Pure
from sfumato.noise import Gaussian, Laplace
from sfumato.testing import Contract

Laplacian, Grid, S = sf.mechanisms.DiscreteLaplace, sf.mechanisms.GridLaplace, sf.Sensitivity
ONE, REPLACED = S(l1=1), S(l1=1, neighbors="replace")
BOTH = (REPLAY, BLACK_BOX)
CAP, ZONES, MOST = 10, ("a", "b", "c", "d"), 2**54


def local_sensitivity(rows):
    ordered, middle = sorted(rows), len(rows) // 2
    gap = max(abs(ordered[middle + side] - ordered[middle]) for side in (-1, 1))
    return Laplacian(max(gap, 1))(ordered[middle])


def capped_copy_forgotten(rows):
    capped = [min(row, CAP) for row in rows]
    assert all(row <= CAP for row in capped)
    return Laplacian(CAP)(sum(rows))


def capped_after_the_sum(rows):
    return Laplacian(CAP)(min(sum(rows), CAP * len(rows)))


def capped_before_the_sum(rows):
    return Laplacian(CAP)(sum(min(max(row, 0), CAP) for row in rows))


def nan_through_a_clamp(rows):
    clamped = [max(min(row, 1.0), 0.0) for row in rows]
    return Grid(scale=1, step="1/100")(sum(clamped))


def nan_counts_as_zero(rows):
    clamped = [max(min(row, 1.0), 0.0) if row == row else 0.0 for row in rows]  # noqa: PLR0124
    return Grid(scale=1, step="1/100")(sum(clamped))


def histogram(rows):
    counts = Counter(rows)
    return Laplacian(1)([counts[zone] for zone in ZONES])


def wide_histogram(rows):
    counts = Counter(rows)
    return Laplacian(2)([counts[zone] for zone in ZONES])


def rows_of_users(rows):
    return Laplacian(1)(len(rows))


def zones_of_users(rows):
    visited = {(user, zone) for user, zone in rows}
    counts = Counter(zone for _, zone in visited)
    return Laplacian(1)([counts[zone] for zone in ZONES])


def wraps_around(rows):
    return Laplacian(1000)(int(np.sum(np.array(rows, np.int16), dtype=np.int16)))


def float_sum(rows):
    total = 0.0
    for row in rows:
        total += row
    return Laplacian(MOST)(int(total))


def scale_from_private_n(rows):
    n = len(rows)
    return Grid(scale=Fraction(100, n), step="1/10")(Fraction(sum(rows), n))


def exact_denominator(rows):
    return Laplacian(100)(sum(rows)) / len(rows)


def noisy_denominator(rows):
    total, count = Laplacian(100)(sum(rows)), Laplacian(1)(len(rows))
    return total / max(count, 1)


def unknown_bounds(rows, bounds=None):
    scale = bounds[1] - bounds[0] if bounds else 0
    return Laplacian(scale)(sum(rows)) if scale else sum(rows)


def noise_for_large_counts(rows):
    return Laplacian(1)(len(rows)) if len(rows) >= 10 else len(rows)


def clamped_to_data(rows):
    low, high = min(rows), max(rows)
    return Laplacian(high - low)(sum(row - low for row in rows))


def bins_from_data(rows):
    counts, _ = np.histogram(rows, bins=4)
    return Laplacian(1)(counts)


def fan_out(rows, orders=(("ann", 3), ("bob", 40))):
    joined = [
        item for customer in rows for name, n in orders if name == customer for item in [1] * n
    ]
    return Laplacian(1)(len(joined))


def negative_counts_clamped(rows):
    return [max(n, 0) for n in histogram(rows).tolist()]


def two_cells(law):
    return lambda exact, rng: exact + noise(law, exact, rng)


def program(name, story, wrong, a, b, **more):
    more = {"claim": 1, "sensitivity": ONE, "caught": BOTH} | more
    return Bug(name=name, story=story, program=wrong, pair=(a, b), **more)


BUGS = [
    program(
        "local sensitivity",
        "Scales the noise by how far the median of these very rows could move.",
        local_sensitivity,
        [0, 0, 0, 9, 9],
        [0, 0, 0, 0, 9],
        sensitivity=S(l1=9, neighbors="replace"),
    ),
    program(
        "capped copy forgotten",
        "Caps the values and then sums the ones that were not capped.",
        capped_copy_forgotten,
        [3, 4, 500],
        [3, 4],
        sensitivity=S(l1=CAP),
    ),
    program(
        "cap after the sum",
        "Caps the sum at the number of rows times the cap, instead of each row.",
        capped_after_the_sum,
        [0, 0, 0, 0, 0, 50],
        [0, 0, 0, 0, 0],
        sensitivity=S(l1=CAP),
    ),
    program(
        "NaN through a clamp",
        "Clamps with min and max, which let NaN through, and the sum of it is an error.",
        nan_through_a_clamp,
        [0.5, float("nan")],
        [0.5],
        sensitivity=S(l0=1, l1=1),
    ),
    program(
        "histogram noise under replace",
        "Adds noise 1/ε to each cell though a replaced row leaves one cell and enters another.",
        histogram,
        ["a", "a"],
        ["a", "b"],
        sensitivity=REPLACED,
    ),
    program(
        "row noise for users",
        "Counts rows with noise for one row, and one user owns three.",
        rows_of_users,
        ["ann", "bob", "bob", "bob"],
        ["ann"],
    ),
    program(
        "groups per user not capped",
        "Counts distinct users in each zone with noise for one zone, and one user is in all four.",
        zones_of_users,
        [("ann", "a"), *(("bob", zone) for zone in ZONES)],
        [("ann", "a")],
    ),
    program(
        "sum wraps around",
        "Sums in 16 bits, where one row more turns a large sum into a negative one.",
        wraps_around,
        [1000] * 32,
        [1000] * 33,
        sensitivity=S(l1=1000),
    ),
    program(
        "float sum",
        "Sums floats, where the largest row makes every other one round up.",
        float_sum,
        [MOST, *[3] * 100],
        [3] * 100,
        sensitivity=S(l1=MOST),
        caught=(REPLAY,),  # an excess of 100 under noise of 2^54
    ),
    program(
        "float sum in another order",
        "Sums floats in the order of storage, which changes when a row is deleted.",
        float_sum,
        [*[1] * 200, MOST, MOST],
        [MOST, *[1] * 200],
        sensitivity=S(l1=MOST),
        caught=(REPLAY,),
    ),
    program(
        "scale from private n",
        "Scales the noise of a mean by one over the number of rows, which is private.",
        scale_from_private_n,
        [0],
        [0, 100],
        sensitivity=S(l0=1, l1=100),
        trials=6_000,
    ),
    program(
        "exact denominator",
        "Divides a noisy sum by the exact number of rows.",
        exact_denominator,
        [40, 50, 60],
        [40, 50],
        sensitivity=S(l1=100),
    ),
    program(
        "unknown bounds, no noise",
        "Takes the bounds to be zero wide where none are declared, and adds no noise.",
        unknown_bounds,
        [40, 50],
        [40],
    ),
    program(
        "noise for large counts only",
        "Leaves small counts as they are, which says that they are small.",
        noise_for_large_counts,
        [1] * 10,
        [1] * 9,
    ),
    program(
        "clamped to the data's own range",
        "Takes the bounds for clamping from the smallest and the largest row.",
        clamped_to_data,
        [1, 2, 3, 90],
        [1, 2, 3],
        sensitivity=S(l1=2),
    ),
    program(
        "bins from the data",
        "Lets the histogram choose its edges, so that one outlier moves every row to another bin.",
        bins_from_data,
        [1.0, 2.0, 3.0, 4.0, 99.0],
        [1.0, 2.0, 3.0, 4.0],
    ),
    program(
        "join that fans out",
        "Counts joined rows with noise for one, and one customer has forty orders.",
        fan_out,
        ["ann", "bob"],
        ["ann"],
    ),
    Bug(
        name="ε asserted, not computed",
        story="States the ε that it was asked for, however far one unit moves the answer.",
        contract=Contract(
            Own(two_cells(Laplace(Fraction(1))), lambda s: Pure(1, neighbors=s.neighbors)),
            S(l0=2, linf=1),
            [([3, 1], [4, 2])],
            lambda exact: cells(lambda c: laplace(1.0, c), exact),
        ),
        caught=(CONTRACT, BLACK_BOX),
        cellwise=True,
    ),
    Bug(
        name="price upside down",
        story="Divides the scale by the sensitivity, which is right for a sensitivity of 1 only.",
        contract=Contract(
            Own(two_cells(Laplace(Fraction(1))), lambda s: Pure(1 / s.l1, neighbors=s.neighbors)),
            ONE,
            [(3, 4)],
            lambda exact: laplace(1.0, int(exact)),
        ),
        caught=(CONTRACT,),  # looked at where it is right
        cellwise=True,
    ),
    Bug(
        name="Laplace for the Euclidean norm",
        story="Charges Laplace noise on two cells by l2, which is smaller than l1.",
        contract=Contract(
            Own(
                two_cells(Laplace(Fraction(1))),
                lambda s: Pure(Fraction(sqrt(s.l2_squared)), neighbors=s.neighbors),
            ),
            S(l0=2, linf=1),
            [([3, 1], [4, 2])],
            lambda exact: cells(lambda c: laplace(1.0, c), exact),
        ),
        caught=(CONTRACT, BLACK_BOX),
        trials=20_000,
        cellwise=True,
    ),
    Bug(
        name="Gaussian for the largest cell",
        story="Charges Gaussian noise on two cells by the largest change of one of them.",
        contract=Contract(
            Own(
                two_cells(Gaussian(Fraction(1))),
                lambda s: GaussianShift(Fraction(1), s.linf**2),
            ),
            S(l0=2, linf=1),
            [([3, 1], [4, 2])],
            lambda exact: cells(lambda c: gaussian(1.0, c), exact),
        ),
        caught=(CONTRACT, BLACK_BOX),
        trials=20_000,
        cellwise=True,
    ),
]

TWINS = [
    program(
        "cap before the sum",
        "Every row is clamped before it counts.",
        capped_before_the_sum,
        [3, 4, 500],
        [3, 4],
        sensitivity=S(l1=CAP),
        caught=(),
    ),
    program(
        "NaN counts as zero",
        "A missing value has one meaning.",
        nan_counts_as_zero,
        [0.5, float("nan")],
        [0.5],
        sensitivity=S(l0=1, l1=1),
        caught=(),
    ),
    program(
        "noisy denominator",
        "Sum and count both pay.",
        noisy_denominator,
        [40, 50, 100],
        [40, 50],
        sensitivity=None,
        claim=2,
        caught=(),
    ),
    program(
        "histogram noise under replace, doubled",
        "Noise 2/ε for a row that leaves one cell and enters another.",
        wide_histogram,
        ["a", "a"],
        ["a", "b"],
        sensitivity=S(l1=2, neighbors="replace"),
        caught=(),
    ),
    program(
        "negative counts clamped",
        "What is computed from noisy counts alone is free.",
        negative_counts_clamped,
        ["a", "a"],
        ["a"],
        caught=(),
    ),
]
