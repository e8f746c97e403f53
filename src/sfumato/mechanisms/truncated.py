"""Discrete Laplace noise within a public range: the truncated geometric mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import RangeError
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, is_integer, open_unit, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms import saturation
from sfumato.mechanisms.laplace import LaplaceError, laplace_loss
from sfumato.mechanisms.mechanism import (
    Laboratory,
    integers,
    least_noise,
    need,
    need_movable,
    whole,
)
from sfumato.noise import Laplace, Rng, draw
from sfumato.release.error import NOISE_ONLY
from sfumato.release.release import Release

_LIMIT = 2**62


@dataclass(frozen=True, slots=True, repr=False)
class TruncatedGeometric(Laboratory):
    """Add discrete Laplace noise to whole numbers and keep the result in a public range.

    For counts that must not be negative, or shares of a known total: what is published is always
    possible. Values beyond the range count as its nearer end. The price is a bias near the ends;
    where sums or means are formed of the answers, plain `DiscreteLaplace` noise is the better
    choice.

    Guarantee: ε-DP with ε = l1/scale, and ρ-zCDP as for discrete Laplace noise, where a cell moves
        by no more than high - low; for the neighbor relation of the sensitivity.
    Theorem:   [GRS09]; docs/theory/exact-noise.md
    Exactness: integer noise, exactly this law given uniform bits; ε rational, ρ rounded up.
    Error:     for a value in the range never further off than the noise; the ends have atoms
        p^d/(1+p), d being the distance to the end and p = exp(-1/scale).

    Args:
        scale: the scale, from 2^-20 to 2^60; a count at ε needs 1/ε.
        low: the least answer; public, chosen without looking at the data.
        high: the largest answer.

    Example:
        >>> share = TruncatedGeometric(scale=10, low=0, high=100)
        >>> 0 <= share(3) <= 100
        True
    """

    scale: Fraction
    low: int
    high: int

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, scale: Exactable, low: int, high: int) -> None: ...

    def __post_init__(self) -> None:
        """Check the scale and the range."""
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        Laplace(self.scale)
        for name in ("low", "high"):
            end = getattr(self, name)
            if not is_integer(end) or abs(index(end)) > _LIMIT:
                raise RangeError(
                    f"{name} is an end of the range of whole numbers that may be published. Pass "
                    f"an int of at most 2^62 in size."
                )
            object.__setattr__(self, name, index(end))
        if self.low >= self.high:
            raise RangeError(
                f"low = {self.low} must lie below high = {self.high}: a range of one answer says "
                f"nothing. Pass the public range of the answer."
            )

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        low: int,
        high: int,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> TruncatedGeometric:
        """Return the mechanism with the least noise whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        unit = cls(1, low, high)
        if target.epsilon is not None:
            return cls(unit._shift(sensitivity)[0] / target.epsilon, low, high)
        scale = least_noise(lambda scale: cls(scale, low, high).loss(sensitivity), target)
        return cls(scale, low, high)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the loss of the noise; the clamp after it costs nothing."""
        l1, linf = self._shift(sensitivity)
        return laplace_loss(l1, linf, self.scale, sensitivity.neighbors)

    def _shift(self, sensitivity: Sensitivity) -> tuple[Fraction, Fraction]:
        """Return l1 and linf of clamped values: no cell moves further than the range is wide."""
        l1 = whole(need(sensitivity.l1, "l1", type(self).__name__))
        linf = min(whole(sensitivity.linf), Fraction(self.high - self.low))
        if sensitivity.l0 is not None:
            l1 = min(l1, sensitivity.l0 * linf)
        return l1, linf

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return the distances of clamped values."""
        l1, linf = self._shift(sensitivity)
        return {"l0": sensitivity.l0, "l1": l1, "l2_squared": l1 * linf, "linf": linf}

    def error(self, sensitivity: Sensitivity) -> TruncatedError:  # noqa: ARG002 - not of the data
        """Return how far off a value of the range may come out."""
        return TruncatedError(self.scale, self.high - self.low)

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take whole numbers; those beyond the range count as its ends."""
        return np.clip(integers(values), self.low, self.high)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Add noise to each value and clamp it."""
        noisy = saturation.add(exact, draw(Laplace(self.scale), exact.size, rng))
        return np.asarray(np.clip(noisy, self.low, self.high))

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "value",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Draw once; the intervals, like the answers, stay in the range."""
        plain = Laboratory.release(
            self, values, sensitivity, name=name, keys=keys, confidence=confidence, unit=unit
        )
        (measure,) = plain.measures
        reach = ceil(self.error(sensitivity).halfwidth(open_unit(confidence, "confidence")))
        within = replace(
            measure,
            low=tuple(max(self.low, value - reach) for value in measure.values),
            high=tuple(min(self.high, value + reach) for value in measure.values),
        )
        note = f"values beyond {self.low} and {self.high} count as these, before and after noise."
        return replace(plain, measures=(within,), notes=(note,))

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale


@dataclass(frozen=True, slots=True)
class TruncatedError:
    """The error of clamped noise, for a value that lies in the range.

    A clamp brings no two numbers further apart, and a value of the range stays where it is: the
    answer is no further off than the noise, nor than the range is wide.
    """

    scale: Fraction
    width: int
    covers: str = NOISE_ONLY
    std: float | None = None  # depends on how far the value lies from the ends

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return an h with P(|answer - value| > h) <= 1 - confidence."""
        noise = LaplaceError(self.scale, Fraction(1)).halfwidth(confidence)
        return min(noise, Fraction(self.width))
