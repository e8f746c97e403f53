"""A stream on the laboratory: paid once, asked with questions, answered by the mechanism alone."""

import copy
import os
import pickle

import numpy as np
import pytest

import sfumato as sf
from sfumato import accounting
from sfumato.core.errors import (
    BudgetExceeded,
    InputError,
    RequestError,
    SensitivityError,
    UnitError,
)
from sfumato.mechanisms import DiscreteLaplace, SparseVector
from sfumato.session.histogram import Histogram, Subset
from sfumato.testing.rng import SeededRng

COUNTS = np.array([[5, 0, 30], [7, 100, 1]])
TINY = "1/100"  # noise of this scale is 0 but for one draw in 10^43
AMPLE = sf.Budget(epsilon=10**6)


@pytest.fixture
def lab():
    return sf.lab(COUNTS, budget=AMPLE)


def opened(lab, threshold=50, *columns, **options):
    watch = SparseVector(threshold, TINY, TINY, **{"monotone": True, **options})
    return lab.open(lab.histogram(*columns), watch)


def test_questions_are_answered_by_the_data(lab):
    stream = opened(lab, 50, hits=9)
    mask = np.zeros((2, 3), bool)
    mask[0] = True
    mask[1, 0] = True
    assert not stream.push((0, 2))  # 30
    assert stream.push((1, 1))  # 100
    assert not stream.push(mask)  # 42
    mask[1, 1] = True
    assert stream.push(mask)  # 142
    assert stream.push(mask.astype(int))
    assert stream.push(np.ones((2, 3), bool))
    assert not stream.push(np.zeros((2, 3), bool))


def test_marginals_are_asked_in_the_order_of_their_columns(lab):
    stream = opened(lab, 108, "x1", "x0", hits=9)
    assert not stream.push((1, 1))
    stream = opened(lab, 108, "x0", hits=9)
    assert stream.push(1)  # 7 + 100 + 1
    assert not stream.push(0)
    assert stream.push([False, True])


def test_numbers_come_with_a_hit_and_only_then(lab):
    stream = opened(lab, 50, answer_scale=TINY, hits=2)
    assert stream.push((0, 0)).value is None
    assert stream.push((1, 1)).value.value == 100


def test_a_stream_is_charged_once_and_misses_are_free():
    lab = sf.lab(COUNTS, budget=sf.Budget(epsilon=3))
    watch = SparseVector.calibrate(
        lab.histogram().sensitivity(lab.unit), threshold=10**6, epsilon=2, monotone=True
    )
    stream = lab.open(lab.histogram(), watch)
    assert lab.remaining.epsilon == 1
    for _ in range(100):
        stream.push((1, 1))
    assert lab.remaining.epsilon == 1
    with pytest.raises(BudgetExceeded):
        lab.open(lab.histogram(), watch)
    assert lab.remaining.epsilon == 1


def test_a_used_up_stream_refuses_and_a_new_one_is_charged_again():
    lab = sf.lab(COUNTS, budget=AMPLE)
    stream = opened(lab, hits=2)
    price = AMPLE.epsilon - lab.remaining.epsilon
    stream.push((1, 1)), stream.push((1, 1))
    with pytest.raises(RequestError, match="used up"):
        stream.push((0, 0))
    opened(lab, hits=2)
    assert AMPLE.epsilon - lab.remaining.epsilon == 2 * price


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        (sf.Unit.row(), 2),
        (sf.Unit.rows(3), 6),
        (sf.Unit.row(neighbors="replace"), 3),  # counts move both ways: no longer monotone
    ],
)
def test_the_price_is_that_of_the_unit(unit, times):
    lab = sf.lab(COUNTS, unit=unit, budget=AMPLE)
    lab.open(lab.histogram(), SparseVector(0, 1, 1, monotone=True))
    assert AMPLE.epsilon - lab.remaining.epsilon == times


def test_a_budget_with_delta_pays_in_rho():
    lab = sf.lab(COUNTS, budget=sf.Budget(epsilon=10, delta="1e-6"))
    had = lab.remaining.rho
    watch = SparseVector(0, 4, 4, monotone=True)
    lab.open(lab.histogram(), watch)
    cost = accounting.rho(watch.loss(lab.histogram().sensitivity(lab.unit)))
    assert 0 <= had - lab.remaining.rho - cost <= sf.Budget(rho="1e-15").rho


def test_a_stream_of_a_scope_is_within_it(lab):
    with lab.scope(sf.Budget(epsilon=1)) as inner, pytest.raises(BudgetExceeded):
        inner.open(inner.histogram(), SparseVector(0, 1, 1))


def test_a_stream_on_a_part_sees_the_part(lab):
    part = lab.partition("x0", [0])[0]
    stream = opened(part, 101, "x1", hits=9)
    assert not stream.push(1)
    assert opened(lab, 100, "x1").push(1)


