"""The composition of distributions on one grid, by a Fourier transform of tilted masses.

Every mass is first multiplied by e^(λ·loss) and divided by about its sum. Composition commutes with
that, and the sum of independent tilted losses has its bulk where the answer is decided, so
that errors of the transform are relative to δ, however small δ is. See ``docs/theory/pld.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.accounting.pld.distribution import Distribution, Grid
from sfumato.accounting.pld.rounding import TINY, UNIT, Floats

_BUTTERFLY = 8  # roundings in one level of a transform, at most
_WOBBLE = 2.0**-38  # covers the rounding of an exponent up to 700, and more
_FEW = 16  # parts up to which the errors are followed at each frequency
_STEEP = 600.0  # exponents beyond which a bound is given up


@dataclass(frozen=True, slots=True)
class Window:
    """Where a composition is computed: a grid, a tilt, and the stretch of losses that counts.

    Attributes:
        interval: between neighboring losses.
        tilt: λ >= 0.
        first: the number of the first loss in the stretch.
        size: of the stretch, a power of two.
        lean: how much further to tilt, down and up, to bound what is outside.
    """

    interval: float
    tilt: float
    first: int
    size: int
    lean: tuple[float, float]


class Composition:
    """The hockey-stick curve of several distributions together, bounded on both sides."""

    def __init__(
        self, parts: Sequence[tuple[Distribution, int]], grid: Grid, window: Window
    ) -> None:
        """Compose `parts`, which lie on `grid`, each the given number of times."""
        self._window = window
        self._count = sum(count for _, count in parts)
        self._scale = Fraction(0)  # Σ of the logarithms that the tilted masses were divided by
        self._wobble = _WOBBLE  # relative error of the tilted masses, all together
        self._outside = [0.0, 0.0]  # logarithms of the bounds on what is below and above
        self._excess = self._stray = self._sunk = 0.0
        log_fin = log_inf = 0.0
        offset = end = 0
        leans: list[Floats] = [window.lean[1] * grid.points, -window.lean[0] * grid.points]
        tilts: Floats = window.tilt * grid.points
        product = _Product(window.size)
        for part, count in parts:
            here = grid.part(-part.first, part.first + len(part.mass) - 1)
            tilted = self._tilt(part, count, tilts[here], [lean[here] for lean in leans])
            product.multiply(tilted, count, lone=len(parts) <= _FEW)
            offset += part.first * count
            end += (part.first + len(part.mass) - 1) * count
            finite = float(part.mass.sum())
            log_fin += count * math.log(finite)
            log_inf += count * math.log1p(part.infinite / finite)
        if window.first <= offset:
            self._outside[0] = -math.inf
        if end < window.first + window.size:
            self._outside[1] = -math.inf
        self._infinite = math.exp(min(log_fin, _STEEP)) * math.expm1(min(log_inf, _STEEP))
        law, self._error = product.law(self._count + len(parts))
        self._law = np.roll(law, (offset - window.first) % window.size)
        self._losses: Floats = (
            window.first + np.arange(window.size, dtype=np.float64)
        ) * window.interval
        self._variance = self._count * window.interval**2 / 4

    def _tilt(self, part: Distribution, count: int, tilts: Floats, leans: list[Floats]) -> Floats:
        """Return the tilted masses of one part, and book what that costs."""
        with np.errstate(divide="ignore"):
            powers = np.log(part.mass) + tilts
        total = _log_sum(powers)
        powers -= total
        tilted: Floats = np.exp(powers)
        self._scale += count * Fraction(total)
        size = len(tilted)
        largest = float(np.abs(tilts[[0, -1]]).max()) + abs(total) + 750
        rounding = 8 * UNIT * (largest + size / self._window.size)
        self._wobble += count * rounding
        for side, lean in ((1, leans[0]), (0, leans[1])):
            extra = 8 * UNIT * (size + float(np.abs(lean[[0, -1]]).max())) + rounding
            self._outside[side] += count * (_log_sum(powers + lean) + extra)
        self._excess += count * math.log1p(part.excess)
        self._stray += count * part.stray
        self._sunk += count * part.sunk * math.exp(min(float(tilts[0]) - total, _STEEP))
        return tilted

    def above(self, epsilon: float) -> float:
        """Return at least δ at `epsilon`."""
        factor = self._factor(epsilon)
        if factor is None:
            return 1.0
        y, law = self._from(epsilon)
        blur = self._blur(epsilon)
        weights = -np.expm1(-(y + blur)) * np.exp(-self._window.tilt * (y - blur))
        inside = _sum(weights, np.maximum(law, 0.0) + self._error)
        inside += self._outer(1) * math.exp(-self._window.tilt * max(self._last - epsilon, 0))
        if epsilon < self._losses[0]:
            inside += self._outer(0)
        allowance = 1 + 2 * (self._wobble + 2 * self._window.size * UNIT)
        return min(factor * inside * allowance + self._infinite * self._whole(up=True) + TINY, 1.0)

    def below(self, epsilon: float) -> float:
        """Return at most δ of the pairs themselves at `epsilon`, which may be below zero."""
        factor = self._factor(epsilon)
        if factor is None or self._wobble > 0.01:
            return 0.0
        tilt = self._window.tilt
        y, law = self._from(epsilon)
        blur = self._blur(epsilon)
        weights = -np.expm1(-np.maximum(y - blur, 0.0)) * np.exp(-tilt * (y + blur))
        allowance = 2 * (self._wobble + 2 * self._window.size * UNIT)
        strangers = self.outside
        inside = _sum(weights, np.maximum(law - self._error, 0.0)) * (1 - allowance)
        certain, kept = self._infinite * self._whole(up=False), math.exp(-self._excess)
        joined = (factor * (inside - strangers) + certain) * kept
        joined -= factor * self._sunk * (1 + allowance)
        joined -= self._smear(epsilon, factor, allowance, strangers)
        return max(joined, certain * kept) - 2 * self._stray - TINY

    def _smear(self, epsilon: float, factor: float, allowance: float, strangers: float) -> float:
        """Return at least what joining the losses to the grid has added to δ."""
        tilt, root = self._window.tilt, math.sqrt(self._variance)
        steep = 1 / root
        if steep <= 2 * (tilt + 1):
            return math.inf
        distance = np.abs(self._losses - epsilon)
        weights = np.exp(-steep * distance - tilt * (self._losses - epsilon))
        near = _sum(weights, np.maximum(self._law, 0.0) + self._error)
        expected = factor * (near * (1 + allowance) + strangers)
        around = self.above(epsilon - 40 * root) + math.exp(-20) * factor * (1 + allowance)
        unsure = (6 * -math.expm1(-self._excess) * around + 8 * self._stray) * steep
        # C·e^(η(η + 1)V/2) at η = 1/√V, over E e^(−η|N|)
        size = root / math.e * math.exp(0.5 + 1.5 * root + math.sqrt(1 + self._variance / 4))
        return size * (expected + unsure) * (1 + _WOBBLE)

    @property
    def interval(self) -> float:
        """Of the grid."""
        return self._window.interval

    @property
    def outside(self) -> float:
        """At least the part of the tilted law that is outside the window."""
        return self._outer(0) + self._outer(1)

    @property
    def _last(self) -> float:
        return float(self._losses[-1]) + self._window.interval

    def _factor(self, epsilon: float) -> float | None:
        """Return Π M_i(λ)·e^(−λε), if it is of a size to compute with."""
        power = float(self._scale - Fraction(self._window.tilt) * Fraction(epsilon))
        return math.exp(power) if abs(power) < _STEEP and self._wobble < 0.1 else None

    def _from(self, epsilon: float) -> tuple[Floats, Floats]:
        """Return the losses above `epsilon`, less it, and the tilted law there."""
        start = int(np.searchsorted(self._losses, epsilon - self._blur(epsilon)))
        return self._losses[start:] - epsilon, self._law[start:]

    def _blur(self, epsilon: float) -> float:
        """Return at least the error of a difference between a loss and ε."""
        return 8 * UNIT * (abs(epsilon) + float(np.abs(self._losses[[0, -1]]).max()))

    def _outer(self, side: int) -> float:
        """Bound the tilted law below the window (0) or above it (1), by Markov's inequality."""
        down, up = self._window.lean
        power = self._outside[side] + (down * self._losses[0] if side == 0 else -up * self._last)
        return math.exp(min(power, 0.0)) * (1 + _WOBBLE)

    def _whole(self, *, up: bool) -> float:
        """Return the factor that covers the rounding of the infinite part."""
        error = _WOBBLE + 8 * UNIT * self._count * len(self._losses)
        return 1 + error if up else 1 - error


