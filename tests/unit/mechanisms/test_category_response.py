"""Reports of categories, and what is estimated from them."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.core.errors import CandidateError, DataError, RangeError, SensitivityError
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
HERS = S(l1=1, neighbors="replace")
NAMES = ("never", "sometimes", "often")


def test_reports_are_categories_in_the_form_they_came():
    survey = M.CategoryResponse(NAMES, 1)
    assert survey("often") in NAMES
    assert set(survey(["often"] * 200)) == set(NAMES)
    assert survey([]) == []
    assert set(survey(np.array(["often", "never"]))) <= set(NAMES)
    assert set(M.CategoryResponse([1, 2], "1e-3")(np.array([1] * 200))) == {1, 2}


def test_certain_coins_tell_the_truth():
    survey = M.CategoryResponse(NAMES, 2**20)
    assert survey(list(NAMES) * 5) == list(NAMES) * 5


def test_loss_counts_answers_however_far_apart_categories_are():
    survey = M.CategoryResponse(NAMES, "1/2")
    assert accounting.epsilon(survey.loss(S(l0=1, linf=2, neighbors="replace"))) == Fraction(1, 2)
    assert accounting.epsilon(survey.loss(S(l1=3, neighbors="replace"))) == Fraction(3, 2)
    with pytest.raises(SensitivityError, match="add_remove"):
        survey.loss(S(l1=1))


def test_calibration_fits_and_shares_among_answers():
    two = S(l0=2, linf=1, neighbors="replace")
    assert M.CategoryResponse.calibrate(two, categories=NAMES, epsilon=1).epsilon == Fraction(1, 2)
    by_rho = M.CategoryResponse.calibrate(HERS, categories=NAMES, rho="1/8")
    assert Fraction("0.49") < by_rho.epsilon <= Fraction(1, 2)
    assert accounting.rho(by_rho.loss(HERS)) <= Fraction(1, 8)


@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_shares_and_counts_are_unbiased_with_the_stated_spread(epsilon):
    survey = M.CategoryResponse(NAMES, epsilon)
    n, truth = 2000, np.array([0.6, 0.4, 0.0])
    exact = survey.exact(["never"] * 1200 + ["sometimes"] * 800)
    rng, estimates = SeededRng(7), []
    for _ in range(400):
        reports = survey.view(survey.sample(exact, rng))
        estimates.append(survey.estimate(reports).value)
    found = np.array(estimates)
    e = exp(float(Fraction(epsilon)))
    # the rare answer: n·Var = (k - 2 + e^ε)/(e^ε - 1)²
    std = ((3 - 2 + e) / (e - 1) ** 2 / n) ** 0.5
    assert found[:, 2].std() == pytest.approx(std, rel=0.2)
    assert (np.abs(found.mean(axis=0) - truth) < 6 * found.std(axis=0) / 20).all()
    assert np.allclose(found.sum(axis=1), 1)


def test_intervals_cover_as_often_as_they_say():
    survey = M.CategoryResponse(NAMES, 1)
    exact = survey.exact(["never"] * 250 + ["sometimes"] * 150)
    rng, misses, repeats = SeededRng(8), np.zeros(3), 600
    for _ in range(repeats):
        count = survey.counts(survey.view(survey.sample(exact, rng)))
        truth = np.array([250, 150, 0])
        misses += (truth < count.low) | (truth > count.high)
    assert (misses <= 30 + 5 * 30**0.5).all()


def test_counts_are_shares_times_the_reports():
    survey = M.CategoryResponse(NAMES, 1)
    reports = ["never"] * 30 + ["often"] * 10
    share, count = survey.estimate(reports), survey.counts(reports)
    for end in ("low", "value", "high"):
        assert np.allclose(40 * getattr(share, end), getattr(count, end))
    assert share.covers == "sampling and noise" and count.covers == "noise only"
    # 30 of 40, by hand
    e = exp(1)
    assert share.value[0] == pytest.approx((0.75 - 1 / (e + 2)) / ((e - 1) / (e + 2)))


def test_huge_epsilon_does_not_overflow():
    share = M.CategoryResponse(NAMES, 10_000).estimate(["never"] * 3 + ["often"])
    assert np.allclose(share.value, [0.75, 0.0, 0.25])


def test_release_names_the_categories():
    survey = M.CategoryResponse(NAMES, 3)
    release = survey.release(["never"] * 90 + ["often"] * 10, HERS)
    assert release.keys == (("category", NAMES),)
    assert sum(release.measures[0].values) == pytest.approx(1, abs=1e-5)
    named = survey.release(["never"], HERS, name="part", keys={"habit": ["n", "s", "o"]})
    assert named.columns == ("habit", "part", "part_low", "part_high")
    with pytest.raises(sf.errors.InputError):
        survey.release(["never"], HERS, keys={"habit": ["n"]})


@pytest.mark.parametrize("categories", [[], ["a"], ["a", "a"], "ab", [["a"], ["b"]], 3, {"a", "b"}])
def test_categories_that_are_no_list_of_answers_are_refused(categories):
    with pytest.raises(CandidateError):
        M.CategoryResponse(categories, 1)


def test_coins_that_never_lie_are_refused():
    with pytest.raises(RangeError, match=r"2\^20"):
        M.CategoryResponse(NAMES, 2**20 + 1)


@pytest.mark.parametrize(
    "answers", [["maybe"], [None], "maybe", [["never"]], [["never"], ["often"]]]
)
def test_answers_that_are_no_category_are_refused_without_being_quoted(answers):
    with pytest.raises(DataError) as refused:
        M.CategoryResponse(NAMES, 1)(answers)
    assert "maybe" not in str(refused.value)


def test_no_reports_are_refused():
    with pytest.raises(DataError, match="no reports"):
        M.CategoryResponse(NAMES, 1).estimate([])


def test_a_report_is_true_or_not():
    error = M.CategoryResponse(NAMES, 5).error(HERS)
    assert error.halfwidth(Fraction(95, 100)) == 0
    assert error.halfwidth(Fraction(999, 1000)) == 1
    assert error.std == pytest.approx((2 / (exp(5) + 2)) ** 0.5)
