"""Fanouts and shares: published errors, and better ones."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.marginals import basis
from sfumato.ranges import p_identity, wavelet
from sfumato.ranges import weights as w
from sfumato.ranges.dense import Dense
from sfumato.ranges.haar import Haar
from sfumato.ranges.square_root import column
from sfumato.ranges.tree import Tree
from sfumato.ranges.triangle import Triangle
from sfumato.ranges.workload import Workload

N = 4096
PREFIX, RANGES = Workload("prefix", N), Workload("ranges", N)


def tree_of(cells, widths, spread):
    return Tree([np.append(np.arange(0, cells, width), cells) for width in widths], spread)


def error(workload, sizes, shares, pure=True):
    spread = [2 / s**2 if pure else 1 / s for s in shares]
    return workload.error(tree_of(N, sizes, spread))


@pytest.mark.parametrize(
    ("fanout", "root", "prefix", "ranges"),
    [
        (2, True, 21.77, 27.90),
        (2, False, 21.25, 26.22),
        (8, False, 14.68, 16.63),
        (16, False, 14.91, 16.19),
        (4096, False, 64.01, 52.27),
    ],
)
def test_uniform_trees_err_as_published(fanout, root, prefix, ranges):
    sizes = w.widths(N, w.even(N, fanout))
    sizes = sizes if root else sizes[:-1]
    shares = w.uniform(len(sizes))
    assert error(PREFIX, sizes, shares) == pytest.approx(prefix, abs=0.006)
    assert error(RANGES, sizes, shares) == pytest.approx(ranges, abs=0.006)


def test_geometric_shares_err_as_published():
    sizes = w.widths(N, w.even(N, 2))
    assert error(PREFIX, sizes, w.geometric(13)) == pytest.approx(38.87, abs=0.006)
    assert error(RANGES, sizes, w.geometric(13)) == pytest.approx(35.88, abs=0.006)


def test_the_best_tree_is_within_what_was_promised():
    for workload, pure, promised in [
        (PREFIX, True, 14.3),
        (RANGES, True, 16.2),
        (RANGES, False, 5.07),
    ]:
        assert error(workload, *w.best(workload, pure=pure), pure) <= promised


def test_the_square_root_triangle_is_within_what_was_promised():
    first = column(N)
    triangle = Triangle(first, float(sum(entry**2 for entry in first)))
    assert 3.35 < PREFIX.error(triangle) <= 3.56
    assert RANGES.error(triangle) < 4.6


def test_the_optimized_matrix_is_within_what_was_promised():
    workload = Workload("ranges", 256)
    matrix = p_identity.plan(workload, pure=True).strategies[0]
    assert matrix.norms.total == p_identity.SCALE
    # At ε = sqrt 2 the noise on a column that adds up to 1 has variance 1.
    assert workload.error(Dense(matrix.array, float(p_identity.SCALE) ** 2)) <= 5.74


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("name", ["prefix", "ranges"])
def test_optimal_shares_beat_others(name, pure):
    workload = Workload(name, 64)
    sizes = (1, 4, 16, 64)
    energies = workload.energies(sizes)
    shares, cost = w.optimal(energies, sizes, pure=pure)
    spread = [1 / s**2 if pure else 1 / s for s in shares]
    best = workload.error(tree_of(64, sizes, spread))
    assert best == pytest.approx((cost / len(workload)) ** 0.5, rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = shares * np.exp(rng.normal(size=4) / 4)
        other /= other.sum()
        spread = [1 / s**2 if pure else 1 / s for s in other]
        assert workload.error(tree_of(64, sizes, spread)) >= best * (1 - 1e-9)


def test_energies_are_those_of_the_listed_ranges():
    for workload in (Workload("prefix", 13), Workload("ranges", 13)):
        if workload.name == "ranges":
            listed = [(a, b) for a in range(13) for b in range(a + 1, 14)]
        else:
            listed = [(0, b) for b in range(1, 14)]
        same = Workload("intervals", 13, tuple(listed))
        assert np.allclose(workload.energies((1, 2, 5, 13)), same.energies((1, 2, 5, 13)))
        tree = tree_of(13, (1, 4), [2.0, 3.0])
        assert workload.error(tree) == pytest.approx(same.error(tree))
        assert np.array_equal(p_identity.gram(workload), p_identity.gram(same))
        # Marginals do not import ranges, and count pairs of values themselves.
        assert np.array_equal(p_identity.gram(workload), basis.gram(13, workload.name))


def test_wavelet_shares_are_optimal():
    workload = Workload("ranges", 64)
    for pure in (True, False):

        def error_of(parts, pure=pure, workload=workload):
            shares = np.array(parts) / w.PARTS
            spread = 1 / shares**2 if pure else 1 / shares
            return workload.error(Haar(64, [2**k for k in range(1, 7)], spread))

        best = error_of(wavelet.plan(workload, pure=pure).parts)
        assert best <= error_of(wavelet.plan(workload, pure=pure, weights="uniform").parts)
        rng = np.random.default_rng(1)
        for _ in range(50):
            other = np.array(wavelet.plan(workload, pure=pure).parts) * np.exp(
                rng.normal(size=7) / 4
            )
            assert error_of(other / other.sum() * w.PARTS) >= best * (1 - 1e-6)


def test_parts_add_up_and_none_is_empty():
    assert sum(w.parts([1e-12, 0.3, 0.7])) == w.PARTS
    assert min(w.parts([1.0, 1e-15])) == 1
    for first in ([1e-17, 1.0], [1e-30] * 9 + [1.0]):  # also where the leaves get next to nothing
        assert min(w.parts(first)) == 1
        assert sum(w.parts(first)) == w.PARTS
    for bad in ([], [0.0, 1], [float("nan")], [-1, 2], [[1, 2]]):
        with pytest.raises(sf.errors.InputError, match="weights="):
            w.parts(bad)


@pytest.mark.parametrize("bad", ["quarters", 3, [], [(1,)], [1, 2]])
def test_workloads_that_make_no_sense_are_refused(bad):
    with pytest.raises(sf.errors.InputError, match="workload"):
        Workload.of(bad, 10)
