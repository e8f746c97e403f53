"""Groups that nobody listed show only above a threshold that δ pays for."""

from fractions import Fraction
from itertools import product
from math import exp, tanh

import numpy as np
import pytest

import sfumato as sf
from sfumato.accounting import curve
from sfumato.accounting.pure import basic_epsilon, own_delta
from sfumato.accounting.zcdp import approximate_rho
from sfumato.mechanisms import stability
from sfumato.mechanisms.group import moved, occupied
from sfumato.mechanisms.threshold import joint_delta
from sfumato.mechanisms.threshold import made as made_groups
from sfumato.noise import Laplace, draw
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
    assert basic_epsilon(made.loss(ONE)) == Fraction(epsilon)
    assert own_delta(made.loss(ONE)) <= Fraction(delta)


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
    found = max(
        hockey_stick(one_group(scale, threshold, a), one_group(scale, threshold, b), 1 / scale)
        for n in range(threshold + 6)
        for a, b in ((n, n + 1), (n + 1, n))
    )
    assert found == pytest.approx(float(own_delta(loss)), rel=1e-9)


@pytest.mark.parametrize("groups", [1, 2, 5, 40])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_several_groups_fail_jointly(groups, relation):
    made, s = M.StabilityHistogram(2, 20), S(l0=groups, linf=1, neighbors=relation)
    alone = exp(-20 / 2) / (1 + exp(-1 / 2))
    loss = made.loss(s)
    assert basic_epsilon(loss) == Fraction(groups, 2)
    assert float(own_delta(loss)) == pytest.approx(1 - (1 - alone) ** groups, rel=1e-9)
    assert own_delta(loss) <= groups * own_delta(made.loss(ONE))
    # In ρ every group counts for itself.
    assert float(approximate_rho(loss)) == pytest.approx(groups * 0.5 * tanh(0.25), rel=1e-9)
    assert loss.neighbors == relation


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
    assert answer.notes == ("a group needs about 17 units to appear in 95 of 100 releases.",)
    assert answer.price.delta == own_delta(made.loss(ONE))
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


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("rare", [Fraction(1, 10**41), Fraction(1, 10**1000)])
def test_enough_for_a_confidence_next_to_one_is_found(noise, rare, monkeypatch):
    made, passes = M.StabilityHistogram(3, 10, noise), M.StabilityHistogram.passes
    tries = iter(range(100))

    def counted(self, count):
        assert next(tries, None) is not None  # a search that has no end would never fail
        return passes(self, count)

    monkeypatch.setattr(M.StabilityHistogram, "passes", counted)
    n = made.enough(1 - rare)
    # The law is even: n is left out as often as 21 - n is released.
    assert passes(made, 21 - n).high <= rare < passes(made, 22 - n).low


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: M.StabilityHistogram(1, -1), sf.errors.RangeError),
        (lambda: M.StabilityHistogram(1, "1/2"), sf.errors.RangeError),
        (lambda: M.StabilityHistogram(0, 1), sf.errors.RangeError),
        (lambda: M.StabilityHistogram(1, 1, "uniform"), sf.errors.InputError),
        (lambda: M.StabilityHistogram(1, 1, epsilon=1), sf.errors.CostError),
        (lambda: M.StabilityHistogram.calibrate(ONE, epsilon=1), sf.errors.CostError),
        (lambda: M.StabilityHistogram.calibrate(ONE, rho=1), sf.errors.CostError),
        (
            lambda: M.StabilityHistogram.calibrate(ONE, epsilon=1, delta="1e-6", noise="uniform"),
            sf.errors.InputError,
        ),
        (
            lambda: M.StabilityHistogram.calibrate(
                S(l0=10**9, linf=10**6), epsilon="1e-15", delta="1e-9", noise="gaussian"
            ),
            sf.errors.RangeError,
        ),
        (
            lambda: M.StabilityHistogram.calibrate(ONE, epsilon="1e-17", delta="1e-300"),
            sf.errors.RangeError,
        ),
        (lambda: M.StabilityHistogram(1, 9).loss(S(linf=1)), sf.errors.SensitivityError),
        (lambda: M.StabilityHistogram(1, 9).release({}, ONE, keys={}), sf.errors.DataError),
    ],
)
def test_what_makes_no_sense_is_refused(make, error):
    with pytest.raises(error):
        make()


