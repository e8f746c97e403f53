"""Times as ratios: this machine drifts by a factor of two, a ratio within one run does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def seconds(action: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratio(
    action: Callable[[], object], floor: Callable[[], object], rounds: int = 7
) -> dict[str, float]:
    """Time two actions in turn and return the medians and their ratio."""
    action(), floor()  # warm both
    pairs = [(seconds(action), seconds(floor)) for _ in range(rounds)]
    ours, theirs = median(a for a, _ in pairs), median(b for _, b in pairs)
    return {
        "milliseconds": round(1e3 * ours, 2),
        "floor_milliseconds": round(1e3 * theirs, 2),
        "ratio": round(ours / theirs, 2),
    }
