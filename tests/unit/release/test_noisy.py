import numpy as np
import pytest

from sfumato.core.codec import decode, encode
from sfumato.core.errors import InputError
from sfumato.release.error import Noise
from sfumato.release.noisy import Noisy

NOISE = Noise("laplace", 4)
DRAW = Noisy("a", NOISE, (10, 20, 30, 40))


def test_cells_that_are_left_out_keep_their_numbers():
    kept = DRAW.kept(np.array([3]))
    assert (kept.values, kept.cells) == ((40,), (3,))
    assert kept.at(np.array([3, 3])).tolist() == [40, 40]
    assert DRAW.kept(np.array([0, 1])) is DRAW
    assert decode(encode(kept)) == kept


def test_copies_of_one_draw_are_joined():
    one, three = DRAW.kept(np.array([1])), DRAW.kept(np.array([3]))
    assert one.joined(three) == Noisy("a", NOISE, (20, 40), (1, 3))
    assert one.joined(DRAW) is DRAW
    assert DRAW.joined(one) is DRAW


@pytest.mark.parametrize(
    "other",
    [
        Noisy("a", Noise("laplace", 5), (10, 20, 30, 40)),
        Noisy("a", NOISE, (10, 20, 30, 41)),
        Noisy("a", NOISE, (11,), (0,)),
    ],
    ids=str,
)
def test_edited_copies_are_refused(other):
    with pytest.raises(InputError, match="edited"):
        DRAW.joined(other)
    with pytest.raises(InputError, match="edited"):
        other.joined(DRAW)


@pytest.mark.parametrize(
    "parts",
    [
        ("", NOISE, (1,)),
        (None, NOISE, (1,)),
        ("a", "laplace", (1,)),
        ("a", NOISE, (1.5,)),
        ("a", NOISE, (True,)),
        ("a", NOISE, (1, 2), (1,)),
        ("a", NOISE, (1, 2), (1, 0)),
        ("a", NOISE, (1,), (-1,)),
        ("a", NOISE, (1,), None, 1),
    ],
    ids=str,
)
def test_what_is_no_draw_is_refused(parts):
    with pytest.raises(InputError):
        Noisy(*parts)


def test_cell_that_is_not_there_is_refused():
    with pytest.raises(InputError):
        DRAW.at(np.array([4]))
    with pytest.raises(InputError):
        DRAW.kept(np.array([3])).at(np.array([2]))
