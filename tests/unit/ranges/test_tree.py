"""Trees of blocks: least squares and variances equal those of dense matrices."""

import numpy as np
import pytest

from sfumato.ranges.dense import Dense
from sfumato.ranges.haar import Haar
from sfumato.ranges.square_root import column
from sfumato.ranges.tree import Tree
from sfumato.ranges.triangle import Triangle
from sfumato.relation.matrix import Blocks, Buckets, Halves, Toeplitz

TREES = [
    (12, (1, 3, 12)),
    (13, (1, 2, 6, 13)),
    (16, (1, 4)),
    (7, (1,)),
    (30, (1, 5, 15)),
    (1, (1,)),
]


def tree_of(cells, widths, spread):
    return Tree([np.append(np.arange(0, cells, width), cells) for width in widths], spread)


def every(cells):
    pairs = [(a, b) for a in range(cells) for b in range(a + 1, cells + 1)]
    lows, highs = (np.array(ends) for ends in zip(*pairs, strict=True))
    wanted = np.array([[a <= c < b for c in range(cells)] for a, b in pairs], float)
    return lows, highs, wanted


def rows_of(matrices, cells):
    made = [matrix.apply(np.eye(cells, dtype=np.int64)) for matrix in matrices]
    return made, np.vstack(made).astype(float)


@pytest.mark.parametrize(("cells", "widths"), TREES)
def test_tree_is_weighted_least_squares_for_any_level_budgets(cells, widths):
    rng = np.random.default_rng(cells)
    spread = rng.uniform(0.01, 100, len(widths))
    made, dense = rows_of([Blocks(cells, width) for width in widths], cells)
    weights = np.repeat(1 / spread, [len(rows) for rows in made])
    inverse = np.linalg.inv(dense.T * weights @ dense)
    drawn = rng.normal(size=len(weights)) * 100
    levels = np.split(drawn, np.cumsum([len(rows) for rows in made])[:-1])
    tree = tree_of(cells, widths, spread)
    fitted = tree.fit(levels)
    scale = np.abs(drawn).max()
    assert np.abs(fitted[0] - inverse @ (dense.T * weights @ drawn)).max() < 1e-10 * scale
    for rows, sums in zip(made, fitted, strict=False):
        assert np.allclose(rows @ fitted[0], sums, atol=1e-9 * scale)
    lows, highs, wanted = every(cells)
    exact = np.einsum("qi,ij,qj->q", wanted, inverse, wanted)
    assert np.allclose(tree.variance(lows, highs), exact, rtol=1e-9)
    some = rng.normal(size=cells)
    assert tree.variance_of(some) == pytest.approx(some @ inverse @ some, rel=1e-9)
    influence = (dense * weights[:, None]) @ inverse @ wanted.T
    each = np.repeat(spread**2, [len(rows) for rows in made])
    norms = tree.norms(lows, highs)
    fourth = (influence**4 * each[:, None]).sum(axis=0)
    assert np.allclose(spread**2 @ norms.fourths, fourth, rtol=1e-8)
    assert np.allclose(spread @ norms.squares, exact, rtol=1e-8)
    assert np.allclose(norms.sums.sum(axis=0), np.abs(influence).sum(axis=0), rtol=1e-8)
    assert np.allclose(norms.largest.max(axis=0), np.abs(influence).max(axis=0), rtol=1e-8)


def test_tree_over_buckets_spreads_evenly_inside_them():
    edges = [np.array([0, 3, 4, 10]), np.array([0, 4, 10])]
    tree = Tree(edges, [2.0, 3.0])
    matrices = [Buckets(tuple(map(int, e))) for e in edges]
    made, dense = rows_of(matrices, 10)
    inside = np.repeat(np.eye(3), np.diff(edges[0]), axis=0) / np.diff(edges[0])
    weights = np.repeat([1 / 2, 1 / 3], [len(rows) for rows in made])
    over = dense @ inside
    inverse = inside @ np.linalg.inv(over.T * weights @ over) @ inside.T
    lows, highs, wanted = every(10)
    exact = np.einsum("qi,ij,qj->q", wanted, inverse, wanted)
    assert np.allclose(tree.variance(lows, highs), exact)


