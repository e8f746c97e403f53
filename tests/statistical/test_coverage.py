"""How often intervals hold the exact answer when a session gives them, for every aggregate.

Seeds are fixed, so a pass is a pass for ever. The deep test counts 2,000 intervals or more for each
aggregate, law and unit: the standard error of 95 % is then 0.5 points, and the tolerance 1.5.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.testing import SeededRng

GROUPS, PEOPLE = 20, 3_000
SCALE = 18  # of the noise of a count, in rows: fine enough that whole numbers hardly round
EDGES = [0, 20, 60, 100, 200]
SCHEMA = sf.Schema(zone=sf.Integer(0, GROUPS - 1), fare=sf.Real(0, 200, "0.01"))
UNITS = {"row": (sf.Unit.row(), 1), "rider": (sf.Unit.by("rider", max_rows=2), 2)}


@pytest.fixture(scope="module")
def town():
    """Make rides, and what is exactly true of each zone: fares are whole cents."""
    rng = np.random.default_rng(7)
    cents = np.rint(20_000 * rng.beta(*rng.uniform(1, 4, (2, GROUPS, 1)), (GROUPS, PEOPLE)))
    data = pa.table(
        {
            "rider": np.repeat(np.arange(cents.size // 2), 2),
            "zone": np.repeat(np.arange(GROUPS), PEOPLE),
            "fare": cents.ravel() / 100,
        }
    )
    totals = [sum(map(int, row)) for row in cents]
    squares = [sum(int(c) ** 2 for c in row) for row in cents]
    variances = [
        (Fraction(q, PEOPLE) - Fraction(s, PEOPLE) ** 2) / 100**2
        for q, s in zip(squares, totals, strict=True)
    ]
    truth = {
        "count": [PEOPLE] * GROUPS,
        "sum": [s / 100 for s in totals],
        "mean": [s / 100 / PEOPLE for s in totals],
        "variance": [float(v) for v in variances],
        "std": [float(v) ** 0.5 for v in variances],
        "histogram": np.concatenate([np.histogram(c, np.array(EDGES) * 100)[0] for c in cents]),
    }
    return data, truth


def price(law, rows, parts, time):
    """Return what makes the noise of a count of scale `SCALE`; each time a bit more: a new draw."""
    more = 1 + Fraction(time, 10**9)
    if law == "laplace":
        return {"epsilon": Fraction(parts * rows, SCALE) * more}
    return {"rho": Fraction(parts * rows**2, 2 * SCALE**2) * more}


def covered(town, law, unit, times):
    """Return for each aggregate the share of intervals that hold."""
    data, truth = town
    owner, rows = UNITS[unit]
    budget = sf.Budget(rho=10**6) if law == "gaussian" else sf.Budget(10**6)
    session = sf.Session(data, unit=owner, schema=SCHEMA, budget=budget)
    session._rng = SeededRng(rows)
    zones = session.table().group_by("zone")
    together = {name: getattr(sf, name)("fare") for name in ("count", "mean", "variance", "std")}
    questions = [
        (zones.agg(**together), 3, {name: name for name in together}),
        (zones.sum("fare"), 1, {"fare": "sum"}),
        (zones.histogram("fare", EDGES), 1, {"n": "histogram"}),
    ]
    held = {name: [] for name in truth}
    for question, parts, names in questions:
        for time in range(times):
            answer = question.release(**price(law, rows, parts, time))
            assert law in answer.measures[0].mechanism.lower()
            for column, name in names.items():
                found = answer[column]
                held[name].append(np.mean((found.low <= truth[name]) & (truth[name] <= found.high)))
    return {name: float(np.mean(shares)) for name, shares in held.items()}


@pytest.mark.parametrize(("law", "unit"), [("laplace", "rider"), ("gaussian", "row")])
def test_intervals_of_a_session_hold(town, law, unit):
    """Of 200 intervals or more each; four points are then 2.6 standard errors."""
    for name, share in covered(town, law, unit, 10).items():
        assert abs(share - 0.95) <= 0.04, name


@pytest.mark.deep
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("unit", UNITS)
def test_intervals_of_a_session_hold_as_often_as_they_say(town, law, unit):
    shares = covered(town, law, unit, 100)
    assert set(shares) == {"count", "sum", "mean", "variance", "std", "histogram"}
    for name, share in shares.items():
        assert abs(share - 0.95) <= 0.015, (name, share)
