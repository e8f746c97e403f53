from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.core.errors import InputError, KeysError, RangeError
from sfumato.core.loss import Composed, Pure
from sfumato.release import Measure, Release
from sfumato.release.confidence import _independent
from sfumato.release.derived import formula
from sfumato.release.error import Noise
from sfumato.release.form import Form, Term
from sfumato.release.noisy import Noisy


def columns(release, name="n"):
    m = release.measure(name)
    return [list(each) for each in (m.values, m.low, m.high)]


def cells(values, scale=4, entry="1", kind="laplace"):
    values = tuple(values)
    draw = Noisy(entry, Noise(kind, scale), values, count=True)
    measure = Measure("n", values, values, values, form=Form.linear({entry: 1}))
    keys = (("k", tuple(range(len(values)))),)
    return Release(keys, (measure,), "0.95", Pure(1), noisy=(draw,)).at("0.95")


def single(value, scale, entry="t"):
    draw = Noisy(entry, Noise("laplace", scale), (value,), count=True)
    measure = Measure("n", (value,), form=Form.linear({entry: 1}))
    return Release((), (measure,), "0.95", Pure(2), noisy=(draw,))


def test_values_are_rounded_and_intervals_outwards():
    found = cells([503, 395]).round(10)
    assert columns(found) == [[500, 400], [490, 380], [520, 410]]
    assert found.measure("n").kind == "integer"
    quarter = cells([3]).derive(x="n / 7").round("0.25", "x")
    assert columns(quarter, "x")[0] == [Fraction(1, 2)]
    assert columns(quarter, "n")[0] == [3]
    assert quarter.notes[-1] == "x: rounded to multiples of 0.25"


def test_rounding_is_refused_where_it_makes_no_sense(make):
    with pytest.raises(RangeError):
        cells([1]).round(0)
    with pytest.raises(RangeError, match="multiples of a step above 0, and this is -1"):
        cells([1]).round(-1)
    with pytest.raises(InputError, match="text"):
        make(["a"], error=None, keys={"k": [1]}).round(1, "n")
    with pytest.raises(InputError, match="does not say"):
        cells([1, 2]).round(5).derive(x="n + n")


def test_rounded_numbers_are_shifted_and_multiplied_by_exact_ones():
    found = cells([503, 395]).round(10)["n"] * 2 + 1
    assert (found.value.tolist(), found.low.tolist()) == ([1001, 801], [981, 761])


def test_notes_of_measures_that_are_left_out_go_with_them():
    answer = replace(
        cells([503, 395]).derive(x="n / 4", y="x + x", z="n * 2"),
        notes=("n is count()", "n below 0 counts as 0", "z is a sum", "y = x + x", "x = n / 4"),
    )
    assert answer.select("n").notes == ("n is count()", "n below 0 counts as 0")
    assert answer.select("z").notes == ("n below 0 counts as 0", "z is a sum")
    # What it is made of stays explained, to the end.
    assert set(answer.notes) - set(answer.select("y").notes) == {"z is a sum"}
    assert answer.select("n", "x", "y", "z").notes == answer.notes


def test_nothing_is_below_zero_and_intervals_still_hold():
    found = cells([-7, 3, 50]).nonnegative()
    assert columns(found) == [[0, 3, 50], [0, 0, 38], [5, 15, 62]]
    assert columns(cells([-70]).nonnegative()) == [[0], [0], [0]]


def test_cells_add_up_to_the_agreed_total():
    found = cells([100, 200, 301]).consistent(single(640, 4))
    values = columns(found)[0]
    # Σv = 3v against v: three quarters of the 39 that are missing.
    assert sum(values) == 601 + round(Fraction(3, 4) * 39)
    assert [v - x for v, x in zip(values, (100, 200, 301), strict=True)] in (
        [10, 10, 9],
        [9, 10, 10],
        [10, 9, 10],
    )
    assert found.cost == Composed.of([Pure(1), Pure(2)])
    assert "adds up to 630" in found.notes[-1]
    widths = [high - low for low, high in zip(*columns(found)[1:], strict=True)]
    before = [high - low for low, high in zip(*columns(cells([100, 200, 301]))[1:], strict=True)]
    assert all(new <= old + 1 for new, old in zip(widths, before, strict=True))


def test_precise_total_is_believed_and_a_vague_one_is_not():
    assert sum(columns(cells([10, 20]).consistent(single(70, Fraction(1, 100))))[0]) == 70
    assert sum(columns(cells([10, 20]).consistent(single(100, 10**6)))[0]) == 30


def test_cells_can_be_kept_from_falling_below_zero():
    found = cells([2, 50, 100]).consistent(single(90, "0.01"), nonnegative=True)
    assert columns(found)[0] == [0, 20, 70]
    assert min(columns(found)[1]) >= 0
    none = cells([5, 5]).consistent(single(-50, "0.01"), nonnegative=True)
    assert columns(none)[0] == [0, 0]
    odd = cells([1, 1, 1]).consistent(single(5, "0.01"), nonnegative=True)
    assert sum(columns(odd)[0]) == 5


