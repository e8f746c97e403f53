"""Rectangles in rectangles: they tile, they nest, and sums over them are solved exactly."""

from itertools import pairwise

import numpy as np
import pytest

import sfumato as sf
from sfumato.release.error import Noise
from sfumato.spatial.decomposition import cuts, grid, quadtree
from sfumato.spatial.kd_tree import tree
from sfumato.spatial.paths import Cuts
from sfumato.spatial.privtree import grown
from sfumato.spatial.solution import Solution

RNG = np.random.default_rng(2)


def made():
    yield grid((7, 5), 3, 2)
    yield grid((4, 4), 9, 9)
    yield quadtree((8, 8), 3)
    yield quadtree((5, 9), 3)
    yield quadtree((1, 6), 2)
    yield tree((9, 6), 4, 0, None)
    drawn = sf.mechanisms.PrivTree((16, 8), 2, 1)(RNG.integers(0, 20, (16, 8)))
    yield grown((16, 8), 0, drawn)
    drawn = sf.mechanisms.PrivTree((16, 8), 2, 1, 0, 2)(RNG.integers(0, 20, (16, 8)))
    yield grown((16, 8), 2, drawn)
    places = sf.mechanisms.KdSplits((9, 6), 3, 1)(RNG.integers(0, 20, (9, 6)))
    yield tree((9, 6), 5, 3, places)


@pytest.mark.parametrize("found", list(made()))
def test_levels_tile_and_nest_and_their_sums_are_those_of_their_leaves(found):
    counts = RNG.integers(0, 30, found.shape)
    leaves = np.array([counts[a:c, b:d].sum() for a, b, c, d in found.leaves.tolist()])
    covered = np.zeros(found.shape, int)
    for a, b, c, d in found.leaves.tolist():
        covered[a:c, b:d] += 1
    assert (covered == 1).all()
    for level in found.levels:
        sums = level.sorted(level.matrix.apply(counts.ravel()))
        assert sums.tolist() == np.add.reduceat(leaves, level.starts[:-1]).tolist()
        assert level.matrix.norms.total == 1
    for below, above in zip(found.levels, found.levels[1:], strict=False):
        assert set(above.starts.tolist()) <= set(below.starts.tolist())


def test_counts_are_the_weighted_least_squares_of_all_levels():
    found = quadtree((4, 4), 2)
    noises = [Noise("laplace", scale) for scale in (3, 2, 5)]
    starts = [level.starts for level in found.levels]
    drawn = [RNG.normal(0, 10, len(level) - 1) for level in starts]
    solved = Solution(starts, noises, drawn)
    rows = [
        (np.arange(16) >= a) & (np.arange(16) < b) for level in starts for a, b in pairwise(level)
    ]
    design = np.array(rows, float)
    weights = np.concatenate(
        [np.full(len(d), 1 / v) for d, v in zip(drawn, solved.tree.variances, strict=True)]
    )
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    direct = covariance @ design.T @ (weights * np.concatenate(drawn))
    assert np.allclose(solved.counts, direct, atol=1e-10)
    assert np.allclose(solved.variances, np.diag(covariance), atol=1e-10)
    share = RNG.uniform(0, 1, 16)
    share[RNG.integers(0, 16, 5)] = 0
    some = np.flatnonzero(share)
    assert solved.tree.variance_at(some, share[some]) == pytest.approx(share @ covariance @ share)
    assert solved.tree.variance_at(np.arange(0), np.zeros(0)) == 0


def test_pruned_rectangles_are_even_by_area():
    starts = [np.arange(5), np.array([0, 2, 4])]
    solved = Solution(
        starts,
        [Noise("laplace", 1)] * 2,
        [np.array([9.0, 1, 60, 40])] * 1 + [np.array([10.0, 100])],
    )
    areas = np.array([1.0, 4, 1, 1])
    found = solved.pruned(50, areas)
    assert found[:2].tolist() == pytest.approx([2, 8])
    assert found[2:].tolist() == pytest.approx([60, 40])


def test_cuts_hold_a_cell_each():
    assert cuts(7, 3).tolist() == [0, 2, 4, 7]
    assert cuts(2, 9).tolist() == [0, 1, 2]


def test_paths_keep_parts_of_one_rectangle_together():
    found = Cuts((8, 8), 2)
    found.quarter()
    found.quarter([True, False, False, True])
    levels = found.decomposition(1)
    assert len(levels) == 10
    assert np.diff(levels.levels[1].starts).tolist() == [4, 1, 1, 4]