class _Product:
    """The transform of a sum of independent losses, and how wrong it can be.

    Parts that come many times are followed at each frequency; parts that come once, among many, by
    one bound for all frequencies, which is quicker.
    """

    def __init__(self, size: int) -> None:
        """Begin with the loss that is zero."""
        self._size = size
        self._level = _BUTTERFLY * UNIT * math.log2(size)
        shape = size // 2 + 1
        self._followed, self._most = np.ones(shape, dtype=np.complex128), np.ones(shape)
        self._others, self._wrong = np.ones(shape, dtype=np.complex128), 0.0

    def multiply(self, masses: Floats, count: int, *, lone: bool) -> None:
        """Add a loss that comes `count` times."""
        transform = np.fft.rfft(_fold(masses, self._size), self._size)
        error = self._level * float(masses.sum())
        if count == 1 and not lone:
            self._others *= transform
            self._wrong += 1.01 * error  # absolute values are 1 at most, and a little
        else:
            self._followed *= _power(transform, count)
            self._most *= (np.abs(transform) + error) ** count

    def law(self, roundings: int) -> tuple[Floats, float]:
        """Return the law on the circle, and how far each value can be off."""
        many = 16 * UNIT * roundings
        spectrum = self._followed * self._others
        size = np.abs(spectrum)
        most = self._most * (np.abs(self._others) + math.expm1(self._wrong))
        error = most * (1 + many) - size * (1 - many) + self._level * size
        law: Floats = np.fft.irfft(spectrum, self._size)
        return law, 2 * float(error.sum()) / self._size + TINY


def _sum(weights: Floats, law: Floats) -> float:
    """Return Σ weight·mass, on this thread: what BLAS does with others costs more than it saves."""
    return float((weights * law).sum())


def _log_sum(powers: Floats) -> float:
    """Return ln Σ e^power."""
    top = float(powers.max())
    return top + math.log(float(np.exp(powers - top).sum()))


def _fold(masses: Floats, size: int) -> Floats:
    """Wrap masses around a circle of `size` points, unless they fit on it."""
    if len(masses) <= size:
        return masses
    rounds = -(-len(masses) // size)
    folded: Floats = np.pad(masses, (0, rounds * size - len(masses))).reshape(rounds, size).sum(0)
    return folded


def _power(base: npt.NDArray[np.complex128], exponent: int) -> npt.NDArray[np.complex128]:
    """Raise to a power by squaring, whose rounding errors are known."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result
