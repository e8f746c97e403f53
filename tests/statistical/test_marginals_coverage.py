"""How often the intervals of marginals hold the exact counts."""

import numpy as np
import pytest
from scipy.stats import binom

import sfumato as sf

SIZES = {"a": 5, "b": 3, "c": 2, "d": 4}
PRICES = {
    "gaussian": {"rho": "0.05"},
    "gaussian, max": {"rho": "0.05", "objective": "max"},
    "laplace": {"epsilon": "0.3"},
    "laplace, of two columns": {"epsilon": "0.3", "workload": [("a", "b"), ("c", "d")]},
    "ordered": {"rho": "0.05", "workload": sf.marginals.all(2, prefix="a", ranges="d")},
}


def most_misses(times):
    """Return how often an interval of 95 % may miss one number, but for one time in ten million."""
    return binom.isf(1e-7, times, 0.05)


def share_held(times, price, seed):
    """Return the share of cells whose interval holds the exact count, table by table."""
    rng = np.random.default_rng(seed)
    data = {name: rng.integers(0, n, 300) for name, n in SIZES.items()}
    lab = sf.lab.table(data, SIZES, budget=sf.Budget(10**6, "0.1"))
    plan = sf.marginals.explain(lab, **{"workload": sf.marginals.all(2), **price})
    wanted = [(), ("a",), ("d",), ("a", "b"), ("d", "c")]
    held = {names: [] for names in wanted}
    ranged = []
    exact = {}
    for names in wanted:
        exact[names] = np.zeros([SIZES[name] for name in names])
        np.add.at(exact[names], tuple(data[name] for name in names), 1) if names else None
    exact[()] = np.array(300.0)
    for _ in range(times):
        answer = plan.release()
        for names in wanted:
            table = answer.table(*names)
            held[names].append(np.mean((table.low <= exact[names]) & (exact[names] <= table.high)))
        part = answer.count({"a": (1, 3), "b": [0, 2]})
        ranged.append(part.low <= exact["a", "b"][1:4][:, [0, 2]].sum() <= part.high)
    return {**{names: np.mean(shares) for names, shares in held.items()}, "range": np.mean(ranged)}


@pytest.mark.parametrize("price", PRICES)
def test_intervals_hold_as_often_as_they_say(price):
    shares = share_held(times := 60, PRICES[price], seed=3)
    assert min(shares.values()) >= 1 - most_misses(times) / times
    # Of cells, of which many are independent, most hold: those of two tables in 60 releases.
    assert np.mean([shares["a", "b"], shares["d", "c"]]) >= 1 - most_misses(4 * times) / (4 * times)


@pytest.mark.deep
@pytest.mark.parametrize("price", PRICES)
def test_intervals_hold_as_often_as_they_say_in_a_thousand_repetitions(price):
    shares = share_held(1000, PRICES[price], seed=4)
    cells = np.mean([shares["a", "b"], shares["d", "c"], shares["a",], shares["d",]])
    assert 0.935 <= cells <= 0.965
    assert min(shares.values()) >= 1 - most_misses(1000) / 1000
    assert max(shares.values()) < 0.975
