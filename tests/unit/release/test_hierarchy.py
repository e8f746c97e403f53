"""Numbers that add up over groupings: against least squares by matrices, and cell by cell."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from sfumato.core.errors import InputError
from sfumato.release import fitted
from sfumato.release.error import Noise
from sfumato.release.fitted import Cells
from sfumato.release.form import Form
from sfumato.release.formula import Formula
from sfumato.release.hierarchy import PARTS, Compromise, Hierarchy
from sfumato.release.noisy import Noisy

SURE = Fraction(95, 100)
ROLLUP = ((0, 1), (0,), ())
CUBE = ((0, 1), (0,), (1,), ())
CASES = {
    "rollup": ((3, 4), ROLLUP),
    "cube": ((3, 4), CUBE),
    "two margins": ((3, 4), ((0,), (1,))),
    "two below one": ((3, 4, 2), ((0, 1), (0, 2))),
    "some of three": ((2, 3, 2), ((0, 1, 2), (1,), (0, 2))),
    "three pairs": ((2, 3, 2), ((0, 1), (0, 2), (1, 2))),
    "a column of one": ((3, 1), ROLLUP),
    "no finest": ((4, 3), ((0,), ())),
}
TREES = {"rollup", "two margins", "two below one", "a column of one", "no finest"}
each_case = pytest.mark.parametrize("name", CASES)


def built(name, seed=0):
    sizes, sets = CASES[name]
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy(sizes, sets)
    variances = [float(v) for v in rng.integers(1, 9, len(sets))]
    return hierarchy, variances, Compromise.of(hierarchy, variances), rng


def sums(hierarchy):
    """Return for each grouping the matrix that adds up the cells of the whole table."""
    every = list(product(*map(range, hierarchy.sizes)))
    found = []
    for one in hierarchy.sets:
        cells = list(product(*(range(hierarchy.sizes[c]) for c in one)))
        rows = [[tuple(i[c] for c in one) == cell for i in every] for cell in cells]
        found.append(np.array(rows, np.int64))
    return found


def margin(table, columns):
    rest = tuple(c for c in range(table.ndim) if c not in columns)
    return table.sum(axis=rest, keepdims=True)


@each_case
def test_exact_totals_stay_as_they_are(name):
    hierarchy, _, compromise, rng = built(name)
    table = rng.integers(-50, 200, hierarchy.sizes)
    found = compromise.fitted([margin(table, one) for one in hierarchy.sets])
    for one, numbers in found.items():
        assert (numbers == compromise.over(one) * margin(table, one)).all()


@each_case
def test_totals_add_up_exactly_whatever_was_measured(name):
    hierarchy, _, compromise, rng = built(name)
    tables = [rng.integers(-90, 200, hierarchy.shape(one)) for one in hierarchy.sets]
    found = compromise.fitted(tables)
    for fine, coarse in product(found, repeat=2):
        if set(coarse) < set(fine):
            both = margin(found[fine], coarse) * compromise.over(coarse)
            assert (both == found[coarse] * compromise.over(fine)).all()


@each_case
def test_numbers_are_nearly_those_of_least_squares(name):
    """The shares are rounded, which costs little: a few percent of the variance."""
    hierarchy, variances, compromise, _ = built(name)
    matrices = sums(hierarchy)
    trust = np.concatenate(
        [np.full(len(m), 1 / v) for m, v in zip(matrices, variances, strict=True)]
    )
    stacked = np.vstack(matrices)
    solve = np.linalg.pinv(stacked.T * trust @ stacked, hermitian=True) @ (stacked.T * trust)
    noises = [Noise("gaussian", place + 1) for place in range(len(variances))]
    best = hierarchy.variances(variances)
    for one, matrix, least in zip(hierarchy.sets, matrices, best, strict=True):
        by_matrix = ((matrix @ solve)[0] ** 2 / trust).sum()
        law = compromise.law(one, noises)
        found = sum(float(w) ** 2 * n * variances[int(noise.scale) - 1] for noise, w, n in law)
        assert least == pytest.approx(by_matrix, rel=1e-9)
        assert by_matrix * (1 - 1e-9) <= found <= by_matrix * 1.04
        assert found <= variances[hierarchy.sets.index(one)] * (1 + 1e-9)


@each_case
def test_law_counts_every_cell_as_the_numbers_do(name):
    """Move one noisy number at a time, and see by how much every cell of the answer moves."""
    hierarchy, _, compromise, _ = built(name)
    noises = [Noise("laplace", place + 1) for place in range(len(hierarchy.sets))]
    moved = {one: [Counter() for _ in range(hierarchy.cells(one))] for one in hierarchy.sets}
    for place, one in enumerate(hierarchy.sets):
        for cell in range(hierarchy.cells(one)):
            tables = [np.zeros(hierarchy.shape(other), np.int64) for other in hierarchy.sets]
            tables[place].reshape(-1)[cell] = 1
            found = compromise.fitted(tables)
            for other, cells in moved.items():
                for at, number in enumerate(found[other].ravel().tolist()):
                    if number:
                        weight = Fraction(abs(number), compromise.over(other))
                        cells[at][noises[place], weight] += 1
    for one, cells in moved.items():
        law = Counter({(noise, w): n for noise, w, n in compromise.law(one, noises)})
        assert all(cell == law for cell in cells)


@each_case
def test_whole_numbers_add_up_where_groupings_make_a_tree(name):
    hierarchy, _, compromise, rng = built(name)
    assert (hierarchy.parents is not None) == (name in TREES)
    for _ in range(30):
        tables = [rng.integers(-90, 200, hierarchy.shape(one)) for one in hierarchy.sets]
        exact = compromise.fitted(tables)
        found = compromise.rounded(exact)
        if name not in TREES:
            assert found is None
            continue
        for one, numbers in found.items():
            assert (abs(numbers * compromise.over(one) - exact[one]) <= compromise.over(one)).all()
            for other in found:
                if set(other) < set(one):
                    assert (margin(numbers, other) == found[other]).all()


def test_numbers_beyond_64_bits_are_exact():
    hierarchy = Hierarchy((3, 4), ROLLUP)
    compromise = Compromise.of(hierarchy, [1, 1, 1])
    table = np.full((3, 4), 2**62, np.int64)
    tables = [table, table[:, :1], table[:1, :1]]
    whole = compromise.rounded(compromise.fitted(tables))
    assert int(whole[()].item()) == sum(map(int, whole[0, 1].ravel().tolist()))


@pytest.mark.parametrize("size", range(1, 6))
def test_every_share_is_whole(size):
    sets = tuple(p for n in range(size + 1) for p in combinations(range(size), n))
    compromise = Compromise.of(Hierarchy((3,) * size, sets), [1.0 + n for n in range(len(sets))])
    assert all(sum(n for _, n in shares) == PARTS for shares in compromise.shares.values())


@pytest.mark.parametrize(
    ("sizes", "sets"),
    [((2,), ()), ((2, 3), ((1, 0),)), ((2,), ((0,), (0,))), ((2,), ((1,),)), ((0,), ((0,),))],
)
def test_groupings_that_are_none_are_refused(sizes, sets):
    with pytest.raises(InputError):
        Hierarchy(sizes, sets)


def test_many_columns_take_no_time():
    """There are 2^24 sets of columns, and 25 that the groupings have in common."""
    sizes = (2, 3, 1, 1, 2, 1) * 4
    sets = tuple(tuple(range(n)) for n in reversed(range(len(sizes) + 1)))
    hierarchy = Hierarchy(sizes, sets)
    noises = [Noise("laplace", 3)] * len(sets)
    compromise = Compromise.of(hierarchy, [1.0] * len(sets))
    tables = [np.full(hierarchy.shape(one), 5, np.int64) for one in sets]
    whole = compromise.rounded(compromise.fitted(tables))
    assert len({int(table.sum()) for table in whole.values()}) == 1
    for one, expected in zip(sets, hierarchy.variances([1.0] * len(sets)), strict=True):
        spread = sum(times * weight**2 for _, weight, times in compromise.law(one, noises))
        assert expected - 1e-9 <= spread <= 1.1 * expected  # but for the rounding of shares


@pytest.mark.parametrize("size", [9, 40])
def test_groupings_with_too_much_in_common_are_refused(size):
    every = tuple(range(size))
    sets = tuple(tuple(c for c in every if c != left_out) for left_out in every)
    with pytest.raises(InputError, match="too much in common"):
        Hierarchy((1,) * size, sets)


# ---- formulas of cells ---------------------------------------------------------------------------

DRAWS = {
    "s": Noisy("s", Noise("laplace", 30), (0,)),
    "c": Noisy("c", Noise("laplace", 3), (0,), count=True),
}


def cells(values, scale, over=1):
    numbers = np.array(values, np.object_)
    return Cells(numbers, numbers, over, ((Noise("laplace", scale), Fraction(1), 1),))


def made(form):
    return Formula.of(form, DRAWS, 1, (), ())


def test_single_noise_has_the_interval_of_its_own():
    found = fitted.measure(made(Form.linear({"c": 1})), {"c": cells([5, 90], 3)}, "n", SURE)
    assert found.kind == "integer"
    assert found.values == (5, 90)
    assert (found.low, found.high) == ((-4, 81), (14, 99))


def test_ends_are_rounded_inwards_to_what_the_exact_number_can_be():
    """9.5 ± 9.1 holds the whole numbers from 1 to 18, and of two steps each those from 2."""
    half = cells([19], 3, over=2)
    found = fitted.measure(made(Form.linear({"c": 1})), {"c": half}, "n", SURE)
    assert (found.low, found.high) == ((Fraction(1),), (Fraction(18),))
    found = fitted.measure(made(Form.linear({"c": 2}, 1)), {"c": half}, "n", SURE)
    assert (found.low, found.high) == ((Fraction(3),), (Fraction(37),))


def test_shown_number_is_never_outside_of_its_interval():
    far = Cells(np.array([5], object), np.array([50], object), 1, cells([5], 3).law)
    found = fitted.measure(made(Form.linear({"c": 1})), {"c": far}, "n", SURE)
    assert found.values == found.high == (50,)
    assert found.low == (-4,)


def test_quotient_is_that_of_the_algebra_where_the_law_is_one_noise():
    from sfumato.release.evaluate import real

    draws = {
        "s": Noisy("s", Noise("laplace", 30), (-500, 700)),
        "c": Noisy("c", Noise("laplace", 3), (60, 90), count=True),
    }
    form = Form.mean("s", "c", center=100, step="0.5", low=0, high=200)
    keys = (("zone", ("A", "B")),)
    wanted = real(Formula.of(form, draws, 2, keys, ()), 0.05)
    found = fitted.ends(made(form), {"s": cells([-500, 700], 30), "c": cells([60, 90], 3)}, SURE)
    assert found.value == pytest.approx(wanted.value)
    assert found.low == pytest.approx(wanted.low, abs=0.1)
    assert found.high == pytest.approx(wanted.high, abs=0.1)
    assert (found.high - found.low >= 0.98 * (wanted.high - wanted.low)).all()


def test_quotient_over_a_count_that_may_be_none_has_no_ends():
    form = made(Form.linear({"s": 1})).over(made(Form.linear({"c": 1})))
    found = fitted.ends(form, {"s": cells([50, 50], 30), "c": cells([2, 900], 3)}, SURE)
    assert np.isinf(found.high).tolist() == [True, False]
