"""Optimal partition selection: the recurrence that defines it, and what it beats."""

from fractions import Fraction
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.interval import Interval
from sfumato.testing.rng import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
ONE = S(l0=1, linf=1)
epsilons = st.fractions(Fraction(1, 50), Fraction(4), max_denominator=100)
deltas = st.integers(1, 15).map(lambda digits: Fraction(1, 10**digits))


@given(epsilons, deltas, st.integers(0, 60))
@settings(deadline=None)
def test_no_inequality_is_violated_and_one_always_binds(epsilon, delta, units):
    select = M.PartitionSelection(epsilon, delta)
    now, then = select.chance(units), select.chance(units + 1)
    grown = Interval.of(epsilon, 60).exp()
    appears = now * grown + delta
    stays = 1 - (1 - now - delta) / grown
    slack = Fraction(1, 10**25)
    bounds = [Fraction(appears.high), Fraction(stays.high), Fraction(1)]
    assert Fraction(then.low) <= min(bounds) + slack
    # Optimal: the least of the three is reached.
    assert (
        Fraction(then.high) >= min(Fraction(appears.low), Fraction(stays.low), Fraction(1)) - slack
    )


@given(epsilons, deltas)
@settings(deadline=None, max_examples=50)
def test_groups_show_at_least_as_often_as_above_a_threshold(epsilon, delta):
    select = M.PartitionSelection(epsilon, delta)
    plain = M.StabilityHistogram.calibrate(ONE, epsilon=epsilon, delta=delta)
    for units in (1, 2, 3, plain.threshold // 2, plain.threshold, plain.threshold + 2):
        if units >= 1:
            best, noisy = select.chance(units), plain.passes(units)
            assert Fraction(best.high) >= Fraction(noisy.low)
    assert select.enough() <= plain.enough()


def test_figures_of_the_usual_setting():
    select = M.PartitionSelection(1, "1e-6")
    assert select.probability(0) == 0
    assert select.probability(1) == pytest.approx(Fraction(1, 10**6), rel=1e-30)
    assert select.enough() == 16
    assert M.StabilityHistogram(1, 14).enough() == 17
    assert select.probability(select.certain) == 1 > select.probability(select.certain - 1)
    assert select.said == "a group needs about 16 people to appear in 95 of 100 releases"
    assert select.probability(10**18) == 1


@given(epsilons, deltas)
@settings(deadline=None, max_examples=30)
def test_enough_is_the_least_number(epsilon, delta):
    select = M.PartitionSelection(epsilon, delta)
    n = select.enough("0.9")
    assert select.probability(n) >= Fraction(9, 10) > select.probability(n - 1)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_losses_compose_over_groups(relation):
    select = M.PartitionSelection("1/2", "1e-7")
    loss = select.loss(S(l0=4, linf=1, neighbors=relation))
    assert loss.epsilon == 2
    assert loss.neighbors == relation
    assert float(loss.delta) == pytest.approx(1 - (1 - 1e-7) ** 4, rel=1e-6)
    assert select.loss(S(l0=1, linf=1)).delta == Fraction(1, 10**7)
    twice = select.loss(S(l0=1, linf=2))
    assert twice.epsilon == 1
    assert float(twice.delta) == pytest.approx(1e-7 * (1 + exp(0.5)), rel=1e-9)


@pytest.mark.parametrize("s", [ONE, S(l0=3, linf=1), S(l0=1, linf=2), S(l0=3, linf=4), S(l1=5)])
def test_calibration_fits_and_is_not_wasteful(s):
    made = M.PartitionSelection.calibrate(s, epsilon=1, delta="1e-6")
    loss = made.loss(s)
    assert loss.epsilon == 1
    assert Fraction(999_999, 10**12) < loss.delta <= Fraction(1, 10**6)


def test_coins_have_the_odds_stated():
    select, rng = M.PartitionSelection(1, "1/10"), SeededRng(8)
    exact = tuple((key, 2) for key in range(50_000))
    odds = float(select.probability(2))
    seen = len(select.sample(exact, rng)) / len(exact)
    assert abs(seen - odds) < 6.5 * (odds * (1 - odds) / len(exact)) ** 0.5


def test_names_come_out_in_an_order_of_their_own():
    select = M.PartitionSelection(1, "1e-6")
    assert select({"b": 99, 3: 99, "a": 99, "c": 1}) == (3, "a", "b")


def test_release_holds_names_and_no_figure():
    select = M.PartitionSelection(1, "1e-6")
    answer = select.release({"b": 99, "a": 99, "c": 1}, ONE, name="town")
    assert answer.measure("town").values == ("a", "b")
    assert not answer.measure("town").has_interval
    assert answer.notes == ("a group needs about 16 people to appear in 95 of 100 releases.",)
    assert len(select.release({}, ONE)) == 0


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: M.PartitionSelection(1, 0), sf.errors.RangeError),
        (lambda: M.PartitionSelection(0, "1e-6"), sf.errors.RangeError),
        (lambda: M.PartitionSelection(2000, "1e-6"), sf.errors.RangeError),
        (lambda: M.PartitionSelection.calibrate(ONE, epsilon=1), sf.errors.CostError),
        (lambda: M.PartitionSelection(1, "1/2").loss(S(l0=1, linf=9)), sf.errors.SensitivityError),
        (lambda: M.PartitionSelection(1, "1/2").probability(1.5), sf.errors.RangeError),
        (lambda: M.PartitionSelection(1, "1/2").release({}, ONE, keys={}), sf.errors.DataError),
    ],
)
def test_what_makes_no_sense_is_refused(make, error):
    with pytest.raises(error):
        make()