def weight(noise, scale):
    if noise == "laplace":
        return lambda x: exp(-abs(x) / scale)
    return lambda x: exp(-x * x / (2 * scale * scale))


def law(made, counts):
    """The law of all groups together: along each axis no release, then noisy counts from T + 1 on.

    A group of 0 is none. What lies beyond the last count weighs less than 10^-6.
    """
    scale, found = float(made.scale), np.ones(())
    odds = {x: weight(made.noise, scale)(x) for x in range(-120, 121)}
    total = sum(odds.values())
    for count in counts:
        cell = np.zeros(25)
        if count:
            cell[1:] = [odds[made.threshold + i - count] / total for i in range(1, 25)]
        cell[0] = 1 - cell.sum()
        found = np.multiply.outer(found, cell)
    return found


def excess(p, q, epsilon):
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


def moves(s, groups):
    """Every way in which one unit can move so many counts."""
    move = moved(s)
    steps = range(-move.most, move.most + 1)
    return [
        m
        for m in product(steps, repeat=groups)
        if sum(map(abs, m)) <= move.total and sum(map(bool, m)) <= move.groups
    ]


# One count a unit in two groups, and three rows of a unit that fall where they like.
REACHES = [S(l0=2, linf=1), S(l0=3, l1=3, linf=3), S(l0=2, l1=3, linf=2)]
BASES = [(0, 0, 0), (0, 1, 3), (4, 5, 2), (1, 0, 6)]
MECHANISMS = [
    M.StabilityHistogram("3/2", 5),
    M.StabilityHistogram(2, 5, "gaussian"),
    M.StabilityHistogram(2, 5, "gaussian", 1),
]


@pytest.mark.parametrize("s", REACHES)
@pytest.mark.parametrize("made", MECHANISMS, ids=repr)
def test_no_event_on_any_neighbor_exceeds_the_claim_at_any_epsilon(made, s):
    loss = made.loss(s)
    epsilons = [Fraction(i, 3) for i in range(13)]
    claims = [(float(e), float(curve.delta(loss, e))) for e in epsilons]
    left_out = 1e-6  # of the laws
    for base in BASES:
        p = law(made, base)
        for move in moves(s, len(base)):
            other = tuple(a + b for a, b in zip(base, move, strict=True))
            if min(other) < 0 or not any(move):
                continue
            q = law(made, other)
            for epsilon, delta in claims:
                assert excess(p, q, epsilon) <= delta + left_out
                assert excess(q, p, epsilon) <= delta + left_out


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("threshold", [3, 6])
def test_what_one_unit_makes_passes_as_often_as_claimed_and_no_more(noise, threshold):
    for scale, rows in product((1, 4), (1, 2, 3, 4)):
        made = M.StabilityHistogram(scale, threshold, noise)
        for s in (S(l0=rows, l1=rows, linf=rows), S(l0=rows, linf=1), S(l0=2, linf=rows)):
            move, worst = moved(s), 0.0
            for parts in product(range(move.most + 1), repeat=move.groups):
                if sum(parts) <= move.total:
                    none = 1.0
                    for part in parts:
                        none *= 1 - float(made.passes(part).high) if part else 1.0
                    worst = max(worst, 1 - none)
            claimed = float(made_groups(noise, made.scale, threshold, move, move.groups))
            assert worst == pytest.approx(claimed, rel=1e-9)


