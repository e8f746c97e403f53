"""Inputs for mechanisms whose noise follows the data are neighbors, and not all alike."""

from collections import Counter

import pytest

import sfumato as sf
from sfumato.audit.neighbor import inputs
from sfumato.testing import SeededRng

M, S = sf.mechanisms, sf.Sensitivity
BAGS = [
    M.SmoothMedian(0, 10, 1, "0.2", "0.3"),
    M.ProposeTestRelease(0, 10, 1, 1, 1, 14, 1),
    M.SampleAggregate(max, 4, 0, 10, 1, 1),
    M.TriangleCount(8, 1, 14, 1),
    M.RestrictedTriangles(8, 3, 1),
]


@pytest.mark.parametrize("mechanism", BAGS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_bags_differ_by_the_rows_of_one_unit(mechanism, relation, rows):
    moved = []
    for a, b in inputs(mechanism, S(l1=rows, neighbors=relation)):
        x, y = (Counter(mechanism.exact(bag)) for bag in (a, b))
        gone, new = (x - y).total(), (y - x).total()
        if relation == "replace":
            assert len(a) == len(b)
            assert gone == new <= rows
        else:
            assert gone == 0
            assert new <= rows
        moved.append(new)
    assert max(moved) == rows


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("change", [1, 2])
def test_values_move_no_further_than_their_local_sensitivities_allow(change, steps):
    mechanism = M.BoundedLocal(20, 1, 14, 1, change)
    for (value, local), (other, there) in inputs(mechanism, S(l1=steps)):
        assert abs(local - there) <= steps * change
        for start in (local, there):
            reach = sum(min(start + i * change, 20) for i in range(steps))
            assert abs(value - other) <= reach
    assert any(a[0] != b[0] for a, b in inputs(mechanism, S(l1=steps)))


def test_a_test_that_is_about_to_be_passed_is_among_them():
    mechanism = BAGS[1]
    passed = [
        mechanism.sample(mechanism.exact(bag), SeededRng(seed)) is not None
        for pair in inputs(mechanism, S(l1=1))
        for bag in pair
        for seed in range(20)
    ]
    assert any(passed)
    assert not all(passed)
