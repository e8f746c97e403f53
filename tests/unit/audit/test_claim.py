"""Claims are read as the points that counts can refute."""

from decimal import Decimal
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from scipy.special import ndtri_exp

import sfumato as sf
from sfumato.audit.claim import Claim, unit_mu
from sfumato.core.loss import Approximate, Concentrated, Pure


@pytest.mark.parametrize("number", [1, 1.0, "1", Decimal(1), Fraction(1)])
def test_a_number_claims_pure_epsilon(number):
    assert Claim.of(number) == Claim(((Fraction(1), Fraction(0)),))


def test_a_budget_claims_its_limit():
    claim = Claim.of(sf.Budget(epsilon=2, delta="1e-6"))
    assert claim.points == ((Fraction(2), Fraction(1, 10**6)),)
    assert claim.mu is None


def test_a_budget_in_rho_claims_its_curve():
    claim = Claim.of(sf.Budget(rho="0.5"))
    assert [delta for _, delta in claim.points] == sorted(delta for _, delta in claim.points)
    for epsilon, delta in claim.points:
        assert epsilon == sf.accounting.zcdp_epsilon("0.5", delta)


def test_a_pure_loss_claims_its_epsilon_alone():
    loss = sf.mechanisms.DiscreteLaplace(scale=2).loss(sf.Sensitivity(l1=3))
    assert Claim.of(loss) == Claim(((Fraction(3, 2), Fraction(0)),))


def test_an_approximate_loss_claims_its_own_delta():
    loss = Approximate(Fraction(1), Fraction(1, 1000)) + Pure(Fraction(1))
    assert Claim.of(loss).points == ((Fraction(2), Fraction(1, 1000)),)


def test_a_concentrated_loss_claims_no_mu():
    claim = Claim.of(Concentrated(Fraction(1, 2)))
    assert claim.mu is None
    assert all(delta > 0 for _, delta in claim.points)


def test_a_gaussian_loss_claims_mu_and_points():
    loss = sf.mechanisms.DiscreteGaussian(sigma=10).loss(sf.Sensitivity(l2=3))
    claim = Claim.of(loss)
    assert claim.mu == pytest.approx(0.3, rel=1e-3)
    assert claim.mu >= 0.3
    for epsilon, delta in claim.points:
        assert epsilon == sf.accounting.epsilon(loss, delta)


def test_mu_of_gaussians_together_is_the_root_of_the_sum_of_squares():
    one = sf.mechanisms.DiscreteGaussian(sigma=10).loss(sf.Sensitivity(l2=3))
    two = sf.mechanisms.DiscreteGaussian(sigma=10).loss(sf.Sensitivity(l2=4))
    assert Claim.of(one + two).mu == pytest.approx(0.5, rel=1e-3)
    assert Claim.of(one * 4).mu == pytest.approx(0.6, rel=1e-3)
    assert Claim.of(one + Pure(Fraction(1))).mu is None


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.5, 1.0, 3.3, 5.0, 19.9, 20.1, 60.0])
def test_unit_mu_is_the_largest_over_all_thresholds(sigma):
    reach = int(38 * sigma) + 4
    log_weight = -(np.arange(reach) ** 2) / (2 * sigma * sigma)
    log_tail = np.logaddexp.accumulate(log_weight[::-1])[::-1]  # of the integers from k up
    log_total = np.logaddexp(0.0, np.log(2) + log_tail[1])
    z = ndtri_exp(log_tail[1:] - log_total)  # of P(X >= 1), P(X >= 2), ...
    steps = np.append(-2 * z[0], -np.diff(z))
    seen = steps[: max(3, int(9 * sigma))]  # beyond, the sum above was cut off
    assert unit_mu(sigma) == pytest.approx(seen.max(), rel=1e-9)


def test_unit_mu_tends_to_that_of_the_continuous_law():
    assert unit_mu(1e6) * 1e6 == pytest.approx(1, rel=1e-8)
    assert unit_mu(5) * 5 == pytest.approx(1 + 1 / (24 * 25), rel=1e-4)


@pytest.mark.parametrize("wrong", [None, True, object(), "much", inf, [1]])
def test_what_claims_nothing_is_refused(wrong):
    with pytest.raises(sf.errors.InputError, match="claim"):
        Claim.of(wrong)


def test_a_negative_claim_is_refused():
    with pytest.raises(sf.errors.RangeError):
        Claim.of(-1)


def test_a_claim_reads_as_it_is_said():
    assert str(Claim.of(1)) == "ε = 1"
    loss = sf.mechanisms.DiscreteGaussian(sigma=10).loss(sf.Sensitivity(l0=1, l2=1))
    assert str(Claim.of(loss)).startswith(f"μ = {Claim.of(loss).mu:.4g} and ε = ")
    assert Claim.of(Claim.of(2)) == Claim.of(2)
