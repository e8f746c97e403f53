"""Exact coins, orders and subsets against numpy's insecure ones, same process, alternating."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.timing import ratio
from sfumato.noise import system
from sfumato.noise.binomial import binomial, binomials
from sfumato.noise.permutation import distinct, permutation

TENTH = Fraction(1, 10)


def run() -> dict[str, Any]:
    """Measure thinning of many cells, single huge draws, permutations and subsets."""
    generator, rng = np.random.default_rng(), system()
    result: dict[str, Any] = {"unit": "time over numpy's Generator, same run"}
    for cells, coins in ((10**6, 10), (10**5, 1000), (10**3, 10**6)):
        counts = np.full(cells, coins)
        result[f"binomials, {cells} cells of {coins}"] = ratio(
            lambda counts=counts: binomials(counts, TENTH, rng),
            lambda counts=counts: generator.binomial(counts, 0.1),
            rounds=5,
        )
    for name, n, p in (("1/3", 2**60, Fraction(1, 3)), ("1e-18", 2**60, Fraction(1, 10**18))):
        result[f"binomial of 2^60 at {name}"] = ratio(
            lambda n=n, p=p: [binomial(n, p, rng) for _ in range(20)],
            lambda n=n, p=p: [generator.binomial(n, float(p)) for _ in range(20)],
            rounds=5,
        )
    result["permutation of 10^6"] = ratio(
        lambda: permutation(10**6, rng), lambda: generator.permutation(10**6), rounds=5
    )
    result["10^5 distinct below 2^60"] = ratio(
        lambda: distinct(2**60, 10**5, rng),
        lambda: np.unique(generator.integers(0, 2**60, 10**5)),
        rounds=5,
    )
    return result
