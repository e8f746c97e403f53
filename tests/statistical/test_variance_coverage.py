"""How often the interval of a private variance holds the exact one, with real noise.

Seeds are fixed, so a pass is a pass for ever. With 4,000 repetitions the standard error of a
coverage of 95 % is 0.35 points; the tolerance is 1.5.
"""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.noise import Gaussian, Laplace, draw, system
from sfumato.release.error import Noise
from sfumato.release.spread import Spread
from sfumato.testing import SeededRng

SURE = Fraction(95, 100)
TOLERANCE = 0.015
TIMES = 4_000
HALF = 1_000  # half the range, in steps
LAWS = {"laplace": Laplace, "gaussian": Gaussian}
# A third of ε = 1 to each part of one row; of ε = 2 and δ = 10^-6.
SCALES = {"laplace": Fraction(3), "gaussian": Fraction(5)}
# The mean as a share of half the range, and the variance as a share of its square.
GROUPS = [(0, 1 / 3), (0.5, 0.2), (-0.8, 0.1), (0.2, 0.05)]

each_law = pytest.mark.parametrize("kind", LAWS)


def noises(kind, scale, half):
    return [Noise(kind, scale * by) for by in (half**2, half, 1)]


def covered(kind, scale, people, mean, variance, rng, *, times=TIMES, root=False, half=HALF):
    """Return how often intervals hold the variance."""
    parts = noises(kind, scale, half)
    total = round(mean * half * people)
    squares = round((variance * half**2 + (total / people) ** 2) * people)
    true = Fraction(squares, people) - Fraction(total, people) ** 2
    drawn = [draw(LAWS[kind](part.scale), times, rng) for part in parts]
    noisy = [noise + exact for noise, exact in zip(drawn, (squares, total, people), strict=True)]
    built = Spread(*parts, 0, 1, -half, half, root).measure("v", *noisy, confidence=SURE)
    power = 2 if root else 1
    ends = zip(built.low, built.high, strict=True)
    return np.mean([low**power <= true <= high**power for low, high in ends])


@each_law
@pytest.mark.parametrize("people", [500, 2_000, 50_000])
@pytest.mark.parametrize(("mean", "variance"), GROUPS)
def test_interval_holds_the_variance_as_often_as_it_says(kind, people, mean, variance):
    held = covered(kind, SCALES[kind], people, mean, variance, SeededRng(people))
    assert abs(held - 0.95) <= TOLERANCE


@each_law
def test_interval_holds_the_standard_deviation_as_often(kind):
    held = covered(kind, SCALES[kind], 2_000, 0.3, 0.3, SeededRng(5), root=True)
    assert abs(held - 0.95) <= TOLERANCE


@each_law
@pytest.mark.parametrize("people", [1, 5, 30, 120])
@pytest.mark.parametrize(("mean", "variance"), [(0, 0), (0, 1), (0.3, 0.5), (0.97, 0.02), (1, 0)])
def test_interval_of_a_small_group_holds_more_often(kind, people, mean, variance):
    held = covered(kind, SCALES[kind], people, mean, variance, SeededRng(people))
    assert held >= 0.95 - TOLERANCE


@pytest.mark.deep
@each_law
@pytest.mark.parametrize("scale", ["0.5", "3", "9", "40"])
@pytest.mark.parametrize("people", [10, 35, 60, 150, 500, 5_000])
def test_interval_holds_with_fresh_noise(kind, scale, people):
    """Never below by more than the tolerance, wherever mean and variance lie."""
    for mean in (0, 0.7, 0.97, 1):
        for share in (0, 0.1, 0.5, 1):
            variance = share * (1 - mean**2)
            held = covered(
                kind, Fraction(scale), people, mean, variance, system(), times=10_000, half=10**4
            )
            assert held >= 0.95 - TOLERANCE, (mean, share)
