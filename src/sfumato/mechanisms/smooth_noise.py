"""Real noise of a data-dependent scale, rounded to a public grid without error.

The ideal mechanism adds noise from a continuous law and rounds to the nearest grid point; rounding
is post-processing. What is drawn here has exactly the law of the rounded answer: a uniform real,
known bit by bit, is held against enclosures of the law's distribution function between two grid
points, and gets more bits for as long as both answers are possible. Floats only guess where to
look first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import atan, log, pi
from typing import Literal, TypeAlias

from sfumato.core.interval import Interval
from sfumato.mechanisms.smooth_sensitivity import SmoothSensitivity
from sfumato.noise.rng import Rng
from sfumato.noise.uniform import WORD, Threshold

Family: TypeAlias = Literal["student", "laplace"]


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """Noise (sensitivity/rate)·Z around a grid position.

    Attributes:
        family: ``"student"``, with density 2/(π·(1 + z²)²): Student's law of three degrees of
            freedom over √3; or ``"laplace"``, with density exp(-|z|)/2.
        sensitivity: the smooth sensitivity, in grid steps.
        rate: sensitivity over scale.
    """

    family: Family
    sensitivity: SmoothSensitivity
    rate: Fraction

    def draw(self, center: int, last: int, rng: Rng) -> int:
        """Draw center + noise, rounded to the nearest position and clamped to 0 … `last`."""
        uniform = _Uniform(rng)

        def at(place: int) -> Threshold:
            halves = 2 * (place - center) + 1
            return lambda length: self.below(halves, length)

        guess = center + self._guess(uniform.approximate)
        return _first(lambda place: uniform.below(at(place)), guess, last)

    def below(self, halves: int, length: int) -> tuple[int, int]:
        """Enclose P(noise < halves/2)·2^length between integers; `halves` is odd."""
        digits = length * 31 // 100 + 30
        size = Interval.of(self.rate * abs(halves) / 2, digits) / self.sensitivity.enclose(digits)
        if self.family == "laplace":
            # exp(-length) is below 2^-length, and a huge power would make a huge decimal.
            tail = Interval.of(0) if size.low > length else (-size).exp() * Fraction(1, 2)
            low = tail.floor_fixed(length)
            high = max(tail.ceil_fixed(length), 1)
        else:
            turn = Interval.of(1, digits).arctan() * 4
            tail = Fraction(1, 2) - (size.arctan() + 1 / (size + 1 / size)) / turn
            low, high = max(tail.floor_fixed(length), 0), tail.ceil_fixed(length)
        one = 1 << length
        return (low, high) if halves < 0 else (one - high, one - low)

    def _guess(self, uniform: float) -> int:
        """Return the noise that belongs to a uniform number, about, in whole positions."""
        share = min(max(min(uniform, 1 - uniform), 2.0**-60), 0.5)
        size = -log(2 * share) if self.family == "laplace" else _student_size(share)
        scale = self.sensitivity.enclose(20) / self.rate
        far = min(size * float(scale.high), 2.0**62)
        return round(-far if uniform < 0.5 else far)


def _student_size(share: float) -> float:
    """Return z with tail probability about `share`, by bisection of its logarithm."""
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        z = 2.0**middle
        tail = 0.5 - (atan(z) + z / (1 + z * z)) / pi if z < 2**12 else 2 / (3 * pi * z**3)
        low, high = (middle, high) if tail > share else (low, middle)
    return float(2.0**low)


class _Uniform:
    """A uniform real in [0, 1), of which more bits are drawn as they are needed."""

    __slots__ = ("_length", "_prefix", "_rng")

    def __init__(self, rng: Rng) -> None:
        self._rng, self._length = rng, WORD
        self._prefix = int(rng.words(1)[0])

    @property
    def approximate(self) -> float:
        """Return the first bits as a float."""
        return (self._prefix >> (self._length - 53)) * 2.0**-53

    def below(self, threshold: Threshold) -> bool:
        """Decide whether it lies below the threshold. Later questions are about the same number."""
        while True:
            low, high = threshold(self._length)
            if self._prefix + 1 <= low:
                return True
            if self._prefix >= high:
                return False
            self._prefix = (self._prefix << WORD) | int(self._rng.words(1)[0])
            self._length += WORD


def _first(holds: Callable[[int], bool], guess: int, last: int) -> int:
    """Return the first place from 0 on where a monotone statement holds, or `last`.

    It is sought from the guess outwards, in doubling steps, and then by halving.
    """
    low, high, place, step = 0, last, guess, 1
    before: bool | None = None
    galloping = True
    while low < high:
        place = min(max(place, low), high - 1)
        held = holds(place)
        low, high = (low, place) if held else (place + 1, high)
        galloping = galloping and before in (None, held)
        before, step = held, 2 * step
        if galloping:
            place += -step // 2 if held else step // 2
        else:
            place = (low + high) // 2
    return low
