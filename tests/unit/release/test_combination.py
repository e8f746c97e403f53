"""Quantiles of a·N1 + b·N2 against the exact law, found by summing over all pairs of integers."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from sfumato.core.errors import InputError, RangeError
from sfumato.release import Error, Measure
from sfumato.release.combination import Combination, _laplaces, _least, _mixed, quantile
from sfumato.release.error import Noise

SURE = Fraction(95, 100)
KINDS = ["laplace", "gaussian"]
WEIGHTS = [(1, 0), (0, 1), (1, 1), (1, -3), (-1, 0.37), (1, 10), (1, 0.01), (2, 2.5)]


def summed(noise):
    scale = float(noise.scale)
    reach = int((25 if noise.kind == "laplace" else 9) * scale) + 9
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-np.abs(k) / scale if noise.kind == "laplace" else -((k / scale) ** 2) / 2)
    return k, mass / mass.sum()


def held(a, b, first, second, q):
    """Return P(|a·N1 + b·N2| <= q); lattice points are met to a relative 10^-9."""
    (k, chance), (j, other) = summed(first), summed(second)
    near = np.abs(a * k[:, None] + b * j) <= q * (1 + 1e-9)
    return float(chance @ near @ other)


@pytest.mark.parametrize("scales", [(0.3, 0.3), (1, 1), (5, 1), (15, 17), (20, 100), (40, 2)])
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_quantile_holds_with_the_stated_confidence(first, second, scales, confidence):
    noises = Noise(first, scales[0]), Noise(second, scales[1])
    a, b = np.array(WEIGHTS, float).T
    found = quantile(a, b, *noises, confidence)
    for x, y, q in zip(a, b, found, strict=True):
        assert held(x, y, *noises, q) >= confidence - 1e-12


@pytest.mark.parametrize("scales", [(15, 17), (30, 30), (40, 2), (2, 40), (9, 200), (20, 100)])
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_quantile_of_noise_of_many_steps_is_hardly_wider(first, second, scales):
    noises = Noise(first, scales[0]), Noise(second, scales[1])
    a, b = np.array([(1, 1), (1, 0.37), (1, 3)], float).T
    for x, y, q in zip(a, b, quantile(a, b, *noises, 0.95), strict=True):
        assert held(x, y, *noises, q) <= 0.956


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_quantile_of_a_coarse_noise_beside_a_fine_one_is_hardly_wider(first, second):
    """A sum in cents beside a count: the count alone moves in large steps."""
    noises = Noise(first, 100), Noise(second, 1)
    q = quantile(np.ones(1), np.array([77.7]), *noises, 0.95)[0]
    assert 0.95 <= held(1, 77.7, *noises, q) <= 0.953


@pytest.mark.parametrize("kind", KINDS)
def test_quantile_does_not_ask_for_order_or_sign(kind):
    one, two = Noise("laplace", 3), Noise(kind, 50)
    a, b = np.array([1.0, 4, 7]), np.array([2.0, 0.5, 0])
    assert (quantile(a, b, one, two, 0.9) == quantile(-b, a, two, one, 0.9)).all()
    assert quantile(10 * a, 10 * b, one, two, 0.9) == pytest.approx(
        10 * quantile(a, b, one, two, 0.9)
    )


def test_quantile_grows_with_confidence():
    noises = Noise("laplace", 3), Noise("gaussian", 3)
    widths = [quantile(np.ones(1), np.ones(1), *noises, c)[0] for c in ("0.5", "0.9", "0.999999")]
    assert widths == sorted(set(widths))


def test_tail_of_two_laplace_laws_follows_the_formula_and_its_limit():
    q = np.array([0.5, 3.0, 20.0])
    c, d = np.full(3, 2.0), np.full(3, 0.7)
    formula = (c**2 * np.exp(-q / c) - d**2 * np.exp(-q / d)) / (c**2 - d**2)
    assert _laplaces(q, c, d) == pytest.approx(formula)
    limit = np.exp(-q / c) * (1 + q / (2 * c))
    assert _laplaces(q, c, c) == pytest.approx(limit)
    assert _laplaces(q, c, c * (1 - 1e-12)) == pytest.approx(limit)


@pytest.mark.parametrize("sigma", [0.05, 0.7, 1.0, 6.0])
@pytest.mark.parametrize("q", [0.3, 2.0, 9.0])
def test_tail_of_laplace_and_normal_law_is_their_convolution(sigma, q):
    def part(x):
        return stats.laplace.sf(q - x) * stats.norm.pdf(x, scale=sigma)

    want = 2 * integrate.quad(part, -10 * sigma, 10 * sigma, points=[min(q, 9 * sigma)])[0]
    got = _mixed(np.array([q]), np.array([1.0]), np.array([sigma]))[0]
    assert got == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("ratio", [1e-12, 1e-3, 1e3, 1e12])
def test_tail_of_laplace_and_normal_law_is_stable_for_any_proportion(ratio):
    scale = max(1, ratio)
    got = _mixed(np.array([2 * scale]), np.array([1.0]), np.array([ratio]))[0]
    want = np.exp(-2) if ratio < 1 else 2 * stats.norm.sf(2)
    assert got == pytest.approx(want, rel=1e-4)


def test_search_ends_where_the_tail_is_below():
    alpha = np.exp(-np.linspace(1, 9, 50))
    for level in alpha:
        found = _least(lambda q: np.exp(-q), np.array([20.0]), level)
        assert np.exp(-found[0]) <= level <= np.exp(-found[0]) * (1 + 1e-8)


def test_combination_is_an_error_that_a_measure_takes():
    law = Combination(Noise("laplace", 2), Noise("laplace", 2))
    assert isinstance(law, Error)
    values = law.values([10, 20], [1, -2])
    built = Measure.of("total", values, law, confidence=SURE, mechanism="M")
    assert built.values == (11, 18)
    assert built.low == (11 - law.halfwidth(SURE), 18 - law.halfwidth(SURE))


@pytest.mark.parametrize(
    ("a", "b", "grid"),
    [
        (1, -1, 1),
        (1, Fraction(5, 2), Fraction(1, 2)),
        (Fraction(1, 3), 4, Fraction(1, 3)),
        (Fraction(2, 7), Fraction(3, 5), Fraction(1, 35)),
        (30, 50, 10),
    ],
    ids=["difference", "halves", "thirds", "small", "tens"],
)
def test_halfwidth_lies_on_the_grid_and_holds(a, b, grid):
    noises = Noise("laplace", 2), Noise("gaussian", 3)
    h = Combination(*noises, a, b).halfwidth(SURE)
    assert h % grid == 0
    assert held(float(a), float(b), *noises, float(h)) >= 0.95
    assert h <= quantile(np.array([float(a)]), np.array([float(b)]), *noises, SURE)[0] < h + grid


def test_weight_of_zero_leaves_the_other_noise_alone():
    noises = Noise("laplace", 2), Noise("gaussian", 3)
    assert Combination(*noises, b=0).halfwidth(SURE) == 6
    assert Combination(*noises, 0, 0).halfwidth(SURE) == 0


def test_std_is_that_of_the_sum():
    noises = Noise("laplace", 2), Noise("gaussian", 3)
    k, chances = summed(noises[0])
    want = np.sqrt(4 * (chances @ k**2) + 9 * 9)
    assert Combination(*noises, 2, -3).std == pytest.approx(want, rel=1e-6)


def test_values_are_exact_and_pair_by_pair():
    law = Combination(Noise("laplace", 1), Noise("laplace", 1), 1, Fraction(1, 3))
    assert law.values(np.array([2**62, 1]), [1, 3]).tolist() == [2**62 + Fraction(1, 3), 2]
    with pytest.raises(InputError, match="3 and 2"):
        law.values([1, 2, 3], [1, 2])


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(RangeError, match="confidence"):
        quantile(np.ones(1), np.ones(1), *[Noise("laplace", 1)] * 2, confidence)
