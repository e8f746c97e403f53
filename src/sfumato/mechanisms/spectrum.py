"""A private choice of how many coefficients of a spectrum are worth their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CandidateError, DataError
from sfumato.core.loss import BoundedRange, Loss, Pure
from sfumato.core.number import Exactable, is_integer, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.mechanism import Laboratory, integers, need, need_movable
from sfumato.mechanisms.scores import ScoreError_, check_rate, range_for
from sfumato.noise import Rng
from sfumato.noise.choice import Choice

_LARGEST = 2**40  # coefficients saturate there: 1-Lipschitz, so it costs nothing


@dataclass(frozen=True, slots=True, repr=False)
class SpectralCut(Laboratory):
    """Choose how many of the first coefficients to keep: 1 for the first price, 2 for the next, ….

    With probability proportional to exp(-rate·(length of what is left out + price)): the length is
    the root of the sum of squares, rounded down; the price says what keeping so many costs in
    noise.

    Guarantee: bounded range 2·rate·d, hence ε-DP and ε²/8-zCDP with ε = 2·rate·d, where d is the l2
        sensitivity of the coefficients rounded up; for the neighbor relation of the sensitivity.
    Theorem:   [ACC12], [DDR20], [CR21]; docs/theory/strategies.md, theorem 7
    Exactness: lengths are whole numbers and the choice has exactly the stated law.
    Error:     with probability 1 - b length and price together are within ln(prices/b)/rate of the
        least, one step of rounding included.

    Args:
        prices: for each number of coefficients what keeping them costs; whole numbers.
        rate: factor of the score in the exponent.

    Example:
        >>> keep = SpectralCut(prices=[0, 5, 10], rate=1)
        >>> keep([900, 800, 2])
        2
    """

    prices: tuple[int, ...]
    rate: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, prices: Sequence[int], rate: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check the prices and the rate."""
        given = tuple(self.prices)
        if not given or not all(is_integer(p) and 0 <= int(p) <= _LARGEST for p in given):
            raise CandidateError("prices= lists what keeping 1, 2, … coefficients costs: integers.")
        object.__setattr__(self, "prices", tuple(int(price) for price in given))
        object.__setattr__(self, "rate", positive(self.rate, "rate"))
        check_rate(self.rate)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        prices: Sequence[int],
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> SpectralCut:
        """Return the mechanism with the sharpest choice whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        return cls(prices, range_for(target) / (2 * cls._reach(sensitivity)))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the bounded range of the choice."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        spread = 2 * self.rate * self._reach(sensitivity)
        return BoundedRange(spread, neighbors=sensitivity.neighbors)

    @classmethod
    def _reach(cls, sensitivity: Sensitivity) -> int:
        """Return how far a length can move, rounded up: rounding both down adds no more."""
        square = need(sensitivity.l2_squared, "l2", cls.__name__)
        return isqrt(-(-square // 1) - 1) + 1 if square > 0 else 0

    def error(self, sensitivity: Sensitivity) -> ScoreError_:  # noqa: ARG002 - not of the data
        """Return how far above the least cost the chosen one may lie."""
        return ScoreError_(Fraction(len(self.prices)), self.rate, Fraction(1))

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return how far coefficients move together."""
        return {"l2_squared": sensitivity.l2_squared}

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take the coefficients, whole numbers; those beyond the prices are always left out."""
        given = integers(values)
        if given.ndim != 1 or given.size < len(self.prices):
            raise DataError(
                f"there are {len(self.prices)} prices, so that there must be as many coefficients."
            )
        return np.clip(given, -_LARGEST, _LARGEST)

    def cells(self, exact: NDArray[np.int64]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of one choice."""
        return ()

    def costs(self, exact: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return length and price together, for each number of coefficients."""
        left, tails = 0, []
        for entry in exact[::-1].tolist():
            tails.append(isqrt(left))
            left += entry * entry
        kept = tails[::-1][: len(self.prices)]
        return np.array(kept, np.int64) + np.array(self.prices, np.int64)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> int:
        """Choose how many coefficients are kept."""
        return int(Choice(-self.costs(exact), self.rate).draw(1, rng)[0]) + 1
