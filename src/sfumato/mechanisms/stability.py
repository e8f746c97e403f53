"""Counts of the groups that occur, where nobody knows which groups there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from sfumato.accounting.curve import delta as delta_of
from sfumato.accounting.grid import least_near, rational_up, shorten_up
from sfumato.accounting.price import price
from sfumato.accounting.tail import tail, total
from sfumato.core.budget import Budget
from sfumato.core.errors import CostError, InputError, RangeError, SensitivityError
from sfumato.core.interval import DIGITS, Interval
from sfumato.core.loss import Approximate, GaussianShift, Loss, Pure
from sfumato.core.number import Exactable, exact, open_unit, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms import saturation
from sfumato.mechanisms.gaussian import GaussianError
from sfumato.mechanisms.group import (
    Cells,
    Key,
    joint,
    moved,
    no_keys,
    occupied,
    shown,
    with_delta,
)
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, check_unit, least_noise, need_movable
from sfumato.noise import Gaussian, Laplace, Law, Rng, draw, system
from sfumato.release.key import check_cells
from sfumato.release.release import Release

Noise: TypeAlias = Literal["laplace", "gaussian"]

BEFORE_SELECTION = "noise only, before selection"
_HIGHEST = 2**62
_MANY = 1000  # groups of one unit beyond which a simpler bound does


@dataclass(frozen=True, slots=True, repr=False)
class StabilityHistogram(Laboratory):
    """Add integer noise to the count of every group that occurs; release it if above a threshold.

    For names, words, places: groups that nobody can list beforehand. Whether a group occurs at all
    is private, so one that a single unit is in must hardly ever show; that is what δ pays for.
    Where the groups are public, plain noise on all of them needs no δ; where only their names are
    wanted, `PartitionSelection` shows smaller ones.

    Guarantee: with Laplace noise (ε, δ)-DP, ε = l1/scale and δ = 1 - (1 - p)^l0, where p is the
        probability that a group of linf passes; one of the two, never their sum, is spent on any
        one group. With Gaussian noise (ε, δ)-DP at the ε stated, δ being the joint one: the largest
        over j = 0, …, l0 of τ_j + (1 - τ_j)·δ_{l0-j}(ε), τ_j = 1 - (1 - p)^j. For the neighbor
        relation of the sensitivity.
    Theorem:   [KKMN09] for continuous noise, [WKZK24]; both proved for integer noise in
        docs/theory/thresholds.md
    Exactness: integer noise, integer threshold; ε rational, δ rounded up.
    Error:     that of the noise, before selection: what is released is what passed.

    Args:
        scale: the scale of the noise; σ for Gaussian noise.
        threshold: a group is released if its noisy count is above it.
        noise: "laplace" or "gaussian"; the latter for units that are in many groups.
        epsilon: the ε at which the loss of Gaussian noise is stated; not for Laplace noise.

    Example:
        >>> one = Sensitivity(l0=1, linf=1)
        >>> names = StabilityHistogram.calibrate(one, epsilon=1, delta="1e-6")
        >>> names.threshold
        14
        >>> list(names({"anna": 1000, "zoltan": 1}))
        ['anna']
    """

    takes_cells: ClassVar[bool] = False

    scale: Fraction
    threshold: int
    noise: Noise = "laplace"
    epsilon: Fraction | None = None

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self,
            scale: Exactable,
            threshold: Exactable,
            noise: Noise = "laplace",
            epsilon: Exactable | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check noise and threshold."""
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if self.noise not in get_args(Noise):
            raise InputError("noise= is none of the laws that are known: 'laplace', 'gaussian'.")
        threshold = exact(self.threshold, "threshold")
        if threshold.denominator != 1 or not 0 <= threshold < _HIGHEST:
            raise RangeError(
                "threshold= is compared with noisy counts: pass a whole number from 0 to 2^62. "
                "StabilityHistogram.calibrate finds the one that a δ needs."
            )
        object.__setattr__(self, "threshold", int(threshold))
        if (self.noise == "gaussian") != (self.epsilon is not None):
            raise CostError(
                "Gaussian noise has a δ for every ε, so epsilon= says at which ε its loss is "
                "stated; the ε of Laplace noise follows from its scale. Pass epsilon= with "
                "noise='gaussian' only."
            )
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        self._law()

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        noise: Noise = "laplace",
    ) -> StabilityHistogram:
        """Return the mechanism with the least noise, and then the lowest threshold, that fits."""
        target = with_delta(Budget(epsilon, delta, rho=rho))
        need_movable(sensitivity)
        cells, most, l1 = moved(sensitivity)
        goal = target.epsilon or Fraction(0)
        if noise == "gaussian":
            scale = least_noise(lambda sigma: _shift(sigma, cells, most), target)
            stated = goal
        else:
            scale, stated = l1 / goal, None
        cls(scale, 0, noise, stated)  # refuses what cannot be drawn

        def fits(threshold: int) -> bool:
            made = cls(scale, max(threshold, 0), noise, stated)
            return threshold >= 0 and made._delta(cells, most) <= target.delta

        return cls(
            scale, least_near(fits, _guess(noise, scale, cells, most, target)), noise, stated
        )

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return ε and δ for the groups that one unit can change, make or empty."""
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=sensitivity.neighbors)
        cells, most, l1 = moved(sensitivity)
        failure = self._delta(cells, most)
        if failure >= 1:
            raise SensitivityError(
                "one unit alone could pass the threshold, and then nothing is protected. Raise "
                "threshold=, or cap how much of one unit may count in a group."
            )
        stated = l1 / self.scale if self.epsilon is None else self.epsilon
        return Approximate(stated, failure, neighbors=sensitivity.neighbors)

    def _delta(self, cells: int, most: int) -> Fraction:
        """Return δ for that many groups that change by at most `most` each, rounded up."""
        alone = rational_up(self.passes(most).high)
        if self.epsilon is None:
            return joint(alone, cells)
        failures = []
        if cells > _MANY:  # up: both failures at their largest
            both = joint(alone, cells) + delta_of(_shift(self.scale, cells, most), self.epsilon)
            return min(shorten_up(both), Fraction(1))
        for made in range(cells + 1):
            there = joint(alone, made)  # δ of groups that are there on one side only
            changed = delta_of(_shift(self.scale, cells - made, most), self.epsilon)
            failures.append(there + (1 - there) * changed)
        return shorten_up(max(failures))

    def passes(self, count: int) -> Interval:
        """Enclose the probability that a group of so many is released."""
        first = self.threshold - count + 1  # the least noise that lifts it above
        beyond = self._tail(max(first, 1 - first))
        return beyond if first >= 1 else 1 - beyond

    def _tail(self, first: int) -> Interval:
        """Enclose P(noise >= first), for first >= 1."""
        if self.noise == "gaussian":
            return tail(first, self.scale, DIGITS) / total(self.scale, DIGITS)
        return Interval.of(-first / self.scale).exp() / (1 + Interval.of(-1 / self.scale).exp())

    def enough(self, confidence: Exactable = Fraction(95, 100)) -> int:
        """Return how many a group must count to be released with this probability."""
        sure = open_unit(confidence, "confidence")
        return least_near(
            lambda count: Fraction(self.passes(count).low) >= sure, self.threshold + 1
        )

    @property
    def said(self) -> str:
        """What a reader should know before paying; static."""
        return f"a group needs about {self.enough()} people to appear in 95 of 100 releases"

    def error(self, sensitivity: Sensitivity) -> LaplaceError | GaussianError:  # noqa: ARG002
        """Return the law of the noise; it says nothing about groups that are left out."""
        if self.noise == "gaussian":
            return GaussianError(self.scale, covers=BEFORE_SELECTION)
        return LaplaceError(self.scale, Fraction(1), covers=BEFORE_SELECTION)

    def exact(self, values: Any) -> Cells:
        """Take a mapping from groups to counts."""
        return occupied(values)

    def sample(self, exact: Cells, rng: Rng) -> Cells:
        """Return the groups with a noisy count above the threshold, in the order of their keys."""
        counts = np.array([count for _, count in exact], np.int64)
        noisy = saturation.add(counts, draw(self._law(), counts.size, rng)).tolist()
        return tuple(
            (key, count)
            for (key, _), count in zip(exact, noisy, strict=True)
            if count > self.threshold
        )

    def _law(self) -> Law:
        return Gaussian(self.scale) if self.noise == "gaussian" else Laplace(self.scale)

    def view(self, drawn: Cells) -> dict[Key, int]:
        """Return the groups with their noisy counts."""
        return dict(drawn)

    def release(
        self,
        values: Any,
        sensitivity: Sensitivity,
        *,
        name: str = "count",
        keys: Mapping[str, Iterable[Any]] | None = None,
        confidence: Any = Fraction(95, 100),
        unit: Unit | None = None,
        column: str = "key",
    ) -> Release:
        """Draw once and return the groups that passed, each with its count and interval.

        Args:
            values: a mapping from groups to counts.
            sensitivity: how many groups one unit can change, and how far.
            name: what was counted.
            keys: none: which groups there are is what is released.
            confidence: the probability with which each interval holds, before selection.
            unit: who is protected, for the card; the laboratory takes your word for it.
            column: what the groups are called.
        """
        no_keys(keys)
        cost, error, exact = self.loss(sensitivity), self.error(sensitivity), self.exact(values)
        sure = open_unit(confidence, "confidence")
        check_cells(name, {column: ()}, (0,))
        check_unit(unit, cost)
        drawn = self.sample(exact, system())
        return Release.of(
            values=np.array([count for _, count in drawn], np.int64),
            error=error,
            cost=cost,
            mechanism=repr(self),
            scale=self.noise_scale,
            name=name,
            keys={column: shown(key for key, _ in drawn)},
            confidence=sure,
            notes=(f"{self.said}.",),
            unit=unit,
            price=price(cost),
        )

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale


def _shift(sigma: Fraction, cells: int, most: int) -> Loss:
    """Return the loss of Gaussian noise on so many counts that move by at most `most` each."""
    return GaussianShift(sigma, Fraction(cells * most**2), scalar=cells == 1)


def _guess(noise: Noise, scale: Fraction, cells: int, most: int, target: Budget) -> int:
    """Return about the threshold that a search should start from."""
    rare = max(float(target.delta / cells), 1e-300)
    deviations = log(1 / rare) if noise == "laplace" else -NormalDist().inv_cdf(min(rare, 0.5))
    return most + int(scale * Fraction(deviations))
