"""The best figures for a fixed plan: never below the laws, never above any method."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.accounting import (
    advanced_epsilon,
    calibrate,
    charge,
    compare,
    curve,
    delta,
    epsilon,
    gaussian_reference_sigma,
    mu,
    price,
    renyi,
    renyi_epsilon,
    tradeoff,
)
from sfumato.core.errors import CostError, LossError, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Concentrated,
    GaussianShift,
    GaussianTradeoff,
    LaplaceShift,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
    Renyi,
    Worst,
)

sys.path.insert(0, str(Path(__file__).parent))

from law_pairs import gaussian, hockey_stick, laplace, response, sampled, together

sys.path.pop(0)

MICRO = Fraction(1, 10**6)
LAWS = {
    "response": (Pure(1), response(1.0)),
    "two responses": (Pure(1) + Pure("0.3"), together(response(1.0), response(0.3))),
    "laplace": (LaplaceShift(2, 3, 3), laplace(2.0, 3, 40)),
    "laplace twice": (LaplaceShift(2, 1, 1) * 2, together(*[laplace(2.0, 1, 30)] * 2)),
    "gaussian": (GaussianShift(2, 1, scalar=True), gaussian(2.0, 1)),
    "gaussian twice": (GaussianShift(2, 1) * 2, together(*[gaussian(2.0, 1)] * 2)),
    "mixed": (Pure(1) + GaussianShift(2, 1), together(response(1.0), gaussian(2.0, 1))),
    "sampled": (PoissonSampled(Pure(2), "0.3") * 2, together(*[sampled(response(2.0), 0.3)] * 2)),
}


@pytest.mark.parametrize("case", LAWS)
def test_figures_are_never_below_the_laws(case):
    loss, pair = LAWS[case]
    for point in (0.0, 0.4, 1.2):
        assert hockey_stick(pair, point) <= float(delta(loss, point)) * (1 + 1e-9) + 1e-15
    for failure in ("0.05", "1e-3", "1e-6"):
        cost = float(epsilon(loss, failure))
        assert hockey_stick(pair, cost) <= float(Fraction(failure)) * (1 + 1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        Pure("0.1") * 100,
        Pure("0.2") * 10 + LaplaceShift(3, 5, 2) * 4,
        GaussianShift(5, 3) * 7 + BoundedRange("0.1") * 9,
        Approximate("0.1", "1e-9") * 50,
        GaussianTradeoff("0.2") * 9,
        Worst.of([Pure(1), Concentrated("0.4"), LaplaceShift(1, 2, 1)], touched=1),
    ],
)
def test_the_best_is_never_above_a_method(loss):
    found = epsilon(loss, MICRO)
    assert found <= curve.epsilon(loss, MICRO)
    assert found <= renyi_epsilon(loss, MICRO)
    for cost in (0, "0.5", 2):
        assert delta(loss, cost) <= curve.delta(loss, cost)
    assert delta(loss, found) <= MICRO * (1 + Fraction(1, 10**8))


def test_without_a_delta_the_sum_is_all_there_is():
    assert epsilon(Pure("0.1") * 100) == 10
    assert epsilon(LaplaceShift(2, 3, 1)) == Fraction(3, 2)
    assert epsilon(Pure(0) * 3, MICRO) == 0


def test_advanced_composition_is_never_the_best():
    for loss in (Pure("0.1") * 100, Pure("0.01") * 1000, Pure(1) * 30, Pure(1)):
        assert epsilon(loss, MICRO) < advanced_epsilon(loss, MICRO)


def test_parts_of_which_one_counts_take_their_own_best():
    worst = Worst.of([Pure("0.1") * 100, GaussianTradeoff(1)], touched=1)
    parts = [epsilon(Pure("0.1") * 100, MICRO), epsilon(GaussianTradeoff(1), MICRO)]
    assert epsilon(worst, MICRO) == max(parts)
    assert delta(worst, 4) == max(delta(Pure("0.1") * 100, 4), delta(GaussianTradeoff(1), 4))


def test_a_renyi_curve_has_an_epsilon_here_alone():
    loss = Renyi(((2, "0.1"), (16, "0.9")))
    assert epsilon(loss, MICRO) == renyi_epsilon(loss, MICRO)
    assert delta(loss, 3) < 1
    with pytest.raises(LossError, match="Pass delta="):
        epsilon(loss)


def test_refusals_are_those_of_the_quick_curve():
    with pytest.raises(LossError, match="Pass delta="):
        epsilon(GaussianShift(1, 1))
    with pytest.raises(LossError, match="Pass a delta of"):
        epsilon(Approximate(1, "1e-3"), MICRO)
    for ask in (epsilon, delta, compare):
        with pytest.raises(LossError, match="can account for"):
            ask(Loss(), MICRO)


def test_what_a_ledger_charges_does_not_follow():
    loss = Pure("0.1") * 100
    assert epsilon(loss, MICRO) < curve.epsilon(loss, MICRO)
    assert charge(loss, MICRO).epsilon == -(-curve.epsilon(loss, MICRO) * 10**18 // 1)
    gaussian_sum = GaussianTradeoff("0.1") * 100
    assert price(gaussian_sum).epsilon == curve.epsilon(gaussian_sum, MICRO)
    assert price(gaussian_sum).epsilon > epsilon(gaussian_sum, MICRO)


def test_a_comparison_is_a_table():
    table = compare(Pure("0.1") * 100, MICRO)
    names = [name for name, _ in table.rows]
    assert names[:5] == ["added up", "advanced", "concentrated", "Rényi", "optimal"]
    assert table["added up"] == 10
    costs = [table[name] for name in names[:5]]
    assert costs == sorted(costs, reverse=True)
    lines = repr(table).splitlines()
    assert lines[0].startswith("at δ = 1e-06")
    assert lines[5] == "optimal".ljust(len(max(names, key=len))) + "  4.77457"
    assert "Gaussian" not in dict(table.rows)
    assert "Gaussian" in dict(compare(GaussianTradeoff(1) * 2, MICRO).rows)
    assert "added up" not in dict(compare(Concentrated(1), MICRO).rows)
    with pytest.raises(LossError, match="Pass delta="):
        compare(Concentrated(1), 0)


RANGE = {"low": "0.01", "high": 1000}


def laplace_of(scale):
    return LaplaceShift(scale, 1, 1)


def test_noise_for_a_renyi_divergence():
    scale = calibrate(laplace_of, renyi=(8, "0.5"), **RANGE)
    assert renyi(laplace_of(scale), 8) <= Fraction(1, 2) < renyi(laplace_of(scale * (1 - MICRO)), 8)


def test_noise_for_gaussian_dp():
    assert calibrate(lambda s: GaussianTradeoff(1 / s), mu="0.5", **RANGE) == 2
    scale = calibrate(laplace_of, mu=1, **RANGE)
    assert mu(laplace_of(scale)) <= 1 < mu(laplace_of(scale * (1 - MICRO)))


def test_noise_for_a_risk():
    scale = calibrate(laplace_of, advantage="0.1", **RANGE)
    assert tradeoff(laplace_of(scale), tight=False).advantage <= Fraction(1, 10)
    assert float(scale) == pytest.approx(1 / 0.20067, rel=1e-3)  # tanh(ε/2) = 0.1
    scale = calibrate(laplace_of, tpr=("0.001", "0.01"), **RANGE)
    assert float(scale) == pytest.approx(1 / 2.302585, rel=1e-3)  # e^ε·0.001 = 0.01


def test_noise_for_a_plan_that_is_fixed():
    sigma = calibrate(
        lambda s: GaussianTradeoff(1 / s), epsilon=1, delta=MICRO, tight=True, **RANGE
    )
    assert float(sigma) == pytest.approx(gaussian_reference_sigma(1, MICRO), rel=2e-6)
    quick = calibrate(lambda t: LaplaceTradeoff(1 / t) * 100, epsilon=1, delta=MICRO, **RANGE)
    tight = calibrate(lambda t: Pure(1 / t) * 100, epsilon=1, delta=MICRO, tight=True, **RANGE)
    assert tight < quick
    assert epsilon(Pure(1 / tight) * 100, MICRO) <= 1


@pytest.mark.parametrize(
    "target",
    [
        {"mu": 1, "rho": 1},
        {"mu": 1, "delta": MICRO},
        {"rho": 1, "tight": True},
        {"tight": True},
        {"renyi": 3},
        {"tpr": ("0.1",)},
    ],
)
def test_targets_are_of_one_family(target):
    with pytest.raises(CostError, match=r"one family|is a pair"):
        calibrate(laplace_of, **target, **RANGE)


@pytest.mark.parametrize("target", [{"advantage": 1}, {"tpr": (0, "0.5")}, {"mu": 0}])
def test_targets_are_in_range(target):
    with pytest.raises(RangeError):
        calibrate(laplace_of, **target, **RANGE)