@pytest.mark.parametrize(
    "asked",
    [
        3,
        (2, 0),
        (0, -1),
        (0, 0, 0),
        True,
        "x0",
        None,
        [[1, 1], [0, 0]],
        [[1, 1, 1], [0]],
        [[2, 0, 0], [0, 0, 0]],
        [[-1, 0, 0], [0, 0, 0]],
        [[0.5, 0, 0], [0, 0, 0]],
        [[1.0, 0, 0], [0, 0, 0]],
    ],
)
def test_only_cells_of_the_histogram_are_counted(lab, asked):
    stream = opened(lab)
    with pytest.raises(InputError, match="names cells"):
        stream.push(asked)
    assert stream.push((1, 1))


def test_questions_about_another_histogram_are_refused(lab):
    stream = opened(lab, 50, "x0")
    with pytest.raises(InputError, match="another histogram"):
        stream.push(lab.histogram("x1").subset(0))
    assert stream.push(lab.histogram("x0").subset(1))


def test_a_question_that_moves_further_than_was_paid_for_is_refused():
    from sfumato.testing import FakeCurator, FakeQuery

    curator = FakeCurator([{"n": 70}], budget=AMPLE)
    one, two = (
        FakeQuery("n", lambda rows: sum(r["n"] for r in rows), sf.Sensitivity(linf=moved))
        for moved in (1, 2)
    )
    stream = curator.open(one, SparseVector(50, TINY, TINY))
    with pytest.raises(SensitivityError, match="can move by 2"):
        stream.push(two)
    other = FakeQuery("n", len, sf.Sensitivity(linf=1, neighbors="replace"))
    with pytest.raises(SensitivityError, match="replace"):
        stream.push(other)
    assert stream.push(one)


def test_what_cannot_be_opened_is_refused_unpaid(lab):
    for query, mechanism in [
        (lab.histogram(), DiscreteLaplace(1)),
        (Histogram(("age",), (3,)), SparseVector(0, 1, 1)),
        ("x0", SparseVector(0, 1, 1)),
    ]:
        with pytest.raises(InputError):
            lab.open(query, mechanism)
    assert lab.remaining.epsilon == AMPLE.epsilon


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_is_not_copied(lab, copied):
    with pytest.raises(InputError, match="not copied or stored"):
        copied(opened(lab))


def test_a_stream_shows_neither_data_nor_noise(lab):
    shown = {repr(lab.open(lab.histogram(), SparseVector(0, 1000, 1000))) for _ in range(10)}
    assert shown == {"<open interaction: <comparisons with a noisy threshold; hits left: 1>>"}


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_subsets_of_neighbors_differ_by_no_more(seed, rows, relation):
    rng, unit = np.random.default_rng(seed), sf.Unit.rows(rows, neighbors=relation)
    histogram = Histogram(("x", "y"), (3, 4))
    before = rng.integers(rows, 9, (3, 4))
    after = before.copy()
    for _ in range(rows):
        after[tuple(rng.integers((3, 4)))] += 1
        if relation == "replace":
            after[tuple(rng.choice(np.argwhere(after > 0)))] -= 1
    moves = []
    for density in (0, 0.3, 0.6, 1):
        mask = rng.random((3, 4)) < density
        subset = histogram.subset(mask)
        moves.append(int(after[mask].sum() - before[mask].sum()))
        assert abs(moves[-1]) <= subset.sensitivity(unit).linf <= histogram.sensitivity(unit).linf
    if relation == "add_remove":
        assert min(moves) >= 0  # monotone


def test_a_subset_is_a_query_of_one_number(lab):
    with pytest.raises(UnitError):
        lab.histogram().subset((0, 0)).sensitivity(sf.Unit.by("id", max_rows=2))
    with pytest.raises(InputError, match="no SQL"):
        lab.histogram().subset((0, 0)).lower("duckdb")
    subset = lab.histogram().subset((0, 0))
    assert isinstance(subset, Subset)
    assert subset.shape.cells == 1
    assert subset == lab.histogram().subset([[1, 0, 0], [0, 0, 0]])


def test_mechanism_of_something_else_is_not_given_cells():
    lab = sf.lab([3, 1, 4])
    for mechanism in (
        sf.mechanisms.StabilityHistogram(1, 14),
        sf.mechanisms.TriangleCount(9, 1, 1, 1),
        sf.mechanisms.Quantile(q="0.5", low=0, high=9, step=1, rate=1),
        sf.mechanisms.SmoothMedian(0, 9, 1, beta=1, rate=1),
    ):
        with pytest.raises(sf.errors.InputError, match="takes something else"):
            lab.measure(lab.histogram(), mechanism)
    assert lab.remaining == sf.lab([3, 1, 4]).remaining


def test_laboratory_refuses_counts_whose_sums_would_wrap():
    with pytest.raises(sf.errors.DataError, match=r"2\^61"):
        sf.lab(np.array([2**60, 2**60]))
    with pytest.raises(sf.errors.DataError, match=r"2\^61"):
        sf.lab(np.array([2**63 + 5], np.uint64))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_run_does_not_go_on_in_a_forked_process():
    run = SparseVector(100, 1, 1).start(SeededRng(1))
    child = os.fork()
    if not child:  # pragma: no cover - another process
        try:
            run.push(10**6)
        except sf.errors.InputError:
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert run.push(10**6).above