@pytest.mark.parametrize("s", [S(l0=2, linf=1), S(l0=2, linf=2), S(l0=3, l1=3, linf=3)])
def test_gaussian_noise_is_concentrated_outside_the_failures_of_the_threshold(s):
    """The measures of the proof: what is shared, of mass 1 - δ, has Rényi divergence ρ·α."""
    made = M.StabilityHistogram(3, 7, "gaussian")
    loss = made.loss(s)
    rho, delta = float(approximate_rho(loss)), float(own_delta(loss))
    assert rho == pytest.approx(moved(s).square / 18)
    largest = 0.0
    for base, move in product([(0, 0), (0, 3), (5, 2)], moves(s, 2)):
        other = tuple(a + b for a, b in zip(base, move, strict=True))
        if min(other) < 0:
            continue
        p, q = law(made, base), law(made, other)
        shared = p.copy()
        for i, (here, there) in enumerate(zip(base, other, strict=True)):
            if bool(here) != bool(there):  # on one side only: it is not released, as often as there
                axis = np.moveaxis(shared, i, 0)
                axis[1:] = 0
                if not here:
                    axis *= 1 - float(made.passes(there).high)
        largest = max(largest, 1 - float(shared.sum()))
        assert (shared <= p * (1 + 1e-12)).all()
        for order in (1.01, 2, 8, 32):
            inside = (shared > 1e-300) & (q > 1e-300)
            logs = order * np.log(shared[inside]) + (1 - order) * np.log(q[inside])
            assert np.exp(logs - order * (order - 1) * rho).sum() <= 1 + 1e-9
    assert largest <= delta + 1e-9


