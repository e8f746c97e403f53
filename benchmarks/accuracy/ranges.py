"""Errors of ranges in one dimension: measured and predicted, and `auto` beside a tree and DAWA.

The comparison needs the folder dpbench1d of histograms; its folder is named by SFUMATO_DATA.
"""

from __future__ import annotations

import os
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.ranges import p_identity
from sfumato.ranges.dense import Dense
from sfumato.ranges.method import planned
from sfumato.ranges.solution import Solution
from sfumato.ranges.spending import Spending
from sfumato.ranges.workload import Workload

CELLS = 4096
DRAWS = 1000
SEEDS = 60
EPSILONS = ("0.1", "1")


def run() -> dict[str, Any]:
    """Return errors at unit noise, coverage, and the comparison over data sets."""
    return {
        "unit_noise": figures(),
        "p_identity_256_at_sqrt_2": small(),
        "coverage_at_95": coverage(),
        "sets": sets(),
    }


def figures() -> dict[str, Any]:
    """Predict and measure the error of all prefixes and all ranges."""
    counts = np.random.default_rng(2).integers(0, 50, CELLS)
    lab = sf.lab(counts, budget=sf.Budget(epsilon=10**6, delta="1e-3"))
    cases = [("hierarchical", True), ("hierarchical", False), ("square_root", False)]
    out: dict[str, Any] = {}
    for name in ("prefix", "ranges"):
        workload = Workload(name, CELLS)
        for method, pure in cases:
            price: dict[str, Any] = {"epsilon": "0.1"} if pure else {"rho": "0.005"}  # σ = 10
            column = lab.values()
            left = column.remaining
            spending = Spending.of(price.get("epsilon"), 0, price.get("rho"), pure=pure, left=left)
            plan = planned(method, workload, pure=pure)
            predicted = plan.error(column, spending, workload)
            squares = []
            for _ in range(DRAWS):
                found = sf.ranges.release(sf.lab(counts), workload=name, method=method, **price)
                gaps = np.concatenate([[0.0], np.cumsum(found.solution.cells - counts)])
                if name == "prefix":
                    squares.append((gaps[1:] ** 2).mean())
                else:
                    total = (CELLS + 1) * (gaps**2).sum() - gaps.sum() ** 2
                    squares.append(total / len(workload))
            kind = "laplace" if pure else "gaussian"
            out[f"{name}, {method}, {kind}"] = {
                "predicted": round(predicted / 10, 4),
                "measured": round(float(np.sqrt(np.mean(squares))) / 10, 4),
                "standard_error": round(
                    float(np.std(squares) / sqrt(DRAWS) / 2 / np.mean(squares)), 4
                ),
            }
    return out


def small() -> float:
    """Return the error of all ranges of 256 cells, where noise on a column of 1 has variance 1."""
    workload = Workload("ranges", 256)
    matrix = p_identity.plan(workload, pure=True).strategies[0]
    return round(workload.error(Dense(matrix.array, float(p_identity.SCALE) ** 2)), 4)


def coverage() -> dict[str, float]:
    """Return how often intervals hold, of seven ranges a thousand times."""
    counts = np.random.default_rng(9).integers(0, 30, 60)
    lows, highs = np.array([0, 0, 5, 17, 59, 30, 0]), np.array([59, 20, 5, 44, 59, 58, 0])
    exact = np.array([counts[a : b + 1].sum() for a, b in zip(lows, highs, strict=True)])
    prices: dict[str, dict[str, Any]] = {"laplace": {"epsilon": "0.1"}, "gaussian": {"rho": "0.02"}}
    out = {}
    for kind, price in prices.items():
        for method in ("identity", "hierarchical", "wavelet"):
            held = []
            for _ in range(1000):
                found = sf.ranges.release(sf.lab(counts), method=method, **price).count(lows, highs)
                held.append((found.low <= exact) & (exact <= found.high))
            out[f"{method}, {kind}"] = round(100 * float(np.mean(held)), 2)
    return out


def sets() -> dict[str, Any]:
    """Compare `auto` with the best tree and with DAWA, by the error of all prefixes.

    `auto` is a tree whose counts were made nonnegative. The error of the tree is known exactly, so
    that what the draws show is the ratio of the two, which varies far less than either.
    """
    folder = Path(os.environ.get("SFUMATO_DATA", "data")) / "dpbench1d"
    files = sorted(folder.glob("*.npy"))
    if not files:
        raise FileNotFoundError("the folder dpbench1d; name the one around it by SFUMATO_DATA")
    out: dict[str, Any] = {}
    ratios, against, errors = [], [], []
    for epsilon in EPSILONS:
        for path in files:
            row, off = compared(np.load(path), epsilon)
            out[f"{path.stem} at {epsilon}"] = {k: round(v, 2) for k, v in row.items()}
            ratios.append(row["auto"] / min(row["tree"], row["dawa"]))
            against.append(row["auto"] / row["tree"])
            errors.append(off)
    out["auto over the better of both, geometric mean"] = round(
        float(np.exp(np.mean(np.log(ratios)))), 4
    )
    out["its standard error"] = round(float(np.sqrt(np.sum(np.square(errors)))) / len(errors), 4)
    out["auto over the tree, at most"] = round(max(against), 4)
    return out


def compared(counts: Any, epsilon: str) -> tuple[dict[str, float], float]:
    """Return the errors of the tree, DAWA and `auto` on one line, and how far the last is off."""
    lab, workload = sf.lab(counts), Workload("prefix", CELLS)
    spending = Spending.of(epsilon, 0, None, pure=True, left=lab.remaining)
    tree = planned("hierarchical", workload, pure=True).error(lab.values(), spending, workload)
    squares: dict[str, list[float]] = {"dawa": [], "auto": [], "same tree": []}
    for _ in range(SEEDS):
        for method in ("dawa", "auto"):
            found = sf.ranges.release(
                sf.lab(counts), workload="prefix", method=method, epsilon=epsilon
            )
            squares[method].append(squared(found.solution.cells, counts))
        squares["same tree"].append(squared(Solution(found.measured).cells, counts))
    dawa, auto, same = (np.array(squares[name]) for name in squares)
    ratio = auto.mean() / same.mean()
    row = {"tree": tree, "dawa": sqrt(dawa.mean()), "auto": tree * sqrt(ratio)}
    # Half of the error of the squares, relative; that of DAWA counts where it is the better one.
    off = [(auto - ratio * same).std() / auto.mean()]
    off += [dawa.std() / dawa.mean()] if row["dawa"] < tree else []
    return row, float(np.hypot.reduce(off)) / 2 / sqrt(SEEDS)


def squared(cells: Any, counts: Any) -> float:
    """Return the mean squared error of all prefixes."""
    return float((np.cumsum(cells - counts) ** 2).mean())
