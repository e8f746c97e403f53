"""Counts of a secret random sample of the rows: privacy amplified by sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, DataError, InputError, SensitivityError
from sfumato.core.loss import Loss, PoissonSampled
from sfumato.core.number import Exactable, open_unit, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Neighbors, Unit
from sfumato.mechanisms.gaussian import DiscreteGaussian, GaussianError
from sfumato.mechanisms.laplace import DiscreteLaplace, LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, integers, least_noise, need_movable
from sfumato.noise import Rng
from sfumato.noise.binomial import binomials
from sfumato.release.estimate import Estimate
from sfumato.release.release import Release

OF_THE_SAMPLE = "noise only, of the sample"
_MOST = 2**53  # an estimate is computed in floats; beyond, the interval is not one
_STEPS = 64  # bisection steps: more than the range has bits


@dataclass(frozen=True, slots=True, repr=False)
class Sampled(Laboratory):
    """Keep each row by a coin of its own, count the sample, and add integer noise.

    For a smaller loss with the same noise, where more rows are there than are needed. The
    mechanism throws the coins itself. Which rows it kept is never published, not even afterwards,
    and neither is how many: whoever knows that a row is in the sample is owed the loss of `inner`.

    Guarantee: for units of one row in one cell, under add_remove: ε' = ln(1 + rate·(e^ε - 1)) with
        δ' = rate·δ, for every ε and δ of `inner`. For any other unit, and under replace, that of
        `inner`: sampling never costs anything, but then it buys nothing that is proved here.
    Theorem:   [BBG18, Thm 8]; docs/theory/exact-noise.md
    Exactness: coins and noise have exactly these laws; losses are rounded up.
    Error:     that of `inner`, as a count of the sample; `estimate` adds that of the sampling.

    Args:
        inner: `DiscreteLaplace` or `DiscreteGaussian`; a number is the scale of Laplace noise.
        rate: the probability with which each row is kept, strictly between 0 and 1.

    Example:
        >>> tenth = Sampled(DiscreteLaplace(1), rate="1/10")
        >>> noisy = tenth([5000, 200])
        >>> tenth.estimate(noisy).value.shape
        (2,)
    """

    inner: DiscreteLaplace | DiscreteGaussian
    rate: Fraction

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self, inner: DiscreteLaplace | DiscreteGaussian | Exactable, rate: Exactable
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the mechanism and the rate."""
        if isinstance(self.inner, Laboratory):
            if type(self.inner) not in (DiscreteLaplace, DiscreteGaussian):
                raise InputError(
                    f"{type(self.inner).__name__} does not add integer noise to counts, and a "
                    f"sample is counted. Pass DiscreteLaplace(...) or DiscreteGaussian(...)."
                )
        else:
            object.__setattr__(self, "inner", DiscreteLaplace(self.inner))
        object.__setattr__(self, "rate", open_unit(self.rate, "rate"))

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        rate: Exactable,
        noise: Literal["laplace", "gaussian"] = "laplace",
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
    ) -> Sampled:
        """Return the mechanism with the least noise, for this rate, whose loss fits the target.

        Raises:
            SensitivityError: a unit is more than one row, or neighbors replace: nothing is gained.
        """
        target = Budget(epsilon, delta, rho=rho)
        need_movable(sensitivity)
        if not _one_row(sensitivity):
            raise SensitivityError(
                "sampling row by row makes noise smaller only where a unit is one row in one cell, "
                "there or not: rows of one unit would have to be kept or dropped together, and "
                "under replace another theorem holds. Calibrate DiscreteLaplace instead, or state "
                "Sensitivity(l0=1, linf=1)."
            )
        kinds: dict[str, Callable[[Fraction], DiscreteLaplace | DiscreteGaussian]] = {
            "laplace": DiscreteLaplace,
            "gaussian": DiscreteGaussian,
        }
        if noise not in kinds:
            raise InputError("noise= is none of the laws that are known: 'laplace', 'gaussian'.")
        if noise == "gaussian" and target.rho is None and not target.delta:
            raise CostError(
                "Gaussian noise gives no guarantee in epsilon alone. Pass delta= as well, well "
                "below one over the number of people, or noise='laplace'."
            )
        make = kinds[noise]
        scale = least_noise(lambda s: cls(make(s), rate).loss(sensitivity), target)
        return cls(make(scale), rate)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the amplified loss for units of one row, else that of the noise alone."""
        whole = self.inner.loss(sensitivity)
        if sensitivity.is_zero or not _one_row(sensitivity):
            return whole
        return PoissonSampled(whole, self.rate)

    def error(self, sensitivity: Sensitivity) -> LaplaceError | GaussianError:  # noqa: ARG002
        """Return the law of the error as a count of the sample, not of all rows."""
        return self._noise()

    def exact(self, values: Any) -> NDArray[np.int64]:
        """Take counts of rows."""
        counts = integers(values)
        if counts.size and int(counts.min()) < 0:
            raise DataError(
                "a count of rows cannot be negative, and only rows can be sampled. Count rows."
            )
        return counts

    def sample(self, exact: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Throw a coin for each row, and add noise to the number of rows kept."""
        return self.inner.sample(binomials(exact, self.rate, rng), rng)

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "sample",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
    ) -> Release:
        """Sample and draw once; the counts, and their intervals, are those of the sample."""
        plain = Laboratory.release(
            self, values, sensitivity, name=name, keys=keys, confidence=confidence, unit=unit
        )
        note = (
            f"these are counts of a secret random sample, each row kept with probability "
            f"{show(self.rate)}; divide by it to estimate all rows."
        )
        return replace(plain, notes=(note,))

    def estimate(self, noisy: Any, *, confidence: Exactable = Fraction(95, 100)) -> Estimate:
        """Return how many rows there are behind noisy counts of a sample; free post-processing.

        Half of what may go wrong is left to the noise, half to the sampling: the interval holds
        all numbers of rows for which the sample, wherever the noise leaves room for it, would not
        be surprisingly small or large (binomial tails, a quarter each).

        Args:
            noisy: what a draw or a release of this mechanism holds.
            confidence: the probability with which each interval holds.
        """
        sure = open_unit(confidence, "confidence")
        counts = integers(noisy)
        if counts.size and int(np.abs(counts).max()) > _MOST * self.rate:
            raise DataError("a noisy count is too large to be estimated from: beyond 2^53 rows.")
        miss, rate = float(1 - sure), float(self.rate)
        width = int(-(-self._noise().halfwidth((1 + sure) / 2) // 1))
        least = _rows(np.maximum(counts - width, 0), rate, miss / 4, upper=False)
        most = _rows(np.maximum(counts + width, 0), rate, miss / 4, upper=True)
        scaled = counts / rate
        ends: tuple[Any, ...] = (scaled, np.minimum(least, scaled), np.maximum(most, scaled))
        if counts.ndim == 0:
            ends = tuple(float(end) for end in ends)
        value, low, high = ends
        return Estimate(value, low, high, sure, "sampling and noise")

    def _noise(self) -> LaplaceError | GaussianError:
        if isinstance(self.inner, DiscreteGaussian):
            return GaussianError(self.inner.sigma, covers=OF_THE_SAMPLE)
        return LaplaceError(self.inner.scale, Fraction(1), covers=OF_THE_SAMPLE)

    @property
    def noise_scale(self) -> Fraction:
        """The scale of the noise on a count of the sample."""
        return self.inner.noise_scale


def _one_row(sensitivity: Sensitivity) -> bool:
    """Say whether one unit is one row, there or not: it moves one count, by one."""
    one = sensitivity.l1 is not None and sensitivity.l1 <= 1  # counts move by whole numbers
    return one and sensitivity.neighbors is Neighbors.ADD_REMOVE


def _rows(kept: NDArray[np.int64], rate: float, miss: float, *, upper: bool) -> NDArray[np.float64]:
    """Return the least, or the largest, number of rows of which so few, or many, may be kept.

    Clopper and Pearson's way, for the number of coins instead of their probability.
    """
    from scipy.special import betainc

    seen = kept.astype(np.float64)
    # Chernoff: of so many rows, `seen` or fewer are kept with probability e^-25·miss at most.
    ends = np.ceil((2 * seen + 200 * (1 - np.log(miss))) / rate)
    low, high = seen - 1, ends
    for _ in range(_STEPS):
        middle = np.floor((low + high) / 2)
        rows = np.maximum(middle, seen)
        if upper:  # P(kept <= seen), one at rows = seen, falls with the rows
            likely = betainc(np.maximum(rows - seen, 1e-300), seen + 1, 1 - rate) > miss
            likely |= rows <= seen
        else:  # P(kept >= seen), one at seen = 0, grows with the rows
            likely = betainc(np.maximum(seen, 1e-300), rows - seen + 1, rate) <= miss
            likely &= seen > 0
            likely |= middle < seen
        low, high = np.where(likely, middle, low), np.where(likely, high, middle)
    return np.asarray(low if upper else high)
