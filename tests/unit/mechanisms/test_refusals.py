"""Bad parameters and bad data are refused, typed and before any noise is drawn."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import errors
from sfumato.noise import rng as rng_module

M, S = sf.mechanisms, sf.Sensitivity
NAN, INF = float("nan"), float("inf")
GRID = {"low": 0, "high": 100, "step": 1}
BAD_NUMBERS = [0, -1, NAN, INF, -INF, None, "x", "", True, "1e9999", [], Fraction(-1, 3)]


@pytest.fixture(autouse=True)
def no_entropy(monkeypatch):
    """Fail if anything is drawn: a refusal must come first."""

    def drawn(*_):
        raise AssertionError("noise was drawn before the refusal")

    monkeypatch.setattr(rng_module.SystemRng, "words", drawn)


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda x: M.DiscreteLaplace(scale=x),
        lambda x: M.DiscreteGaussian(sigma=x),
        lambda x: M.GridLaplace(scale=x, step=1),
        lambda x: M.GridLaplace(scale=1, step=x),
        lambda x: M.Exponential(["a"], rate=x),
        lambda x: M.Exponential(["a"], rate=1, step=x),
        lambda x: M.Quantile(q="0.5", rate=x, **GRID),
        lambda x: M.Quantile(q=x, rate=1, **GRID),
        lambda x: M.RandomizedResponse(epsilon=x),
        lambda x: M.DiscreteLaplace.calibrate(S(l1=1), epsilon=x),
        lambda x: M.DiscreteLaplace.calibrate(S(l1=1), rho=x),
        lambda x: M.DiscreteGaussian.calibrate(S(l0=1, linf=1), epsilon=x, delta="1e-6"),
        lambda x: M.DiscreteGaussian.calibrate(S(l0=1, linf=1), rho=x),
        lambda x: M.GridLaplace.calibrate(S(l0=1, l1=1), step=x, epsilon=1),
        lambda x: M.Exponential.calibrate(S(linf=1), candidates=["a"], epsilon=x),
        lambda x: M.Quantile.calibrate(S(l1=1), epsilon=x, **GRID),
        lambda x: M.RandomizedResponse.calibrate(S(l1=1, neighbors="replace"), epsilon=x),
    ],
)
def test_bad_numbers_are_refused_at_construction(make, bad):
    with pytest.raises(errors.SfumatoError) as refusal:
        make(bad)
    assert refusal.value.code in str(refusal.value)


@pytest.mark.parametrize("bad", [1, 2, -1, NAN, INF, "x"], ids=repr)
def test_bad_delta_is_refused(bad):
    with pytest.raises(errors.InputError):
        M.DiscreteGaussian.calibrate(S(l0=1, linf=1), epsilon=1, delta=bad)


@pytest.mark.parametrize("scale", [2**61, Fraction(1, 2**21), 10**400])
def test_scales_that_cannot_be_drawn_are_refused(scale):
    for make in (M.DiscreteLaplace, M.DiscreteGaussian, lambda s: M.GridLaplace(s, 1)):
        with pytest.raises(errors.RangeError, match="2\\^-20 to 2\\^60"):
            make(scale)


@pytest.mark.parametrize(
    "calibrate",
    [
        lambda s: M.DiscreteLaplace.calibrate(s, epsilon=1),
        lambda s: M.DiscreteGaussian.calibrate(s, rho=1),
        lambda s: M.GridLaplace.calibrate(s, step=1, epsilon=1),
        lambda s: M.Exponential.calibrate(s, candidates=["a"], epsilon=1),
        lambda s: M.Quantile.calibrate(s, epsilon=1, **GRID),
        lambda s: M.RandomizedResponse.calibrate(s, epsilon=1),
        lambda s: M.CategoryResponse.calibrate(s, categories=["a", "b"], epsilon=1),
        lambda s: M.NoisyMax.calibrate(s, candidates=["a"], epsilon=1),
        lambda s: M.PartitionSelection.calibrate(s, epsilon=1, delta="1e-6"),
        lambda s: M.PermuteAndFlip.calibrate(s, candidates=["a"], epsilon=1),
        lambda s: M.Quantiles.calibrate(s, targets=["1/2"], epsilon=1, **GRID),
        lambda s: M.Sampled.calibrate(s, rate="1/2", epsilon=1),
        lambda s: M.SparseHistogram.calibrate(s, domain=9, threshold=3, epsilon=1),
        lambda s: M.SparseVector.calibrate(s, threshold=3, epsilon=1),
        lambda s: M.StabilityHistogram.calibrate(s, epsilon=1, delta="1e-6"),
        lambda s: M.TopK.calibrate(s, candidates=["a", "b"], k=1, epsilon=1),
        lambda s: M.TruncatedGeometric.calibrate(s, low=0, high=9, epsilon=1),
    ],
)
def test_zero_sensitivity_is_not_calibrated(calibrate):
    with pytest.raises(errors.SensitivityError, match="no unit can move this answer"):
        calibrate(S(l0=0, linf=0, neighbors="replace"))


def test_sensitivity_beyond_the_integers_is_refused():
    with pytest.raises(errors.SensitivityError, match="2\\^62"):
        S(l1=2**63)


@pytest.mark.parametrize(
    "costs", [{}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": "1e-6"}], ids=repr
)
def test_costs_of_no_or_two_families_are_refused(costs):
    with pytest.raises(errors.CostError):
        M.DiscreteLaplace.calibrate(S(l1=1), **costs)


def test_gaussian_noise_asks_for_delta():
    with pytest.raises(errors.CostError, match="delta="):
        M.DiscreteGaussian.calibrate(S(l0=1, linf=1), epsilon=1)


@pytest.mark.parametrize(
    ("mechanism", "sensitivity", "norm"),
    [
        (M.GridLaplace(1, 1), S(l1=1), "l0"),
        (M.DiscreteLaplace(1), S(l2=1), "l1"),
        (M.Quantile("0.5", 0, 1, 1, 1), S(linf=1), "l1"),
    ],
    ids=repr,
)
def test_a_missing_norm_is_named(mechanism, sensitivity, norm):
    with pytest.raises(errors.SensitivityError, match=f"needs the {norm} sensitivity"):
        mechanism.loss(sensitivity)


def test_randomized_response_has_no_guarantee_under_add_remove():
    coin = M.RandomizedResponse(1)
    for use in (coin.loss, lambda s: M.RandomizedResponse.calibrate(s, epsilon=1)):
        with pytest.raises(errors.SensitivityError, match="neighbors='replace'"):
            use(S(l1=1))


@pytest.mark.parametrize(
    "values",
    [
        NAN,
        [1.5],
        3.0,
        "a",
        [True],
        None,
        [2**63],
        [1, None],
        {},
        1j,
        np.uint64(2**63),
        [[1], [2, 3]],
    ],
    ids=repr,
)
@pytest.mark.parametrize("mechanism", [M.DiscreteLaplace(2), M.DiscreteGaussian(2)], ids=repr)
def test_integer_noise_takes_whole_numbers_only(mechanism, values):
    with pytest.raises(errors.DataError) as refusal:
        mechanism(values)
    assert "2.5" not in str(refusal.value) and "9223372036854775808" not in str(refusal.value)


@pytest.mark.parametrize(
    "values", [NAN, [1.0, NAN], None, "x", ["1"], [True], Decimal("NaN"), {}], ids=repr
)
def test_grid_noise_takes_numbers_only(values):
    with pytest.raises(errors.DataError):
        M.GridLaplace(1, "1e-10")(values)


def test_refusals_keep_no_value_in_their_context():
    for use in (
        lambda: M.GridLaplace(1, 1)(["secret-ssn"]),
        lambda: M.Exponential(["a"], rate=1)(["secret-ssn"]),
        lambda: M.DiscreteLaplace(1)(["secret-ssn"]),
        lambda: M.Quantile(q="0.5", rate=1, **GRID)(["secret-ssn"]),
    ):
        with pytest.raises(errors.SfumatoError) as refusal:
            use()
        told = [refusal.value, refusal.value.__context__, refusal.value.__cause__]
        assert not any("secret" in str(error) for error in told)


@pytest.mark.parametrize(
    "make",
    [
        lambda: M.Exponential(["a"], rate=2**61),
        lambda: M.Exponential(["a"], rate=2**40, step=2**30),
        lambda: M.Quantile(q="0.5", rate=2**61, **GRID),
        lambda: M.Quantile(q="0.5", rate=1, low=-(2**62), high=2**62, step=1),
    ],
)
def test_what_could_not_be_drawn_is_refused_at_construction(make):
    with pytest.raises(errors.RangeError):
        make()


@pytest.mark.parametrize(
    "bad",
    [
        {"confidence": 2},
        {"keys": {"k": ["a"]}},
        {"name": ""},
        {"unit": sf.Unit.row()},
        {"unit": "person"},
    ],
    ids=repr,
)
def test_a_release_is_checked_before_it_is_drawn(bad):
    answers = S(l1=1, neighbors="replace")
    for mechanism, values in (
        (M.DiscreteLaplace(1), [1, 2]),
        (M.DiscreteGaussian(1), [1, 2]),
        (M.RandomizedResponse(1), [True, False]),
    ):
        with pytest.raises(errors.SfumatoError):
            mechanism.release(values, answers, **bad)


@pytest.mark.parametrize("candidates", [[], (), "abc", None, {"a"}, 5], ids=repr)
def test_candidates_must_be_a_list(candidates):
    with pytest.raises(errors.CandidateError):
        M.Exponential(candidates, rate=1)


@pytest.mark.parametrize(
    "prior", [[1], [0, 0], [1, 2, 3], [2**62, 1], ["1/3", Fraction(1, 2**63)]], ids=repr
)
def test_prior_weights_must_fit_the_candidates(prior):
    with pytest.raises(errors.CandidateError):
        M.Exponential(["a", "b"], rate=1, prior=prior)


@pytest.mark.parametrize(
    "scores",
    [[NAN, 1], [INF, 1], [1], [1, 2, 3], [None, 1], ["x", "y"], 5, [[1, 2]]],
    ids=repr,
)
def test_scores_must_be_finite_numbers(scores):
    with pytest.raises(errors.ScoreError):
        M.Exponential(["a", "b"], rate=1)(scores)


@pytest.mark.parametrize("values", [[NAN], [1.0, NAN], [None], ["x"], "x"], ids=repr)
def test_quantiles_refuse_missing_values(values):
    with pytest.raises(errors.DataError, match="missing"):
        M.Quantile(q="0.5", rate=1, **GRID)(values)


@pytest.mark.parametrize("values", [[2], [0.5], [None], "yes", [NAN]], ids=repr)
def test_randomized_response_takes_yes_or_no(values):
    with pytest.raises(errors.DataError):
        M.RandomizedResponse(1)(values)


def test_a_refused_release_draws_nothing():
    laplace = M.DiscreteLaplace(1)
    for call in (
        lambda: laplace.release([0.5], S(l1=1)),
        lambda: laplace.release(5, S(l2=1)),
    ):
        with pytest.raises(errors.SfumatoError):
            call()


def test_labels_of_ones_own_are_refused_where_names_have_an_order():
    pandas = pytest.importorskip("pandas")
    counts = pandas.Series({"kale": 9000, "apple": 5})
    pick = M.TopK(("apple", "kale"), 1, rate=1)
    for labeled in (counts, counts.to_dict()):
        with pytest.raises(errors.DataError, match="order of the public names"):
            pick(labeled)
    names = {"item": ["apple", "kale"]}
    with pytest.raises(errors.DataError, match="order of the public names"):
        M.DiscreteLaplace(1).release(counts, sf.Sensitivity(l1=1), keys=names)
    for ordered in ([counts[name] for name in ("apple", "kale")], pandas.Series([5, 9000])):
        assert pick.exact(ordered).tolist() == [5, 9000]
