"""Exact values go to a mechanism and nowhere else."""

import copy
import pickle

import numpy as np
import pytest

from sfumato.core.errors import InternalError
from sfumato.mechanisms import DiscreteLaplace
from sfumato.session.exact import Exact
from sfumato.testing import SeededRng

EXACT = Exact(np.array([123454321]))


@pytest.mark.parametrize(
    "look",
    [
        np.asarray,
        list,
        len,
        int,
        float,
        bool,
        hash,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda e: e[0],
        lambda e: e == 1,
        lambda e: f"{e:d}",
        lambda e: {e: 1},
    ],
    ids=lambda f: f.__name__,
)
def test_exact_value_refuses_to_be_looked_at(look):
    with pytest.raises(InternalError):
        look(EXACT)


def test_exact_value_shows_nothing_of_itself():
    for text in (repr(EXACT), str(EXACT), f"{EXACT!r}"):
        assert "123454321" not in text
    assert not hasattr(EXACT, "__dict__")
    assert not hasattr(EXACT, "__array_interface__")


def test_exact_value_can_be_measured():
    assert EXACT.drawn(DiscreteLaplace("0.001"), SeededRng(1)).tolist() == [123454321]
