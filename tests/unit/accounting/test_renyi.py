"""Rényi divergences of the laws themselves, summed directly: ρ bounds them all, and is attained."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.accounting import rho
from sfumato.core.loss import BoundedRange, GaussianShift, LaplaceShift, Pure

ORDERS = [1.001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 32, 100, 1000]


def renyi(log_p, log_q, order):
    """Return the Rényi divergence of two laws on the same points, given their log weights."""
    losses = (order - 1) * (log_p - log_q)
    if np.abs(losses).max() < 1:  # the sum is close to 1: add up what it differs by
        return math.log1p(math.fsum(np.exp(log_p) * np.expm1(losses))) / (order - 1)
    exponents = order * log_p + (1 - order) * log_q
    top = exponents.max()
    return (top + math.log(math.fsum(np.exp(exponents - top)))) / (order - 1)


def kullback_leibler(log_p, log_q):
    return math.fsum(np.exp(log_p) * (log_p - log_q))


def normalized(weights):
    return weights - math.log(math.fsum(np.exp(weights)))


def laplace_pair(scale, k):
    x = np.arange(-math.ceil(80 * scale) - 5, math.ceil(80 * scale) + k + 6, dtype=np.float64)
    base = math.log((1 - math.exp(-1 / scale)) / (1 + math.exp(-1 / scale)))
    return base - np.abs(x) / scale, base - np.abs(x - k) / scale


def check(log_p, log_q, cost):
    for order in ORDERS:
        assert renyi(log_p, log_q, order) <= order * cost * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("k", [1, 2, 5, 50])
def test_laplace_divergences_are_within_rho_which_is_the_first(scale, k):
    cost = float(rho(LaplaceShift(scale, k, k)))
    log_p, log_q = laplace_pair(scale, k)
    assert kullback_leibler(log_p, log_q) == pytest.approx(cost, rel=1e-9)
    check(log_p, log_q, cost)


@pytest.mark.deep
@pytest.mark.parametrize("scale", [0.1, 0.2, 0.5, 0.8, 1.3, 2.0, 3.7, 7.0, 15.0, 100.0, 900.0])
def test_laplace_divergences_are_within_rho_on_a_fine_grid(scale):
    for k in [*range(1, 21), 31, 64, 99, 150, 400, 1000]:
        cost = float(rho(LaplaceShift(Fraction(str(scale)), k, k)))
        log_p, log_q = laplace_pair(scale, k)
        assert kullback_leibler(log_p, log_q) == pytest.approx(cost, rel=1e-9)
        for order in 1 + np.logspace(-3, 4, 29):
            assert renyi(log_p, log_q, order) <= order * cost * (1 + 1e-9) + 1e-12


def test_laplace_vectors_are_within_rho_however_the_shift_is_spread():
    cost = float(rho(LaplaceShift(3, 7, 4)))
    worst = 0.0
    for split in ([4, 3], [4, 2, 1], [3, 3, 1], [1] * 7, [2, 2, 2, 1], [4, 1, 1, 1]):
        pairs = [laplace_pair(3.0, k) for k in split]
        for order in ORDERS:
            total = sum(renyi(p, q, order) for p, q in pairs)
            assert total <= order * cost * (1 + 1e-9)
            worst = max(worst, total / order)
    assert worst == pytest.approx(cost, rel=2e-3)


@pytest.mark.parametrize("cost", [0.1, 1.0, 3.0, 12.0])
def test_randomized_response_attains_pure_rho(cost):
    log_p = normalized(np.array([cost, 0.0]))
    found = float(rho(Pure(cost)))
    assert kullback_leibler(log_p, log_p[::-1]) == pytest.approx(found, rel=1e-12)
    check(log_p, log_p[::-1], found)


@pytest.mark.parametrize("cost", [0.5, 2.0, 6.0])
def test_exponential_weights_are_within_bounded_range_rho(cost):
    found = float(rho(BoundedRange(cost)))
    grid = np.linspace(0, cost, 41)
    for share in (0.05, 0.3, 0.5, 0.8):
        log_q = normalized(np.array([math.log(share), math.log(1 - share)]))
        log_p = normalized(log_q + np.array([cost, 0.0]))
        check(log_p, log_q, found)
        check(log_q, log_p, found)
    uniform = normalized(np.zeros(41))
    check(normalized(grid), uniform, found)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("k", [1, 3])
def test_gaussian_divergences_are_within_rho(sigma, k):
    x = np.arange(-math.ceil(40 * sigma) - 40 * k, math.ceil(40 * sigma) + 40 * k, dtype=np.float64)
    log_p = normalized(-x * x / (2 * sigma**2))
    log_q = normalized(-((x - k) ** 2) / (2 * sigma**2))
    cost = float(rho(GaussianShift(sigma, k * k)))
    for order in ORDERS[:8]:
        assert renyi(log_p, log_q, order) <= order * cost * (1 + 1e-9)
