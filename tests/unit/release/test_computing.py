"""Estimates that know their noise."""

import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sfumato import mechanisms
from sfumato.core.errors import InputError, KeysError, NeighborsError, NumberError, RangeError
from sfumato.core.loss import Pure
from sfumato.core.unit import Unit
from sfumato.release import Estimate, Measure, Release, quotient
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.noisy import Noisy
from sfumato.testing.rng import SeededRng


def interval(estimate):
    return [np.asarray(end).tolist() for end in (estimate.value, estimate.low, estimate.high)]


def test_number_less_itself_is_exactly_zero(town):
    answer = town()
    assert interval(answer["n"] - answer["n"]) == [[0, 0, 0]] * 3
    assert interval(answer["mean"] - answer["mean"]) == [[0, 0, 0]] * 3


def test_number_over_itself_is_exactly_one(town):
    answer = town()
    for name in answer:
        assert interval(answer[name] / answer[name]) == [[1, 1, 1]] * 3
    assert interval(2 * answer["n"] / (answer["n"] * 3)) == [[pytest.approx(2 / 3)] * 3] * 3


def test_mean_times_its_count_is_its_sum(town):
    answer = town()
    assert interval(answer["mean"] * answer["n"] - answer["fare"]) == [[0, 0, 0]] * 3
    found = answer["n"] * answer["mean"]
    assert found.value.tolist() == [50_000, 30_000, 20_100]
    assert found == answer.at("0.95")["fare"]


def test_stored_answer_loaded_twice_is_one_draw(town):
    once, twice = (Release.from_json(town().to_json()) for _ in range(2))
    assert interval(once["n"] - twice["n"]) == [[0, 0, 0]] * 3


def test_other_answer_with_the_same_values_is_another_draw(town):
    apart = town(entry="7")["n"] - town(entry="8")["n"]
    assert apart.value.tolist() == [0, 0, 0]
    assert (apart.high > 12).all()  # wider than one noise alone


def test_cells_are_matched_by_key_in_any_order(town):
    answer = town()
    turned = Release(
        (("zone", ("C", "A", "B")),),
        (Measure("n", (1, 2, 3), form=Form.linear({"9/n": 1})),),
        "0.95",
        Pure(1),
        noisy=(Noisy("9/n", Noise("laplace", 4), (1, 2, 3)),),
    )
    assert (answer["n"] - turned["n"]).value.tolist() == [498, 397, 299]


def test_single_number_goes_with_every_cell(town):
    answer = town()
    total = answer.total("n")["n"]
    assert total.value == 1200
    assert (total - answer["n"]).value.tolist() == [700, 800, 900]
    # What is left of the total has the noise of the two others only.
    assert (total - answer["n"]).halfwidth[0] < total.halfwidth
    assert (answer["n"] / total).value == pytest.approx([5 / 12, 1 / 3, 1 / 4])


def test_exact_numbers_of_all_kinds(town):
    n = town()["n"]
    for three in (3, 3.0, Fraction(3), np.int64(3), np.float64(3)):
        assert interval(n * three) == interval(three * n) == interval(n + n + n)
    assert (n / 4).value.tolist() == [125, 100, 75]
    assert (0.1 * n).value.tolist() == [50, 40, 30]
    assert interval(-n) == interval(0 - n) == [[-500, -400, -300], *interval(0 - n)[1:]]
    assert interval(+n) == interval(n)
    assert (n - 100).low.tolist() == [388, 288, 188]


def test_scalars_stay_exact(town):
    answer = town().total("n", "fare")
    third = answer["n"] / 3
    assert third.value == Fraction(400)
    assert type((answer["n"] / 7).value) is Fraction
    assert type((answer["n"] - 1).value) is int
    assert type((answer["fare"] / answer["n"]).value) is float


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, np.float64("nan")])
def test_numbers_that_are_none_are_refused(town, bad):
    with pytest.raises(NumberError):
        town()["n"] * bad


def test_what_is_no_number_is_a_type_error(town):
    for other in ("3", None, [1, 2, 3], np.array([1, 2, 3])):
        with pytest.raises(TypeError):
            town()["n"] + other
        with pytest.raises(TypeError):
            other - town()["n"]


def test_division_by_exactly_zero_is_refused(town):
    with pytest.raises(RangeError, match="divided by 0"):
        town()["n"] / 0


def test_denominator_that_may_be_zero_leaves_the_quotient_open(town):
    answer = town(counts=(500, 3, -5))
    found = answer["fare"] / answer["n"]
    assert np.isinf(found.low).tolist() == np.isinf(found.high).tolist() == [False, True, True]
    known = found.within(0, 200)
    assert known.low.tolist()[1:] == [0, 0]
    assert known.high.tolist()[1:] == [200, 200]
    assert known.value[2] == 100
    assert known.low[0] == pytest.approx(found.low[0], rel=1e-4)


