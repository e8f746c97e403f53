"""From accuracy to ε and back: noise of the integers that are drawn, priced as it is charged."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting import (
    Target,
    cheapest_study,
    choose,
    epsilon,
    feasible_studies,
    participation,
    reachable,
    rho,
)
from sfumato.accounting.target import largest
from sfumato.core.errors import CostError, InputError, NeighborsError, RangeError, SensitivityError
from sfumato.mechanisms import DiscreteGaussian, DiscreteLaplace
from sfumato.release.error import Noise
from sfumato.release.law import weights

TEN = sf.Sensitivity(l0=10, linf=1)
widths = st.integers(0, 60)
failures = st.fractions(min_value=Fraction(1, 10**4), max_value=Fraction(1, 2))


def beyond(family, scale, width):
    """Return P(|noise| > width), summed in floats."""
    mass = weights(Noise(family, scale), 4000)
    middle = len(mass) // 2
    return 1 - mass[middle - width : middle + width + 1].sum()


@given(st.sampled_from(["laplace", "gaussian"]), widths, failures)
@settings(deadline=None, max_examples=60)
def test_noise_is_the_most_that_keeps_the_promise(family, width, failure):
    scale = largest(family, width, failure)
    assert beyond(family, scale, width) <= float(failure) + 1e-9
    assert beyond(family, scale * Fraction("1.00002"), width) > float(failure) - 1e-9


def test_promise_is_kept_by_the_mechanisms_own_interval():
    (part,) = choose([Target("n", within=50)]).parts
    assert DiscreteLaplace(part.scale).error(TEN).halfwidth(Fraction("0.95")) <= 50
    (part,) = choose([Target("n", within=50, mechanism="gaussian")], delta="1e-6").parts
    # the mechanism's interval may be one step wider than the exact one
    assert DiscreteGaussian(part.scale).error(TEN).halfwidth(Fraction("0.95")) <= 51


@pytest.mark.parametrize("within", ["50", "50.9"])
def test_only_whole_steps_of_a_half_width_count(within):
    assert choose([within]).parts[0].scale == Fraction("16.8597")


def test_losses_are_those_of_the_mechanisms():
    seven = sf.Sensitivity(l0=3, linf=7, neighbors="replace")
    wishes = [Target("a", 50, seven), Target("b", 50, seven, mechanism="gaussian")]
    a, b = choose(wishes, delta="1e-6").parts
    assert a.loss in (DiscreteLaplace(a.scale).loss(seven), DiscreteGaussian(a.scale).loss(seven))
    assert b.loss == DiscreteGaussian(b.scale).loss(seven)
    (count,) = choose([Target("n", 50, sensitivity=5)]).parts
    assert count.loss == DiscreteLaplace(count.scale).loss(sf.Sensitivity(l0=1, linf=5))
    (part,) = choose([Target("n", 50, 5, mechanism="gaussian")], delta="1e-6").parts
    assert part.loss == DiscreteGaussian(part.scale).loss(sf.Sensitivity(l0=1, linf=5))


def test_without_delta_epsilon_adds_up_over_laplace_noise():
    choice = choose([Target("a", 50), Target("b", 200, sensitivity=5, times=3)])
    a, b = choice.parts
    assert {a.mechanism, b.mechanism} == {"laplace"}
    assert choice.epsilon == 1 / a.scale + 3 * 5 / b.scale
    assert choice.epsilon == a.epsilon + 3 * b.epsilon
    assert choice.delta == 0
    assert choice.budget == sf.Budget(choice.epsilon)
    assert choice.loss == a.loss + 3 * b.loss


def test_with_delta_the_cheapest_way_is_taken():
    wishes = [Target("daily", 50, times=365), Target("table", 20, TEN, cells=100)]
    choice = choose(wishes, delta="1e-6")
    assert [part.mechanism for part in choice.parts] == ["gaussian", "gaussian"]
    assert choice.epsilon == epsilon(choice.loss, "1e-6")
    assert choice.epsilon < choose(wishes).epsilon / 2
    for _, parts in choice.ways:
        whole = sf.accounting.compose([p.loss * p.target.times for p in parts])
        assert choice.epsilon <= epsilon(whole, "1e-6")


def test_one_count_is_cheapest_by_laplace_noise_though_delta_is_there():
    choice = choose([50], delta="1e-6")
    assert choice.parts[0].mechanism == "laplace"
    assert choice.epsilon <= choose([50]).epsilon


def test_least_rho_is_that_of_each_part():
    wishes = [Target("a", 5), Target("b", 500, TEN)]
    choice = choose(wishes, delta=None)
    assert choice.epsilon is None
    assert choice.budget == sf.Budget(rho=choice.rho)
    assert choice.rho == sum(rho(part.loss) for part in choice.parts)
    for _, parts in choice.ways:
        assert choice.rho <= sum(rho(part.loss) for part in parts)


def test_cells_share_the_failure():
    (alone,) = choose([Target("t", 50, confidence="0.9999")]).parts
    (many,) = choose([Target("t", 50, cells=500)]).parts
    assert alone.scale == many.scale


def test_confidence_of_a_target_counts_before_the_common_one():
    a, b = choose([Target("a", 50), Target("b", 50, confidence="0.95")], confidence="0.99").parts
    assert a.scale < b.scale


def test_what_if_and_table_and_programs():
    choice = choose([Target("people", 50), Target("visits", 200, 5)], delta="1e-6")
    (first, pairs), *_ = choice.what_if(["1e-5", "1e-9"])
    assert first == "Laplace noise"
    assert [d for d, _ in pairs] == [Fraction("1e-5"), Fraction("1e-9")]
    assert [e for _, e in pairs] == sorted(e for _, e in pairs)
    table = str(choice)
    assert repr(choice) == table
    for word in ("people", "±200", "95 %", "16.8597", "together: ε = 0.1341 at δ = 1e-06"):
        assert word in table
    facts = json.loads(json.dumps(choice.to_dict()))
    assert facts["parts"][0]["scale"] == "16.8597"
    assert Fraction(facts["epsilon"]) == choice.epsilon


@pytest.mark.parametrize(
    "budget",
    [sf.Budget(1), sf.Budget("0.01"), sf.Budget(1, "1e-6"), sf.Budget(rho="0.01"), sf.Budget(40)],
    ids=repr,
)
def test_reachable_is_admitted_and_hardly_more_would_be(budget):
    wishes = [Target("people", 10, times=30), Target("visits", 40, sensitivity=5)]
    granted = reachable(budget, wishes)
    assert granted.fits(budget)
    assert [p.target.within / t.within for p, t in zip(granted.parts, wishes, strict=True)] == [
        granted.factor
    ] * 2
    widest = max(part.target.within for part in granted.parts)
    if widest < 20:  # noise is whole numbers: a hair less may be the same noise
        return
    less = [
        Target(t.name, t.within * granted.factor * Fraction("0.9"), t.sensitivity, times=t.times)
        for t in wishes
    ]
    assert not any(
        choose(less, delta=d).fits(budget) for d in ([0, "1e-6", None] if budget.delta else [0])
    )


def test_reachable_admits_in_a_real_ledger():
    budget = sf.Budget(1, "1e-6")
    granted = reachable(budget, [Target("people", 10, times=30)])
    spent = sf.accounting.Sums()
    (part,) = granted.parts
    for _ in range(30):
        spent = sf.accounting.spend(spent, part.loss, budget)
    assert not granted.fits(sf.Budget("0.5", "1e-6"))


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: choose([]), InputError, "nothing to choose"),
        (lambda: choose([0]), RangeError, "above 0"),
        (lambda: choose([2**61]), RangeError, "2\\^60"),
        (lambda: choose([Target("", 5)]), InputError, "name"),
        (lambda: Target("n", 5, cells=0), RangeError, "whole number"),
        (lambda: Target("n", 5, times=1.5), RangeError, "whole number"),
        (lambda: Target("n", 5, mechanism="uniform"), InputError, "not known"),
        (lambda: Target("n", 5, sf.Sensitivity(l1=0)), SensitivityError, "no noise"),
        (lambda: choose([Target("n", 5, mechanism="gaussian")]), CostError, "without a δ"),
        (lambda: choose([Target("n", 5, sf.Sensitivity(l2=3))]), CostError, "without a δ"),
        (
            lambda: choose([Target("n", 5, sf.Sensitivity(l2=3), mechanism="laplace")]),
            SensitivityError,
            "does not say enough",
        ),
        (
            lambda: choose([Target("n", 5, sf.Sensitivity(l1=1, neighbors="replace")), 5]),
            NeighborsError,
            "different neighbor",
        ),
        (lambda: participation(101, 1, 1), RangeError, "100 at most"),
        (lambda: participation(1, 1, 0), RangeError, "whole number"),
        (lambda: cheapest_study(lambda e, n: 1, "0.1", harm=1, people=9), RangeError, "no study"),
    ],
)
def test_what_makes_no_sense_is_refused(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_participation_pays_what_the_harm_may_grow_by():
    study = participation(1, harm=10, people=100, budget=1719, fee=0)
    assert float(study.payment) == pytest.approx(10 * 1.718281828459045, rel=1e-12)
    assert study.payment * 100 == study.cost
    assert study.feasible
    assert not participation(1, harm=10, people=101, budget=1719).feasible
    assert participation(0, harm=10, people=5).cost == 0
    assert participation(0, harm=10, people=5, fee=2).cost == 10


def error(loss, n):
    return 1 / n**0.5 + 3 / (float(loss) * n)


def test_cheapest_study_is_accurate_and_none_nearby_is_cheaper():
    study = cheapest_study(error, "0.05", harm=100, people=100_000, fee=1)
    assert error(study.epsilon, study.people) <= 0.05
    for n in (study.people // 2, study.people * 9 // 10, study.people * 11 // 10, 10**5):
        least = 3 / (n * (0.05 - n**-0.5))
        assert participation(str(least), 100, n, fee=1).cost >= study.cost * Fraction("0.999")


def test_more_people_are_never_dearer_without_a_fee():
    assert cheapest_study(error, "0.05", harm=100, people=5000).people == 5000


def test_feasible_studies_are_affordable_and_accurate():
    found = feasible_studies(
        error, "0.05", harm=100, people=[100, 1000, 3000, 9000], budget=20_000, fee="0.5"
    )
    assert [n for n, _, _ in found] == [1000, 3000, 9000]
    for n, low, high in found:
        assert error(low, n) <= 0.05
        assert participation(high, 100, n, 20_000, fee="0.5").feasible
        assert not participation(high + Fraction(1, 10**4), 100, n, 20_000, fee="0.5").feasible


def test_a_vast_budget_grants_noise_that_hardly_ever_shows():
    granted = reachable(sf.Budget(10**5), [Target("a", 3), Target("b", 12)])
    assert max(part.target.within for part in granted.parts) >= 1
    assert granted.fits(sf.Budget(10**5))


def test_a_budget_too_small_for_any_noise_is_refused():
    with pytest.raises(RangeError, match="no half-width"):
        reachable(sf.Budget("1e-18"), [Target("sum", 1, sensitivity=2**61, times=1000)])


def test_one_target_or_width_needs_no_list():
    assert choose(Target("n", 50)).epsilon == choose("50").epsilon == choose([50]).epsilon


def test_gaussian_parts_alone_need_no_other_norm():
    (part,) = choose([Target("n", 50, sf.Sensitivity(l2=3))], delta="1e-6").parts
    assert part.mechanism == "gaussian"
    assert part.loss == DiscreteGaussian(part.scale).loss(sf.Sensitivity(l2=3))


def test_choice_by_rho_prints_no_epsilon():
    assert "together: ρ = " in str(choose([Target("n", 50)], delta=None))


def test_participation_says_what_each_and_all_are_owed():
    assert str(participation("0.1", 100, 1000)) == (
        "1,000 people at ε = 0.1: 10.52 each, 10,517.10 for all"
    )
    assert "of 20,000.00" in repr(participation("0.1", 100, 1000, 20_000))


def test_studies_that_cannot_be_paid_are_left_out():
    assert feasible_studies(error, "0.05", harm=100, people=[3000], budget=100) == ()
    assert feasible_studies(error, "0.05", harm=100, people=[3000], budget=9, fee=1) == ()
