"""Counts of a secret sample: the amplified loss, and what is estimated of all rows."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato import accounting
from sfumato.core.errors import CostError, DataError, InputError, RangeError, SensitivityError
from sfumato.core.loss import PoissonSampled
from sfumato.mechanisms.sampled import _rows
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
ONE = S(l0=1, linf=1)
TENTH = Fraction(1, 10)


def test_a_number_is_the_scale_of_laplace_noise():
    assert M.Sampled(2, "1/10") == M.Sampled(M.DiscreteLaplace(2), "1/10")


def test_one_row_is_charged_for_a_sample():
    mechanism = M.Sampled(M.DiscreteLaplace(1), TENTH)
    loss = mechanism.loss(ONE)
    assert loss == PoissonSampled(M.DiscreteLaplace(1).loss(ONE), TENTH)
    assert float(accounting.epsilon(loss)) == pytest.approx(log(1 + 0.1 * (exp(1) - 1)), rel=1e-9)
    assert mechanism.loss(S(l1=1)).rate == TENTH  # one whole number moves: one cell, one row


@pytest.mark.parametrize(
    "s",
    [S(l0=1, linf=2), S(l0=2, linf=1), S(l1=2), S(l1=1, neighbors="replace"), S(l0=1, linf=0)],
    ids=repr,
)
def test_other_units_are_charged_for_all_rows(s):
    inner = M.DiscreteLaplace(1)
    assert M.Sampled(inner, TENTH).loss(s) == inner.loss(s)


def test_draws_are_noisy_counts_of_a_sample():
    mechanism = M.Sampled(M.DiscreteGaussian(5), "1/4")
    counts = np.full(20_000, 1000)
    drawn = mechanism.sample(mechanism.exact(counts), SeededRng(1))
    variance = 1000 * 3 / 16 + 25
    assert abs(drawn.mean() - 250) < 6 * (variance / drawn.size) ** 0.5
    assert drawn.var() == pytest.approx(variance, rel=0.06)
    assert counts[0] == 1000


@pytest.mark.parametrize("inner", [M.DiscreteLaplace(3), M.DiscreteGaussian(4)], ids=repr)
@pytest.mark.parametrize("rows", [0, 7, 400])
def test_estimates_are_unbiased_and_their_intervals_cover(inner, rows):
    mechanism = M.Sampled(inner, "1/5")
    noisy = mechanism.sample(np.full(2000, rows), SeededRng(rows))
    found = mechanism.estimate(noisy, confidence="0.9")
    assert abs(found.value.mean() - rows) < 6 * found.value.std() / 2000**0.5
    misses = int(((found.low > rows) | (found.high < rows)).sum())
    assert misses <= 200 + 5 * 200**0.5
    assert found.covers == "sampling and noise"


def test_a_single_count_gives_a_single_estimate():
    found = M.Sampled(1, "1/10").estimate(50)
    assert (found.value, type(found.low)) == (500.0, float)
    assert found.low < 400 and found.high > 600


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("kept", [0, 1, 17, 1000])
def test_ends_are_the_last_numbers_of_rows_that_would_not_surprise(kept, rate):
    seen = np.array([kept])
    least = float(_rows(seen, rate, 0.01, upper=False)[0])
    most = float(_rows(seen, rate, 0.01, upper=True)[0])
    assert stats.binom.sf(kept - 1, least, rate) > 0.01
    assert least == kept or stats.binom.sf(kept - 1, least - 1, rate) <= 0.01
    assert stats.binom.cdf(kept, most, rate) > 0.01 >= stats.binom.cdf(kept, most + 1, rate)


def test_calibration_takes_less_noise_for_a_sample():
    made = M.Sampled.calibrate(ONE, rate=TENTH, epsilon=1)
    assert float(made.inner.scale) == pytest.approx(1 / log(1 + (exp(1) - 1) / 0.1), rel=1e-3)
    assert accounting.epsilon(made.loss(ONE)) <= 1
    made = M.Sampled.calibrate(ONE, rate=TENTH, epsilon=1, delta="1e-6", noise="gaussian")
    assert isinstance(made.inner, M.DiscreteGaussian)
    assert accounting.epsilon(made.loss(ONE), "1e-6") <= 1
    by_rho = M.Sampled.calibrate(ONE, rate=TENTH, rho="1/8")
    assert accounting.rho(by_rho.loss(ONE)) <= Fraction(1, 8)


@pytest.mark.parametrize("s", [S(l0=1, linf=2), S(l1=1, neighbors="replace")], ids=repr)
def test_calibration_refuses_where_sampling_buys_nothing(s):
    with pytest.raises(SensitivityError, match="one row in one cell"):
        M.Sampled.calibrate(s, rate=TENTH, epsilon=1)


def test_calibration_says_what_it_needs():
    with pytest.raises(CostError, match="delta="):
        M.Sampled.calibrate(ONE, rate=TENTH, epsilon=1, noise="gaussian")
    with pytest.raises(InputError, match="noise="):
        M.Sampled.calibrate(ONE, rate=TENTH, epsilon=1, noise="cauchy")


def test_release_says_that_it_counts_a_sample():
    release = M.Sampled(1, TENTH).release([1000, 0], ONE, keys={"zone": ["A", "B"]})
    assert release.columns == ("zone", "sample", "sample_low", "sample_high")
    assert release.measures[0].covers == "noise only, of the sample"
    assert "secret random sample" in release.notes[0] and "0.1" in release.notes[0]
    assert isinstance(release.cost, PoissonSampled)


@pytest.mark.parametrize("rate", [0, 1, 2, -1])
def test_rates_that_sample_nothing_or_everything_are_refused(rate):
    with pytest.raises(RangeError):
        M.Sampled(1, rate)


def test_mechanisms_that_do_not_count_are_refused():
    with pytest.raises(InputError, match="Quantile"):
        M.Sampled(M.Quantile("0.5", 0, 1, 1, 1), TENTH)


def test_negative_counts_are_refused():
    with pytest.raises(DataError, match="negative"):
        M.Sampled(1, TENTH)([3, -1])


def test_estimates_of_absurd_counts_are_refused():
    with pytest.raises(DataError, match=r"2\^53"):
        M.Sampled(1, TENTH).estimate(2**62)
