"""Published and independently computed figures of composition, conversion and calibration."""

from fractions import Fraction

import pytest

from sfumato.accounting import (
    Limits,
    advanced_epsilon,
    calibrate,
    charge,
    gaussian_dp_epsilon,
    gaussian_reference_epsilon,
    gaussian_reference_sigma,
    optimal_epsilon,
    pld,
    renyi_epsilon,
    rho,
    rho_within,
    zcdp_epsilon,
)
from sfumato.accounting.curve import delta, epsilon
from sfumato.core.budget import Budget
from sfumato.core.codec import encode
from sfumato.core.loss import (
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Pure,
    Worst,
)

FINE = 10**7  # grid steps per unit: the discrete law is close to the continuous one


def laplace(cost):
    """Return Laplace noise of this ε on a fine grid."""
    return LaplaceShift(FINE / Fraction(cost), FINE, FINE)


@pytest.mark.parametrize(
    ("target", "failure", "exact"),
    [
        ("0.05", "1e-6", 1.4716),
        ("0.5", "1e-6", 5.2215),
        ("1", "1e-6", 7.766),
        ("2.63", "1e-10", 17.43),
    ],
)
def test_rho_converts_as_in_the_theorem(target, failure, exact):
    assert float(zcdp_epsilon(target, failure)) == pytest.approx(exact, rel=2e-4)


@pytest.mark.parametrize(
    ("target", "failure", "exact"),
    [
        ("0.05", "1e-6", 1.3676),
        ("0.5", "1e-6", 4.8866),
        ("1", "1e-6", 7.286),
        ("2.63", "1e-10", 16.74),
    ],
)
def test_continuous_gaussian_has_its_analytic_epsilon(target, failure, exact):
    assert gaussian_reference_epsilon(target, failure) == pytest.approx(exact, rel=2e-4)


def test_continuous_gaussian_has_its_analytic_sigma():
    assert gaussian_reference_sigma(1, "1e-6") == pytest.approx(4.22468, abs=5e-6)


@pytest.mark.parametrize(("cost", "exact"), [("0.5", 0.1225), ("1", 0.4621), ("2", 1.523)])
def test_pure_rho(cost, exact):
    assert float(rho(Pure(cost))) == pytest.approx(exact, rel=5e-4)


@pytest.mark.parametrize(
    ("cost", "exact"),
    [("0.1", 0.00484), ("0.5", 0.1065), ("1", 0.3679), ("2", 1.135), ("4", 3.018)],
)
def test_fine_laplace_rho(cost, exact):
    assert float(rho(laplace(cost))) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(
    ("count", "cost", "exact"), [(100, "0.1", 5.125), (100, "0.05", 2.397), (1000, "0.01", 1.469)]
)
def test_many_laplace_releases(count, cost, exact):
    assert float(epsilon(laplace(cost) * count, "1e-6")) == pytest.approx(exact, abs=6e-4)


def test_thirty_large_laplace_releases_are_cheaper_added_up():
    assert float(zcdp_epsilon(30 * rho(laplace(1)), "1e-6")) == pytest.approx(34.4, abs=0.05)
    assert epsilon(laplace(1) * 30, "1e-6") == 30


@pytest.mark.parametrize(
    ("count", "cost", "advanced", "by_renyi", "optimal"),
    [
        (100, "0.1", 6.308, 4.984, 4.7746),
        (100, "0.05", 2.885, 2.341, 2.2075),
        (1000, "0.01", 1.763, 1.466, 1.3654),
        (30, "1", 80.34, 28.24, 29.988),
    ],
)
def test_many_releases_by_every_method(count, cost, advanced, by_renyi, optimal):
    pure, noise = Pure(cost) * count, LaplaceTradeoff(cost) * count
    assert float(advanced_epsilon(pure, "1e-6")) == pytest.approx(advanced, abs=6e-3)
    assert float(renyi_epsilon(noise, "1e-6")) == pytest.approx(by_renyi, abs=6e-4)
    assert float(optimal_epsilon(pure, "1e-6")) == pytest.approx(optimal, abs=2e-4)