@pytest.mark.parametrize(
    "compute",
    [
        lambda a: a["n"] * a["fare"],
        lambda a: a["mean"] * a["fare"],
        lambda a: a["mean"] + a["n"],
        lambda a: a["mean"] / a["fare"] / a["fare"],
        lambda a: a["fare"] / a["mean"] / a["mean"],
        lambda a: a["mean"] + a["fare"] / (a["n"] + 1),
    ],
)
def test_what_is_no_sum_and_no_quotient_is_refused(town, compute):
    with pytest.raises(InputError):
        compute(town())


def test_quotients_over_one_count_add_and_divide(town):
    answer = town()
    twice = answer["mean"] + answer["fare"] / (2 * answer["n"])
    assert twice.value == pytest.approx([150, 112.5, 100.5])
    assert (answer["mean"] / twice).value == pytest.approx([2 / 3] * 3)
    assert (answer["mean"] / twice).halfwidth == pytest.approx([0] * 3)
    assert (1 / answer["mean"]).value == pytest.approx([0.01, 1 / 75, 1 / 67])
    assert (answer["mean"] / answer["fare"]).value == pytest.approx([1 / 500, 1 / 400, 1 / 300])


def ratio_at(scale):
    """Return a sum over a count, both with noise of a scale, in the unit of each."""
    noises = {"fare": Noise("laplace", 200 * scale), "n": Noise("laplace", scale)}
    draws = tuple(Noisy(name, noise, (10**6,), count=True) for name, noise in noises.items())
    measures = tuple(Measure(name, (10**6,), form=Form.linear({name: 1})) for name in noises)
    answer = Release((), measures, "0.95", Pure(1), noisy=draws).at("0.95")
    return answer["fare"] / answer["n"]


def test_less_noise_never_makes_a_quotient_wider():
    # Where whole numbers of noise are rare, a step is many deviations, and once made it wider.
    scales = [Fraction(10) ** -power for power in range(-3, 5)]
    widths = [(found.high - found.low, found) for found in map(ratio_at, scales)]
    for (wide, _), (narrow, found) in pairwise(widths):
        assert narrow <= wide * 1.001
        assert found.low <= 1 <= found.high
    assert widths[4][0] < 0.011 * widths[2][0]
    assert widths[-1][0] < 1e-5


def test_quotient_with_an_exact_side_is_the_interval_divided(town):
    answer = town()
    n = answer.at("0.95")["n"]
    over = 1 / answer["n"]
    assert over.low == pytest.approx(1 / n.high)
    assert over.high == pytest.approx(1 / n.low)


def test_different_keys_are_refused_with_what_differs(town):
    answer = town()
    with pytest.raises(KeysError, match="'C'"):
        answer["n"] - town(counts=(1, 2), sums=(1, 2))["n"]
    with pytest.raises(KeysError, match="different columns, 'zone' and 'day'"):
        answer["n"] - town(keys=(("day", ("A", "B", "C")),))["n"]
    with pytest.raises(KeysError, match="different kinds"):
        answer["n"] - town(keys=(("zone", (1, 2, 3)),))["n"]
    with pytest.raises(KeysError, match="more than once"):
        answer["n"] - town(keys=(("zone", ("A", "A", "B")),))["n"]
    flags = town(counts=(1, 2), sums=(1, 2), keys=(("zone", (True, False)),))
    with pytest.raises(KeysError, match="different kinds"):
        flags["n"] - town(counts=(1, 2), sums=(1, 2), keys=(("zone", (1, 0)),))["n"]


def test_different_units_and_relations_are_refused(town):
    with pytest.raises(NeighborsError):
        town()["n"] - town(entry="8", unit=Unit.row())["n"]
    other = town(entry="8", cost=Pure(1, neighbors="replace"))
    with pytest.raises(NeighborsError):
        town()["n"] - other["n"]


def test_different_confidence_is_brought_to_one(town):
    one, two = town()["n"], town(entry="8", confidence="0.9")["n"]
    with pytest.raises(InputError, match=r"at\(\)"):
        one - two
    assert (one - two.at("0.95")).confidence == Fraction(95, 100)


