"""Losses: what they hold, how they compose, what is refused. The algebra is a property test."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.codec import decode, digest, encode
from sfumato.core.errors import CodecError, LossError, NeighborsError, SensitivityError, UnitError
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
from sfumato.core.unit import Neighbors

ONE, TWO = Pure(1), Concentrated("0.5")
HERS = Pure(1, neighbors="replace")


def test_losses_hold_exact_numbers():
    assert Pure("1/3").epsilon == Fraction(1, 3)
    assert Approximate(0.1, "1e-6").delta == Fraction(1, 10**6)
    assert Concentrated(0).rho == 0
    assert BoundedRange(2).epsilon == 2
    assert LaplaceShift(0.5, 3, 1).scale == Fraction(1, 2)
    assert GaussianShift("0.5", 2).sigma == Fraction(1, 2)


def test_losses_hold_under_one_relation():
    assert Pure(1).neighbors is Neighbors.ADD_REMOVE
    assert HERS.neighbors is Neighbors.REPLACE
    assert Pure(1) != HERS
    with pytest.raises(UnitError, match="not a neighbor relation"):
        Pure(1, neighbors="bounded")


@pytest.mark.parametrize("shift", [(Fraction(1, 2), 1), (1, Fraction(1, 2))])
def test_laplace_shift_refuses_half_an_integer(shift):
    with pytest.raises(SensitivityError, match="whole numbers"):
        LaplaceShift(1, *shift)


def test_laplace_shift_refuses_a_shift_that_no_cell_makes():
    with pytest.raises(SensitivityError, match="linf = 0"):
        LaplaceShift(1, 5, 0)
    assert LaplaceShift(1, 0, 0).l1 == 0


@pytest.mark.parametrize("scalar", [1, 0, "no", None, np.True_])
def test_gaussian_shift_refuses_a_scalar_that_is_not_true_or_false(scalar):
    # Truthy junk would buy the tighter accounting of a single cell.
    with pytest.raises(LossError, match="scalar"):
        GaussianShift(1, 1, scalar)


def test_composition_counts_equal_parts():
    both = Composed.of([ONE, TWO, ONE])
    assert dict(both.parts) == {ONE: 2, TWO: 1}
    assert both == ONE + TWO + ONE == TWO + 2 * ONE


def test_composition_of_one_is_itself():
    assert Composed.of([ONE]) == ONE
    assert ONE * 1 == ONE
    assert Composed.of([Composed.of([ONE, TWO])]) == ONE + TWO


@pytest.mark.parametrize("loss", [ONE, HERS, ONE + TWO, HERS * 3])
def test_nothing_is_nothing_and_keeps_its_relation(loss):
    nothing = loss * 0
    assert nothing.parts == ()
    assert nothing.neighbors is loss.neighbors
    assert Composed.of([nothing]) == nothing
    assert nothing + nothing == nothing * 5 == nothing
    assert nothing + loss == loss + nothing == loss


def test_nothing_at_all_goes_with_either_relation():
    assert Composed.of([]).parts == ()
    assert Composed.of([]) + HERS == HERS
    assert Composed.of([]) + ONE == ONE
    with pytest.raises(NeighborsError):
        ONE * 0 + HERS * 0


def test_composition_takes_whole_numbers_of_numpy():
    assert ONE * np.int64(3) == ONE * 3
    assert decode(encode(ONE * np.int64(3))) == ONE * 3
    assert Worst.of([ONE, TWO], touched=np.int8(1)) == Worst.of([ONE, TWO], touched=1)


@pytest.mark.parametrize("times", [-1, 1.0, "2", True, None, Fraction(2), np.float64(2), [2]])
def test_composition_refuses_other_counts(times):
    with pytest.raises(LossError, match="whole number of times"):
        ONE * times
    with pytest.raises(LossError, match="whole number of times"):
        times * ONE if not isinstance(times, np.generic | list) else Composed.of([ONE], times=times)


@pytest.mark.parametrize("other", [1, "1", None, Fraction(1)])
def test_composition_refuses_what_is_no_loss(other):
    with pytest.raises(LossError, match="is not a loss") as caught:
        ONE + other
    assert isinstance(caught.value, TypeError)
    with pytest.raises(LossError, match="is not a loss"):
        Worst.of([ONE, other], touched=1)


def test_composition_refuses_two_relations():
    for compose in (
        lambda: ONE + HERS,
        lambda: Composed.of([ONE, TWO, HERS]),
        lambda: Composed.of([ONE, HERS], times=0),
        lambda: (ONE + TWO) + HERS * 2,
        lambda: Worst.of([ONE, HERS], touched=1),
        lambda: Worst.of([ONE, HERS], touched=2),
    ):
        with pytest.raises(NeighborsError, match="different neighbor relations"):
            compose()


def test_worst_keeps_the_parts_and_how_many_one_unit_touches():
    worst = Worst.of([ONE, TWO, ONE, ONE], touched=2)
    assert dict(worst.parts) == {ONE: 3, TWO: 1}
    assert worst.touched == 2
    assert worst == Worst.of([TWO, ONE, ONE, ONE], touched=2)
    assert Worst.of([HERS, HERS], touched=1).neighbors is Neighbors.REPLACE


def test_worst_of_no_more_than_one_touches_is_all_of_them():
    assert Worst.of([ONE, TWO], touched=2) == ONE + TWO
    assert Worst.of([ONE], touched=5) == ONE
    assert Worst.of([], touched=1) == Composed.of([])


def test_worst_and_compositions_nest():
    inner = Worst.of([ONE + TWO, TWO, ONE], touched=1)
    outer = Worst.of([inner + inner, inner], touched=1)
    assert decode(encode(outer + ONE)) == outer + ONE
    assert digest(outer + ONE) == digest(ONE + outer)


@pytest.mark.parametrize("touched", [0, -1, 1.0, "1", True, None])
def test_worst_refuses_other_numbers_of_parts(touched):
    with pytest.raises(LossError, match="1 part or more"):
        Worst.of([ONE, TWO], touched=touched)


SORTED = (ONE + TWO).parts


@pytest.mark.parametrize(
    "parts",
    [
        5,
        None,
        "ab",
        (ONE,),
        ((ONE, 1, 1), (TWO, 1)),
        [(ONE, 2)],
        ((ONE, 0), (TWO, 1)),
        ((ONE, -1), (TWO, 1)),
        ((ONE, True), (TWO, 1)),
        ((ONE, 1.0), (TWO, 1)),
        ((ONE, Fraction(2)),),
        ((1, 2),),
        ((ONE, 2), (ONE, 1)),
        SORTED[::-1],
        ((ONE, 1),),
        ((ONE + TWO, 2),),
    ],
    ids=repr,
)
def test_composition_made_by_hand_is_refused_unless_it_is_in_its_one_form(parts):
    with pytest.raises(LossError, match=r"Composed\.of"):
        Composed(parts)


def test_composition_made_by_hand_is_accepted_in_its_one_form():
    assert Composed(SORTED) == ONE + TWO
    assert Composed(()) == Composed.of([])
    assert Composed(((ONE, 2),)) == ONE * 2


def test_composition_made_by_hand_keeps_to_its_relation():
    with pytest.raises(NeighborsError):
        Composed(((HERS, 2),))
    with pytest.raises(NeighborsError):
        Composed(SORTED, neighbors="replace")
    with pytest.raises(NeighborsError):
        Worst(((HERS, 2),), 1)


@pytest.mark.parametrize(
    ("parts", "touched"),
    [
        (5, 1),
        (SORTED[::-1], 1),
        (((ONE, 1), (ONE, 1)), 1),
        (((ONE, 2.0),), 1),
        (SORTED, 0),
        (SORTED, -1),
        (SORTED, True),
        (SORTED, 2),
        (SORTED, "1"),
        ((), 1),
    ],
)
def test_worst_made_by_hand_is_refused_unless_it_is_in_its_one_form(parts, touched):
    with pytest.raises(LossError, match=r"Worst\.of"):
        Worst(parts, touched)


def test_edited_compositions_do_not_decode():
    text = encode(ONE * 2)
    for forged in (
        text.replace(b"},2]", b"},0]"),
        text.replace(b"},2]", b"},-2]"),
        text.replace(b"},2]", b"},1]"),
        text.replace(b'"add_remove","parts"', b'"replace","parts"'),
    ):
        assert forged != text
        with pytest.raises(CodecError):
            decode(forged)


def test_losses_are_values():
    assert Pure(0.5) == Pure("1/2")
    assert hash(Pure(0.5)) == hash(Pure("1/2"))
    assert Pure(1) != BoundedRange(1)
    with pytest.raises(AttributeError):
        Pure(1).epsilon = 0


def test_a_loss_of_ones_own_composes_too():
    class Mine(Loss):
        pass

    assert dict((Mine() + ONE + Mine()).parts) == {Mine(): 2, ONE: 1}
