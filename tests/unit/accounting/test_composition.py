"""Losses put together: all of them, or the worst of disjoint parts."""

import pytest

from sfumato.accounting import compose, parallel, rho
from sfumato.accounting.curve import epsilon
from sfumato.core.codec import decode, encode
from sfumato.core.errors import LossError, NeighborsError, RangeError
from sfumato.core.loss import (
    Approximate,
    BoundedRange,
    Composed,
    Concentrated,
    GaussianShift,
    LaplaceShift,
    Loss,
    Pure,
    Worst,
)

NARROW, WIDE = GaussianShift(4, 1, scalar=True), GaussianShift(4, 9)


def test_compose_keeps_what_happened():
    assert compose([Pure(1), NARROW, Pure(1)]) == Composed.of([NARROW, Pure(1) * 2])


def test_compose_refuses_two_relations():
    with pytest.raises(NeighborsError):
        compose([Pure(1), Pure(1, neighbors="replace")])


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        (Pure(1), Pure(2)),
        (BoundedRange(1), BoundedRange(2)),
        (Concentrated(1), Concentrated(2)),
        (Approximate(1, "1e-9"), Approximate(1, "1e-6")),
        (Approximate(1, "1e-9"), Approximate(2, "1e-9")),
        (Pure(1), Approximate(1, "1e-9")),
        (LaplaceShift(1, 2, 1), LaplaceShift(1, 3, 2)),
        (LaplaceShift(2, 2, 1), Pure(1)),
        (LaplaceShift(2, 2, 1), Concentrated(1)),
        (BoundedRange(1), Pure(1)),
        (NARROW, WIDE),
        (NARROW, GaussianShift(4, 1)),
        (BoundedRange(10), Pure(10)),
        (WIDE, Concentrated("9/32")),
        (Pure("0.5") * 2, Pure(1)),
    ],
)
def test_parallel_is_the_larger_loss_where_one_covers_the_other(smaller, larger):
    assert parallel([smaller, larger]) == parallel([larger, smaller, smaller]) == larger
    assert parallel([smaller, larger, smaller], shared=2) == compose([larger, smaller])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Pure(1), Concentrated("0.1")),
        (Pure(1), Approximate("0.5", "1e-9")),
        (Approximate(1, "1e-9"), Approximate("0.5", "1e-6")),
        (Pure(2), NARROW),
        (BoundedRange(2), Pure(1)),
        (LaplaceShift(1, 2, 2), LaplaceShift(1, 3, 1)),
        (LaplaceShift(1, 2, 2), LaplaceShift(2, 2, 2)),
        (GaussianShift(4, 9), GaussianShift(5, 1)),
        (GaussianShift(4, 9, scalar=True), GaussianShift(4, 1)),
        (Concentrated(1), Approximate("0.5", "1e-9")),
    ],
)
def test_parallel_keeps_both_where_neither_covers_the_other(a, b):
    assert parallel([a, b]) == parallel([b, a]) == Worst.of([a, b], touched=1)
    assert parallel([a, b], shared=2) == compose([a, b])


def test_parallel_under_replace_counts_two_parts_for_each():
    parts = [Pure(e, neighbors="replace") for e in (1, 2, 3, 4)]
    assert epsilon(parallel(parts, presence=True)) == 7
    assert epsilon(parallel(parts, shared=2, presence=True)) == 10
    assert epsilon(parallel(parts[:1])) == 1


def test_parallel_under_replace_asks_whether_presence_is_covered():
    # A sum of values in [100, 101] moves by 1 under replace, but by 101 when a unit comes or goes.
    with pytest.raises(NeighborsError, match="presence=True"):
        parallel([Pure(1, neighbors="replace")] * 4)


def test_parallel_of_many_equal_parts_is_small():
    assert parallel([Pure(1)] * 10_000 + [Concentrated("0.1")]) == Worst(
        ((Concentrated("0.1"), 1), (Pure(1), 10_000)), 1
    )
    assert parallel([NARROW] * 10_000) == NARROW
    assert parallel([NARROW] * 10_000, shared=3) == NARROW * 3


def test_parallel_costs_no_less_than_any_part():
    parts = [Pure(1), Concentrated("0.6"), WIDE, LaplaceShift(3, 7, 2)]
    for part in parts:
        assert rho(parallel(parts)) >= rho(part)
        assert epsilon(parallel(parts), "1e-6") >= epsilon(part, "1e-6")


def test_parallel_of_nothing_costs_nothing():
    assert epsilon(parallel([])) == 0


def test_worst_survives_its_bytes():
    worst = parallel([Pure(1), Concentrated("0.1"), NARROW + Pure(2)])
    assert type(worst) is Worst
    assert decode(encode(worst)) == worst


@pytest.mark.parametrize("shared", [0, -1, 1.0, True, "1", None])
def test_parallel_refuses_a_bad_number_of_parts(shared):
    with pytest.raises(RangeError, match="shared"):
        parallel([Pure(1)], shared=shared)


def test_parallel_refuses_what_is_not_a_loss():
    with pytest.raises(LossError):
        parallel([Pure(1), 1])
    with pytest.raises(LossError):
        parallel([Pure(1), Loss()])
    with pytest.raises(NeighborsError):
        parallel([Pure(1), Pure(1, neighbors="replace")])
