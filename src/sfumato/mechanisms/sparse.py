"""Histograms over huge public domains, nearly all of whose cells are empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.price import price
from sfumato.core.errors import CostError, DataError, InputError, RangeError
from sfumato.core.interval import Interval
from sfumato.core.loss import Loss
from sfumato.core.number import Exactable, is_integer, open_unit, positive, show
from sfumato.core.sensitivity import Sensitivity
from sfumato.core.unit import Unit
from sfumato.mechanisms import saturation
from sfumato.mechanisms.laplace import DiscreteLaplace, LaplaceError
from sfumato.mechanisms.mechanism import Laboratory, check_unit
from sfumato.noise import Laplace, Rng, draw, system
from sfumato.noise.binomial import binomial
from sfumato.noise.permutation import distinct
from sfumato.release.key import check_cells
from sfumato.release.release import Release

Cells: TypeAlias = tuple[tuple[int, int], ...]  # (cell, count), by rising cell

BEFORE_SELECTION = "noise only, before selection"
_MOST_CELLS = 2**60
_HIGHEST = 2**62
_TOP = 2**63
# Empty cells that are expected to pass: all of them must be held in memory, and nobody reads more.
_MOST_PASSING = 2**24


@dataclass(frozen=True, slots=True, repr=False)
class SparseHistogram(Laboratory):
    """Add discrete Laplace noise to every cell of a public domain; keep what reaches a threshold.

    For tables of billions of cells of which few are filled: places by hour, pairs of codes. Only
    cells that are filled are visited. How many empty ones pass is one binomial draw, and which, and
    with what value, is drawn for these alone, so that time and memory go with what is filled and
    what comes out, while the law is that of noise on every single cell. The domain must be public;
    where nobody can list it, `StabilityHistogram` pays with a δ.

    Guarantee: ε-DP with ε = l1/scale, and ρ-zCDP as for discrete Laplace noise: dropping small
        values is post-processing; for the neighbor relation of the sensitivity.
    Theorem:   [GRS09], [CPST12]; docs/theory/exact-noise.md
    Exactness: the output has exactly the law of noise on all cells, then the threshold.
    Error:     that of the noise, before selection: a cell that is listed has a large value also
        because its noise was large.

    Args:
        scale: the scale of the noise; a count at ε needs 1/ε.
        threshold: noisy values from it on are kept; a whole number from 1 on.
        domain: how many cells there are, filled or not; up to 2^60.
        two_sided: whether values at or below -threshold are kept too, where counts may be negative.

    Example:
        >>> by_place = SparseHistogram(scale=1, threshold=60, domain=10**12)
        >>> list(by_place({7: 1000, 10**11: 3}))
        [7]
    """

    takes_cells: ClassVar[bool] = False

    scale: Fraction
    threshold: int
    domain: int
    two_sided: bool = False

    if TYPE_CHECKING:  # what is taken; the fields are what is held

        def __init__(
            self, scale: Exactable, threshold: int, domain: int, two_sided: bool = False
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check the parameters, and that the answer will have a bearable size."""
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        Laplace(self.scale)
        if not is_integer(self.domain) or not 1 <= index(self.domain) <= _MOST_CELLS:
            raise RangeError(
                "domain= is how many cells there are, filled or not, as is publicly known. Pass a "
                "whole number from 1 to 2^60."
            )
        if not is_integer(self.threshold) or not 1 <= index(self.threshold) <= _HIGHEST:
            raise RangeError(
                "threshold= is compared with noisy counts: pass a whole number from 1 to 2^62. To "
                "keep every cell, use DiscreteLaplace."
            )
        if not isinstance(self.two_sided, bool):
            raise InputError("two_sided= says whether large negative values are kept: pass a bool.")
        object.__setattr__(self, "threshold", index(self.threshold))
        object.__setattr__(self, "domain", index(self.domain))
        if self.expected > _MOST_PASSING:
            raise RangeError(
                f"about {show(self.expected)} empty cells would pass the threshold by their noise "
                f"alone, too many to hold or to read. Raise threshold=; "
                f"SparseHistogram.calibrate(..., expected=100) finds one."
            )

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        domain: int,
        threshold: int | None = None,
        expected: Exactable | None = None,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        two_sided: bool = False,
    ) -> SparseHistogram:
        """Return the mechanism with the least noise whose loss fits the target.

        Args:
            sensitivity: how far one unit moves the counts.
            domain: how many cells there are.
            threshold: noisy values from it on are kept.
            expected: instead of a threshold, how many empty cells may pass, on average at most;
                the threshold follows from public figures alone.
            epsilon: the target, in ε …
            delta: … with a δ, of which nothing is needed …
            rho: … or in ρ.
            two_sided: whether values at or below -threshold are kept too.
        """
        if (threshold is None) == (expected is None):
            raise CostError(
                "the threshold is stated, or follows from how many empty cells may pass. Pass "
                "threshold= or expected=, one of them."
            )
        scale = DiscreteLaplace.calibrate(sensitivity, epsilon=epsilon, delta=delta, rho=rho).scale
        if threshold is None:
            probe = cls(scale, _HIGHEST, domain, two_sided)
            threshold = probe._least(positive(expected, "expected"))
        return cls(scale, threshold, domain, two_sided)

    def _least(self, expected: Fraction) -> int:
        """Return the least threshold with which at most `expected` empty cells pass, on average."""
        sides = 2 if self.two_sided else 1
        ratio = Interval.of(-1 / self.scale).exp()
        # The chance of one cell, sides times a^θ/(1+a), must not exceed expected/domain.
        reach = (self.domain * sides / (expected * (1 + ratio))).log() * self.scale
        return min(max(1, int(-(-Fraction(reach.high) // 1))), _HIGHEST)  # up

    @property
    def expected(self) -> Fraction:
        """How many empty cells pass on average, at most: all cells times the chance of one."""
        low, high = self._passing(128)
        return Fraction(self.domain * high, 2**128) if low else Fraction(self.domain, 2**128)

    def _passing(self, length: int) -> tuple[int, int]:
        """Enclose 2^length times the probability that an empty cell passes."""
        return _passing(self.scale, self.threshold, 2 if self.two_sided else 1, length)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Return the loss of noise on every cell."""
        return DiscreteLaplace(self.scale).loss(sensitivity)

    def error(self, sensitivity: Sensitivity) -> LaplaceError:  # noqa: ARG002 - noise is additive
        """Return the law of the noise; it says nothing about cells that are left out."""
        return LaplaceError(self.scale, Fraction(1), covers=BEFORE_SELECTION)

    def exact(self, values: Any) -> Cells:
        """Take a mapping from cells to counts; a count of zero is an empty cell."""
        if not isinstance(values, Mapping):
            raise DataError("a sparse histogram is a mapping from cells to counts. Pass {7: 120}.")
        cells = {}
        for cell, count in values.items():
            if not _is_within(cell, 0, self.domain):
                raise DataError(
                    "a cell lies outside the domain. Number the cells of the public domain from 0 "
                    "to domain - 1."
                )
            if not _is_within(count, -_TOP, _TOP):
                raise DataError("a count is not a whole number of at most 64 bits. Count rows.")
            if count:
                cells[index(cell)] = index(count)
        return tuple(sorted(cells.items()))

    def sample(self, exact: Cells, rng: Rng) -> Cells:
        """Return the cells that reach the threshold, with their noisy values, by rising cell."""
        filled = np.array([cell for cell, _ in exact], np.int64)
        counts = np.array([count for _, count in exact], np.int64)
        noisy = saturation.add(counts, draw(Laplace(self.scale), counts.size, rng))
        kept = noisy >= self.threshold
        if self.two_sided:
            kept |= noisy <= -self.threshold
        empty, values = self._risen(filled, rng)
        cells = np.concatenate([filled[kept], empty])
        values = np.concatenate([noisy[kept], values])
        order = np.argsort(cells)
        return tuple(zip(cells[order].tolist(), values[order].tolist(), strict=True))

    def _risen(
        self, filled: NDArray[np.int64], rng: Rng
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw the empty cells that pass, and their values."""
        left = self.domain - filled.size
        ranks = distinct(left, binomial(left, self._passing, rng), rng)
        # Rank r among the empty cells: r, and one more for each filled cell before it.
        before = filled - np.arange(filled.size)  # empty cells before each filled one
        cells = ranks + np.searchsorted(before, ranks, "right")
        beyond = draw(Laplace(self.scale, two_sided=False), ranks.size, rng)
        sign = np.ones(ranks.size, np.int64)
        if self.two_sided:
            sign -= (rng.words(ranks.size) & np.uint64(1)).astype(np.int64) * 2
        # The sign first: both ends of 64 bits must be as likely here as for filled cells.
        return cells, saturation.add(sign * self.threshold, sign * beyond)

    def cells(self, exact: Cells) -> tuple[int, ...]:  # noqa: ARG002 - how many come out is drawn
        """Return nothing known: how many cells come out is part of the answer."""
        return (0,)

    def view(self, drawn: Cells) -> dict[int, int]:
        """Return the cells with their noisy values."""
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
        column: str = "cell",
    ) -> Release:
        """Draw once and return the cells that passed, each with its value and interval.

        Args:
            values: a mapping from cells to counts; cells that are not in it are empty.
            sensitivity: how far one unit moves the counts.
            name: what was counted.
            keys: none: which cells are listed is part of the answer.
            confidence: the probability with which each interval holds, before selection.
            unit: who is protected, for the card; the laboratory takes your word for it.
            column: what the cells are called.
        """
        if keys is not None:
            raise InputError(
                "which cells are listed is part of the answer, so they have no keys beforehand. "
                "Pass column= to name them."
            )
        cost, error, exact = self.loss(sensitivity), self.error(sensitivity), self.exact(values)
        sure = open_unit(confidence, "confidence")
        check_cells(name, {column: ()}, (0,))
        check_unit(unit, cost)
        drawn = self.sample(exact, system())
        return Release.of(
            values=np.array([value for _, value in drawn], np.int64),
            error=error,
            cost=cost,
            mechanism=repr(self),
            scale=self.noise_scale,
            name=name,
            keys={column: [cell for cell, _ in drawn]},
            confidence=sure,
            notes=(self.said,),
            unit=unit,
            price=price(cost),
        )

    @property
    def said(self) -> str:
        """What a reader should know; static."""
        return (
            f"cells are listed from a noisy value of {self.threshold} on; of the empty cells at "
            f"most {show(self.expected, 3)} pass on average."
        )

    @property
    def noise_scale(self) -> Fraction:
        """The scale."""
        return self.scale


@lru_cache(maxsize=64)
def _passing(scale: Fraction, threshold: int, sides: int, length: int) -> tuple[int, int]:
    """Enclose 2^length·sides·a^θ/(1+a), where a = exp(-1/scale)."""
    # a^θ < 2^(-1.44·θ/scale): far below the last bit there is nothing to compute
    if threshold / scale * 144 // 100 > length + 1:
        return 0, 1
    digits = length * 31 // 100 + 30
    tail = Interval.of(-threshold / scale, digits).exp()
    passing = tail / (1 + Interval.of(-1 / scale, digits).exp()) * sides
    return passing.floor_fixed(length), passing.ceil_fixed(length)


def _is_within(number: Any, low: int, high: int) -> bool:
    # Most are plain ints, and asking for their type is several times faster.
    whole = type(number) is int or is_integer(number)
    return whole and low <= index(number) < high
