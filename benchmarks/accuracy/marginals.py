"""Errors of marginals on the Adult data, beside the published ones, and how often intervals hold.

Needs adult.csv.gz and adult-domain.json, in "tabular" below the folder named by SFUMATO_DATA.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import csv

import sfumato as sf
from benchmarks.timing import seconds

PUBLISHED = {1: 3.047, 2: 6.359, 3: 10.515}  # ResidualPlanner at a cost of 1, root mean squared
REPETITIONS = 1000


def run() -> dict[str, Any]:
    """Return errors planned and measured, and coverage."""
    codes, sizes = adult()
    lab = sf.lab.table(codes, sizes, budget=sf.Budget(epsilon=10**4, delta="0.1"))
    result: dict[str, Any] = {"rows": len(next(iter(codes.values())))}
    for way, published in PUBLISHED.items():
        plan = sf.marginals.explain(lab, workload=sf.marginals.all(way), rho="0.5")
        row: dict[str, Any] = {
            "cells": int(plan.closure.questions.sum()),
            "planned": round(plan.overall, 4),
            "published": published,
        }
        answer = plan.release()
        held, squares = against(answer, codes, sizes)
        row["measured"] = round(float(np.sqrt(squares)), 4)
        row["intervals that hold"] = round(held, 4)
        result[f"{way}-way, rho 1/2"] = row
    result["2-way, epsilon 1, delta 1e-9"] = small(lab, codes, sizes)
    result["pure"] = {
        f"{way}-way, epsilon 1": round(
            sf.marginals.explain(lab, workload=sf.marginals.all(way), epsilon=1).overall, 2
        )
        for way in (1, 2)
    }
    result["coverage"] = coverage()
    return result


def small(lab: Any, codes: Any, sizes: Any) -> dict[str, Any]:
    """Return errors at a price at which most cells are noise, as drawn and made non-negative."""
    plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), epsilon=1, delta="1e-9")
    answer = plan.release()
    made: list[Any] = []
    took = seconds(lambda: made.append(answer.nonnegative()))
    rows = {"as drawn": answer, "non-negative": made[0]}
    found: dict[str, Any] = {"planned": round(plan.overall, 2)}
    for name, source in rows.items():
        distances, squares, cells = [], 0.0, 0
        for columns in answer.marginals:
            gap = source.table(*columns).value - exact(codes, sizes, columns)
            distances.append(float(np.abs(gap).sum()) / len(codes[columns[0]]))
            squares, cells = squares + float((gap**2).sum()), cells + gap.size
        found[name] = {
            "root mean squared error": round(float(np.sqrt(squares / cells)), 2),
            "mean L1 over rows": round(float(np.mean(distances)), 4),
        }
    found["seconds to make them non-negative"] = round(took, 1)
    return found


def coverage() -> dict[str, float]:
    """Return the share of intervals at 95 % that hold, in many releases of a small table."""
    rng = np.random.default_rng(5)
    sizes = {"a": 5, "b": 3, "c": 2}
    codes = {name: rng.integers(0, n, 500) for name, n in sizes.items()}
    lab = sf.lab.table(codes, sizes, budget=sf.Budget(epsilon=10**6, delta="0.1"))
    shares = {}
    for name, price in {"gaussian": {"rho": "0.05"}, "laplace": {"epsilon": "0.3"}}.items():
        plan = sf.marginals.explain(lab, workload=sf.marginals.all(2), **price)
        found = [against(plan.release(), codes, sizes)[0] for _ in range(REPETITIONS)]
        shares[name] = round(100 * float(np.mean(found)), 2)
    return shares


def against(answer: Any, codes: Any, sizes: Any) -> tuple[float, float]:
    """Return the share of intervals that hold, and the mean squared error."""
    held, squares, cells = 0, 0.0, 0
    for columns in answer.marginals:
        table, true = answer.table(*columns), exact(codes, sizes, columns)
        held += int(((table.low <= true) & (true <= table.high)).sum())
        squares += float(((table.value - true) ** 2).sum())
        cells += true.size
    return held / cells, squares / cells


def exact(codes: Any, sizes: Any, columns: Any) -> Any:
    """Count."""
    shape = [sizes[name] for name in columns]
    flat = np.ravel_multi_index([codes[name] for name in columns], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def adult() -> tuple[dict[str, Any], dict[str, int]]:
    """Read the coded columns."""
    folder = Path(os.environ.get("SFUMATO_DATA", "data")) / "tabular"
    sizes = json.loads((folder / "adult-domain.json").read_text())
    table = csv.read_csv(str(folder / "adult.csv.gz"))
    return {name: np.asarray(table[name]) for name in sizes}, sizes
