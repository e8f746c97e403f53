"""Laplace noise for real values, on a public grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import DataError
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import saturation
from sfumato.mechanisms.laplace import LaplaceError, laplace_loss
from sfumato.mechanisms.mechanism import (
    Laboratory,
    least_noise,
    need,
    need_movable,
    one_by_one,
    rational,
)
from sfumato.noise import Laplace, Rng, draw

_LOW, _HIGH = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, repr=False)
class GridLaplace(Laboratory):
    """Round each value to a public grid and add discrete Laplace noise in whole steps.

    For means and sums of real numbers outside a table. The answer is a multiple of the step,
    whatever the data: its low-order bits say nothing. Choose a step well below the scale.

    Guarantee: ε-DP with ε = shift·step/scale, where rounding can add to the shift:
        shift = ceil(l1/step) + l0 - 1 steps; for the neighbor relation of the sensitivity.
    Theorem:   [GRS09] on the grid; rounding to nearest moves two values at most
        ceil(distance/step) steps apart
    Exactness: rounding and noise are exact; values are taken as the rationals that they are.
    Error:     that of the discrete law, plus half a step of rounding, both in the interval.

    Args:
        scale: the noise scale, in the unit of the values.
        step: the step of the grid; public, chosen without looking at the data.

    Example:
        >>> noisy = GridLaplace(scale=1, step="0.01")(2.5)
        >>> round(noisy * 100, 6).is_integer()
        True
    """

    scale: Fraction
    step: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(self, scale: Exactable, step: Exactable) -> None: ...

    def __post_init__(self) -> None:
        """Check scale and step."""
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "step", positive(self.step, "step"))
        Laplace(self.scale / self.step)

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        step: Exactable,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> GridLaplace:
        """Return the mechanism with the least noise on this grid whose loss fits the target."""
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        width = positive(step, "step")
        l1, linf = _shift(sensitivity, width)
        if target.epsilon is not None:
            return cls(l1 * width / target.epsilon, width)
        steps = least_noise(
            lambda scale: laplace_loss(l1, linf, scale, sensitivity.neighbors), target
        )
        return cls(steps * width, width)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the loss of the discrete law at the shift that rounding allows."""
        l1, linf = _shift(sensitivity, self.step)
        return laplace_loss(l1, linf, self.scale / self.step, sensitivity.neighbors)

    def error(self, sensitivity: Sensitivity) -> GridError:  # noqa: ARG002 - noise is additive
        """Return the law of the error, rounding included."""
        return GridError(self.scale / self.step, self.step)

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Round to the grid, ties upwards, in exact arithmetic, each value by itself.

        Values beyond 64 bits of steps count as the largest or least.
        """
        array = one_by_one(values)
        steps = [_nearest(v, self.step) for v in array.ravel().tolist()]
        if None in steps:
            raise DataError(
                "a value is missing or not a number. Decide what a missing value means before "
                "noise is added to it."
            )
        return np.array(steps, np.int64).reshape(array.shape)

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Add noise, in whole steps."""
        return saturation.add(exact, draw(Laplace(self.scale / self.step), exact.size, rng))

    def reach(self, sensitivity: Sensitivity) -> dict[str, Fraction | None]:
        """Return the distances in steps, rounding included."""
        l1, linf = _shift(sensitivity, self.step)
        return {"l0": sensitivity.l0, "l1": l1, "linf": linf}

    def view(self, drawn: NDArray[np.int64]) -> Any:
        """Return the nearest floats: a function of the noisy integer alone."""
        floats = np.array([float(v) for v in self._rationals(drawn)]).reshape(drawn.shape)
        return floats.item() if floats.ndim == 0 else floats

    def grid(self, drawn: NDArray[np.int64]) -> Any:
        """Return exact multiples of the step."""
        rationals = self._rationals(drawn)
        return rationals[0] if drawn.ndim == 0 else rationals

    def _rationals(self, drawn: NDArray[np.int64]) -> list[Fraction]:
        return [self.step * k for k in drawn.ravel().tolist()]

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale


class GridError(LaplaceError):
    """Discrete Laplace noise on a grid, plus half a step of rounding."""

    def halfwidth(self, confidence: Fraction) -> Fraction:
        """Return the noise's half-width plus what rounding may have moved."""
        return LaplaceError.halfwidth(self, confidence) + self.step / 2


def _nearest(value: Any, step: Fraction) -> int | None:
    """Return the nearest grid point, saturated at 64 bits; None for what is not a number."""
    if isinstance(value, float) and isinf(value):
        return _HIGH if value > 0 else _LOW
    number = rational(value)
    if number is None:
        return None
    return min(max(int((number / step + Fraction(1, 2)) // 1), _LOW), _HIGH)


def _shift(sensitivity: Sensitivity, step: Fraction) -> tuple[Fraction, Fraction]:
    """Return l1 and linf counted in steps, with what rounding can add."""
    if sensitivity.is_zero:
        return Fraction(0), Fraction(0)
    l0, l1, linf = (
        need(getattr(sensitivity, name), name, GridLaplace.__name__)
        for name in ("l0", "l1", "linf")
    )
    # up: all cells but one can gain a step by moving a hair's breadth
    each = Fraction(-(-linf // step))
    return min(Fraction(-(-l1 // step)) + l0 - 1, l0 * each), each
