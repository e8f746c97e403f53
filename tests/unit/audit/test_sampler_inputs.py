"""The inputs that audits of ranges, reports, sparse cells and samples start from."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.neighbor import inputs

M, S = sf.mechanisms, sf.Sensitivity
NORMS = [
    S(l0=1, linf=1),
    S(l0=1, linf=3),
    S(l1=4, linf=1),
    S(l0=2, linf=2),
    S(l1=2, linf=1, neighbors="replace"),
]


def check(moves, s):
    moves = np.abs(np.asarray(moves))
    assert s.l0 is None or (moves > 0).sum() <= s.l0
    assert moves.sum() <= s.l1
    assert moves.max() <= s.linf
    return moves.sum()


@pytest.mark.parametrize("s", NORMS, ids=repr)
@pytest.mark.parametrize(
    "mechanism", [M.TruncatedGeometric(1, 0, 10), M.Sampled(1, "1/2")], ids=repr
)
def test_values_move_within_the_norms_and_reach_the_largest(mechanism, s):
    pairs = inputs(mechanism, s)
    reached = [check(np.subtract(b, a), s) for a, b in pairs]
    assert max(reached) >= s.linf
    for side in (side for pair in pairs for side in pair):
        mechanism.exact(side)
    if mechanism.__class__ is M.TruncatedGeometric:
        assert {0, 10} <= {np.min(side) for pair in pairs for side in pair}


@pytest.mark.parametrize("s", NORMS, ids=repr)
@pytest.mark.parametrize("domain", [1, 3, 10**9])
def test_sparse_cells_move_within_the_norms(s, domain):
    mechanism = M.SparseHistogram(1, 25, domain)
    for a, b in inputs(mechanism, s):
        mechanism.exact(a), mechanism.exact(b)
        assert check([b.get(cell, 0) - a.get(cell, 0) for cell in {*a, *b}], s)


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_answers_differ_by_as_many_as_one_unit_gives(answers):
    mechanism = M.CategoryResponse(("a", "b", "c"), 1)
    for a, b in inputs(mechanism, S(l0=answers, linf=1, neighbors="replace")):
        assert (mechanism.exact(a) != mechanism.exact(b)).sum() == answers
