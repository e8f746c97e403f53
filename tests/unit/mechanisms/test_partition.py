"""Optimal partition selection: the recurrence that defines it, and what it beats."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.zcdp import approximate_rho
from sfumato.core.interval import Interval
from sfumato.mechanisms.partition import _turn
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
    assert select.said == "a group needs about 16 units to appear in 95 of 100 releases"
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
    assert basic_epsilon(loss) == 2
    assert loss.neighbors == relation
    assert float(own_delta(loss)) == pytest.approx(1 - (1 - 1e-7) ** 4, rel=1e-6)
    # Four coins of ε = 1/2, and not one of ε = 2.
    assert float(approximate_rho(loss)) == pytest.approx(4 * 0.5 * tanh(0.25), rel=1e-9)
    assert own_delta(select.loss(S(l0=1, linf=1))) == Fraction(1, 10**7)
    twice = select.loss(S(l0=1, linf=2))
    assert basic_epsilon(twice) == 1
    assert float(own_delta(twice)) == pytest.approx(1e-7 * (1 + exp(0.5)), rel=1e-9)


def test_rows_that_may_all_fall_into_one_group_are_counted_once():
    select, rows = M.PartitionSelection("1/10", "1e-7"), S(l0=20, l1=20, linf=20)
    loss = select.loss(rows)
    assert basic_epsilon(loss) == 2
    # All twenty in one group is the worst: more than twenty groups of one.
    alone = 1e-7 * (exp(2) - 1) / (exp(0.1) - 1)
    assert float(own_delta(loss)) == pytest.approx(alone, rel=1e-9)
    assert alone > 20 * 1e-7


@pytest.mark.parametrize(
    "s",
    [
        ONE,
        S(l0=3, linf=1),
        S(l0=1, linf=2),
        S(l0=3, linf=4),
        S(l1=5),
        S(l0=7, l1=7, linf=7),
        S(l0=10**4, linf=1, neighbors="replace"),
        S(l0=10**4, linf=1000),
    ],
)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-6"), ("1e-6", "1e-12"), ("8", "1e-3"), ("1/7", "1e-12")]
)
def test_calibration_fits_and_is_not_wasteful(s, epsilon, delta):
    made = M.PartitionSelection.calibrate(s, epsilon=epsilon, delta=delta)
    loss = made.loss(s)
    assert basic_epsilon(loss) == Fraction(epsilon)
    assert Fraction(delta) * Fraction(999_999, 10**6) < own_delta(loss) <= Fraction(delta)


@pytest.mark.parametrize("s", [ONE, S(l0=40, linf=1), S(l0=3, linf=4), S(l0=7, l1=7, linf=7)])
@pytest.mark.parametrize("rho", ["1e-6", "1/10", "50"])
def test_calibration_fits_a_target_in_rho(s, rho):
    made = M.PartitionSelection.calibrate(s, rho=rho, delta="1e-9")
    loss, target = made.loss(s), Fraction(rho)
    assert target * (1 - Fraction(1, 10**9)) < approximate_rho(loss) <= target
    assert Fraction(999, 10**12) < own_delta(loss) <= Fraction(1, 10**9)


def test_choice_takes_every_word_for_what_it_says():
    select, rng = M.PartitionSelection("1/100", "1e-6"), SeededRng(5)
    counts = np.array([*range(1, 1600), *range(-3, 1600)], np.int64)  # far more than marks
    assert np.unique(counts).size > 4 * 256
    unsure = (counts > 0) & (counts < select.certain)
    words = dict(
        zip(np.flatnonzero(unsure), SeededRng(5).words(int(unsure.sum())).tolist(), strict=True)
    )
    places, noisy = select.choose(counts, rng)
    assert noisy is None
    chosen = set(places.tolist())
    assert (np.diff(places) > 0).all()
    for place, count in enumerate(counts.tolist()):
        if count <= 0:
            assert place not in chosen
        elif count >= select.certain:
            assert place in chosen
        else:
            odds, word = select.chance(count, 20), words[place]
            if Fraction(word + 1, 2**64) <= Fraction(odds.low):
                assert place in chosen
            elif Fraction(word, 2**64) >= Fraction(odds.high):
                assert place not in chosen
    assert 100 < len(chosen & words.keys()) < len(words) - 100


def test_choice_goes_by_position_and_counts_alone():
    select = M.PartitionSelection("1/2", "1e-3")
    counts = np.array([5, 0, 14, 3, 10**18, -1, 1], np.int64)
    before = counts.copy()
    places, _ = select.choose(counts, SeededRng(2))
    assert (counts == before).all()
    assert 4 in places and not {1, 5} & set(places.tolist())
    named = select.sample(tuple(enumerate(counts.tolist())), SeededRng(2))
    assert named == tuple(places.tolist())
    assert select.choose(np.array([], np.int64), SeededRng(1))[0].size == 0


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
    assert answer.notes == ("a group needs about 16 units to appear in 95 of 100 releases.",)
    assert len(select.release({}, ONE)) == 0
    assert select.release({"a": 99}, ONE, column="town").measure("town").values == ("a",)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: M.PartitionSelection(1, 0), sf.errors.RangeError),
        (lambda: M.PartitionSelection(0, "1e-6"), sf.errors.RangeError),
        (lambda: M.PartitionSelection(2000, "1e-6"), sf.errors.RangeError),
        (lambda: M.PartitionSelection("1e-18", "1e-30"), sf.errors.RangeError),
        (lambda: M.PartitionSelection.calibrate(ONE, epsilon=1), sf.errors.CostError),
        (lambda: M.PartitionSelection.calibrate(ONE, rho=1), sf.errors.CostError),
        (
            lambda: M.PartitionSelection.calibrate(ONE, epsilon=1, rho=1, delta="1e-6"),
            sf.errors.CostError,
        ),
        (lambda: M.PartitionSelection(1, "1/2").loss(S(l0=1, linf=9)), sf.errors.SensitivityError),
        (lambda: M.PartitionSelection(1, "1/2").probability(1.5), sf.errors.RangeError),
        (lambda: M.PartitionSelection(1, "1/2").release({}, ONE, keys={}), sf.errors.DataError),
    ],
)
def test_what_makes_no_sense_is_refused(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("turn", [2, 3, 7])
@pytest.mark.parametrize("beyond", [False, True])
def test_turn_is_found_where_the_first_digits_do_not_tell(turn, beyond):
    """A δ of ninety digits puts the turning point a hair beside a whole number."""
    with localcontext() as context:
        context.prec = 120
        grown = Decimal(1).exp()
        at = (grown - 1) / ((grown + 1) * grown**turn - 2)
        delta = Fraction(at) * (1 + (-1 if beyond else 1) * Fraction(1, 10**90))
    assert _turn(Fraction(1), delta) == turn + beyond
