"""Sensitivities of the structure mechanisms, checked on random neighbors."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms.grid import _shift
from sfumato.mechanisms.quantile import _intervals

M, S = sf.mechanisms, sf.Sensitivity
grids = st.integers(2, 40)
quantiles = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)


def brute_scores(data, points, q):
    a, b = q.numerator, q.denominator
    data = np.array(data, np.int64)
    return [
        -abs((b - a) * int((data < x).sum()) - a * int((data > x).sum())) for x in range(points)
    ]


@given(grids, st.lists(st.integers(0, 39), max_size=12), quantiles)
def test_intervals_hold_every_point_with_its_own_score(points, data, q):
    data = sorted(min(x, points - 1) for x in data)
    starts, lengths, scores = _intervals(np.array(data, np.int64), points, q)
    assert lengths.sum() == points and (lengths >= 0).all()
    spread = np.repeat(scores, lengths)
    assert spread.tolist() == brute_scores(data, points, q)
    assert (starts[lengths > 0] == np.cumsum(np.append(0, lengths[:-1]))[lengths > 0]).all()


@given(grids, st.lists(st.integers(0, 39), max_size=12), st.integers(0, 39), quantiles)
def test_one_row_moves_no_rank_error_further_than_claimed(points, data, row, q):
    data = [min(x, points - 1) for x in data]
    row = min(row, points - 1)
    mechanism = M.Quantile(q, 0, max(points - 1, 1), 1, 1)
    before = np.array(brute_scores(data, points, q))
    added = np.array(brute_scores([*data, row], points, q))
    claimed = mechanism.loss(S(l1=1)).epsilon / 2 * q.denominator
    assert np.abs(before - added).max() <= claimed
    if data:
        replaced = np.array(brute_scores([*data[1:], row], points, q))
        claimed = mechanism.loss(S(l1=1, neighbors="replace")).epsilon / 2 * q.denominator
        assert np.abs(before - replaced).max() <= claimed


reals = st.floats(-1e6, 1e6)


@given(
    st.lists(st.tuples(reals, reals), min_size=1, max_size=4),
    st.fractions(Fraction(1, 1000), Fraction(3), max_denominator=1000),
)
def test_rounding_to_the_grid_adds_no_more_than_charged(pairs, step):
    mechanism = M.GridLaplace(step, step)
    a, b = (mechanism.exact([pair[i] for pair in pairs]) for i in (0, 1))
    changes = [abs(Fraction(x) - Fraction(y)) for x, y in pairs]
    true = S(l0=sum(c > 0 for c in changes), l1=sum(changes), linf=max(changes))
    l1, linf = _shift(true, step)
    assert np.abs(a - b).sum() <= l1
    assert np.abs(a - b).max() <= linf


@given(reals, reals, st.fractions(Fraction(1, 1000), Fraction(3), max_denominator=1000))
def test_flooring_a_score_adds_no_more_than_charged(x, y, step):
    change = abs(Fraction(x) - Fraction(y))
    a, b = M.Exponential(["a", "b"], rate=1, step=step).exact([x, y])
    floored = abs(int(a) - int(b)) * step
    assert floored <= -(-change // step) * step


@settings(deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 50),
    st.fractions(Fraction(1, 100), Fraction(20), max_denominator=100),
    st.sampled_from(["add_remove", "replace"]),
)
def test_calibrated_losses_fit_their_epsilon(l0, linf, epsilon, relation):
    s = S(l0=l0, linf=linf, neighbors=relation)
    for mechanism in (
        M.DiscreteLaplace.calibrate(s, epsilon=epsilon),
        M.GridLaplace.calibrate(s, step="1/2", epsilon=epsilon),
        M.Exponential.calibrate(s, candidates=["a", "b"], epsilon=epsilon),
        M.Quantile.calibrate(s, low=0, high=9, step=1, epsilon=epsilon),
    ):
        loss = mechanism.loss(s)
        assert loss.neighbors == relation
        assert sf.accounting.epsilon(loss) <= epsilon


values = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.fractions(max_denominator=1000),
    st.sampled_from([2**53 + 1, 2**63, -(2**63), 0.5, 1e308, 2**62 + 511]),
)


@given(st.lists(values, max_size=6), values)
def test_a_row_does_not_change_how_the_others_are_read(rows, row):
    # A list has no type of its own: one float or huge integer must not round everybody else.
    for mechanism in (
        M.Quantile(q="0.5", low=0, high=2**60, step=1, rate=1),
        M.GridLaplace(1, 1),
        M.GridLaplace(scale=1, step="1/3"),
    ):
        alone = mechanism.exact(rows)
        assert mechanism.exact([*rows, row])[: len(rows)].tolist() == alone.tolist()


@given(st.lists(values, min_size=1, max_size=6), values, values)
def test_a_score_does_not_change_how_the_others_are_read(scores, one, other):
    choice = M.Exponential(list(range(len(scores) + 1)), rate=1)
    a, b = choice.exact([*scores, one]), choice.exact([*scores, other])
    assert a[:-1].tolist() == b[:-1].tolist()


@given(st.lists(values, max_size=6))
def test_structure_mechanisms_answer_whatever_the_numbers(rows):
    for mechanism in (
        M.Quantile(q="0.5", low=0, high=2**60 + 200, step=1, rate=1),
        M.Quantile(q="0.5", low=-(2**61), high=2**61 - 1, step=1, rate=1),
        M.GridLaplace(1, "1e-9"),
    ):
        for given_rows in (rows, np.array([float(x) for x in rows])):
            drawn = mechanism(given_rows)
            if isinstance(mechanism, M.Quantile):
                assert mechanism.low <= drawn <= mechanism.high
            else:
                assert np.shape(drawn) == (len(rows),)
    if rows:
        assert M.Exponential(list(range(len(rows))), rate=1)(rows) in range(len(rows))
