"""The inputs that audits start from are neighbors, and go as far as neighbors may."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.neighbor import inputs, sensitivity_of

M = sf.mechanisms
S = sf.Sensitivity
NORMS = [
    S(l0=1, l1=1),
    S(l0=1, l1=3),
    S(l1=4),
    S(l0=5, linf=2),
    S(l2="5/2"),
    S(l2_squared=9, linf=2),
    S(l0=3, l1=2, linf=1, neighbors="replace"),
]


def difference(a, b):
    pairs = zip(np.ravel(a).tolist(), np.ravel(b).tolist(), strict=True)
    return [abs(Fraction(y) - Fraction(x)) for x, y in pairs]


def check_norms(moves, s):
    assert s.l0 is None or sum(move > 0 for move in moves) <= s.l0
    assert s.l1 is None or sum(moves) <= s.l1
    assert s.l2_squared is None or sum(move**2 for move in moves) <= s.l2_squared
    assert max(moves) <= s.linf


@pytest.mark.parametrize("s", NORMS, ids=repr)
@pytest.mark.parametrize("mechanism", [M.DiscreteLaplace(1), M.DiscreteGaussian(1)], ids=repr)
def test_integers_move_within_the_norms_and_reach_them(mechanism, s):
    pairs = inputs(mechanism, s)
    for a, b in pairs:
        check_norms(difference(a, b), s)
        mechanism.exact(a), mechanism.exact(b)
    assert max(max(difference(a, b)) for a, b in pairs) == int(s.linf)
    if s.l1 is not None and s.l0 != 1:
        assert max(sum(difference(a, b)) for a, b in pairs) == s.l1


def test_integers_include_both_ends_of_the_range_and_mixed_moves():
    pairs = inputs(M.DiscreteLaplace(1), S(l0=4, linf=1))
    assert any(np.max(b) == 2**63 - 1 for _, b in pairs)
    moves = [np.sign(np.subtract(b, a)).tolist() for a, b in pairs if np.ndim(a)]
    assert [1, 1, 1, 1] in moves
    assert [1, -1, 1, -1] in moves


@pytest.mark.parametrize("s", [S(l0=1, l1="3/10"), S(l0=1, l1=1), S(l0=3, l1="0.6"), S(l0=2, l1=2)])
def test_reals_cross_as_many_grid_points_as_are_charged_for(s):
    mechanism = M.GridLaplace(scale=1, step="1/4")
    charged = mechanism.loss(s).l1
    crossed = []
    for a, b in inputs(mechanism, s):
        check_norms(difference(a, b), s)
        crossed.append(np.abs(mechanism.exact(b) - mechanism.exact(a)).sum())
    assert max(crossed) == charged


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("monotone", [True, False])
def test_scores_move_within_the_norm_and_use_up_the_range(monotone, relation):
    mechanism = M.Exponential(("a", "b", "c"), rate=2, step="1/2", monotone=monotone)
    s = S(linf="3/4", neighbors=relation)
    ranges = []
    for a, b in inputs(mechanism, s):
        assert max(difference(a, b)) <= s.linf
        moves = mechanism.exact(b) - mechanism.exact(a)
        if monotone and relation == "add_remove":
            assert (moves >= 0).all()
        ranges.append(float(mechanism.rate * mechanism.step) * (moves.max() - moves.min()))
    assert max(ranges) == pytest.approx(float(mechanism.loss(s).epsilon))


def test_scores_respect_how_many_may_move():
    mechanism = M.Exponential(tuple("abcde"), rate=1)
    for s in (S(l0=1, linf=1), S(l0=2, linf=1), S(l1=3, linf=1)):
        for a, b in inputs(mechanism, s):
            check_norms(difference(a, b), s)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("q", ["0.5", "0.9", "0.05"])
def test_bags_differ_by_the_rows_of_one_unit(q, relation, rows):
    mechanism = M.Quantile(q=q, low=0, high=10, step=1, rate=1)
    for a, b in inputs(mechanism, S(l1=rows, neighbors=relation)):
        gone, new = Counter(a) - Counter(b), Counter(b) - Counter(a)
        if relation == "replace":
            assert len(a) == len(b)
            assert gone.total() == new.total() <= rows
        else:
            assert gone.total() == 0
            assert new.total() == rows


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_answers_differ_by_as_many_as_one_unit_gives(answers):
    mechanism = M.RandomizedResponse(epsilon=1)
    for a, b in inputs(mechanism, S(l1=answers, neighbors="replace")):
        assert (mechanism.exact(a) ^ mechanism.exact(b)).sum() == answers


@pytest.mark.parametrize("s", [S(linf=1), S(linf=3), S(l0=2, linf=2), S(l1=4, linf=1)], ids=repr)
@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_sparse_vectors_move_both_ways_unless_they_only_grow(relation, monotone, s):
    s = S(l0=s.l0, l1=s.l1, linf=s.linf, neighbors=relation)
    mechanism = M.SparseVector(7, 2, 4, hits=3, monotone=monotone)
    directions = set()
    for a, b in inputs(mechanism, s):
        check_norms(difference(a, b), s)
        moves = np.subtract(b, a)
        directions |= {tuple(np.unique(np.sign(moves[moves != 0])).tolist())}
        assert len(a) in (10, 30)
    if monotone and relation == "add_remove":
        assert directions == {(1,)}
    else:
        assert directions == {(-1, 1)}


def test_a_number_means_one_cell_or_each_score():
    assert sensitivity_of(M.DiscreteLaplace(1), 3) == S(l0=1, l1=3)
    assert sensitivity_of(M.Exponential(("a", "b"), rate=1), 2) == S(linf=2)
    assert sensitivity_of(M.SparseVector(0, 1, 1), 2) == S(linf=2)
    assert sensitivity_of(M.RandomizedResponse(1), 1) == S(l0=1, l1=1, neighbors="replace")
    assert sensitivity_of(M.DiscreteLaplace(1), S(l1=2)) == S(l1=2)


def test_unknown_mechanisms_are_refused_with_the_fix():
    with pytest.raises(sf.errors.InputError, match=r"pairs="):
        inputs(object(), S(l1=1))


def test_every_mechanism_of_the_library_has_inputs():
    built = {
        "BoundedLocal": M.BoundedLocal(10, 1, 14, 1),
        "BucketPartition": M.BucketPartition(1),
        "CategoryResponse": M.CategoryResponse(("a", "b"), 1),
        "DiscreteGaussian": M.DiscreteGaussian(1),
        "DiscreteLaplace": M.DiscreteLaplace(1),
        "Exponential": M.Exponential(("a", "b"), rate=1),
        "GridLaplace": M.GridLaplace(1, 1),
        "KdSplits": M.KdSplits((4, 1), 2, 1),
        "NoisyMax": M.NoisyMax(("a", "b"), scale=1),
        "PartitionSelection": M.PartitionSelection(1, "1e-6"),
        "PermuteAndFlip": M.PermuteAndFlip(("a", "b"), rate=1),
        "PrivTree": M.PrivTree((4, 1), 1, 2),
        "ProposeTestRelease": M.ProposeTestRelease(0, 10, 1, 1, 1, 14, 1),
        "Quantile": M.Quantile(q="0.5", low=0, high=1, step=1, rate=1),
        "Quantiles": M.Quantiles(["0.5", "0.9"], low=0, high=1, step=1, rate=1),
        "RandomizedResponse": M.RandomizedResponse(1),
        "RestrictedTriangles": M.RestrictedTriangles(6, 3, 1),
        "SampleAggregate": M.SampleAggregate(max, 4, 0, 10, 1, 1),
        "Sampled": M.Sampled(1, "1/2"),
        "SmoothMedian": M.SmoothMedian(0, 10, 1, "0.2", "0.3"),
        "SparseHistogram": M.SparseHistogram(1, 5, 100),
        "SparseVector": M.SparseVector(0, 1, 1),
        "SpectralCut": M.SpectralCut([0, 3], 1),
        "StabilityHistogram": M.StabilityHistogram(1, 14),
        "TopK": M.TopK(("a", "b", "c"), k=2, rate=1),
        "TriangleCount": M.TriangleCount(6, 1, 14, 1),
        "TruncatedGeometric": M.TruncatedGeometric(1, 0, 10),
    }
    assert built.keys() == M.Laboratory.registry.keys()
    for mechanism in built.values():
        assert inputs(mechanism, sensitivity_of(mechanism, 1))
