"""A private partition of a line of counts into buckets in which they hardly differ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import DataError
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, nonnegative, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.mechanism import Laboratory, integers, need, need_movable, whole
from sfumato.mechanisms.scores import pure_for
from sfumato.noise import Laplace, Rng, draw

MOST_CELLS = 2**20
_LARGEST = 2**40  # counts saturate there: 1-Lipschitz, so it costs nothing
_STARTS = 4  # buckets of a length begin at each quarter of it


@dataclass(frozen=True, slots=True, repr=False)
class BucketPartition(Laboratory):
    """Cut a line of counts into buckets: those of the least noisy cost.

    The cost of a bucket is how far its counts lie from their median, in all, with discrete Laplace
    noise, and a public charge for each bucket. Buckets have lengths 1, 2, 4, …; a dynamic program
    finds the partition whose costs add up to the least. Noisy costs are not clipped from below: a
    cost that cannot fall any further would tell neighbors apart. Where counts are smooth or zero
    over long stretches, few buckets are left to measure.

    Guarantee: ε-DP with ε = rate·l1, for the neighbor relation of the sensitivity.
    Theorem:   docs/theory/strategies.md, theorem 6; [LHM14] with less noise, which is not enough
    Exactness: costs and noise are whole numbers, and ties go to the shorter last bucket.
    Error:     none is stated: how far counts of a bucket differ depends on the data.

    Args:
        rate: the ε for each record that comes or goes.
        charge: the public cost of each bucket, beside that of its noise.
        margin: so many scales of its noise each bucket costs more, so that luck alone makes none.

    Example:
        >>> cut = BucketPartition(rate=40, charge=1)
        >>> [int(edge) for edge in cut([0, 0, 0, 0, 900, 900, 900, 900])]
        [0, 4, 8]
    """

    rate: Fraction
    charge: Fraction = Fraction(1)
    margin: Fraction = Fraction(2)

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self, rate: Exactable, charge: Exactable = 1, margin: Exactable = 2
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        object.__setattr__(self, "charge", nonnegative(self.charge, "charge"))
        object.__setattr__(self, "margin", nonnegative(self.margin, "margin"))
        for length in (1, 2):
            Laplace(self.scale(length))

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        charge: Exactable = 1,
        margin: Exactable = 2,
    ) -> BucketPartition:
        """Return the mechanism with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        records = whole(need(sensitivity.l1, "l1", cls.__name__))
        return cls(pure_for(target) / records, charge, margin)

    def scale(self, length: int) -> Fraction:
        """Return the scale of the noise on the cost of buckets of a length.

        One record moves the cost of a bucket by 1, of a single cell by nothing; and that of the
        bucket around it in another partition by 1.
        """
        return (1 if length == 1 else 2) / self.rate

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the ε of the partition."""
        records = whole(need(sensitivity.l1, "l1", type(self).__name__))
        return Pure(self.rate * records, neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> NoError:  # noqa: ARG002 - depends on data
        """Return that nothing is known beforehand."""
        return NoError()

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return how many records come or go."""
        return {"l1": sensitivity.l1}

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take a line of whole numbers."""
        counts = integers(values)
        if counts.ndim != 1 or not 1 <= counts.size <= MOST_CELLS:
            raise DataError(f"a partition is of a line of 1 to {MOST_CELLS:,} counts.")
        return np.clip(counts, -_LARGEST, _LARGEST)

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:
        """Return the most edges that there can be."""
        return (exact.size + 1,)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Return where buckets begin, and where the last one ends."""
        costs: list[tuple[int, int, list[int]]] = []
        length = 1
        while length <= exact.size:
            step, scale = max(1, length // _STARTS), self.scale(length)
            spread = deviations(exact, length, step)
            fixed = int((self.charge + self.margin * scale) // 1)
            noise = draw(Laplace(scale), spread.size, rng)
            # In Python's whole numbers: with much noise a sum of two could pass 64 bits.
            noisy = [a + b + fixed for a, b in zip(spread.tolist(), noise.tolist(), strict=True)]
            costs.append((length, step, noisy))
            length *= 2
        return _cheapest(costs, exact.size)


@dataclass(frozen=True, slots=True)
class NoError:
    """Says that no interval is known."""

    covers: str = "nothing"
    std: float | None = None

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return 0, which covers nothing."""
        return Fraction(0) * confidence


def deviations(counts: NDArray[np.int64], length: int, step: int) -> NDArray[np.int64]:
    """Return how far the counts of each bucket of a length lie from their median, in all.

    Args:
        counts: the line.
        length: a power of two.
        step: how far apart buckets begin.
    """
    windows = sliding_window_view(counts, length)[::step]
    if length == 1:
        return np.zeros(len(windows), np.int64)
    ranked = np.sort(windows, axis=1)
    upper, lower = ranked[:, length // 2 :], ranked[:, : length // 2]
    return np.asarray(upper.sum(axis=1) - lower.sum(axis=1))


def _cheapest(costs: list[tuple[int, int, list[int]]], size: int) -> NDArray[np.int64]:
    """Return the edges of the partition whose costs add up to the least."""
    best, before = [0] * (size + 1), [0] * (size + 1)
    for end in range(1, size + 1):
        found: int | None = None
        for length, step, cost in costs:
            start = end - length
            if start < 0 or end % step:
                break  # longer ones begin at multiples of larger steps
            total = best[start] + cost[start // step]
            if found is None or total < found:
                found, before[end] = total, start
        best[end] = found or 0
    edges = [size]
    while edges[-1]:
        edges.append(before[edges[-1]])
    return np.array(edges[::-1], np.int64)
