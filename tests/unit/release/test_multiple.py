from fractions import Fraction

import pytest

from sfumato.core.errors import InputError, RangeError
from sfumato.release import RANK, Measure
from sfumato.release.multiple import scaled

STEPS = Measure("fare", (7, -3), (5, -5), (9, -1), scale=Fraction(2), mechanism="M")


def test_multiple_is_exact_in_values_interval_and_scale():
    built = scaled(STEPS, Fraction(1, 3))
    assert built.values == (Fraction(7, 3), -1)
    assert (built.low, built.high) == ((Fraction(5, 3), Fraction(-5, 3)), (3, Fraction(-1, 3)))
    assert (built.scale, built.kind, built.mechanism) == (Fraction(2, 3), "rational", "M")


def test_whole_multiple_of_integers_stays_integer():
    built = scaled(STEPS, 10)
    assert (built.values, built.kind) == ((70, -30), "integer")
    assert {type(v) for v in (*built.values, *built.low, *built.high)} == {int}


def test_multiple_can_take_a_name():
    assert (scaled(STEPS, 2, "total").name, scaled(STEPS, 2).name) == ("total", "fare")


def test_margin_in_ranks_and_its_noise_stay():
    ranks = Measure("p50", (7,), margin=Fraction(4), covers=RANK, scale=Fraction(3))
    built = scaled(ranks, Fraction(1, 2))
    assert (built.values, built.margin, built.scale) == ((Fraction(7, 2),), 4, 3)


def test_measure_without_interval_or_scale_has_a_multiple():
    built = scaled(Measure("n", (4,)), "0.5")
    assert (built.values, built.low, built.scale) == ((2,), None, None)
    assert built.kind == "rational"


@pytest.mark.parametrize("factor", [0, -1])
def test_factor_must_be_above_zero(factor):
    with pytest.raises(RangeError, match="factor"):
        scaled(STEPS, factor)


def test_text_has_no_multiple():
    with pytest.raises(InputError, match="text"):
        scaled(Measure("top", ("a",)), 2)
