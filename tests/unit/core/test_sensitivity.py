"""Sensitivities: what is given, what follows, and what is refused. Soundness is a property test."""

from fractions import Fraction

import pytest

from sfumato.core.errors import RangeError, SensitivityError, UnitError
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors


def norms(s):
    return s.l0, s.l1, s.l2_squared, s.linf


@pytest.mark.parametrize(
    ("given", "completed"),
    [
        ({"l1": 3}, (None, 3, 9, 3)),
        ({"l2": 3}, (None, None, 9, 3)),
        ({"linf": 3}, (None, None, None, 3)),
        ({"l0": 4, "linf": 3}, (4, 12, 36, 3)),
        ({"l0": 4, "l1": 3}, (4, 3, 9, 3)),
        ({"l0": 4, "l2": 3}, (4, 6, 9, 3)),
        ({"l1": 10, "linf": 2}, (None, 10, 20, 2)),
        ({"l1": 10, "l2": 5, "linf": 8}, (None, 10, 25, 5)),
        ({"l0": 1, "l1": 10, "l2": 7, "linf": 8}, (1, 7, 49, 7)),
        ({"l0": 3, "l1": 100, "l2": 100, "linf": 1}, (3, 3, 3, 1)),
        ({"l2_squared": 12, "linf": 2}, (None, None, 12, 2)),
        ({"l1": "1/3"}, (None, Fraction(1, 3), Fraction(1, 9), Fraction(1, 3))),
        ({"l1": 0}, (0, 0, 0, 0)),
        ({"l2": 0}, (0, 0, 0, 0)),
        ({"linf": 0}, (0, 0, 0, 0)),
        ({"l0": 0, "linf": 5}, (0, 0, 0, 0)),
    ],
)
def test_norms_are_completed_to_the_least_that_follows(given, completed):
    assert norms(Sensitivity(**given)) == completed


def test_irrational_roots_are_rounded_up_by_a_hair():
    for square in (Fraction(2), Fraction(2, 10**60), Fraction(2 * 10**30)):
        linf = Sensitivity(l2_squared=square).linf
        assert square < linf**2 < square * (1 + Fraction(1, 2**60))


def test_equal_norms_are_equal_values():
    assert Sensitivity(l2=3) == Sensitivity(l2_squared=9)
    assert hash(Sensitivity(l2="0.5")) == hash(Sensitivity(l2_squared="1/4"))
    assert Sensitivity(l1=1) != Sensitivity(l1=1, neighbors="replace")


def test_zero_says_that_nothing_can_move():
    assert Sensitivity(l1=0).is_zero
    assert not Sensitivity(l1="1e-9").is_zero


@pytest.mark.parametrize("given", [{}, {"l0": 3}, {"l0": 0}], ids=str)
def test_sensitivity_refuses_to_bound_nothing(given):
    with pytest.raises(SensitivityError, match="needs a bound"):
        Sensitivity(**given)


def test_sensitivity_refuses_two_ways_to_say_l2():
    with pytest.raises(SensitivityError, match="not both"):
        Sensitivity(l2=1, l2_squared=1)


def test_sensitivity_refuses_a_fraction_of_a_cell():
    with pytest.raises(SensitivityError, match="whole number"):
        Sensitivity(l0="1.5", linf=1)


@pytest.mark.parametrize("norm", ["l0", "l1", "l2", "l2_squared", "linf"])
def test_sensitivity_refuses_negative_norms_by_their_name(norm):
    with pytest.raises(RangeError, match=f"^{norm} = -1 must not be negative"):
        Sensitivity(**{"linf": 1, norm: -1})


def test_sensitivity_ends_where_the_integers_end():
    assert Sensitivity(linf=2**62).linf == 2**62
    for given in ({"linf": 2**62 + 1}, {"l1": "4611686018427387904.5"}, {"l2": 2**63}):
        with pytest.raises(SensitivityError, match=r"more than 2\^62"):
            Sensitivity(**given)
    # One cell is what counts: many cells may move by more together.
    assert Sensitivity(l1=2**70, linf=5).l1 == 2**70


def test_sensitivity_holds_under_one_relation():
    assert Sensitivity(l1=1).neighbors is Neighbors.ADD_REMOVE
    assert Sensitivity(l1=1, neighbors="replace").neighbors is Neighbors.REPLACE
    with pytest.raises(UnitError, match="not a neighbor relation"):
        Sensitivity(l1=1, neighbors="bounded")


@pytest.mark.parametrize(
    ("sensitivity", "text"),
    [
        (Sensitivity(l0=3, linf=2), "Sensitivity(l0=3, l1=6, l2=sqrt(12), linf=2)"),
        (Sensitivity(linf=1), "Sensitivity(linf=1)"),
        (Sensitivity(l2="0.5"), "Sensitivity(l2=0.5, linf=0.5)"),
        (
            Sensitivity(l1=1, neighbors="replace"),
            "Sensitivity(l1=1, l2=1, linf=1, neighbors='replace')",
        ),
    ],
)
def test_repr_shows_the_norms_that_are_known(sensitivity, text):
    assert repr(sensitivity) == text


def test_sensitivity_cannot_be_changed():
    with pytest.raises(AttributeError):
        Sensitivity(l1=1).l1 = 0
