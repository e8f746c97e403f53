from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from sfumato import mechanisms
from sfumato.core.errors import InputError, UnknownName
from sfumato.core.loss import Pure
from sfumato.core.unit import Unit
from sfumato.release import Measure, Release
from sfumato.release.error import Noise
from sfumato.release.form import Form
from sfumato.release.noisy import Noisy
from sfumato.testing.rng import SeededRng


def test_only_a_declared_sample_speaks_for_a_population(town):
    with pytest.raises(InputError, match="random sample"):
        town().population()


@pytest.mark.parametrize(
    "unit",
    [
        Unit.by("rider", max_rows=12),
        Unit.by("rider", max_rows="auto"),
        Unit.by("rider", max_groups=1, max_rows_per_group=2),
    ],
)
def test_rows_that_one_unit_has_several_of_are_no_sample(town, unit):
    with pytest.raises(InputError, match="'rider' may have several rows"):
        town(sampled=True, unit=unit).population()


@pytest.mark.parametrize("unit", [None, Unit.row(), Unit.by("rider", max_rows=1)])
def test_one_row_of_each_unit_may_be_a_sample(town, unit):
    assert "n_share" in town(sampled=True, unit=unit).population()


def test_counts_become_shares_and_means_get_wider(town):
    answer = town(sampled=True)
    found = answer.population()
    assert list(found) == ["n_share", "mean"]
    assert found.measure("mean").covers == "sampling and noise"
    noise = answer.at("0.95")["mean"]
    assert (found["mean"].halfwidth > noise.halfwidth).all()
    # Values in [0, 200] with mean 100 have a standard deviation of 100 at most.
    assert found["mean"].halfwidth[0] == pytest.approx(1.96 * 100 / sqrt(500), rel=0.15)
    shares = answer.share("n")["n_share"]
    assert (found["n_share"].halfwidth > shares.halfwidth).all()
    assert found["n_share"].halfwidth[0] == pytest.approx(
        1.96 * sqrt(5 / 12 * 7 / 12 / 1200), rel=0.15
    )
    assert Release.from_json(found.to_json()) == found


def test_released_variance_narrows_the_mean(town):
    answer = town(sampled=True)
    small = Measure("var", (25, 25, 25), (16, 16, 16), (36, 36, 36))
    answer = replace(answer, measures=(*answer.measures, small))
    narrow = answer.population({"mean": "var"})["mean"].halfwidth
    assert (narrow < answer.population()["mean"].halfwidth).all()
    assert "raised halfway" in answer.population({"mean": "var"}).notes[-1]
    with pytest.raises(UnknownName):
        answer.population({"mean": "x"})


def test_where_the_count_is_lost_nothing_is_known(town):
    found = town(counts=(500, 400, -3), sampled=True).population()["mean"]
    assert (found.low[2], found.high[2]) == (0, 200)


def test_what_says_nothing_about_a_population(town):
    with pytest.raises(InputError, match="nothing to say"):
        town(sampled=True).select("fare").population()
    with pytest.raises(InputError, match="nothing to say"):
        town(sampled=True).total("n").population()


def test_share_of_the_population_is_in_its_interval(town):
    """4,000 seeded samples of 300 in three cells each; a standard deviation is 0.35 points."""
    size, people = 4000, 300
    words = SeededRng(5).words(size * people).reshape(size, people)
    drawn = (words % np.uint64(10) < 2).sum(1)  # a fifth
    noise = mechanisms.DiscreteLaplace(3)
    draws = (
        Noisy(
            "n", Noise("laplace", 3), noise.sample(np.full(size, people), SeededRng(6)), count=True
        ),
        Noisy("x", Noise("laplace", 3), noise.sample(drawn, SeededRng(7)), count=True),
    )
    form = replace(Form.mean("x", "n"), low=Fraction(0), high=Fraction(1))
    measure = Measure("share", (0,) * size, form=form, kind="rational")
    answer = Release(
        (("i", tuple(range(size))),), (measure,), "0.95", Pure(1), noisy=draws, sampled=True
    )
    found = answer.population()["share"]
    held = np.mean((found.low <= 0.2) & (found.high >= 0.2))
    assert 0.94 <= held <= 0.975
