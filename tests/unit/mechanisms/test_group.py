"""How far one unit moves the counts of groups, and what several failures come to."""

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.zcdp import approximate_rho
from sfumato.core.budget import Budget
from sfumato.core.unit import Neighbors
from sfumato.mechanisms.group import counted, joint, moved, single, with_delta, within

S = sf.Sensitivity


@pytest.mark.parametrize(
    ("sensitivity", "move"),
    [
        (S(l0=1, linf=1), (1, 1, 1, 1)),
        (S(l0=3, linf=2), (3, 2, 6, 12)),
        (S(l1=5), (5, 5, 5, 25)),
        (S(l0=20, l1=20, linf=20), (20, 20, 20, 400)),
        (S(l0=4, l1=7, linf=3), (4, 3, 7, 19)),
        (S(l0=4, l1=7, linf=3, l2=4), (4, 3, 7, 16)),
        (S(l0=9, l1=5, linf=1), (5, 1, 5, 5)),
        (S(l0=1, l1="3/2", linf="3/2"), (1, 2, 2, 4)),
    ],
)
def test_moves_are_whole_and_no_larger_than_the_norms_allow(sensitivity, move):
    assert moved(sensitivity) == move


def test_a_unit_without_a_bound_on_its_groups_is_refused():
    with pytest.raises(sf.errors.SensitivityError, match="any number of groups"):
        moved(S(linf=1))


@pytest.mark.parametrize("times", [0, 1, 2, 7, 1000, Fraction(5, 2)])
@pytest.mark.parametrize("power", [6, 60])
def test_joint_failures_are_rounded_up_but_never_above_the_sum(times, power):
    for delta in (Fraction(1, 10**power), Fraction(1, 3), Fraction(1)):
        found = joint(delta, times)
        assert found <= max(times * delta, delta * bool(times)) * (1 + Fraction(1, 10**20))
        if isinstance(times, int):
            assert found >= 1 - (1 - delta) ** times
        else:  # squared, as the exponent is a half of five
            assert (1 - found) ** 2 <= (1 - delta) ** 5
    assert joint(Fraction(1, 10), 3) == pytest.approx(0.271, rel=1e-12)


def test_single_failures_join_to_the_whole():
    for times in (1, 3, Fraction(7, 2), 10**4):
        one = single(Fraction(1, 10**9), times)
        assert float(joint(one, times)) == pytest.approx(1e-9, rel=1e-12)


@pytest.mark.parametrize("target", [Budget(2), Budget(rho="1/10"), Budget(rho=30)])
@pytest.mark.parametrize("s", [S(l0=1, linf=1), S(l0=5, linf=3), S(l0=20, l1=20, linf=20)])
def test_most_that_a_target_has_room_for_is_used(target, s):
    move = moved(s)
    loss = counted(within(target, move), move, Fraction(1, 10**6), Neighbors.REPLACE)
    assert loss.neighbors is Neighbors.REPLACE
    assert own_delta(loss) == Fraction(1, 10**6)
    spent, limit = (
        (basic_epsilon(loss), target.epsilon)
        if target.rho is None
        else (approximate_rho(loss), target.rho)
    )
    assert limit * (1 - Fraction(1, 10**9)) < spent <= limit


def test_target_without_a_failure_probability_is_refused():
    assert with_delta(Budget(1, "1e-6")) == Budget(1, "1e-6")
    for target in (Budget(1), Budget(rho=1)):
        with pytest.raises(sf.errors.CostError, match="it needs a δ"):
            with_delta(target)
