"""Counts of the groups that occur, where nobody knows which groups there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.grid import least_near
from sfumato.core.errors import CostError, InputError, RangeError, SensitivityError
from sfumato.core.interval import Interval
from sfumato.core.loss import Approximate, Composed, Loss, Pure
from sfumato.core.number import Exactable, exact, open_unit, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms import saturation
from sfumato.mechanisms.gaussian import GaussianError
from sfumato.mechanisms.group import (
    Cells,
    Chosen,
    Key,
    Move,
    Unlisted,
    counted,
    moved,
    with_failures,
    within,
)
from sfumato.mechanisms.laplace import LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, least_noise, need_movable
from sfumato.mechanisms.threshold import (
    Noise,
    about,
    concentrated,
    joint_delta,
    least_sigma,
    made,
    passes,
)
from sfumato.noise import Gaussian, Laplace, Law, Rng, draw
from sfumato.release.release import Release

BEFORE_SELECTION = "noise only, before selection"
_HIGHEST = 2**62
_BLOCK = 2**16  # groups to which noise is added at a time


@dataclass(frozen=True, slots=True, repr=False)
class StabilityHistogram(Unlisted, Laboratory):
    """Add integer noise to the count of every group that occurs; release it if above a threshold.

    For names, words, places: groups that nobody can list beforehand. Whether a group occurs at all
    is private, so one that a single unit is in must hardly ever show; that is what δ pays for.
    Where the groups are public, plain noise on all of them needs no δ; where only their names are
    wanted, `PartitionSelection` shows smaller ones, unless units are in many groups.

    Gaussian noise can be stated in two ways. With `epsilon` the loss is (ε, δ), δ being the joint
    one of noise and threshold, which is the least for one release at that ε; a ledger that counts
    in ρ charges it as it would any (ε, δ), ε·tanh(ε/2). Without, the loss is the ρ of the noise
    and the δ of the threshold alone: no ε until some δ is added for it, but a ρ many times less,
    for tables whose other parts are counted in ρ too.

    Guarantee: let p be the probability that a group of linf passes, and τ_j = 1 - (1 - p)^j (less
        where l1 < l0·linf). With Laplace noise (ε, δ)-DP, ε = l1/scale and δ = τ_l0, and outside
        failures of that probability ρ-zCDP with ρ of the noise; one of the two, never their sum, is
        spent on any one group. With Gaussian noise (ε, δ)-DP at the ε stated, δ being the largest
        over j = 0, …, l0 of τ_j + (1 - τ_j)·δ_{l0-j}(ε); or, no ε being stated, ρ-zCDP with
        ρ = l2²/(2·scale²) outside failures of probability τ_l0. For the neighbor relation of the
        sensitivity.
    Theorem:   [KKMN09] for continuous noise, [WKZK24]; both proved for integer noise in
        docs/theory/thresholds.md
    Exactness: integer noise, integer threshold; ε and ρ rational, δ rounded up.
    Error:     that of the noise, before selection: what is released is what passed.

    Args:
        scale: the scale of the noise; σ for Gaussian noise.
        threshold: a group is released if its noisy count is above it.
        noise: "laplace" or "gaussian"; the latter for units that are in many groups.
        epsilon: the ε at which the loss of Gaussian noise is stated, if in ε; not for Laplace
            noise.

    Example:
        >>> one = Sensitivity(l0=1, linf=1)
        >>> names = StabilityHistogram.calibrate(one, epsilon=1, delta="1e-6")
        >>> names.threshold
        14
        >>> list(names({"anna": 1000, "zoltan": 1}))
        ['anna']
    """

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
        _check_noise(self.noise)
        threshold = exact(self.threshold, "threshold")
        if threshold.denominator != 1 or not 0 <= threshold < _HIGHEST:
            raise RangeError(
                "threshold= is compared with noisy counts: pass a whole number from 0 to 2^62. "
                "StabilityHistogram.calibrate finds the one that a δ needs."
            )
        object.__setattr__(self, "threshold", int(threshold))
        if self.noise != "gaussian" and self.epsilon is not None:
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
        """Return the mechanism with the least noise, and then the lowest threshold, that fits.

        Both to within 1 in 1000 for Gaussian noise that states an ε; where that is of the size of
        what one unit can move, δ goes up and down with it, and up to a fifth less might fit.

        Args:
            sensitivity: how many groups one unit can change, and how far.
            epsilon: the target, in ε …
            rho: … or in ρ.
            delta: the δ beside it: in all for ε, and of the threshold alone for ρ.
            noise: "laplace" or "gaussian".
        """
        target, allowed = with_failures(epsilon, delta, rho)
        _check_noise(noise)
        need_movable(sensitivity)
        move = moved(sensitivity)
        stated = target.epsilon if noise == "gaussian" else None
        if noise == "laplace":
            scale = 1 / within(target, move)
        elif target.epsilon is not None:
            scale = least_sigma(move, target.epsilon, allowed)
        else:
            relation = sensitivity.neighbors
            scale = least_noise(lambda sigma: concentrated(sigma, move, relation), target)
        cls(scale, 0, noise, stated)  # refuses what cannot be drawn

        start = move.most + about(noise, scale, allowed / move.times)
        if not move.full:
            start = max(start, 1 + about(noise, scale, allowed / move.total))
        if start >= _HIGHEST:
            raise RangeError(
                "no threshold up to 2^62 brings the failures within delta. Pass a larger epsilon "
                "or delta, or let one unit count less."
            )
        # The joint δ takes a while: large thresholds are sought in small parts of σ.
        step = 1 if stated is None else max(int(scale) // 2**10, 1)

        def fits(steps: int) -> bool:
            made = cls(scale, max(start + steps * step, 0), noise, stated)
            return start + steps * step >= 0 and made._failure(move) <= allowed

        return cls(scale, start + least_near(fits, 0) * step, noise, stated)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return what noise and threshold give away of the groups that one unit can change.

        For Gaussian noise that states an ε it is (ε, δ); otherwise the loss of the noise and, as a
        part of its own, the failures of the threshold.
        """
        relation = sensitivity.neighbors
        if sensitivity.is_zero:
            return Pure(Fraction(0), neighbors=relation)
        move = moved(sensitivity)
        failure = self._failure(move)
        if failure >= 1:
            raise SensitivityError(
                "one unit alone could pass the threshold, and then nothing is protected. Raise "
                "threshold=, or cap how much of one unit may count in a group."
            )
        if self.noise == "laplace":
            return counted(1 / self.scale, move, failure, relation)
        if self.epsilon is not None:
            return Approximate(self.epsilon, failure, neighbors=relation)
        failures = Approximate(Fraction(0), failure, neighbors=relation)
        return Composed.of([concentrated(self.scale, move, relation), failures])

    def _failure(self, move: Move) -> Fraction:
        """Return δ of the threshold, or the joint one at the ε that is stated, rounded up."""
        if self.epsilon is not None:
            return joint_delta(self.scale, self.threshold, move, self.epsilon)
        return made(self.noise, self.scale, self.threshold, move, move.groups)

    def passes(self, count: int) -> Interval:
        """Enclose the probability that a group of so many is released."""
        return passes(self.noise, self.scale, self.threshold, count)

    def enough(self, confidence: Exactable = Fraction(95, 100)) -> int:
        """Return how many a group must count to be released with this probability."""
        sure = open_unit(confidence, "confidence")
        rare = min(sure, 1 - sure)
        beyond = about(self.noise, self.scale, rare)
        wanted = Interval.of(rare)  # decimals: as rationals, odds may have no end
        start, mirror = self.threshold + 1, 2 * self.threshold + 1
        if sure > Fraction(1, 2):
            # A group is left out as often as its mirror image at the threshold is released. Odds
            # next to 1 have no digits for what is missing from 1; these have all of them.
            return least_near(lambda n: self.passes(mirror - n).high <= wanted.low, start + beyond)
        return least_near(lambda n: self.passes(n).low >= wanted.high, start - beyond)

    def error(self, sensitivity: Sensitivity) -> LaplaceError | GaussianError:  # noqa: ARG002
        """Return the law of the noise; it says nothing about groups that are left out."""
        if self.noise == "gaussian":
            return GaussianError(self.scale, covers=BEFORE_SELECTION)
        return LaplaceError(self.scale, Fraction(1), covers=BEFORE_SELECTION)

    def choose(self, counts: NDArray[np.int64], rng: Rng) -> Chosen:
        """Add noise to each count; return the positions above the threshold, and their sums.

        Args:
            counts: the number of units of each group; from 0 down a group does not exist.
            rng: the randomness.
        """
        places, sums = [np.zeros(0, np.intp)], [counts[:0]]
        for start in range(0, counts.size, _BLOCK):  # memory for those that pass, and for one block
            block = counts[start : start + _BLOCK]
            there = np.flatnonzero(block > 0)
            noisy = saturation.add(block[there], draw(self._law(), there.size, rng))
            passed = noisy > self.threshold
            places.append(there[passed] + start)
            sums.append(noisy[passed])
        return np.concatenate(places), np.concatenate(sums)

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
        return self._released(
            values,
            sensitivity,
            name=name,
            column=column,
            keys=keys,
            confidence=confidence,
            unit=unit,
        )

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale


def _check_noise(noise: object) -> None:
    if not isinstance(noise, str) or noise not in get_args(Noise):
        raise InputError("noise= is none of the laws that are known: 'laplace', 'gaussian'.")
