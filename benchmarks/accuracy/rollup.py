"""How far numbers err before and after groupings are made to add up: mean squares, measured."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.release.error import Noise
from sfumato.release.hierarchy import Compromise, Hierarchy
from sfumato.release.law import variance

DRAWS = 100
SCALE = 20  # of the noise, for the whole price
TABLES = {
    "rollup of 4": ((4,), ((0,), ())),
    "rollup of 3 by 24": ((3, 24), ((0, 1), (0,), ())),
    "rollup of 3 by 3 by 3": ((3, 3, 3), ((0, 1, 2), (0, 1), (0,), ())),
    "cube of 3 by 4": ((3, 4), ((0, 1), (0,), (1,), ())),
    "cube of 3 by 4 by 5": (
        (3, 4, 5),
        tuple(part for size in (3, 2, 1, 0) for part in combinations(range(3), size)),
    ),
    "margins of 20 and 20": ((20, 20), ((0,), (1,))),
}


def run() -> dict[str, Any]:
    """Return mean squares of errors, over those of groupings that are measured by themselves."""
    result: dict[str, Any] = {"draws": DRAWS}
    for name, (sizes, sets) in TABLES.items():
        hierarchy = Hierarchy(sizes, sets)
        result[name] = {
            "even shares, Laplace": ratios(hierarchy, "laplace", [Fraction(1)] * len(sets)),
            "even shares, Gaussian": ratios(hierarchy, "gaussian", [Fraction(1)] * len(sets)),
            "chosen shares, Laplace": ratios(hierarchy, "laplace", chosen(hierarchy)),
        }
    return result


def ratios(hierarchy: Hierarchy, family: Any, shares: list[Fraction]) -> dict[str, Any]:
    """Return for each grouping the mean square of the error, over that with an even share.

    Beside it stands what least squares with exact weights are expected to leave.
    """
    power = 1.0 if family == "laplace" else 0.5  # ε adds up, and so does ρ
    whole = float(sum(shares))
    noises = [Noise(family, Fraction(SCALE * (whole / float(share)) ** power)) for share in shares]
    even = variance(Noise(family, Fraction(SCALE * float(len(shares)) ** power)))
    compromise = Compromise.of(hierarchy, [variance(noise) for noise in noises])
    table = np.random.default_rng(1).integers(0, 1000, hierarchy.sizes)
    exact = {one: margin(table, one) for one in hierarchy.sets}
    squares = dict.fromkeys(hierarchy.sets, 0.0)
    for _ in range(DRAWS):
        noisy = [
            drawn(noise, exact[one]) for one, noise in zip(hierarchy.sets, noises, strict=True)
        ]
        found = compromise.fitted(noisy)
        shown = compromise.rounded(found)
        for one in hierarchy.sets:
            over = compromise.over(one)
            numbers = found[one] / over if shown is None else shown[one]
            away = np.asarray(numbers, np.float64) - exact[one]
            squares[one] += float(np.mean(away**2)) / DRAWS
    expected = hierarchy.variances([variance(noise) for noise in noises])
    return {
        title(one): {"measured": round(square / even, 3), "expected": round(best / even, 3)}
        for (one, square), best in zip(squares.items(), expected, strict=True)
    }


def chosen(hierarchy: Hierarchy) -> list[Fraction]:
    """Return the shares that a question in SQL takes for ε."""
    from sfumato.session.grouping import best_shares

    return best_shares(hierarchy) or [Fraction(1)] * len(hierarchy.sets)


def drawn(noise: Noise, exact: Any) -> Any:
    """Add real noise."""
    law = (
        sf.mechanisms.DiscreteLaplace if noise.kind == "laplace" else sf.mechanisms.DiscreteGaussian
    )
    return np.asarray(law(noise.scale)(exact.ravel())).reshape(exact.shape)


def margin(table: Any, columns: tuple[int, ...]) -> Any:
    """Add up the columns that a grouping leaves out."""
    rest = tuple(c for c in range(table.ndim) if c not in columns)
    return table.sum(axis=rest, keepdims=True)


def title(columns: tuple[int, ...]) -> str:
    """Name a grouping."""
    return f"by {', '.join('abc'[c] for c in columns)}" if columns else "in all"
