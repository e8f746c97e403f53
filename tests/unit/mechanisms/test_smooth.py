"""Smooth sensitivity: what it is, how it changes, and what noise scaled to it costs."""

from fractions import Fraction
from math import ceil, exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import accounting
from sfumato.core import errors
from sfumato.core.interval import Interval
from sfumato.mechanisms.smooth_noise import SmoothNoise
from sfumato.mechanisms.smooth_sensitivity import (
    SmoothSensitivity,
    flanked,
    median_rank,
    smooth_sensitivity,
)
from sfumato.testing import RecordedRng, SeededRng

M, S = sf.mechanisms, sf.Sensitivity
GRID = {"low": 0, "high": 20, "step": 1}
betas = st.sampled_from([Fraction(1, 1000), Fraction(1, 30), Fraction(1, 3), Fraction(3)])
bags = st.lists(st.integers(0, 20), max_size=12)


def number(found):
    return float(found.enclose(30).high)


def smooth(bag, beta, last=20):
    return smooth_sensitivity(flanked(np.array(bag, np.int64), last), beta)


def median(bag, last=20):
    return int(flanked(np.array(bag, np.int64), last)[median_rank(len(bag))])


def brute(bag, beta, last):
    ordered = [0, *sorted(bag), last]
    middle = ceil(len(bag) / 2)
    return max(
        (ordered[j] - ordered[i]) * exp(-beta * (j - i - 1))
        for i in range(middle + 1)
        for j in range(max(middle, i + 1), len(ordered))
    )


@given(
    st.sampled_from([1, 2, 20, 10**6, 2**61]).flatmap(
        lambda last: st.tuples(st.just(last), st.lists(st.integers(0, last), max_size=40))
    ),
    betas,
)
def test_divide_and_conquer_finds_the_largest(data, beta):
    last, bag = data
    found = smooth(bag, beta, last)
    assert number(found) == pytest.approx(brute(bag, float(beta), last), rel=1e-12)


def test_it_is_the_local_sensitivity_at_every_distance():
    # [NRS07]: the largest jump of the median once k rows were replaced, for every k.
    bag, beta = [2, 3, 9, 10, 10, 17, 20], Fraction(1, 4)
    ordered = [0] * 9 + sorted(bag) + [20] * 9
    middle = 8 + 4
    local = [
        max(ordered[middle + t] - ordered[middle + t - k - 1] for t in range(k + 2))
        for k in range(8)
    ]
    wanted = max(a * exp(-float(beta) * k) for k, a in enumerate(local))
    assert number(smooth(bag, beta)) == pytest.approx(wanted)


@given(bags, st.lists(st.integers(0, 20), min_size=1, max_size=3), betas, st.booleans())
def test_it_changes_slowly_and_bounds_the_median(bag, rows, beta, replace):
    other = [*bag[len(rows) :], *rows] if replace else [*bag, *rows]
    many = len(rows)
    if replace and len(bag) < many:
        return
    here, there = number(smooth(bag, beta)), number(smooth(other, beta))
    factor, slack = exp(float(beta)) ** many, 1 + 1e-9
    assert here <= there * factor * slack
    assert there <= here * factor * slack
    moved = abs(median(bag) - median(other))
    assert moved <= min(here, there) * exp(float(beta) * (many - 1)) * slack


def test_close_calls_are_decided_by_enclosures():
    first, last = 10**17 + 1, 3 * 10**17
    ratio = Interval.of(Fraction(last, first), 60).log()
    hair = Fraction(1, 10**30)
    for beta, width in ((Fraction(ratio.low) - hair, last), (Fraction(ratio.high) + hair, first)):
        # A row at the low end and one at `first`: the next value is `first` away, the one after
        # that `last`, and exp(beta) is within 10^-30 of their ratio.
        found = smooth([0, first], beta, last)
        assert found.width == width
    a, b = (SmoothSensitivity(w, d, Fraction(ratio.low)) for w, d in ((first, 0), (last, 1)))
    assert b.exceeds(a)
    assert not a.exceeds(b)
    assert not a.exceeds(a)


def test_it_is_never_zero():
    for bag in ([0] * 9, [20] * 9, [], [0, 20]):
        assert number(smooth(bag, Fraction(1, 2))) > 0
    assert smooth([20] * 1000, Fraction(1)).distance == 499


@pytest.mark.parametrize("rows", range(8))
def test_one_row_more_moves_the_rank_by_at_most_one(rows):
    assert median_rank(rows + 1) - median_rank(rows) in (0, 1)
    assert median_rank(rows) == ceil(rows / 2)


# -- noise ----------------------------------------------------------------------------------------


def noise(family, width=7, rate="1/3"):
    return SmoothNoise(family, SmoothSensitivity(width, 3, Fraction(1, 5)), Fraction(rate))


