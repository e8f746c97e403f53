"""Groups that nobody listed show only above a threshold that δ pays for."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.loss import Approximate
from sfumato.mechanisms.group import joint, occupied
from sfumato.testing.rng import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
ONE = S(l0=1, linf=1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "threshold"),
    [("1", "1e-6", 14), ("1", "1e-9", 21), ("0.1", "1e-6", 132), ("2", "1e-6", 7)],
)
def test_threshold_is_the_least_that_delta_allows(epsilon, delta, threshold):
    made = M.StabilityHistogram.calibrate(ONE, epsilon=epsilon, delta=delta)
    assert made.threshold == threshold
    ratio = exp(-float(epsilon))
    assert ratio**threshold / (1 + ratio) <= float(delta) < ratio ** (threshold - 1) / (1 + ratio)
    assert made.loss(ONE).epsilon == Fraction(epsilon)
    assert made.loss(ONE).delta <= Fraction(delta)


def hockey_stick(p, q, epsilon):
    return sum(max(0.0, p[x] - exp(epsilon) * q.get(x, 0.0)) for x in p)


def one_group(scale, threshold, count, reach=200):
    """The law of one group; None where it is not released."""
    if not count:
        return {None: 1.0}
    ratio = exp(-1 / scale)
    law = {
        count + x: (1 - ratio) / (1 + ratio) * ratio ** abs(x)
        for x in range(-reach, reach + 1)
        if count + x > threshold
    }
    return {None: 1 - sum(law.values()), **law}


@pytest.mark.parametrize(("scale", "threshold"), [(1, 3), (2, 4), (3, 12), ("1/2", 2)])
def test_delta_is_attained_and_not_added_twice(scale, threshold):
    made = M.StabilityHistogram(scale, threshold)
    loss, scale = made.loss(ONE), float(Fraction(scale))
    assert isinstance(loss, Approximate)
    found = max(
        hockey_stick(one_group(scale, threshold, a), one_group(scale, threshold, b), 1 / scale)
        for n in range(threshold + 6)
        for a, b in ((n, n + 1), (n + 1, n))
    )
    assert found == pytest.approx(float(loss.delta), rel=1e-9)


@pytest.mark.parametrize("groups", [1, 2, 5, 40])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_several_groups_fail_jointly(groups, relation):
    made, s = M.StabilityHistogram(2, 20), S(l0=groups, linf=1, neighbors=relation)
    alone = exp(-20 / 2) / (1 + exp(-1 / 2))
    loss = made.loss(s)
    assert loss.epsilon == Fraction(groups, 2)
    assert float(loss.delta) == pytest.approx(1 - (1 - alone) ** groups, rel=1e-9)
    assert loss.delta <= groups * made.loss(ONE).delta
    assert loss.neighbors == relation


def test_joint_failures_are_rounded_up_but_never_above_the_sum():
    for delta in (Fraction(1, 10**6), Fraction(1, 10**60), Fraction(1, 3), Fraction(1)):
        for times in (0, 1, 2, 7, 1000):
            exact = 1 - (1 - delta) ** times
            assert (
                exact
                <= joint(delta, times)
                <= max(times * delta, exact) * (1 + Fraction(1, 10**20))
            )


def test_gaussian_noise_pays_no_sum_of_two_deltas():
    delta = Fraction(1, 10**6)
    one = M.StabilityHistogram.calibrate(ONE, epsilon=1, delta=delta, noise="gaussian")
    # One group either changes or is made: each may use all of δ.
    noise_alone = sf.accounting.delta(M.DiscreteGaussian(one.scale).loss(ONE), 1)
    assert noise_alone > delta * Fraction(99, 100)
    assert one.loss(ONE).delta <= delta
    lower = M.StabilityHistogram(one.scale, one.threshold - 1, "gaussian", 1)
    assert lower.loss(ONE).delta > delta


@pytest.mark.parametrize("groups", [2, 10])
def test_gaussian_noise_is_calibrated_to_its_joint_delta(groups):
    s = S(l0=groups, linf=1)
    made = M.StabilityHistogram.calibrate(s, epsilon=1, delta="1e-6", noise="gaussian")
    assert made.loss(s).epsilon == 1
    assert made.loss(s).delta <= Fraction(1, 10**6)
    lower = M.StabilityHistogram(made.scale, made.threshold - 1, "gaussian", 1)
    assert lower.loss(s).delta > Fraction(1, 10**6)
    plain = M.StabilityHistogram.calibrate(s, epsilon=1, delta="1e-6")
    assert groups == 2 or made.threshold < plain.threshold


def test_a_unit_that_passes_alone_is_refused():
    with pytest.raises(sf.errors.SensitivityError, match="pass the threshold"):
        M.StabilityHistogram("1/1000", 3).loss(S(l0=1, linf=50))


def test_groups_come_out_in_an_order_of_their_own():
    made = M.StabilityHistogram(1, 14)
    there = {"b": 900, 10: 900, "a": 900, 9: 900}
    back = dict(reversed(there.items()))
    assert list(made(there)) == list(made(back)) == [9, 10, "a", "b"]
    first = made.sample(made.exact(there), SeededRng(1))
    assert first == made.sample(made.exact(back), SeededRng(1))


def test_empty_groups_are_no_groups():
    assert occupied({"a": 0, "b": -3, "c": 2, "d": np.int64(4)}) == (("c", 2), ("d", 4))
    assert occupied({}) == ()
    assert occupied({np.str_("x"): 2**70}) == (("x", 2**62),)


@pytest.mark.parametrize(
    "values",
    [[3, 4], {"a": 1.5}, {"a": True}, {1.5: 3}, {None: 3}, {("a", "b"): 3}, {True: 2}, {"a": None}],
)
def test_other_keys_and_counts_are_refused_without_a_value(values):
    with pytest.raises(sf.errors.DataError) as refused:
        M.StabilityHistogram(1, 14)(values)
    assert "1.5" not in str(refused.value)


def test_release_names_groups_interval_and_what_it_takes_to_appear():
    made = M.StabilityHistogram.calibrate(ONE, epsilon=1, delta="1e-6")
    answer = made.release({"b": 500, "a": 400, "c": 1}, ONE, column="town")
    assert answer.keys == (("town", ("a", "b")),)
    measure = answer.measure("count")
    assert measure.covers == "noise only, before selection"
    assert answer.notes == ("a group needs about 17 people to appear in 95 of 100 releases.",)
    assert answer.price.delta == made.loss(ONE).delta
    assert all(abs(v - n) < 40 for v, n in zip(measure.values, (400, 500), strict=True))
    assert len(made.release({}, ONE)) == 0
    mixed = made.release({1: 500, "\ud800": 500}, ONE)
    assert mixed.keys == (("key", ("1", "?")),)


def test_enough_people_appear_as_often_as_said():
    made = M.StabilityHistogram(2, 10)
    for confidence in ("1/2", "0.95"):
        n = made.enough(confidence)
        assert made.passes(n).low >= float(Fraction(confidence)) > float(made.passes(n - 1).high)
    n, rng = made.enough("0.95"), SeededRng(4)
    seen = sum(bool(made.sample((("a", n),), rng)) for _ in range(4000))
    assert abs(seen / 4000 - float(made.passes(n).low)) < 6 * 0.0035


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: M.StabilityHistogram(1, -1), sf.errors.RangeError),
        (lambda: M.StabilityHistogram(1, "1/2"), sf.errors.RangeError),
        (lambda: M.StabilityHistogram(0, 1), sf.errors.RangeError),
        (lambda: M.StabilityHistogram(1, 1, "uniform"), sf.errors.InputError),
        (lambda: M.StabilityHistogram(1, 1, "gaussian"), sf.errors.CostError),
        (lambda: M.StabilityHistogram(1, 1, epsilon=1), sf.errors.CostError),
        (lambda: M.StabilityHistogram.calibrate(ONE, epsilon=1), sf.errors.CostError),
        (lambda: M.StabilityHistogram.calibrate(ONE, rho=1), sf.errors.CostError),
        (lambda: M.StabilityHistogram(1, 9).loss(S(linf=1)), sf.errors.SensitivityError),
        (lambda: M.StabilityHistogram(1, 9).release({}, ONE, keys={}), sf.errors.DataError),
    ],
)
def test_what_makes_no_sense_is_refused(make, error):
    with pytest.raises(error):
        make()
