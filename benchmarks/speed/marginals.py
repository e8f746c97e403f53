"""Planning and releasing marginals: seconds, beside the time of counting the same cells."""

from __future__ import annotations

from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.timing import seconds

ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)  # sizes of the Adult data's columns
ROWS = 48_842
MANY, VALUES = 100, 10


def run() -> dict[str, Any]:
    """Time plans for Adult's columns and for a hundred, and releases of the first."""
    rng = np.random.default_rng(2)
    sizes = {f"c{i}": n for i, n in enumerate(ADULT)}
    codes = {name: rng.integers(0, n, ROWS) for name, n in sizes.items()}
    lab = sf.lab.table(codes, sizes, budget=sf.Budget(rho=1000))
    result: dict[str, Any] = {}
    for ways in ((1, 2), (1, 2, 3)):
        workload = sf.marginals.all(*ways)
        planning = seconds(lambda w=workload: explained(lab, w))
        plan = explained(lab, workload)
        start = perf_counter()
        answer = plan.release()
        releasing = perf_counter() - start
        result[f"Adult, up to {ways[-1]} columns"] = {
            "numbers": plan.cells,
            "seconds to plan": round(planning, 2),
            "seconds to release": round(releasing, 2),
            "seconds to count": round(seconds(lambda k=ways: counted(codes, sizes, k)), 2),
            "seconds for one table": round(seconds(lambda a=answer: a.table("c0", "c2")), 4),
        }
    names = {f"c{i}": VALUES for i in range(MANY)}
    wide = sf.lab.table({name: np.zeros(1, np.int64) for name in names}, names)
    result[f"{MANY} columns, up to 3"] = {
        "seconds to plan": round(seconds(lambda: explained(wide, sf.marginals.all(1, 2, 3))), 1)
    }
    return result


def explained(lab: Any, workload: Any) -> Any:
    """Make a plan with its predicted errors."""
    plan = sf.marginals.explain(lab, workload=workload, rho="0.5")
    assert plan.overall > 0
    return plan


def counted(codes: Any, sizes: Any, ways: Any) -> int:
    """Count all cells without privacy: the floor of any release."""
    cells = 0
    for way in ways:
        for columns in combinations(sizes, way):
            shape = [sizes[name] for name in columns]
            flat = np.ravel_multi_index([codes[name] for name in columns], shape)
            cells += np.bincount(flat, minlength=int(np.prod(shape))).size
    return cells