@pytest.mark.parametrize("s", [S(l0=1, linf=1), S(l0=12, linf=1), S(l0=30, linf=2), S(l1=9)])
@pytest.mark.parametrize(("sigma", "threshold"), [(4, 9), (9, 60), ("5/2", 30)])
def test_joint_delta_is_the_largest_over_all_numbers_of_groups_made(s, sigma, threshold):
    move, sigma = moved(s), Fraction(sigma)
    found = 0.0
    for made in range(move.groups + 1):
        appears = float(made_groups("gaussian", sigma, threshold, move, made))
        square = min(
            move.square - made,
            (move.groups - made) * move.most**2,
            (move.total - made) * move.most,
        )
        alone = sf.core.loss.GaussianShift(sigma, square, scalar=move.groups - made == 1)
        found = max(found, appears + (1 - appears) * float(curve.delta(alone, 1)))
    assert found * (1 - 1e-9) <= joint_delta(sigma, threshold, move, Fraction(1)) <= found * 1.0011


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "s",
    [
        ONE,
        S(l0=10, linf=1, neighbors="replace"),
        S(l0=3, linf=5),
        S(l0=20, l1=20, linf=20),
        S(l0=10**4, linf=1),
        S(l0=10**4, linf=1, neighbors="replace"),
    ],
)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1e-6", "1e-12"), ("1/7", "1e-12")])
def test_calibration_fits_and_the_threshold_below_does_not(s, noise, epsilon, delta):
    made = M.StabilityHistogram.calibrate(s, epsilon=epsilon, delta=delta, noise=noise)
    loss = made.loss(s)
    assert basic_epsilon(loss) == Fraction(epsilon)
    assert own_delta(loss) <= Fraction(delta)
    assert loss.neighbors is s.neighbors
    step = 1 if noise == "laplace" else max(int(made.scale) // 2**10, 1)
    lower = M.StabilityHistogram(made.scale, made.threshold - step, noise, made.epsilon)
    assert own_delta(lower.loss(s)) > Fraction(delta)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("s", [ONE, S(l0=40, linf=1), S(l0=3, linf=4), S(l0=7, l1=7, linf=7)])
@pytest.mark.parametrize("rho", ["1e-6", "1/10", "5"])
def test_calibration_fits_a_target_in_rho(s, noise, rho):
    made = M.StabilityHistogram.calibrate(s, rho=rho, delta="1e-9", noise=noise)
    loss, target = made.loss(s), Fraction(rho)
    assert made.epsilon is None
    assert target * (1 - Fraction(1, 10**9)) < approximate_rho(loss) <= target
    assert own_delta(loss) <= Fraction(1, 10**9)
    lower = M.StabilityHistogram(made.scale, made.threshold - 1, noise)
    assert own_delta(lower.loss(s)) > Fraction(1, 10**9)


def test_statement_in_rho_costs_a_ledger_less_and_has_no_epsilon_of_its_own():
    s = S(l0=10, linf=1)
    joint = M.StabilityHistogram.calibrate(s, epsilon=1, delta="1e-6", noise="gaussian")
    same = M.StabilityHistogram(joint.scale, joint.threshold, "gaussian")
    stated, real = (sf.accounting.charge(m.loss(s)) for m in (joint, same))
    assert stated.epsilon == 10**18
    assert real.epsilon is None
    assert 15 * real.rho < stated.rho
    assert real.delta <= stated.delta
    # With some δ for the noise there is an ε again.
    assert sf.accounting.charge(same.loss(s), "2e-6").epsilon < 1.1 * 10**18


def test_choice_adds_noise_and_keeps_what_is_above():
    made, counts = M.StabilityHistogram(2, 6), np.arange(-20, 400, dtype=np.int64) % 23 - 2
    before = counts.copy()
    places, noisy = made.choose(counts, SeededRng(3))
    there = np.flatnonzero(counts > 0)
    sums = counts[there] + draw(Laplace(Fraction(2)), there.size, SeededRng(3))
    assert (counts == before).all()
    assert (sums == 6).any()  # at the threshold, and not released
    assert places.tolist() == there[sums > 6].tolist()
    assert noisy.tolist() == sums[sums > 6].tolist()
    assert (counts[places] > 0).all() and (np.diff(places) > 0).all()
    nothing, none = made.choose(np.array([0, -5], np.int64), SeededRng(1))
    assert nothing.size == none.size == 0


def test_choice_saturates_at_the_ends_of_64_bits():
    made, top = M.StabilityHistogram(2**40, 6), 2**63 - 1
    places, noisy = made.choose(np.array([top] * 64, np.int64), SeededRng(3))
    assert places.size == 64
    assert noisy.min() > top - 2**50 and noisy.max() == top


@pytest.mark.parametrize("block", [3, 2**16])
def test_noise_goes_to_its_own_group_in_many_blocks_as_in_one(monkeypatch, block):
    monkeypatch.setattr(stability, "_BLOCK", block)
    histogram = M.StabilityHistogram(scale=2, threshold=9)
    counts = np.array([0, 12, 3, -1, 10, 9, 2**63 - 1] * 100)
    places, sums = (each.tolist() for each in histogram.choose(counts, SeededRng(7)))
    assert places == sorted(set(places))
    assert all(counts[place] > 0 for place in places)
    assert all(9 < noisy < 2**63 for noisy in sums)
    noise = [noisy - int(counts[place]) for place, noisy in zip(places, sums, strict=True)]
    assert max(map(abs, noise)) < 100  # but for odds of 10^-19
    assert len(set(noise)) > 5
    appeared = np.bincount(np.array(places) % 7, minlength=7)
    assert appeared[6] == 100
    assert appeared[1] > appeared[4] > appeared[5] > appeared[2]  # those with more
    assert [each.tolist() for each in histogram.choose(counts[:1], SeededRng(7))] == [[], []]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_noise_next_to_none_needs_no_time(noise):
    """Odds of 10^-(10^11) are compared as they are: as a fraction they would fill the memory."""
    histogram = M.StabilityHistogram(scale=Fraction(1, 2**20), threshold=1, noise=noise)
    assert histogram.enough() == 2
    assert "about 2 units" in histogram.said