@pytest.mark.parametrize("halves", [-(10**9) - 1, -101, -1, 1, 3, 51, 10**12 + 1])
def test_enclosures_hold_the_distribution(halves):
    from scipy.stats import laplace, t

    z = halves / 2 / (7 * exp(-0.6)) / 3
    for family, law in (("laplace", laplace(scale=1)), ("student", t(3, scale=1 / sqrt(3)))):
        low, high = noise(family).below(halves, 64)
        assert 0 <= low <= high <= 2**64
        assert high - low <= 2
        assert low / 2**64 == pytest.approx(law.cdf(z), rel=1e-11, abs=1e-15)
        again = noise(family).below(halves, 192)
        assert low << 128 <= again[0] <= again[1] <= high << 128


@pytest.mark.parametrize("family", ["laplace", "student"])
def test_a_uniform_number_on_the_edge_gets_more_bits(family):
    law = noise(family)
    edge, _ = law.below(1, 64)  # between 0 and 1, from a center at 0
    low, high = law.below(1, 128)
    below, above = low - (edge << 64) - 1, high - (edge << 64) + 1
    for word, expected in ((below, 0), (above, 1)):
        rng = RecordedRng([edge, word])
        assert law.draw(0, 10, rng) == expected
        assert rng.left == 0


@pytest.mark.parametrize("family", ["laplace", "student"])
@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1])
def test_extreme_words_are_answered_within_the_range(family, word):
    for last in (1, 20, 2**61):
        for center in (0, last // 2, last):
            rng = RecordedRng([word, *[0x9E3779B97F4A7C15] * 9])
            assert 0 <= noise(family).draw(center, last, rng) <= last


def test_wide_and_narrow_scales_are_drawn_from():
    for width, rate in ((2**61, 50), (1, 1000)):
        for family in ("laplace", "student"):
            law = noise(family, width, rate)
            drawn = [law.draw(2**60, 2**61, SeededRng(i)) for i in range(20)]
            assert len(set(drawn)) == (20 if width > 1 else 1)
    tiny = SmoothNoise("student", SmoothSensitivity(1, 10**6, Fraction(100)), Fraction(1))
    assert tiny.draw(5, 10, SeededRng(1)) == 5


# -- losses ---------------------------------------------------------------------------------------


def ratio(density, shift, dilation):
    """Return the largest log ratio of two densities, one shifted and dilated."""
    z = np.concatenate([np.linspace(-50, 50, 20_001), np.geomspace(50, 1e9, 500)])
    z = np.concatenate([z, -z])
    p, q = density(z), density((z - shift) / exp(dilation)) - dilation
    return float(np.max(np.abs(p - q)))


def student_density(z):
    return -2 * np.log1p(z * z)


@given(st.floats(0.001, 2), st.floats(0.001, 3))
@settings(deadline=None, max_examples=40)
def test_student_noise_costs_no_more_than_claimed(beta, rate):
    mechanism = M.SmoothMedian(**GRID, beta=beta, rate=rate)
    claimed = float(mechanism.loss(S(l1=1)).epsilon)
    assert claimed == pytest.approx(beta + 2 * sqrt(beta**2 + rate**2))
    for dilation in np.linspace(-beta, beta, 5):
        # |shift| is at most the smaller sensitivity; densities are in units of the first scale.
        assert ratio(student_density, rate * min(1, exp(dilation)), dilation) <= claimed + 1e-9


def test_the_cost_of_student_noise_is_tight_for_small_steps():
    claimed = float(M.SmoothMedian(**GRID, beta="0.001", rate="0.002").loss(S(l1=1)).epsilon)
    assert ratio(student_density, 0.002, -0.001) > 0.995 * claimed
    assert claimed < 4 * 0.001 + 2 * 0.002  # [BS19]


def hockey_stick(epsilon, shift, dilation):
    """Return δ(ε) between Laplace laws, one shifted and dilated, by summing a fine grid."""
    z, step = np.linspace(-80, 80, 400_001, retstep=True)
    p = np.exp(-np.abs(z)) / 2
    q = np.exp(-np.abs(z - shift) / exp(dilation)) / 2 / exp(dilation)
    return float(np.maximum(p - exp(epsilon) * q, 0).sum() * step)


@pytest.mark.parametrize(
    ("beta", "rate", "delta"),
    [("0.05", "0.5", "1e-6"), ("0.2", "0.3", "1e-3"), ("0.5", "2", "1e-4"), ("1", "0.1", "1e-2")],
)
def test_laplace_noise_costs_no_more_than_claimed(beta, rate, delta):
    mechanism = M.SmoothMedian(**GRID, beta=beta, rate=rate, noise="laplace", delta=delta)
    loss, found = mechanism.loss(S(l1=1)), []
    for dilation in np.linspace(-float(beta), float(beta), 7):
        shift = float(rate) * min(1, exp(dilation))
        found.append(hockey_stick(float(loss.epsilon), shift, dilation))
    assert max(found) <= float(delta) * (1 + 1e-6) + 1e-15
    assert max(found) > float(delta) / 3


def test_laplace_noise_improves_on_the_published_constants():
    epsilon, delta = 1, Fraction(1, 10**6)
    published = epsilon / (2 * log(2 / float(delta)))
    ours = M.SmoothMedian.calibrate(S(l1=1), **GRID, noise="laplace", epsilon=1, delta=delta)
    assert ours.rate == Fraction(1, 2)
    assert float(ours.beta) > 1.4 * published
    theirs = M.SmoothMedian(**GRID, beta=published, rate="1/2", noise="laplace", delta=delta)
    assert theirs.loss(S(l1=1)).epsilon < 1


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2, 30])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "20"])
def test_calibrated_mechanisms_fit_and_leave_little(epsilon, rows, relation):
    s = S(l1=rows, neighbors=relation)
    student = M.SmoothMedian.calibrate(s, **GRID, epsilon=epsilon)
    laplace = M.SmoothMedian.calibrate(s, **GRID, noise="laplace", epsilon=epsilon, delta="1e-6")
    for mechanism, delta in ((student, 0), (laplace, "1e-6")):
        spent = accounting.epsilon(mechanism.loss(s), delta)
        assert Fraction(epsilon) * Fraction("0.999999") < spent <= Fraction(epsilon)
        assert mechanism.loss(s).neighbors == relation


