"""Boxes: what they hold, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import InputError, NumberError, RangeError
from sfumato.spatial.box import Box, boxes


def test_box_knows_its_sides():
    box = Box(-1, 0, 3, 2)
    assert (box.width, box.height, box.area) == (4, 2, 8)
    assert list(box) == [-1, 0, 3, 2]
    assert all(type(end) is float for end in box)
    assert Box.of((-1, 0, 3, 2)) == Box.of(box) == box == Box.of(np.array([-1, 0, 3, 2]))
    assert Box.of([Fraction(1, 2), 0, 1, 1]).x_low == 0.5


def test_boxes_are_read_from_anything_of_four():
    rows = [[0, 0, 1, 1], [1, 0, 2, 1]]
    for given in (rows, np.array(rows), [Box(*row) for row in rows], tuple(map(tuple, rows))):
        assert boxes(given).tolist() == rows
    assert boxes((0, 0, 1, 1)).shape == (1, 4)
    held = np.array(rows, np.float64)
    boxes(held)[0, 0] = 9  # a copy
    assert held[0, 0] == 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", range(4))
def test_box_refuses_what_is_not_finite(bad, place):
    ends = [0, 0, 1, 1]
    ends[place] = bad
    with pytest.raises(NumberError, match="finite"):
        Box(*ends)


@pytest.mark.parametrize(
    ("ends", "word"),
    [
        ((1, 0, 0, 1), "turned around"),
        ((0, 1, 1, 0), "turned around"),
        ((0, 0, 0, 1), "no area"),
        ((0, 1, 1, 1), "no area"),
        ((0, 0, 1e101, 1), "beyond"),
        ((0, 0, 10**400, 1), "beyond"),
    ],
)
def test_box_refuses_what_holds_nothing(ends, word):
    with pytest.raises(RangeError, match=word):
        Box(*ends)
    with pytest.raises(RangeError, match=word):
        boxes([(0, 0, 1, 1), ends])


def test_refusal_names_the_box_that_is_wrong():
    with pytest.raises(RangeError, match="number 2"):
        boxes([(0, 0, 1, 1), (0, 0, 1, 1), (1, 0, 0, 1)])
    with pytest.raises(InputError, match="a cell is four numbers"):
        boxes([], "cell")


@pytest.mark.parametrize(
    "given",
    [
        *("0 0 1 1", b"0011", None, 3, [], [[]], [0, 0, 1], [0, 0, 1, 1, 1], [[0, 0, 1]]),
        *([[0, 0, 1, 1], [0, 0, 1]], ["0", "0", "1", "1"], [False, False, True, True]),
        *({"x": 1}, np.zeros((2, 2, 4)), [0, 0, 1, None], np.zeros((0, 4)), 1j),
    ],
)
def test_boxes_refuse_what_is_not_four_numbers(given):
    with pytest.raises(InputError):
        boxes(given)


def test_one_box_is_not_several():
    with pytest.raises(InputError, match="several"):
        Box.of([[0, 0, 1, 1], [0, 0, 1, 1]])
    with pytest.raises(InputError, match="several"):
        Box.of([[0, 0, 1, 1]])
