"""Wrong answers of sparse vectors over a stream of counts: the book's constants and ours."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.noise import Laplace, draw, system

RUNS = 2000
QUESTIONS = 300
THRESHOLD = 1000
EPSILON = Fraction(1)  # noise goes with distance times ε, so one is enough
ONE = sf.Sensitivity(linf=1)


def run() -> dict[str, Any]:
    """Return false positives and false negatives of a run, on average."""
    rng = np.random.default_rng(7)
    result: dict[str, Any] = {"questions": QUESTIONS, "runs": RUNS, "epsilon": str(EPSILON)}
    for hits in (1, 10):
        for distance in (10 * hits, 20 * hits):
            # As many counts above as there may be hits; all others are below, at any place.
            counts = rng.integers(0, THRESHOLD - distance, (RUNS, QUESTIONS))
            counts[:, :hits] = THRESHOLD + distance
            rows = rng.permuted(counts, axis=1)
            result[f"{hits} above by {distance}, others below by {distance} or more"] = {
                "book": wrong(rows, book(rows, hits)),
                "general": wrong(rows, ours(rows, hits, monotone=False)),
                "monotone": wrong(rows, ours(rows, hits, monotone=True)),
            }
    return result


def book(rows: NDArray[np.int64], hits: int) -> NDArray[np.int64]:
    """Run the textbook's form: ε/hits for each hit, then a new threshold; Lap(2/ε), Lap(4/ε)."""
    noisy = rows + draw(Laplace(4 * hits / EPSILON), rows.size, system()).reshape(rows.shape)
    thresholds = THRESHOLD + draw(Laplace(2 * hits / EPSILON), hits * len(rows), system())
    thresholds = np.column_stack([thresholds.reshape(len(rows), hits), np.zeros(len(rows))])
    had, answers = np.zeros(len(rows), np.int64), np.full(rows.shape, -1)
    for i, column in enumerate(noisy.T):
        above = column >= thresholds[np.arange(len(rows)), had]
        answers[:, i] = np.where(had < hits, above, -1)
        had += answers[:, i] == 1
    return answers


def ours(rows: NDArray[np.int64], hits: int, *, monotone: bool) -> NDArray[np.int64]:
    """Run the mechanism of the library at the same ε."""
    made = sf.mechanisms.SparseVector.calibrate(
        ONE, threshold=THRESHOLD, hits=hits, monotone=monotone, epsilon=EPSILON
    )
    return made.runs(rows, system())


def wrong(rows: NDArray[np.int64], answers: NDArray[np.int64]) -> dict[str, float]:
    """Count answers above that should be below, and counts above that nobody was told of."""
    high = rows >= THRESHOLD
    return {
        "false positives": round(float(((answers == 1) & ~high).sum(axis=1).mean()), 3),
        "false negatives": round(float(((answers != 1) & high).sum(axis=1).mean()), 3),
    }
