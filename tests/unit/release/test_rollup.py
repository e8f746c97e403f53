from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core.errors import InputError, KeysError, UnknownName
from sfumato.release import Measure, Release, law
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.inversion import quantile

N, FARE = Noise("laplace", 4), Noise("laplace", 400)


def test_total_has_the_noise_of_all_cells(town):
    answer = town().total("n", "fare")
    assert answer.keys == ()
    assert answer["n"].value == 1200
    assert answer["n"].halfwidth == int(quantile(((N, 1.0, 3),), 0.05))
    assert answer["n"].halfwidth < 3 * law.reach(N, 0.05)


def test_what_does_not_add_up_says_what_does(town):
    answer = town()
    spread = Measure("v", (1, 2, 3), (0, 0, 0), (9, 9, 9))
    answer = replace(answer, measures=(*answer.measures, spread))
    for refused in (
        answer.total,
        lambda: answer.roll_up("zone"),
        answer.simultaneous,
        lambda: answer.at("0.9"),
    ):
        with pytest.raises(
            InputError, match=r"'v' does not say.* select\('n', 'fare', 'mean'\) fi"
        ):
            refused()
    assert answer.select("n", "fare", "mean").total()["n"].value == 1200
    with pytest.raises(InputError, match=r"sorted and rounded\. \[E100\]$"):
        answer.select("v").total()


def test_total_of_no_groups_says_so(town):
    none = town(counts=(), sums=())
    assert "a total of no groups" in none.total("n").notes[-1]
    assert "a total of no groups" in none.roll_up("zone", names=("n",)).notes[-1]
    assert "no groups" not in town().total("n").notes[-1]


def test_mean_of_all_cells_is_pooled(town):
    pooled = town().total("mean", "n", "fare")
    assert float(pooled["mean"].value) == pytest.approx(100_100 / 1200, abs=0.01)
    assert pooled["mean"].low < 100_100 / 1200 < pooled["mean"].high
    assert (pooled["mean"] * pooled["n"] - pooled["fare"]).value == 0


def test_keys_are_put_together(town):
    answer = town().roll_up("zone", {"A": "north", "B": "south", "C": "north"}, names=("n", "mean"))
    assert answer.keys == (("zone", ("north", "south")),)
    assert answer.measure("n").values == (800, 400)
    assert answer["n"].halfwidth.tolist() == [
        int(quantile(((N, 1.0, 2),), 0.05)),
        law.reach(N, 0.05),
    ]
    assert answer["mean"].value == pytest.approx([70_100 / 800, 75], abs=0.01)


def test_column_is_dropped_without_a_mapping(town):
    keys = (("zone", ("A", "A", "B")), ("day", (1, 2, 1)))
    answer = town(keys=keys)
    assert answer.roll_up("day", names=("n",)).keys == (("zone", ("A", "B")),)
    assert answer.roll_up("day", names=("n",)).measure("n").values == (900, 300)
    assert answer.roll_up("zone", {"A": "x", "B": "x"}, names=("n",)).keys == (
        ("zone", ("x", "x")),
        ("day", (1, 2)),
    )
    assert town().roll_up("zone", names=("n",))["n"].value == 1200


def test_weights_are_exact(town):
    weights = {"A": "1/2", "B": 0.25, "C": Fraction(1, 3)}
    answer = town().roll_up("zone", weights=weights, names=("n",))
    assert answer["n"].value == 250 + 100 + 100
    law_ = ((N, 0.5, 1), (N, 0.25, 1), (N, 1 / 3, 1))
    assert float(answer["n"].halfwidth) == pytest.approx(quantile(law_, 0.05), abs=1 / 12)


def test_rolled_up_shares_add_up(town):
    shares = town().share("n").roll_up("zone", {"A": 1, "B": 1, "C": 2}, names=("n_share",))
    assert shares["n_share"].value == pytest.approx([0.75, 0.25], abs=1e-4)
    whole = town().share("n").total("n_share")
    assert interval(whole["n_share"]) == pytest.approx([1, 1, 1], abs=1e-3)


def interval(estimate):
    return [float(end) for end in (estimate.value, estimate.low, estimate.high)]


def test_share_knows_that_the_cell_is_in_the_total(town):
    answer = town(counts=(90_000, 5, 5)).share("n")
    share = answer["n_share"]
    # The large cell is in both: its share errs by the others' noise only, not by its own.
    two = quantile(((N, 1.0, 2),), 0.05) / 90_010
    assert two <= share.halfwidth[0] < 1.1 * two
    assert share.low.min() >= 0
    assert share.high.max() <= 1
    assert answer.notes == ("n_share = n over its total in this answer; computed, free",)
    assert town().share("fare", "part").columns[-3:] == ("part", "part_low", "part_high")


def test_share_of_one_cell_is_one(town):
    found = town(counts=(50,), sums=(7,)).share("n")["n_share"]
    assert interval_of(found) == [[1], [1], [1]]


def interval_of(estimate):
    return [end.tolist() for end in (estimate.value, estimate.low, estimate.high)]


def test_refusals(town, make):
    answer = town()
    with pytest.raises(UnknownName, match="no key column 'day'; there are: zone"):
        answer.roll_up("day")
    with pytest.raises(KeysError, match="1 of the keys of 'zone' are not given, such as 'C'"):
        answer.roll_up("zone", {"A": 1, "B": 2})
    with pytest.raises(KeysError, match="weights"):
        answer.roll_up("zone", weights={"A": 1})
    with pytest.raises(InputError, match="do not add up to a whole"):
        answer.share("mean")
    with pytest.raises(InputError, match="without cells"):
        town(counts=(), sums=(), keys=(("zone", ()),)).share("n")
    with pytest.raises(InputError, match="does not say"):
        make([1, 2], keys={"k": [1, 2]}).total()
    declared = Measure("n", (3, 4), form=Form.exact(3, 4))
    exact = Release((("k", (1, 2)),), (declared,), "0.95", town().cost)
    with pytest.raises(InputError, match="is exact"):
        exact.share("n")
    assert exact.total("n")["n"].value == 7


def test_many_shares_are_quick_and_hold_together(town):
    counts = tuple(range(100, 2100))
    answer = town(counts=counts, sums=counts, keys=(("i", tuple(range(2000))),)).share("n")
    assert float(np.sum(answer["n_share"].value)) == pytest.approx(1, abs=0.01)
