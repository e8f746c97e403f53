"""The enforced filter: 10^5 charges, repeated or all different, and whether time is linear."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from statistics import median
from typing import Any

from benchmarks.timing import seconds
from sfumato.accounting import Limits, Sums, calibrate, charge, epsilon, spend
from sfumato.core.budget import Budget
from sfumato.core.loss import GaussianShift, LaplaceShift, Loss, Pure

CHARGES = 10**5
TARGET_SECONDS = 1.0
LIMITS = Limits.of(Budget(epsilon=4, delta="1e-6"))
LOSSES: dict[str, Callable[[int], Loss]] = {
    "pure, repeated": lambda i: Pure(Fraction(1, 10**6)),  # noqa: ARG005
    "pure, all different": lambda i: Pure(Fraction(10**9 + i, 10**16)),
    "laplace, all different": lambda i: LaplaceShift(Fraction(10**7 + i), 1, 1),
    "laplace vector, all different": lambda i: LaplaceShift(Fraction(10**7 + i), 3, 2),
}


def run() -> dict[str, Any]:
    """Time charging and admitting, then the slower functions that are asked once a query."""
    result: dict[str, Any] = {"charges": CHARGES, "target_seconds": TARGET_SECONDS}
    for name, make in LOSSES.items():
        losses = [make(i) for i in range(CHARGES)]
        whole = median(seconds(lambda losses=losses: _spend_all(losses)) for _ in range(5))
        fifth = median(
            seconds(lambda losses=losses: _spend_all(losses[: CHARGES // 5])) for _ in range(5)
        )
        alone = median(seconds(lambda losses=losses: _charge_all(losses)) for _ in range(5))
        result[name] = {
            "seconds": round(whole, 2),
            "microseconds_each": round(1e6 * whole / CHARGES, 2),
            "microseconds_to_charge": round(1e6 * alone / CHARGES, 2),
            "time_over_that_of_a_fifth": round(whole / fifth, 2),
        }
    result["milliseconds"] = {
        "epsilon of 100 pure losses": _fresh(
            lambda i: epsilon(Pure(Fraction(i, 1000)) * 100, 1e-6)
        ),
        "epsilon of a scalar Gaussian": _fresh(
            lambda i: epsilon(GaussianShift(i, 1, scalar=True), 1e-6)
        ),
        "calibrate a scalar Gaussian": _fresh(
            lambda i: calibrate(
                lambda s: GaussianShift(s, i, scalar=True), epsilon=1, delta=1e-6, low=1, high=10**6
            )
        ),
        "calibrate a Laplace vector": _fresh(
            lambda i: calibrate(lambda t: LaplaceShift(t, i, 2), rho=1, low="0.01", high=10**6)
        ),
    }
    return result


def _spend_all(losses: list[Loss]) -> None:
    spent = Sums()
    for loss in losses:
        spent = spend(spent, loss, LIMITS)


def _charge_all(losses: list[Loss]) -> None:
    for loss in losses:
        charge(loss)


def _fresh(action: Callable[[int], object]) -> float:
    """Time an action on arguments that no cache has seen."""
    return round(1e3 * median(seconds(lambda i=i: action(i)) for i in range(5, 14)), 2)