def test_consistency_on_a_grid_stays_on_it():
    answer = cells([10, 21]).derive(x="n / 4").select("x")
    found = answer.consistent(single(9, "0.01"))
    assert sum(columns(found, "x")[0]) == 9
    assert all((4 * v).denominator == 1 for v in columns(found, "x")[0])


def test_consistency_is_refused_where_it_makes_no_sense(town):
    answer = cells([1, 2])
    with pytest.raises(InputError, match="made of the cells themselves"):
        answer.consistent(answer.total("n"))
    with pytest.raises(InputError, match="single number"):
        answer.consistent(cells([1, 2], entry="2"))
    with pytest.raises(InputError, match="several measures"):
        town().consistent(single(3, 4))
    with pytest.raises(InputError, match="do not add up"):
        town().consistent(single(3, 4), "mean")
    with pytest.raises(InputError, match="without cells"):
        cells([]).consistent(single(3, 4))
    assert sum(columns(cells([7]).consistent(single(9, 4)["n"]))[0]) == 8


def test_total_of_other_rows_is_refused():
    # Two Laplace laws of scale 4 and one of 1/100: 64 is exceeded in one of a million cases.
    assert sum(columns(cells([10, 20]).consistent(single(94, "0.01")))[0]) == 94
    with pytest.raises(InputError, match=r"30 and the total is 95, which is 65 apart.* than 64 in"):
        cells([10, 20]).consistent(single(95, "0.01"))
    with pytest.raises(InputError, match="same rows"):
        cells([10, 20]).consistent(single(-35, "0.01"), nonnegative=True)
    assert sum(columns(cells([10, 20]).consistent(single(130, 10)))[0]) > 30  # its noise counts
    quarters = cells([40, 80]).derive(x="n / 4").select("x")
    with pytest.raises(InputError, match=r"30 and the total is 47, which is 17 apart"):
        quarters.consistent(single(47, "0.01"))


def test_noise_that_cells_share_is_not_taken_for_independent():
    def of(first, second):
        shared = Noisy("s", Noise("laplace", 100), (0,))
        own = Noisy("own", Noise("laplace", 4), (10, 20))
        terms = (
            Term("own"),
            Term("s", Fraction(first), (0,), (0,)),
            Term("s", Fraction(second), (1,), (0,)),
        )
        measure = Measure("n", (10, 20), form=Form(terms))
        keys = (("k", (0, 1)),)
        return Release(keys, (measure,), "0.95", Pure(1), noisy=(shared, own)).at("0.95")

    with pytest.raises(InputError, match="65 apart"):  # it cancels out in the sum
        of(1, -1).consistent(single(95, "0.01"))
    of(1, 1).consistent(single(2700, "0.01"))  # twice a noise that reaches 1382: two reach 1700
    with pytest.raises(InputError, match="same rows"):
        of(1, 1).consistent(single(2900, "0.01"))


def test_intervals_hold_together_and_say_how():
    answer = cells([100, 200, 300])
    found = answer.simultaneous("0.9")
    assert found.measure("n").covers == "noise only, all at once"
    assert "(independent, Šidák)" in found.notes[0]
    alone = answer.at(Fraction(9, 10) ** 1)["n"].halfwidth
    assert (found["n"].halfwidth > alone).all()
    # (1 − α/3)^3 > 1 − α: each of three gets a bit more than a third.
    assert found["n"].halfwidth.tolist() == answer.at("0.9655")["n"].halfwidth.tolist()
    assert "at 90 % (noise only, all at once)" in repr(found)
    shared = answer.share("n").simultaneous("0.9")
    assert "(Bonferroni)" in shared.notes[-1]
    assert shared.at("0.9").measure("n").covers == "noise only"


def test_each_of_many_intervals_fails_as_seldom_as_it_must():
    answer = cells([1000, 2000, 3000], scale=400)
    each = -(((1 - 0.1) ** (1 / 3)) - 1)
    assert answer.simultaneous("0.9")["n"].halfwidth[0] == answer.at(1 - each)["n"].halfwidth[0]
    both = answer.derive(x="n + 1").simultaneous("0.9")  # six intervals, noise in common
    assert both["n"].halfwidth[0] == answer.at(1 - Fraction(1, 60))["n"].halfwidth[0]


def test_independence_is_that_of_the_cells():
    answer = cells([100, 200, 300]).derive(x="n - 5", y="1 / (n + 1)")
    made = {name: formula(answer, name) for name in answer}
    assert _independent([made["n"]])
    assert _independent([made["y"]])
    assert not _independent([made["n"], made["x"]])
    assert not _independent([formula(answer.share("n"), "n_share")])
    assert _independent([])


def test_confidence_is_changed_for_all_that_say_their_noise(make, town):
    assert town().at("0.99").confidence == Fraction(99, 100)
    assert town().at("0.99").measure("mean").low is not None
    with pytest.raises(InputError, match="does not say"):
        make(5).at("0.9")
    with pytest.raises(RangeError):
        town().at(95)


def test_keys_of_a_total_do_not_matter_but_its_unit_does(town):
    with pytest.raises(KeysError):
        _ = town()["n"] + cells([1, 2, 3])["n"]
