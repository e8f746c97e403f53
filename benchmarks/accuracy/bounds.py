"""What a bought clamping range costs a sum and a mean, next to hindsight and to declared bounds.

A share of ε finds the range, the rest measures. The error is that of clamping and noise together,
as the mean distance from the truth, relative to that of the best clamp that hindsight could choose
with all of ε. The expectation over the second noise is exact; the first is drawn. Where no range is
found there is no answer, which counts as if it were 0.

Incomes need the file sdnist_acs_national2019.csv.gz; its folder is named by SFUMATO_DATA.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable
from fractions import Fraction
from math import exp, hypot
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.noise import Laplace, draw, system
from sfumato.relation.kind import Number
from sfumato.relation.magnitude import magnitude
from sfumato.release.error import Noise
from sfumato.session.bounds import found, octaves

RUNS = 60
SIZES = (100, 1_000, 10_000, 100_000)
EPSILONS = ("0.1", "1")
SHARES = ("0.05", "0.1", "0.2", "0.3")
DECLARED = Number(-(10**11), 10**11, Fraction(1, 100))  # ±10^9 in hundredths

Codes: TypeAlias = NDArray[np.int64]
Ends: TypeAlias = tuple[float, float]


def run() -> dict[str, Any]:
    """Return, for each question and ε, the ratio for each share and for declared bounds."""
    tables = {f"{name}, {n:,}": rows for n in SIZES for name, rows in town(n).items()}
    result: dict[str, Any] = {
        "runs": RUNS,
        "declared": "from -10^9 to 10^9 in steps of 0.01",
        "figures": "error over that of the best clamp with hindsight; median over runs",
    }
    for question, error in (("sum", of_sum), ("mean", of_mean)):
        logs: dict[str, list[float]] = {}
        for name, codes in tables.items():
            for epsilon in EPSILONS:
                row = compared(codes, Fraction(epsilon), error)
                written = ", ".join(f"{share}: {ratio:,.4g}" for share, ratio in row.items())
                result[f"{question}, {name}, epsilon {epsilon}"] = written
                few = len(codes) * float(epsilon) < 1_000
                for share, ratio in row.items():
                    where = f"{'fewer' if few else 'more'} than 1000 rows times epsilon"
                    logs.setdefault(f"{where}, {share}", []).append(np.log(ratio))
        result[f"{question}, geometric mean"] = {
            name: round(float(np.exp(np.mean(each))), 2) for name, each in sorted(logs.items())
        }
    return result


def town(n: int) -> dict[str, Codes]:
    """Make columns in hundredths: of one side of zero and of two, with thin tails and thick."""
    rng = np.random.default_rng(n)
    made = {
        "lognormal": np.exp(rng.normal(10.3, 1, n)),
        "uniform": rng.uniform(0, 50_000, n),
        "Pareto 1.5": 1_000 * (1 + rng.pareto(1.5, n)),
        "normal": rng.normal(0, 300, n),
        "years": rng.uniform(1920, 2010, n),
        "PINCP": rng.choice(incomes(), n),
    }
    clipped = {name: np.clip(np.rint(100 * values), *ends()) for name, values in made.items()}
    return {name: codes.astype(np.int64) for name, codes in clipped.items()}


def ends() -> Ends:
    return float(DECLARED.low), float(DECLARED.high)


def incomes() -> NDArray[np.float64]:
    """Read personal incomes of a survey; missing ones are left out."""
    folder = Path(os.environ.get("SFUMATO_DATA", "data"))
    path = next(folder.rglob("sdnist_acs_national2019.csv.gz"), None)
    if path is None:
        raise FileNotFoundError("sdnist_acs_national2019.csv.gz; name its folder by SFUMATO_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        given = [row["PINCP"] for row in csv.DictReader(lines)]
    return np.array([float(text) for text in given if text not in ("", "N")])


def compared(codes: Codes, epsilon: Fraction, error: Callable[..., float]) -> dict[str, float]:
    """Return the error for each share, and for declared bounds, over that of hindsight."""
    best = min(error(codes, clamp, float(epsilon)) for clamp in hindsight(codes))
    every = octaves(DECLARED)
    held = np.bincount([magnitude(int(code)) // 4 - every.start for code in codes])
    exact = np.zeros(len(every), np.int64)
    exact[: held.size] = held
    row = {"declared": error(codes, ends(), float(epsilon)) / best}
    for share in SHARES:
        scale = 1 / (Fraction(share) * epsilon)
        rest = float(epsilon * (1 - Fraction(share)))
        errors = []
        for _ in range(RUNS):
            noisy = exact + draw(Laplace(scale), exact.size, system())
            bought = found(noisy.tolist(), Noise("laplace", scale), DECLARED)
            clamp = None if bought is None else (float(bought.low), float(bought.high))
            errors.append(error(codes, clamp, rest))
        row[f"share {share}"] = float(np.median(errors)) / best
    return row


def hindsight(codes: Codes) -> list[Ends]:
    """List clamps among which the best is sought: from 0 or the least value, up to any quantile."""
    ranks = np.concatenate([np.linspace(0.5, 1, 30), 1 - np.geomspace(1e-5, 0.1, 30)])
    tops = np.unique(np.quantile(codes, ranks))
    low = codes.min()
    bottoms = {0.0, float(low)} if low >= 0 else set(np.quantile(codes, 1 - ranks))
    return [(bottom, top) for bottom in bottoms for top in tops if bottom < top]


def of_sum(codes: Codes, clamp: Ends | None, epsilon: float) -> float:
    """Return the mean distance of a noisy sum of clamped values from the sum."""
    if clamp is None:
        return abs(float(codes.sum()))
    bias = float(np.clip(codes, *clamp).sum() - codes.sum())
    return with_noise(bias, max(map(abs, clamp)) / epsilon)


def of_mean(codes: Codes, clamp: Ends | None, epsilon: float) -> float:
    """Return that of a mean: a sum from the middle of the range over a count, half of ε each."""
    if clamp is None:
        return abs(float(codes.mean()))
    kept = np.clip(codes, *clamp)
    half, middle = (clamp[1] - clamp[0]) / 2, (clamp[0] + clamp[1]) / 2
    scale = 2 / epsilon / len(codes) * hypot(max(half, 0.5), float(kept.mean()) - middle)
    return with_noise(float(kept.mean() - codes.mean()), scale)


def with_noise(bias: float, scale: float) -> float:
    """Return the mean of |bias + noise| under Laplace noise."""
    return abs(bias) + scale * exp(-abs(bias) / scale)
