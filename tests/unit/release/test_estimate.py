from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import InputError
from sfumato.release import Estimate


def test_repr_shows_value_interval_and_confidence():
    assert repr(Estimate(1234, 1201, 1267)) == "1234 [1201, 1267] (95 %)"
    assert repr(Estimate(Fraction(1, 8), 0, 1, "0.999")) == "0.125 [0, 1] (99.9 %)"


def test_repr_of_many_shows_the_first_three():
    shown = repr(Estimate([1, 2, 3, 4], [0, 0, 0, 0], [9, 9, 9, 9]))
    assert shown == "Estimate of 4: 1 [0, 9], 2 [0, 9], 3 [0, 9], … (95 %)"


def test_repr_of_a_quantile_counts_in_ranks():
    shown = repr(Estimate(41, covers="rank, noise only", margin=12))
    assert shown == "41 (rank ±12, 95 %)"


def test_halfwidth_is_the_longer_side():
    assert Estimate(10, 7, 12).halfwidth == 3
    assert Estimate([10, 1], [7, 1], [12, 5]).halfwidth.tolist() == [3, 4]
    assert Estimate(41, covers="rank, noise only", margin=12).halfwidth == 12
    assert Estimate(41).halfwidth is None


def test_arrays_are_copied_and_read_only():
    values = np.array([1, 2])
    estimate = Estimate(values, values - 1, values + 1)
    values[0] = 99
    assert estimate.value.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        estimate.value[0] = 5


def test_equality_and_hash_go_by_content():
    one, same = (Estimate([1, 2], [0, 1], [2, 3]) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Estimate([1, 2], [0, 1], [2, 4])
    assert one != Estimate([1, 2], [0, 1], [2, 3], "0.9")
    assert Estimate([[1, 2]]) != Estimate([1, 2])
    assert one != "1"


def test_fields_cannot_be_set():
    with pytest.raises(AttributeError):
        Estimate(1, 0, 2).value = 3


def test_numpy_scalars_become_plain_numbers():
    assert type(Estimate(np.int64(3), np.int64(1), np.int64(4)).value) is int


@pytest.mark.parametrize(
    ("low", "high"), [(11, 12), (1, 9), (None, 12), ([1, 2], [11, 12])], ids=str
)
def test_interval_that_does_not_hold_the_value_is_refused(low, high):
    with pytest.raises(InputError):
        Estimate(10, low, high)


@pytest.mark.parametrize("confidence", [0, 1, 95, "x"])
def test_confidence_must_be_a_probability(confidence):
    with pytest.raises(InputError, match="confidence"):
        Estimate(1, 0, 2, confidence)
