"""Clamped noise: what comes out, what it costs, how it is biased."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.core.errors import DataError, RangeError
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
ONE = S(l0=1, linf=1)


def test_answers_keep_shape_and_range():
    clamped = M.TruncatedGeometric(scale=50, low=-3, high=9)
    drawn = clamped(np.arange(-500, 500).reshape(10, 100))
    assert drawn.shape == (10, 100) and drawn.dtype == np.int64
    assert drawn.min() == -3 and drawn.max() == 9
    assert isinstance(clamped(5), int)
    assert clamped([]).shape == (0,)


def test_values_beyond_the_range_count_as_its_ends():
    clamped = M.TruncatedGeometric(1, 0, 10)
    assert clamped.exact([-5, 3, 2**63 - 1]).tolist() == [0, 3, 10]
    far, near = (clamped.sample(clamped.exact(x), SeededRng(1)) for x in (-(2**63), 0))
    assert far == near


def test_loss_is_that_of_the_noise_and_stops_at_the_width():
    clamped = M.TruncatedGeometric(2, 0, 10)
    assert clamped.loss(S(l1=3)) == M.DiscreteLaplace(2).loss(S(l1=3))
    assert accounting.epsilon(clamped.loss(S(l0=1, l1=1000))) == 5
    assert accounting.epsilon(clamped.loss(S(l0=3, linf=1000))) == 15
    assert accounting.epsilon(clamped.loss(S(l1=1000))) == 500  # any number of cells may move
    wide = S(l0=1, l1=1000, neighbors="replace")
    assert clamped.loss(wide).neighbors == "replace"
    assert clamped.reach(wide)["l1"] == 10


@pytest.mark.parametrize(
    "cost", [{"epsilon": "1/2"}, {"rho": "1/3"}, {"epsilon": 1, "delta": "1e-6"}]
)
def test_calibration_fits_its_target(cost):
    clamped = M.TruncatedGeometric.calibrate(S(l1=3), low=0, high=100, **cost)
    loss = clamped.loss(S(l1=3))
    if "rho" in cost:
        assert accounting.rho(loss) <= Fraction("1/3")
    else:
        assert accounting.epsilon(loss) <= Fraction(cost["epsilon"])
    assert clamped.scale < 10


def test_calibration_uses_the_width():
    clamped = M.TruncatedGeometric.calibrate(S(l0=1, linf=1000), low=0, high=4, epsilon=2)
    assert clamped.scale == 2


def test_intervals_stay_in_the_range_and_never_exceed_it():
    clamped = M.TruncatedGeometric(scale=3, low=0, high=20)
    release = clamped.release([0, 10, 20], ONE, keys={"zone": ["A", "B", "C"]})
    measure = release.measures[0]
    assert min(measure.low) >= 0 and max(measure.high) <= 20
    assert "count as these" in release.notes[0]
    assert clamped.error(ONE).halfwidth(Fraction(95, 100)) == 9
    assert M.TruncatedGeometric(1000, 0, 20).error(ONE).halfwidth(Fraction(95, 100)) == 20
    assert clamped.error(ONE).std is None


@pytest.mark.parametrize("value", [0, 1, 4, 9, 10])
def test_bias_is_what_the_page_says(value):
    scale, low, high = 2.0, 0, 10
    a = exp(-1 / scale)
    clamped = M.TruncatedGeometric(2, low, high)
    exact = np.full(200_000, value)
    drawn = clamped.sample(exact, SeededRng(value))
    bias = (a ** (value - low + 1) - a ** (high - value + 1)) / (1 - a * a)
    spread = float(drawn.std()) / exact.size**0.5
    assert abs(drawn.mean() - value - bias) < 6 * spread


@pytest.mark.parametrize(
    ("low", "high"), [(3, 3), (5, 1), (0.5, 3), (0, 2**62 + 1), (True, 4), (None, 4)]
)
def test_ranges_that_mean_nothing_are_refused(low, high):
    with pytest.raises(RangeError):
        M.TruncatedGeometric(1, low, high)


def test_values_that_are_not_whole_are_refused():
    with pytest.raises(DataError):
        M.TruncatedGeometric(1, 0, 5)([0.5])