@pytest.mark.parametrize(
    ("target", "failure", "exact"),
    [
        ("0.1", "1e-6", 1.3676),
        ("1", "1e-6", 4.8866),
        ("2", "1e-6", 7.286),
        ("5.26", "1e-10", 16.74),
    ],
)
def test_gaussian_dp_has_its_analytic_epsilon(target, failure, exact):
    # μ² = 2ρ; a root that is not rational is composed of parts.
    halves = GaussianTradeoff("0.1") * int(Fraction(target) * 100)
    assert float(gaussian_dp_epsilon(halves, failure)) == pytest.approx(exact, rel=2e-4)


@pytest.mark.parametrize(
    ("count", "cost", "noise", "response"),
    [
        (100, "0.1", 4.69267, 4.77457),
        (100, "0.05", 2.19328, 2.20753),
        (1000, "0.01", 1.36292, 1.36545),
        (30, "1", 27.77254, 29.98786),
    ],
)
def test_many_releases_by_their_distribution(count, cost, noise, response):
    for loss, exact in (
        (LaplaceTradeoff(cost) * count, noise),
        (LaplaceShift(1 / Fraction(cost), 1, 1) * count, response),
    ):
        found = pld.bounds(loss, "1e-6")
        assert exact - 1e-5 <= float(found.high) <= exact * (1 + 1e-3)
        assert exact * (1 - 1e-3) <= float(found.low) <= exact + 1e-5


def test_exact_discrete_gaussian():
    assert float(delta(GaussianShift(4, 1, scalar=True), 1)) == pytest.approx(
        3.0554546492668e-06, rel=1e-12
    )
    assert float(epsilon(GaussianShift(1, 1, scalar=True), "1e-6")) == pytest.approx(
        4.49959098223, rel=1e-10
    )
    sigma = calibrate(
        lambda s: GaussianShift(s, 1, scalar=True), epsilon=1, delta="1e-6", low="0.01", high=100
    )
    assert float(sigma) == pytest.approx(4.230778861194, rel=1e-11)


# What a ledger has stored must mean the same for ever: these bytes do not change.
def test_limits_of_the_usual_budget():
    assert encode(Limits.of(Budget(epsilon=4, delta="1e-6"))) == (
        b'{"$":"Limits","conversion":500000000000,"delta":500000000000,'
        b'"epsilon":{"$q":"4000000000000000000/1"},"rho":{"$q":"296131423331091984/1"}}'
    )
    assert float(rho_within(4, "5e-7")) == pytest.approx(0.2961314233, abs=1e-10)


def test_charges_of_the_usual_losses():
    assert encode(charge(Pure("0.1"))) == (
        b'{"$":"Charge","delta":0,"epsilon":{"$q":"100000000000000000/1"},'
        b'"neighbors":"add_remove","rho":4995837495787998}'
    )
    assert encode(charge(LaplaceShift(10, 3, 2))) == (
        b'{"$":"Charge","delta":0,"epsilon":{"$q":"300000000000000000/1"},'
        b'"neighbors":"add_remove","rho":{"$q":"24028353888596083/1"}}'
    )
    assert encode(charge(GaussianShift(10, 1))) == (
        b'{"$":"Charge","delta":0,"epsilon":null,"neighbors":"add_remove","rho":5000000000000000}'
    )


def test_worst_of_parts_is_written_down():
    assert encode(Worst.of([Pure(1), Pure(2)], touched=1)) == (
        b'{"$":"Worst","neighbors":"add_remove","parts":{"$t":['
        b'{"$t":[{"$":"Pure","epsilon":{"$q":"1/1"},"neighbors":"add_remove"},1]},'
        b'{"$t":[{"$":"Pure","epsilon":{"$q":"2/1"},"neighbors":"add_remove"},1]}]},"touched":1}'
    )
