"""Propose-test-release: the distance, the threshold, and what no answer looks like."""

from fractions import Fraction
from math import ceil, exp, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import errors
from sfumato.mechanisms.propose import distance, tail
from sfumato.mechanisms.smooth_sensitivity import flanked, median_rank
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
GRID = {"low": 0, "high": 20, "step": 1}
bags = st.lists(st.integers(0, 20), max_size=12)
bounds = st.integers(1, 19)


def far(bag, bound):
    return distance(flanked(np.array(bag, np.int64), 20), bound)


def median(bag):
    return int(flanked(np.array(bag, np.int64), 20)[median_rank(len(bag))])


@given(bags, bounds)
def test_distance_is_the_least_of_all_windows(bag, bound):
    ordered, middle = [0, *sorted(bag), 20], ceil(len(bag) / 2)
    windows = [
        j - i - 1
        for i in range(middle + 1)
        for j in range(middle, len(ordered))
        if ordered[j] - ordered[i] > bound
    ]
    assert far(bag, bound) == min(windows)


@given(bags, st.lists(st.integers(0, 20), min_size=1, max_size=3), bounds, st.booleans())
def test_a_row_moves_the_distance_by_one_and_a_far_median_little(bag, rows, bound, replace):
    many = len(rows)
    if replace and len(bag) < many:
        return
    other = [*bag[many:], *rows] if replace else [*bag, *rows]
    assert abs(far(bag, bound) - far(other, bound)) <= many
    if max(far(bag, bound), far(other, bound)) >= many:
        assert abs(median(bag) - median(other)) <= bound


def test_distance_counts_rows_until_the_median_can_jump():
    # Nine rows at 10: five of them have to go up before the next one finds the end of the grid.
    assert far([10] * 9, 2) == 4
    assert far([0] * 5 + [20] * 4, 2) == 0
    assert far([], 2) == 0


@pytest.mark.parametrize("scale", ["1/2", "1", "5"])
@pytest.mark.parametrize("threshold", [-3, -1, 0, 1, 10])
def test_tail_is_that_of_the_discrete_law(scale, threshold):
    p = exp(-1 / float(Fraction(scale)))
    weight = (1 - p) / (1 + p)
    wanted = sum(weight * p ** abs(x) for x in range(threshold + 1, 600))
    assert float(tail(Fraction(scale), threshold)) == pytest.approx(wanted, rel=1e-12)


def test_a_test_that_everybody_passes_protects_nobody():
    with pytest.raises(errors.SensitivityError, match="Cap the rows"):
        M.ProposeTestRelease(**GRID, bound=2, test=1, threshold=3, scale=1).loss(S(l1=100))
    deep = M.ProposeTestRelease(**GRID, bound=2, test="1/1000", threshold=10**6, scale=1)
    assert 0 < deep.loss(S(l1=1)).delta < Fraction(1, 10**3000)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("8", "1e-4")])
def test_the_threshold_is_the_least_that_fits(epsilon, delta, rows, relation):
    s = S(l1=rows, neighbors=relation)
    made = M.ProposeTestRelease.calibrate(s, **GRID, bound=3, epsilon=epsilon, delta=delta)
    loss = made.loss(s)
    assert loss.epsilon == Fraction(epsilon)
    assert loss.delta <= Fraction(delta)
    assert loss.neighbors == relation
    lower = M.ProposeTestRelease(
        **GRID, bound=3, test=made.test, threshold=made.threshold - 1, scale=made.scale
    )
    assert lower.loss(s).delta > Fraction(delta)


def test_the_discrete_threshold_is_below_that_of_slides():
    made = M.ProposeTestRelease.calibrate(S(l1=1), **GRID, bound=3, epsilon=2, delta="1e-6")
    assert made.threshold == 13  # ln(1/(2δ)) = 13.1 for the continuous law, ln(1/δ) = 13.8 in print
    assert made.scale == 3


def test_share_moves_budget_between_test_and_answer():
    made = M.ProposeTestRelease.calibrate(
        S(l1=1), **GRID, bound=2, share="1/4", epsilon=1, delta="1e-6"
    )
    assert (made.test, made.scale) == (4, Fraction(8, 3))


def test_an_answer_needs_a_crowd_and_has_little_noise():
    made = M.ProposeTestRelease.calibrate(
        S(l1=1), low=0, high=1000, step=1, bound=1, epsilon=1, delta="1e-6"
    )
    crowd = made.exact([500] * 400)
    drawn = [made.sample(crowd, SeededRng(i)) for i in range(100)]
    assert None not in drawn
    assert np.mean(np.abs(np.array(drawn) - 500)) < 5
    few = made.exact([500] * 12)
    assert {made.sample(few, SeededRng(i)) for i in range(100)} == {None}


def test_no_answer_is_a_release_too():
    made = M.ProposeTestRelease.calibrate(
        S(l1=1), low=0, high=10, step="1/2", bound=1, epsilon=1, delta="1e-6"
    )
    assert made([]) is None
    nothing = made.release([], S(l1=1), name="x").measures[0]
    assert nothing.values == ("no answer",)
    assert nothing.low is None
    something = made.release([3.1] * 2000, S(l1=1), name="x").measures[0]
    assert something.covers == "noise only, given an answer"
    assert something.high[0] - something.low[0] == 2 * made.error(S(l1=1)).halfwidth(
        Fraction(95, 100)
    )
    assert something.scale == made.scale
    assert 0 <= something.values[0] <= 10
    assert made([3.1] * 2000) == pytest.approx(3, abs=4)


def test_answers_are_clamped_to_the_grid():
    made = M.ProposeTestRelease(0, 4, 1, bound=1, test=1, threshold=0, scale=1000)
    crowd = made.exact([2] * 400)
    assert {made.sample(crowd, SeededRng(i)) for i in range(40)} <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "bad",
    [
        {"bound": 20},
        {"bound": "1/2"},
        {"bound": 0},
        {"threshold": -1},
        {"threshold": "1/2"},
        {"threshold": inf},
        {"test": 0},
        {"scale": -1},
        {"low": 5, "high": 5},
    ],
    ids=repr,
)
def test_parameters_without_a_guarantee_are_refused(bad):
    good = {**GRID, "bound": 2, "test": 1, "threshold": 3, "scale": 1}
    with pytest.raises(errors.SfumatoError):
        M.ProposeTestRelease(**{**good, **bad})


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 1}])
def test_a_delta_is_needed(cost):
    with pytest.raises(errors.CostError, match="by chance"):
        M.ProposeTestRelease.calibrate(S(l1=1), **GRID, bound=2, **cost)
