"""Sample and aggregate: who goes where, what failing programs count as, and what it costs."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.core import errors
from sfumato.core.loss import BoundedRange, LaplaceShift
from sfumato.mechanisms.aggregate import assign
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
KINDS = ("mean", "median", "winsorized")


def built(function=fmean, blocks=5, epsilon=1, **more):
    grid = {"low": 0, "high": 10, "step": "1/4"} | more
    return M.SampleAggregate(function, blocks, epsilon=epsilon, **grid)


@pytest.mark.parametrize(("blocks", "each"), [(4, 1), (4, 2), (4, 4), (5, 3)])
def test_rows_go_to_different_blocks_all_choices_alike(blocks, each):
    homes = assign(30_000, blocks, each, SeededRng(5))
    assert homes.shape == (30_000, each)
    found, counts = np.unique(np.sort(homes, axis=1), axis=0, return_counts=True)
    assert {tuple(row) for row in found.tolist()} == set(combinations(range(blocks), each))
    expected = 30_000 / len(found)
    # 10 choices at most; a false alarm has probability below 10^-9.
    assert np.abs(counts - expected).max() <= 6.5 * np.sqrt(expected)


def test_one_row_touches_its_own_blocks_only():
    seen = []

    def remember(rows):
        seen.append(sorted(rows))
        return 0

    # Eight blocks take one word a row, that of its place, so a row at the end moves no other.
    for rows in (range(50), range(51)):
        mechanism = built(remember, blocks=8)
        seen.clear()
        mechanism.sample(mechanism.exact(list(rows)), SeededRng(9))
        if len(rows) == 50:
            before = [list(block) for block in seen]
    changed = [(a, b) for a, b in zip(before, seen, strict=True) if a != b]
    assert len(seen) == 8
    assert [(b[:-1], b[-1]) for _, b in changed] == [(a, 50) for a, _ in changed]
    assert len(changed) == 1


def test_every_row_is_in_as_many_blocks_as_stated():
    seen = []
    mechanism = built(lambda rows: seen.extend(rows.tolist()) or 0, blocks=6, resample=3)
    mechanism.sample(np.arange(40), SeededRng(1))
    assert np.bincount(seen).tolist() == [3] * 40


def fails(rows):
    raise KeyError(rows)


def leaves(rows):
    raise SystemExit(len(rows))


@pytest.mark.parametrize(
    "program",
    [
        fails,
        leaves,
        lambda rows: float("nan"),
        lambda rows: None,
        lambda rows: "5",
        lambda rows: [1.0],
        lambda rows: np.array([1.0, 2.0]),
        lambda rows: True,
        lambda rows: 1j,
        lambda rows: rows[10**6],
    ],
)
@pytest.mark.parametrize("aggregate", KINDS)
def test_a_program_that_fails_counts_as_the_middle(program, aggregate):
    mechanism = built(program, aggregate=aggregate, epsilon=5000)
    assert mechanism([1, 2, 3]) == pytest.approx(5, abs=0.3)


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        (lambda rows: float("inf"), 10),
        (lambda rows: -1e300, 0),
        (lambda rows: 10**400, 10),
        (lambda rows: np.float32(2.5), 2.5),
        (lambda rows: np.array(2.5), 2.5),
        (lambda rows: Fraction(10, 4), 2.5),
        (lambda rows: np.int8(3), 3),
    ],
)
def test_answers_are_clamped_and_rounded(program, answer):
    assert built(program, aggregate="median", epsilon=500)([1, 2, 3]) == answer


def test_a_program_cannot_change_the_rows_of_another_block():
    def greedy(rows):
        for row in rows:
            row[0] += 100
        return rows[0][0]

    rows = [[1] for _ in range(30)]
    mechanism = built(greedy, blocks=3, resample=3, high=1000, aggregate="median", epsilon=500)
    assert mechanism(rows) == 101
    assert rows == [[1]] * 30
    array = np.ones((30, 1))
    assert mechanism(array) == 101
    assert array.sum() == 30
    objects = np.empty(30, object)
    objects[:] = [[1] for _ in range(30)]
    assert mechanism(objects) == 101


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("rows", "resample", "changed"), [(1, 1, 1), (1, 3, 3), (2, 2, 4), (9, 1, 5)]
)
def test_a_unit_costs_what_its_blocks_cost(rows, resample, changed, relation):
    s = S(l1=rows, neighbors=relation)
    for aggregate in KINDS:
        loss = built(aggregate=aggregate, resample=resample, epsilon="1/2").loss(s)
        assert accounting.epsilon(loss) == Fraction(changed, 2)
        assert loss.neighbors == relation
    assert built(resample=resample).loss(s) == LaplaceShift(
        40, changed * 40, changed * 40, neighbors=relation
    )
    median = built(aggregate="median", resample=resample, epsilon=2).loss(s)
    assert median == BoundedRange(2 * changed, neighbors=relation)


@pytest.mark.parametrize("aggregate", KINDS)
@pytest.mark.parametrize("cost", [{"epsilon": "0.3"}, {"rho": "0.02"}])
def test_calibrated_mechanisms_fit(aggregate, cost):
    s = S(l1=2)
    made = M.SampleAggregate.calibrate(
        s, function=fmean, blocks=20, low=0, high=1, step="0.01", aggregate=aggregate, **cost
    )
    loss = made.loss(s)
    if "epsilon" in cost:
        assert accounting.epsilon(loss) == Fraction("0.3")
    else:
        assert Fraction("0.002") < accounting.rho(loss) <= Fraction("0.02")


def test_the_three_averages_find_the_mean():
    data = np.sin(np.arange(4000)) * 3 + 5
    for aggregate, tolerance in (("mean", 0.6), ("median", 0.6), ("winsorized", 0.6)):
        mechanism = built(blocks=100, epsilon=3, aggregate=aggregate)
        drawn = [float(mechanism.grid(mechanism.sample(data, SeededRng(i)))) for i in range(20)]
        assert np.mean(drawn) == pytest.approx(5, abs=tolerance)


def test_winsorized_noise_follows_the_quartiles():
    data = [5.0] * 2000
    wide = {"low": -(10**6), "high": 10**6, "step": 1, "blocks": 100, "epsilon": 16}
    spread = {}
    for aggregate in ("mean", "winsorized"):
        mechanism = M.SampleAggregate(fmean, aggregate=aggregate, **wide)
        drawn = [float(mechanism.grid(mechanism.sample(data, SeededRng(i)))) for i in range(30)]
        spread[aggregate] = np.median(np.abs(np.array(drawn) - 5))
    assert spread["winsorized"] < spread["mean"] / 20


def test_releases_carry_what_is_public():
    mean = built(blocks=8).release([1.0] * 50, S(l1=1), name="x").measures[0]
    assert mean.scale == Fraction(10, 8)
    assert mean.covers == "noise only"
    assert (mean.values[0] * 4 * 8).denominator == 1
    median = built(aggregate="median").release([1.0] * 50, S(l1=1), name="x").measures[0]
    assert median.covers == "rank, noise only"
    assert median.scale is None
    assert built(aggregate="winsorized").release([1.0], S(l1=1)).measures[0].scale is None
    assert isinstance(built(aggregate="median", step=1)([1.0]), int)


def test_empty_data_and_empty_blocks_are_answered():
    for aggregate in KINDS:
        assert isinstance(float(built(aggregate=aggregate)([])), float)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"function": 5}, errors.CandidateError),
        ({"aggregate": "mode"}, errors.CandidateError),
        ({"blocks": 0}, errors.RangeError),
        ({"blocks": "3/2"}, errors.RangeError),
        ({"blocks": 2**20 + 1}, errors.RangeError),
        ({"resample": 6}, errors.RangeError),
        ({"resample": 0}, errors.RangeError),
        ({"epsilon": 0}, errors.RangeError),
        ({"step": "1e-17", "blocks": 2**10}, errors.RangeError),
        ({"low": 10}, errors.SchemaError),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(bad, error):
    with pytest.raises(error):
        built(**bad)


@pytest.mark.parametrize("rows", [5, "rows", {1: 2}, np.array(3), None], ids=repr)
def test_rows_are_a_list_or_an_array(rows):
    with pytest.raises(errors.DataError, match="rows"):
        built()(rows)


def test_order_of_the_rows_has_no_part_in_the_answer():
    def first(rows):
        return rows[0] if len(rows) else 0

    mechanism = built(first, blocks=4)
    rows, rng = [0] * 200 + [9] * 200, SeededRng(3)
    means = [
        np.mean([mechanism.sample(mechanism.exact(given), rng) for _ in range(300)])
        for given in (rows, rows[::-1])
    ]
    exact = 4 * mechanism._position(9) / 2
    # The standard deviation of a mean is below 4; in order of arrival each would be 72 off.
    assert np.abs(np.array(means) - exact).max() < 28


class Odd(BaseException):
    """None of the usual kinds."""


def test_block_that_fails_in_any_way_counts_as_the_middle():
    def odd(rows):
        raise Odd

    for program in (odd, lambda rows: Decimal("1e999999")):
        mechanism = built(program, blocks=4)
        assert mechanism._answer([1], np.array([0])) in (mechanism._last // 2, mechanism._last)
