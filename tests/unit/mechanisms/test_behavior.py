"""What the mechanisms return, and what their constants are."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.mechanisms import saturation
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
REPLACE = S(l1=1, neighbors="replace")


@pytest.mark.parametrize("mechanism", [M.DiscreteLaplace(3), M.DiscreteGaussian(3)], ids=repr)
def test_integer_noise_keeps_shape_and_type(mechanism):
    assert isinstance(mechanism(5), int)
    assert mechanism([1, 2, 3]).shape == (3,)
    assert mechanism(np.zeros((4, 5), np.int32)).shape == (4, 5)
    assert mechanism([]).shape == (0,)
    assert mechanism(np.array([7], np.uint8)).dtype == np.int64


def test_geometric_is_the_discrete_laplace():
    assert M.Geometric is M.DiscreteLaplace


def test_sums_saturate_instead_of_wrapping():
    top, bottom = 2**63 - 1, -(2**63)
    exact = np.array([top, top, bottom, bottom, 5], np.int64)
    noise = np.array([1, -1, -1, 1, 7], np.int64)
    assert saturation.add(exact, noise).tolist() == [top, top - 1, bottom, bottom + 1, 12]
    wide = np.array([2**70, -(2**70), -1, 2**70, -7], object)
    assert saturation.add(exact, wide).tolist() == [top, bottom, bottom, top, -2]
    assert saturation.add(np.array(top), np.array([3])).item() == top


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "7"])
def test_laplace_calibrates_in_closed_form(epsilon):
    sensitivity = S(l0=3, linf=2)
    laplace = M.DiscreteLaplace.calibrate(sensitivity, epsilon=epsilon)
    assert laplace.scale == 6 / Fraction(epsilon)
    assert accounting.epsilon(laplace.loss(sensitivity)) == Fraction(epsilon)


@pytest.mark.parametrize("rho", ["0.001", "0.5", "3"])
@pytest.mark.parametrize(
    "calibrate",
    [
        M.DiscreteLaplace.calibrate,
        M.DiscreteGaussian.calibrate,
        lambda s, **cost: M.GridLaplace.calibrate(s, step="1/8", **cost),
        lambda s, **cost: M.Exponential.calibrate(s, candidates=["a", "b"], **cost),
        lambda s, **cost: M.Quantile.calibrate(s, low=0, high=9, step=1, **cost),
        M.RandomizedResponse.calibrate,
    ],
)
def test_calibration_to_rho_fits_and_is_not_wasteful(calibrate, rho):
    sensitivity = S(l0=1, l1=1, neighbors="replace")
    found = accounting.rho(calibrate(sensitivity, rho=rho).loss(sensitivity))
    # Randomized response and grids leave a little; nothing leaves half.
    assert Fraction(rho) / 2 < found <= Fraction(rho)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("4", "1e-5"), ("0.001", "1e-6")]
)
def test_scalar_gaussians_are_calibrated_by_their_own_law(epsilon, delta):
    count, cells = S(l0=1, linf=2), S(l2=2)
    scalar = M.DiscreteGaussian.calibrate(count, epsilon=epsilon, delta=delta)
    vector = M.DiscreteGaussian.calibrate(cells, epsilon=epsilon, delta=delta)
    assert accounting.epsilon(scalar.loss(count), delta) <= Fraction(epsilon)
    assert accounting.epsilon(vector.loss(cells), delta) <= Fraction(epsilon)
    reference = accounting.gaussian_reference_sigma(epsilon, delta)
    assert 2 * reference * 0.95 < scalar.sigma < vector.sigma


def test_whole_numbers_that_move_by_one_in_all_are_one_cell():
    one = M.DiscreteGaussian.calibrate(S(l0=1, linf=1), epsilon=1, delta="1e-6")
    for known in (S(l1=1), S(l2=1), S(l2_squared="1.9")):
        assert M.DiscreteGaussian.calibrate(known, epsilon=1, delta="1e-6") == one


def test_monotone_scores_cost_half_under_add_remove_only():
    plain, monotone = (M.Exponential(["a", "b"], rate=1, monotone=flag) for flag in (False, True))
    for relation, factor in (("add_remove", 2), ("replace", 1)):
        s = S(linf=1, neighbors=relation)
        assert plain.loss(s).epsilon == factor * monotone.loss(s).epsilon


@pytest.mark.parametrize(
    ("q", "relation", "per_row"),
    [
        ("0.5", "add_remove", Fraction(1, 2)),
        ("0.9", "add_remove", Fraction(9, 10)),
        ("0.2", "add_remove", Fraction(4, 5)),
        ("0.5", "replace", 1),
        ("0.9", "replace", 1),
    ],
)
def test_rank_sensitivity_is_tight(q, relation, per_row):
    quantile = M.Quantile(q=q, low=0, high=10, step=1, rate=3)
    rows = S(l1=4, neighbors=relation)
    assert quantile.loss(rows).epsilon == 2 * 3 * 4 * per_row


def test_floored_scores_are_charged_whole_steps():
    choice = M.Exponential(["a", "b"], rate=1, step="1/2")
    assert choice.loss(S(linf="3/4")).epsilon == 2
    assert choice.loss(S(linf="1/2")).epsilon == 1


def test_choice_returns_the_candidate_as_given():
    candidates = [("x", 1), ("y", 2), None]
    choice = M.Exponential(candidates, rate=5)
    assert choice([0, 100, 0]) == ("y", 2)
    assert choice.release([0, 100, 0], S(linf=1), name="best")["best"].value == "('y', 2)"
    never = M.Exponential(["a", "b"], rate=1, prior=[1, 0])
    assert {never([0, 10**6]) for _ in range(50)} == {"a"}


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8, np.float32, np.float64])
def test_lists_of_numpy_numbers_are_numbers(kind):
    assert M.Exponential(["a", "b"], rate=1)([kind(0), kind(100)]) == "b"
    assert M.Quantile(q="0.5", low=0, high=9, step=1, rate=9)([kind(3)] * 50) == 3
    assert isinstance(M.GridLaplace(1, 1)([kind(3)])[0], float)


def test_quantile_of_nothing_is_uniform_and_no_error():
    quantile = M.Quantile(q="0.5", low=0, high=3, step=1, rate=1)
    assert {quantile([]) for _ in range(300)} == {0, 1, 2, 3}


def test_quantile_clamps_to_its_bounds():
    quantile = M.Quantile(q="0.5", low=-1, high=1, step="0.5", rate=50)
    assert quantile([float("inf")] * 99) == 1
    assert quantile([-1e308] * 99) == -1
    assert quantile([0.6] * 99) == 0.5
    assert quantile(np.array([2**62] * 99)) == 1
    assert (
        M.Quantile(q="0.5", low=2**61, high=2**61 + 10, step=1, rate=50)([2**61 + 3] * 99)
        == 2**61 + 3
    )


def test_quantile_finds_the_right_rank():
    data = list(range(1000))
    for q in ("0.1", "0.5", "0.99"):
        found = M.Quantile(q=q, low=0, high=999, step=1, rate=20)(data)
        assert abs(found - 1000 * float(q)) <= 3


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_randomized_response_estimates_the_share(share):
    coin, n = M.RandomizedResponse(1), 40_000
    truth = np.arange(n) < share * n
    estimate = coin.estimate(coin.sample(truth, SeededRng(3)))
    assert estimate.low <= share <= estimate.high
    assert estimate.high - estimate.low == pytest.approx(4 * 0.5 / 0.4621 / np.sqrt(n), rel=0.15)


def test_estimate_covers_at_its_confidence():
    coin, rng, inside = M.RandomizedResponse("0.5"), SeededRng(9), 0
    for _ in range(2000):
        sample = (rng.words(200) >> np.uint64(11)) * 2.0**-53 < 0.2
        estimate = coin.estimate(coin.sample(sample, rng))
        inside += estimate.low <= 0.2 <= estimate.high
    assert 0.935 < inside / 2000 < 0.965


def test_reports_differ_from_the_truth_as_often_as_claimed():
    coin = M.RandomizedResponse("0.5")
    turned = (~coin.sample(np.ones(10**6, bool), SeededRng(1))).mean()
    assert turned == pytest.approx(1 / (1 + np.exp(0.5)), abs=0.003)


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("scale", ["1/4", "1", "10", "1000"])
def test_laplace_interval_is_the_exact_quantile(scale, confidence):
    t, level = Fraction(scale), Fraction(confidence)
    width = int(M.DiscreteLaplace(t).error(S(l1=1)).halfwidth(level))
    p = np.exp(-1 / float(t))

    def beyond(h):
        return 2 * p ** (h + 1) / (1 + p)

    assert beyond(width) <= float(1 - level) * (1 + 1e-12)
    assert width == 0 or beyond(width - 1) > float(1 - level)


@pytest.mark.parametrize("sigma", ["1/4", "1", "5/2", "40"])
def test_gaussian_interval_covers_and_is_at_most_a_unit_wide(sigma):
    s = float(Fraction(sigma))
    support = np.arange(-int(12 * s) - 5, int(12 * s) + 6)
    weights = np.exp(-(support**2) / (2 * s * s))
    weights /= weights.sum()
    for level in ("0.5", "0.9", "0.95", "0.999"):
        width = int(M.DiscreteGaussian(Fraction(sigma)).error(S(l2=1)).halfwidth(Fraction(level)))
        beyond = weights[np.abs(support) > width].sum()
        assert beyond <= 1 - float(level) + 1e-12
        assert width <= 1 or weights[np.abs(support) > width - 2].sum() > 1 - float(level)


@pytest.mark.parametrize("scale", ["1/4", "3", "100", "1e9"])
def test_standard_deviations_are_those_of_the_draws(scale):
    for mechanism in (M.DiscreteLaplace(Fraction(scale)), M.DiscreteGaussian(Fraction(scale))):
        drawn = mechanism.sample(np.zeros(200_000, np.int64), SeededRng(2))
        rare = 0.3 if scale == "1/4" else 0.03  # few of these draws are not zero
        assert mechanism.error(S(l1=1)).std == pytest.approx(float(drawn.std()), rel=rare)


def test_release_carries_value_interval_and_cost():
    laplace = M.DiscreteLaplace(2)
    answer = laplace.release([10, 20], S(l1=1), name="n", keys={"zone": ["A", "B"]})
    assert answer["n"].value.shape == (2,)
    assert (
        answer["n"].high - answer["n"].low == 2 * laplace.error(S(l1=1)).halfwidth(Fraction("0.95"))
    ).all()
    assert answer.cost == laplace.loss(S(l1=1))
    assert answer.measures[0].scale == 2


def test_grid_answers_are_multiples_of_the_step():
    grid = M.GridLaplace(scale="0.5", step="0.001")
    answer = grid.release([0.1, 1 / 3], S(l0=1, l1="0.01"), name="x")
    assert all((v / Fraction(1, 1000)).denominator == 1 for v in answer.measures[0].values)
    assert isinstance(grid(0.5), float)


def test_randomized_response_releases_the_share():
    coin, answers = M.RandomizedResponse(2), S(l1=1, neighbors="replace")
    release = coin.release([True] * 300 + [False] * 700, answers)
    assert release["share"].low <= release["share"].value <= release["share"].high
    assert release.price.epsilon == 2 and len(release) == 1


def test_releases_carry_their_price():
    count = S(l0=1, linf=1)
    assert M.DiscreteLaplace(2).release(5, count).price.epsilon == Fraction(1, 2)
    gaussian = M.DiscreteGaussian(4)
    price = gaussian.release(5, count).price
    assert (price.epsilon, price.delta) == (
        accounting.epsilon(gaussian.loss(count), "1e-6"),
        Fraction(1, 10**6),
    )
    assert price.rho == Fraction(1, 32)
    assert "ε = 0.5 with no exception" in str(M.DiscreteLaplace(2).release(5, count).card())


def test_the_narrowest_interval_of_all_is_an_interval():
    for mechanism in (M.DiscreteGaussian(3), M.DiscreteLaplace(3)):
        assert mechanism.error(S(l1=1)).halfwidth(1 - Fraction(1, 10**17)) > 20


def test_repr_is_what_one_would_type():
    assert repr(M.DiscreteLaplace("5/2")) == "DiscreteLaplace(scale=2.5)"
    assert repr(M.RandomizedResponse(1)) == "RandomizedResponse(epsilon=1)"
    assert len(repr(M.Exponential(list(range(1000)), rate=1))) < 150
