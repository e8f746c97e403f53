"""A private quadtree that is deep where the points are, of no depth that was fixed beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.budget import Budget
from sfumato.core.errors import RangeError
from sfumato.core.loss import Loss, Pure
from sfumato.core.number import Exactable, exact, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.buckets import NoError
from sfumato.mechanisms.mechanism import Laboratory, need, need_movable, whole
from sfumato.mechanisms.rectangles import (
    Integers,
    divisible,
    plane_of,
    quartered,
    running,
    shape_of,
    within,
)
from sfumato.mechanisms.scores import pure_for
from sfumato.noise import Laplace, Rng, draw
from sfumato.noise.uniform import fixed_exp

RATIO = Fraction(1386, 1000)  # of decay and scale: about ln 4, as in the paper
_LARGEST = 2**40
_BITS = 192  # of the numbers from which the loss is computed
_TERMS, _LEAST = 256, 1 << 100  # what is left beyond is bounded
_GRID = 10**18  # that of a ledger
_FINE = 2**30
_HALVINGS = 26


@dataclass(frozen=True, slots=True, repr=False)
class PrivTree(Laboratory):
    """Cut a plane of counts into quarters of quarters, where noisy counts say that it is worth it.

    A rectangle is cut if its count, less `decay` for each cut above it, but not less than threshold
    - decay, is above the threshold after discrete Laplace noise. The noise does not grow with the
    depth: along a path counts fall by the decay at every cut, so that all but the last few
    decisions are nearly certain, and one record moves them little. An empty rectangle is cut by
    luck alone, with the same probability everywhere.

    Guarantee: ε-DP with ε = cost·l1, where cost = (1 + Σ g(1 + j·decay)/g(1))/scale, j = 0, 1, …,
        and g(y) is by how much one record moves the logarithm of the probability of a cut whose
        count is y above the threshold; for the neighbor relation of the sensitivity.
    Theorem:   [ZXX16] with the sum itself in place of its bound; docs/theory/maps.md, theorem 2
    Exactness: counts, decay and noise are whole numbers; the cost is rounded up.
    Error:     none is stated: how points lie inside of a rectangle depends on the data.

    Args:
        shape: how many columns and rows of cells the plane has.
        scale: of the noise.
        decay: by how much less each cut counts; a whole number from 1 on.
        threshold: what a count must exceed; a whole number.
        first: so many cuts are made in any case, and cost nothing.

    Example:
        >>> tree = PrivTree(shape=(2, 2), scale=1, decay=2)
        >>> [int(cut) for cut in tree([[0, 0], [0, 900]])]
        [1]
    """

    shape: tuple[int, int]
    scale: Fraction
    decay: int
    threshold: int = 0
    first: int = 0

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            shape: tuple[int, int],
            scale: Exactable,
            decay: int,
            threshold: int = 0,
            first: int = 0,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "shape", shape_of(self.shape))
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        Laplace(self.scale)
        for name, least in (("decay", 1), ("threshold", -_LARGEST), ("first", 0)):
            given = exact(getattr(self, name), name)
            if given.denominator != 1 or not least <= given <= _LARGEST:
                raise RangeError(f"{name}= is a whole number from {least} to 2^40.")
            object.__setattr__(self, name, int(given))
        if self.first >= (max(self.shape) - 1).bit_length():
            raise RangeError(
                f"first={self.first} cuts leave single cells of this plane, and nothing to choose. "
                f"Pass a smaller one."
            )

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        shape: tuple[int, int],
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        ratio: Exactable = RATIO,
        threshold: int = 0,
        first: int = 0,
    ) -> PrivTree:
        """Return the mechanism with about the least noise whose loss fits the target.

        Args:
            sensitivity: how many records come or go with one unit.
            shape: how many columns and rows of cells the plane has.
            epsilon: the ε to fit.
            delta: nothing is gained by it.
            rho: the ρ to fit.
            ratio: of decay and scale; with a smaller one the tree is deeper and the noise larger.
            threshold: what a count must exceed.
            first: cuts that are made in any case.
        """
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        each = pure_for(target) / whole(need(sensitivity.l1, "l1", cls.__name__))
        part = positive(ratio, "ratio")
        # With more noise, and the decay that goes with it, the cost falls; and so it does with more
        # noise alone. A decay is a whole number: once it is found, the noise is brought down to it.
        scale = _least(lambda noise: cost_of(noise, _decay(noise, part)) <= each, 1 / each)
        decay = _decay(scale, part)
        scale = _least(lambda noise: cost_of(noise, decay) <= each, 1 / each)
        return cls(shape, scale, decay, threshold, first)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the ε of all cuts together."""
        records = whole(need(sensitivity.l1, "l1", type(self).__name__))
        return Pure(cost_of(self.scale, self.decay) * records, neighbors=sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> NoError:  # noqa: ARG002 - depends on data
        """Return that nothing is known beforehand."""
        return NoError()

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return how many records come or go."""
        return {"l1": sensitivity.l1}

    def exact(self, values: Any) -> Integers:
        """Take counts of all cells, column after column; what is below 0 counts as 0."""
        return plane_of(values, self.shape)

    def cells(self, exact: Integers) -> tuple[int, ...]:
        """Return the most decisions that there can be: fewer than cells."""
        return (exact.size,)

    def sample(self, exact: Integers, rng: Rng) -> Integers:
        """Return for each rectangle of more than one cell whether it is cut, level after level."""
        sums = running(exact)
        rectangles = np.array([[0, 0, *self.shape]])
        for _ in range(self.first):
            rectangles = quartered(rectangles[divisible(rectangles)])[0]
        depth, decided = 0, []
        while (rectangles := rectangles[divisible(rectangles)]).size:
            counts = within(sums, rectangles) - depth * self.decay
            counts = np.maximum(counts, self.threshold - self.decay)
            noise = draw(Laplace(self.scale), len(rectangles), rng)
            cut = np.asarray(counts + noise > self.threshold).astype(np.int64)
            decided.append(cut)
            rectangles, depth = quartered(rectangles[cut == 1])[0], depth + 1
        return np.concatenate(decided)


def _least(fits: Callable[[Fraction], bool], low: Fraction) -> Fraction:
    """Return about the least number above `low` that fits, as all do that are larger."""
    high = low
    while not fits(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = Fraction(int((low + high) / 2 * _FINE) + 1, _FINE)
        if middle >= high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _decay(scale: Fraction, ratio: Fraction) -> int:
    return int(max(1, -(-scale * ratio // 1)))


@lru_cache(maxsize=256)
def cost_of(scale: Fraction, decay: int) -> Fraction:
    """Return the ε for one record, rounded up.

    Theorem: docs/theory/maps.md, theorem 2
    """
    one = 1 << _BITS
    low = fixed_exp(-1 / scale, _BITS)[0]  # down: of exp(-1/scale)
    step = fixed_exp(-decay / scale, _BITS)[1]  # up: of exp(-decay/scale)
    most = -(-one * scale.denominator // scale.numerator)  # up: of 1/scale
    total, u = most, one
    for _ in range(_TERMS):
        total += min(most, -(-(one - low) * u // (one + low - u)) if u < one else most)  # up
        u = -(-u * step // one)  # up
        if u <= _LEAST:
            break
    rest = Fraction(most * u, one) * (1 + scale / decay)  # 1 - exp(-x) >= x/(1 + x)
    return Fraction(-(-(total + rest) * _GRID // one), _GRID)  # up
