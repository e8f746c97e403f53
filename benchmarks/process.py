"""Time and memory of one call in a process of its own, where nothing else has used memory."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def alone(action: Callable[..., Any], *given: Any) -> dict[str, Any]:
    """Call a function of a module in a new process.

    It returns something to time, and whatever that returns is the result.
    """
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (action, given))


def _measured(action: Callable[..., Any], given: tuple[Any, ...]) -> dict[str, Any]:
    timed = action(*given)
    before = peak()
    start = time.perf_counter()
    result = timed()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "result": result, "before": before, "peak": peak()}


def peak() -> int:
    """Return the most memory that this program had so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says is that of the parent, if that had more
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found is not None:
            return int(found[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