def test_nonnegative_sums_add_up_and_stay_where_nothing_is_negative():
    rng = np.random.default_rng(3)
    tree = tree_of(60, (1, 4, 20), [3.0, 2.0, 1.0])
    truth = rng.integers(0, 3, 60)
    widths = (1, 4, 20)
    sums = [
        Blocks(60, w).apply(truth) + rng.normal(size=-(-60 // w)) * s
        for w, s in zip(widths, (1.7, 1.4, 1.0), strict=True)
    ]
    found = tree.nonnegative(sums)
    assert all((level >= 0).all() for level in found)
    for width, level in zip(widths, found, strict=False):
        assert np.allclose(Blocks(60, width).apply(found[0]), level)
    high = [level + 1000 * width for width, level in zip(widths, sums, strict=True)]
    assert np.allclose(tree.nonnegative(high)[0], tree.fit(high)[0])
    assert (tree.nonnegative([-level - 5 for level in map(np.abs, sums)])[0] == 0).all()


@pytest.mark.parametrize("cells", [2, 13, 16])
def test_haar_inverts_its_differences_and_knows_its_variances(cells):
    rng = np.random.default_rng(1)
    levels = (cells - 1).bit_length()
    matrices = [Blocks(cells, cells), *(Halves(cells, 2**k) for k in range(1, levels + 1))]
    spread = rng.uniform(1, 5, levels + 1)
    haar = Haar(cells, [m.width for m in matrices[1:]], spread)
    counts = rng.integers(0, 50, cells)
    sums = [matrix.apply(counts) for matrix in matrices]
    assert np.allclose(haar.fit(float(sums[0][0]), sums[1:]), counts)
    made, _ = rows_of(matrices, cells)
    ends = np.cumsum([len(rows) for rows in made])
    units = [np.split(unit, ends[:-1]) for unit in np.eye(ends[-1])]
    inverse = np.array([haar.fit(float(u[0][0]), u[1:]) for u in units]).T
    noise = np.repeat(spread, [len(rows) for rows in made])
    lows, highs, wanted = every(cells)
    weights = wanted @ inverse
    assert np.allclose(haar.variance(lows, highs), weights**2 @ noise)
    norms = haar.norms(lows, highs)
    assert np.allclose(spread @ norms.fourths, weights**4 @ noise)
    assert np.allclose(norms.sums.sum(axis=0), np.abs(weights).sum(axis=1))
    assert np.allclose(norms.largest.max(axis=0), np.abs(weights).max(axis=1))
    some = rng.normal(size=cells)
    assert haar.variance_of(some) == pytest.approx((some @ inverse) ** 2 @ noise)


def test_triangle_inverts_its_matrix_and_knows_its_variances():
    first = column(12)
    dense = Toeplitz(first).apply(np.eye(12, dtype=np.int64)).astype(float)
    triangle, inverse = Triangle(first, 2.0), np.linalg.inv(dense)
    counts = np.random.default_rng(2).integers(0, 9, 12)
    assert np.allclose(triangle.fit(dense @ counts), counts)
    lows, highs, wanted = every(12)
    exact = 2.0 * ((wanted @ inverse) ** 2).sum(axis=1)
    assert np.allclose(triangle.variance(lows, highs), exact)
    some = np.random.default_rng(2).normal(size=12)
    assert triangle.variance_of(some) == pytest.approx(2.0 * ((some @ inverse) ** 2).sum())
    square = dense / 2**20 @ (dense / 2**20)
    assert np.allclose(square, np.tril(np.ones((12, 12))), atol=1e-4)


def test_dense_is_least_squares():
    rng = np.random.default_rng(4)
    matrix = rng.integers(-4, 5, (9, 6))
    dense, lows_highs = Dense(matrix, 3.0), every(6)
    inverse = np.linalg.pinv(matrix.astype(float))
    exact = 3.0 * ((lows_highs[2] @ inverse) ** 2).sum(axis=1)
    assert np.allclose(dense.variance(*lows_highs[:2]), exact)
    assert np.allclose(dense.fit(matrix @ np.arange(6)), np.arange(6))
