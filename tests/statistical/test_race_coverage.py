"""How often a race ends at or below the exact number, and how often it is as near as is said.

Seeds are fixed, so a pass is a pass for ever; with fresh ones each test fails with a probability
below 10^-9 if the guarantee holds.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.testing import SeededRng

RARELY = 1e-9
GROUPS, RIDERS = 400, 40
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Integer(1, 9))
COSTS = [{"epsilon": 60}, {"epsilon": 25, "delta": "1e-6"}, {"rho": 20}]


def rides(groups=GROUPS):
    """Riders of one zone each, with one ride to twelve."""
    rng = np.random.default_rng(5)
    rows = rng.integers(1, 13, groups * RIDERS)
    rider = np.repeat(np.arange(rows.size), rows)
    return pa.table({"id": rider, "zone": rider // RIDERS, "fare": rng.integers(1, 10, rider.size)})


def at_most(runs, fails):
    """Return how often something may happen that has probability `fails` or less."""
    return int(binom.isf(RARELY, runs, float(fails)))


def at_least(runs, happens):
    """Return how often something must happen that has probability `happens` or more."""
    return int(binom.ppf(RARELY, runs, float(happens)))


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("output", [sf.count(per_unit="auto"), sf.sum("fare", per_unit="auto")])
def test_session_answers_are_hardly_above_and_as_near_as_is_said(cost, output):
    """Each of 400 groups has noise of its own: they are as many runs."""
    data = rides()
    unit = sf.Unit.by("id", max_rows="auto", max_groups=1)
    session = sf.Session(data, unit=unit, schema=SCHEMA, budget=sf.Budget(10**6, "1e-3"))
    session._rng = SeededRng(1)
    question = session.table().group_by("zone").agg(x=output)
    plan = question.explain(**cost)
    answer = plan.release()
    weights = np.asarray(data["fare"]) if output.function == "sum" else None
    zones = np.asarray(data["zone"])
    truth = np.bincount(zones, weights, GROUPS).astype(int)
    largest = np.bincount(np.asarray(data["id"]), weights).max()
    found = np.array(answer.measures[0].values)
    assert (found > truth).sum() <= at_most(GROUPS, 0.05)
    near = next(level for level in plan.expected[0].levels if level.end >= largest)
    assert (found < truth - float(near.below)).sum() <= at_most(GROUPS, 0.05)
    assert np.median(found / truth) > 0.5  # and it says something


def races(contributions, runs, seed, most, confidence="0.95", **cost):
    """Return truth, answers and levels of many races for the same contributions."""
    data = pa.table({"id": [0], "zone": [0], "fare": [1]})
    unit = sf.Unit.by("id", max_rows="auto")
    with sf.Session(data, unit=unit, schema=SCHEMA, budget=sf.Budget(10**6, "1e-3")) as session:
        asked = session.table().count(per_unit="auto", most=most)
        plan = asked.explain(**cost, confidence=confidence)
        [recipe] = plan.recipes
    rng = SeededRng(seed)
    noisy = []
    for part, level in zip(recipe.parts, plan.expected[0].levels, strict=True):
        exact = int(np.minimum(contributions, int(level.end)).sum())
        noisy.append(part.mechanism.sample(np.full(runs, exact, np.int64), rng))
    found = np.array(recipe.measure(noisy, Fraction(confidence)).values)
    return int(contributions.sum()), found, plan.expected[0].levels


LAWS = [{"epsilon": "0.5"}, {"epsilon": "0.5", "delta": "1e-6"}, {"rho": "0.01"}]


@pytest.mark.parametrize("cost", LAWS, ids=str)
@pytest.mark.parametrize("confidence", ["0.95", "0.8", "0.5"])
def test_shift_is_large_enough_and_no_larger(cost, confidence):
    """Where no level clamps anybody, each is above with its own part of β: hardly less than β."""
    runs, beta = 40_000, 1 - Fraction(confidence)
    everybody = np.ones(50_000, np.int64)
    truth, found, levels = races(everybody, runs, 3, 2**12, confidence, **cost)
    above = (found > truth).sum()
    assert above <= at_most(runs, beta)
    # None of the independent levels is above with the product of what each keeps, β halved from
    # one to the next; whole steps take a little of it.
    halves = [min(place + 1, len(levels) - 1) for place in range(len(levels))]
    some = 1 - np.prod([1 - float(beta) / 2**half for half in halves])
    assert above >= at_least(runs, 0.9 * some)
    below = (found < truth - float(levels[0].below)).sum()
    assert below <= at_most(runs, beta)


@pytest.mark.parametrize("cost", LAWS, ids=str)
def test_hardly_above_whatever_units_add(cost):
    rng = np.random.default_rng(2)
    runs = 10_000
    for rows in (
        np.minimum(rng.zipf(1.8, 20_000), 1000),
        np.full(300, 2**12),
        np.array([2**14]),  # beyond the race's end
        rng.integers(1, 9, 20_000),
    ):
        truth, found, levels = races(rows, runs, 4, 2**12, **cost)
        assert (found >= 0).all()
        assert (found > truth).sum() <= at_most(runs, 0.05)
        near = [level for level in levels if level.end >= rows.max()]
        for level in near:
            assert (found < truth - float(level.below)).sum() <= at_most(runs, 0.05)