def test_estimate_of_unknown_noise_moves_by_exact_numbers_only(make):
    answer = make([3, 5], keys={"zone": ["A", "B"]})
    moved = 2 * answer["n"] - 1
    assert interval(moved) == [[5, 9], [-185, -181], [195, 199]]
    assert interval(1 - answer["n"])[1:] == [[-97, -99], [93, 91]]
    assert (answer["n"] / 4).value.tolist() == [0.75, 1.25]
    for wrong in (
        lambda: answer["n"] + answer["n"],
        lambda: 1 / answer["n"],
        lambda: answer["n"].within(0, 1),
        lambda: answer["n"].at("0.9"),
    ):
        with pytest.raises(InputError, match="does not say of which noisy numbers"):
            wrong()
    with pytest.raises(RangeError):
        answer["n"] / 0


def test_ranks_stay_ranks_and_text_stays_text(make):
    rank = make([10], covers="rank, noise only", keys={"k": [1]})
    assert (2 * rank["n"]).margin == 95
    text = make(["a"], error=None, keys={"k": [1]})
    with pytest.raises(InputError, match="text"):
        2 * text["n"]


def test_estimate_made_by_hand_cannot_be_computed_with():
    with pytest.raises(InputError, match="made by hand"):
        Estimate(1, 0, 2) + 1


def test_results_are_frozen_and_survive_pickling(town):
    found = town()["fare"] / town()["n"]
    with pytest.raises(FrozenInstanceError):
        found.value = 3
    with pytest.raises(ValueError, match="read-only"):
        found.value[0] = 3
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again == found
    assert 2 * again == 2 * found


def test_empty_answers_compute_to_nothing(town):
    empty = town(counts=(), sums=(), keys=(("zone", ()),))
    assert (empty["fare"] / empty["n"]).value.tolist() == []
    assert (empty["n"] - empty["n"]).value.tolist() == []


def test_what_a_condition_leaves_nothing_of_is_computed_all_the_same(town):
    none = town().where("n < -1")
    mean, count = none["mean"], none["n"]
    made = [mean / mean, mean * count, count * mean, mean + mean, mean - mean]
    assert [interval(found) for found in made] == [[[], [], []]] * len(made)


def test_more_confidence_is_a_wider_interval(town):
    answer = town()
    for made in (answer["n"], answer["fare"] / answer["n"], answer["fare"] - answer["n"]):
        widths = [made.at(sure).halfwidth[0] for sure in ("0.5", "0.9", "0.99")]
        assert all(a < b for a, b in pairwise(widths))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_quotients_with_noise_in_common_hold_their_share_of_the_time(law):
    """6,000 seeded draws: a standard deviation is 0.3 points, and nothing is left to chance."""
    size = 6000
    counts = 20 + np.arange(size) % 300
    sums = (np.arange(size) % 77 - 30) * counts
    kind = mechanisms.DiscreteLaplace if law == "laplace" else mechanisms.DiscreteGaussian
    draws = tuple(
        Noisy(
            name, Noise(law, scale), kind(scale).sample(exact, SeededRng(scale)), count=name == "n"
        )
        for name, exact, scale in (("n", counts, 4), ("s", sums, 60))
    )
    measures = tuple(Measure(d.id, d.values, form=Form.linear({d.id: 1})) for d in draws)
    answer = Release((("i", tuple(range(size))),), measures, "0.95", Pure(1), noisy=draws)
    truth = sums / counts
    for made, exact in (
        (answer["s"] / answer["n"], truth),
        ((answer["s"] + 30 * answer["n"]) / answer["n"], truth + 30),
        (answer["n"] / (answer["s"] + 40 * answer["n"]), 1 / (truth + 40)),
    ):
        held = np.mean((made.low <= exact) & (exact <= made.high))
        assert 0.94 <= held <= 0.97


@pytest.mark.parametrize("part", ["ratio", "common", "share"])
def test_bound_for_too_many_laws_is_wider_and_not_wild(town, monkeypatch, part):
    counts = tuple(range(300, 340))
    sums = tuple(90 * n for n in counts)
    answer = town(counts=counts, sums=sums, keys=(("i", tuple(range(40))),))
    made = {
        "ratio": lambda: answer["fare"] / answer["n"],
        "common": lambda: (answer["fare"] + answer["n"]) / (answer["n"] + 1),
        "share": lambda: answer["n"] / answer.total("n")["n"],
    }[part]
    exact = made()
    monkeypatch.setattr(quotient, "_LAWS", 0)
    bound = made()
    assert bound.value == pytest.approx(exact.value)
    assert (bound.low <= exact.low * (1 + 1e-3)).all()
    assert (bound.high >= exact.high * (1 - 1e-3)).all()
    assert (bound.high - bound.low <= 2.5 * (exact.high - exact.low)).all()
    assert np.isinf((answer["fare"] / (answer["n"] - 320)).high).any()
