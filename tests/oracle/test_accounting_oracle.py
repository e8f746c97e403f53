"""Our bounds against dp_accounting: never below its optimistic figures, equal where exact."""

import math
import warnings
from fractions import Fraction

import pytest

from sfumato.accounting import compose, epsilon, gaussian_reference_epsilon, zcdp_epsilon
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.core.loss import GaussianShift, LaplaceShift, Pure

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pld = pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution",
        reason="dp_accounting is not installed: an oracle for development only",
    )

pytestmark = pytest.mark.deep
DELTA = 1e-6


def optimistic(distribution, count):
    """Return a lower bound on ε after `count` releases."""
    return distribution.self_compose(count).get_epsilon_for_delta(DELTA)


@pytest.mark.parametrize(("count", "cost"), [(100, 0.1), (100, 0.05), (1000, 0.01), (30, 1.0)])
def test_pure_losses_cost_at_least_randomized_response(count, cost):
    response = pld.from_randomized_response(
        2 / (1 + math.exp(cost)),
        2,
        pessimistic_estimate=False,
        value_discretization_interval=1e-5,  # it errs by one interval for each release
    )
    ours = float(epsilon(compose([Pure(cost)] * count), DELTA))
    assert ours >= optimistic(response, count) * (1 - 1e-9)
    assert ours <= 1.1 * optimistic(response, count)


@pytest.mark.parametrize(("count", "cost"), [(100, 0.1), (100, 0.05), (1000, 0.01), (30, 1.0)])
@pytest.mark.parametrize("shift", [1, 10])
def test_laplace_losses_cost_at_least_their_distribution(count, cost, shift):
    exact = Fraction(str(cost))
    law = pld.from_discrete_laplace_mechanism(
        cost / shift, sensitivity=shift, pessimistic_estimate=False
    )
    ours = float(epsilon(LaplaceShift(shift / exact, shift, shift) * count, DELTA))
    assert optimistic(law, count) * (1 - 1e-9) <= ours <= 1.1 * optimistic(law, count)


@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("sigma", [2, 10, 60])
def test_gaussian_losses_cost_at_least_their_distribution(count, sigma):
    law = pld.from_discrete_gaussian_mechanism(sigma, pessimistic_estimate=False)
    ours = float(epsilon(GaussianShift(sigma, 1, scalar=True) * count, DELTA))
    assert optimistic(law, count) * (1 - 1e-6) <= ours <= 1.1 * optimistic(law, count) + 1e-3


@pytest.mark.parametrize("sigma", [1, 3, 20])
def test_one_discrete_gaussian_agrees(sigma):
    lower = pld.from_discrete_gaussian_mechanism(
        sigma, pessimistic_estimate=False, value_discretization_interval=1e-5
    ).get_epsilon_for_delta(DELTA)
    upper = pld.from_discrete_gaussian_mechanism(
        sigma, pessimistic_estimate=True, value_discretization_interval=1e-5
    ).get_epsilon_for_delta(DELTA)
    ours = float(gaussian_epsilon(Fraction(sigma), 1, Fraction(1, 10**6)))
    assert lower - 1e-6 <= ours <= upper + 1e-6


@pytest.mark.parametrize("cost", [0.05, 0.5, 1.0, 3.0])
def test_continuous_reference_agrees(cost):
    law = pld.from_gaussian_mechanism((1 / (2 * cost)) ** 0.5, value_discretization_interval=1e-5)
    ours = gaussian_reference_epsilon(cost, DELTA)
    assert ours == pytest.approx(law.get_epsilon_for_delta(DELTA), abs=1e-4)
    assert ours <= zcdp_epsilon(cost, DELTA)
