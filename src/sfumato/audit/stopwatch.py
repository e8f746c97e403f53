"""Audits with a stopwatch: whether the time that a run takes tells how large its result is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from statistics import median_low
from time import perf_counter
from typing import Any

import numpy as np

from sfumato.audit.auditor import Pair, audit
from sfumato.audit.batch import TIME, Batch
from sfumato.audit.claim import Claim, Claimable
from sfumato.audit.verdict import Verdict
from sfumato.core.errors import InputError
from sfumato.core.number import Exactable, open_unit

_PILOT = 101  # runs that fix what counts as large; they are not looked at again
_WAITED = 50  # runs for each wanted one, after which one kind is taken for too rare


def stopwatch(
    f: Callable[[], Any],
    trials: int = 100_000,
    *,
    claim: Claimable = Fraction(1, 20),
    clock: Callable[[], float] = perf_counter,
    confidence: Exactable = Fraction(999, 1000),
) -> Verdict:
    """Look whether the time of a run tells apart results that are small and results that are large.

    Noise whose sampler runs longer for larger numbers is given away by a clock, whatever its law.
    Runs are split at the median size of a few first ones; then the times of both kinds are compared
    like the outputs of neighbors.

    Args:
        f: draws once and returns a number; called 4·trials times and more.
        trials: runs of each kind for the search, and as many for the proof.
        claim: how much time may give away; on a quiet machine nothing is above an ε of 0.05.
        clock: returns how much was used so far; seconds, unless you count something else.
        confidence: the probability with which the verdict is right.

    Raises:
        InputError: the result is always of the same size.
        RangeError: too few trials.

    Example:
        >>> from sfumato.noise import system
        >>> used = 0
        >>> def loop():
        ...     global used
        ...     number = int(system().words(1)[0] % 10)
        ...     used += number
        ...     return number
        >>> stopwatch(loop, trials=200, clock=lambda: used).flagged
        True
    """
    border = _border([abs(f()) for _ in range(_PILOT)])

    def draw(size: int) -> tuple[Batch, Batch]:
        times: tuple[list[float], list[float]] = ([], [])
        last: dict[bool, float] = {}
        for _ in range(_WAITED * size):
            start = clock()
            result = f()
            last[bool(abs(result) > border)] = clock() - start
            if len(last) < 2:
                continue
            # In pairs that follow each other: a machine that grows slower slows both kinds.
            times[0].append(last[False])
            times[1].append(last[True])
            last.clear()
            if len(times[0]) == size:
                return _batch(times[0]), _batch(times[1])
        raise _same()

    pair = Pair((f"results up to {border}", "larger results"), draw)
    subject = getattr(f, "__qualname__", type(f).__name__)
    return audit(subject, [pair], Claim.of(claim), trials, open_unit(confidence, "confidence"))


def _border(sizes: list[Any]) -> Any:
    """Return the size up to which results are small: the median, if there is anything above it."""
    middle = median_low(sizes)
    if middle < max(sizes):
        return middle
    if below := [size for size in sizes if size < middle]:
        return max(below)
    raise _same()


def _same() -> InputError:
    return InputError(
        "the result is of the same size nearly always, so that there is nothing for the time to "
        "tell apart. Pass a function whose results differ, such as a draw at a larger scale."
    )


def _batch(times: list[float]) -> Batch:
    taken = np.array(times, np.float64)
    return Batch(len(times), {}, (TIME,), lambda _: taken, lambda i: f"{taken[i]:.3g} used")
