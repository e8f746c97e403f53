"""Privacy loss distributions: a thousand equal or different mechanisms, against dp_accounting."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from typing import Any

from benchmarks.timing import seconds
from sfumato.accounting import pld
from sfumato.core.loss import (
    Composed,
    GaussianShift,
    GaussianTradeoff,
    LaplaceTradeoff,
    Loss,
    PoissonSampled,
    Pure,
)

DELTA = Fraction(1, 10**6)
THIRDS = (334, 333, 333)
TARGET_SECONDS = {"a thousand equal": 1.0, "a thousand different": 2.0}


def run() -> dict[str, Any]:
    """Time compositions that no cache has seen, and theirs where it is installed."""
    pld.bounds(GaussianTradeoff(1), DELTA)  # imports
    result: dict[str, Any] = {
        "delta": float(DELTA),
        "target_seconds": TARGET_SECONDS,
        "theirs": "dp_accounting, interval 1e-3, one run, continuous Gaussians already one",
    }
    for name, make in LOSSES.items():
        loss = make(0)
        found = pld.bounds(loss, DELTA)
        assert found is not None
        times = [seconds(lambda i=i, make=make: pld.bounds(make(i), DELTA)) for i in range(1, 4)]
        result[name] = {
            "seconds": round(median(times), 3),
            "epsilon_low": round(float(found.low), 6),
            "epsilon_high": round(float(found.high), 6),
        }
        if importlib.util.find_spec("dp_accounting") is not None:
            result[name] |= _theirs(loss, result[name]["seconds"])
    return result


def _theirs(loss: Loss, ours: float) -> dict[str, float]:
    """Time the same composition with dp_accounting, once, at its interval 1e-3.

    It is handed our pairs, in which all continuous Gaussians are one already: less work than the
    list of mechanisms would be. Where it rounds losses up, a finer interval would be tighter.
    """
    found: list[float] = []

    def action() -> None:
        whole = pld.to_dp_accounting(loss, interval=1e-3)
        found.append(whole.get_epsilon_for_delta(float(DELTA)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        time = seconds(action)
    return {
        "theirs_seconds": round(time, 3),
        "theirs_epsilon": round(found[0], 6),
        "theirs_over_ours": round(time / ours, 1),
    }


def _mixed(spread: Callable[[int], Fraction]) -> Loss:
    """Return a third Laplace, a third Gaussian, a third Gaussian on Poisson samples."""
    return Composed.of(
        [LaplaceTradeoff(Fraction(1, 100) / spread(i)) for i in range(THIRDS[0])]
        + [GaussianTradeoff(Fraction(1, 50) / spread(i)) for i in range(THIRDS[1])]
        + [PoissonSampled(GaussianTradeoff(1 / spread(i)), "0.01") for i in range(THIRDS[2])]
    )


def _nudge(i: int) -> Fraction:
    """Make an argument that no cache has seen."""
    return 1 + Fraction(i, 10**9)


# Parameters that repeat after 97 are the workload on which other libraries are measured.
LOSSES: dict[str, Callable[[int], Loss]] = {
    "1000 x laplace": lambda i: LaplaceTradeoff(_nudge(i) / 100) * 1000,
    "1000 x pure": lambda i: Pure(_nudge(i) / 100) * 1000,
    "1000 x discrete gaussian": lambda i: GaussianShift(50 * _nudge(i), 1, scalar=True) * 1000,
    "1000 x sampled gaussian": lambda i: PoissonSampled(GaussianTradeoff(_nudge(i)), "0.01") * 1000,
    "10^6 x pure": lambda i: Pure(_nudge(i) / 1000) * 10**6,
    "three kinds, a third each": lambda i: _mixed(lambda _, i=i: _nudge(i)),
    "three kinds, 97 parameters": lambda i: _mixed(
        lambda j, i=i: _nudge(i) * (1 + Fraction(j % 97, 10**4))
    ),
    "three kinds, all different": lambda i: _mixed(
        lambda j, i=i: _nudge(i) * (1 + Fraction(j, 34_000))
    ),
}
