"""Noise scaled to a published bound of the local sensitivity."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import errors
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity


@pytest.mark.parametrize(("steps", "change", "ahead"), [(1, 1, 0), (2, 1, 1), (3, 1, 1), (4, 3, 5)])
def test_the_loss_leaves_room_for_a_bound_that_grows_on_the_way(steps, change, ahead):
    loss = M.BoundedLocal(100, 2, 20, 4, change).loss(S(l1=steps))
    assert loss.epsilon == steps * (Fraction(change, 2) + Fraction(1, 4))
    p = exp(-1 / 2)
    assert float(loss.delta) == pytest.approx(p ** (20 - ahead + 1) / (1 + p))


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("change", [1, 2])
def test_the_margin_is_the_least_that_fits(steps, change):
    s = S(l1=steps, neighbors="replace")
    made = M.BoundedLocal.calibrate(s, most=1000, change=change, epsilon=1, delta="1e-6")
    loss = made.loss(s)
    assert loss.epsilon == 1
    assert loss.delta <= Fraction(1, 10**6)
    assert loss.neighbors == "replace"
    less = M.BoundedLocal(1000, made.scale, made.margin - 1, made.spread, change)
    assert less.loss(s).delta > Fraction(1, 10**6)


def test_the_bound_is_rarely_too_low_and_never_outside():
    made = M.BoundedLocal(50, 1, 3, 1)
    bounds = [made.sample(made.exact([0, 10]), SeededRng(i))[1] for i in range(2000)]
    low = np.mean(np.array(bounds) < 10)
    p = exp(-1)
    assert low == pytest.approx(p**4 / (1 + p), abs=0.015)  # 5 standard deviations
    for local in (0, 50):
        bounds = {made.sample(made.exact([0, local]), SeededRng(i))[1] for i in range(300)}
        assert bounds <= set(range(1, 51))


def test_noise_is_scaled_to_the_bound_that_was_drawn():
    made = M.BoundedLocal(10**6, "1/8", 0, 3)
    pair = made.exact([10**9, 10**5])
    drawn = np.array([made.sample(pair, SeededRng(i)) for i in range(2000)])
    assert set(drawn[:, 1].tolist()) <= set(range(10**5 - 5, 10**5 + 6))
    assert np.abs(drawn[:, 0] - 10**9).mean() == pytest.approx(3 * 10**5, rel=0.15)


def test_a_release_has_the_interval_of_its_bound():
    made = M.BoundedLocal.calibrate(S(l1=1), most=10**6, epsilon=1, delta="1e-6")
    measure = made.release([1000, 3], S(l1=1), name="n").measures[0]
    assert measure.scale < made.spread * 200 < made.spread * made.most
    width = measure.high[0] - measure.values[0]
    scale = float(measure.scale)
    assert width == pytest.approx(3 * scale, rel=0.1)  # ln(1/0.05) = 3
    assert made.error(S(l1=1)).halfwidth(Fraction(95, 100)) > 1000 * width


def test_a_local_sensitivity_beyond_its_range_is_cut():
    made = M.BoundedLocal(10, 1, 3, 1)
    assert made.exact([5, 99]).tolist() == [5, 10]
    assert made.exact([5, -1]).tolist() == [5, 0]
    assert made.view(np.array([3, 4])) == (3, 4)


def test_values_saturate():
    made = M.BoundedLocal(2**40, 1, 3, 2**19)
    top = made.exact([2**63 - 1, 2**40])
    assert max(made.sample(top, SeededRng(i))[0] for i in range(20)) == 2**63 - 1


@pytest.mark.parametrize(
    "bad",
    [
        {"most": 0},
        {"most": "5/2"},
        {"margin": -1},
        {"change": 0},
        {"scale": 0},
        {"spread": -1},
        {"most": 2**61, "spread": 4},
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(errors.RangeError):
        M.BoundedLocal(**{"most": 10, "scale": 1, "margin": 5, "spread": 1, **bad})


@pytest.mark.parametrize("values", [5, [1, 2, 3], [1.5, 2], "ab", [[1, 2]]], ids=repr)
def test_a_pair_of_whole_numbers_is_wanted(values):
    with pytest.raises(errors.DataError):
        M.BoundedLocal(10, 1, 5, 1)(values)


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 1}])
def test_a_delta_is_needed(cost):
    with pytest.raises(errors.CostError, match="too low by chance"):
        M.BoundedLocal.calibrate(S(l1=1), most=10, **cost)
    with pytest.raises(errors.CostError, match="too low by chance"):
        M.TriangleCount.calibrate(S(l1=1), nodes=10, **cost)


def test_a_unit_of_more_steps_than_the_margin_is_refused():
    with pytest.raises(errors.SensitivityError):
        M.BoundedLocal(10, 1, 5, 1).loss(S(l1=1000))
