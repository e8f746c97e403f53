"""The sparse vector technique: its price, its split, its runs and its accuracy."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.bulk import many
from sfumato.core.errors import (
    CostError,
    DataError,
    InputError,
    RangeError,
    RequestError,
    SensitivityError,
)
from sfumato.mechanisms import AboveThreshold, SparseVector
from sfumato.mechanisms.comparison import Comparison, ComparisonError
from sfumato.testing import SeededRng

S = sf.Sensitivity
ONE, HERS = S(linf=1), S(linf=1, neighbors="replace")
TINY = "1/100"  # noise of this scale is 0 but for one draw in 10^43
SURE = SparseVector(10, TINY, TINY, hits=2)


def laplace(scale):
    reach = int(40 * scale) + 5
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(places) / scale)
    return places, weights / weights.sum()


# The price


@pytest.mark.parametrize(
    ("monotone", "sensitivity", "epsilon"),
    [
        (False, ONE, Fraction(1, 5) + Fraction(2 * 3, 7)),
        (True, ONE, Fraction(1, 5) + Fraction(3, 7)),
        (False, HERS, Fraction(1, 5) + Fraction(2 * 3, 7)),
        (True, HERS, Fraction(1, 5) + Fraction(2 * 3, 7)),  # counts move both ways
        (True, S(linf=4), 4 * (Fraction(1, 5) + Fraction(3, 7))),
        (True, S(linf="7/2"), 4 * (Fraction(1, 5) + Fraction(3, 7))),  # rounded up
        (True, S(linf=0), 0),
    ],
)
def test_loss_is_once_for_the_threshold_and_for_each_hit(monotone, sensitivity, epsilon):
    loss = SparseVector(0, 5, 7, hits=3, monotone=monotone).loss(sensitivity)
    assert (loss.epsilon, loss.neighbors) == (epsilon, sensitivity.neighbors)


def test_loss_of_fresh_noise_is_added_and_that_of_gaps_is_not():
    plain = SparseVector(0, 5, 7, hits=3).loss(ONE).epsilon
    assert SparseVector(0, 5, 7, hits=3, gap=True).loss(ONE).epsilon == plain
    with_numbers = SparseVector(0, 5, 7, hits=3, answer_scale=2)
    assert with_numbers.loss(ONE).epsilon == plain + Fraction(3, 2)


def test_loss_does_not_believe_that_few_numbers_move():
    # Questions that are still to come may move too: l0 and l1 are of something else.
    assert SURE.loss(S(l0=1, l1=1)).epsilon == SURE.loss(ONE).epsilon


@given(
    st.integers(1, 30),
    st.integers(1, 100),
    st.booleans(),
    st.sampled_from(["add_remove", "replace"]),
    st.fractions(Fraction(1, 100), Fraction(20), max_denominator=100),
    st.sampled_from([None, Fraction(1, 3)]),
)
def test_calibrate_spends_exactly_what_it_may(hits, linf, monotone, relation, epsilon, share):
    moved = S(linf=linf, neighbors=relation)
    numeric = None if share is None else share * epsilon
    made = SparseVector.calibrate(
        moved, threshold=5, hits=hits, monotone=monotone, numeric=numeric, epsilon=epsilon
    )
    assert made.loss(moved).epsilon == epsilon
    if numeric is not None:
        assert hits * linf / made.answer_scale == numeric


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("hits", [1, 4, 25])
def test_calibrate_splits_where_the_noise_of_a_comparison_is_least(hits, monotone):
    made = SparseVector.calibrate(ONE, threshold=0, hits=hits, monotone=monotone, epsilon=1)
    shifts = hits * (1 if monotone else 2)
    first, second = 1 / made.threshold_scale, shifts / made.query_scale
    assert float(second / first) == pytest.approx(shifts ** (2 / 3), abs=2e-6)

    def variance(share):
        return (1 / share) ** 2 + (shifts / (1 - share)) ** 2

    least = variance(first)
    assert least < variance(first * Fraction(101, 100))
    assert least < variance(first * Fraction(99, 100))


def test_calibrate_takes_rho():
    made = SparseVector.calibrate(ONE, threshold=0, hits=3, rho="0.5")
    assert sf.accounting.rho(made.loss(ONE)) <= Fraction(1, 2)
    assert made.loss(ONE).epsilon > Fraction(99, 100)


def test_above_threshold_ends_with_its_first_hit():
    assert AboveThreshold is SparseVector
    assert AboveThreshold(10, TINY, TINY)([3, 11, 12]) == [False, True]


# Rows


def test_a_row_is_answered_up_to_the_last_hit():
    assert SURE([9, 10, 3, 11, 50]) == [False, True, False, True]
    assert SURE([9, 10]) == [False, True]
    assert SURE([]) == []
    drawn = SURE.sample(SURE.exact([9, 10, 3, 11, 50]), SeededRng(1))
    assert drawn.tolist() == [0, 1, 0, 1, -1]


def test_a_threshold_between_whole_numbers_is_rounded_up():
    made = SparseVector("10.5", TINY, TINY)
    assert made.threshold == 11
    assert made([10, 11]) == [False, True]
    assert SparseVector("-10.5", TINY, TINY).threshold == -10


@pytest.mark.parametrize("options", [{"gap": True}, {"answer_scale": TINY}])
def test_hits_tell_their_number(options):
    made = SparseVector(10, TINY, TINY, hits=2, **options)
    assert made([9, 30, 3, 11, 50]) == [None, 30, None, 11]


def test_numbers_have_noise_of_their_own():
    # The noise of the comparison is huge; what a hit tells has none of it.
    made = SparseVector(-(10**9), 1, 10**4, answer_scale=TINY)
    rows = made.exact([77])
    assert {made.sample(rows, SeededRng(seed))[0, 1] for seed in range(20)} == {77}
    streams = (made.start(SeededRng(seed)) for seed in range(20))
    assert {stream.push(77).value.value for stream in streams} == {77}


@pytest.mark.parametrize("scale", [1, 2**40, 2**60])
@pytest.mark.parametrize("threshold", [-(2**60), 0, 2**60])
@pytest.mark.parametrize("options", [{}, {"gap": True}, {"answer_scale": 2**60}])
def test_huge_numbers_are_compared_without_overflow(scale, threshold, options):
    made = SparseVector(threshold, scale, scale, hits=4, **options)
    row = made.exact([2**63 - 1, -(2**63), 0, 2**60])
    for seed in range(5):
        drawn = made.sample(row, SeededRng(seed))
        assert drawn.dtype == np.int64
        stream = made.start(SeededRng(seed))
        for value in (2**63 - 1, -(2**63), 10**30):
            stream.push(value)
    if scale == 1 and not threshold and not options:
        assert made.sample(row, SeededRng(0)).tolist()[:2] == [1, 0]
        assert made.sample(row, SeededRng(0)).tolist()[3] == 1


@pytest.mark.parametrize(
    ("values", "kind"), [([1.5], DataError), ([[1, 2]], DataError), (3, DataError)]
)
def test_only_a_row_of_whole_numbers_is_taken(values, kind):
    with pytest.raises(kind):
        SURE(values)


def test_release_has_the_questions_that_were_asked():
    answer = SURE.release([9, 10, 3, 11, 50], ONE, keys={"zone": list("abcde")})
    assert answer.keys == (("zone", ("a", "b", "c", "d")),)
    assert answer.measures[0].values == (0, 1, 0, 1)
    assert answer.measures[0].margin == 0
    assert answer.cost == SURE.loss(ONE)


@pytest.mark.parametrize("options", [{"gap": True}, {"answer_scale": TINY}])
def test_release_with_numbers_has_a_row_for_each_hit(options):
    made = SparseVector(10, TINY, TINY, hits=2, **options)
    answer = made.release([9, 30, 3], ONE)
    assert answer.keys == (("question", (1,)),)
    assert (answer.measures[0].name, answer.measures[0].values) == ("value", (30,))
    assert answer.measures[0].low == (30,)
    assert len(made.release([1, 2], ONE)) == 0


def test_release_refuses_before_it_draws():
    with pytest.raises(InputError):
        SURE.release([1, 2], ONE, keys={"zone": ["a"]})


# Runs


def first_hit_law(made, row):
    """P(the first hit is at i), and P(none), summed over the noise of the threshold."""
    rho, odds = laplace(float(made.threshold_scale))
    nu, mass = laplace(float(made.query_scale))
    law = []
    for q in row:
        needed = made.threshold + rho - q
        above = np.array([mass[nu >= x].sum() for x in needed])
        law.append((odds * above).sum())
        odds = odds * (1 - above)
    return np.array([*law, odds.sum()])


def place(answers):
    return answers.index(True) if True in answers else len(answers)


def pushed(made, row, rng):
    stream, answers = made.start(rng), []
    for value in row:
        answers.append(bool(stream.push(value)))
        if answers[-1]:
            break
    return answers.index(True) if answers[-1] else len(row)


def one_by_one(made, row, runs):
    rng, exact = SeededRng(3), made.exact(row)
    return [place(made.view(made.sample(exact, rng))) for _ in range(runs)]


def as_streams(made, row, runs):
    rng = SeededRng(4)
    return [pushed(made, row, rng) for _ in range(runs)]


def in_bulk(made, row, runs):
    drawn = many(made, made.exact(row), runs, SeededRng(5))
    return [place((answers == 1).tolist()) for answers in drawn]


@pytest.mark.parametrize(
    ("drawn", "runs"), [(one_by_one, 2000), (as_streams, 2000), (in_bulk, 40_000)]
)
def test_rows_streams_and_bulk_have_one_law(drawn, runs):
    made, row = SparseVector(3, 2, "5/2"), [1, 3, 0, 4]
    expected = first_hit_law(made, row) * runs
    observed = np.bincount(drawn(made, row, runs), minlength=5)
    # Chi-square with 4 degrees of freedom is beyond 50 less than once in 10^9.
    assert ((observed - expected) ** 2 / expected).sum() < 50


def test_a_run_ends_after_its_hits_and_says_so():
    stream = SURE.start(SeededRng(1))
    assert [bool(stream.push(q)) for q in (3, 12, 4, 5)] == [False, True, False, False]
    assert stream.left == 1
    assert stream.push(11) == Comparison(True)
    assert stream.left == 0
    for _ in range(3):
        with pytest.raises(RequestError, match=r"used up.*Open a new one"):
            stream.push(3)


def test_a_run_takes_whole_numbers_only_and_a_refusal_takes_nothing():
    stream = SURE.start(SeededRng(1))
    for wrong in (1.5, True, "12", None, [12]):
        with pytest.raises(InputError):
            stream.push(wrong)
    assert stream.left == 2
    assert stream.push(np.int64(12))


def test_threads_do_not_take_more_hits_than_there_are():
    stream = SparseVector(0, TINY, TINY, hits=5).start(SeededRng(1))

    def hit(_):
        try:
            return bool(stream.push(100))
        except RequestError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hit, range(64))) == 5


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, pickle.dumps, lambda s: pickle.dumps(s, protocol=0)]
)
def test_a_run_is_not_copied(copied):
    with pytest.raises(InputError, match="not copied or stored"):
        copied(SURE.start(SeededRng(1)))


def test_a_run_does_not_show_its_noise():
    made = SparseVector(0, 1000, 1000)
    shown = {repr(made.start(SeededRng(seed))) for seed in range(10)}
    assert shown == {"<comparisons with a noisy threshold; hits left: 1>"}
    with pytest.raises(TypeError):
        vars(made.start(SeededRng(1)))


@pytest.mark.parametrize(
    ("options", "covers", "width"),
    [
        ({"answer_scale": 7}, "noise only", sf.mechanisms.DiscreteLaplace(7)),
        ({"gap": True}, "noise only, before selection", SparseVector(0, 3, 5)),
    ],
)
def test_numbers_of_a_run_carry_their_interval(options, covers, width):
    answer = SparseVector(-(10**6), 3, 5, **options).start(SeededRng(2)).push(0)
    reach = width.error(ONE).halfwidth(Fraction(95, 100))
    assert answer.value.covers == covers
    assert answer.value.high - answer.value.value == reach == answer.value.value - answer.value.low


# Accuracy


def all_within(first, second, queries, a):
    """P(all |ν - ρ| <= a), straight from the laws."""
    rho, weights = laplace(first)
    nu, mass = laplace(second)
    sums = np.append(0, np.cumsum(mass))
    low, high = (np.searchsorted(nu, rho + end) for end in (-a, a + 1))
    return float((weights * (sums[high] - sums[low]) ** queries).sum())


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("queries", [1, 2, 30, 1000])
@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 4), (0.5, 3), (9, 2.5)])
def test_accuracy_is_the_least_that_holds(first, second, queries, confidence):
    found, sure = SparseVector(0, first, second).accuracy(queries, confidence), float(confidence)
    assert all_within(first, second, queries, found) >= sure - 1e-12
    # A thousandth of the allowed failure is given away for the far ends of the law.
    assert not found or all_within(first, second, queries, found - 1) < sure + (1 - sure) / 1000


@pytest.mark.parametrize("scale", [500, 2**30, 2**60])
def test_accuracy_of_wide_noise_is_rounded_up_a_little(scale):
    # In units of its scale wide noise is like noise of scale 50, to a part in fifty.
    wide = ComparisonError(Fraction(scale), Fraction(scale), 10).halfwidth(Fraction(95, 100))
    like = ComparisonError(Fraction(50), Fraction(50), 10).halfwidth(Fraction(95, 100))
    assert like / 50 <= wide / scale * Fraction(51, 50) <= like / 50 * Fraction(53, 50)


def test_accuracy_holds_in_simulation_whoever_asks():
    # Far numbers, some above and some below, in an order that depends on the answers.
    made, queries, runs = SparseVector(0, 3, 6, hits=20), 20, 1500
    reach = made.accuracy(queries, "0.9")
    failed, rng = 0, SeededRng(8)
    for _ in range(runs):
        stream, side = made.start(rng), 1
        for _ in range(queries):
            answer = bool(stream.push(side * (reach + 1)))
            if answer != (side > 0):
                failed += 1
                break
            side = -side
    # 0.1 of the runs at most; six standard deviations more happen less than once in 10^9.
    assert failed <= 0.1 * runs + 6 * (0.1 * 0.9 * runs) ** 0.5


def test_accuracy_is_not_idle_in_simulation():
    made, runs = SparseVector(0, 3, 6), 1500
    reach, rng = made.accuracy(1, "0.5"), SeededRng(9)
    far = sum(not made.start(rng).push(reach - 1) for _ in range(runs))
    # One side of the law: a little more than a quarter.
    assert far >= 0.25 * runs - 6 * (0.25 * 0.75 * runs) ** 0.5


@pytest.mark.parametrize("queries", [0, -1, 1.5, True])
def test_accuracy_counts_questions(queries):
    with pytest.raises(RangeError):
        SURE.accuracy(queries)


# Refusals


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"hits": 0}, RangeError),
        ({"hits": 1.5}, RangeError),
        ({"hits": True}, RangeError),
        ({"hits": 10**7}, RangeError),
        ({"threshold": 2**61}, RangeError),
        ({"threshold_scale": 0}, RangeError),
        ({"threshold_scale": None}, InputError),
        ({"query_scale": "1e-9"}, RangeError),
        ({"answer_scale": -1}, RangeError),
        ({"monotone": "yes"}, InputError),
        ({"gap": 1}, InputError),
        ({"gap": True, "answer_scale": 1}, InputError),
    ],
)
def test_parameters_that_make_no_sense_are_refused(change, kind):
    with pytest.raises(kind):
        SparseVector(**{"threshold": 0, "threshold_scale": 1, "query_scale": 1, **change})


def test_calibrate_refuses_to_leave_nothing_for_comparisons():
    with pytest.raises(CostError, match="nothing is left to compare"):
        SparseVector.calibrate(ONE, threshold=0, epsilon=1, numeric=1)
    with pytest.raises(SensitivityError):
        SparseVector.calibrate(S(linf=0), threshold=0, epsilon=1)


def test_laws_of_neighbors_reach_what_is_charged():
    # The price is not only enough but needed: long rows of misses, then a hit.
    made = SparseVector(0, 2, 4)
    one, other = ([-3 + moved] * 60 + [-moved] for moved in (0, 1))
    ratio = first_hit_law(made, one)[60] / first_hit_law(made, other)[60]
    assert exp(0.99) < ratio <= exp(float(made.loss(ONE).epsilon))