def test_calibration_to_rho_fits():
    found = M.SmoothMedian.calibrate(S(l1=2), **GRID, rho="0.1").loss(S(l1=2))
    assert Fraction("0.05") < accounting.rho(found) <= Fraction("0.1")


def test_rows_of_a_unit_cost_no_more_than_one_after_the_other():
    mechanism = M.SmoothMedian(**GRID, beta=2, rate=1)
    one, many = (mechanism.loss(S(l1=rows)).epsilon for rows in (1, 40))
    assert one < many <= 40 * one * Fraction(1 + 1e-12)
    slow = M.SmoothMedian(**GRID, beta="0.001", rate=1)
    assert slow.loss(S(l1=40)).epsilon < slow.loss(S(l1=1)).epsilon * 2


# -- the mechanism --------------------------------------------------------------------------------


def test_nothing_that_depends_on_the_data_is_published():
    mechanism = M.SmoothMedian.calibrate(S(l1=1), low=0, high=10, step="1/2", epsilon=5)
    answer = mechanism.release([3.1] * 99, S(l1=1), name="x")
    measure = answer.measures[0]
    assert measure.covers == "nothing"
    assert measure.scale is measure.low is measure.high is measure.margin is None
    assert (measure.values[0] * 2).denominator == 1
    assert mechanism.error(S(l1=1)).halfwidth(Fraction(1, 2)) == 10
    assert isinstance(mechanism([3]), float)
    assert isinstance(M.SmoothMedian(**GRID, beta=1, rate=1)([3]), int)


def test_noise_follows_the_data():
    mechanism = M.SmoothMedian.calibrate(S(l1=1), low=0, high=10**6, step=1, epsilon=1)
    close, apart = np.arange(500_000, 500_400), np.arange(0, 10**6, 2500)
    spread = [
        np.median([abs(mechanism.sample(bag, SeededRng(i)) - 500_200) for i in range(60)])
        for bag in (mechanism.exact(close), mechanism.exact(apart))
    ]
    assert spread[0] < 50
    assert spread[1] > 500


def test_bounds_and_missing_values_are_those_of_quantiles():
    mechanism = M.SmoothMedian(**GRID, beta=1, rate=1)
    assert mechanism.exact([-inf, inf, 3.4]).tolist() == [0, 20, 3]
    with pytest.raises(errors.DataError):
        mechanism([float("nan")])


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"beta": 0, "rate": 1}, errors.RangeError),
        ({"beta": 2**11, "rate": 1}, errors.RangeError),
        ({"beta": 1, "rate": Fraction(1, 2**41)}, errors.RangeError),
        ({"beta": 1, "rate": 1, "noise": "laplace"}, errors.CostError),
        ({"beta": 1, "rate": 1, "delta": "1e-6"}, errors.CostError),
        ({"beta": 1, "rate": 1, "noise": "cauchy"}, errors.CandidateError),
        ({"beta": 1, "rate": 1, "noise": "laplace", "delta": 1}, errors.RangeError),
    ],
)
def test_parameters_without_a_guarantee_are_refused(more, error):
    with pytest.raises(error):
        M.SmoothMedian(**GRID, **more)


def test_calibration_refuses_what_has_no_guarantee():
    for cost in ({"epsilon": 1}, {"rho": 1}):
        with pytest.raises(errors.CostError, match="student"):
            M.SmoothMedian.calibrate(S(l1=1), **GRID, noise="laplace", **cost)
    with pytest.raises(errors.CandidateError):
        M.SmoothMedian.calibrate(S(l1=1), **GRID, noise="gauss", epsilon=1)
    laplace = M.SmoothMedian(**GRID, beta=10, rate=1, noise="laplace", delta="1e-6")
    with pytest.raises(errors.SensitivityError, match="Cap the rows"):
        laplace.loss(S(l1=1000))
