"""A variance from a noisy count, sum and sum of squares, with the interval that the noises leave.

Nothing here reads data: noisy numbers are public, and so is whatever is computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.core.errors import InputError, RangeError
from sfumato.core.number import exact, open_unit, positive
from sfumato.release.blend import quantile
from sfumato.release.format import approximate
from sfumato.release.grid import Grid, upward
from sfumato.release.measure import Measure
from sfumato.release.ratio import Expected

if TYPE_CHECKING:
    from sfumato.release.error import Noise
    from sfumato.release.law import Floats

_MEAN = 1 / 5  # of 1 − confidence: how often the true mean is farther away than is allowed for
_ROUNDS = 3  # each brings the ends closer; more change less than a thousandth of an interval
_ROUNDING = 2.0**-50  # of floats, relative
_SHARES = (0.0, 0.25, 0.5, 1.0)  # of the largest variance, where the worst case is looked for


class Ends(NamedTuple):
    """Variances and their intervals in squared steps, and the narrowest half-width."""

    value: Floats
    low: Floats
    high: Floats
    narrowest: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of values in [low, high], or its root, from noisy whole numbers Q, S and N.

    It is the variance of the group itself: squared distances from the group's mean, divided by how
    many there are. Q sums ((x − center)/step)² over the group, S sums (x − center)/step, and N
    counts; their noises are independent and of one family. In steps, let b be the true mean less
    the center, and v the true variance. Then

        Q − 2b·S + (b² − v)·N = e_Q − 2b·e_S + (b² − v)·e_N   and   S − b·N = e_S − b·e_N

    are pure noise. With the noisy mean S/N in place of b, the left side of the first is smaller by
    (S − b·N)²/N. So the interval holds every v in the bounds for which

        −q − d²/N <= Q − S²/N − v·N <= q,

    where the first noise exceeds ±q with probability 1 − confidence, and the second ±d with a fifth
    of it. What that leaves out is of second order in the noise and on the safe side
    (docs/theory/variance.md). No v is above (b_high − b)·(b − b_low) for all b within d/N of S/N:
    no values in the bounds have such a variance.

    Where N <= 0, nothing is known: the interval is [0, (high − low)²/4], and the value
    (high − low)²/12, as if values were spread evenly over the bounds.

    Args:
        squares: the noise of Q, in squared steps.
        sums: the noise of S, in steps.
        counts: the noise of N.
        center: what was taken from each value.
        step: the unit in which the sum counts.
        low: the least value that counts.
        high: the largest.
        root: whether to return the standard deviation: the root of the value and of both ends.

    Example:
        >>> from sfumato.release.error import Noise
        >>> noises = Noise("laplace", 120_000), Noise("laplace", 600), Noise("laplace", 3)
        >>> fare = Spread(*noises, 100, "0.5", 0, 200)
        >>> fare.measure("v", [9_000_000], [-40_000], [1000], confidence=Fraction(95, 100)).values
        (Fraction(1850, 1),)
        >>> [float(h) for h in fare.expected_halfwidth(1000)]
        [97.4, 221.0]
    """

    squares: Noise
    sums: Noise
    counts: Noise
    center: Fraction
    step: Fraction
    low: Fraction
    high: Fraction
    root: bool = False

    def __post_init__(self) -> None:
        """Hold exact numbers and check the bounds."""
        object.__setattr__(self, "step", positive(self.step, "step"))
        for name in ("center", "low", "high"):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if self.low > self.high:
            raise RangeError("low must not be above high. Pass the bounds in order.")

    def measure(
        self,
        name: str,
        squares: Any,
        sums: Any,
        counts: Any,
        *,
        confidence: Fraction,
        mechanism: str = "",
    ) -> Measure:
        """Return the variances, or their roots, with their intervals: one for each Q, S and N.

        Values are rounded to a grid, a power of ten of which the narrowest half-width has a hundred
        cells or so; ends are rounded outwards, but never past the bounds.

        Args:
            name: what the variance is called.
            squares: noisy whole numbers Q.
            sums: noisy whole numbers S, as many.
            counts: noisy whole numbers N, as many.
            confidence: the probability with which each interval holds.
            mechanism: the mechanisms, as their `repr` shows them.

        Raises:
            InputError: there are more of the one than of the other.
        """
        q, s, n = (np.asarray(each, np.float64).ravel() for each in (squares, sums, counts))
        if not q.size == s.size == n.size:
            raise InputError(
                "a variance takes one sum of squares, one sum and one count. Pass as many of each."
            )
        found = self._ends(q, s, n, confidence)
        step, most = approximate(self.step), self._most
        unit, narrowest = step * step, found.narrowest
        if self.root:
            narrowest /= max(2 * approximate(most) / step, 1)  # the root is the steeper below
            unit = step
        grid = Grid.of(
            Fraction(0), most, min(unit * narrowest, approximate(most) / 10), approximate(most)
        )
        columns = found[:3] if not self.root else map(np.sqrt, found[:3])
        values, lows, highs = grid.columns(*(unit * column for column in columns))
        return Measure(name, values, lows, highs, mechanism=mechanism, kind="rational")

    def expected_halfwidth(
        self, people: int = 1000, confidence: object = Fraction(95, 100)
    ) -> Expected:
        """Return how far the interval of a group of `people` reaches, before anything is measured.

        It is the interval of the very sums and count, without noise in them: with the mean at the
        center and values spread evenly over the bounds (typical), and the widest among 36 pairs of
        a mean and a variance all over what is possible (worst). Rounded up to three digits.

        Args:
            people: how many values the group has.
            confidence: the probability with which an interval holds.
        """
        least, most = self._slopes
        means = np.repeat(np.linspace(least, most, 9), len(_SHARES))
        shares = np.tile(_SHARES, 9)
        b = np.append(min(max(0.0, least), most), means)
        v = np.append((most - least) ** 2 / 12, shares * (most - means) * (means - least))
        n = np.full(b.size, approximate(positive(people, "people")))
        value, low, high, _ = self._ends((v + b * b) * n, b * n, n, confidence)
        unit = approximate(self.step)
        if self.root:
            value, low, high = (np.sqrt(end) for end in (value, low, high))
        else:
            unit *= unit
        reach = np.maximum(value - low, high - value) * unit
        typical, worst = (min(upward(float(r)), self._most) for r in (reach[0], reach.max()))
        return Expected(typical, worst)

    @property
    def _most(self) -> Fraction:
        half = (self.high - self.low) / 2
        return half if self.root else half * half

    @property
    def _slopes(self) -> tuple[float, float]:
        low, high = ((end - self.center) / self.step for end in (self.low, self.high))
        return approximate(low), approximate(high)

    def _ends(self, q: Floats, s: Floats, n: Floats, confidence: object) -> Ends:
        """Return variances and the ends of their intervals, in squared steps."""
        least, most = self._slopes
        alpha = float(1 - open_unit(confidence, "confidence"))
        whole = (most - least) ** 2
        value, low, high = (np.full(q.shape, whole / part) for part in (12, np.inf, 4))
        some = n > 0
        if not some.any():
            return Ends(value, low, high, whole)
        q, s, n = q[some], s[some], n[some]
        middle = np.clip(s / n, least, most)
        left, right = self._means(s, n, middle, alpha * _MEAN)
        fairest = np.clip((least + most) / 2, left, right)
        cap = (most - fairest) * (fairest - least)  # the largest variance with such a mean
        # The mean square about each of these means, less the square of the distance to it.
        nearest, *far = ((q - 2 * b * s) / n + b * b for b in (middle, left, right))
        farthest = np.maximum(np.maximum(*far), 0)
        about = np.abs(middle)
        rounding = _ROUNDING * (np.abs(q) + 2 * about * np.abs(s) + about * about * n)

        def half(v: Floats) -> Floats:
            weights = np.ones(v.shape), 2 * about, about * about - v
            noises = self.squares, self.sums, self.counts
            return np.asarray((quantile(noises, weights, alpha) + rounding) / n)

        v_low, v_high = np.zeros(q.shape), cap
        for _ in range(_ROUNDS):
            below, above = half(v_low), half(v_high)
            v_low = np.maximum(np.minimum(nearest, cap) - below, 0)
            v_high = np.minimum(farthest + above, cap)
        value[some], low[some], high[some] = np.clip(nearest, 0, cap), v_low, v_high
        return Ends(value, low, high, float(below.min()))

    def _means(self, s: Floats, n: Floats, middle: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Return between which means the true one lies, in steps, but for a chance of `alpha`."""
        least, most = self._slopes
        left, right = np.full(s.shape, least), np.full(s.shape, most)
        for _ in range(_ROUNDS):
            outer = np.maximum(np.abs(left), np.abs(right))
            reach = quantile((self.sums, self.counts), (np.ones(s.shape), outer), alpha)
            left = np.minimum(np.maximum(left, (s - reach) / n), middle)
            right = np.maximum(np.minimum(right, (s + reach) / n), middle)
        return left, right
